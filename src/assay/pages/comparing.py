"""Runs side by side: models in rows, benchmarks in columns, one figure with its interval in each cell."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from assay.errors import DataError
from assay.evaluation import Estimate
from assay.leakage import FIGURES, Audit, ScoreSummary
from assay.pages.blind import confounding_warning
from assay.pages.result_tables import Row, Table
from assay.pages.wording import auroc, listed, percent, percent_with_interval

CONFOUNDED = "\u2009†"
"""Stands behind a figure whose texts can be told apart without the model."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One run in the comparison.

    Attributes:
        run: where it came from.
        model, benchmark: its row and column.
        score: the one that is looked at.
        value: the figure, an estimate where it has an interval; None where the run cannot have it.
        chance: what chance gives; None where there is no such level.
        samples: scorable ones.
        confounded: whether the blind baseline tells apart what is compared.
    """

    run: str
    model: str
    benchmark: str
    score: str
    value: Estimate | float | None
    chance: float | None
    samples: int
    confounded: bool


def cells(audits: Mapping[str, Audit], figure: str, score: str | None = None) -> tuple[Cell, ...]:
    """The figure of each run.

    Args:
        audits: where a run came from → the run.
        figure: "flagged", "discoveries", "auroc" or "coverage".
        score: by name; None takes the headline score of each run.

    Raises:
        DataError: no such figure, a run without that score, or two runs of one model on one benchmark.
    """
    if figure not in FIGURES:
        raise DataError(f"figure {figure!r}: expected one of {', '.join(FIGURES)}")
    found: dict[tuple[str, str], Cell] = {}
    for run, audit in audits.items():
        name = score or audit.primary
        if name not in audit.values:
            raise DataError(f"{run}: score {name!r} was not run; expected one of {', '.join(audit.values)}")
        place = audit.model, audit.benchmark
        if place in found:
            raise DataError(
                f"{found[place].run} and {run} are both of {audit.model} on {audit.benchmark}; expected one"
            )
        summary = audit.summary(name)
        value = FIGURES[figure][0](summary)
        found[place] = Cell(
            run, *place, name, value, _chance(summary, figure), summary.scored, confounding_warning(audit) is not None
        )
    return tuple(found.values())


def comparison(compared: Sequence[Cell], figure: str) -> Table:
    """Models in rows and benchmarks in columns, in the order in which they come."""
    models = dict.fromkeys(cell.model for cell in compared)
    benchmarks = tuple(dict.fromkeys(cell.benchmark for cell in compared))
    placed = {(cell.model, cell.benchmark): cell for cell in compared}
    rows = tuple(
        Row(model, tuple(_shown(placed.get((model, benchmark)), figure) for benchmark in benchmarks))
        for model in models
    )
    return Table("comparison", TITLES[figure], benchmarks, rows, tuple(_caption(compared, figure)))


TITLES: Mapping[str, str] = {
    "flagged": "Share of samples flagged against unseen text",
    "discoveries": "Samples that stand out, corrected for testing all of them",
    "auroc": "AUROC of members against non-members",
    "coverage": "Share of samples with a value",
}


def _shown(cell: Cell | None, figure: str) -> str:
    if cell is None or cell.value is None:
        return "–"
    mark = CONFOUNDED if cell.confounded and figure != "coverage" else ""
    if isinstance(cell.value, Estimate):
        return (auroc(cell.value) if figure == "auroc" else percent_with_interval(cell.value)) + mark
    return (percent(cell.value) if figure == "coverage" else f"{cell.value:,.0f}") + mark


def _chance(summary: ScoreSummary, figure: str) -> float | None:
    if figure == "auroc":
        return 0.5
    return summary.calibration.flagged.chance if figure == "flagged" and summary.calibration else None


def _caption(compared: Sequence[Cell], figure: str) -> list[str]:
    scores = sorted({cell.score for cell in compared})
    sizes = sorted({cell.samples for cell in compared})
    sentences = [f"By {listed(scores)}; {_range(sizes)} samples a run."]
    if any(isinstance(cell.value, Estimate) for cell in compared):
        sentences.append("In brackets: 95 % intervals.")
    chances = sorted({cell.chance for cell in compared if cell.chance is not None and not math.isnan(cell.chance)})
    if chances and figure == "flagged":
        sentences.append(f"Chance flags {listed([percent(chance) for chance in dict.fromkeys(chances)])}.")
    if chances and figure == "auroc":
        sentences.append("Chance is .5.")
    if any(cell.value is None for cell in compared):
        sentences.append(f"–: the run has none; {figure} needs {FIGURES[figure][1]}.")
    if any(cell.confounded for cell in compared) and figure != "coverage":
        sentences.append("†: the texts compared can be told apart without the model, so this says little of training.")
    return sentences


def _range(sizes: Sequence[int]) -> str:
    return f"{sizes[0]:,}" if len(sizes) == 1 else f"{sizes[0]:,} to {sizes[-1]:,}"
