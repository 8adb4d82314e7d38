"""Interfaces of an index, in a folder (`CodeIndex`) or wherever a plug-in keeps it, for traces and builds."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Protocol, Self

import numpy as np
from numpy.typing import NDArray

from assay.provenance.index.calibration import IndexCalibration
from assay.provenance.index.stored import AddCounts, IndexInfo, SeenFile, StoredDocument
from assay.provenance.sources import Document
from assay.retrieval import CANDIDATES, DocumentIds, Form, Hashes, Overlap, Profile
from assay.types import Float32Array


class Searchable(Protocol):
    """Index that can be searched by fingerprints or vectors.

    Attributes:
        profile: of the fingerprints.
        encoder_digest: of the encoder of the index; None without vectors.
        finds_by_vector: True if `candidates_by_vector` works.
    """

    @property
    def profile(self) -> Profile: ...  # noqa: D102  see the class
    @property
    def encoder_digest(self) -> str | None: ...  # noqa: D102
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

    def candidates_by_vector(self, text: str, n: int = CANDIDATES) -> tuple[DocumentIds, Float32Array]:
        """Return the n documents nearest by vector: numbers and cosine similarities, nearest first."""
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
