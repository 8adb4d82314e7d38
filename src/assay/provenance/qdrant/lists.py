"""Fingerprints of a query against a collection: which are looked up, who has them, and exactly how many."""

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from assay.provenance.qdrant.collection import Collection
from assay.provenance.qdrant.layout import has_form
from assay.provenance.qdrant.points import sparse, unpacked
from assay.retrieval import MOST_DOCUMENTS, READING, Form, Hashes, Ids, Overlap, Profile, choose, keys_of

T = TypeVar("T")

QUERIES = 500
"""Frequencies that one request asks for."""


@dataclass(slots=True)
class Answers:
    """What the server said already."""

    values: dict[str, Any] = field(default_factory=dict)
    frequencies: dict[tuple[str, int], int] = field(default_factory=dict)
    hashes: dict[int, Mapping[Form, Hashes]] = field(default_factory=dict)

    def once(self, name: str, ask: Callable[[], T]) -> T:
        """What was asked for under a name, asked for once."""
        if name not in self.values:
            self.values[name] = ask()
        found: T = self.values[name]
        return found


class Lists:
    """The fingerprints of a collection's documents."""

    def __init__(self, documents: Collection, profile: Profile) -> None:
        self._documents = documents
        self._profile = profile
        self._thread = threading.local()

    @contextmanager
    def remembered(self) -> Iterator[None]:
        """Inside this block a thread asks nothing twice."""
        if getattr(self._thread, "answers", None) is not None:
            yield
            return
        self._thread.answers = Answers()
        try:
            yield
        finally:
            self._thread.answers = None

    def count(self) -> int:
        """Documents."""
        return self.once("documents", self._documents.count)

    def once(self, name: str, ask: Callable[[], T]) -> T:
        """What else the server is asked for, once in a block."""
        return self._answers().once(name, ask)

    def overlap(self, form: Form, hashes: Hashes, candidates: int) -> Overlap:
        """See `Postings.overlap`: the same rule chooses what is looked up.

        Of more than `candidates` documents the server keeps those that share most, rare fingerprints counting more.
        """
        _, first = np.unique(hashes, return_index=True)
        query = hashes[np.sort(first)]
        search = self._profile.search
        most = min(READING, MOST_DOCUMENTS if search.common is None else int(search.common * self.count()))
        frequencies = self.frequencies(form, query)
        chosen = choose(frequencies, keys_of(query), most=most, budget=search.budget, reading=READING)
        documents = self._sharing(form, query[chosen], candidates)
        counts = self.shared(form, query[chosen], documents)
        # an index of 32 bits may stand for another fingerprint
        documents, counts = documents[counts > 0], counts[counts > 0]
        sizes = self.sizes(form, documents)
        order = np.lexsort((documents, sizes, -counts))
        looked_up, absent, too_common = (int(one.sum()) for one in (chosen, frequencies == 0, frequencies > most))
        return Overlap(
            documents=documents[order],
            shared=self.shared(form, query, documents[order]),
            sizes=sizes[order],
            query=len(query),
            looked_up=looked_up,
            too_common=too_common,
            absent=absent,
            left=len(query) - looked_up - absent - too_common,
            found=len(documents),
        )

    def shared(self, form: Form, hashes: Hashes, documents: Ids) -> NDArray[np.int32]:
        """|Q ∩ D|, [documents]; exact, of all 64 bits."""
        held = self._held(documents)
        query = np.unique(hashes)
        shared = [len(np.intersect1d(query, held[one][form], assume_unique=True)) for one in documents.tolist()]
        return np.array(shared, np.int32)

    def sizes(self, form: Form, documents: Ids) -> NDArray[np.int32]:
        """|D|, [documents]; 0 for one that is not there."""
        held = self._held(documents)
        return np.array([len(held[one][form]) for one in documents.tolist()], np.int32)

    def frequencies(self, form: Form, hashes: Hashes) -> NDArray[np.int64]:
        """In how many documents each of these hashes stands, as the server's statistics have it.

        From the weight that Qdrant gives a sparse index, idf = ln((n - df + 1/2) / (df + 1/2) + 1), of n documents that
        have the channel. Of several shards the weight is that of the one where it is rarest.
        """
        answers = self._answers()
        known = answers.frequencies
        unknown = [one for one in np.unique(hashes) if (form, int(one)) not in known]
        for start in range(0, len(unknown), QUERIES):
            some = unknown[start : start + QUERIES]
            # the best document has 1 at that index, so its score is the weight itself
            scores = self._documents.best_scores([sparse(np.array([one], np.uint64)) for one in some], form)
            n = answers.once(form, lambda: self._documents.count(has_form(form), exact=False))
            for one, score in zip(some, scores, strict=True):
                known[form, int(one)] = 0 if score is None else max(1, round(np.exp(-score) * (n + 1) - 0.5))
        return np.array([known[form, one] for one in hashes.tolist()], np.int64)

    def _answers(self) -> Answers:
        remembered: Answers | None = getattr(self._thread, "answers", None)
        return Answers() if remembered is None else remembered

    def _sharing(self, form: Form, hashes: Hashes, most: int) -> Ids:
        """Documents with at least one of these fingerprints, as the server ranks them."""
        if not len(hashes):
            return np.zeros(0, np.int64)
        found = self._documents.query(sparse(hashes), form, most, ["hashes"])
        held = self._answers().hashes
        for one in found:
            held[int(one.id)] = self._unpacked(one.payload or {})
        return np.array([one.id for one in found], np.int64)

    def _held(self, documents: Ids) -> Mapping[int, Mapping[Form, Hashes]]:
        held = self._answers().hashes
        unknown = [one for one in documents.tolist() if one not in held]
        found = dict(self._documents.retrieve(unknown, ["hashes"])) if unknown else {}
        held.update({one: self._unpacked(found.get(one, {})) for one in unknown})
        return held

    def _unpacked(self, payload: Mapping[str, Any]) -> dict[Form, Hashes]:
        forms = [channel.form for channel in self._profile.channels]
        return {form: unpacked(payload.get("hashes", {}).get(form, "")) for form in forms}
