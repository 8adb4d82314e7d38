"""`assay report`: the tables and the HTML page of a finished run."""

from pathlib import Path
from typing import Annotated

import typer


def report_command(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run folder that audit or demo wrote.")],
) -> None:
    """Print a finished run's tables and write its report.html anew; the model is not run.

    **Example**: `assay report assay-demo`
    """
    from assay.cli.present import chosen_format, present_run

    present_run(run, chosen_format())
