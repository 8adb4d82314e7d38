"""An index of code of up to ten million functions: what building it takes, and how fast it answers.

Documents are the functions of the standard library and of installed packages, the first 60,000 different ones, then
mutated copies of them (some names replaced, one statement left out) up to the size. Every step runs in a process of its
own. Seconds are processor time: what else the machine does counts for nobody. What lies on disk was just written, so it
is read from the system's memory. Snippets are stretches of 4 to 12 lines of functions in the index, half of them
originals where there are copies.

`performance/index` builds each size in one `add` and one `commit`, without vectors and with those of
`builtin:fragments`.

- `lookup`: from the fingerprints of a snippet to ranked candidates, both forms.
- `fingerprints`: the same from the snippet's text.
- `postings_met`: how long the lists of a snippet's fingerprints are together, both forms.
- `trace`: by fingerprints and vectors, the ten matches with their lines included.

`performance/scale` commits in parts, as a build does; then it queries, merges (`assay index compact`), queries again.

- `peak_mebibytes`: the largest resident set. It includes the interpreter, the compiled code, the originals, and pages
  of mapped files, which the system takes back when it needs them.
- `anonymous_mebibytes`: the largest part of it that is no page of a file, looked at 20 times a second.
- `vectors_seconds`: the part of `seconds` in which texts are encoded, and vectors stored and merged.
- `log`: the largest write-ahead log of the catalogue after a commit.
- `lookup_again`: the same snippets a second time, when their lists are in memory. `trace_by_fingerprints`: as `trace`,
  without vectors. `vector`: from a text to the 100 nearest vectors.
- `snippet_in_first`: the share of traces whose first match contains the snippet word for word.
- `check`: reading ten documents, with and without the comparison of checksums, in turns.

`performance/index_build` reads the standard library of the Python that runs this in each granularity, by one process,
and all installed packages by as many processes as there are cores; each corpus is added again without a change.
Reading, writing and commits are included. Megabytes are 10^6 bytes of the files read.
"""

import os
import random
import resource
import statistics
import sysconfig
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from itertools import chain, islice, repeat
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

from assay.corpora import CorpusSettings, Document, Granularity, Origin, open_sources
from assay.provenance import BuildCounts, CodeIndex, IndexSettings, trace
from assay.provenance import build as build_corpus
from assay.provenance.index import catalogue
from assay.provenance.index import code_index as index_module
from assay.retrieval import Fingerprints, VectorIndex, fingerprint, open_encoder
from assay.types import Encoder
from assay_lab.experiments.declaration import Data, Experiment, Result
from assay_lab.mappings import mapped
from assay_lab.measuring import MEBIBYTE, fresh, high_water, kibibytes_in, percentiles
from assay_lab.performance.many_functions import Function, found, functions

ENCODER = "builtin:fragments"
WARMING = 20
"""Queries asked before any counts: what they compile and read for the first time stands in no figure."""
COMMITTED = 20_000
"""Documents of one commit: about as many as a build adds in its five seconds between commits."""
ROUNDS = 5
SAMPLED_EVERY = 0.05
"""Seconds."""
LIBRARY, PACKAGES = "standard library", "installed packages"
NOT_LIBRARY = ("site-packages/", "dist-packages/")

Timed = dict[str, float]


def run_index(scale: tuple[tuple[int, ...], int, int], seed: int, data: Data) -> Result:
    """Building and asking an index of up to a million functions."""
    sizes, most, queries = scale
    originals = list(islice(found(), most))
    rows = []
    for size in sizes:
        with tempfile.TemporaryDirectory() as place:
            folder, both = Path(place) / "index", Path(place) / "index-with-vectors"
            # each step has a process of its own, so that its peak of memory is its own
            row = {"documents": size} | fresh(build, folder, size=size, originals=originals)
            row |= fresh(ask, folder, size=size, originals=originals, queries=queries)
            built = fresh(build, both, size=size, originals=originals, encoder=ENCODER)
            kept = mapped(built.__getitem__, ("seconds", "documents_per_second", "peak_mebibytes"))
            row |= {"with_vectors": {**kept, "bytes": built["bytes"]["vectors"]}}
            rows.append(row | fresh(trace_all, both, size=size, originals=originals, queries=queries))
    return Result(rows)


def run_scale(scale: tuple[tuple[tuple[int, str], ...], int, int, int], seed: int, data: Data) -> Result:
    """An index of many functions: cost and memory of its build, time of its queries, with vectors or without."""
    sizes, most, queries, traces = scale
    originals = list(islice(found(), most))
    rows = []
    for size, encoder in sizes:
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place) / "index"
            row: dict[str, object] = {"documents": size, "encoder": encoder or None}
            row["built"] = fresh(build_in_parts, folder, size=size, originals=originals, encoder=encoder)
            texts = list(snippets(size, originals, queries))
            row["queried"] = fresh(query, folder, texts=texts, traces=traces, encoder=encoder)
            row["merged"] = fresh(compact, folder, encoder)
            row["queried_merged"] = fresh(query, folder, texts=texts, traces=traces, encoder=encoder)
            rows.append(row)
    return Result(rows)


