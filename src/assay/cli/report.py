"""`assay report`: finished runs as tables and a page, side by side, or as a contamination statement."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import typer

from assay.cli.groups import grouped
from assay.cli.unused import refuse_unused
from assay.settings import Setting, Settings

ComparedFigure = Literal["verdict", "share", "flagged", "discoveries", "auroc", "coverage"]


@dataclass(frozen=True, slots=True)
class ReportSettings(Settings):
    """Parts of finished runs that are printed."""

    statement: Annotated[
        bool,
        Setting("Write a contamination statement for a paper, a model card or a leaderboard.", common=True),
    ] = False
    figure: Annotated[ComparedFigure | None, Setting("Figure in which runs are compared (verdict).", common=True)] = (
        None
    )
    score: Annotated[
        str | None,
        Setting("Score to compare runs by (each run's own).", metavar="SCORE", common=True, completes="score"),
    ] = None


@grouped
def report_command(
    context: typer.Context,
    runs: Annotated[list[Path], typer.Argument(metavar="RUN …", help="Run folders that audit or demo wrote.")],
    *,
    settings: ReportSettings,
) -> None:
    """Print finished runs; the model is not run.

    One run is shown whole, and its report.html is written anew. Several runs stand side by side: models in rows,
    benchmarks in columns.

    **Example**: `assay report assay-runs/builtin-small-humaneval --statement --format markdown`
    """
    from assay.cli.present import present_run, show
    from assay.leakage import compare, describe_comparison, describe_statement, read_run

    if settings.statement:
        refuse_unused(context, dict.fromkeys(("figure", "score"), "a statement states the verdicts of runs"))
        show(describe_statement([read_run(run) for run in runs]))
    elif len(runs) == 1 and settings.figure is None and settings.score is None:
        present_run(runs[0])
    else:
        figure = settings.figure or "verdict"
        compared = compare({str(run): read_run(run)[0] for run in runs}, figure, settings.score)
        show(describe_comparison(compared, figure))
