"""Look-up of a query's fingerprints in a collection: their choice, the documents that share them, and exact counts."""

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain, filterfalse
from operator import attrgetter
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from assay.provenance.index import (
    FEWEST_HOLDERS,
    LEAST_FUNCTION,
    MOST_HOLDERS,
    MOST_OWNERS,
    Holder,
    OwnerCounts,
    owner_of,
)
from assay.retrieval import (
    MOST_DOCUMENTS,
    POSTINGS_READ,
    DocumentIds,
    Form,
    Hashes,
    Overlap,
    Profile,
    choose_lists,
    keys_of,
)
from assay_qdrant.collection import Collection
from assay_qdrant.layout import has_form
from assay_qdrant.points import origins_in, sparse, unpack_hashes

_T = TypeVar("_T")

_QUERIES = 500
"""Frequencies that one request asks for."""


@dataclass(slots=True)
class Answers:
    """Answers of the server within one block of `remembered`."""

    values: dict[str, Any] = field(default_factory=dict)
    frequencies: dict[tuple[str, int], int] = field(default_factory=dict)
    hashes: dict[int, Mapping[Form, Hashes]] = field(default_factory=dict)

    def once(self, name: str, ask: Callable[[], _T]) -> _T:
        """Return the answer of that name, from the server only the first time."""
        if name not in self.values:
            self.values[name] = ask()
        answer: _T = self.values[name]
        return answer


