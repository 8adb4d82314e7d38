"""How many of the nearest vectors does a search find, and is the right one among them?

    python benchmarks/bench_vectors.py [--smoke --out DIR]

Functions of the standard library and of installed packages, each a vector of `builtin:fragments`; asked for are
fragments of 60 tokens of functions of the standard library, as they stand or with every name replaced. All vectors
are compared, or the graph (HNSW) of the same index is searched, more and more widely.
"""

import random
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import islice

import numpy as np
from many_functions import Function, found
from measuring import arguments, write

from assay.provenance.clones import TokenizedText, renamed
from assay.retrieval.encoding import open_encoder
from assay.retrieval.vectors import new_index
from assay.testbed.library_functions import library_paths, library_root
from assay.types import Encoder, Float32Array

IN_SIGHT = (64, 256, 512, 1024)
NEAREST, GATE = 100, 400
TOKENS, QUERIES = 60, 300
AT_ONCE = 4096

Answer = Callable[[Float32Array], np.ndarray]


def main() -> None:
    """Measure, and write the figures."""
    options, began = arguments(__doc__), time.perf_counter()
    most = 1_500 if options.smoke else 60_000
    functions = list(islice(found(), most))
    encoder = open_encoder("builtin:fragments")
    index = new_index(encoder.dimensions)
    rows = encoded(encoder, [one.text for one in functions])
    building = time.process_time()
    index.add(np.arange(len(rows), dtype=np.uint64), rows.astype(np.float32), threads=1)
    building = time.process_time() - building

    def by_graph(query: Float32Array) -> np.ndarray:
        # asked for more than are kept in sight, it keeps as many in sight
        most = max(NEAREST, min(GATE, index.expansion_search))
        return np.asarray(index.search(query, most, threads=1).keys, np.int64)

    def by_all(query: Float32Array) -> np.ndarray:
        return np.asarray(index.search(query, GATE, threads=1, exact=True).keys, np.int64)

    results: list[dict[str, object]] = []
    about = {"documents": len(rows), "dimensions": encoder.dimensions, "graph_vectors_per_second": len(rows) / building}
    for kind, alter in (("as it stands", str), ("every name replaced", rename)):
        sources, texts = zip(*fragments(functions, QUERIES if not options.smoke else 20), strict=True)
        asked = encoder.encode([alter(one) for one in texts])
        right = [by_all(one) for one in asked]
        for wide in (None, *IN_SIGHT):
            if wide is not None:
                index.expansion_search = wide
            answer = by_all if wide is None else by_graph
            results.append(about | {"queries": kind, "in_sight": wide, **asking(asked, sources, right, answer)})
            print(results[-1])
    print(write("vectors", options, results, began))


def encoded(encoder: Encoder, texts: Sequence[str]) -> Float32Array:
    """Vectors of texts, float32 [n, d], rounded as an index stores them."""
    made = [encoder.encode(texts[at : at + AT_ONCE]).astype(np.float16) for at in range(0, len(texts), AT_ONCE)]
    return np.concatenate(made).astype(np.float32)


def fragments(functions: Sequence[Function], count: int) -> Iterator[tuple[int, str]]:
    """Number of a function of the standard library, and a fragment of it."""
    draw = random.Random(0)  # noqa: S311  no secret
    library = set(library_paths(library_root()))
    order = [at for at, one in enumerate(functions) if one.path in library]
    draw.shuffle(order)
    made = 0
    for at in order:
        tokens = TokenizedText.of(functions[at].text, "python")
        if len(tokens) >= TOKENS and made < count:
            made += 1
            yield at, tokens.fragment(draw.randrange(len(tokens) - TOKENS + 1), TOKENS)


def rename(text: str) -> str:
    """Every name by another one."""
    return renamed(text, "python", seed=1)


def asking(
    asked: Float32Array, sources: Sequence[int], right: Sequence[np.ndarray], answer: Answer
) -> dict[str, object]:
    """How often the source is found, what share of the nearest are, and milliseconds of processor time."""
    answers, taken = [], []
    for query in asked:
        began = time.thread_time()
        answers.append(answer(query))
        taken.append(time.thread_time() - began)
    kept = [
        len(np.intersect1d(one[:NEAREST], all_[:NEAREST])) / NEAREST for one, all_ in zip(answers, right, strict=True)
    ]
    return {
        "asked": len(asked),
        "source_in_100": float(np.mean([at in one[:NEAREST] for at, one in zip(sources, answers, strict=True)])),
        "source_in_400": float(np.mean([at in one for at, one in zip(sources, answers, strict=True)]))
        if len(answers[0]) == GATE
        else None,
        "share_of_nearest_100": float(np.mean(kept)),
        "p50_ms": float(np.percentile(taken, 50) * 1e3),
        "p95_ms": float(np.percentile(taken, 95) * 1e3),
    }


if __name__ == "__main__":
    main()
