"""Building and asking an index of up to a million functions: about 30 minutes of processor time.

    python benchmarks/bench_index.py [--folder DIR] [--parts build,lookups,vectors]

Documents are the functions of the standard library and of installed packages, the first 60,000 different ones, then
mutated copies of them (some names replaced, one statement left out) up to the size: `many_functions.py`. Each size is
built by a process of its own, in one `add` and one `commit`, without vectors, and another time with vectors of
`builtin:fragments`. Seconds are processor time: what else the machine does counts for nobody. What lies on disk was
just written, so it is read from the system's memory. `--folder` keeps the indices; parts that are not measured keep
their figures from the file of results, so lookups can be measured again without building for an hour.

- `lookup`: from the fingerprints of a snippet to ranked candidates, both forms.
- `fingerprints`: the same from the snippet's text.
- `postings_met`: how long the lists of a snippet's fingerprints are together, both forms.
- `trace`: `assay.provenance.tracing` by fingerprints and vectors, the ten matches with their lines included.

Snippets are stretches of 4 to 12 lines of functions in the index, half of them originals where there are copies.
"""

import argparse
import json
import random
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from many_functions import Function, found, functions
from measuring import MEBIBYTE, arguments, fresh, high_water, write

from assay.provenance import CodeIndex, Document, Origin, trace
from assay.retrieval import Fingerprints, fingerprint
from assay.retrieval.encoding import open_encoder
from assay.types import Encoder

SIZES = (10_000, 100_000, 1_000_000)
ORIGINALS = 60_000
QUERIES = 1_000
WARMING = 20
"""Queries asked before any counts: what they compile and read for the first time stands in no figure."""
ENCODER = "builtin:fragments"
PARTS = ("build", "lookups", "vectors")


def main() -> None:
    """Measure and write."""
    began = time.perf_counter()
    options = arguments(__doc__, further)
    sizes, queries, most = ((60, 200), 10, 100) if options.smoke else (SIZES, QUERIES, ORIGINALS)
    parts = set(options.parts.split(","))
    if not parts <= set(PARTS):
        raise SystemExit(f"received the parts {options.parts}, expected some of {','.join(PARTS)}")
    originals = list(islice(found(), most))
    folder = options.folder or Path(tempfile.mkdtemp(prefix="assay-bench-"))
    results = [{"documents": size, **(earlier(options.out, size) if parts < set(PARTS) else {})} for size in sizes]
    try:
        for part in (one for one in PARTS if one in parts):
            for size, result in zip(sizes, results, strict=True):
                result.update(measured(part, folder / str(size), size, originals, queries))
                print(result)
                print(write("index", options, results, began))
    finally:
        if not options.folder:
            shutil.rmtree(folder)


def further(parser: argparse.ArgumentParser) -> None:
    """The options of this script alone."""
    parser.add_argument("--folder", type=Path, help="where the indices lie and stay (default: nowhere)")
    parser.add_argument("--parts", default=",".join(PARTS), help="what is measured, comma-separated (default: all)")


def earlier(out: Path, size: int) -> dict[str, object]:
    """What the file of results says of this size."""
    path = out / "index.json"
    kept = json.loads(path.read_text("utf-8"))["results"] if path.exists() else []
    return next((one for one in kept if one["documents"] == size), {})


def measured(part: str, folder: Path, size: int, originals: list[Function], queries: int) -> dict[str, object]:
    """One part, in processes of its own; what it needs and is not there is built without counting."""
    if part == "vectors":
        both = folder / "index-with-vectors"
        shutil.rmtree(both, ignore_errors=True)
        return {**fresh(build_with_vectors, both, size, originals), **fresh(trace_all, both, size, originals, queries)}
    if part == "build":
        shutil.rmtree(folder / "index", ignore_errors=True)
    built = {} if (folder / "index").exists() else fresh(build, folder / "index", size, originals)
    return built if part == "build" else fresh(ask, folder, size, originals, queries)


