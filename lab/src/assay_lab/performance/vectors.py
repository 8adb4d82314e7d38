"""Nearest vectors that a search finds, and how often the right one is among them.

Functions of the standard library and of installed packages, each a vector of `builtin:fragments`; the queries are
fragments of 60 tokens of functions of the standard library, as they stand or with every name replaced. The truth are
the cosines of all vectors in 32 bits. An index rounds vectors to eight bits, and computes the cosines of a share of
them that it chooses by their signs.
"""

import random
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from unittest.mock import patch

import numpy as np

from assay.ground_truth import library_paths, library_root
from assay.retrieval import VectorRows, open_encoder, vector_file
from assay.types import Float32Array, Int64Array
from assay_lab.clones import TokenizedText, rename_all
from assay_lab.columns import text_column
from assay_lab.experiments.declaration import Data, Experiment, Result
from assay_lab.measuring import percentiles
from assay_lab.performance.many_functions import Function, found

SHARES = (1.0, 1 / 8, 1 / 16, 1 / 32, 1 / 64)
NEAREST, GATE = 100, 400
TOKENS = 60

Search = Callable[[Float32Array], Int64Array]


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
    return rename_all(text, "python", seed=1)


def measured(
    queries: Float32Array, search: Search, *, sources: Sequence[int], truth: Sequence[Int64Array]
) -> dict[str, object]:
    """Return how often the source is among the nearest, the share of the true nearest, and processor time."""
    answers, seconds = [], []
    for query in queries:
        began = time.thread_time()
        answers.append(search(query))
        seconds.append(time.thread_time() - began)
    first, within, shared = [], [], []
    for answer, source, right in zip(answers, sources, truth, strict=True):
        first.append(source in answer[:NEAREST])
        within.append(source in answer)
        shared.append(len(np.intersect1d(answer[:NEAREST], right)) / NEAREST)
    return {
        "asked": len(queries),
        "source_in_100": float(np.mean(first)),
        "source_in_400": float(np.mean(within)),
        "share_of_nearest_100": float(np.mean(shared)),
        **{f"{name}_ms": value for name, value in percentiles(seconds, 50, 95, factor=1e3).items()},
    }


def run(scale: tuple[int, int], seed: int, data: Data) -> Result:
    """Nearest vectors that a search finds, and how often the right one is among them."""
    most, asked = scale
    functions = list(islice(found(), most))
    encoder = open_encoder("builtin:fragments")
    encoding = time.process_time()
    vectors = encoder.encode(text_column(functions))
    encoding = time.process_time() - encoding
    storing = time.process_time()
    file = VectorRows.of(np.arange(len(vectors)), vectors)
    storing = time.process_time() - storing

    def nearest(query: Float32Array) -> Int64Array:
        documents, cosines = file.nearest(query, GATE, np.zeros(0, np.int64))
        return documents[np.argsort(-cosines, kind="stable")[:GATE]]

    about = {
        "documents": len(vectors),
        "dimensions": encoder.dimensions,
        "encoded_per_second": len(vectors) / encoding,
        "stored_per_second": len(vectors) / storing,
        "bytes": vector_file.row_bytes(encoder.dimensions),
    }
    rows: list[dict[str, object]] = []
    for kind, alter in (("as it stands", str), ("every name replaced", rename)):
        sources, texts = zip(*fragments(functions, asked), strict=True)
        queries = encoder.encode(list(map(alter, texts)))
        truth = [np.argsort(-(vectors @ query), kind="stable")[:NEAREST] for query in queries]
        for share in SHARES:
            # the least number would compare more than the share of a small index
            with patch.multiple(vector_file, LEAST_COMPARED=NEAREST, COMPARED_SHARE=share):
                figures = measured(queries, nearest, sources=sources, truth=truth)
            rows.append(about | {"queries": kind, "compared": share, **figures})
    return Result(rows)


EXPERIMENTS = (Experiment(name="performance/vectors", run=run, scales={"smoke": (1_500, 20), "full": (60_000, 300)}),)
