"""The index of a corpus in a Qdrant cluster, with the same methods as `CodeIndex` in a folder.

There are two collections: NAME has a point for each document, NAME-files the files that were read and the description
of the index. There are no transactions: a request is durable when it is answered, and each can be repeated. Documents
are stored before the row of their file, so the last files of a killed writer are read again. Only one process may write
at a time; nothing enforces it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain, starmap
from operator import attrgetter, itemgetter
from typing import Self

import numpy as np
from numpy.typing import NDArray
from qdrant_client import QdrantClient

from assay.corpora import Document, Origin
from assay.errors import CorpusIndexError
from assay.licences import LICENCE_READER
from assay.provenance.confidence import IndexCalibration, shipped_calibration
from assay.provenance.index import (
    AddCounts,
    Description,
    IndexInfo,
    OwnerCounts,
    SeenFile,
    StoredDocument,
    batches,
    description_content,
    description_of,
    fitting_encoder,
    storable,
)
from assay.retrieval import (
    CANDIDATES,
    DocumentIds,
    Form,
    Hashes,
    ManyVectors,
    Overlap,
    Profile,
    document_vectors,
    fingerprint_hashes,
    for_queries,
    profile_named,
)
from assay.types import Encoder, Float32Array
from assay_qdrant.collection import Collection
from assay_qdrant.connection import Address, Calls, address_of, client_of
from assay_qdrant.files import Files
from assay_qdrant.layout import FILES, make_collections, originating_in
from assay_qdrant.lists import FingerprintLists
from assay_qdrant.points import (
    VECTOR,
    document_in,
    first_number,
    of_origins,
    origins_in,
    point_of,
    requests_of,
)

_BATCH = 256
"""Documents that are looked up, fingerprinted and stored together."""

LARGEST_REQUEST = 8_000_000
"""Bytes; a Qdrant server accepts 32 MB."""

_ATTEMPTS = 3
"""Times in a row that the same documents are removed: a replica may lag behind, but not for ever."""

_DOCUMENT = ("text", "language", "kind", "name", "origins")


class QdrantIndex:
    """Documents of a corpus in a Qdrant collection, searched by fingerprints or vectors.

    Several threads may use one. An index is closed by `close` or at the end of a `with`.
    """

    def __init__(self, calls: Calls, address: Address, *, writable: bool, encoder: Encoder | None) -> None:
        """Use `create` or `open`."""
        self.address = address.text
        self.writable = writable
        self._calls = calls
        self._documents = Collection(calls, address.collection)
        self._files = Files(Collection(calls, address.collection + FILES))
        content = self._files.description()
        if content is None:
            expected = f"expected a collection {address.collection!r} made by `assay index build`"
            raise CorpusIndexError(f"{address.text}: no index here: {expected}")
        self._described = description_of(content, address.text)
        self.profile = self._described.profile
        self._encoder = fitting_encoder(address.text, self._described, encoder, writable=writable)
        self._lists = FingerprintLists(self._documents, self.profile)

    @classmethod
    def create(
        cls,
        address: str,
        *,
        profile: Profile | str = "default",
        encoder: Encoder | None = None,
        licence_reader: str = LICENCE_READER,
        client: QdrantClient | None = None,
    ) -> Self:
        """Create an empty index, and open it for writing.

        Args:
            address: http[s]://HOST[:PORT][/COLLECTION][?shards=N&replicas=N]; the API key comes from QDRANT_API_KEY.
            profile: of the fingerprints.
            encoder: of the vectors; None: none.
            licence_reader: name and version of what reads the licences.
            client: an existing connection; None: connect to the address.

        Raises:
            CorpusIndexError: the server does not answer or refuses, or has such a collection already.
        """
        chosen = profile_named(profile) if isinstance(profile, str) else profile
        where, calls = _connected(address, client)
        documents, files = Collection(calls, where.collection), Collection(calls, where.collection + FILES)
        with calls.closed_on_error():
            make_collections(documents, files, address=where, profile=chosen, encoder=encoder)
            Files(files).describe(description_content(chosen, encoder, licence_reader))
            return cls(calls, where, writable=True, encoder=encoder)

    @classmethod
    def open(
        cls, address: str, *, writable: bool = False, encoder: Encoder | None = None, client: QdrantClient | None = None
    ) -> Self:
        """Open an index.

        Args:
            address: see `create`.
            writable: allow changes.
            encoder: of the index. Without it an index with vectors cannot be changed or searched by vector.
            client: see `create`.

        Raises:
            CorpusIndexError: the server does not answer or refuses, has no such index, or one of another format
                version or encoder.
        """
        where, calls = _connected(address, client)
        with calls.closed_on_error():
            return cls(calls, where, writable=writable, encoder=encoder)

    @staticmethod
    def described(address: str, *, client: QdrantClient | None = None) -> Description | None:
        """Return profile and encoder of the index at an address; None if there is no index yet.

        Raises:
            CorpusIndexError: the server does not answer or refuses, or has an index of another format version.
        """
        where, calls = _connected(address, client)
        try:
            content = Files(Collection(calls, where.collection + FILES)).description()
        finally:
            calls.close()
        return None if content is None else description_of(content, where.text)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __len__(self) -> int:
        return self._lists.count()

    def close(self) -> None:
        """Close the connection."""
        self._calls.close()

    @contextmanager
    def snapshot(self) -> Iterator[Self]:
        """Keep answers within the block, so that a thread sends no request twice. Changes by others may be visible."""
        with self._lists.remembered():
            yield self

    def calibration(self) -> IndexCalibration | None:
        """See `Searchable`."""
        content = self._lists.once("calibration", self._files.calibration)
        if content is None:
            return shipped_calibration(self.profile, self.encoder_digest)
        return IndexCalibration.of(content, self.profile, self.address).of_size(len(self), self.address)

    def keep_calibration(self, calibration: IndexCalibration) -> str:
        """Store rates that were measured on this index, to be used instead of the shipped ones; return their place."""
        self._files.calibrate(calibration.content())
        return self.address

    def add(
        self,
        documents: Iterable[Document],
        *,
        hashes: Iterable[Mapping[Form, Hashes]] | None = None,
        vectors: Iterable[Float32Array] | None = None,
    ) -> AddCounts:
        """Add documents; a text that the index has already gets only its further origins. See `CodeIndex.add`.

        Raises:
            CorpusIndexError: the server refuses them, or the index was opened for reading.
        """
        self._check_writable()
        return sum(starmap(self._add, batches(documents, hashes, vectors, size=_BATCH)), AddCounts())

    def remove(self, *, source: str, path: str | None = None) -> int:
        """Remove the origins in one file of a source, or in all of it, and documents without any other origin.

        The rows of the files are removed too.

        Returns:
            Number of removed documents.

        Raises:
            CorpusIndexError: the server refuses, or confirms the removal and still returns the documents.
        """
        self._check_writable()
        name, of_file = storable(source), storable(path)
        # first: if the writer is killed after this, the files count as unread, and the next build completes the removal
        self._files.doubt(source, path)
        gone: set[int] = set()
        dealt_with: set[int] = set()
        attempts = 0
        while page := self._documents.page(originating_in(name, of_file), ["origins"]):
            left = {number: _without(origins_in(payload), name, of_file) for number, payload in page}
            # counts from anew whenever a page has documents that were not dealt with before
            attempts = (attempts + 1) * dealt_with.issuperset(left)
            if attempts == _ATTEMPTS:
                raise CorpusIndexError(
                    f"{self.address}: the server acknowledged {_ATTEMPTS} times that {len(left)} documents no "
                    f"longer have the origin {source!r}, but it still returns them for this origin"
                )
            dealt_with.update(left)
            self._documents.set_fields({number: of_origins(origins) for number, origins in left.items() if origins})
            orphans = [number for number, origins in left.items() if not origins]
            if orphans:
                self._documents.delete(orphans)
            gone.update(orphans)
        self._files.forget(source, path)
        return len(gone)

    def remove_documents(self, ids: Iterable[int]) -> int:
        """Remove documents with all their origins, and return how many there were."""
        self._check_writable()
        numbers = list(map(itemgetter(0), self._documents.retrieve(list(ids), [])))
        if numbers:
            self._documents.delete(numbers)
        return len(numbers)

    def commit(self) -> None:
        """Check that the index may be changed; answered requests are durable already."""
        self._check_writable()

    def document(self, number: int) -> StoredDocument:
        """Return the document of that number.

        Raises:
            CorpusIndexError: there is no such document.
        """
        for document in self.documents([number]):
            return document
        raise CorpusIndexError(f"{self.address}: no document {number}")

    def documents(self, ids: Sequence[int]) -> list[StoredDocument]:
        """Return the documents of these numbers in that order; absent ones are left out."""
        payloads = dict(self._documents.retrieve(list(map(int, ids)), _DOCUMENT))
        return [document_in(int(number), payloads[number]) for number in ids if number in payloads]

    def ids(self) -> list[int]:
        """Return the numbers of all documents, ascending."""
        return sorted(map(itemgetter(0), self._documents.scroll(None, [])))

    def overlap(self, form: Form, hashes: Hashes, *, candidates: int = CANDIDATES) -> Overlap:
        """Return documents that share these fingerprints, which are in text order; look-ups as the profile has them.

        `found` counts no more than the candidates.
        """
        with self.snapshot():
            return self._lists.overlap(form, hashes, candidates)

    def shared(self, form: Form, hashes: Hashes, documents: DocumentIds) -> NDArray[np.int32]:
        """Return |Q ∩ D|, [documents]: the number of distinct ones of these hashes in each document."""
        return self._lists.shared(form, hashes, documents)

    def sizes(self, form: Form, documents: DocumentIds) -> NDArray[np.int32]:
        """Return |D|, [documents]: the number of distinct fingerprints of each document; 0 for an absent one."""
        return self._lists.sizes(form, documents)

    def frequencies(self, form: Form, hashes: Hashes) -> NDArray[np.int64]:
        """Return the number of documents that contain each of these hashes, estimated by the server's statistics."""
        return self._lists.frequencies(form, hashes)

    def owners(self, form: Form, hashes: Hashes) -> OwnerCounts:
        """Return the owners of projects that have each of these hashes; see `Searchable`."""
        return self._lists.owners(form, hashes)

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
            exact: the server compares all vectors.

        Raises:
            CorpusIndexError: the index has no vectors, or was opened without its encoder.
        """
        if self._encoder is None:
            name = self._described.encoder
            reason = f"was opened without its encoder {name}" if name else "has no vectors"
            raise CorpusIndexError(f"{self.address}: {reason}: it cannot be searched by vector")
        query = for_queries(self._encoder).encode([text]).tolist()
        query_vectors = query if isinstance(self._encoder, ManyVectors) else query[0]
        points = self._documents.query(query_vectors, VECTOR, n, exact=exact)
        numbers = np.array(list(map(attrgetter("id"), points)), np.int64)
        # a server stores vectors in float16: the cosine of equal ones may be 1.0005
        return numbers, np.clip(np.array(list(map(attrgetter("score"), points)), np.float32), -1, 1)

    def mark_seen(self, source: str, files: Iterable[SeenFile]) -> None:
        """Record files of a source, read or skipped; a later row of the same path replaces an earlier one."""
        self._check_writable()
        self._files.mark(source, files)

    def seen(self, source: str) -> dict[str, SeenFile]:
        """Return the recorded files of a source, by path."""
        return self._files.seen(source)

    def paths(self, source: str) -> list[str]:
        """Return the files of a source that have documents, ascending."""
        name = storable(source)
        points = self._documents.scroll(originating_in(name, None), ["origins"])
        paths: set[str] = set()
        for _, payload in points:
            paths.update(origin.path for origin in origins_in(payload) if origin.source == name)
        return sorted(paths)

    def languages(self) -> dict[str | None, int]:
        """Return the documents by language, the most frequent first; None is an unknown language."""
        return self._lists.once("languages", self._counted_languages)

    def _counted_languages(self) -> dict[str | None, int]:
        named: dict[str | None, int] = self._documents.facet("language")
        if unnamed := len(self) - sum(named.values()):
            named[None] = unnamed
        return dict(sorted(named.items(), key=lambda pair: -pair[1]))

    def licences(self) -> dict[str, int]:
        """Return the documents (a folder counts files) by licence, the most frequent first."""
        return self._documents.facet("origins[].licence")

    def info(self) -> IndexInfo:
        """Return counts of the index; the server does not report its size in bytes."""
        documents = self._documents.count()
        postings = sum(_total(self._documents.facet(f"sizes.{channel.form}")) for channel in self.profile.channels)
        status = self._calls(lambda client: client.get_collection(self._documents.name))
        seen, skipped = self._files.counts()
        return IndexInfo(
            folder=self.address,
            profile=self.profile,
            encoder=self._described.encoder,
            encoder_digest=self._described.encoder_digest,
            licence_reader=self.licence_reader,
            documents=documents,
            origins=_total(self._documents.facet("places")),
            sources=tuple(sorted(self._documents.facet("origins[].source"))),
            postings=postings,
            segments=status.segments_count or 0,
            vectors=documents * bool(self._described.encoder),
            seen=seen,
            skipped=skipped,
            bytes={},
            generation=0,
        )

    def _check_writable(self) -> None:
        if not self.writable:
            raise CorpusIndexError(f"{self.address}: opened for reading only; expected writable=True")

    def _add(
        self,
        batch: Sequence[Document],
        hashes: Sequence[Mapping[Form, Hashes]] | None,
        vectors: Sequence[Float32Array] | None,
    ) -> AddCounts:
        first: dict[str, int] = {}
        origins: dict[str, list[Origin]] = {}
        for at, document in enumerate(batch):
            first.setdefault(document.digest, at)
            origins.setdefault(document.digest, []).extend(document.origins)
        placed = self._placed(list(first))
        merged = {}
        for digest, added in origins.items():
            merged[digest] = origins_in(of_origins([*(placed[digest][1] or ()), *added]))
        new = [digest for digest, (_, stored) in placed.items() if stored is None]
        chosen = [replace(batch[first[digest]], origins=merged[digest]) for digest in new]
        texts = list(map(attrgetter("text"), chosen))
        rows = list(map(first.__getitem__, new))
        if hashes is None:
            of_new = list(fingerprint_hashes(texts, list(map(attrgetter("language"), chosen)), self.profile))
        else:
            of_new = list(map(hashes.__getitem__, rows))
        dense = self._dense_vectors(texts, vectors and list(map(vectors.__getitem__, rows)))
        numbers = list(map(itemgetter(0), map(placed.__getitem__, new)))
        points = list(starmap(point_of, zip(numbers, chosen, new, of_new, dense, strict=True)))
        for group in requests_of(points, LARGEST_REQUEST):
            self._documents.upsert(group)
        further, changes = 0, {}
        for digest, (number, stored) in placed.items():
            more = len(merged[digest]) - len(stored or ())
            further += more
            if more and stored:
                changes[number] = of_origins(merged[digest])
        self._documents.set_fields(changes)
        return AddCounts(len(new), len(batch) - len(new), further)

    def _dense_vectors(
        self, texts: Sequence[str], computed: Sequence[Float32Array] | None
    ) -> Sequence[Float32Array | None]:
        """Return the vectors of new texts, those computed before where there are some; None without an encoder."""
        if self._encoder is None or not texts:
            return [None] * len(texts)
        rows = computed or document_vectors(self._encoder, texts)
        # an encoder gives a text one vector, as a list of one row; Qdrant takes several only of a multivector
        return rows if isinstance(self._encoder, ManyVectors) else list(chain.from_iterable(rows))

    def _placed(self, digests: Sequence[str]) -> dict[str, tuple[int, tuple[Origin, ...] | None]]:
        """Return the number of each text and its stored origins; None if the text is new.

        A number is a part of the digest. If another text has it already, the next number is tried.
        """
        placed: dict[str, tuple[int, tuple[Origin, ...] | None]] = {}
        used: set[int] = set()
        # linear probing over numbers: a free one is found because fewer are used than there are
        waiting = {digest: first_number(digest) for digest in digests}
        while waiting:
            stored = dict(self._documents.retrieve(sorted(set(waiting.values())), ["digest", "origins"]))
            for digest, number in list(waiting.items()):
                payload = stored.get(number)
                if number in used or (payload is not None and payload["digest"] != digest):
                    waiting[digest] = number + 1
                else:
                    placed[digest] = (number, None if payload is None else origins_in(payload))
                    used.add(number)
                    del waiting[digest]
        return dict(zip(digests, map(placed.__getitem__, digests), strict=True))


def _without(origins: Iterable[Origin], source: str, path: str | None) -> list[Origin]:
    """Return the origins outside of a source, or of one file of it."""
    return [origin for origin in origins if origin.source != source or path not in {None, origin.path}]


def _connected(address: str, client: QdrantClient | None) -> tuple[Address, Calls]:
    where = address_of(address)
    return where, Calls(client or client_of(where), where.text, owned=client is None)


def _total(counts: Mapping[int, int]) -> int:
    return sum(value * count for value, count in counts.items())