def build(folder: Path, size: int, originals: list[Function], encoder: Encoder | None = None) -> dict[str, Any]:
    """An index of that size: rate, peak of the resident set, bytes; the time to make the copies does not count."""
    copied = characters = 0
    making = 0.0

    def documents() -> Iterator[Document]:
        nonlocal copied, characters, making
        coming = functions(size, originals)
        began = time.process_time()
        for one in coming:
            copied += one.mutated
            characters += len(one.text)
            making += time.process_time() - began
            yield Document(one.text, "python", "function", one.name, (Origin("bench", one.path, first_line=one.line),))
            began = time.process_time()

    with CodeIndex.create(folder, encoder=encoder) as index:
        taken = seconds_of(lambda: index.add(documents()), time.process_time) - making
        taken += seconds_of(index.commit, time.process_time)
        info = index.info()
    return {
        "stored": info.documents,
        "copies": copied,
        "megacharacters": characters / 1e6,
        "seconds": taken,
        "documents_per_second": size / taken,
        "peak_mebibytes": high_water() / MEBIBYTE,
        "postings": info.postings,
        "segments": info.segments,
        "bytes": dict(info.bytes),
        "bytes_a_posting": info.bytes["postings"] / info.postings,
    }


def build_with_vectors(folder: Path, size: int, originals: list[Function]) -> dict[str, object]:
    """The same documents in an index with vectors: rate, peak of the resident set, bytes of the vectors."""
    built = build(folder, size, originals, open_encoder(ENCODER))
    return {
        "with_vectors": {
            **{name: built[name] for name in ("seconds", "documents_per_second", "peak_mebibytes")},
            "bytes": built["bytes"]["vectors"],
        }
    }


def ask(folder: Path, size: int, originals: list[Function], queries: int) -> dict[str, object]:
    """Milliseconds of fingerprint queries, and how often the first found has the snippet in it."""
    asked = list(snippets(size, originals, queries))
    lookups, texts, postings, hits = [], [], [], 0
    with CodeIndex.open(folder / "index") as index:
        for text in [*asked[:WARMING], *asked]:
            prints = [one for one in fingerprint(text, "python").values() if isinstance(one, Fingerprints)]
            began = time.thread_time()
            candidates = [index.overlap(one.channel.form, one.hashes).documents for one in prints]
            lookups.append(time.thread_time() - began)
            texts.append(seconds_of(partial(index.candidates_by_fingerprints, text, "python")))
            hits += any(text in one.text for ids in candidates for one in index.documents(ids[:1].tolist()))
            lists = [index.frequencies(one.channel.form, np.unique(one.hashes)) for one in prints]
            postings.append(sum(int(of_form.sum()) for of_form in lists))
    return {
        "queries": len(asked),
        "snippet_in_first": hits / len(texts),
        "lookup": milliseconds(lookups[-queries:]),
        "fingerprints": milliseconds(texts[-queries:]),
        "postings_met": {f"p{share}": float(np.percentile(postings[-queries:], share)) for share in (50, 95, 99)},
    }


def trace_all(folder: Path, size: int, originals: list[Function], queries: int) -> dict[str, object]:
    """Milliseconds of whole traces, by fingerprints and vectors: ten matches with their lines."""
    asked = list(snippets(size, originals, queries))
    with CodeIndex.open(folder, encoder=open_encoder(ENCODER)) as index:
        taken = [seconds_of(partial(trace, text, index, language="python")) for text in [*asked[:WARMING], *asked]]
    return {"trace": milliseconds(taken[-queries:])}


def milliseconds(seconds: Sequence[float]) -> dict[str, float]:
    """Percentiles."""
    return {f"p{share}": float(np.percentile(seconds, share)) * 1000 for share in (50, 95, 99)}


def snippets(size: int, originals: list[Function], count: int) -> Iterator[str]:
    """Stretches of functions in the index that have fingerprints in both forms."""
    draw = random.Random(1)  # noqa: S311  which snippets are asked for is no secret
    pool = list(functions(min(size, 2 * len(originals)), originals))
    made = 0
    while made < count:
        lines = draw.choice(pool).text.splitlines(keepends=True)
        wanted = draw.randint(4, 12)
        start = draw.randrange(max(1, len(lines) - wanted + 1))
        text = "".join(lines[start : start + wanted])
        if all(isinstance(found, Fingerprints) for found in fingerprint(text, "python").values()):
            made += 1
            yield text


def seconds_of(work: Callable[[], object], clock: Callable[[], float] = time.thread_time) -> float:
    """Seconds of one call."""
    began = clock()
    work()
    return clock() - began


if __name__ == "__main__":
    main()
