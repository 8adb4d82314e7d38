"""The trial: windows × alterations × search spaces × ways of searching, each answer compared with the truth."""

import hashlib
import json
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from functools import partial
from itertools import product
from operator import attrgetter
from pathlib import Path

import numpy as np

from assay import __version__
from assay.evaluation import Estimate
from assay.provenance import CodeIndex, trace
from assay.types import Encoder
from assay_lab.columns import attributes
from assay_lab.evaluation.retrieval import reciprocal_rank_gain, retrieval_quality
from assay_lab.experiments.bench import label_of
from assay_lab.experiments.scales import Count, Counts
from assay_lab.papers.hst.corpus import SearchSpace
from assay_lab.papers.hst.queries import ALTERATIONS, WINDOWS, Alteration, Query, queries
from assay_lab.papers.hst.search import WAYS, Way, answers, first_right

PROFILES = ("paper", "default")
BATCH = 4096
"""Documents that are added at a time."""


@dataclass(frozen=True, slots=True)
class Size:
    """How much is measured.

    Attributes:
        spaces: sizes of the search spaces, ascending; those beyond the corpus become the whole corpus once.
        windows: lengths of fragments in tokens.
        targets: functions that are searched for.
        most: queries in one cell at most.
        timed: queries that are timed one by one.
        corpus: functions read at most, by path, the standard library first; None: all that are installed.
        layers, batch, steps, warm_up: of a SourceTracker; see `TrackerRecipe`.
        read: functions that are read to train it.
    """

    spaces: Counts
    windows: Counts = WINDOWS
    targets: Count = 600
    most: Count = 300
    timed: Count = 200
    corpus: Count | None = None
    layers: Count | None = 9
    batch: Count = 2048
    steps: Count = 2000
    warm_up: int = 500
    read: Count | None = None


SIZES: Mapping[str, Size] = {
    "smoke": Size(
        (200,), (15, 60), targets=30, most=20, timed=5, corpus=1_500, layers=1, batch=8, steps=2, warm_up=1, read=400
    ),
    "full": Size((1_000, 10_000, 100_000), layers=None, batch=128, steps=32, warm_up=2),
    "paper": Size((1_000, 10_000, 100_000, 1_000_000)),
}
"""Scale → size."""


@dataclass(frozen=True, slots=True)
class TrialCell:
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
    kind: Alteration
    way: str
    queries: int
    changed: float
    groups: int
    quality: Mapping[str, Estimate]
    gain: Mapping[str, Estimate] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Cost:
    """Cost of a search in one space: milliseconds of processor time of a trace with ten matches, and bytes."""

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
        documents: functions in the whole corpus.
        cells: of the trial.
        costs: of the ways.
    """

    seed: int
    encoder: str
    encoder_digest: str
    documents: int
    cells: tuple[TrialCell, ...]
    costs: tuple[Cost, ...]

    def as_json(self) -> str:
        """Return the content of its file."""
        return json.dumps(asdict(self), indent=1) + "\n"


TrialProgress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Ranks:
    """The ranks of one cell, before anything is computed from them.

    Attributes:
        space, window, kind: the cell.
        groups: [q], of the queries.
        changed: share of them that the alteration changed.
        ranks: way → [q], rank of the first right answer, 0 for none.
    """

    space: int
    window: int
    kind: Alteration
    groups: list[str]
    changed: float
    ranks: Mapping[str, list[int]]


def run_trial(
    space: SearchSpace, size: Size, encoder: Encoder, folder: Path, *, seed: int, progress: TrialProgress | None = None
) -> TracingTrial:
    """Search every fragment in every way.

    Results of an earlier run with the same corpus, encoder and seed in the folder are read.

    Args:
        space: the corpus and the functions that are searched for.
        size: how much is tried.
        encoder: of the vectors.
        folder: where indexes and ranks are kept.
        seed: of fragments and alterations.
        progress: called after each cell with the cells done and the cells in all.
    """
    sizes = list(dict.fromkeys(map(partial(min, len(space.documents)), size.spaces)))
    total = len(sizes) * len(size.windows) * len(ALTERATIONS)
    folder.mkdir(parents=True, exist_ok=True)
    # ranks of other settings lie in other files, so that none is taken for one of these
    digest = run_digest(space, size, encoder, seed=seed)
    file = RankFile(folder / f"ranks-{digest}.jsonl")
    cells: list[TrialCell] = []
    costs: list[Cost] = []
    done = 0
    for documents in sizes:
        with ExitStack() as stack:
            indexes = {}
            for profile in PROFILES:
                indexes[profile] = index_of(space, documents, profile=profile, encoder=encoder, folder=folder)
                stack.callback(indexes[profile].close)
            for window, kind in product(size.windows, ALTERATIONS):
                # a run that was killed continues after the last cell on disk
                ranks = file.get(documents, window, kind)
                if ranks is None:
                    ranks = ranks_of(
                        space, documents, window=window, kind=kind, indexes=indexes, most=size.most, seed=seed
                    )
                    file.add(ranks)
                cells += cells_of(ranks, seed=seed)
                done += 1
                if progress:
                    progress(done, total)
            costs += timed(space, documents, indexes, most=size.timed, seed=seed)
    return TracingTrial(
        seed=seed,
        encoder=label_of(encoder.name),
        encoder_digest=encoder.digest,
        documents=len(space.documents),
        cells=tuple(cells),
        costs=tuple(costs),
    )


def run_digest(space: SearchSpace, size: Size, encoder: Encoder, *, seed: int) -> str:
    """Return the digest of all that ranks depend on: version, settings, encoder and every document."""
    settings = f"{__version__} {seed} {encoder.digest} {size.targets} {size.most} {sorted(WAYS.items())}"
    digest = hashlib.sha256(settings.encode())
    for document in space.documents:
        digest.update(document.digest.encode())
    return digest.hexdigest()[:16]


class RankFile:
    """Ranks on disk, one line for each cell: a run that was killed continues after the last one."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._cells: dict[tuple[int, int, str], Ranks] = {}
        for line in path.read_text("utf-8").splitlines() if path.exists() else ():
            try:
                ranks = Ranks(**json.loads(line))
            except (ValueError, TypeError):  # an empty line, or one that a kill cut short
                continue
            self._cells[ranks.space, ranks.window, ranks.kind] = ranks

    def get(self, space: int, window: int, kind: Alteration) -> Ranks | None:
        """Return the ranks of a cell; None where it was not measured."""
        return self._cells.get((space, window, kind))

    def add(self, ranks: Ranks) -> None:
        """Append a cell to the file."""
        with self._path.open("a", encoding="utf-8") as file:
            # the line end comes first: a line that was cut short before does not spoil this one
            file.write(f"\n{json.dumps(asdict(ranks))}")