def build(folder: Path, size: int, originals: list[Function], encoder: str = "") -> dict[str, Any]:
    """An index of that size: rate, peak of the resident set, bytes; the time to make the copies does not count."""
    copied = characters = 0
    making = 0.0

    def coming() -> Iterator[Document]:
        nonlocal copied, characters, making
        began = time.process_time()
        for one in functions(size, originals):
            copied += one.mutated
            characters += len(one.text)
            making += time.process_time() - began
            yield document(one)
            # what lay between is the work of the index, which counts
            began = time.process_time()

    with CodeIndex.create(folder, encoder=opened(encoder)) as index:
        taken = seconds_of(lambda: index.add(coming()), time.process_time) - making
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


def ask(folder: Path, size: int, originals: list[Function], queries: int) -> dict[str, object]:
    """Milliseconds of fingerprint queries, and how often the first found has the snippet in it."""
    asked = list(snippets(size, originals, queries))
    lookups, texts, postings, hits = [], [], [], 0
    with CodeIndex.open(folder) as index:
        for text in [*asked[:WARMING], *asked]:
            prints = fingerprints_of(text)
            began = time.thread_time()
            candidates = [index.overlap(one.channel.form, one.hashes).documents for one in prints]
            lookups.append(time.thread_time() - began)
            texts.append(seconds_of(partial(index.candidates_by_fingerprints, text, "python")))
            firsts = chain.from_iterable(index.documents(ids[:1].tolist()) for ids in candidates)
            hits += any(text in document.text for document in firsts)
            lists = [index.frequencies(one.channel.form, np.unique(one.hashes)) for one in prints]
            postings.append(sum(int(of_form.sum()) for of_form in lists))
    return {
        "queries": len(asked),
        "snippet_in_first": hits / len(texts),
        # the first ones warm the index and do not count
        "lookup": milliseconds(lookups[-queries:]),
        "fingerprints": milliseconds(texts[-queries:]),
        "postings_met": percentiles(postings[-queries:]),
    }


def trace_all(folder: Path, size: int, originals: list[Function], queries: int) -> dict[str, object]:
    """Milliseconds of whole traces, by fingerprints and vectors: ten matches with their lines."""
    asked = list(snippets(size, originals, queries))
    with CodeIndex.open(folder, encoder=opened(ENCODER)) as index:
        taken = [seconds_of(partial(trace, text, index, language="python")) for text in [*asked[:WARMING], *asked]]
    return {"trace": milliseconds(taken[-queries:])}


def fingerprints_of(text: str) -> list[Fingerprints]:
    """Return the fingerprints of a text in the forms in which it has any."""
    return [form for form in fingerprint(text, "python").values() if isinstance(form, Fingerprints)]


def milliseconds(seconds: Sequence[float]) -> dict[str, float]:
    """Percentiles."""
    return percentiles(seconds, factor=1e3)


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
        if all(map(isinstance, fingerprint(text, "python").values(), repeat(Fingerprints))):
            made += 1
            yield text


def seconds_of(work: Callable[[], object], clock: Callable[[], float] = time.thread_time) -> float:
    """Seconds of one call."""
    began = clock()
    work()
    return clock() - began


def opened(name: str) -> Encoder | None:
    """Return the encoder of that name, None for no name."""
    return open_encoder(name) if name else None


def build_in_parts(folder: Path, size: int, originals: list[Function], encoder: str) -> dict[str, object]:
    """Build an index, and return its cost."""
    log = folder / "catalogue.sqlite-wal"
    seconds, largest_log = 0.0, 0
    coming = map(document, functions(size, originals))
    with vectors_timed() as of_vectors, CodeIndex.create(folder, encoder=opened(encoder)) as index:
        anonymous = AnonymousMemory()
        with anonymous:
            while batch := list(islice(coming, COMMITTED)):
                began = time.process_time()
                index.add(batch)
                index.commit()
                seconds += time.process_time() - began
                largest_log = max(largest_log, log.stat().st_size if log.exists() else 0)
        info = index.info()
    return {
        "documents": size,
        "stored": info.documents,
        "seconds": seconds,
        "vectors_seconds": of_vectors["seconds"],
        "documents_per_second": size / seconds,
        "peak_mebibytes": high_water() / MEBIBYTE,
        "anonymous_mebibytes": anonymous.peak / MEBIBYTE,
        "log_mebibytes": largest_log / MEBIBYTE,
        "segments": info.segments,
        "bytes": dict(info.bytes),
        "bytes_a_posting": info.bytes["postings"] / info.postings,
    }


