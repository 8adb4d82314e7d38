"""Interfaces of an index, in a folder (`CodeIndex`) or wherever a plug-in keeps it, and the values that it returns."""

import sqlite3
import zlib
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Protocol, Self, overload, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from assay.corpora import Document
from assay.errors import CorpusIndexError, plain_reason
from assay.provenance.confidence import IndexCalibration
from assay.retrieval import CANDIDATES, DocumentIds, Form, Hashes, Overlap, Profile
from assay.types import Float32Array


@dataclass(frozen=True, slots=True)
class StoredDocument(Document):
    """A document of an index; `id` is its number there."""

    id: int


FEWEST_HOLDERS, MOST_HOLDERS = 3, 64
"""Documents of a fingerprint from which its owners are counted, and of which at most they are counted."""

MOST_OWNERS = 200
"""Owners of an index up to which they are counted."""

LEAST_FUNCTION = 400
"""Bytes, some ten lines."""

REPEATED = 3
"""Files of one owner from which it repeats a fingerprint."""


@dataclass(frozen=True, slots=True)
class Holder:
    """A document that has some fingerprint.

    Attributes:
        files: owner and name of each file that has it.
        is_function: True for a function of at least `LEAST_FUNCTION` bytes: shorter ones may be idioms.
    """

    files: tuple[tuple[str, Hashable], ...]
    is_function: bool


@dataclass(frozen=True, slots=True, eq=False)
class OwnerCounts:
    """Owners of the projects that have each of some fingerprints.

    Attributes:
        owners: int64 [m]; 0 for a fingerprint in fewer than `FEWEST_HOLDERS` documents.
        repeating: int64 [m], those that have it in `REPEATED` files.
        files: int64 [m], of all of them.
        functions: bool [m], True if a function of some length has it.
        every: owners of the index, at most `MOST_OWNERS`.
    """

    owners: NDArray[np.int64]
    repeating: NDArray[np.int64]
    files: NDArray[np.int64]
    functions: NDArray[np.bool_]
    every: int

    @classmethod
    def of(
        cls,
        length: int,
        at: NDArray[np.int64],
        documents: DocumentIds,
        holders: Mapping[int, Holder],
        every: int,
    ) -> Self:
        """Count from pairs of a fingerprint, `at` of `length`, and a document of `holders`."""
        held_ids = list(filter(holders.__contains__, np.unique(documents).tolist()))
        files: dict[tuple[str, Hashable], int] = {}
        owners: dict[str, int] = {}
        file_numbers: list[int] = []
        ends = [0]
        # the files of all documents one after the other, and where those of each document end
        for number in held_ids:
            file_numbers += (files.setdefault(file, len(files)) for file in holders[number].files)
            ends.append(len(file_numbers))
        owner_of_file = np.array([owners.setdefault(owner, len(owners)) for owner, _ in files], np.int64)
        is_known = np.isin(documents, held_ids)
        at, row = at[is_known], np.searchsorted(held_ids, documents[is_known])
        lengths = np.diff(ends)[row]
        # every file of every document of every fingerprint, once
        within = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        starts = np.array(ends)[row]
        every_file = np.array(file_numbers, np.int64)
        holdings = _different(np.repeat(at, lengths), every_file[np.repeat(starts, lengths) + within], len(files))[0]
        pairs, counts = _different(holdings[0], owner_of_file[holdings[1]], len(owners))
        is_function = np.array([holders[number].is_function for number in held_ids], np.bool_)[row]
        return cls(
            owners=np.bincount(pairs[0], minlength=length),
            repeating=np.bincount(pairs[0][counts >= REPEATED], minlength=length),
            files=np.bincount(holdings[0], minlength=length),
            functions=np.bincount(at[is_function], minlength=length) > 0,
            every=every,
        )


def _different(
    first: NDArray[np.int64], second: NDArray[np.int64], end: int
) -> tuple[tuple[NDArray[np.int64], NDArray[np.int64]], NDArray[np.int64]]:
    """Return the different pairs of two arrays [n], of which the second is below `end`, and how often each occurs."""
    # both in one number: np.unique then sorts numbers, not rows
    pairs, counts = np.unique(first * max(1, end) + second, return_counts=True)
    return np.divmod(pairs, max(1, end)), counts


def owner_of(source: str, repository: str | None, author: str | None) -> str:
    """Return who has a file: the repository without its last part, else the author, else the source."""
    return (repository or "").rstrip("/").rpartition("/")[0] or author or source