class FingerprintLists:
    """The fingerprints of a collection's documents."""

    def __init__(self, documents: Collection, profile: Profile) -> None:
        self._documents = documents
        self._profile = profile
        self._thread = threading.local()

    @contextmanager
    def remembered(self) -> Iterator[None]:
        """Keep the answers within the block, so that this thread sends no request twice."""
        if getattr(self._thread, "answers", None) is not None:
            yield
            return
        self._thread.answers = Answers()
        try:
            yield
        finally:
            self._thread.answers = None

    def count(self) -> int:
        """Return the number of documents."""
        return self.once("documents", self._documents.count)

    def once(self, name: str, ask: Callable[[], _T]) -> _T:
        """Return another answer of the server, which is requested once in a block."""
        return self._answers().once(name, ask)

    def overlap(self, form: Form, hashes: Hashes, candidates: int) -> Overlap:
        """Return documents that share fingerprints, by the same rule as `Postings.overlap`.

        Of more than `candidates` documents the server keeps those that share most; rare fingerprints count more.
        """
        # in the order of the text, as `choose_lists` spreads its choice over it
        _, first = np.unique(hashes, return_index=True)
        query = hashes[np.sort(first)]
        search = self._profile.search
        most = min(POSTINGS_READ, MOST_DOCUMENTS if search.common is None else int(search.common * self.count()))
        frequencies = self.frequencies(form, query)
        chosen = choose_lists(frequencies, keys_of(query), most=most, budget=search.budget, reading=POSTINGS_READ)
        documents = self._sharing(form, query[chosen], candidates)
        counts = self.shared(form, query[chosen], documents)
        # two fingerprints may have the same index of 31 bits: drop documents that share none of the full hashes
        documents, counts = documents[counts > 0], counts[counts > 0]
        sizes = self.sizes(form, documents)
        order = np.lexsort((documents, sizes, -counts))
        looked_up, absent = int(chosen.sum()), int((frequencies == 0).sum())
        too_common = int((frequencies > most).sum())
        return Overlap(
            documents=documents[order],
            shared=self.shared(form, query, documents[order]),
            sizes=sizes[order],
            query=len(query),
            looked_up=looked_up,
            too_common=too_common,
            absent=absent,
            left=len(query) - looked_up - absent - too_common,
            matched=len(documents),
        )

    def shared(self, form: Form, hashes: Hashes, documents: DocumentIds) -> NDArray[np.int32]:
        """Return |Q ∩ D|, [documents]; exact, of all 64 bits."""
        hashes_by_document = self._hashes_of(documents)
        query = np.unique(hashes)
        shared = np.zeros(len(documents), np.int32)
        for at, number in enumerate(documents.tolist()):
            shared[at] = len(np.intersect1d(query, hashes_by_document[number][form], assume_unique=True))
        return shared

    def sizes(self, form: Form, documents: DocumentIds) -> NDArray[np.int32]:
        """Return |D|, [documents]; 0 for an absent document."""
        hashes_by_document = self._hashes_of(documents)
        return np.array([len(hashes_by_document[number][form]) for number in documents.tolist()], np.int32)

    def frequencies(self, form: Form, hashes: Hashes) -> NDArray[np.int64]:
        """Return the number of documents that contain each of these hashes, by the server's statistics.

        It follows from the weight that Qdrant gives a sparse index, idf = ln((n - df + 1/2) / (df + 1/2) + 1), of n
        documents that have the channel. With several shards the weight is that of the shard in which it is rarest.
        """
        answers = self._answers()
        frequencies = answers.frequencies
        unknown = [value for value in np.unique(hashes) if (form, int(value)) not in frequencies]
        for start in range(0, len(unknown), _QUERIES):
            batch = unknown[start : start + _QUERIES]
            # a vector with a single 1: the best document has 1 at that index too, so its score is the weight itself
            best = self._documents.best_points([sparse(np.array([value], np.uint64)) for value in batch], form, 1)
            n = answers.once(form, lambda: self._documents.count(has_form(form), exact=False))
            for value, points in zip(batch, best, strict=True):
                # the weight solved for df; a hash that no document has gives no point, and so 0
                frequencies[form, int(value)] = sum(
                    max(1, round(np.exp(-point.score) * (n + 1) - 0.5)) for point in points
                )
        return np.array([frequencies[form, value] for value in hashes.tolist()], np.int64)

    def owners(self, form: Form, hashes: Hashes) -> OwnerCounts:
        """Return the owners of projects that have each of these hashes; a collection counts as one of many owners."""
        name = f"owners {form} {hashes.tobytes().hex()}"
        return self._answers().once(name, lambda: self._counted_owners(form, hashes))

    def _counted_owners(self, form: Form, hashes: Hashes) -> OwnerCounts:
        frequent = np.flatnonzero(self.frequencies(form, hashes) >= FEWEST_HOLDERS)
        queries = [sparse(hashes[[at]]) for at in frequent]
        answers = self._documents.best_points(queries, form, MOST_HOLDERS) if queries else []
        numbers = list(map(int, map(attrgetter("id"), chain.from_iterable(answers))))
        payloads = self._documents.retrieve(list(set(numbers)), ["origins", "kind", "text"])
        holders = {number: _holder(payload) for number, payload in payloads}
        at = np.repeat(frequent, list(map(len, answers))).astype(np.int64)
        return OwnerCounts.of(len(hashes), at, np.array(numbers, np.int64), holders=holders, every=MOST_OWNERS)

    def _answers(self) -> Answers:
        # outside a block nothing is kept: another writer may change the collection between two searches
        return getattr(self._thread, "answers", None) or Answers()

    def _sharing(self, form: Form, hashes: Hashes, most: int) -> DocumentIds:
        """Return documents with at least one of these fingerprints, as the server ranks them."""
        if not len(hashes):
            return np.zeros(0, np.int64)
        points = self._documents.query(sparse(hashes), using=form, most=most, fields=["hashes"])
        by_document = self._answers().hashes
        for point in points:
            by_document[int(point.id)] = self._unpacked(point.payload or {})
        return np.array(list(map(attrgetter("id"), points)), np.int64)

    def _hashes_of(self, documents: DocumentIds) -> Mapping[int, Mapping[Form, Hashes]]:
        by_document = self._answers().hashes
        unknown = list(filterfalse(by_document.__contains__, documents.tolist()))
        payloads = dict(self._documents.retrieve(unknown, ["hashes"]))
        by_document.update({number: self._unpacked(payloads.get(number, {})) for number in unknown})
        return by_document

    def _unpacked(self, payload: Mapping[str, Any]) -> dict[Form, Hashes]:
        forms = list(map(attrgetter("form"), self._profile.channels))
        return {form: unpack_hashes(payload.get("hashes", {}).get(form, "")) for form in forms}


def _holder(payload: Mapping[str, Any]) -> Holder:
    """Return the owners and places of a document, and whether it is a function that is long enough to count."""
    places = []
    for place in origins_in(payload):
        owner = owner_of(place.source, place.repository, place.author)
        places.append((owner, (place.source, place.path)))
    is_long = payload["kind"] == "function" and len(payload["text"].encode()) >= LEAST_FUNCTION
    return Holder(tuple(places), is_long)
