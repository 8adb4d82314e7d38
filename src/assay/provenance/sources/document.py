"""Documents of an index: pieces of source text, with all the places where each occurs."""

import hashlib
from dataclasses import dataclass
from typing import Literal

from assay.provenance.licences import UNKNOWN_LICENCE

DocumentKind = Literal["file", "function"]


@dataclass(frozen=True, slots=True)
class Origin:
    """One place where a document occurs.

    Attributes:
        source: corpus that the user named: a folder, an archive, a repository, a data set.
        path: of the file within it, with forward slashes.
        repository: owner/name or address, or None.
        commit: hexadecimal, or None.
        licence: SPDX expression, or "unknown".
        author: name, or None.
        url: of a page that shows the file, or None.
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
        language: as `Sample.language` spells it, or None.
        kind: a whole file, or one function of it.
        name: dotted name of the function within its file; None for a file.
        origins: all places of exactly this text; at least one.
    """

    text: str
    language: str | None
    kind: DocumentKind
    name: str | None
    origins: tuple[Origin, ...]

    @property
    def digest(self) -> str:
        """SHA-256 of the text in UTF-8, hexadecimal: documents with the same digest are one document."""
        return hashlib.sha256(self.text.encode("utf-8", "surrogatepass")).hexdigest()
