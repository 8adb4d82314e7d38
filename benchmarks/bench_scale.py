"""An index of many functions: cost and memory of its build, time of its queries, with vectors or without.

    python benchmarks/bench_scale.py [--sizes 100000,1000000] [--encoder builtin:fragments] [--folder DIR]

Documents are those of `bench_index.py`: originals first, then mutated copies. As a build does, the process that writes
commits in parts. Seconds are processor time; making the copies does not count. Each size is built, queried, merged
(`assay index compact`) and queried again by processes of their own, and the file of results is written after each of
these steps. 10 million functions with vectors take an hour and a half, and 20 GB of disk; with `--minutes` a build that
takes longer ends there, and counts as one of the functions that it has then.

- `peak_mebibytes`: the largest resident set. It includes the interpreter, the compiled code, the originals, and pages
  of mapped files, which the system takes back when it needs them.
- `anonymous_mebibytes`: the largest part of it that is no page of a file, looked at 20 times a second.
- `vectors_seconds`: the part of `seconds` in which texts are encoded, and vectors stored and merged.
- `log`: the largest write-ahead log of the catalogue after a commit.
- `lookup`: from fingerprints to ranked candidates, both forms; `lookup_again`: the same snippets a second time, when
  their lists are in memory. `trace_by_fingerprints`: as `trace`, without vectors. `vector`: from a text to the
  100 nearest vectors.
- `trace`: from the text to ten matches with their lines and licences. `snippet_in_first`: the share of traces whose
  first match contains the snippet word for word.
- `check`: reading ten documents, with and without the comparison of checksums, in turns.

Snippets are those of `bench_index.py`.
"""

import argparse
import json
import math
import shutil
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any
from unittest import mock

from bench_index import ORIGINALS, QUERIES, WARMING, milliseconds, seconds_of, snippets
from many_functions import Function, found, functions
from measuring import MEBIBYTE, arguments, fresh, high_water, write

from assay.provenance import CodeIndex, Document, Origin, catalogue, trace
from assay.provenance import index as index_module
from assay.retrieval import Fingerprints, VectorIndex, fingerprint
from assay.retrieval.encoding import open_encoder
from assay.types import Encoder

SIZES = (100_000, 1_000_000)
COMMITTED = 20_000
"""Documents of one commit: about as many as a build adds in its five seconds between commits."""
TRACES = 500
ROUNDS = 5
SAMPLED_EVERY = 0.05
"""Seconds."""
REPORTED_EVERY = 10
"""Commits."""

Timed = dict[str, float]


def main() -> None:
    """Measure and write."""
    began = time.perf_counter()
    options = arguments(__doc__, further)
    sizes = [200] if options.smoke else [int(size) for size in options.sizes.split(",")]
    queries, traces, most = (10, 5, 100) if options.smoke else (QUERIES, options.traces, ORIGINALS)
    originals = list(islice(found(), most))
    folder = options.folder or Path(tempfile.mkdtemp(prefix="assay-bench-"))
    results = {(entry["encoder"] or "", entry["documents"]): entry for entry in earlier(options.out)}
    for encoder in ("", "builtin:fragments") if options.smoke else (options.encoder,):
        for size in sizes:
            place = folder / f"{size}{'-vectors' * bool(encoder)}"
            shutil.rmtree(place, ignore_errors=True)
            built = fresh(build, place, size, originals, encoder, options.minutes)
            added = int(str(built["documents"]))
            result: dict[str, Any] = {"documents": added, "encoder": encoder or None, "built": built}
            results[encoder, added] = result
            print("built", json.dumps(built), flush=True)
            texts = list(snippets(added, originals, queries))
            for name, step in (
                ("queried", partial(query, place, texts, traces, encoder)),
                ("merged", partial(compact, place, encoder)),
                ("queried_merged", partial(query, place, texts, traces, encoder)),
            ):
                write("scale", options, [results[key] for key in sorted(results)], began)
                result[name] = fresh(step)
                print(name, json.dumps(result[name]), flush=True)
            print(write("scale", options, [results[key] for key in sorted(results)], began), flush=True)
            if not options.folder:
                shutil.rmtree(place)
    if not options.folder:
        shutil.rmtree(folder)


def further(parser: argparse.ArgumentParser) -> None:
    """Add the options of this script alone."""
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)), help="numbers of functions, comma-separated")
    parser.add_argument("--encoder", default="", help="with vectors of this encoder (default: without)")
    parser.add_argument("--minutes", type=float, default=math.inf, help="a build that takes longer ends there")
    parser.add_argument("--traces", type=int, default=TRACES, help="snippets that are traced")
    parser.add_argument("--folder", type=Path, help="where the indices stay (default: they are deleted)")


def earlier(out: Path) -> list[dict[str, Any]]:
    """Return the results of other sizes that the file has already."""
    path = out / "scale.json"
    return json.loads(path.read_text("utf-8"))["results"] if path.exists() else []


def opened(name: str) -> Encoder | None:
    """Return the encoder of that name, None for no name."""
    return open_encoder(name) if name else None


