"""What an experiment found: a table with the paper's values beside ours. Reports draw it."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from scipy.stats import t as student

from assay.evaluation import Estimate
from assay.leakage import Audit, SampleTokens
from assay.types import Sample

Value = Estimate | float | str | None
"""Ours with its interval, the paper's bare number, words, or nothing where it was not measured."""


@dataclass(frozen=True, slots=True)
class Line:
    """One row: what it is of, and one value a column."""

    name: str
    values: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Drawn:
    """One line of the figure: its name, and the value at each x."""

    name: str
    points: Mapping[float, Estimate]


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """One sample and one of its variants under one model, token by token.

    Attributes:
        original, variant: the texts.
        tokens: of both.
        perplexity: of the original, of this variant, and of the easiest and the hardest of all.
    """

    original: Sample
    variant: Sample
    tokens: tuple[SampleTokens, SampleTokens]
    perplexity: tuple[float, float, float, float]


@dataclass(frozen=True, slots=True, eq=False)
class Finding:
    """One table or figure of a paper, measured again.

    Attributes:
        name: "table-1".
        title: one line.
        head: heading of the rows' names.
        columns: whose value of what; "paper" stands in those that we took from it.
        lines: the rows.
        unit: "percent" where values are shares, "number" else.
        notes: what was measured on what, and what differs from the paper.
        seeds: of the runs behind it.
        drawn, x, y: lines of the figure and its axes, where there is one.
        case: the case study, where there is one.
        audits: folder name → audit, for `assay compare`.
    """

    name: str
    title: str
    head: str
    columns: tuple[str, ...]
    lines: tuple[Line, ...]
    unit: Literal["percent", "number"]
    notes: tuple[str, ...]
    seeds: tuple[int, ...]
    drawn: tuple[Drawn, ...] = ()
    x: str = ""
    y: str = ""
    case: Case | None = None
    audits: Mapping[str, Audit] = field(default_factory=dict)


def over_seeds(estimates: Sequence[Estimate | None], *, share: bool = False) -> Estimate | None:
    """The mean over seeds with Student's 95 % interval; of a single seed its own estimate; None where none has one.

    Seeds that agree exactly have no spread to tell anything by: the brackets are then their own intervals, joined.

    Args:
        estimates: one a seed.
        share: whether they are shares; the interval then ends at 0 and 1, which few seeds easily reach.
    """
    known = [one for one in estimates if one is not None and not math.isnan(one.value)]
    if len(known) < 2:  # noqa: PLR2004  a spread needs two
        return known[0] if known else None
    values = np.array([one.value for one in known])
    if np.ptp(values) == 0:
        return Estimate(known[0].value, min(one.low for one in known), max(one.high for one in known))
    half = float(student.ppf(0.975, len(values) - 1) * values.std(ddof=1) / np.sqrt(len(values)))
    mean = float(values.mean())
    low, high = mean - half, mean + half
    return Estimate(mean, max(0.0, low), min(1.0, high)) if share else Estimate(mean, low, high)


def seeds_note(seeds: Sequence[int]) -> str:
    """What the brackets are."""
    if len(seeds) == 1:
        return f"One seed ({seeds[0]}); in brackets 95 % intervals bootstrapped by group."
    return (
        f"Mean over {len(seeds)} seeds (split, order of training); in brackets Student's 95 % interval over them, or, "
        "where all seeds agree exactly, what their own intervals span."
    )
