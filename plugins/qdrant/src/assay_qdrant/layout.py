"""The two collections of an index: their creation, and filters for documents."""

from itertools import repeat
from operator import attrgetter

from qdrant_client import models

from assay.errors import CorpusIndexError
from assay.retrieval import ManyVectors, Profile
from assay.types import Encoder
from assay_qdrant.collection import Collection, equal
from assay_qdrant.connection import Address
from assay_qdrant.points import VECTOR

FILES = "-files"
"""Suffix of the name of the second collection."""

_NEAREST = models.MultiVectorConfig(comparator=models.MultiVectorComparator.MAX_SIM)
"""Of several vectors of a document the nearest counts."""
_KEYWORD = models.KeywordIndexParams(type=models.KeywordIndexType.KEYWORD, on_disk=True)
_NUMBER = models.IntegerIndexParams(type=models.IntegerIndexType.INTEGER, lookup=True, range=False)


def make_collections(
    documents: Collection, files: Collection, address: Address, profile: Profile, encoder: Encoder | None
) -> None:
    """Create two empty collections, or complete those that a killed process left empty.

    Raises:
        CorpusIndexError: the server has collections of these names that are not empty.
    """
    for collection in (documents, files):
        if collection.exists() and collection.count():
            raise CorpusIndexError(
                f"{address.text}: collection {collection.name!r} is not empty; expected a new name for an index"
            )
    forms = list(map(attrgetter("form"), profile.channels))
    dense = {}
    if encoder is not None:
        dense[VECTOR] = models.VectorParams(
            size=encoder.dimensions,
            distance=models.Distance.COSINE,
            on_disk=True,
            datatype=models.Datatype.FLOAT16,
            multivector_config=_NEAREST if isinstance(encoder, ManyVectors) else None,
        )
    of_form = models.SparseVectorParams(
        index=models.SparseIndexParams(on_disk=True, datatype=models.Datatype.UINT8), modifier=models.Modifier.IDF
    )
    if not documents.exists():
        documents.calls(
            lambda client: client.create_collection(
                documents.name,
                vectors_config=dense,
                sparse_vectors_config=dict.fromkeys(forms, of_form),
                shard_number=address.shards,
                replication_factor=address.replicas,
                on_disk_payload=True,
            )
        )
    if not files.exists():
        files.calls(
            lambda client: client.create_collection(
                files.name, vectors_config={}, replication_factor=address.replicas, on_disk_payload=True
            )
        )
    words = ("language", "origins[].source", "origins[].path", "origins[].licence", "origins[].repository")
    numbers = ("places", *map("sizes.{}".format, forms))
    documents.index_fields([*zip(words, repeat(_KEYWORD)), *zip(numbers, repeat(_NUMBER))])
    files.index_fields([("source", _KEYWORD), ("path", _KEYWORD), ("skipped", _KEYWORD)])


def has_form(form: str) -> models.Filter:
    """Return the filter for documents that are long enough for a channel."""
    return models.Filter(must=[models.HasVectorCondition(has_vector=form)])


def originating_in(source: str, path: str | None) -> models.Filter:
    """Return the filter for documents with an origin in a source, or in one file of it."""
    conditions = [equal("source", source)]
    if path is not None:
        conditions.append(equal("path", path))
    # nested, so that source and path are those of one origin and not of two of the same document
    return models.Filter(
        must=[models.NestedCondition(nested=models.Nested(key="origins", filter=models.Filter(must=list(conditions))))]
    )
