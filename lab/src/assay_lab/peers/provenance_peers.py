"""Fragments of known origin searched for with copydetect and with assay: quality, time, memory.

The corpus are functions of the standard library, the fragments those of the provenance trial: cut by tokens, as they
stand or altered. All ways search the same documents in the same random order for the same fragments and give ten
answers; a near-duplicate of the function that a fragment was cut from is a right one. Each way runs in a process of its
own, after a search that does not count: libraries and encoder stand in no figure. Seconds are CPU time of one process.

copydetect compares a fragment with every document. It is told the language, has no boilerplate, and ranks by the share
of the fragment that it finds in a document, then by the share of the document. Of `SETTINGS`, the one with the best
mean reciprocal rank on a fifth of these very fragments is shown: the choice favours it.
"""

import importlib
import importlib.util
import io
import random
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from importlib.metadata import version
from itertools import chain, islice, product, takewhile
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np

from assay import __version__
from assay.corpora import Document
from assay.provenance import CodeIndex, SearchMethod, trace
from assay.retrieval import open_encoder
from assay_lab.columns import at_places, attributes, text_column
from assay_lab.evaluation.retrieval import gains, reciprocal_rank_gain, retrieval_quality
from assay_lab.experiments.declaration import Data, Experiment, Result
from assay_lab.measuring import PeakMemory, fresh, percentiles, with_ends
from assay_lab.papers.hst.corpus import SearchSpace, installed_functions, is_unseen, search_space
from assay_lab.papers.hst.queries import ALTERATIONS, Alteration, Query, queries
from assay_lab.papers.hst.search import first_right