def document(function: Function) -> Document:
    """Return a function as a document."""
    origin = Origin("bench", function.path, licence="MIT", first_line=function.line)
    return Document(function.text, language="python", kind="function", name=function.name, origins=(origin,))


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
            self.peak = max(self.peak, kibibytes_in(status.read_text(), "RssAnon:") * 1024)


def query(folder: Path, texts: list[str], traces: int, encoder: str) -> dict[str, object]:
    """Return milliseconds of look-ups and traces, and the share of the comparison of checksums."""
    queries = len(texts)
    warmed = [*texts[:WARMING], *texts[:traces]]
    lookups, seconds, firsts = [], [], 0
    vectors: Mapping[str, float] | None = None
    with CodeIndex.open(folder, encoder=opened(encoder)) as index:
        # asked twice: the second time their lists are in memory
        for text in [*texts[:WARMING], *texts, *texts]:
            channels = fingerprints_of(text)
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
    # at most ten documents each, spread over the whole index
    batches = [ids[start :: len(ids) // 10 + 1] for start in range(min(200, len(ids) // 10))]

    def read() -> None:
        for batch in batches:
            index.documents(batch)

    # what is read for the first time stands in no figure
    read()
    with_check, without = [], []
    for _ in range(ROUNDS):
        with_check.append(seconds_of(read))
        with (
            # ANY equals every stored checksum
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


def run_build(scale: tuple[tuple[str, str, Granularity, str | None], ...], seed: int, data: Data) -> Result:
    """Building an index of what this Python has installed."""
    paths = sysconfig.get_paths()
    rows = []
    for name, part, granularity, encoder in scale:
        corpus = Path(paths["purelib"]) if name == PACKAGES else Path(paths["stdlib"]) / part
        rows.append(measured(name, corpus, granularity=granularity, encoder=encoder))
    return Result(rows)


def measured(name: str, corpus: Path, granularity: Granularity, encoder: str | None) -> dict[str, object]:
    """One corpus into a new index, and once more."""
    settings = IndexSettings(CorpusSettings(exclude=NOT_LIBRARY if name == LIBRARY else (), granularity=granularity))
    jobs = (os.cpu_count() or 1) if name == PACKAGES else 1
    with (
        tempfile.TemporaryDirectory() as folder,
        CodeIndex.create(Path(folder, "index"), encoder=opened(encoder or "")) as index,
    ):
        add = partial(added, corpus, index, settings=settings, jobs=jobs)
        first, seconds = add()
        again, seconds_again = add()
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
        "skipped": dict(first.skipped),
        "notes": first.notes,
        "files_of_known_licence": sum(number for licence, number in licences.items() if licence != "unknown"),
        "again": {"seconds": seconds_again, "files_read": again.read, "bytes_read": again.bytes},
    }


def added(corpus: Path, index: CodeIndex, settings: IndexSettings, jobs: int) -> tuple[BuildCounts, float]:
    """Bring the index up to the corpus; return also the seconds of the processor, those of its workers included."""
    source = open_sources([str(corpus)], CorpusSettings(form="folder", exclude=settings.corpus.exclude))
    began = processor_seconds()
    return build_corpus(source, index, settings, jobs=jobs), processor_seconds() - began


def processor_seconds() -> float:
    """Return the seconds of this process and of its children that have ended."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


EXPERIMENTS = (
    Experiment(
        name="performance/index",
        run=run_index,
        scales={"smoke": ((60, 200), 100, 10), "full": ((10_000, 100_000, 1_000_000), 60_000, 1_000)},
        columns=("documents", "documents_per_second", "peak_mebibytes", "lookup", "trace", "snippet_in_first"),
    ),
    Experiment(
        name="performance/scale",
        run=run_scale,
        scales={
            "smoke": (((200, ""), (200, ENCODER)), 100, 10, 5),
            "full": (((100_000, ""), (1_000_000, ""), (10_000_000, ENCODER)), 60_000, 1_000, 500),
        },
        columns=("documents", "encoder", ("built", "seconds"), ("queried", "lookup"), ("queried", "trace")),
    ),
    Experiment(
        name="performance/index_build",
        run=run_build,
        scales={
            "smoke": (("json", "json", "both", ENCODER),),
            "full": (
                (LIBRARY, "", "file", None),
                (LIBRARY, "", "function", None),
                (LIBRARY, "", "both", None),
                (LIBRARY, "", "both", ENCODER),
                (PACKAGES, "", "both", None),
            ),
        },
        columns=("corpus", "granularity", "encoder", "files_read", "megabytes_per_second", "documents"),
    ),
)
