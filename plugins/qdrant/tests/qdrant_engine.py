"""The engine of a Qdrant server behind the interface of its client, for tests: `qdrant-edge-py`, without a server.

The engine is the code that a server runs on each shard: segments on the disk, payload indexes, statistics of sparse
vectors, float16, HNSW. What a server adds is not here: REST, shards and replicas.
"""

from functools import singledispatch
from uuid import UUID

import qdrant_edge as edge
from qdrant_client.http import models

UNUSED = "unused"
"""Sparse vector of a collection that has none: the engine wants at least one."""


class EngineClient:
    """The requests that an index makes, answered by shards in a folder, one for each collection."""

    def __init__(self, folder, optimizers=None, graph=None):
        """Use a folder; further arguments are the engine's `EdgeOptimizersConfig` and `HnswIndexConfig`."""
        folder.mkdir(exist_ok=True)
        self._folder = folder
        self._optimizers, self._graph = optimizers, graph
        self.shards = {}

    def close(self):
        for shard in self.shards.values():
            shard.close()
        self.shards.clear()

    def reopen(self):
        """Close all shards, and load them from the disk."""
        names = list(self.shards)
        for name in names:
            self.shards[name].flush()
        self.close()
        for name in names:
            self.shards[name] = edge.EdgeShard.load(str(self._folder / name))

    def collection_exists(self, name):
        return name in self.shards

    def create_collection(self, name, vectors_config, sparse_vectors_config=None, **_):
        self.shards[name] = edge.EdgeShard.create(
            str(self._folder / name),
            edge.EdgeConfig(
                vectors={key: _dense(value) for key, value in vectors_config.items()},
                sparse_vectors={
                    key: _sparse(value)
                    for key, value in (sparse_vectors_config or {UNUSED: models.SparseVectorParams()}).items()
                },
                on_disk_payload=True,
                optimizers=self._optimizers,
                hnsw_config=self._graph,
                max_search_threads=1,
            ),
        )

    def get_collection(self, name):
        info = self.shards[name].info()
        return models.CollectionInfo.model_construct(segments_count=info.segments_count, points_count=info.points_count)

    def create_payload_index(self, name, field, schema, **_):
        if isinstance(schema, models.IntegerIndexParams):
            translated = edge.IntegerIndexParams(lookup=schema.lookup, range=schema.range, on_disk=schema.on_disk)
        else:
            translated = edge.KeywordIndexParams(on_disk=getattr(schema, "on_disk", None))
        self._update(name, edge.UpdateOperation.create_field_index(field, translated))

    def upsert(self, name, points, **_):
        translated = [edge.Point(point.id, _vectors(point.vector), point.payload) for point in points]
        self._update(name, edge.UpdateOperation.upsert_points(translated))

    def set_payload(self, name, payload, points, **_):
        if isinstance(points, models.Filter):
            self._update(name, edge.UpdateOperation.set_payload_by_filter(_condition(points), payload))
        else:
            self._update(name, edge.UpdateOperation.set_payload(points, payload))

    def batch_update_points(self, name, operations, **_):
        for operation in operations:
            self.set_payload(name, operation.set_payload.payload, operation.set_payload.points)

    def delete(self, name, which, **_):
        if isinstance(which, models.Filter):
            self._update(name, edge.UpdateOperation.delete_points_by_filter(_condition(which)))
        else:
            self._update(name, edge.UpdateOperation.delete_points(which))

    def retrieve(self, name, ids, with_payload):
        return [_record(point) for point in self.shards[name].retrieve(ids, with_payload, False)]

    def scroll(self, name, where, limit, offset, with_payload, with_vectors):
        request = edge.ScrollRequest(
            offset=offset, limit=limit, filter=_condition(where), with_payload=with_payload, with_vector=with_vectors
        )
        points, following = self.shards[name].scroll(request)
        return [_record(point) for point in points], following

    def count(self, name, where=None, *, exact=True):
        return models.CountResult(count=self.shards[name].count(edge.CountRequest(exact, _condition(where))))

    def facet(self, name, key, limit, exact):
        hits = self.shards[name].facet(edge.FacetRequest(key, limit, exact)).hits
        return models.FacetResponse(hits=[models.FacetValueHit(value=hit.value, count=hit.count) for hit in hits])

    def query_points(self, name, query, using, limit, with_payload, search_params=None):
        request = _query(query, using, limit, with_payload, search_params)
        return models.QueryResponse(points=[_scored(point) for point in self.shards[name].query(request)])

    def query_batch_points(self, name, requests):
        queries = [_query(entry.query, entry.using, entry.limit, False, None) for entry in requests]
        answers = self.shards[name].query_batch(edge.QueryBatchRequest(queries))
        return [models.QueryResponse(points=[_scored(point) for point in points]) for points in answers]

    def _update(self, name, operation):
        self.shards[name].update(operation)


def _dense(params):
    several = params.multivector_config
    return edge.EdgeVectorParams(
        params.size,
        {models.Distance.COSINE: edge.Distance.Cosine}[params.distance],
        on_disk=params.on_disk,
        datatype={models.Datatype.FLOAT16: edge.VectorStorageDatatype.Float16}[params.datatype],
        multivector_config=several and edge.MultiVectorConfig(edge.MultiVectorComparator.MaxSim),
    )


def _sparse(params):
    return edge.EdgeSparseVectorParams(
        on_disk=params.index and params.index.on_disk,
        datatype=params.index and {models.Datatype.UINT8: edge.VectorStorageDatatype.Uint8}[params.index.datatype],
        modifier=params.modifier and {models.Modifier.IDF: edge.Modifier.Idf}[params.modifier],
    )


def _vectors(vectors):
    return {
        key: edge.SparseVector(value.indices, value.values) if isinstance(value, models.SparseVector) else value
        for key, value in vectors.items()
    }


def _query(query, using, limit, with_payload, params):
    vector = edge.SparseVector(query.indices, query.values) if isinstance(query, models.SparseVector) else query
    return edge.QueryRequest(
        limit,
        query=edge.Query.Nearest(vector, using=using),
        with_payload=with_payload,
        params=params and edge.SearchParams(hnsw_ef=params.hnsw_ef),
    )


@singledispatch
def _condition(condition):
    assert condition is None, f"not translated for the engine: {condition!r}"


@_condition.register
def _(condition: models.Filter):
    return edge.Filter(
        must=[_condition(entry) for entry in condition.must or ()],
        must_not=[_condition(entry) for entry in condition.must_not or ()],
    )


@_condition.register
def _(condition: models.FieldCondition):
    return edge.FieldCondition(condition.key, match=edge.MatchValue(condition.match.value))


@_condition.register
def _(condition: models.NestedCondition):
    return edge.NestedCondition(condition.nested.key, _condition(condition.nested.filter))


@_condition.register
def _(condition: models.HasVectorCondition):
    return edge.HasVectorCondition(condition.has_vector)


@_condition.register
def _(condition: models.IsEmptyCondition):
    return edge.IsEmptyCondition(condition.is_empty.key)


def _number(number):
    return str(number) if isinstance(number, UUID) else number


def _record(point):
    return models.Record(id=_number(point.id), payload=point.payload)


def _scored(point):
    return models.ScoredPoint(id=_number(point.id), version=point.version, score=point.score, payload=point.payload)
