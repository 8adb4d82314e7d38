"""What a source gives: files that can be read, and files that are passed over for a reason."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, Protocol, Self

from assay.provenance.document import Origin

Reason = Literal[
    "binary",
    "broken row",
    "corrupt",
    "crashes the reader",
    "empty",
    "encrypted",
    "excluded",
    "generated",
    "ignored",
    "link",
    "minified",
    "missing from the repository",
    "nested archive",
    "no known language",
    "no text in the row",
    "not a plain file",
    "other language",
    "path leads outside",
    "repeated path",
    "submodule",
    "too large",
    "too short",
    "undecodable",
    "unreadable",
]
"""Why a file, a member or a row did not become a document."""


class Content(Protocol):
    """Where the bytes of one file are; travels to the process that reads them."""

    def read(self, limit: int) -> bytes | str:
        """The content, or its first `limit` bytes.

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
    """Content that was read already, from a stream that is read once; a `str` where it was text already."""

    content: bytes | str

    def read(self, limit: int) -> bytes | str:
        """See `Content`."""
        return self.content[:limit]


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of a file besides its text.

    Attributes:
        metadata: licence as the data set or host states it for the repository.
        nearest: licence that the nearest folder up the tree states.
        repository: owner/name or address.
        commit: hexadecimal.
        author: name.
        url: where a person can look at it.
        language: as the source states it, spelled as `Sample.language`.
    """

    metadata: str | None = None
    nearest: str | None = None
    repository: str | None = None
    commit: str | None = None
    author: str | None = None
    url: str | None = None
    language: str | None = None

    def over(self, other: Self) -> Self:
        """These, and where nothing is known the other's."""
        return replace(other, **{name: value for name in self.__slots__ if (value := getattr(self, name)) is not None})

    def origin(self, source: str, path: str, licence: str) -> Origin:
        """Where a document that begins at the file's first line was found."""
        return Origin(source, path, self.repository, self.commit, licence, self.author, self.url)


NOTHING_KNOWN = Facts()


@dataclass(frozen=True, slots=True)
class Entry:
    """One file that may be read.

    Attributes:
        path: within the source, with forward slashes; two entries of a source may share it.
        stamp: changes whenever content or facts may have; equal stamps are not read again.
        size: bytes, where known before reading.
        content: where the bytes are.
        facts: what is known of it.
        version: what tells entries of one path apart, in a history.
        share: of the source that has been read up to here, 0 to 1; None where nothing tells, or files can be counted.
    """

    path: str
    stamp: str
    size: int | None
    content: Content
    facts: Facts = NOTHING_KNOWN
    version: str = ""
    share: float | None = field(default=None, compare=False)

    @property
    def key(self) -> str:
        """What the index remembers the entry by."""
        return f"{self.path}@{self.version}" if self.version else self.path


@dataclass(frozen=True, slots=True)
class Skipped:
    """One file, folder, member or row that was passed over."""

    path: str
    reason: Reason


Found = Entry | Skipped


class CorpusSource(Protocol):
    """Something that files come from.

    Attributes:
        name: under which the index knows it.
        stamp: of the whole source where one look tells that nothing changed; else None.
        whole: what is not among the entries is gone from the source; false for a stream and for a history.
        indivisible: no part of it can be told to have changed (an archive, a table): it is read whole, in order.
    """

    @property
    def name(self) -> str: ...  # noqa: D102  see the class
    @property
    def stamp(self) -> str | None: ...  # noqa: D102
    @property
    def whole(self) -> bool: ...  # noqa: D102
    @property
    def indivisible(self) -> bool: ...  # noqa: D102

    def found(self) -> Iterator[Found]:
        """Every file, in an order that the same source gives again.

        Raises:
            DataError: the source as a whole cannot be read.
        """
        ...
