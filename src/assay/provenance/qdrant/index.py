"""The index of a corpus in a Qdrant cluster: what `CodeIndex` is in a folder.

Two collections: NAME has a point a document, NAME-files what was read and what the index was made with. There are no
transactions: a request is durable when it is answered, and every one can be repeated. Documents are stored before their
file is remembered, so what a killed writer was at is read again. One process writes at a time; nothing enforces it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Self

import numpy as np
from numpy.typing import NDArray
from qdrant_client import QdrantClient

from assay.errors import CorpusIndexError
from assay.provenance.adding import batches
from assay.provenance.confidence import IndexCalibration, shipped_calibration
from assay.provenance.document import Document, Origin
from assay.provenance.index_folder import Description, description_content, description_of, fitting_encoder
from assay.provenance.qdrant.collection import Collection
from assay.provenance.qdrant.connection import Address, Calls, address_of, client_of
from assay.provenance.qdrant.files import Files
from assay.provenance.qdrant.layout import FILES, found_in, make_collections
from assay.provenance.qdrant.lists import Lists
from assay.provenance.qdrant.points import (
    VECTOR,
    document_in,
    first_number,
    of_origins,
    origins_in,
    point_of,
    requests_of,
)
from assay.provenance.stored import AddCounts, IndexInfo, SeenFile, StoredDocument, storable
from assay.retrieval import (
    CANDIDATES,
    Form,
    Hashes,
    Ids,
    Overlap,
    Profile,
    fingerprint_hashes,
    for_queries,
    profile_named,
)
from assay.types import Encoder, Float32Array

BATCH = 256
"""Documents that are looked for, fingerprinted and stored together."""

LARGEST_REQUEST = 8_000_000
"""Bytes; a Qdrant server takes 32 MB."""

ATTEMPTS = 3
"""Times in a row that the same documents are removed: a replica may lag behind, a server that forgets will not mend."""

DOCUMENT = ("text", "language", "kind", "name", "origins")


class QdrantIndex:
    """Documents of a corpus in a Qdrant collection, found by fingerprints or vectors.

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
            made = f"expected a collection {address.collection!r} made by `assay index build`"
            raise CorpusIndexError(f"{address.text}: no index here: {made}")
        self._described = description_of(content, address.text)
        self.profile = self._described.profile
        self._encoder = fitting_encoder(address.text, self._described, encoder, writable=writable)
        self._lists = Lists(self._documents, self.profile)

    @classmethod
    def create(
        cls,
        address: str,
        *,
        profile: Profile | str = "default",
        encoder: Encoder | None = None,
        client: QdrantClient | None = None,
    ) -> Self:
        """Make an empty index, and open it for writing.

        Args:
            address: http[s]://HOST[:PORT][/COLLECTION][?shards=N&replicas=N]; the API key is that of QDRANT_API_KEY.
            profile: of the fingerprints.
            encoder: of the vectors; None: none.
            client: the connection, where there is one already; else the address is connected to.

        Raises:
            CorpusIndexError: the server is not there or refuses, or has such a collection already.
        """
        chosen = profile_named(profile) if isinstance(profile, str) else profile
        where, calls = _connected(address, client)
        documents, files = Collection(calls, where.collection), Collection(calls, where.collection + FILES)
        with calls.kept_if_whole():
            make_collections(documents, files, where, chosen, encoder)
            Files(files).describe(description_content(chosen, encoder))
            return cls(calls, where, writable=True, encoder=encoder)

    @classmethod
    def open(
        cls, address: str, *, writable: bool = False, encoder: Encoder | None = None, client: QdrantClient | None = None
    ) -> Self:
        """Open an index.

        Args:
            address: see `create`.
            writable: to add and remove.
            encoder: the one that it was made with. Without it nothing can be added to an index with vectors, nor found
                by vector.
            client: see `create`.

        Raises:
            CorpusIndexError: the server is not there or refuses, has no such index, or one of another version or
                another encoder.
        """
        where, calls = _connected(address, client)
        with calls.kept_if_whole():
            return cls(calls, where, writable=writable, encoder=encoder)

    @staticmethod
    def described(address: str, *, client: QdrantClient | None = None) -> Description | None:
        """What the index at an address was made with; None where there is none yet.

        Raises:
            CorpusIndexError: the server is not there or refuses, or has an index of another version.
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
        """Let go of the connection."""
        self._calls.close()

    @contextmanager
    def snapshot(self) -> Iterator[Self]:
        """Inside this block a thread asks the server nothing twice. What others write meanwhile may show."""
        with self._lists.remembered():
            yield self

    def calibration(self) -> IndexCalibration | None:
        """See `Searchable`."""
        content = self._lists.once("calibration", self._files.calibration)
        if content is None:
            return shipped_calibration(self.profile)
        return IndexCalibration.of(content, self.profile, self.address)

    def keep_calibration(self, calibration: IndexCalibration) -> str:
        """Let what was measured on this index stand in place of what is shipped; gives where it is."""
        self._files.calibrate(calibration.content())
        return self.address

    def add(
        self,
        documents: Iterable[Document],
        *,
        hashes: Iterable[Mapping[Form, Hashes]] | None = None,
        vectors: Iterable[Float32Array] | None = None,
    ) -> AddCounts:
        """Add documents; a text that is there gets only its further origins. See `CodeIndex.add`.

        Raises:
            CorpusIndexError: the server does not take them, or the index was opened for reading.
        """
        self._check_writable()
        return sum((self._add(*batch) for batch in batches(documents, hashes, vectors, size=BATCH)), AddCounts())

    def remove(self, *, source: str, path: str | None = None) -> int:
        """Remove the origins in one file of a source, or in all of it, and documents that were found nowhere else.

        The files are then no longer remembered as seen.

        Returns:
            How many documents are gone.

        Raises:
            CorpusIndexError: the server does not do it, or says that it did and still has the documents.
        """
        self._check_writable()
        name, of_file = storable(source), storable(path)
        # a writer that is killed here leaves files that count as never read to their end
        self._files.doubt(source, path)
        gone: set[int] = set()
        dealt_with: set[int] = set()
        attempts = 0
        while page := self._documents.page(found_in(name, of_file), ["origins"]):
            left = {
                number: [one for one in origins_in(payload) if one.source != name or of_file not in {None, one.path}]
                for number, payload in page
            }
            attempts = attempts + 1 if dealt_with.issuperset(left) else 0
            if attempts == ATTEMPTS:
                raise CorpusIndexError(
                    f"{self.address}: the server acknowledged {ATTEMPTS} times that {len(left)} documents have "
                    f"{source!r} as an origin no more, and still finds them under it: expected a server that changes "
                    "what it is told to change"
                )
            dealt_with.update(left)
            self._documents.set_fields({number: of_origins(some) for number, some in left.items() if some})
            orphans = [number for number, some in left.items() if not some]
            if orphans:
                self._documents.delete(orphans)
            gone.update(orphans)
        self._files.forget(source, path)
        return len(gone)

    def remove_documents(self, ids: Iterable[int]) -> int:
        """Remove documents with all their origins; gives how many there were."""
        self._check_writable()
        numbers = [number for number, _ in self._documents.retrieve(list(ids), [])]
        if numbers:
            self._documents.delete(numbers)
        return len(numbers)

    def commit(self) -> None:
        """Nothing is left to do: what the server answered is durable."""
        self._check_writable()

    def document(self, number: int) -> StoredDocument:
        """The document of that number.

        Raises:
            CorpusIndexError: there is none.
        """
        for found in self.documents([number]):
            return found
        raise CorpusIndexError(f"{self.address}: no document {number}")

    def documents(self, ids: Sequence[int]) -> list[StoredDocument]:
        """The documents of these numbers in that order; those that are not there are left out."""
        found = dict(self._documents.retrieve([int(one) for one in ids], DOCUMENT))
        return [document_in(int(number), found[number]) for number in ids if number in found]

    def ids(self) -> list[int]:
        """The numbers of all documents, ascending."""
        return sorted(number for number, _ in self._documents.scroll(None, []))

    def overlap(self, form: Form, hashes: Hashes, *, candidates: int = CANDIDATES) -> Overlap:
        """Documents that share these fingerprints, in text order; look-ups as the profile has them.

        `found` counts no more than the candidates.
        """
        with self.snapshot():
            return self._lists.overlap(form, hashes, candidates)

    def shared(self, form: Form, hashes: Hashes, documents: Ids) -> NDArray[np.int32]:
        """|Q ∩ D|, [documents]: how many distinct ones of these hashes each document has, however common they are."""
        return self._lists.shared(form, hashes, documents)

    def sizes(self, form: Form, documents: Ids) -> NDArray[np.int32]:
        """|D|, [documents]: how many distinct fingerprints each document has; 0 for one that is not there."""
        return self._lists.sizes(form, documents)

    def frequencies(self, form: Form, hashes: Hashes) -> NDArray[np.int64]:
        """In how many documents each of these hashes stands, as the server's statistics have it: an estimate."""
        return self._lists.frequencies(form, hashes)

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
            name = self._described.encoder
            had = f"was opened without its encoder {name}" if name else "has no vectors"
            raise CorpusIndexError(f"{self.address}: {had}: nothing can be found by vector")
        found = self._documents.query(for_queries(self._encoder).encode([text])[0].tolist(), VECTOR, n)
        return np.array([one.id for one in found], np.int64), np.array([one.score for one in found], np.float32)

    def mark_seen(self, source: str, files: Iterable[SeenFile]) -> None:
        """Remember files of a source, read or skipped; the last word on a path counts."""
        self._check_writable()
        self._files.mark(source, files)

    def seen(self, source: str) -> dict[str, SeenFile]:
        """The files of a source that are remembered, by path."""
        return self._files.seen(source)

    def paths(self, source: str) -> list[str]:
        """The files of a source that documents were found in, ascending."""
        name = storable(source)
        found = self._documents.scroll(found_in(name, None), ["origins"])
        return sorted({one.path for _, payload in found for one in origins_in(payload) if one.source == name})

    def languages(self) -> dict[str | None, int]:
        """Documents by language, the most frequent first; None where it is not known."""
        named: dict[str | None, int] = self._documents.facet("language")
        if unnamed := len(self) - sum(named.values()):
            named[None] = unnamed
        return dict(sorted(named.items(), key=lambda pair: -pair[1]))

    def licences(self) -> dict[str, int]:
        """Documents (a folder counts files) by licence, the most frequent first."""
        return self._documents.facet("origins[].licence")

    def info(self) -> IndexInfo:
        """What the index holds; of its size the server tells nothing."""
        documents = self._documents.count()
        postings = sum(_total(self._documents.facet(f"sizes.{one.form}")) for one in self.profile.channels)
        status = self._calls(lambda client: client.get_collection(self._documents.name))
        seen, skipped = self._files.counts()
        return IndexInfo(
            folder=self.address,
            profile=self.profile,
            encoder=self._described.encoder,
            encoder_digest=self._described.encoder_digest,
            documents=documents,
            origins=_total(self._documents.facet("places")),
            sources=tuple(sorted(self._documents.facet("origins[].source"))),
            postings=postings,
            segments=status.segments_count or 0,
            vectors=documents if self._described.encoder else 0,
            seen=seen,
            skipped=skipped,
            bytes={},
            generation=0,
        )

    def _check_writable(self) -> None:
        if not self.writable:
            raise CorpusIndexError(f"{self.address}: was opened for reading; open it with writable=True to change it")

    def _add(
        self,
        batch: Sequence[Document],
        hashes: Sequence[Mapping[Form, Hashes]] | None,
        vectors: Sequence[Float32Array] | None,
    ) -> AddCounts:
        first: dict[str, int] = {}
        origins: dict[str, list[Origin]] = {}
        for at, one in enumerate(batch):
            first.setdefault(one.digest, at)
            origins.setdefault(one.digest, []).extend(one.origins)
        placed = self._placed(list(first))
        merged = {
            digest: origins_in(of_origins([*(placed[digest][1] or ()), *found])) for digest, found in origins.items()
        }
        new = [digest for digest, (_, held) in placed.items() if held is None]
        chosen = [replace(batch[first[digest]], origins=merged[digest]) for digest in new]
        texts = [one.text for one in chosen]
        if hashes is None:
            of_new = list(fingerprint_hashes(texts, [one.language for one in chosen], self.profile))
        else:
            of_new = [hashes[first[digest]] for digest in new]
        rows: Sequence[Float32Array | None] = [None] * len(new)
        if self._encoder is not None and new:
            rows = list(self._encoder.encode(texts)) if vectors is None else [vectors[first[digest]] for digest in new]
        points = [
            point_of(placed[digest][0], one, digest, mine, row)
            for digest, one, mine, row in zip(new, chosen, of_new, rows, strict=True)
        ]
        for group in requests_of(points, LARGEST_REQUEST):
            self._documents.upsert(group)
        further = {digest: len(merged[digest]) - len(held or ()) for digest, (_, held) in placed.items()}
        self._documents.set_fields(
            {
                placed[digest][0]: of_origins(merged[digest])
                for digest, more in further.items()
                if more and placed[digest][1]
            }
        )
        return AddCounts(len(new), len(batch) - len(new), sum(further.values()))

    def _placed(self, digests: Sequence[str]) -> dict[str, tuple[int, tuple[Origin, ...] | None]]:
        """The number of each text, and the origins that it has there; None where it is new."""
        placed: dict[str, tuple[int, tuple[Origin, ...] | None]] = {}
        taken: set[int] = set()
        waiting = {digest: first_number(digest) for digest in digests}
        while waiting:
            held = dict(self._documents.retrieve(sorted(set(waiting.values())), ["digest", "origins"]))
            for digest, number in list(waiting.items()):
                there = held.get(number)
                if number in taken or (there is not None and there["digest"] != digest):
                    waiting[digest] = number + 1
                else:
                    placed[digest] = (number, None if there is None else origins_in(there))
                    taken.add(number)
                    del waiting[digest]
        return {digest: placed[digest] for digest in digests}


def _connected(address: str, client: QdrantClient | None) -> tuple[Address, Calls]:
    where = address_of(address)
    return where, Calls(client or client_of(where), where.text, owned=client is None)


def _total(counts: Mapping[int, int]) -> int:
    return sum(value * count for value, count in counts.items())
