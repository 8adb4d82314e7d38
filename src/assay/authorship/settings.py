"""Settings of detectors, and of the code that they read."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar

from assay.settings import COLUMNS, Bundle, Setting, Settings

SCORE_MODEL = Bundle(option="score-model", help="A further model that some scores need; --help-all lists them.")
DEFAULT_ENCODER = "builtin:fragments"
DEFAULT_SCORES = "fast_detect_gpt,loss,rank,log_rank,entropy,lrr"
"""Scores of one pass that detect machine-written text; the first one is the primary score."""


@dataclass(frozen=True, slots=True)
class ScoreModels(Settings):
    """Names of the models beside the surrogate; None where there is none."""

    PANEL: ClassVar[str] = "Detector"
    observer: Annotated[str | None, Setting("Observer of Binoculars.", inside=SCORE_MODEL)] = None
    performer: Annotated[str | None, Setting("Performer of Binoculars (--model).", inside=SCORE_MODEL)] = None
    filler: Annotated[
        str | None, Setting("Fills masked spans: of the T5 family, or one that continues text.", inside=SCORE_MODEL)
    ] = None
    reviser: Annotated[
        str | None, Setting("Follows instructions: it revises code and describes its task.", inside=SCORE_MODEL)
    ] = None
    restorer: Annotated[str | None, Setting("Encoder-decoder model of BARTScore.", inside=SCORE_MODEL)] = None
    encoder: Annotated[str, Setting("Compares code with its revisions.", inside=SCORE_MODEL)] = DEFAULT_ENCODER


@dataclass(frozen=True, slots=True, kw_only=True)
class DetectorSettings(ScoreModels):
    """The detector that scores code."""

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
        str,
        Setting(
            "Scores (`assay score --list`); the answer rests on the first one.",
            metavar="a,b,…",
            common=True,
            completes="scores",
        ),
    ] = DEFAULT_SCORES


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
