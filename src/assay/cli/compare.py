"""`assay compare`: finished runs side by side."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from assay.cli.completing import complete_score
from assay.cli.unused import refuse_unused
from assay.errors import DataError


def compare_command(
    context: typer.Context,
    runs: Annotated[list[Path], typer.Argument(metavar="RUN …", help="Run folders that audit, demo or dataset wrote.")],
    *,
    figure: Annotated[
        Literal["verdict", "flagged", "discoveries", "auroc", "coverage"],
        typer.Option(
            help="Figure in the cells; flagged, discoveries and auroc need --unseen text or labels in the runs."
        ),
    ] = "flagged",
    score: Annotated[
        str | None,
        typer.Option(
            metavar="SCORE", autocompletion=complete_score, help="Score to compare by (each run's headline score)."
        ),
    ] = None,
) -> None:
    """Set finished runs side by side: models in rows, benchmarks in columns; no model is run.

    **Example**: `assay compare runs/small-humaneval runs/large-humaneval --figure flagged`
    """
    from assay.cli.present import chosen_format, show
    from assay.leakage import (
        compare,
        describe_comparison,
        describe_judgements,
        is_judgement,
        read_judgement,
        read_run,
    )

    form = chosen_format()
    judged = [run for run in runs if is_judgement(run)]
    if judged and len(judged) < len(runs):
        other = next(run for run in runs if run not in judged)
        raise DataError(
            f"{judged[0]} is a run of `assay dataset` and {other} is not: expected runs of one command, because the "
            "first has a verdict on the whole benchmark and the second has figures of single samples"
        )
    if judged:
        reason = "runs of `assay dataset` are compared by their verdicts"
        refuse_unused(context, {"figure": reason, "score": reason})
        show(describe_judgements({str(run): read_judgement(run)[0] for run in runs}), form)
        return
    compared = compare({str(run): read_run(run)[0] for run in runs}, figure, score)
    show(describe_comparison(compared, figure), form)
