"""Documents and their origins, and the files that they come from: entries that can be read, or are skipped."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, Protocol, Self

from assay.licences import UNKNOWN_LICENCE

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
        content: of the file, its digest as git and Software Heritage have it (SHA-1 of a blob), hexadecimal, or None.
        purl: package URL of the package that the file belongs to, or None.
        declared: licence that the package or the folder around the file states, or None.
    """

    source: str
    path: str
    repository: str | None = None
    commit: str | None = None
    licence: str = UNKNOWN_LICENCE
    author: str | None = None
    url: str | None = None
    first_line: int = 1
    content: str | None = None
    purl: str | None = None
    declared: str | None = None


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


Reason = Literal[
    "binary", "broken row", "corrupt", "crashes the reader", "empty", "encrypted", "excluded", "generated",
    "git LFS pointer", "ignored", "in a folder of version control", "link", "link to a judged file", "media",
    "minified", "missing from the repository", "nested archive", "no end of the archive", "no known language",
    "no text in the row", "not a plain file", "other language", "path leads outside", "prose or data",
    "repeated path", "submodule", "too large", "too short", "undecodable", "unreadable",
]  # fmt: skip
"""Why a file, a member or a row did not become a document."""

HOLDS_NO_CODE: frozenset[Reason] = frozenset({"empty", "link to a judged file", "media"})
"""Reasons of files that cannot hold code: they are counted, and change no answer."""

LEFT_OUT: frozenset[Reason] = frozenset({"excluded", "ignored", "other language"})
"""Reasons that the user stated, by a setting or by .gitignore. Every other file could hold code and was not read."""


NEVER_ENTERED = frozenset({".git", ".hg", ".svn", "__pycache__"})
"""Folders of version control and of compiled files, in which no source is written."""


class Content(Protocol):
    """Access to the bytes of one file; it is sent to the process that reads them."""

    def read(self, limit: int) -> bytes | str:
        """Return the content, or its first `limit` bytes.

        Raises:
            OSError: it cannot be read.
        """
        ...


@dataclass(frozen=True, slots=True)
class OnDisk:
    """A plain file."""

    path: Path

    def read(self, limit: int) -> bytes:
        """See `Content`."""
        with self.path.open("rb") as file:
            return file.read(limit)


@dataclass(frozen=True, slots=True)
class InMemory:
    """Content from a stream that can be read only once; a `str` if the source holds text."""

    content: bytes | str

    def read(self, limit: int) -> bytes | str:
        """See `Content`."""
        return self.content[:limit]


class NoContent:
    """Content that nobody reads: of a file that was skipped, or that another process has read already."""

    def read(self, limit: int) -> bytes:
        """Raise an error: there is nothing to read."""
        raise OSError(f"received a request for {limit} bytes of a file that was skipped, or that was read before")


NO_CONTENT = NoContent()


@dataclass(frozen=True, slots=True)
class Facts:
    """Facts about a file besides its text; None where unknown.

    Attributes:
        metadata: licence as the data set or host states it for the repository.
        nearest: licence that the nearest folder up the tree states.
        repository: owner/name or address.
        commit: hexadecimal.
        author: name.
        url: of a page that shows the file.
        language: as the source states it, spelled as `Sample.language`.
        stated: licence of this file that another tool found.
        purl: package URL of the package that the file belongs to.
        holders: words of the names of the copyright holders of the nearest folder with a licence text.
    """

    metadata: str | None = None
    nearest: str | None = None
    repository: str | None = None
    commit: str | None = None
    author: str | None = None
    url: str | None = None
    language: str | None = None
    stated: str | None = None
    purl: str | None = None
    holders: frozenset[str] | None = None

    def over(self, other: Self) -> Self:
        """Return these facts, completed by the other ones."""
        return replace(other, **{name: value for name in self.__slots__ if (value := getattr(self, name)) is not None})

    def origin(self, source: str, path: str, licence: str) -> Origin:
        """Return the origin of a document that begins at the file's first line."""
        return Origin(
            source=source,
            path=path,
            repository=self.repository,
            commit=self.commit,
            licence=licence,
            author=self.author,
            url=self.url,
            purl=self.purl,
            declared=self.metadata or self.nearest,
        )


NO_FACTS = Facts()


@dataclass(frozen=True, slots=True)
class Entry:
    """One file that may be read.

    Attributes:
        path: within the source, with forward slashes; two entries of a source may share it.
        stamp: changes whenever content or facts may have; equal stamps are not read again.
        size: bytes; None if unknown before reading.
        content: access to the bytes.
        facts: about the file.
        version: distinguishes entries of the same path, in a history.
        share: of the source that is read up to this entry, 0 to 1; None if unknown, or if files can be counted.
    """

    path: str
    stamp: str
    size: int | None
    content: Content
    facts: Facts = NO_FACTS
    version: str = ""
    share: float | None = field(default=None, compare=False)

    @property
    def key(self) -> str:
        """Key of the entry in the index."""
        if self.version:
            return f"{self.path}@{self.version}"
        return self.path


@dataclass(frozen=True, slots=True)
class Skipped:
    """One file, folder, member or row that was skipped."""

    path: str
    reason: Reason


SourceFile = Entry | Skipped


class CorpusSource(Protocol):
    """Something that files come from.

    Attributes:
        name: under which the index knows it.
        stamp: of the whole source, equal as long as nothing in it changed; None if that cannot be seen at once.
        whole: a file that is not listed is gone from the source; False for a stream and for a history.
        indivisible: changes of single files cannot be seen (an archive, a table), so all of it is read, in order.
    """

    @property
    def name(self) -> str: ...  # noqa: D102  see the class
    @property
    def stamp(self) -> str | None: ...  # noqa: D102
    @property
    def whole(self) -> bool: ...  # noqa: D102
    @property
    def indivisible(self) -> bool: ...  # noqa: D102

    def files(self) -> Iterator[SourceFile]:
        """Yield every file, in an order that is always the same for the same source.

        Raises:
            DataError: the source as a whole cannot be read.
        """
        ...