def index_of(space: SearchSpace, documents: int, *, profile: str, encoder: Encoder, folder: Path) -> CodeIndex:
    """Return the index over the first documents; document number n + 1 is the one at position n."""
    content = "".join(map(attrgetter("digest"), space.documents[:documents]))
    digest = hashlib.sha256(f"{__version__} {content}".encode()).hexdigest()[:16]
    place = folder / f"index-{profile}-{documents}-{encoder.digest[:8]}-{digest}"
    if place.is_dir():
        index = CodeIndex.open(place, encoder=encoder)
        # otherwise a build that was killed
        if len(index) == documents:
            return index
        index.close()
        shutil.rmtree(place)
    with CodeIndex.create(place, profile=profile, encoder=encoder) as writer:
        for start in range(0, documents, BATCH):
            writer.add(space.documents[start : min(start + BATCH, documents)])
        writer.compact()
    return CodeIndex.open(place, encoder=encoder)


def ranks_of(
    space: SearchSpace,
    documents: int,
    *,
    window: int,
    kind: Alteration,
    indexes: Mapping[str, CodeIndex],
    most: int,
    seed: int,
) -> Ranks:
    """Return the ranks of one cell, in every way."""
    fragments = queries(space, window, kind, most=most, seed=seed)
    ranks: dict[str, list[int]] = {name: [] for name in WAYS}
    for name, way in WAYS.items():
        for query in fragments:
            # documents of an index are numbered from 1
            right = frozenset(at + 1 for at in space.right[query.target])
            ranks[name].append(
                first_right(answers(query.text, query.language, indexes[way.profile], method=way.method), right)
            )
    return Ranks(
        space=documents,
        window=window,
        kind=kind,
        groups=attributes(fragments, "group"),
        changed=sum(attributes(fragments, "changed")) / max(1, len(fragments)),
        ranks=ranks,
    )


def cells_of(cell: Ranks, *, seed: int) -> Iterator[TrialCell]:
    """Yield the quality of each way in one cell; nothing where no function was long enough."""
    if not cell.groups:
        return
    for name, own in cell.ranks.items():
        others = {other: theirs for other, theirs in cell.ranks.items() if other != name}
        yield TrialCell(
            space=cell.space,
            window=cell.window,
            kind=cell.kind,
            way=name,
            queries=len(own),
            changed=cell.changed,
            groups=len(set(cell.groups)),
            quality=retrieval_quality(own, cell.groups, seed=seed),
            gain=reciprocal_rank_gain(own, others, cell.groups, seed=seed),
        )


def timed(
    space: SearchSpace, documents: int, indexes: Mapping[str, CodeIndex], *, most: int, seed: int
) -> Iterator[Cost]:
    """Yield time and size of each way, on fragments of 60 tokens with Type-2 alterations."""
    fragments = queries(space, 60, "type 2", most=most, seed=seed)
    for name, way in WAYS.items():
        seconds = [duration(query, indexes[way.profile], way) for query in fragments]
        sizes = indexes[way.profile].info().bytes
        # only the files that a way of searching reads count as its cost
        parts = {"winnowing": ("catalogue", "postings"), "vector": ("catalogue", "vectors")}
        needed = parts.get(way.method, tuple(sizes))
        yield Cost(
            space=documents,
            way=name,
            queries=len(fragments),
            p50_ms=float(np.percentile(seconds, 50) * 1e3),
            p95_ms=float(np.percentile(seconds, 95) * 1e3),
            index_bytes=sum(map(sizes.__getitem__, needed)),
        )


def duration(query: Query, index: CodeIndex, way: Way) -> float:
    """Return the seconds of processor time of one trace, which other programs of the machine do not add to."""
    began = time.process_time()
    trace(query.text, index, language=query.language, method=way.method, top=10)
    return time.process_time() - began
