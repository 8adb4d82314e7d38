"""Runs side by side: models in rows, benchmarks in columns, one figure with its interval in each cell."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from assay.codec import encode
from assay.errors import DataError
from assay.evaluation import Estimate, FlagRate
from assay.leakage.fail_on import DISCOVERIES, FIGURES, VERDICT
from assay.leakage.naming import names_samples
from assay.leakage.results import Audit, ScoreSummary
from assay.reports import Cell, Column, ColumnKind, Missing, Report, Row, Table, cell_text, listed, percent
from assay.types import Decision, Verdict

UNDECIDED = "\u2009†"
"""Printed after a figure of a run whose verdict is "cannot tell"."""

SHARE = "share"
TITLES: Mapping[str, tuple[str, ColumnKind]] = {
    VERDICT: ("Verdict on the benchmark", "text"),
    SHARE: ("Share that looks trained on", "share"),
    "flagged": ("Share of samples flagged against unseen text", "share"),
    "discoveries": ("Samples that stand out, corrected for testing all of them", "count"),
    "auroc": ("AUROC of members against non-members", "area"),
    "coverage": ("Share of samples with a value", "share"),
}


@dataclass(frozen=True, slots=True)
class ComparedRun:
    """One run in the comparison.

    Attributes:
        run: its folder.
        model, benchmark: its row and column.
        score: the compared score.
        value: the figure, an estimate where it has an interval; None where the run cannot have it.
        chance: the level of chance; None where there is no such level.
        samples: scorable ones.
        decision: the verdict of the run, by this score.
    """

    run: str
    model: str
    benchmark: str
    score: str
    value: Estimate | float | str | None
    chance: float | None
    samples: int
    decision: Decision


def compare(audits: Mapping[str, Audit], figure: str, score: str | None = None) -> tuple[ComparedRun, ...]:
    """Return the figure of each run.

    Args:
        audits: folder of a run → the run.
        figure: a name of `TITLES`.
        score: by name; None takes the headline score of each run.

    Raises:
        DataError: no such figure, or a run without that score.
    """
    if figure not in TITLES:
        raise DataError(f"figure {figure!r}: expected one of {', '.join(TITLES)}")
    return tuple(_compared(run, audit, figure=figure, score=score or audit.primary) for run, audit in audits.items())


def _compared(run: str, audit: Audit, figure: str, score: str) -> ComparedRun:
    if score not in audit.values:
        raise DataError(f"{run}: score {score!r} was not run; expected one of {', '.join(audit.values)}")
    summary = audit.summary(score)
    return ComparedRun(
        run=run,
        model=audit.model,
        benchmark=audit.benchmark,
        score=score,
        value=_value(summary, figure),
        chance=_chance(summary, figure),
        samples=summary.scored,
        decision=summary.decision,
    )


def describe_comparison(runs: Sequence[ComparedRun], figure: str) -> Report:
    """Return the comparison as a report of one table: models in rows, benchmarks in columns, in order of appearance.

    A model with several runs on one benchmark has a row for each of its runs.
    """
    title, kind = TITLES[figure]
    cells: dict[str, dict[str, Cell]] = {}
    repeated = _repeated(runs)
    benchmarks = list(dict.fromkeys(run.benchmark for run in runs))
    for run in runs:
        name = f"{run.model}, {run.run}" if run.model in repeated else run.model
        # every row has a cell of every benchmark, so that a missing run shows
        row = cells.setdefault(name, dict.fromkeys(benchmarks, Missing("there is no such run")))
        row[run.benchmark] = _cell(run, figure)
    table = Table(
        name="comparison",
        title=title,
        columns=(Column("model", "name"), *map(partial(Column, kind=kind), benchmarks)),
        rows=tuple(Row((name, *row.values())) for name, row in cells.items()),
        caption=tuple(_caption(runs, figure)),
    )
    return Report(
        title="Runs side by side",
        statement="",
        tables=(table,),
        data=[{"figure": figure, **encode(run)} for run in runs],
        kind="comparison",
    )


def _repeated(runs: Sequence[ComparedRun]) -> set[str]:
    """Return the models with several runs on one benchmark."""
    places = Counter((run.model, run.benchmark) for run in runs)
    return {model for (model, _), count in places.items() if count > 1}


def _value(summary: ScoreSummary, figure: str) -> Estimate | float | str | None:
    """Return a figure of a run; discoveries are counted with a verdict, by a score that names single samples."""
    decision = summary.decision
    if figure == VERDICT:
        return f"{decision.verdict} ({decision.reason})" if decision.reason else str(decision.verdict)
    if figure == SHARE:
        return summary.share
    # without a verdict of the same form, discoveries count the difference of forms
    if figure == DISCOVERIES and not names_samples(summary):
        return None
    measured = FIGURES[figure].of(summary)
    if isinstance(measured, FlagRate):
        return measured.rate
    return measured


def _cell(run: ComparedRun, figure: str) -> Cell:
    if run.value is None:
        if figure == SHARE:
            return Missing("no verdict by the test against unseen text")
        further = " and a verdict by a score that compares variants" if figure == DISCOVERIES else ""
        return Missing(f"the run has none; {figure} needs {FIGURES[figure].needs}{further}")
    if _is_undecided(run, figure):
        return cell_text(run.value, TITLES[figure][1]) + UNDECIDED
    return run.value


def _is_undecided(run: ComparedRun, figure: str) -> bool:
    return figure in ("flagged", "auroc") and run.decision.verdict is Verdict.CANNOT_TELL and run.value is not None


def _chance(summary: ScoreSummary, figure: str) -> float | None:
    if figure == "auroc":
        return 0.5
    if figure != "flagged" or summary.calibration is None:
        return None
    return summary.calibration.flagged.chance


def _caption(runs: Sequence[ComparedRun], figure: str) -> Iterator[str]:
    scores, sizes, chances, reasons = set(), set(), set(), set()
    for run in runs:
        scores.add(run.score)
        sizes.add(run.samples)
        if run.chance is not None and not math.isnan(run.chance):
            chances.add(run.chance)
        if _is_undecided(run, figure):
            reasons.add(str(run.decision.reason))
    yield f"By {listed(sorted(scores))}; {_range(sorted(sizes))} samples a run."
    if any(isinstance(run.value, Estimate) for run in runs):
        yield "In brackets: 95 % intervals."
    if chances and figure == "flagged":
        yield f"Chance flags {listed(list(dict.fromkeys(map(percent, sorted(chances)))))}."
    if chances and figure == "auroc":
        yield "Chance is .5."
    yield from _agreement(runs)
    if reasons:
        yield f"†: no verdict follows from this figure ({listed(sorted(reasons))})."


def _agreement(runs: Sequence[ComparedRun]) -> Iterator[str]:
    """Yield, for each pair of model and benchmark with several runs, whether their verdicts agree."""
    verdicts: dict[tuple[str, str], list[Verdict]] = {}
    for run in runs:
        verdicts.setdefault((run.model, run.benchmark), []).append(run.decision.verdict)
    for (model, benchmark), several in verdicts.items():
        if len(several) > 1:
            yield f"The verdict on {benchmark} under {model} {_holds(several)}."


def _holds(verdicts: Sequence[Verdict]) -> str:
    reached = [str(verdict) for verdict in verdicts if verdict is not Verdict.CANNOT_TELL]
    # a run that cannot tell contradicts no other
    if len(set(reached)) > 1:
        return f"does not hold: the runs say {listed(list(dict.fromkeys(reached)))}"
    if len(reached) == len(verdicts):
        return f"holds in all {len(verdicts)} runs"
    if not reached:
        return "is open in all runs"
    return f"is {reached[0]} in {len(reached)} of {len(verdicts)} runs; the others cannot tell"


def _range(sizes: Sequence[int]) -> str:
    return f"{sizes[0]:,}" if len(sizes) == 1 else f"{sizes[0]:,} to {sizes[-1]:,}"
