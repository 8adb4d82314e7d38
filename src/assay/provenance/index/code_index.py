"""The index of a corpus: a catalogue, fingerprint postings and vectors that change together.

A commit writes postings and vectors under the next generation number, then commits the catalogue's transaction with
that number: this last step decides. Files that a killed writer left behind are removed by the next writer.
"""

import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import reduce
from importlib.util import find_spec
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

from assay.corpora import Document
from assay.errors import EXTRAS, CorpusIndexError, MissingExtra, install_command
from assay.licences import LICENCE_READER
from assay.provenance.confidence import CALIBRATION_FILE, IndexCalibration, calibration_for
from assay.provenance.index.catalogue import Catalogue
from assay.provenance.index.damage import drop_damage, find_damage
from assay.provenance.index.folder import (
    CATALOGUE,
    DESCRIPTION,
    POSTINGS,
    VECTORS,
    Description,
    check_description,
    fitting_encoder,
    make_folder,
    read_description,
    restore_state,
    writer_lock,
)
from assay.provenance.index.searchable import (
    FEWEST_HOLDERS,
    MOST_HOLDERS,
    MOST_OWNERS,
    AddCounts,
    IndexInfo,
    OwnerCounts,
    Repair,
    SeenFile,
    StoredDocument,
    batches,
)
from assay.provenance.index.tables import DIGEST_BYTES
from assay.retrieval import (
    CANDIDATES,
    DocumentIds,
    Form,
    Hashes,
    Overlap,
    Postings,
    Profile,
    TooShort,
    VectorIndex,
    document_vectors,
    fingerprint,
    fingerprint_hashes,
    for_queries,
    open_encoder,
    profile_named,
)
from assay.types import Encoder, Float32Array

_BATCH = 512
"""Documents that are fingerprinted, encoded and stored together."""


LARGEST_ID = 2**63 - 1
"""Of a document, as the tables store it."""