PEER = "copydetect"
SEED = 0
DEPTH = 10
CHOSEN_AT = 300
"""Documents among which copydetect's setting is chosen."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """How much is searched."""

    spaces: tuple[int, ...]
    windows: tuple[int, ...]
    targets: int
    settings: int | None = None
    corpus: int | None = None


@dataclass(frozen=True, slots=True)
class Setting:
    """Of copydetect: its `noise_threshold`, its `guarantee_threshold`, and whether names become one symbol."""

    noise: int
    guarantee: int
    is_filtered: bool


SETTINGS = [Setting(k, k + more, is_filtered) for k, more, is_filtered in product((8, 15, 25), (0, 5), (True, False))]
"""25 and 30, filtered, is its default."""


@dataclass(frozen=True, slots=True)
class Searched:
    """Positions found by each query, best first, and what that took."""

    found: list[list[int]]
    build_seconds: float
    query_seconds: list[float]
    mebibytes: float


Find = Callable[[str], list[int]]


def corpus(sizes: Sizes) -> SearchSpace:
    """Functions of the standard library in random order, and those that are searched for."""
    documents = list(islice(takewhile(is_unseen, installed_functions()), sizes.corpus))
    few = random.Random(SEED).sample(documents, sizes.spaces[-1])  # noqa: S311  a draw that can be repeated, no secret
    return search_space(few, smallest=sizes.spaces[0], targets=sizes.targets, long=max(sizes.windows), seed=SEED)


Cells = Mapping[tuple[int, Alteration], Sequence[Query]]
"""Length and kind of fragments → the fragments."""


def compared(
    space: SearchSpace, cells: Cells, *, size: int, ways: Mapping[str, Callable[..., Searched]]
) -> list[dict[str, Any]]:
    """All ways over one search space."""
    documents, places = shuffled(space, size)
    asked = list(chain.from_iterable(cells.values()))
    texts = text_column(asked)
    done = {name: fresh(way, documents, texts) for name, way in ways.items()}
    truths = right_places(asked, space, places)
    ranks = {name: list(map(first_of, searched.found, truths)) for name, searched in done.items()}
    results = []
    for name, searched in done.items():
        milliseconds = percentiles(searched.query_seconds, 50, 95, factor=1e3)
        row = {
            "way": name,
            "space": size,
            "queries": len(asked),
            "build_seconds": searched.build_seconds,
            "query_ms": milliseconds | {"mean": float(np.mean(searched.query_seconds) * 1e3)},
            "mebibytes": searched.mebibytes,
            "version": version(PEER) if name == PEER else __version__,
            "cells": list(qualities(name, ranks, cells)),
        }
        results.append(row)
    return results


def qualities(name: str, ranks: Mapping[str, list[int]], cells: Cells) -> Iterator[dict[str, Any]]:
    """Yield the quality of one way in each cell, and how far it is above every other way."""
    start = 0
    for (window, kind), cell in cells.items():
        part = slice(start, start + len(cell))
        start += len(cell)
        groups = attributes(cell, "group")
        others = {other: theirs[part] for other, theirs in ranks.items() if other != name}
        of_cell = retrieval_quality(ranks[name][part], groups, seed=SEED)
        over = reciprocal_rank_gain(ranks[name][part], others, groups, seed=SEED)
        yield {
            "window": window,
            "kind": kind,
            "queries": len(cell),
            "groups": len(set(groups)),
            "mrr": with_ends(of_cell["mrr"]),
            "recall@1": with_ends(of_cell["recall@1"]),
            "recall@10": with_ends(of_cell["recall@10"]),
            "mrr_over": dict(zip(over, map(with_ends, over.values()), strict=True)),
        }


def best_setting(
    space: SearchSpace, cells: Cells, settings: Sequence[Setting]
) -> tuple[Setting, list[dict[str, object]]]:
    """The setting of copydetect with the best mean reciprocal rank over all cells, and the figures of all."""
    documents, places = shuffled(space, min(CHOSEN_AT, len(space.documents)))
    asked = list(chain.from_iterable(cells.values()))[::5]
    texts, truths = text_column(asked), right_places(asked, space, places)
    figures: dict[Setting, float] = {}
    for setting in settings:
        searched = fresh(search_copydetect, documents, texts, setting=setting)
        figures[setting] = float(gains(list(map(first_of, searched.found, truths)))["mrr"].mean())
    best = max(figures, key=lambda setting: figures[setting])
    sizes = {"queries": len(asked), "documents": len(documents)}
    rows = []
    for setting, figure in figures.items():
        rows.append({**asdict(setting), "mrr": figure, **sizes, "best": setting == best})
    return best, rows


def shuffled(space: SearchSpace, size: int) -> tuple[list[Document], dict[int, int]]:
    """The documents of a space, targets no longer first, and place → position there: equals are ranked by position."""
    order = list(range(size))
    random.Random(SEED + size).shuffle(order)  # noqa: S311
    return at_places(space.documents, order), dict(zip(order, range(size), strict=True))


def right_places(asked: Sequence[Query], space: SearchSpace, places: Mapping[int, int]) -> list[frozenset[int]]:
    """Positions of the right answers to each query."""
    right = []
    for query in asked:
        present = filter(places.__contains__, space.right[query.target])
        right.append(frozenset(map(places.__getitem__, present)))
    return right


def first_of(positions: Sequence[int], truth: frozenset[int]) -> int:
    """Rank of the first right answer among the positions that were found, 0 where there is none."""
    return first_right(np.array(positions, np.int64), truth)


def search_assay(documents: Sequence[Document], texts: Sequence[str], *, method: SearchMethod) -> Searched:
    """An index on disk, and a trace of each text with matched lines, licences and confidence."""
    encoder = open_encoder() if method == "union" else None

    def build(few: Sequence[Document], folder: Path) -> CodeIndex:
        with CodeIndex.create(folder, encoder=encoder) as index:
            index.add(few)
            index.compact()
        return CodeIndex.open(folder, encoder=encoder)

    def finding(index: CodeIndex) -> Find:
        def find(text: str) -> list[int]:
            # ids of documents begin at 1, positions at 0
            answer = trace(text, index, language="python", method=method, top=DEPTH)
            return [match.document_id - 1 for match in answer.matches]

        return find

    with tempfile.TemporaryDirectory() as folder:
        with build(documents[:5], Path(folder) / "first") as first:
            finding(first)(documents[0].text)
        with PeakMemory() as peak:
            start = time.process_time()
            with build(documents, Path(folder) / "index") as index:
                seconds = time.process_time() - start
                found, taken = answers(finding(index), texts)
    return Searched(found, build_seconds=seconds, query_seconds=taken, mebibytes=peak.growth)


def search_copydetect(documents: Sequence[Document], texts: Sequence[str], *, setting: Setting) -> Searched:
    """Fingerprints of all documents in memory, and each text compared with all of them."""
    peer = importlib.import_module(PEER)
    compare = importlib.import_module(f"{PEER}.detector").compare_files

    def fingerprints(text: str) -> Any:  # noqa: ANN401  the peer has no types
        # winnowing finds every match of t tokens with windows of w = t - k + 1 (Schleimer et al. 2003)
        window = setting.guarantee - setting.noise + 1
        return peer.CodeFingerprint(
            "code.py", setting.noise, window, filter=setting.is_filtered, language="python", fp=io.StringIO(text)
        )

    def finding(corpus: Sequence[object]) -> Find:
        def find(text: str) -> list[int]:
            query = fingerprints(text)
            found = []
            for position, document in enumerate(corpus):
                shared, (of_query, of_document), _ = compare(query, document)
                if shared:
                    # negated, so that the largest shares come first; equal ones keep the order of positions
                    found.append((-of_query, -of_document, position))
            return list(map(itemgetter(-1), sorted(found)[:DEPTH]))

        return find

    finding(list(map(fingerprints, text_column(documents[:5]))))(documents[0].text)
    with PeakMemory() as peak:
        start = time.process_time()
        corpus = list(map(fingerprints, text_column(documents)))
        seconds = time.process_time() - start
        found, taken = answers(finding(corpus), texts)
    return Searched(found, build_seconds=seconds, query_seconds=taken, mebibytes=peak.growth)


def answers(find: Find, texts: Sequence[str]) -> tuple[list[list[int]], list[float]]:
    """What is found for each text, and CPU seconds of each search."""
    found, taken = [], []
    for text in texts:
        start = time.process_time()
        found.append(find(text))
        taken.append(time.process_time() - start)
    return found, taken


def run(scale: Sizes, seed: int, data: Data) -> Result:
    """Fragments of known origin searched for with copydetect and with assay: quality, time, memory."""
    space = corpus(scale)
    cells: dict[tuple[int, Alteration], list[Query]] = {}
    for window, kind in product(scale.windows, ALTERATIONS):
        cells[window, kind] = queries(space, window, kind, most=scale.targets, seed=SEED)
    ways: dict[str, Callable[..., Searched]] = {
        "assay, union": partial(search_assay, method="union"),
        "assay, winnowing": partial(search_assay, method="winnowing"),
    }
    tried: list[dict[str, object]] = []
    # copydetect is optional: without it the ways of assay are measured alone
    if importlib.util.find_spec(PEER):
        best, tried = best_setting(space, cells, SETTINGS[: scale.settings])
        ways[PEER] = partial(search_copydetect, setting=best)
    rows = list(chain.from_iterable(compared(space, cells, size=size, ways=ways) for size in scale.spaces))
    for row in rows:
        row["tried"] = tried if row["way"] == PEER else None
    return Result(rows)


EXPERIMENTS = (
    Experiment(
        name="peers/provenance_peers",
        run=run,
        scales={
            "smoke": Sizes((30, 60), (30, 60), 20, settings=2, corpus=300),
            "full": Sizes((100, 300, 1_000), (30, 60, 120), 100),
        },
        columns=("way", "space", "build_seconds", "query_ms", "mebibytes", "window", "kind", "mrr"),
    ),
)
