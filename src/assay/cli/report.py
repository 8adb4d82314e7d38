"""`assay report`: a finished run once more, as tables and as its HTML page."""

from pathlib import Path
from typing import Annotated

import typer

from assay.cli.options import AsJson


def report_command(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run folder that audit or demo wrote.")],
    *,
    as_json: AsJson = False,
) -> None:
    """Print a finished run's tables and write its report.html anew; the model is not run.

    **Example**: `assay report assay-demo`
    """
    from assay.cli.present import show
    from assay.reports import read_run, write_report

    found, _ = read_run(run)
    page = write_report(run)
    show(found, page, run, as_json=as_json)
