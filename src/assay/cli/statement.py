"""`assay statement`: a contamination statement from finished runs."""

from pathlib import Path
from typing import Annotated

import typer


def statement_command(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN …", help="Run folders that `assay dataset` wrote.")],
) -> None:
    """Write a contamination statement for a paper, a model card or a leaderboard; no model is run.

    It states the verdict, the share with its interval and the upper bound, and it can say that nobody can tell.

    **Example**: `assay statement assay-runs/builtin-small-humaneval-dataset --format markdown`
    """
    from assay.cli.present import chosen_format, show
    from assay.leakage import describe_statement, read_judgement

    form = chosen_format()
    show(describe_statement([read_judgement(run) for run in runs]), form)