@dataclass(frozen=True, slots=True)
class SeenFile:
    """A file that was read into the index, or skipped.

    Attributes:
        path: within its source.
        size: bytes, where known.
        modified: nanoseconds since the epoch, where known.
        digest: of its content, hexadecimal, where it was read.
        skipped: reason why it has no document; None where it may have one.
    """

    path: str
    size: int | None = None
    modified: int | None = None
    digest: str | None = None
    skipped: str | None = None


@dataclass(frozen=True, slots=True)
class AddCounts:
    """Counts of one call of `add`.

    Attributes:
        documents: texts that were new.
        duplicates: texts that the index had already; they got further origins.
        origins: places that were new.
    """

    documents: int = 0
    duplicates: int = 0
    origins: int = 0

    def __add__(self, other: "AddCounts") -> "AddCounts":
        return AddCounts(
            self.documents + other.documents, self.duplicates + other.duplicates, self.origins + other.origins
        )


@dataclass(frozen=True, slots=True)
class Repair:
    """Changes that a repair made.

    Attributes:
        computed: documents that were fingerprinted or encoded again.
        removed: documents whose text, licence or origins were damaged.
        read_again: True if rows of the catalogue were lost, so that the next `index add` reads every file again.
    """

    computed: int
    removed: int
    read_again: bool


@dataclass(frozen=True, slots=True)
class IndexInfo:
    """Content of an index.

    Attributes:
        folder: of the index; on a server, its address.
        profile: of the fingerprints.
        encoder: name of the encoder, None without vectors.
        encoder_digest: its digest.
        licence_reader: name and version of what read the licences; None of an older index.
        documents: different texts.
        origins: places of these texts.
        sources: corpora that they came from.
        postings: fingerprints of all documents; those of removed ones count until their segment is merged.
        segments: files with postings.
        vectors: documents that have a vector.
        graph: vectors in the graph by which they are found; 0 without one.
        seen: files that were read or skipped.
        skipped: how many of them were skipped, by reason.
        bytes: on disk, by part: catalogue, postings, vectors.
        generation: number of the last commit.
    """

    folder: Path | str
    profile: Profile
    encoder: str | None
    encoder_digest: str | None
    licence_reader: str | None
    documents: int
    origins: int
    sources: tuple[str, ...]
    postings: int
    segments: int
    vectors: int
    seen: int
    skipped: Mapping[str, int]
    bytes: Mapping[str, int]
    generation: int
    graph: int = 0


@contextmanager
def as_index_error(path: Path) -> Iterator[None]:
    """Turn errors of SQLite and of damaged content into errors of one line.

    Raises:
        CorpusIndexError: the block raised such an error; `path` is named.
    """
    try:
        yield
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorname", "")
        full = code.startswith(("SQLITE_FULL", "SQLITE_IOERR_WRITE"))
        # SQLite cites damaged statements, over several lines
        cited = " ".join(str(error).split())
        reason = f"the disk is full ({cited}); the last commit is unchanged" if full else cited
        raise CorpusIndexError(f"{path}: {reason}") from error
    except (zlib.error, UnicodeDecodeError) as error:
        raise CorpusIndexError(f"{path}: damaged: {plain_reason(error)}") from error


@overload
def storable(text: str) -> str: ...
@overload
def storable(text: str | None) -> str | None: ...
def storable(text: str | None) -> str | None:
    r"""Return a text that SQLite accepts: lone surrogates, of names that are not UTF-8, become `\udcff`."""
    return text if text is None or text.isascii() else text.encode("utf-8", "backslashreplace").decode()


Batch = tuple[Sequence[Document], Sequence[Mapping[Form, Hashes]] | None, Sequence[Float32Array] | None]
"""Documents, and their fingerprints and vectors if they were computed elsewhere."""


def batches(
    documents: Iterable[Document],
    hashes: Iterable[Mapping[Form, Hashes]] | None,
    vectors: Iterable[Float32Array] | None,
    *,
    size: int,
) -> Iterator[Batch]:
    """Yield at most `size` documents at a time; the iterators are read no further than that."""
    remaining = iter(documents)
    of_hashes = None if hashes is None else iter(hashes)
    of_vectors = None if vectors is None else iter(vectors)
    while batch := list(islice(remaining, size)):
        yield (
            batch,
            None if of_hashes is None else list(islice(of_hashes, len(batch))),
            None if of_vectors is None else list(islice(of_vectors, len(batch))),
        )


