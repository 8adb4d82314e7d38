"""The measured power of a test by its number of tasks; the rows come with the package."""

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from assay.reports import Column, Missing, Row, Table, number_of

_ROWS = Path(__file__).with_name("power.toml")
SOURCE = "docs/results/release.md"
FEWER_COPIES = (
    f"With five copies in place of ten a task shows about four fifths: z is 8.6, not 10.5, with 40 tasks ({SOURCE})."
)
PRETRAINED = (
    "A pretrained model shows less: on SmolLM2 (135 million parameters), 40 tasks with synonyms and five copies, seen "
    "once among 120 other functions, give p ≤ .01 in 9 of 10 releases with the parent and in 1 without it; "
    f"with LoRA in 2 and in none ({SOURCE})."
)
TEXT_ALONE = "Text alone finds a release only where it was seen many times, as sixteen"


@dataclass(frozen=True, slots=True)
class MeasuredPower:
    """How often the test rejects at .01 where a model was trained on part of a publication.

    Attributes:
        names: of the copies, as `NameSources.title` has it.
        seen: tasks that were trained on.
        published: tasks of the release.
        times: how often each was seen.
        alone: share of lots that were found without a parent.
        with_parent: the same with the model before training as parent.
        lots: number of lots.
    """

    names: str
    seen: int
    published: int
    times: int
    alone: float
    with_parent: float
    lots: int


@dataclass(frozen=True, slots=True)
class TextPower:
    """How often the test by text alone rejects at .05: a share of lots whose texts were seen so many times."""

    times: int
    share: float
    lots: int


@cache
def measured_power() -> tuple[MeasuredPower, ...]:
    """Return what was measured with log-likelihoods."""
    return tuple(MeasuredPower(**row) for row in tomllib.loads(_ROWS.read_text("utf-8"))["row"])


@cache
def text_power() -> tuple[TextPower, ...]:
    """Return what was measured with text alone."""
    return tuple(TextPower(**row) for row in tomllib.loads(_ROWS.read_text("utf-8"))["text"])


def text_power_sentence() -> str:
    """Return what text alone finds, with the figures and their source."""
    shares = ", ".join(f"{row.share * row.lots:.0f} of {row.lots} at {row.times}" for row in text_power())
    return f"{TEXT_ALONE}: p ≤ .05 by times seen, {shares} (53 tasks, a small model; {SOURCE})."


def power_table(tasks: int, naming: str) -> Table:
    """Return the table of what a test of so many tasks finds, for names of a source: the largest releases first."""
    columns = (
        Column("trained on", "name"),
        Column("times", "count"),
        Column("found without a parent", "share"),
        Column("found with a parent", "share"),
    )
    # the author's own lists stand in front of the source that was measured
    measured = [row for row in measured_power() if row.published <= tasks and naming.endswith(row.names)]
    rows = []
    for power in sorted(measured, key=lambda row: (-row.published, -row.seen, row.times)):
        seen = f"{power.seen} of {number_of(power.published, 'task')}"
        rows.append(Row((seen, power.times, power.alone, power.with_parent)))
    lots = " or ".join(sorted({str(power.lots) for power in measured})) or "no"
    if not rows:
        rows = [Row((number_of(tasks, "task"), *[Missing("not measured")] * 3))]
    return Table(
        "power",
        "What a test would find",
        columns=columns,
        rows=tuple(rows),
        caption=(
            f"Share of {lots} releases with p ≤ .01, where a small model was trained on copies ({SOURCE}).",
            PRETRAINED,
            "Not measured: larger models, 1,000 tasks, mixtures beyond ten other functions for each task.",
            text_power_sentence(),
        ),
    )
