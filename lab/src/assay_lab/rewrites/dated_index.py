"""Documents of an index with the day on which they appeared: by the repository that was indexed, or by a release."""

from collections.abc import Iterator
from datetime import date
from functools import lru_cache
from pathlib import Path

from assay.corpora import Age, DatedFile, GitHistory, SourceText, is_repository, project_named
from assay.errors import DataError
from assay.provenance import CodeIndex

DOCUMENTS = 256
"""Documents of an index that are read at a time."""


def dated_documents(index: CodeIndex, released: date | None = None) -> Iterator[DatedFile]:
    """Yield the documents of an index with their dates, each once, under its first origin.

    The repository that an origin names dates it, if it is still there; a document without one has the day `released`.
    The age is that of the file at HEAD, so a document is never taken for older than it is.

    Args:
        index: of a corpus.
        released: day on which all other documents were published.

    Raises:
        DataError: a document has no date.
    """
    ids = index.ids()
    for start in range(0, len(ids), DOCUMENTS):
        for document in index.documents(ids[start : start + DOCUMENTS]):
            origin = document.origins[0]
            history = _history_at(origin.source)
            age = history.files.get(origin.path) if history else None
            if age is None:
                if released is None:
                    raise DataError(
                        f"{index.folder}: nothing says when {origin.path} of {origin.source} appeared: expected the "
                        "git repository that was indexed, or --released YYYY-MM-DD"
                    )
                age = Age(released, released)
            text = SourceText(
                origin.path,
                text=document.text,
                language=document.language,
                name=document.name,
                first_line=origin.first_line,
                kind=document.kind,
            )
            repository = origin.repository or project_named(origin.source)
            yield DatedFile(text, repository, licence=origin.licence, age=age, history=None)


# to read a history is slow, and the documents of a repository share it
@lru_cache(maxsize=64)
def _history_at(source: str) -> GitHistory | None:
    path = Path(source)
    return GitHistory(path) if path.is_dir() and is_repository(path) else None
