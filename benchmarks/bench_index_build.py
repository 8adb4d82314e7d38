"""Building an index of what this Python has installed: about 6 minutes of processor time.

    python benchmarks/bench_index_build.py

The standard library of the Python that runs this (site-packages left out) is read into a new index by one process, in
each granularity, so that the price of `both` is seen, and once with vectors. All installed packages are read by as many
processes as there are cores. Time is that of the processor, of all processes together, so that what else the machine
does does not count. Each corpus is added again without a change. Reading, writing and commits are included.
Megabytes are 10^6 bytes of the files read.
"""

import os
import resource
import sysconfig
import tempfile
import time
from pathlib import Path

from measuring import arguments, write

from assay.provenance import CodeIndex
from assay.provenance.building import BuildCounts, build
from assay.provenance.filters import Filters
from assay.provenance.reading import IndexSettings
from assay.provenance.sources.open import CorpusOptions, open_sources
from assay.provenance.splitting import Granularity
from assay.retrieval.encoding import open_encoder

LIBRARY, PACKAGES = "standard library", "installed packages"
NOT_LIBRARY = ("site-packages/", "dist-packages/")


def main() -> None:
    """Measure and write."""
    began = time.perf_counter()
    options = arguments(__doc__)
    library, packages = (Path(sysconfig.get_paths()[one]) for one in ("stdlib", "purelib"))
    runs: list[tuple[str, Path, Filters, Granularity, str | None]] = [
        (LIBRARY, library, Filters(exclude=NOT_LIBRARY), "file", None),
        (LIBRARY, library, Filters(exclude=NOT_LIBRARY), "function", None),
        (LIBRARY, library, Filters(exclude=NOT_LIBRARY), "both", None),
        (LIBRARY, library, Filters(exclude=NOT_LIBRARY), "both", "builtin:fragments"),
        (PACKAGES, packages, Filters(), "both", None),
    ]
    if options.smoke:
        runs = [("json", library / "json", Filters(), "both", "builtin:fragments")]
    results = [measured(*run) for run in runs]
    for result in results:
        print(result)
    print(write("index_build", options, results, began))


def measured(
    name: str, corpus: Path, filters: Filters, granularity: Granularity, encoder: str | None
) -> dict[str, object]:
    """One corpus into a new index, and once more."""
    settings = IndexSettings(filters, granularity)
    jobs = (os.cpu_count() or 1) if name == PACKAGES else 1
    opened = open_encoder(encoder) if encoder else None
    with tempfile.TemporaryDirectory() as folder, CodeIndex.create(Path(folder, "index"), encoder=opened) as index:
        (first, seconds), (again, seconds_again) = (run(corpus, index, settings, jobs) for _ in range(2))
        info = index.info()
        licences = index.licences()
    return {
        "corpus": name,
        "granularity": granularity,
        "encoder": encoder,
        "processes": jobs,
        "files": first.files,
        "files_read": first.read,
        "megabytes": first.bytes / 1e6,
        "seconds": seconds,
        "files_per_second": first.read / seconds,
        "megabytes_per_second": first.bytes / 1e6 / seconds,
        "documents": info.documents,
        "origins": info.origins,
        "postings": info.postings,
        "bytes": dict(info.bytes),
        "skipped": first.skipped,
        "notes": first.notes,
        "files_of_known_licence": sum(number for licence, number in licences.items() if licence != "unknown"),
        "again": {"seconds": seconds_again, "files_read": again.read, "bytes_read": again.bytes},
    }


def run(corpus: Path, index: CodeIndex, settings: IndexSettings, jobs: int) -> tuple[BuildCounts, float]:
    """Bring the index up to the corpus; return also the seconds of the processor, those of its workers included."""
    source = open_sources([str(corpus)], CorpusOptions(form="folder", exclude=settings.filters.exclude))
    began = processor_seconds()
    return build(source, index, settings, jobs=jobs), processor_seconds() - began


def processor_seconds() -> float:
    """Return the seconds of this process and of its children that have ended."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


if __name__ == "__main__":
    main()
