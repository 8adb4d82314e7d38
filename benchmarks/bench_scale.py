"""An index of many functions by fingerprints alone: cost and memory of its build, time of its queries.

    python benchmarks/bench_scale.py [--sizes 100000,1000000] [--folder DIR]

Documents are those of `bench_index.py`: originals first, then mutated copies. As a build does, the process that writes
commits in parts. Seconds are processor time. Each size is built and queried by processes of their own; the peak of the
memory includes the interpreter, the compiled code and the originals. `log` is the largest write-ahead log of the
catalogue after a commit. Snippets are those of `bench_index.py`; `lookup` is from fingerprints to ranked candidates,
`trace` from the text to ten matches with their lines and licences. `check` is the part of reading ten documents that
compares checksums: the same documents are read with and without the comparison, in turns.
"""

import argparse
import json
import shutil
import statistics
import tempfile
import time
from collections.abc import Iterator
from functools import partial
from itertools import islice
from pathlib import Path
from unittest import mock

from bench_index import ORIGINALS, QUERIES, WARMING, milliseconds, seconds_of, snippets
from many_functions import Function, found, functions
from measuring import MEBIBYTE, arguments, fresh, high_water, write

from assay.provenance import CodeIndex, Document, Origin, catalogue, trace
from assay.retrieval import Fingerprints, fingerprint

SIZES = (100_000, 1_000_000)
COMMITTED = 20_000
"""Documents of one commit: about as many as a build adds in its five seconds between commits."""
ROUNDS = 5


def main() -> None:
    """Measure and write."""
    began = time.perf_counter()
    options = arguments(__doc__, further)
    sizes = [60, 200] if options.smoke else [int(size) for size in options.sizes.split(",")]
    queries, most = (10, 100) if options.smoke else (QUERIES, ORIGINALS)
    originals = list(islice(found(), most))
    folder = options.folder or Path(tempfile.mkdtemp(prefix="assay-bench-"))
    results = {int(str(result["documents"])): result for result in earlier(options.out)}
    try:
        for size in sizes:
            place = folder / str(size)
            shutil.rmtree(place, ignore_errors=True)
            results[size] = {
                "documents": size,
                **fresh(build, place, size, originals),
                **fresh(query, place, size, originals, queries),
            }
            print(json.dumps(results[size]), flush=True)
            print(write("scale", options, [results[size] for size in sorted(results)], began), flush=True)
    finally:
        if not options.folder:
            shutil.rmtree(folder)


def further(parser: argparse.ArgumentParser) -> None:
    """Add the options of this script alone."""
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)), help="numbers of functions, comma-separated")
    parser.add_argument("--folder", type=Path, help="where the indices stay (default: they are deleted)")


def earlier(out: Path) -> list[dict[str, object]]:
    """Return the results of other sizes that the file has already."""
    path = out / "scale.json"
    return json.loads(path.read_text("utf-8"))["results"] if path.exists() else []


def build(folder: Path, size: int, originals: list[Function]) -> dict[str, object]:
    """Build an index, and return its cost."""
    log = folder / "catalogue.sqlite-wal"
    seconds, largest_log = 0.0, 0
    coming = functions(size, originals)
    with CodeIndex.create(folder) as index:
        while batch := list(islice(documents(coming), COMMITTED)):
            began = time.process_time()
            index.add(batch)
            index.commit()
            seconds += time.process_time() - began
            largest_log = max(largest_log, log.stat().st_size if log.exists() else 0)
        info = index.info()
    return {
        "stored": info.documents,
        "seconds": seconds,
        "documents_per_second": size / seconds,
        "peak_mebibytes": high_water() / MEBIBYTE,
        "log_mebibytes": largest_log / MEBIBYTE,
        "segments": info.segments,
        "bytes": dict(info.bytes),
        "bytes_a_posting": info.bytes["postings"] / info.postings,
    }


def documents(coming: Iterator[Function]) -> Iterator[Document]:
    """Yield functions as documents."""
    for function in coming:
        origin = Origin("bench", function.path, licence="MIT", first_line=function.line)
        yield Document(function.text, "python", "function", function.name, (origin,))


def query(folder: Path, size: int, originals: list[Function], queries: int) -> dict[str, object]:
    """Return milliseconds of look-ups and traces, and the share of the comparison of checksums."""
    texts = list(snippets(size, originals, queries))
    lookups = []
    with CodeIndex.open(folder) as index:
        for text in [*texts[:WARMING], *texts]:
            channels = [form for form in fingerprint(text, "python").values() if isinstance(form, Fingerprints)]
            began = time.thread_time()
            for channel in channels:
                index.overlap(channel.channel.form, channel.hashes)
            lookups.append(time.thread_time() - began)
        traces = [seconds_of(partial(trace, text, index, language="python")) for text in [*texts[:WARMING], *texts]]
        check = checking(index)
    return {
        "queries": queries,
        "lookup": milliseconds(lookups[-queries:]),
        "trace": milliseconds(traces[-queries:]),
        "check": check,
    }


def checking(index: CodeIndex) -> dict[str, float]:
    """Return the median milliseconds of reading ten documents, with and without the comparison of checksums."""
    ids = index.ids()
    batches = [ids[start :: len(ids) // 10 + 1] for start in range(min(200, len(ids) // 10))]

    def read() -> None:
        for batch in batches:
            index.documents(batch)

    read()
    with_check, without = [], []
    for _ in range(ROUNDS):
        with_check.append(seconds_of(read))
        with (
            mock.patch.object(catalogue, "row_checksum", return_value=mock.ANY),
            mock.patch.object(catalogue, "origin_checksum", return_value=0),
            mock.patch.object(catalogue, "_DOCUMENTS", catalogue._DOCUMENTS.replace("places.checksum", "0")),  # noqa: SLF001  the way without
        ):
            without.append(seconds_of(read))
    scale = 1000 / max(len(batches), 1)
    return {
        "read_ten_ms": statistics.median(with_check) * scale,
        "without_comparison_ms": statistics.median(without) * scale,
    }


if __name__ == "__main__":
    main()
