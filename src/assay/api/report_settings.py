"""Settings of `assay report`."""

from dataclasses import dataclass
from typing import Annotated, Literal

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
