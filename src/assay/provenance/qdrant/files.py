"""The second collection: what the index was made with, and the files that were read or skipped."""

from collections.abc import Iterable
from dataclasses import asdict
from hashlib import blake2b
from typing import Any
from uuid import UUID

from qdrant_client import models

from assay.provenance.qdrant.collection import Collection, equal
from assay.provenance.stored import SeenFile, storable

DESCRIPTION, CALIBRATION = 0, 1
"""Numbers of the points that say what the index was made with and what was measured on it; files have UUIDs."""

FACTS = ("size", "modified", "digest", "skipped")
"""Of a file, beside its path; null where not known."""
BATCH = 500


class Files:
    """A point a file: source, path and what else `SeenFile` has."""

    def __init__(self, collection: Collection) -> None:
        self.collection = collection

    def description(self) -> Any:  # noqa: ANN401  JSON, checked by its reader
        """What `describe` wrote; None where there is no index."""
        if not self.collection.exists():
            return None
        for _, payload in self.collection.retrieve([DESCRIPTION], ["description"]):
            return payload.get("description")
        return None

    def describe(self, content: dict[str, Any]) -> None:
        """Write down what the index was made with; this comes last, and makes it one."""
        self.collection.upsert([models.PointStruct(id=DESCRIPTION, vector={}, payload={"description": content})])

    def calibration(self) -> Any:  # noqa: ANN401  JSON, checked by its reader
        """What `calibrate` wrote; None where nothing was measured on this index."""
        for _, payload in self.collection.retrieve([CALIBRATION], ["calibration"]):
            return payload.get("calibration")
        return None

    def calibrate(self, content: dict[str, Any]) -> None:
        """Keep what was measured on this index."""
        self.collection.upsert([models.PointStruct(id=CALIBRATION, vector={}, payload={"calibration": content})])

    def mark(self, source: str, files: Iterable[SeenFile]) -> None:
        """Remember files; the last word on a path counts."""
        rows = {storable(one.path): one for one in files}
        points = [
            models.PointStruct(
                id=_number(storable(source), path),
                vector={},
                payload={**asdict(one), "path": path, "source": storable(source)},
            )
            for path, one in rows.items()
        ]
        for start in range(0, len(points), BATCH):
            self.collection.upsert(points[start : start + BATCH])

    def seen(self, source: str) -> dict[str, SeenFile]:
        """The files of a source, by path."""
        rows = (payload for _, payload in self.collection.scroll(_of(source, None), ("path", *FACTS)))
        found = {row["path"]: SeenFile(row["path"], *map(row.get, FACTS)) for row in rows}
        return dict(sorted(found.items()))

    def doubt(self, source: str, path: str | None) -> None:
        """Remember files as not read."""
        self.collection.set_fields_where(_of(source, path), {"digest": None})

    def forget(self, source: str, path: str | None) -> None:
        """Remember files no more."""
        self.collection.delete(_of(source, path))

    def counts(self) -> tuple[int, dict[str, int]]:
        """Files, and how many of them were skipped by reason. An empty path stands for a source itself."""
        files = self.collection.count(models.Filter(must=[_HAS_SOURCE], must_not=[equal("path", "")]))
        return files, self.collection.facet("skipped")


_HAS_SOURCE = models.Filter(must_not=[models.IsEmptyCondition(is_empty=models.PayloadField(key="source"))])


def _of(source: str, path: str | None) -> models.Filter:
    conditions = [equal("source", storable(source)), *([] if path is None else [equal("path", storable(path))])]
    return models.Filter(must=list(conditions))


def _number(source: str, path: str) -> str:
    words = f"{source}\0{path}".encode()
    return str(UUID(bytes=blake2b(words, digest_size=16).digest()))
