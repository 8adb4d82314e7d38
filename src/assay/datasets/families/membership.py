"""Sets with known members and nonmembers, split by publication date.

Sources: Shi et al. 2023, "Detecting Pretraining Data from Large Language Models" (WikiMIA, BookMIA); Duarte et al.
2024, "DE-COP" (arXivTection).
"""

from collections.abc import Iterator

from assay.datasets.columns import memberships
from assay.datasets.families.selection import Selection, rest, words
from assay.datasets.sources import SourceRow
from assay.types import Sample


def wikimia(row: SourceRow, number: int, selection: Selection) -> Iterator[Sample]:
    """Text: the excerpt. The set has no ids: they are its name and the position in the file."""
    length = row.get("split") or "WikiMIA" + f"_length{selection.subset}" * (selection.subset is not None)
    yield _passage(f"{length}/{number}", row, "input")


def bookmia(row: SourceRow, number: int, _selection: Selection) -> Iterator[Sample]:
    """Text: the snippet. All snippets of a book are one group."""
    book, snippet = row.get("book_id"), row.get("snippet_id")
    name = f"BookMIA/{number}" if snippet is None else f"{book}/{snippet}"
    yield _passage(name, row, "snippet", group=str(row.get("book") or book))


def arxivtection(row: SourceRow, number: int, _selection: Selection) -> Iterator[Sample]:
    """Text: the verbatim passage, Example_A (the others paraphrase it). A paper's passages are one group."""
    yield _passage(f"arXivTection/{number}", row, "Example_A", label="Label", group=str(row["ID"]))


def _passage(name: str, row: SourceRow, text: str, *, label: str = "label", group: str | None = None) -> Sample:
    (membership,) = memberships([row[label]], f"the column {label!r}")
    return Sample(name, words(row, text), label=membership, group=group, metadata=rest(row, text, label))
