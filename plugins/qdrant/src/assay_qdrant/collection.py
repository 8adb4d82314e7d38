"""Requests of an index to one collection of a server, repeated as `Calls` does."""

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from operator import attrgetter
from typing import Any

from qdrant_client import QdrantClient, models

from assay_qdrant.connection import Calls

PAGE = 256
"""Points that one request reads."""

EF_SEARCH = 1 << 10
"""`ef_search` of HNSW: candidates that a search of the server's graph keeps. Fragments differ from the functions in the
graph: with the usual 64 a quarter of the nearest documents is missed."""

MOST_VALUES = 100_000
"""Different values in a count by value."""


class Collection:
    """Points of one collection: read, searched, counted and changed."""

    def __init__(self, calls: Calls, name: str) -> None:
        self.calls = calls
        self.name = name

    def exists(self) -> bool:
        """Return True if the server has the collection."""
        return self.calls(lambda client: client.collection_exists(self.name))

    def count(self, where: models.Filter | None = None, *, exact: bool = True) -> int:
        """Return the number of points, or of those that match a filter."""
        return self.calls(lambda client: client.count(self.name, where, exact=exact)).count

    def retrieve(self, ids: Sequence[int | str], fields: Sequence[str]) -> Iterator[tuple[Any, dict[str, Any]]]:
        """Yield number and fields of the points that exist, in any order."""
        # pages by number, because a server limits the size of a request and of its answer
        for start in range(0, len(ids), PAGE):
            page = list(ids[start : start + PAGE])
            yield from numbered_payloads(self.calls(_retrieving(self.name, page, fields)))

    def page(self, where: models.Filter | None, fields: Sequence[str]) -> list[tuple[Any, dict[str, Any]]]:
        """Return the first points that match a filter."""
        points, _ = self.calls(_scrolling(self.name, where, fields, offset=None))
        return list(numbered_payloads(points))

    def scroll(self, where: models.Filter | None, fields: Sequence[str]) -> Iterator[tuple[Any, dict[str, Any]]]:
        """Yield all points that match a filter, page by page."""
        offset: Any = None
        while True:
            points, offset = self.calls(_scrolling(self.name, where, fields, offset=offset))
            yield from numbered_payloads(points)
            if offset is None:
                return

    def facet(self, field: str) -> dict[Any, int]:
        """Return the number of points by value of an indexed field, the most frequent first."""
        facet = self.calls(lambda client: client.facet(self.name, field, limit=MOST_VALUES, exact=True))
        return dict(map(attrgetter("value", "count"), facet.hits))

    def query(
        self,
        query: "list[float] | models.SparseVector",
        using: str,
        most: int,
        fields: Sequence[str] = (),
        *,
        exact: bool = False,
    ) -> list[models.ScoredPoint]:
        """Return the points whose vectors of one name are nearest, best first.

        For dense vectors the server's graph is searched with `EF_SEARCH`, or all of them are compared if `exact`.
        """
        return self.calls(
            lambda client: client.query_points(
                self.name,
                query,
                using=using,
                limit=most,
                with_payload=list(fields) or False,
                search_params=models.SearchParams(hnsw_ef=EF_SEARCH, exact=exact) if isinstance(query, list) else None,
            )
        ).points

    def best_points(
        self, queries: Sequence[models.SparseVector], using: str, most: int
    ) -> list[list[models.ScoredPoint]]:
        """Return for each query the nearest points, without their payloads."""
        requests = [models.QueryRequest(query=query, using=using, limit=most, with_payload=False) for query in queries]
        return list(
            map(attrgetter("points"), self.calls(lambda client: client.query_batch_points(self.name, requests)))
        )

    def upsert(self, points: Sequence[models.PointStruct]) -> None:
        """Store points; those of the same numbers are replaced."""
        self.calls(lambda client: client.upsert(self.name, list(points), wait=True))

    def set_fields(self, changes: Mapping[int, Mapping[str, Any]]) -> None:
        """Change fields of points; other fields stay."""
        operations: list[Any] = [
            models.SetPayloadOperation(set_payload=models.SetPayload(payload=dict(fields), points=[number]))
            for number, fields in changes.items()
        ]
        if operations:
            self.calls(lambda client: client.batch_update_points(self.name, operations, wait=True))

    def set_fields_where(self, where: models.Filter, fields: Mapping[str, Any]) -> None:
        """Change fields of all points that match a filter."""
        self.calls(lambda client: client.set_payload(self.name, dict(fields), where, wait=True))

    def delete(self, which: "Sequence[int] | models.Filter") -> None:
        """Delete points by number or by filter."""
        selector: Any = which if isinstance(which, models.Filter) else list(which)
        self.calls(lambda client: client.delete(self.name, selector, wait=True))

    def index_fields(self, fields: Iterable[tuple[str, Any]]) -> None:
        """Create indexes of fields on the server."""
        with warnings.catch_warnings():
            # the local mode filters without indexes, and warns about it
            warnings.filterwarnings("ignore", message="Payload indexes have no effect", category=UserWarning)
            for field, schema in fields:
                self.calls(_indexing(self.name, field, schema))


def equal(field: str, value: str) -> models.FieldCondition:
    """Return the condition that a field has a value."""
    return models.FieldCondition(key=field, match=models.MatchValue(value=value))


# functions that make requests: a lambda in a loop would see the values of the next iteration when it is repeated


def _retrieving(
    name: str, ids: list[int | str], fields: Sequence[str]
) -> Callable[[QdrantClient], list[models.Record]]:
    return lambda client: client.retrieve(name, ids, with_payload=list(fields) or False)


def numbered_payloads(points: Iterable[Any]) -> Iterator[tuple[Any, dict[str, Any]]]:
    """Yield number and fields of each point."""
    for point in points:
        yield point.id, point.payload or {}


def _scrolling(
    name: str,
    where: models.Filter | None,
    fields: Sequence[str],
    offset: Any,  # noqa: ANN401  opaque, from the server
) -> Callable[[QdrantClient], tuple[list[models.Record], Any]]:
    return lambda client: client.scroll(
        name, where, limit=PAGE, offset=offset, with_payload=list(fields) or False, with_vectors=False
    )


def _indexing(name: str, field: str, schema: Any) -> Callable[[QdrantClient], object]:  # noqa: ANN401  one of a dozen
    return lambda client: client.create_payload_index(name, field, schema, wait=True)
