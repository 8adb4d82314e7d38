"""What a trace and a build ask of an index, in a folder (`CodeIndex`) or on servers (`QdrantIndex`)."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Protocol, Self

import numpy as np
from numpy.typing import NDArray

from assay.provenance.confidence import IndexCalibration
from assay.provenance.document import Document
from assay.provenance.stored import AddCounts, IndexInfo, SeenFile, StoredDocument
from assay.retrieval import CANDIDATES, Form, Hashes, Ids, Overlap, Profile
from assay.types import Float32Array


class Searchable(Protocol):
    """Documents that are found by fingerprints or vectors.

    Attributes:
        profile: of the fingerprints.
        encoder_digest: of the encoder that it was made with; None without vectors.
        finds_by_vector: whether `candidates_by_vector` can answer.
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
        """Let go of files or connections."""
        ...

    def snapshot(self) -> AbstractContextManager[object]:
        """A block in which answers belong together, as far as the index can promise that."""
        ...

    def calibration(self) -> IndexCalibration | None:
        """False-positive rates measured on this index, else the shipped ones of its profile, else None."""
        ...

    def keep_calibration(self, calibration: IndexCalibration) -> str:
        """Let what was measured on this index stand in place of what is shipped; gives where it is."""
        ...

    def overlap(self, form: Form, hashes: Hashes, *, candidates: int = CANDIDATES) -> Overlap:
        """Documents that share these fingerprints, in text order."""
        ...

    def shared(self, form: Form, hashes: Hashes, documents: Ids) -> NDArray[np.int32]:
        """|Q ∩ D|, [documents]: how many distinct ones of these hashes each document has."""
        ...

    def sizes(self, form: Form, documents: Ids) -> NDArray[np.int32]:
        """|D|, [documents]: how many distinct fingerprints each document has; 0 for one that is not there."""
        ...

    def frequencies(self, form: Form, hashes: Hashes) -> NDArray[np.int64]:
        """In how many documents each of these hashes stands."""
        ...

    def candidates_by_vector(self, text: str, n: int = CANDIDATES) -> tuple[Ids, Float32Array]:
        """The n documents nearest by vector: numbers and cosine similarities, nearest first."""
        ...

    def document(self, number: int) -> StoredDocument:
        """The document of that number."""
        ...

    def documents(self, ids: Sequence[int]) -> list[StoredDocument]:
        """The documents of these numbers in that order; those that are not there are left out."""
        ...

    def languages(self) -> Mapping[str | None, int]:
        """Documents by language, the most frequent first."""
        ...

    def licences(self) -> Mapping[str, int]:
        """Files by licence, the most frequent first."""
        ...

    def info(self) -> IndexInfo:
        """What the index holds."""
        ...


class WritableIndex(Searchable, Protocol):
    """An index that can be built: documents come and go, and the files that they came from are remembered."""

    def add(
        self,
        documents: Iterable[Document],
        *,
        hashes: Iterable[Mapping[Form, Hashes]] | None = None,
        vectors: Iterable[Float32Array] | None = None,
    ) -> AddCounts:
        """Add documents; a text that is there gets only its further origins."""
        ...

    def remove(self, *, source: str, path: str | None = None) -> int:
        """Remove the origins in one file of a source, or in all of it, and documents that were found nowhere else."""
        ...

    def commit(self) -> None:
        """Make everything so far durable."""
        ...

    def mark_seen(self, source: str, files: Iterable[SeenFile]) -> None:
        """Remember files of a source, read or skipped; the last word on a path counts."""
        ...

    def seen(self, source: str) -> dict[str, SeenFile]:
        """The files of a source that are remembered, by path."""
        ...

    def paths(self, source: str) -> list[str]:
        """The files of a source that documents were found in, ascending."""
        ...
