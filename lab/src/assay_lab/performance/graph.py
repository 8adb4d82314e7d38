"""Search by the graph over vectors beside a comparison of all: what it finds, what it costs, how it grows.

The vectors are those of whole functions and of their windows of 30 tokens, of the standard library and of installed
packages, by `builtin:fragments`; each is a document of its own. Queries are fragments of 60 tokens of functions of the
standard library, as they stand and with every name replaced. Recall@100 is the share of the 100 nearest, by all
cosines, that a search for 400 has among its first 100. Times are of the processor, one thread; building too. One index
grows from size to size, as `index add` and `compact` let it, so each vector is linked once. It is kept in the folder
`work`, so a run that was stopped continues.
"""

import json
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray

from assay.errors import require
from assay.files import write_json
from assay.retrieval import VectorIndex, open_encoder, vectors
from assay.retrieval.encoding import windows_of
from assay.types import Float32Array
from assay_lab.experiments.declaration import WORK, Data, Experiment, Result
from assay_lab.measuring import percentiles
from assay_lab.papers.hst.corpus import installed_functions
from assay_lab.performance.many_functions import found
from assay_lab.performance.vectors import fragments, rename

NEAREST, GATE = 100, 400
"""Nearest that recall counts, and documents that a trace asks for."""
AT_ONCE, STEP = 8192, 100_000
WIDTHS = 1024, 2048, 4096
"""Nodes that a search looks at; the product's is among them."""
Documents = NDArray[np.int64]


def distinct_texts(most: int) -> Iterator[str]:
    """Yield distinct functions and windows of them."""
    seen: set[int] = set()
    for document in installed_functions():
        for text in (document.text, *windows_of(document.text)):
            if hash(text) not in seen:
                seen.add(hash(text))
                yield text
        if len(seen) >= most:
            return


def encoded(most: int, path: Path) -> NDArray[np.float16]:
    """Return the vectors, [n, d], in random order; those of an earlier run are read."""
    if not path.exists():
        encoder, texts, parts = open_encoder(), islice(distinct_texts(most), most), []
        while batch := list(islice(texts, AT_ONCE)):
            parts.append(encoder.encode(batch).astype(np.float16))
        made = np.concatenate(parts)
        np.save(path, made[np.random.default_rng(0).permutation(len(made))])
    stored: NDArray[np.float16] = np.load(path, mmap_mode="r")
    return stored


def queries(count: int) -> dict[str, Float32Array]:
    """Return kind of query → vectors of fragments."""
    _, texts = zip(*fragments(list(islice(found(), 12_000)), count), strict=True)
    encoder = open_encoder()
    return {"as it stands": encoder.encode(texts), "every name replaced": encoder.encode(list(map(rename, texts)))}


def grow(index: VectorIndex, rows: NDArray[np.float16]) -> float:
    """Add rows to an index and its graph; return the seconds that the graph took."""
    first = len(index)
    for start in range(0, len(rows), AT_ONCE):
        part = rows[start : start + AT_ONCE].astype(np.float32)
        index.add(np.arange(first + start, first + start + len(part)), part)
    index.spill()
    began = time.process_time()
    # a graph that is there already is extended, whatever the size
    with patch.object(vectors, "GRAPH_FROM", 1):
        index.connect()
    seconds = time.process_time() - began
    index.commit()
    return seconds


def grown(folder: Path, rows: NDArray[np.float16], size: int) -> tuple[VectorIndex, float]:
    """Return the index of the first rows, and the seconds that its graph took; one that is there grows further."""
    place, record = folder / "vectors", folder / "seconds.json"
    if not record.exists():
        shutil.rmtree(place, ignore_errors=True)
        VectorIndex.create(place, rows.shape[1]).commit()
        write_json(record, {"0": 0.0})
    index = VectorIndex.open(place, writable=True)
    seconds: dict[str, float] = json.loads(record.read_text("utf-8"))
    while len(index) < size:
        building = seconds[str(len(index))] + grow(index, rows[len(index) : min(size, len(index) + STEP)])
        seconds[str(len(index))] = building
        write_json(record, seconds)
    index.compact()
    index.commit()
    return index, seconds[str(size)]


def answers_of(
    search: Callable[[Float32Array], Documents], vectors: Float32Array
) -> tuple[list[Documents], list[float]]:
    """Return the answers and the seconds of each."""
    answers, seconds = [], []
    # what is compiled or mapped at the first call does not count
    search(vectors[0])
    for query in vectors:
        began = time.thread_time()
        answers.append(search(query))
        seconds.append(time.thread_time() - began)
    return answers, seconds


def shares_of(answers: Sequence[Documents], truth: Sequence[Documents]) -> list[float]:
    """Return the share of the nearest that each answer has."""
    return [len(np.intersect1d(answer, right)) / NEAREST for answer, right in zip(answers, truth, strict=True)]


def measured(index: VectorIndex, by_kind: dict[str, Float32Array]) -> Iterator[dict[str, object]]:
    """Yield a row for each kind of query and width of the search."""

    def first(query: Float32Array) -> Documents:
        return index.search(query, GATE)[0][:NEAREST]

    if (graph := index.graph) is None:
        return
    for kind, own in by_kind.items():
        truth = [index.search(query, NEAREST, exact=True)[0] for query in own]
        # without its graph the index compares by signs
        index.graph = None
        answers, seconds = answers_of(first, own)
        index.graph = graph
        signs = {"signs_recall_100": float(np.mean(shares_of(answers, truth)))}
        signs |= {f"signs_{name}_ms": value for name, value in percentiles(seconds, 50, 99, factor=1e3).items()}
        for width in WIDTHS:
            graph.nodes.expansion_search = width  # type: ignore[misc]  # mypy does not see its setter
            answers, seconds = answers_of(first, own)
            shares = shares_of(answers, truth)
            row: dict[str, object] = {"queries": kind, "asked": len(own), "width": width}
            row |= {f"graph_{name}_ms": value for name, value in percentiles(seconds, 50, 99, factor=1e3).items()}
            yield row | {"recall_100": float(np.mean(shares)), "least_recall": min(shares)} | signs


def run(scale: tuple[tuple[int, ...], int], seed: int, data: Data) -> Result:
    """The graph over vectors: recall of the 100 nearest, time of a search, and cost of building, by size."""
    require("usearch", purpose="the graph over vectors")
    sizes, count = scale
    rows_of_all = encoded(max(sizes), data[WORK] / f"vectors-{max(sizes)}.npy")
    by_kind = queries(count)
    results: list[dict[str, object]] = []
    for size in sizes:
        path = data[WORK] / f"rows-{size}.json"
        if not path.exists():
            index, seconds = grown(data[WORK], rows_of_all, size)
            graph = int(index.described["graph"]["bytes"])
            about = {"vectors": len(index), "dimensions": index.shape, "building_seconds": seconds}
            about["graph_bytes_a_vector"] = graph / len(index)
            write_json(path, [about | row for row in measured(index, by_kind)])
        results += json.loads(path.read_text("utf-8"))
    return Result(results)


EXPERIMENTS = (
    Experiment(
        name="performance/graph",
        run=run,
        scales={"smoke": ((2_000,), 10), "full": ((100_000, 300_000, 1_000_000), 200)},
        columns=(
            "vectors",
            "queries",
            "width",
            "recall_100",
            "graph_p50_ms",
            "graph_p99_ms",
            "signs_p50_ms",
            "building_seconds",
        ),
    ),
)