def build(folder: Path, size: int, originals: list[Function], encoder: str, minutes: float) -> dict[str, object]:
    """Build an index, and return its cost."""
    until = time.monotonic() + 60 * minutes
    log = folder / "catalogue.sqlite-wal"
    seconds, largest_log, added, commits = 0.0, 0, 0, 0
    coming = documents(functions(size, originals))
    with vectors_timed() as of_vectors, CodeIndex.create(folder, encoder=opened(encoder)) as index:
        anonymous = AnonymousMemory()
        with anonymous:
            while time.monotonic() < until and (batch := list(islice(coming, COMMITTED))):
                began = time.process_time()
                index.add(batch)
                index.commit()
                seconds += time.process_time() - began
                largest_log = max(largest_log, log.stat().st_size if log.exists() else 0)
                added, commits = added + len(batch), commits + 1
                if not commits % REPORTED_EVERY:
                    print(
                        f"{added:,} functions: {seconds:.0f} s, {of_vectors['seconds']:.0f} s of them for vectors, "
                        f"peak {high_water() / MEBIBYTE:.0f} MiB, anonymous {anonymous.peak / MEBIBYTE:.0f} MiB",
                        flush=True,
                    )
        info = index.info()
    return {
        "documents": added,
        "stored": info.documents,
        "seconds": seconds,
        "vectors_seconds": of_vectors["seconds"],
        "documents_per_second": added / seconds,
        "peak_mebibytes": high_water() / MEBIBYTE,
        "anonymous_mebibytes": anonymous.peak / MEBIBYTE,
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


@contextmanager
def vectors_timed() -> Iterator[Timed]:
    """Add the processor time of encoding, storing and merging vectors, within the block, to `seconds`."""
    spent = {"seconds": 0.0}

    def timed(function: Callable[..., Any]) -> Callable[..., Any]:
        def run(*values: object) -> Any:  # noqa: ANN401  whatever the function returns
            began = time.process_time()
            try:
                return function(*values)
            finally:
                spent["seconds"] += time.process_time() - began

        return run

    with ExitStack() as stack:
        for owner, name in ((index_module, "document_vectors"), (VectorIndex, "add"), (VectorIndex, "commit")):
            stack.enter_context(mock.patch.object(owner, name, timed(getattr(owner, name))))
        yield spent


class AnonymousMemory:
    """The most bytes of the process, within the block, that are no pages of files: `peak`, looked at by a thread."""

    def __init__(self) -> None:
        self.peak = 0
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def _look(self) -> None:
        status = Path("/proc/self/status")
        while status.exists() and not self._done.wait(SAMPLED_EVERY):
            line = next(line for line in status.read_text().splitlines() if line.startswith("RssAnon:"))
            self.peak = max(self.peak, int(line.split()[1]) * 1024)


def query(folder: Path, texts: list[str], traces: int, encoder: str) -> dict[str, object]:
    """Return milliseconds of look-ups and traces, and the share of the comparison of checksums."""
    queries = len(texts)
    warmed = [*texts[:WARMING], *texts[:traces]]
    lookups, seconds, firsts = [], [], 0
    vectors: Mapping[str, float] | None = None
    with CodeIndex.open(folder, encoder=opened(encoder)) as index:
        for text in [*texts[:WARMING], *texts, *texts]:
            channels = [form for form in fingerprint(text, "python").values() if isinstance(form, Fingerprints)]
            began = time.thread_time()
            for channel in channels:
                index.overlap(channel.channel.form, channel.hashes)
            lookups.append(time.thread_time() - began)
        by_fingerprints = [
            seconds_of(partial(trace, text, index, language="python", method="winnowing")) for text in warmed
        ]
        if encoder:
            vectors = milliseconds([seconds_of(partial(index.candidates_by_vector, text)) for text in warmed][-traces:])
        for text in warmed:
            began = time.thread_time()
            result = trace(text, index, language="python")
            seconds.append(time.thread_time() - began)
            firsts += any(text in index.document(match.document_id).text for match in result.matches[:1])
        check = checking(index)
    return {
        "queries": queries,
        "traces": traces,
        "lookup": milliseconds(lookups[-2 * queries : -queries]),
        "lookup_again": milliseconds(lookups[-queries:]),
        "trace_by_fingerprints": milliseconds(by_fingerprints[-traces:]),
        "vector": vectors,
        "trace": milliseconds(seconds[-traces:]),
        "snippet_in_first": firsts / len(warmed),
        "check": check,
    }


def compact(folder: Path, encoder: str) -> dict[str, object]:
    """Merge the files of an index into as few as possible, and return the cost."""
    anonymous = AnonymousMemory()
    with anonymous, CodeIndex.open(folder, writable=True, encoder=opened(encoder)) as index:
        seconds = seconds_of(index.compact, time.process_time)
        info = index.info()
    return {
        "seconds": seconds,
        "peak_mebibytes": high_water() / MEBIBYTE,
        "anonymous_mebibytes": anonymous.peak / MEBIBYTE,
        "segments": info.segments,
        "bytes": dict(info.bytes),
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