class Searchable(Protocol):
    """Index that can be searched by fingerprints or vectors.

    Attributes:
        profile: of the fingerprints.
        encoder_digest: of the encoder of the index; None without vectors.
        licence_reader: name and version of what read the licences; None of an older index.
        finds_by_vector: True if `candidates_by_vector` works.
    """

    @property
    def profile(self) -> Profile: ...  # noqa: D102  see the class
    @property
    def encoder_digest(self) -> str | None: ...  # noqa: D102
    @property
    def licence_reader(self) -> str | None: ...  # noqa: D102
    @property
    def finds_by_vector(self) -> bool: ...  # noqa: D102

    def __enter__(self) -> Self: ...
    def __exit__(self, *_: object) -> None: ...
    def __len__(self) -> int: ...

    def close(self) -> None:
        """Release files or connections."""
        ...

    def snapshot(self) -> AbstractContextManager[object]:
        """Return a context in which results belong to one state, as far as the index can guarantee that."""
        ...

    def calibration(self) -> IndexCalibration | None:
        """Return the false-positive rates of this index, else the shipped ones of its profile, else None."""
        ...

    def keep_calibration(self, calibration: IndexCalibration) -> str:
        """Store rates that were measured on this index, to be used instead of the shipped ones; return their place."""
        ...

    def overlap(self, form: Form, hashes: Hashes, *, candidates: int = CANDIDATES) -> Overlap:
        """Return documents that share these fingerprints, which are in text order."""
        ...

    def shared(self, form: Form, hashes: Hashes, documents: DocumentIds) -> NDArray[np.int32]:
        """Return |Q ∩ D|, [documents]: the number of distinct ones of these hashes in each document."""
        ...

    def sizes(self, form: Form, documents: DocumentIds) -> NDArray[np.int32]:
        """Return |D|, [documents]: the number of distinct fingerprints of each document; 0 for an absent one."""
        ...

    def frequencies(self, form: Form, hashes: Hashes) -> NDArray[np.int64]:
        """Return the number of documents that contain each of these hashes."""
        ...

    def owners(self, form: Form, hashes: Hashes) -> OwnerCounts:
        """Return the owners of projects that have each of these hashes."""
        ...

    def candidates_by_vector(
        self, text: str, n: int = CANDIDATES, *, exact: bool = False
    ) -> tuple[DocumentIds, Float32Array]:
        """Return the n documents nearest by vector, of all of them if `exact`: numbers and cosines, nearest first."""
        ...

    def document(self, number: int) -> StoredDocument:
        """Return the document of that number."""
        ...

    def documents(self, ids: Sequence[int]) -> list[StoredDocument]:
        """Return the documents of these numbers in that order; absent ones are left out."""
        ...

    def languages(self) -> Mapping[str | None, int]:
        """Return the documents by language, the most frequent first."""
        ...

    def licences(self) -> Mapping[str, int]:
        """Return the files by licence, the most frequent first."""
        ...

    def info(self) -> IndexInfo:
        """Return counts and sizes of the index."""
        ...


@runtime_checkable
class Connected(Protocol):
    """Index that keeps a graph over its vectors."""

    @property
    def vector_note(self) -> str:
        """A sentence where a search by vector compares all vectors of a large index; else ""."""
        ...

    def connect(self) -> None:
        """Build the graph, or bring it up to date, where that is due."""
        ...


class WritableIndex(Searchable, Protocol):
    """Index that can be changed: documents are added and removed, and the files that were read are recorded."""

    def add(
        self,
        documents: Iterable[Document],
        *,
        hashes: Iterable[Mapping[Form, Hashes]] | None = None,
        vectors: Iterable[Float32Array] | None = None,
    ) -> AddCounts:
        """Add documents; a text that the index has already gets only its further origins."""
        ...

    def remove(self, *, source: str, path: str | None = None) -> int:
        """Remove the origins in one file of a source, or in all of it, and documents without any other origin."""
        ...

    def commit(self) -> None:
        """Make all changes durable."""
        ...

    def mark_seen(self, source: str, files: Iterable[SeenFile]) -> None:
        """Record files of a source, read or skipped; a later row of the same path replaces an earlier one."""
        ...

    def seen(self, source: str) -> dict[str, SeenFile]:
        """Return the recorded files of a source, by path."""
        ...

    def paths(self, source: str) -> list[str]:
        """Return the files of a source that have documents, ascending."""
        ...
