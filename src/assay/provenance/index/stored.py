"""Values that an index returns, and its use of SQLite."""

import sqlite3
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import overload

from assay.errors import CorpusIndexError, plain_reason
from assay.provenance.sources import Document
from assay.retrieval import Form, Hashes, Profile
from assay.types import Float32Array


@dataclass(frozen=True, slots=True)
class StoredDocument(Document):
    """A document of an index; `id` is its number there."""

    id: int


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
        documents: different texts.
        origins: places of these texts.
        sources: corpora that they came from.
        postings: fingerprints of all documents; those of removed ones count until their segment is merged.
        segments: files with postings.
        vectors: documents that have a vector.
        seen: files that were read or skipped.
        skipped: how many of them were skipped, by reason.
        bytes: on disk, by part: catalogue, postings, vectors.
        generation: number of the last commit.
    """

    folder: Path | str
    profile: Profile
    encoder: str | None
    encoder_digest: str | None
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
