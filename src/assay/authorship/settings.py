"""Settings of detectors, and of the code that they read."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar

from assay.settings import COLUMNS, Setting, Settings

DEFAULT_SCORES = "fast_detect_gpt,loss,rank,log_rank,entropy,lrr"
"""Scores of one pass that detect machine-written text; the first one is the primary score."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DetectorSettings(Settings):
    """The detector that scores code."""

    PANEL: ClassVar[str] = "Detector"
    classifier: Annotated[
        Path | None,
        Setting("Classifier of `assay lab authorship train`, instead of scores.", metavar="DIR", common=True),
    ] = None
    model: Annotated[
        str | None,
        Setting(
            "Language model that the scores are computed with (surrogate). Default: a built-in one.",
            metavar="MODEL",
            common=True,
            completes="models",
        ),
    ] = None
    scores: Annotated[
        str | None,
        Setting(
            "Scores (`assay score --list`); the answer rests on the first one. Default: fast_detect_gpt and five more.",
            metavar="a,b,…",
            common=True,
            completes="scores",
        ),
    ] = None
    score_model: Annotated[
        tuple[str, ...], Setting("A further model that a score of a plug-in needs.", metavar="ROLE=MODEL")
    ] = ()

    @property
    def chosen_scores(self) -> str:
        """The scores that are named, or those of the default."""
        return self.scores or DEFAULT_SCORES

    @property
    def names_a_detector(self) -> bool:
        """True where the user asks for values of a detector, of whatever use they are."""
        return any((self.classifier, self.model, self.scores, self.score_model))


@dataclass(frozen=True, slots=True)
class CodeSelection(Settings):
    """How code is read whose origin is asked for."""

    PANEL: ClassVar[str] = "Data"
    language: Annotated[
        str | None,
        Setting(
            "Language of standard input, of files without a known suffix, and of all rows of a table.",
            common=True,
            completes="languages",
        ),
    ] = None
    text: Annotated[str | None, Setting("Column of texts of a table.", safe_when_found=True, inside=COLUMNS)] = None
