"""Sets with known members and nonmembers, split by publication date.

Sources: Shi et al. 2023, "Detecting Pretraining Data from Large Language Models" (WikiMIA, BookMIA); Duarte
    et al.
2024, "DE-COP" (arXivTection).
"""

from collections.abc import Iterator

from assay.datasets.columns import memberships
from assay.datasets.families.selection import Selection, rest, words
from assay.datasets.sources import SourceRow
from assay.types import Sample


def wikimia(row: SourceRow, number: int, selection: Selection) -> Iterator[Sample]:
    """Text: the excerpt. The set has no ids: they are its name and the position in the file."""
    length = row.get("split") or (f"WikiMIA_length{selection.subset}" if selection.subset else "WikiMIA")
    yield Sample(
        f"{length}/{number}",
        words(row, "input"),
        label=_label(row, "label"),
        metadata=rest(row, "input", "label"),
    )


def bookmia(row: SourceRow, number: int, _selection: Selection) -> Iterator[Sample]:
    """Text: the snippet. All snippets of a book are one group."""
    book = row.get("book_id")
    yield Sample(
        f"{book}/{row['snippet_id']}" if row.get("snippet_id") is not None else f"BookMIA/{number}",
        words(row, "snippet"),
        label=_label(row, "label"),
        group=str(row.get("book") or book),
        metadata=rest(row, "snippet", "label"),
    )


def arxivtection(row: SourceRow, number: int, _selection: Selection) -> Iterator[Sample]:
    """Text: the verbatim passage, Example_A (the others paraphrase it). A paper's passages are one group."""
    yield Sample(
        f"arXivTection/{number}",
        words(row, "Example_A"),
        label=_label(row, "Label"),
        group=str(row["ID"]),
        metadata=rest(row, "Example_A", "Label"),
    )


def _label(row: SourceRow, column: str) -> str | None:
    return memberships([row[column]], f"the column {column!r}")[0]
