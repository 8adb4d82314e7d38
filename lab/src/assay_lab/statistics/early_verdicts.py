"""Verdicts that end at a part of the texts: how many passes they save, and what they get wrong.

Benchmarks are drawn from the stored scores of the grid (`lab/results/dataset/pools`), and decided at the looks of
`assay audit` and as a whole. Seed 9 chose the exponent of the error that is spent, seed 10 confirms. No model runs.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from operator import eq, itemgetter

import numpy as np

from assay.evaluation import SIGNIFICANCE
from assay.leakage import decide, in_turn, looks_at
from assay.types import Verdict
from assay_lab.columns import among, at_places, attributes
from assay_lab.evaluation.independent import wilson
from assay_lab.experiments.declaration import Data, Experiment, Result
from assay_lab.reliability.grid_methods import DECLARED, GridDraw, evidence_on_draw, texts_of
from assay_lab.reliability.redecided import STORED, read
from assay_lab.reliability.reliability import GridCell, drawn, grid_cells, sources_of

FEWEST = 100
"""Texts of a benchmark from which on a part is worth a look."""
ACCUSED = (Verdict.FAMILIAR, Verdict.CONTAMINATED)


@dataclass(frozen=True, slots=True)
class Size:
    """Share that was trained on → draws of each cell; cells of other shares are not drawn."""

    draws: Mapping[float, int]
    seed: int = 10


@dataclass(frozen=True, slots=True)
class Ended:
    """One benchmark.

    Attributes:
        cell: of the grid.
        whole, early: the verdict as a whole, and at the looks.
        passes: share of the texts of both sides that were scored for the latter.
        parts: texts of a look → True if that part alone is accused, by one test at the whole level.
    """

    cell: GridCell
    whole: Verdict
    early: Verdict
    passes: float
    parts: Mapping[int, bool]


def run(size: Size, seed: int, data: Data) -> Result:
    """Verdicts that end where they are clear: passes, agreement with the whole run, and false accusations."""
    stored = read(STORED / f"seed-{size.seed}.parquet")
    ended: list[Ended] = []
    for plant, kind, bare in sources_of(stored.own, stored.seed):
        sources = replace(bare, blind=stored.blind[plant, kind])
        for cell in grid_cells(plant, kind, sources):
            for turn in range(size.draws.get(cell.share, 0) if cell.n >= FEWEST else 0):
                # without texts the residual has nothing to be regressed on: the permutation test decides
                draw = drawn(cell, sources, 1000 * stored.seed + turn)
                ended.append(ended_at(cell, replace(draw, samples=((), ()))))
    rows = [row_of(share, among(ended, "cell.share", (share,))) for share in size.draws]
    note = f"{len(ended)} benchmarks of at least {FEWEST} texts, from the stored scores of seed {size.seed}."
    return Result(rows, [note])


def ended_at(cell: GridCell, draw: GridDraw) -> Ended:
    """Return the verdicts on one benchmark."""
    texts, passes, early = len(draw.groups), 1.0, None
    parts: dict[int, bool] = {}
    for look in looks_at(cell.n, SIGNIFICANCE):
        part = part_of(draw, look.texts)
        parts[look.texts] = decided(part) in ACCUSED
        if early is None and decided(part, look.level) in ACCUSED:
            early = decided(part, look.level)
            passes = (len(part.groups) + len(part.unseen_groups)) / (texts + len(draw.unseen_groups))
    early = early or decided(draw, look.level)
    return Ended(cell, whole=decided(draw), early=early, passes=passes, parts=parts)


def decided(draw: GridDraw, level: float | None = None) -> Verdict:
    """Return the verdict on a benchmark or on a part of it; "no evidence" stands for all that is not significant."""
    p_value, p_beyond = p_values(draw)
    # the level has no part in what is decided then, so the costly rest of the evidence is left out
    if p_value > SIGNIFICANCE:
        return Verdict.NO_EVIDENCE
    evidence = evidence_on_draw(draw)
    assert evidence.test is not None
    test = replace(evidence.test, p_value=p_value, p_beyond=p_beyond)
    return decide(replace(evidence, test=test, level=level), "set", "model").verdict


@lru_cache(maxsize=1)
def p_values(draw: GridDraw) -> tuple[float, float]:
    """Return the p-values of a benchmark, from as many permutations as `assay audit` makes."""
    texts = texts_of(draw)
    p_value = texts.p_value(seed=draw.seed)
    if p_value > SIGNIFICANCE:
        return p_value, 1.0
    return p_value, texts.p_beyond(seed=draw.seed)


def part_of(draw: GridDraw, texts: int) -> GridDraw:
    """Return so many texts of the benchmark, and of the unseen text, as an audit takes them."""
    if texts >= len(draw.groups):
        return draw
    own = in_turn(draw.groups, seed=draw.seed)[:texts]
    others = in_turn(draw.unseen_groups, seed=draw.seed)[:texts]
    values, unseen = draw.control
    return replace(
        draw,
        scores={DECLARED: draw.scores[DECLARED][own]},
        unseen={DECLARED: draw.unseen[DECLARED][others]},
        groups=at_places(draw.groups, own),
        unseen_groups=at_places(draw.unseen_groups, others),
        control=(values[own], unseen[others]),
    )


def row_of(share: float, ended: Sequence[Ended]) -> dict[str, object]:
    """Return the row of one share that was trained on."""
    whole, early = attributes(ended, "whole"), attributes(ended, "early")
    row: dict[str, object] = {
        "share": share,
        "benchmarks": len(ended),
        "median passes": float(np.median(attributes(ended, "passes"))),
        "agreement": interval(sum(map(eq, early, whole)), len(ended)),
        "accused": interval(sum(map(ACCUSED.__contains__, early)), len(ended)),
        "accused as a whole": interval(sum(map(ACCUSED.__contains__, whole)), len(ended)),
    }
    for texts in (40, 80):
        alone = sum(map(itemgetter(texts), attributes(ended, "parts")))
        row[f"accused by {texts} texts alone"] = interval(alone, len(ended))
    return row


def interval(count: int, total: int) -> list[float]:
    """Return a share and the ends of its interval."""
    measured = wilson(count, total)
    return [measured.value, measured.low, measured.high]


EXPERIMENTS = (
    Experiment(
        name="statistics/early_verdicts",
        run=run,
        scales={"smoke": Size({0.0: 1, 0.5: 1}), "full": Size({0.0: 40, 0.2: 12, 0.5: 24})},
    ),
)
