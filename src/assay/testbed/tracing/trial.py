"""The trial: windows × alterations × search spaces × ways of searching, each answer held against the truth."""

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Literal

import numpy as np

from assay.evaluation.estimate import Estimate
from assay.evaluation.retrieval import reciprocal_rank_gain, retrieval_quality
from assay.provenance import CodeIndex, trace
from assay.testbed.tracing.corpus import SearchSpace
from assay.testbed.tracing.queries import ALTERATIONS, WINDOWS, Kind, queries
from assay.testbed.tracing.search import WAYS, Way, answers, first_right
from assay.types import Encoder

Scale = Literal["smoke", "small", "paper"]
LANGUAGE = "python"
HELD = 4096
"""Documents that are added at a time."""


@dataclass(frozen=True, slots=True)
class Size:
    """How much is tried.

    Attributes:
        spaces: sizes of the search spaces, ascending; those beyond the corpus become the whole corpus once.
        windows: lengths of fragments in tokens.
        targets: functions that are searched for.
        most: queries in one cell at most.
        timed: queries that are timed one by one.
    """

    spaces: tuple[int, ...]
    windows: tuple[int, ...] = WINDOWS
    targets: int = 300
    most: int = 150
    timed: int = 60


SIZES: Mapping[Scale, Size] = MappingProxyType(
    {
        "smoke": Size((200,), (15, 60), targets=30, most=20, timed=5),
        "small": Size((1_000, 10_000)),
        "paper": Size((1_000, 10_000, 100_000, 1_000_000), targets=600, most=300, timed=200),
    }
)


@dataclass(frozen=True, slots=True)
class Cell:
    """One way in one cell of the trial.

    Attributes:
        space: documents searched among.
        window: tokens of a fragment.
        kind: how fragments were altered.
        way: of searching.
        queries: how many.
        changed: share of them that the alteration changed.
        groups: packages and modules that they come from.
        quality: recall at n and mean reciprocal rank.
        gain: mean reciprocal rank over each other way, paired.
    """

    space: int
    window: int
    kind: Kind
    way: str
    queries: int
    changed: float
    groups: int
    quality: Mapping[str, Estimate]
    gain: Mapping[str, Estimate] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Cost:
    """What a way costs over one search space: milliseconds of a whole trace with ten matches, and bytes on disk."""

    space: int
    way: str
    queries: int
    p50_ms: float
    p95_ms: float
    index_bytes: int


@dataclass(frozen=True, slots=True)
class TracingTrial:
    """All that was measured.

    Attributes:
        seed: of order, fragments and alterations.
        encoder: that made the vectors.
        encoder_digest: of it.
        cells: of the trial.
        costs: of the ways.
    """

    seed: int
    encoder: str
    encoder_digest: str
    cells: tuple[Cell, ...]
    costs: tuple[Cost, ...]

    def as_json(self) -> str:
        """For a file."""
        return json.dumps(asdict(self), indent=1) + "\n"


Progress = Callable[[int, int], None]


def run_trial(
    space: SearchSpace, size: Size, encoder: Encoder, folder: Path, *, seed: int, progress: Progress | None = None
) -> TracingTrial:
    """Search every fragment in every way.

    Args:
        space: the corpus and the functions that are searched for.
        size: how much is tried.
        encoder: of the vectors.
        folder: where the indexes are made; what is left there of an earlier run is used again.
        seed: of fragments and alterations.
        progress: told after each cell: cells done, cells in all.
    """
    sizes = list(dict.fromkeys(min(one, len(space.documents)) for one in size.spaces))
    total = len(sizes) * len(size.windows) * len(ALTERATIONS)
    cells: list[Cell] = []
    costs: list[Cost] = []
    for documents in sizes:
        indexes = {profile: index_of(space, documents, profile, encoder, folder) for profile in ("paper", "default")}
        try:
            for window in size.windows:
                for kind in ALTERATIONS:
                    cells += tried(space, documents, window, kind, indexes, most=size.most, seed=seed)
                    if progress:
                        progress(len(cells) // len(WAYS), total)
            costs += timed(space, documents, indexes, most=size.timed, seed=seed)
        finally:
            for index in indexes.values():
                index.close()
    return TracingTrial(seed, encoder.name, encoder.digest, tuple(cells), tuple(costs))


def index_of(space: SearchSpace, documents: int, profile: str, encoder: Encoder, folder: Path) -> CodeIndex:
    """The index over the first documents; document number n + 1 is the one at position n."""
    place = folder / f"{profile}-{documents}"
    if not place.is_dir():
        with CodeIndex.create(place, profile=profile, encoder=encoder) as index:
            for start in range(0, documents, HELD):
                index.add(space.documents[start : min(start + HELD, documents)])
            index.compact()
    return CodeIndex.open(place, encoder=encoder)


def tried(
    space: SearchSpace,
    documents: int,
    window: int,
    kind: Kind,
    indexes: Mapping[str, CodeIndex],
    *,
    most: int,
    seed: int,
) -> Iterator[Cell]:
    """One cell, in every way."""
    asked = queries(space, window, kind, most=most, seed=seed)
    groups = [one.group for one in asked]
    right = [frozenset(at + 1 for at in space.right[one.target]) for one in asked]
    ranks = {
        name: [
            first_right(answers(one.text, LANGUAGE, indexes[way.profile], way.method), truth)
            for one, truth in zip(asked, right, strict=True)
        ]
        for name, way in WAYS.items()
    }
    changed = float(np.mean([one.changed for one in asked]))
    for name, own in ranks.items():
        others = {other: theirs for other, theirs in ranks.items() if other != name}
        yield Cell(
            space=documents,
            window=window,
            kind=kind,
            way=name,
            queries=len(asked),
            changed=changed,
            groups=len(set(groups)),
            quality=retrieval_quality(own, groups, seed=seed),
            gain=reciprocal_rank_gain(own, others, groups, seed=seed),
        )


def timed(
    space: SearchSpace, documents: int, indexes: Mapping[str, CodeIndex], *, most: int, seed: int
) -> Iterator[Cost]:
    """Time and size of each way, on fragments of 60 tokens with Type-2 alterations."""
    asked = queries(space, 60, "type 2", most=most, seed=seed)
    for name, way in WAYS.items():
        seconds = [duration(one.text, indexes[way.profile], way) for one in asked]
        sizes = indexes[way.profile].info().bytes
        parts = {"winnowing": ("catalogue", "postings"), "vector": ("catalogue", "vectors")}
        needed = parts.get(way.method, tuple(sizes))
        yield Cost(
            documents,
            name,
            len(asked),
            float(np.percentile(seconds, 50) * 1e3),
            float(np.percentile(seconds, 95) * 1e3),
            sum(sizes[part] for part in needed),
        )


def duration(text: str, index: CodeIndex, way: Way) -> float:
    """Seconds of one trace."""
    began = time.perf_counter()
    trace(text, index, language=LANGUAGE, method=way.method, top=10)
    return time.perf_counter() - began


def mean_over(cells: Sequence[Cell], way: str, value: str = "mrr") -> float:
    """The mean of a figure over all cells of one way: a summary for one line, not a claim."""
    return float(np.mean([one.quality[value].value for one in cells if one.way == way]))
