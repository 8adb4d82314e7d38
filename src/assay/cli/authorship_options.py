"""Options of `assay detect` and `assay authorship`, in groups."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from assay.cli.completing import complete_languages, complete_models
from assay.cli.options import DATA, SCORES
from assay.errors import DataError

if TYPE_CHECKING:
    from assay.api import DetectorChoice, LabelledSelection
    from assay.authorship import LabelledCode, Protocol

DETECTOR = "Detector"
MODELS = "Further models"
NO_PROOF = "A score is no proof of misconduct."


@dataclass(frozen=True, slots=True)
class AuthorshipDetectorOptions:
    """The detector that scores code."""

    classifier: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Classifier of `assay authorship train` or `fine-tune`, instead of scores.",
            rich_help_panel=DETECTOR,
        ),
    ] = None
    model: Annotated[
        str | None,
        typer.Option(
            metavar="MODEL",
            autocompletion=complete_models,
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
        typer.Option(
            autocompletion=complete_languages,
            help="Column of languages, or the language of all rows.",
            rich_help_panel=DATA,
        ),
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
            help="Kinds of evidence: names, layout, structure, wording, documentation, vocabulary, bare.",
            rich_help_panel=SCORES,
        ),
    ] = "names,layout,structure,wording,documentation"
    hidden: Annotated[
        str | None,
        typer.Option(
            metavar="MODEL",
            autocompletion=complete_models,
            help="Adds a head on hidden states of builtin:fragments, of an encoder or of a language model.",
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


@dataclass(frozen=True, slots=True)
class ProtocolOptions:
    """How sequence classifiers are fine-tuned."""

    task: Annotated[
        Literal["multi", "binary"],
        typer.Option(help="Name the generator, or tell people and generators apart.", rich_help_panel=SCORES),
    ] = "multi"
    rates: Annotated[str, typer.Option(metavar="a,b,…", help="Learning rates of the grid.", rich_help_panel=SCORES)] = (
        "1e-5,2e-5,5e-5"
    )
    batches: Annotated[str, typer.Option(metavar="a,b,…", help="Batch sizes of the grid.", rich_help_panel=SCORES)] = (
        "8,16,32"
    )
    seeds: Annotated[int, typer.Option(min=1, help="Number of seeds.", rich_help_panel=SCORES)] = 5
    epochs: Annotated[int, typer.Option(min=1, help="Epochs of every run.", rich_help_panel=SCORES)] = 10
    context: Annotated[int, typer.Option(min=8, help="Tokens of a text that are read.", rich_help_panel=SCORES)] = 512
    comments: Annotated[
        bool, typer.Option("--comments/--no-comments", help="Read comments, or remove them.", rich_help_panel=SCORES)
    ] = True
    split: Annotated[
        Literal["group", "paper"],
        typer.Option(help="Keep related texts in one part, or split text by text.", rich_help_panel=SCORES),
    ] = "group"
    leave_out: Annotated[
        str | None,
        typer.Option(
            metavar="WHAT=NAME",
            help="Test on one collection, language or generator, for example language=java.",
            rich_help_panel=SCORES,
        ),
    ] = None
    device: Annotated[
        Literal["auto", "cpu", "cuda"], typer.Option(help="Where the model is trained.", rich_help_panel=SCORES)
    ] = "auto"

    def protocol(self) -> "Protocol":
        """Return the protocol.

        Raises:
            DataError: a number or `--leave-out` cannot be read.
        """
        from assay.authorship import Protocol

        try:
            rates = tuple(float(part) for part in self.rates.split(","))
            batches = tuple(int(part) for part in self.batches.split(","))
        except ValueError as error:
            raise DataError(f"received --rates {self.rates} --batches {self.batches}, expected numbers") from error
        if min(rates) <= 0 or min(batches) <= 0:
            raise DataError(f"received --rates {self.rates} --batches {self.batches}, expected positive numbers")
        what, equals, name = (self.leave_out or "").partition("=")
        if self.leave_out is not None and not (equals and name):
            raise DataError(f"received --leave-out {self.leave_out!r}, expected WHAT=NAME such as language=java")
        return Protocol(
            task=self.task,
            rates=rates,
            batches=batches,
            seeds=tuple(range(self.seeds)),
            epochs=self.epochs,
            context=self.context,
            comments=self.comments,
            split=self.split,
            leave_out=(what, name) if self.leave_out is not None else None,
            device=self.device,
        )
