"""The index of a corpus: a catalogue, fingerprint postings and vectors that change together.

A commit writes postings and vectors under the next generation number, then the catalogue's transaction with that
number: this last step decides. What a killed writer left behind, the next one takes away.
"""

import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

from assay.errors import CorpusIndexError
from assay.provenance.adding import batches
from assay.provenance.catalogue import Catalogue
from assay.provenance.confidence import FILE, IndexCalibration, calibration_for
from assay.provenance.document import Document
from assay.provenance.index_folder import (
    CATALOGUE,
    POSTINGS,
    VECTORS,
    fitting_encoder,
    make_folder,
    read_description,
    writer_lock,
)
from assay.provenance.stored import AddCounts, IndexInfo, SeenFile, StoredDocument
from assay.retrieval import (
    CANDIDATES,
    Fingerprints,
    Form,
    Hashes,
    Ids,
    Overlap,
    Postings,
    Profile,
    TooShort,
    VectorIndex,
    fingerprint,
    fingerprint_hashes,
    for_queries,
    profile_named,
)
from assay.types import Encoder, Float32Array

BATCH = 512
"""Documents that are fingerprinted, encoded and stored together."""


class CodeIndex:
    """Documents of a corpus, found by fingerprints or vectors.

    One process writes at a time; any number read meanwhile, and each read sees the last commit, whole. What a writer
    adds it sees at once; others see it after `commit`. An index is closed by `close` or at the end of a `with`.
    """

    def __init__(self, folder: Path, *, writable: bool, encoder: Encoder | None, damaged: bool = False) -> None:
        """Use `create` or `open`."""
        described = read_description(folder)
        self.folder = folder
        self.profile = described.profile
        self.writable = writable
        self._described = described
        self._encoder = fitting_encoder(folder, described, encoder, writable=writable)
        self._damaged = damaged
        self._lock = threading.RLock()
        self._depth = 0
        with ExitStack() as stack:
            if writable:
                stack.enter_context(writer_lock(folder))
            self._catalogue = Catalogue(folder / CATALOGUE, writable=writable)
            stack.callback(self._catalogue.close)
            self._postings, self._vectors = self._opened()
            self._open = stack.pop_all()

    @classmethod
    def create(cls, folder: Path | str, *, profile: Profile | str = "default", encoder: Encoder | None = None) -> Self:
        """Make an empty index in a new or empty folder, and open it for writing.

        Raises:
            CorpusIndexError: the folder holds something, or cannot be written.
        """
        make_folder(Path(folder), profile_named(profile) if isinstance(profile, str) else profile, encoder)
        return cls(Path(folder), writable=True, encoder=encoder)

    @classmethod
    def open(cls, folder: Path | str, *, writable: bool = False, encoder: Encoder | None = None) -> Self:
        """Open an index.

        Args:
            folder: of the index.
            writable: to add and remove; no other process may then write.
            encoder: the one that it was made with. Without it nothing can be added to an index with vectors, nor found
                by vector.

        Raises:
            CorpusIndexError: no index, one of another version, made with another encoder, damaged (the file is named),
                or locked by another writer.
        """
        return cls(Path(folder), writable=writable, encoder=encoder)

    @classmethod
    def repair(cls, folder: Path | str, *, encoder: Encoder | None = None) -> int:
        """Make what is damaged in postings and vectors anew from the stored texts, and commit.

        Returns:
            How many documents were fingerprinted or encoded again.
        """
        with cls(Path(folder), writable=True, encoder=encoder, damaged=True) as index:
            return index._restore()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __len__(self) -> int:
        with self.snapshot():
            return self._postings.documents

    def close(self) -> None:
        """Let go of files and lock; what was not committed is gone."""
        self._open.close()

    @contextmanager
    def snapshot(self) -> Iterator[Self]:
        """Inside this block a reader sees one state, whatever others commit; without it each call sees the last one."""
        with self._lock:
            if self.writable or self._depth:
                yield self
                return
            self._catalogue.begin(write=False)
            self._depth += 1
            try:
                if self._catalogue.generation != self._postings.generation:
                    self._postings, self._vectors = self._opened()
                yield self
            finally:
                self._depth -= 1
                self._catalogue.roll_back()

    def add(
        self,
        documents: Iterable[Document],
        *,
        hashes: Iterable[Mapping[Form, Hashes]] | None = None,
        vectors: Iterable[Float32Array] | None = None,
    ) -> AddCounts:
        """Add documents; a text that is there gets only its further origins.

        Args:
            documents: in any number; they are worked through in batches.
            hashes: what `fingerprint_hashes` gives for each of them, where it was computed elsewhere.
            vectors: what the encoder gives for each of them, where it was computed elsewhere.

        Raises:
            CorpusIndexError: the disk is full, or the index was opened for reading.
        """
        self._begin()
        return sum((self._add(*batch) for batch in batches(documents, hashes, vectors, size=BATCH)), AddCounts())

    def remove(self, *, source: str, path: str | None = None) -> int:
        """Remove the origins in one file of a source, or in all of it, and documents that were found nowhere else.

        The files are then no longer remembered as seen.

        Returns:
            How many documents are gone.
        """
        self._begin()
        return self.remove_documents(self._catalogue.remove_origins(source, path))

    def remove_documents(self, ids: Iterable[int]) -> int:
        """Remove documents with all their origins; gives how many there were."""
        self._begin()
        gone = np.fromiter(ids, np.int64)
        self._postings.remove_all(gone)
        if self._vectors is not None:
            self._vectors.remove_all(gone)
        return self._catalogue.remove_documents(gone.tolist())

    def commit(self) -> None:
        """Make everything since the last commit durable and visible to readers: all of it or nothing.

        Raises:
            CorpusIndexError: the disk is full or a file is damaged. The index is then as the last commit left it.
        """
        if not self._catalogue.in_transaction:
            return
        generation = self._catalogue.generation + 1
        with self._all_or_nothing():
            self._postings.commit(generation)
            if self._vectors is not None:
                self._vectors.commit(generation)
            self._catalogue.commit(generation)

    def compact(self) -> None:
        """Merge files into as few as there can be, then commit. Answers do not change, but for those by vector."""
        self._begin()
        with self._all_or_nothing():
            self._postings.compact()
            if self._vectors is not None:
                self._vectors.compact()
        self.commit()

    def roll_back(self) -> None:
        """Forget everything since the last commit."""
        self._catalogue.roll_back()
        self._postings, self._vectors = self._opened()

    def check(self) -> None:
        """Read every file of postings and vectors in full.

        Raises:
            CorpusIndexError: one is damaged; it is named.
        """
        with self.snapshot():
            self._postings.check()
            if self._vectors is not None:
                self._vectors.check()

    def document(self, number: int) -> StoredDocument:
        """The document of that number.

        Raises:
            CorpusIndexError: there is none.
        """
        for found in self.documents([number]):
            return found
        raise CorpusIndexError(f"{self.folder}: no document {number}")

    def documents(self, ids: Sequence[int]) -> list[StoredDocument]:
        """The documents of these numbers in that order; those that are not there are left out."""
        with self.snapshot():
            found = {one.id: one for one in self._catalogue.documents(ids)}
        return [found[number] for number in ids if number in found]

    def ids(self) -> list[int]:
        """The numbers of all documents, ascending."""
        with self.snapshot():
            return self._catalogue.ids()

    def candidates_by_fingerprints(
        self, text: str, language: str | None = None, *, candidates: int = CANDIDATES
    ) -> dict[Form, Overlap | TooShort]:
        """Documents that share fingerprints with a text, form by form."""
        found = fingerprint(text, language, self.profile)
        with self.snapshot():
            return {
                form: self.overlap(form, one.hashes, candidates=candidates) if isinstance(one, Fingerprints) else one
                for form, one in found.items()
            }

    def overlap(self, form: Form, hashes: Hashes, *, candidates: int = CANDIDATES) -> Overlap:
        """Return documents that share these fingerprints, in text order; look-ups as the profile has them."""
        search = self.profile.search
        with self.snapshot():
            return self._postings.overlap(
                form, hashes, budget=search.budget, common=search.common, candidates=candidates
            )

    def shared(self, form: Form, hashes: Hashes, documents: Ids) -> NDArray[np.int32]:
        """|Q ∩ D|, [documents]: how many distinct ones of these hashes each document has, however common they are."""
        with self.snapshot():
            return self._postings.shared(form, hashes, documents)

    def sizes(self, form: Form, documents: Ids) -> NDArray[np.int32]:
        """|D|, [documents]: how many distinct fingerprints each document has; 0 for one that is not there."""
        with self.snapshot():
            return self._postings.sizes(form, documents)

    def frequencies(self, form: Form, hashes: Hashes) -> NDArray[np.int64]:
        """In how many documents each of these hashes stands."""
        with self.snapshot():
            return self._postings.frequencies(form, hashes)

    def calibration(self) -> IndexCalibration | None:
        """False-positive rates measured on this index, else the shipped ones of its profile, else None.

        Raises:
            DataError: the index has its own, and they cannot be read.
        """
        return calibration_for(self.folder, self.profile)

    def keep_calibration(self, calibration: IndexCalibration) -> str:
        """Let what was measured on this index stand in place of what is shipped; gives where it is."""
        calibration.save(self.folder / FILE)
        return str(self.folder / FILE)

    @property
    def encoder_digest(self) -> str | None:
        """Digest of the encoder that it was made with; None without vectors."""
        return self._described.encoder_digest

    @property
    def finds_by_vector(self) -> bool:
        """Whether `candidates_by_vector` can answer: the index has vectors and was opened with its encoder."""
        return self._encoder is not None

    def candidates_by_vector(self, text: str, n: int = CANDIDATES) -> tuple[Ids, Float32Array]:
        """The n documents whose vectors are nearest to that of a text: numbers and cosine similarities, nearest first.

        Raises:
            CorpusIndexError: the index has no vectors, or was opened without its encoder.
        """
        if self._encoder is None:
            had = (
                f"was opened without its encoder {self._described.encoder}"
                if self._described.encoder
                else "has no vectors"
            )
            raise CorpusIndexError(f"{self.folder}: {had}: nothing can be found by vector")
        (vector,) = for_queries(self._encoder).encode([text])
        with self.snapshot():
            assert self._vectors is not None  # noqa: S101  an index with an encoder has them
            return self._vectors.search(vector, n)

    def mark_seen(self, source: str, files: Iterable[SeenFile]) -> None:
        """Remember files of a source, read or skipped; the last word on a path counts."""
        self._begin()
        self._catalogue.mark_seen(source, files)

    def seen(self, source: str) -> dict[str, SeenFile]:
        """The files of a source that are remembered, by path."""
        with self.snapshot():
            return {one.path: one for one in self._catalogue.seen(source)}

    def paths(self, source: str) -> list[str]:
        """The files of a source that documents were found in, ascending."""
        with self.snapshot():
            return self._catalogue.paths(source)

    def languages(self) -> dict[str | None, int]:
        """Documents by language, the most frequent first; None where it is not known."""
        with self.snapshot():
            return self._catalogue.languages()

    def licences(self) -> dict[str, int]:
        """Files by licence, the most frequent first."""
        with self.snapshot():
            return self._catalogue.licences()

    def info(self) -> IndexInfo:
        """What the index holds."""
        with self.snapshot():
            documents, origins, seen = self._catalogue.count()
            sizes = {"catalogue": self._catalogue.size, "postings": self._postings.bytes}
            if self._vectors is not None:
                sizes["vectors"] = self._vectors.bytes
            return IndexInfo(
                folder=self.folder,
                profile=self.profile,
                encoder=self._described.encoder,
                encoder_digest=self._described.encoder_digest,
                documents=documents,
                origins=origins,
                sources=tuple(self._catalogue.sources()),
                postings=self._postings.postings,
                segments=self._postings.segments,
                vectors=0 if self._vectors is None else len(self._vectors),
                seen=seen,
                skipped=self._catalogue.skipped(),
                bytes=sizes,
                generation=self._postings.generation,
            )

    def _begin(self) -> None:
        if not self.writable:
            raise CorpusIndexError(f"{self.folder}: was opened for reading; open it with writable=True to change it")
        if not self._catalogue.in_transaction:
            self._catalogue.begin(write=True)

    @contextmanager
    def _all_or_nothing(self) -> Iterator[None]:
        try:
            yield
        except BaseException:
            self.roll_back()
            raise

    def _opened(self) -> tuple[Postings, VectorIndex | None]:
        """Postings and vectors of the catalogue's generation."""
        while True:
            generation = self._catalogue.generation
            try:
                options = {"writable": self.writable, "damaged": self._damaged}
                vectors = None
                if self._described.encoder is not None:
                    vectors = VectorIndex.open(self.folder / VECTORS, generation, **options)
                return Postings.open(self.folder / POSTINGS, generation, **options), vectors
            except (CorpusIndexError, FileNotFoundError) as error:
                # a writer may have replaced them since the generation was read: then there is a newer one
                if self._catalogue.in_transaction:
                    self._catalogue.roll_back()
                    self._catalogue.begin(write=False)
                if self._catalogue.generation != generation:
                    continue
                if isinstance(error, CorpusIndexError):
                    raise
                raise CorpusIndexError(f"{self.folder}: damaged: {error.filename} is missing") from error

    def _add(
        self,
        batch: Sequence[Document],
        hashes: Sequence[Mapping[Form, Hashes]] | None,
        vectors: Sequence[Float32Array] | None,
    ) -> AddCounts:
        following = first = self._catalogue.next_id()
        numbers: dict[bytes, int] = {}
        new: list[int] = []
        places = []
        for at, document in enumerate(batch):
            digest = bytes.fromhex(document.digest)
            if digest not in numbers:
                known = self._catalogue.known(digest)
                if known is None:
                    known, following = following, following + 1
                    new.append(at)
                numbers[digest] = known
            places += [(numbers[digest], origin) for origin in document.origins]
        chosen = [batch[at] for at in new]
        digests = [digest for digest, number in numbers.items() if number >= first]
        self._catalogue.insert(list(zip(range(first, following), digests, chosen, strict=True)))
        origins = self._catalogue.add_origins(places)
        self._index(
            range(first, following),
            chosen,
            None if hashes is None else [hashes[at] for at in new],
            None if vectors is None else [vectors[at] for at in new],
        )
        return AddCounts(len(new), len(batch) - len(new), origins)

    def _index(
        self,
        numbers: Sequence[int],
        documents: Sequence[Document],
        hashes: Sequence[Mapping[Form, Hashes]] | None,
        vectors: Sequence[Float32Array] | None,
    ) -> None:
        if not documents:
            return
        texts = [one.text for one in documents]
        if hashes is None:
            hashes = list(fingerprint_hashes(texts, [one.language for one in documents], self.profile))
        for number, of_document in zip(numbers, hashes, strict=True):
            self._postings.add(number, of_document)
        if self._vectors is not None and self._encoder is not None:
            rows = self._encoder.encode(texts) if vectors is None else np.vstack(vectors)
            self._vectors.add(np.asarray(numbers, np.int64), rows)

    def _restore(self) -> int:
        self._begin()
        known = np.array(self._catalogue.ids(), np.int64)
        whole = self._postings.ids()
        if self._vectors is not None:
            whole = np.intersect1d(whole, self._vectors.ids())
        # what lacks one of the two gets both anew
        for part in (self._postings, self._vectors):
            if part is not None:
                part.remove_all(np.setdiff1d(part.ids(), np.intersect1d(whole, known)))
        lost = np.setdiff1d(known, whole)
        for start in range(0, len(lost), BATCH):
            batch = list(self._catalogue.documents(lost[start : start + BATCH].tolist()))
            self._index([one.id for one in batch], batch, None, None)
        self.commit()
        return len(lost)
