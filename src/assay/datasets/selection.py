"""Settings of the texts that are read: of a benchmark or a table, and of unseen text."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar, Literal

from assay.settings import COLUMNS, UNSEEN_COLUMNS, Setting, Settings

Labels = Literal["membership", "as-is"]
"""Content of a label column: membership, or names (of generators) to be kept as they are."""
MOST_UNSEEN = 400
"""Texts of a set of unseen text, unless asked otherwise: an audit runs the model on each of them."""

RepeatedIds = Literal["refuse", "number"]
"""Treatment of an id that occurs more than once: an error, or "a", "a#2", "a#3"."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DataSelection(Settings):
    """The requested texts of a benchmark or a table.

    Attributes:
        labels: content of the label column.
        repeated: treatment of an id that occurs more than once.
    """

    PANEL: ClassVar[str] = "Data"
    data: Annotated[
        str | Path | None,
        Setting("The benchmark's official file, folder or checkout, or a part of it.", metavar="PATH", common=True),
    ] = None
    subset: Annotated[
        str | None, Setting("Subset of the benchmark; see `assay benchmarks show`.", metavar="SUBSET", common=True)
    ] = None
    language: Annotated[
        str | None,
        Setting(
            "Of a benchmark: one language, or all. Of a table: column or language.", common=True, completes="languages"
        ),
    ] = None
    limit: Annotated[int | None, Setting("Take the first N samples only.", least=1, common=True)] = None
    split: Annotated[str | None, Setting("Split of a hub data set; of a table, a value of its column split.")] = None
    part: Annotated[str | None, Setting("Part of a task to take as the text; see `assay benchmarks show`.")] = None
    text: Annotated[
        str | None, Setting("Column of texts, or several joined by +.", safe_when_found=True, inside=COLUMNS)
    ] = None
    id: Annotated[
        str | None, Setting("Column of ids; `row` numbers the rows.", safe_when_found=True, inside=COLUMNS)
    ] = None
    label: Annotated[str | None, Setting("Column of labels: 1 = member.", safe_when_found=True, inside=COLUMNS)] = None
    group: Annotated[
        str | None, Setting("Column of groups that resampling keeps whole.", safe_when_found=True, inside=COLUMNS)
    ] = None
    labels: Labels = "membership"
    repeated: RepeatedIds = "refuse"


@dataclass(frozen=True, slots=True)
class UnseenText(Settings):
    """Text that the model has certainly not seen."""

    PANEL: ClassVar[str] = "Verdict"
    data: Annotated[
        str | None,
        Setting(
            "Text of the same kind that the model has not seen; `auto:DATE`: of packages newer than its release.",
            metavar="DATA",
            common=True,
            options=("--unseen",),
        ),
    ] = None
    text: Annotated[str | None, Setting("Column of texts.", safe_when_found=True, inside=UNSEEN_COLUMNS)] = None
    group: Annotated[
        str | None,
        Setting(
            "Column of groups: texts of one project or file are not independent.",
            safe_when_found=True,
            inside=UNSEEN_COLUMNS,
        ),
    ] = None

    @property
    def selection(self) -> DataSelection:
        """How the text is read; repeated ids are numbered."""
        return DataSelection(text=self.text, group=self.group, repeated="number")
