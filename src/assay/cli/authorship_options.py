"""Options of `assay detect` and `assay authorship`, in groups."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from assay.cli.options import DATA, SCORES

if TYPE_CHECKING:
    from assay.api import DetectorChoice, LabelledSelection
    from assay.authorship import LabelledCode

DETECTOR = "Detector"
MODELS = "Further models"
NO_PROOF = "A score is no proof of misconduct."


@dataclass(frozen=True, slots=True)
class AuthorshipDetectorOptions:
    """The detector that scores code."""

    classifier: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Classifier of `assay authorship train`, instead of scores.", rich_help_panel=DETECTOR
        ),
    ] = None
    model: Annotated[
        str | None,
        typer.Option(
            metavar="MODEL",
            help="Language model that the scores are computed with. Default: a built-in one.",
            rich_help_panel=DETECTOR,
        ),
    ] = None
    scores: Annotated[
        str | None,
        typer.Option(
            metavar="a,b,…",
            help="Scores (`assay score --list`); the answer rests on the first one. Default: fast_detect_gpt and five "
            "others of one pass.",
            rich_help_panel=DETECTOR,
            show_default=False,
        ),
    ] = None
    observer: Annotated[
        str | None,
        typer.Option(metavar="MODEL", help="Observer of Binoculars.", rich_help_panel=MODELS),
    ] = None
    performer: Annotated[
        str | None,
        typer.Option(
            metavar="MODEL",
            help="Performer of Binoculars. Default: the model of --model.",
            rich_help_panel=MODELS,
            show_default=False,
        ),
    ] = None
    filler: Annotated[
        str | None,
        typer.Option(
            metavar="MODEL",
            help="Model that fills masked spans: of the T5 family, or one that continues text.",
            rich_help_panel=MODELS,
        ),
    ] = None
    reviser: Annotated[
        str | None,
        typer.Option(
            metavar="MODEL",
            help="Model that follows instructions: it revises code and describes its task.",
            rich_help_panel=MODELS,
        ),
    ] = None
    restorer: Annotated[
        str | None,
        typer.Option(metavar="MODEL", help="Encoder-decoder model of BARTScore.", rich_help_panel=MODELS),
    ] = None
    encoder: Annotated[
        str,
        typer.Option(metavar="ENCODER", help="Encoder that compares code with its revisions.", rich_help_panel=MODELS),
    ] = "builtin:fragments"

    def choice(self) -> "DetectorChoice":
        """Return the chosen detector."""
        from assay.api import DEFAULT_SCORES, DetectorChoice, DetectorModels

        models = DetectorModels(self.observer, self.performer, self.filler, self.reviser, self.restorer, self.encoder)
        return DetectorChoice(self.classifier, self.model, self.scores or DEFAULT_SCORES, models)


@dataclass(frozen=True, slots=True)
class LabelledOptions:
    """How labelled code is read."""

    label: Annotated[
        str, typer.Option(metavar="COLUMN", help="Column with the origin of each text.", rich_help_panel=DATA)
    ] = "label"
    human: Annotated[str, typer.Option(metavar="VALUE", help="The label of people.", rich_help_panel=DATA)] = "human"
    text: Annotated[str | None, typer.Option(metavar="COLUMN", help="Column of texts.", rich_help_panel=DATA)] = None
    language: Annotated[
        str | None,
        typer.Option(help="Column of languages, or the language of all rows.", rich_help_panel=DATA),
    ] = None
    group: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Column of tasks or projects; no split cuts one.", rich_help_panel=DATA),
    ] = None

    def selection(self) -> "LabelledSelection":
        """Return how tables are read."""
        from assay.api import LabelledSelection

        return LabelledSelection(self.label, self.human, self.text, self.language, self.group)

    def read(self, tables: list[str]) -> "LabelledCode":
        """Return the labelled code of tables.

        Raises:
            DataError: a table cannot be read, or a text has no label.
        """
        return self.selection().read(tables)


@dataclass(frozen=True, slots=True)
class FitOptions:
    """How classifiers are fitted."""

    evidence: Annotated[
        str,
        typer.Option(
            metavar="a,b,…",
            help="Kinds of evidence: names, layout, structure, wording, documentation.",
            rich_help_panel=SCORES,
        ),
    ] = "names,layout,structure,wording,documentation"
    hidden: Annotated[
        str | None,
        typer.Option(
            metavar="MODEL",
            help="Adds a head on hidden states of builtin:fragments or of any model.",
            rich_help_panel=SCORES,
        ),
    ] = None
    per_class: Annotated[
        int, typer.Option(min=20, help="Most texts of one class, collection and language.", rich_help_panel=SCORES)
    ] = 400
    seed: Annotated[int, typer.Option(help="Seed of the choice of texts.", rich_help_panel=SCORES)] = 0

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of evidence by name."""
        return tuple(part.strip() for part in self.evidence.split(",") if part.strip())