class CodeIndex:
    """Documents of a corpus, searched by fingerprints or vectors.

    One process writes at a time; any number of others read, and each read sees the last commit, complete. A writer sees
    its own changes at once; others see them after `commit`. An index is closed by `close` or at the end of a `with`.
    """

    def __init__(self, folder: Path, *, writable: bool, encoder: Encoder | None, damaged: bool = False) -> None:
        """Use `create` or `open`."""
        described = read_description(folder)
        self.folder = folder
        self.profile = described.profile
        self.writable = writable
        self._described = described
        self._encoder = fitting_encoder(folder, described, encoder, writable=writable)
        self._lock = threading.RLock()
        self._depth = 0
        with ExitStack() as stack:
            if writable:
                stack.enter_context(writer_lock(folder))
            self._catalogue = Catalogue(folder / CATALOGUE, writable=writable)
            stack.callback(self._catalogue.close)
            check_description(folder, described, self._catalogue)
            if damaged:
                generation = self._catalogue.generation
                self._postings = Postings.salvage(folder / POSTINGS, self.profile, generation)
                self._vectors = None
                if self._encoder is not None:
                    self._vectors = VectorIndex.salvage(folder / VECTORS, self._encoder.dimensions, generation)
            else:
                self._postings, self._vectors = self._opened()
            # all is open: until here an error closed what had been opened
            self._open = stack.pop_all()

    @classmethod
    def create(
        cls,
        folder: Path | str,
        *,
        profile: Profile | str = "default",
        encoder: Encoder | None = None,
        licence_reader: str = LICENCE_READER,
    ) -> Self:
        """Create an empty index in a new or empty folder, and open it for writing.

        Args:
            folder: of the index.
            profile: of the fingerprints.
            encoder: of the vectors; None: none.
            licence_reader: name and version of what reads the licences of its files.

        Raises:
            CorpusIndexError: the folder is not empty, or cannot be written.
        """
        chosen = profile_named(profile) if isinstance(profile, str) else profile
        make_folder(Path(folder), chosen, encoder, licence_reader=licence_reader)
        return cls(Path(folder), writable=True, encoder=encoder)

    @classmethod
    def open(cls, folder: Path | str, *, writable: bool = False, encoder: Encoder | None = None) -> Self:
        """Open an index.

        Args:
            folder: of the index.
            writable: allow changes; no other process may then write.
            encoder: of the index. Without it an index with vectors cannot be changed or searched by vector.

        Raises:
            CorpusIndexError: there is no index; or it has another format version or encoder, is damaged (the file is
                named), or is locked by another writer.
        """
        return cls(Path(folder), writable=writable, encoder=encoder)

    @staticmethod
    def described(folder: Path | str) -> Description | None:
        """Return profile and encoder of the index in a folder; None if there is no index yet.

        Raises:
            CorpusIndexError: the index is damaged, or of another format version.
        """
        return read_description(Path(folder)) if (Path(folder) / DESCRIPTION).is_file() else None

    @classmethod
    def repair(cls, folder: Path | str, *, encoder: Encoder | None = None) -> Repair:
        """Remove damaged rows, compute damaged postings and vectors again from the stored texts, and commit.

        Args:
            folder: of the index.
            encoder: of the index; None: the encoder of the name that the index stores, if it has vectors.

        Raises:
            CorpusIndexError: the catalogue is no consistent database, or of another format version.
            AssayError: the encoder cannot be opened.
        """
        described = restore_state(Path(folder))
        if encoder is None and described.encoder is not None:
            encoder = open_encoder(described.encoder)
        with cls(Path(folder), writable=True, encoder=encoder, damaged=True) as index:
            return index._restore()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __len__(self) -> int:
        with self.snapshot():
            return len(self._postings)

    def close(self) -> None:
        """Release files and lock; uncommitted changes are lost."""
        self._open.close()

    @contextmanager
    def snapshot(self) -> Iterator[Self]:
        """Keep one state for a reader within the block; without it each call sees the last commit."""
        with self._lock:
            # a writer sees its own transaction; an inner snapshot keeps the state of the outer one
            if self.writable or self._depth:
                yield self
                return
            self._catalogue.begin(write=False)
            self._depth += 1
            try:
                # the catalogue's state is fixed now; the files must be those of its generation
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
        """Add documents; a text that the index has already gets only its further origins.

        Args:
            documents: any number; they are added in batches.
            hashes: result of `fingerprint_hashes` for each of them, if computed elsewhere.
            vectors: float32 [k, d] of each of them, if computed elsewhere.

        Raises:
            CorpusIndexError: the disk is full, or the index was opened for reading.
        """
        self._begin()
        return sum((self._add(*batch) for batch in batches(documents, hashes, vectors, size=_BATCH)), AddCounts())

    def remove(self, *, source: str, path: str | None = None) -> int:
        """Remove the origins in one file of a source, or in all of it, and documents without any other origin.

        The rows of the files are removed too.

        Returns:
            Number of removed documents.
        """
        self._begin()
        return self.remove_documents(self._catalogue.remove_origins(source, path))

    def remove_documents(self, ids: Iterable[int]) -> int:
        """Remove documents with all their origins, and return how many there were."""
        self._begin()
        gone = np.fromiter(ids, np.int64)
        for part in self._parts():
            part.remove_all(gone)
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
            # a reader follows the catalogue: until it names the new generation, nobody looks at the new files
            for part in self._parts():
                part.commit(generation)
            self._catalogue.commit(generation)

    def compact(self) -> None:
        """Merge the files into as few as possible, build the graph, commit. Only the results by vector may change."""
        self._begin()
        with self._all_or_nothing():
            for part in self._parts():
                part.compact()
        self.connect()

    def connect(self) -> None:
        """Bring the graph over the vectors up to date where that is due, then commit; see `VectorIndex.connect`.

        Without usearch there is none, and `vector_note` says so.
        """
        self._begin()
        with self._all_or_nothing(), suppress(MissingExtra):
            if self._vectors is not None:
                self._vectors.connect()
        self.commit()

    @property
    def vector_note(self) -> str:
        """A sentence where a search by vector compares all vectors of a large index, and what changes that; else ""."""
        if self._vectors is None or self._vectors.is_connected:
            return ""
        fault = self._vectors.graph_fault or "the index has no graph"
        if not self._vectors.graph_fault and find_spec("usearch") is None:
            fault += f", which needs `{install_command(EXTRAS['usearch'])}`"
        return f"each search compares all {self._vectors.weight:,} vectors: {fault}; `assay index compact` builds it"

    def roll_back(self) -> None:
        """Undo everything since the last commit."""
        self._catalogue.roll_back()
        self._postings, self._vectors = self._opened()

    def check(self) -> None:
        """Read all of the index, and compare it with its checksums; the documents of all parts must be the same.

        Raises:
            CorpusIndexError: a part is damaged; it is named.
        """
        with self.snapshot():
            if not self._catalogue.in_transaction or not self.writable:
                self._check_state(self._parts())
            if damage := find_damage(self._catalogue):
                raise self._catalogue.damaged(str(damage))
            stored = np.array(self._catalogue.ids(), np.int64)
            for part in self._parts():
                part.check()
                if not np.array_equal(part.ids(), stored):
                    raise CorpusIndexError(f"{part.folder}: damaged: its documents are not those of the catalogue")

    def document(self, number: int) -> StoredDocument:
        """Return the document of that number.

        Raises:
            CorpusIndexError: there is no such document.
        """
        for document in self.documents([number]):
            return document
        raise CorpusIndexError(f"{self.folder}: no document {number}")

    def documents(self, ids: Sequence[int]) -> list[StoredDocument]:
        """Return the documents of these numbers in that order; absent ones are left out.

        Raises:
            CorpusIndexError: one of them is damaged, or has postings but no text.
        """
        with self.snapshot():
            documents = {document.id: document for document in self._catalogue.documents(ids)}
            # a number without a text is that of a removed document; if the postings still have it, its text is lost
            absent = np.array([n for n in ids if n not in documents and abs(n) <= LARGEST_ID], np.int64)
            if len(absent) and self._postings.holds(absent).any():
                raise self._catalogue.damaged(f"a document of the numbers {absent.tolist()}")
        return [documents[number] for number in ids if number in documents]

    def ids(self) -> list[int]:
        """Return the numbers of all documents, ascending."""
        with self.snapshot():
            return self._catalogue.ids()

    def candidates_by_fingerprints(
        self, text: str, language: str | None = None, *, candidates: int = CANDIDATES
    ) -> dict[Form, Overlap | TooShort]:
        """Return documents that share fingerprints with a text, form by form."""
        channels = fingerprint(text, language, self.profile)
        with self.snapshot():
            return {
                form: channel
                if isinstance(channel, TooShort)
                else self.overlap(form, channel.hashes, candidates=candidates)
                for form, channel in channels.items()
            }

    def overlap(self, form: Form, hashes: Hashes, *, candidates: int = CANDIDATES) -> Overlap:
        """Return documents that share these fingerprints, in text order; look-ups as the profile has them."""
        search = self.profile.search
        with self.snapshot():
            return self._postings.overlap(
                form, hashes, budget=search.budget, common=search.common, candidates=candidates
            )

    def shared(self, form: Form, hashes: Hashes, documents: DocumentIds) -> NDArray[np.int32]:
        """Return |Q ∩ D|, [documents]: the number of distinct ones of these hashes in each document."""
        with self.snapshot():
            return self._postings.shared(form, hashes, documents)

    def sizes(self, form: Form, documents: DocumentIds) -> NDArray[np.int32]:
        """Return |D|, [documents]: the number of distinct fingerprints of each document; 0 for an absent one."""
        with self.snapshot():
            return self._postings.sizes(form, documents)

    def frequencies(self, form: Form, hashes: Hashes) -> NDArray[np.int64]:
        """Return the number of documents that contain each of these hashes."""
        with self.snapshot():
            return self._postings.frequencies(form, hashes)

    def owners(self, form: Form, hashes: Hashes) -> OwnerCounts:
        """Return the owners of projects that have each of these hashes; see `Searchable`."""
        with self.snapshot():
            holders = self._postings.holders(form, hashes, least=FEWEST_HOLDERS, most=MOST_HOLDERS)
            documents = self._catalogue.holders(np.unique(holders[1]).tolist())
            return OwnerCounts.of(
                len(hashes), *holders, holders=documents, every=self._catalogue.owners_up_to(MOST_OWNERS)
            )

    def calibration(self) -> IndexCalibration | None:
        """Return the false-positive rates of this index, else the shipped ones of its profile, else None.

        Raises:
            DataError: the index has its own rates, which cannot be read or are of a much smaller index.
        """
        return calibration_for(self.folder, self.profile, documents=len(self), encoder_digest=self.encoder_digest)

    def keep_calibration(self, calibration: IndexCalibration) -> str:
        """Store rates that were measured on this index, to be used instead of the shipped ones; return their place."""
        calibration.save(self.folder / CALIBRATION_FILE)
        return str(self.folder / CALIBRATION_FILE)

    @property
    def encoder_digest(self) -> str | None:
        """Digest of the encoder of the index; None without vectors."""
        return self._described.encoder_digest

    @property
    def licence_reader(self) -> str | None:
        """Name and version of what read the licences; None of an older index."""
        return self._described.licence_reader

    @property
    def finds_by_vector(self) -> bool:
        """True if the index has vectors and was opened with its encoder, so that `candidates_by_vector` works."""
        return self._encoder is not None

    def candidates_by_vector(
        self, text: str, n: int = CANDIDATES, *, exact: bool = False
    ) -> tuple[DocumentIds, Float32Array]:
        """Return the n documents with the nearest vectors: numbers and cosine similarities, nearest first.

        Args:
            text: that is searched for.
            n: documents at most.
            exact: compare all vectors, not those that the graph proposes.

        Raises:
            CorpusIndexError: the index has no vectors, or was opened without its encoder.
        """
        if self._encoder is None:
            name = self._described.encoder
            reason = f"was opened without its encoder {name}" if name else "has no vectors"
            raise CorpusIndexError(f"{self.folder}: {reason}: it cannot be searched by vector")
        (vector,) = for_queries(self._encoder).encode([text])
        with self.snapshot():
            assert self._vectors is not None  # noqa: S101  an index with an encoder has them
            return self._vectors.search(vector, n, exact=exact)

    def mark_seen(self, source: str, files: Iterable[SeenFile]) -> None:
        """Record files of a source, read or skipped; a later row of the same path replaces an earlier one."""
        self._begin()
        self._catalogue.mark_seen(source, files)

    def seen(self, source: str) -> dict[str, SeenFile]:
        """Return the recorded files of a source, by path."""
        with self.snapshot():
            return {file.path: file for file in self._catalogue.seen(source)}

    def paths(self, source: str) -> list[str]:
        """Return the files of a source that have documents, ascending."""
        with self.snapshot():
            return self._catalogue.paths(source)

    def languages(self) -> dict[str | None, int]:
        """Return the documents by language, the most frequent first; None is an unknown language."""
        with self.snapshot():
            return self._catalogue.languages()

    def licences(self) -> dict[str, int]:
        """Return the files by licence, the most frequent first."""
        with self.snapshot():
            return self._catalogue.licences()

    def info(self) -> IndexInfo:
        """Return counts and sizes of the index."""
        with self.snapshot():
            documents, origins, seen = self._catalogue.count()
            sizes = {part.PART: part.bytes for part in self._parts()}
            return IndexInfo(
                folder=self.folder,
                profile=self.profile,
                encoder=self._described.encoder,
                encoder_digest=self._described.encoder_digest,
                licence_reader=self.licence_reader,
                documents=documents,
                origins=origins,
                sources=tuple(self._catalogue.sources()),
                postings=self._postings.postings,
                segments=self._postings.segments,
                vectors=0 if self._vectors is None else len(self._vectors),
                graph=0 if self._vectors is None else self._vectors.connected,
                seen=seen,
                skipped=self._catalogue.skipped(),
                bytes={"catalogue": self._catalogue.size} | sizes,
                generation=self._postings.generation,
            )

    def _begin(self) -> None:
        if not self.writable:
            raise CorpusIndexError(f"{self.folder}: opened for reading only; expected writable=True")
        if not self._catalogue.in_transaction:
            self._catalogue.begin(write=True)

    @contextmanager
    def _all_or_nothing(self) -> Iterator[None]:
        try:
            yield
        # Ctrl-C too: half of a batch must not be part of a later commit
        except BaseException:
            self.roll_back()
            raise

    def _opened(self) -> tuple[Postings, VectorIndex | None]:
        """Return postings and vectors of the catalogue's generation."""
        while True:
            generation = self._catalogue.generation
            try:
                vectors = None
                if self._described.encoder is not None:
                    vectors = VectorIndex.open(self.folder / VECTORS, generation, writable=self.writable)
                postings = Postings.open(self.folder / POSTINGS, generation, writable=self.writable)
                self._check_state([postings] if vectors is None else [postings, vectors])
            except (CorpusIndexError, FileNotFoundError) as error:
                # a writer may have replaced these files since the number was read: look again, in a new transaction,
                # because the old one would show the old number for ever
                if self._catalogue.in_transaction:
                    self._catalogue.roll_back()
                    self._catalogue.begin(write=False)
                if self._catalogue.generation != generation:
                    continue
                if isinstance(error, CorpusIndexError):
                    raise
                raise CorpusIndexError(f"{self.folder}: damaged: {error.filename} is missing") from error
            return postings, vectors

    def _add(
        self,
        batch: Sequence[Document],
        hashes: Sequence[Mapping[Form, Hashes]] | None,
        vectors: Sequence[Float32Array] | None,
    ) -> AddCounts:
        # numbers are given upwards and never twice, so postings and vectors of new documents are appended, not inserted
        following = first = self._catalogue.next_id()
        numbers: dict[bytes, int] = {}
        new: list[int] = []
        places = []
        for at, document in enumerate(batch):
            digest = bytes.fromhex(document.digest)[:DIGEST_BYTES]
            if digest not in numbers:
                number = self._catalogue.number_of(digest)
                if number is None:
                    number, following = following, following + 1
                    new.append(at)
                numbers[digest] = number
            places += [(numbers[digest], origin) for origin in document.origins]
        chosen = [batch[at] for at in new]
        # a dictionary keeps the order of insertion, so these are the digests of `chosen`, in its order
        digests = [digest for digest, number in numbers.items() if number >= first]
        self._catalogue.insert(list(zip(range(first, following), digests, chosen, strict=True)))
        origins = self._catalogue.add_origins(places)
        self._index(
            range(first, following),
            chosen,
            hashes=None if hashes is None else [hashes[at] for at in new],
            vectors=None if vectors is None else [vectors[at] for at in new],
        )
        return AddCounts(len(new), len(batch) - len(new), origins)

    def _index(
        self,
        numbers: Sequence[int],
        documents: Sequence[Document],
        *,
        hashes: Sequence[Mapping[Form, Hashes]] | None = None,
        vectors: Sequence[Float32Array] | None = None,
    ) -> None:
        if not documents:
            return
        texts = [document.text for document in documents]
        if hashes is None:
            hashes = list(fingerprint_hashes(texts, [document.language for document in documents], self.profile))
        for number, of_document in zip(numbers, hashes, strict=True):
            self._postings.add(number, of_document)
        if self._vectors is not None and self._encoder is not None:
            rows = document_vectors(self._encoder, texts) if vectors is None else vectors
            # a document may have several vectors, each under its number
            repeated = np.repeat(np.asarray(numbers, np.int64), [len(of_document) for of_document in rows])
            self._vectors.add(repeated, np.concatenate(rows))

    def _parts(self) -> "list[Postings | VectorIndex]":
        return [self._postings] if self._vectors is None else [self._postings, self._vectors]

    def _check_state(self, parts: "Sequence[Postings | VectorIndex]") -> None:
        """Compare the last commit of the catalogue with its checksum, and the other parts with the catalogue."""
        documents = self._catalogue.check_state()
        for part in parts:
            if len(part) != documents:
                raise CorpusIndexError(
                    f"{part.folder}: damaged: {len(part):,} documents, expected {documents:,} as in the catalogue"
                )
            if isinstance(part, Postings) and part.shape != self.profile:
                raise CorpusIndexError(f"{part.folder}: damaged: {part.shape}, expected {self.profile}")

    def _restore(self) -> Repair:
        self._begin()
        damage = find_damage(self._catalogue)
        drop_damage(self._catalogue, damage)
        stored = np.array(self._catalogue.ids(), np.int64)
        # the texts are the truth, and the rest can be computed from them: what not all parts have is computed again
        whole = reduce(np.intersect1d, [part.ids() for part in self._parts()])
        # a document that lacks its postings or its vector gets both again
        for part in self._parts():
            part.remove_all(np.setdiff1d(part.ids(), np.intersect1d(whole, stored)))
        lost = np.setdiff1d(stored, whole)
        for start in range(0, len(lost), _BATCH):
            batch = list(self._catalogue.documents(lost[start : start + _BATCH].tolist()))
            self._index([document.id for document in batch], batch)
        self.connect()
        return Repair(len(lost), len(damage.documents), bool(damage))
