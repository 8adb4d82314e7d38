"""The result of an experiment: tables with the paper's values beside ours."""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from operator import attrgetter
from typing import Any, TypeVar

import numpy as np
from scipy.stats import t as student

from assay.evaluation import Estimate
from assay.leakage import Audit
from assay.reports import Axes, Excerpt, Series
from assay_lab.columns import attributes, keyed
from assay_lab.experiments.papers import Unit

Value = Estimate | float | str | None
"""Ours with its interval, the paper's bare number, words, or nothing where it was not measured."""


@dataclass(frozen=True, slots=True)
class ValueRow:
    """One row: its name, and one value for each column."""

    name: str
    values: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class ValueTable:
    """One measure in rows and columns.

    Attributes:
        name: unique within the finding, letters, digits and hyphens.
        title: what is measured, one line.
        head: heading of the rows' names.
        columns: headings; "(paper)" marks values that a paper prints.
        rows: as long as there are columns.
        unit: of all values.
    """

    name: str
    title: str
    head: str
    columns: tuple[str, ...]
    rows: tuple[ValueRow, ...]
    unit: Unit


@dataclass(frozen=True, slots=True)
class Chart:
    """A figure of at most four lines.

    Attributes:
        name: unique within the finding.
        title: one line.
        series: the leading one, whose intervals are drawn, first.
        axes: see `assay.reports.Axes`.
    """

    name: str
    title: str
    series: tuple[Series, ...]
    axes: Axes


@dataclass(frozen=True, slots=True, eq=False)
class HeatMap:
    """A matrix of numbers as a figure.

    Attributes:
        name: unique within the finding.
        title: one line.
        values: (row, column) → value.
        middle: value without meaning, as 1 of a ratio; cells at or below it are pale.
    """

    name: str
    title: str
    values: Mapping[tuple[str, str], float]
    middle: float = 1.0


@dataclass(frozen=True, slots=True, eq=False)
class Picture:
    """A figure of another kind.

    Attributes:
        name: unique within the finding.
        title: one line.
        description: what it shows, for readers who cannot see it.
        draw: returns its Altair chart.
    """

    name: str
    title: str
    description: str
    draw: Callable[[], Any]


Part = TypeVar("Part", ValueTable, Chart, HeatMap, Picture)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Finding:
    """The result of one experiment.

    Attributes:
        name: full name of the experiment, "srdetection/table-1".
        title: one line.
        tables: the most important first.
        notes: what was measured on what, and what differs from the paper.
        seeds: of the runs behind it.
        charts: figures of the same numbers.
        heat_maps: matrices of the same numbers.
        pictures: figures of other kinds.
        excerpts: texts that are shown side by side, each token shaded.
        audits: folder name → audit, for `assay report`.
        manifest: of the run behind the audits.
    """

    name: str
    title: str
    tables: tuple[ValueTable, ...]
    notes: tuple[str, ...]
    seeds: tuple[int, ...]
    charts: tuple[Chart, ...] = ()
    heat_maps: tuple[HeatMap, ...] = ()
    pictures: tuple[Picture, ...] = ()
    excerpts: tuple[Excerpt, ...] = ()
    audits: Mapping[str, Audit] = field(default_factory=dict)
    manifest: Mapping[str, object] = field(default_factory=dict)

    def table(self, name: str) -> ValueTable:
        """Return the table of that name.

        Raises:
            KeyError: there is none.
        """
        return keyed(self.tables, "name")[name]


def joined(name: str, title: str, findings: Sequence[Finding]) -> Finding:
    """Return the findings of several experiments on one page; what stands in all of them is printed once.

    Args:
        name: of the whole.
        title: one line.
        findings: in their order; the names of tables and figures begin with that of the experiment.
    """
    counts = Counter(chain.from_iterable(attributes(findings, "notes")))
    notes: dict[str, None] = {}
    seeds: dict[int, None] = {}
    tables: list[ValueTable] = []
    charts: list[Chart] = []
    heat_maps: list[HeatMap] = []
    pictures: list[Picture] = []
    excerpts: list[Excerpt] = []
    for finding in findings:
        short = finding.name.rpartition("/")[2]
        tables += _prefixed(short, finding.tables)
        charts += _prefixed(short, finding.charts)
        heat_maps += _prefixed(short, finding.heat_maps)
        pictures += _prefixed(short, finding.pictures)
        excerpts += finding.excerpts
        seeds |= dict.fromkeys(finding.seeds)
        for note in finding.notes:
            notes[note if counts[note] > 1 else f"{short}: {note}"] = None
    return Finding(
        name=name,
        title=title,
        tables=tuple(tables),
        notes=tuple(notes),
        seeds=tuple(seeds),
        charts=tuple(charts),
        heat_maps=tuple(heat_maps),
        pictures=tuple(pictures),
        excerpts=tuple(excerpts),
    )


def _prefixed(short: str, parts: Iterable[Part]) -> Iterator[Part]:
    """Yield tables or figures with the name of their experiment before their own."""
    for part in parts:
        yield replace(part, name=f"{short}-{part.name}", title=f"{short}: {part.title}")


def over_seeds(estimates: Sequence[Estimate | None], *, share: bool = False) -> Estimate | None:
    """Return the mean over seeds with Student's 95 % interval; of a single seed its own estimate.

    Every seed judges a sample of texts, so the interval over seeds is not narrower than the mean of their own: seeds
    that happen to agree do not make a value certain.

    Args:
        estimates: one for each seed; None and NaN are left out.
        share: whether they are shares; the interval then ends at 0 and 1, which few seeds easily reach.

    Returns:
        None where no seed has an estimate.
    """
    measured = [estimate for estimate in estimates if estimate is not None and not math.isnan(estimate.value)]
    if len(measured) < 2:  # noqa: PLR2004  a spread needs two
        return measured[0] if measured else None
    values = np.array(list(map(attrgetter("value"), measured)))
    mean = float(values.mean())
    without = [estimate.reason for estimate in measured if not estimate.has_interval]
    # seeds that agree have no spread: their interval would be a point
    if np.ptp(values) == 0 and without:
        return Estimate(mean, math.nan, math.nan, reason=without[0])
    half = float(student.ppf(0.975, len(values) - 1) * values.std(ddof=1) / np.sqrt(len(values)))
    low, high = mean - half, mean + half
    if not without:
        low = min(low, float(np.mean(list(map(attrgetter("low"), measured)))))
        high = max(high, float(np.mean(list(map(attrgetter("high"), measured)))))
    if share:
        low, high = max(0.0, low), min(1.0, high)
    return Estimate(mean, low, high)


def seeds_note(seeds: Sequence[int]) -> str:
    """Return a sentence that says what the values and the brackets are."""
    if len(seeds) == 1:
        return f"One seed ({seeds[0]}); in brackets 95 % intervals and the groups behind them."
    return (
        f"Mean over {len(seeds)} seeds (split, order of training); in brackets Student's 95 % interval over them, at "
        "least as wide as the mean of their own intervals."
    )
