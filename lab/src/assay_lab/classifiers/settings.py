"""Settings of labelled code, and of classifiers that are fitted or fine-tuned on it."""

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from assay.errors import SettingError
from assay.settings import COLUMNS, Setting, Settings


@dataclass(frozen=True, slots=True)
class LabelledSelection(Settings):
    """How labelled code is read from tables."""

    PANEL: ClassVar[str] = "Data"
    label: Annotated[str, Setting("Column with the origin of each text.", safe_when_found=True, inside=COLUMNS)] = (
        "label"
    )
    human: Annotated[str, Setting("The label of people, in any case.", metavar="VALUE", common=True)] = "human"
    text: Annotated[str | None, Setting("Column of texts.", safe_when_found=True, inside=COLUMNS)] = None
    language: Annotated[
        str | None, Setting("Column of languages, or the language of all rows.", common=True, completes="languages")
    ] = None
    group: Annotated[
        str | None, Setting("Column of tasks or projects; no split cuts one.", safe_when_found=True, inside=COLUMNS)
    ] = None


@dataclass(frozen=True, slots=True)
class FitSettings(Settings):
    """How a classifier is fitted."""

    PANEL: ClassVar[str] = "Scores"
    per_class: Annotated[
        int | None, Setting("Most texts of one class, collection and language.", metavar="N", least=1)
    ] = 400
    seed: Annotated[int, Setting("Seed of the choice of texts.")] = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Protocol(Settings):
    """How sequence classifiers are fine-tuned and compared; the defaults are those of the paper."""

    PANEL: ClassVar[str] = "Scores"
    task: Annotated[
        Literal["multi", "binary"], Setting("Name the generator, or tell people and generators apart.", common=True)
    ] = "multi"
    rates: Annotated[tuple[float, ...], Setting("Learning rates of the grid.", metavar="a,b,…", least=0)] = (
        1e-5,
        2e-5,
        5e-5,
    )
    batches: Annotated[tuple[int, ...], Setting("Batch sizes of the grid.", metavar="a,b,…", least=1)] = (8, 16, 32)
    seeds: Annotated[
        tuple[int, ...], Setting("One run each; the first one also searches the grid.", metavar="a,b,…")
    ] = (0, 1, 2, 3, 4)
    epochs: Annotated[int, Setting("Epochs of every run.", least=1, common=True)] = 10
    context: Annotated[int, Setting("Tokens of a text that are read.", least=8)] = 512
    comments: Annotated[bool, Setting("Read comments, or remove them by the lexical rules of the language.")] = True
    split: Annotated[Literal["group", "paper"], Setting("Keep related texts in one part, or split text by text.")] = (
        "group"
    )
    leave_out: Annotated[
        str | None,
        Setting(
            "Test on one collection, language or generator instead of a tenth of the groups: language=java.",
            metavar="WHAT=NAME",
            common=True,
        ),
    ] = None
    device: Annotated[Literal["auto", "cpu", "cuda"], Setting("Where the model is trained.", common=True)] = "auto"

    @property
    def left_out(self) -> tuple[str, str] | None:
        """Kind and name of what is left out."""
        what, _, name = (self.leave_out or "").partition("=")
        return (what, name) if self.leave_out is not None else None

    def __post_init__(self) -> None:
        """Check the values.

        Raises:
            SettingError: one is wrong.
        """
        Settings.__post_init__(self)
        if self.left_out is not None and not all(self.left_out):
            raise SettingError(f"leave-out: received {self.leave_out!r}, expected WHAT=NAME such as language=java")
