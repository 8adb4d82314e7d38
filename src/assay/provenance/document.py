"""What an index holds: pieces of source text, and all the places where each was found."""

import hashlib
from dataclasses import dataclass
from typing import Literal

UNKNOWN_LICENCE = "unknown"

Kind = Literal["file", "function"]


@dataclass(frozen=True, slots=True)
class Origin:
    """One place where a document was found.

    Attributes:
        source: what the user named: a folder, an archive, a repository, a data set.
        path: of the file within it, with forward slashes.
        repository: owner/name or address, where known.
        commit: hexadecimal, where known.
        licence: SPDX expression, or "unknown".
        author: where known.
        url: where a person can look at it, where known.
        first_line: line of the file at which the text begins, from 1.
    """

    source: str
    path: str
    repository: str | None = None
    commit: str | None = None
    licence: str = UNKNOWN_LICENCE
    author: str | None = None
    url: str | None = None
    first_line: int = 1


@dataclass(frozen=True, slots=True)
class Document:
    """One text, stored once however often it occurs.

    Attributes:
        text: source code.
        language: as `Sample.language` spells it; None where unknown.
        kind: a whole file, or one function of it.
        name: dotted name of the function within its file; None for a file.
        origins: all places where this very text was found; at least one.
    """

    text: str
    language: str | None
    kind: Kind
    name: str | None
    origins: tuple[Origin, ...]

    @property
    def digest(self) -> str:
        """SHA-256 of the text in UTF-8, hexadecimal: two documents with one digest are one."""
        return hashlib.sha256(self.text.encode("utf-8", "surrogatepass")).hexdigest()
