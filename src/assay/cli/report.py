"""`assay report`: finished runs as tables and a page, side by side, or as a contamination statement."""

from pathlib import Path
from typing import Annotated

import typer

from assay.cli.groups import grouped
from assay.cli.unused import refuse_unused
from assay.leakage import ReportSettings


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
    from assay.api.reporting import report
    from assay.cli.present import present_run, show

    if settings.statement:
        refuse_unused(context, dict.fromkeys(("figure", "score"), "a statement states the verdicts of runs"))
    if len(runs) == 1 and settings == ReportSettings():
        present_run(runs[0])
    else:
        show(report(*runs, settings=settings).describe(), whole=settings.statement)
