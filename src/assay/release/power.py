"""The measured power of a test by its number of tasks; the rows come with the package."""

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from assay.reports import Column, Missing, Row, Table, number_of

_ROWS = Path(__file__).with_name("power.toml")


@dataclass(frozen=True, slots=True)
class MeasuredPower:
    """How often the test rejects at .01 where a model was trained on part of a publication.

    Attributes:
        seen: tasks that were trained on.
        published: tasks of the release.
        times: how often each was seen.
        alone: share of lots that were found without a parent.
        with_parent: the same with the model before training as parent.
        lots: number of lots.
    """

    seen: int
    published: int
    times: int
    alone: float
    with_parent: float
    lots: int


@cache
def measured_power() -> tuple[MeasuredPower, ...]:
    """Return what was measured, see docs/results/release.md."""
    return tuple(MeasuredPower(**row) for row in tomllib.loads(_ROWS.read_text("utf-8"))["row"])


def power_for(tasks: int) -> list[MeasuredPower]:
    """Return what was measured for releases of at most so many tasks, the largest ones first."""
    rows = [row for row in measured_power() if row.published <= tasks]
    return sorted(rows, key=lambda row: (-row.published, -row.seen, row.times))


def power_table(tasks: int) -> Table:
    """Return the table of what a test of so many tasks finds."""
    columns = (
        Column("trained on", "name"),
        Column("times", "count"),
        Column("found without a parent", "share"),
        Column("found with a parent", "share"),
    )
    rows = []
    for power in power_for(tasks):
        seen = f"{power.seen} of {number_of(power.published, 'task')}"
        rows.append(Row((seen, power.times, power.alone, power.with_parent)))
    if not rows:
        rows = [Row((f"{tasks} tasks", *[Missing("not measured")] * 3))]
    return Table(
        "power",
        "What a test would find",
        columns=columns,
        rows=tuple(rows),
        caption=(
            "Share of ten releases with p ≤ .01, where a small model was trained on copies with unrelated names.",
            "Larger models, and close synonyms in so many tasks, are not measured.",
        ),
    )
