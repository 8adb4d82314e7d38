"""Batches of documents that both kinds of index add, with fingerprints and vectors that exist already."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice

from assay.provenance.document import Document
from assay.retrieval import Form, Hashes
from assay.types import Float32Array

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
