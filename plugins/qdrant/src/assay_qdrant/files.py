"""The second collection: the description of the index, its calibration, and the files that were read or skipped."""

from collections.abc import Iterable
from dataclasses import asdict
from hashlib import blake2b
from operator import itemgetter
from typing import Any
from uuid import UUID

from qdrant_client import models

from assay.provenance.index import SeenFile, storable
from assay_qdrant.collection import Collection, equal

DESCRIPTION, CALIBRATION = 0, 1
"""Numbers of the points of description and calibration; files have UUIDs."""

_FACTS = ("size", "modified", "digest", "skipped")
"""Fields of a file besides its path; null if unknown."""

_BATCH = 500


class Files:
    """Points with one file each: source, path and the other fields of `SeenFile`."""

    def __init__(self, collection: Collection) -> None:
        self.collection = collection

    def description(self) -> Any:  # noqa: ANN401  JSON, checked by its reader
        """Return the content that `describe` stored; None if there is no index."""
        if not self.collection.exists():
            return None
        for _, payload in self.collection.retrieve([DESCRIPTION], ["description"]):
            return payload.get("description")
        return None

    def describe(self, content: dict[str, Any]) -> None:
        """Store the description of a new index, as the last step: without it there is no index."""
        self.collection.upsert([models.PointStruct(id=DESCRIPTION, vector={}, payload={"description": content})])

    def calibration(self) -> Any:  # noqa: ANN401  JSON, checked by its reader
        """Return the content that `calibrate` stored, or None."""
        for _, payload in self.collection.retrieve([CALIBRATION], ["calibration"]):
            return payload.get("calibration")
        return None

    def calibrate(self, content: dict[str, Any]) -> None:
        """Store a calibration of this index."""
        self.collection.upsert([models.PointStruct(id=CALIBRATION, vector={}, payload={"calibration": content})])

    def mark(self, source: str, files: Iterable[SeenFile]) -> None:
        """Record files; a later row of the same path replaces an earlier one."""
        rows = {storable(file.path): file for file in files}
        name = storable(source)
        points = []
        for path, file in rows.items():
            payload = {**asdict(file), "path": path, "source": name}
            points.append(models.PointStruct(id=_number(name, path), vector={}, payload=payload))
        for start in range(0, len(points), _BATCH):
            self.collection.upsert(points[start : start + _BATCH])

    def seen(self, source: str) -> dict[str, SeenFile]:
        """Return the recorded files of a source, by path."""
        rows = map(itemgetter(1), self.collection.scroll(_of(source, None), ("path", *_FACTS)))
        files = {row["path"]: SeenFile(row["path"], *map(row.get, _FACTS)) for row in rows}
        return dict(sorted(files.items()))

    def doubt(self, source: str, path: str | None) -> None:
        """Mark files as not read."""
        self.collection.set_fields_where(_of(source, path), {"digest": None})

    def forget(self, source: str, path: str | None) -> None:
        """Remove the rows of files."""
        self.collection.delete(_of(source, path))

    def counts(self) -> tuple[int, dict[str, int]]:
        """Return the number of files, and of skipped ones by reason; rows of whole sources are excluded."""
        files = self.collection.count(models.Filter(must=[_HAS_SOURCE], must_not=[equal("path", "")]))
        return files, self.collection.facet("skipped")


_HAS_SOURCE = models.Filter(must_not=[models.IsEmptyCondition(is_empty=models.PayloadField(key="source"))])


def _of(source: str, path: str | None) -> models.Filter:
    conditions: list[models.Condition] = [equal("source", storable(source))]
    if path is not None:
        conditions.append(equal("path", storable(path)))
    return models.Filter(must=conditions)


def _number(source: str, path: str) -> str:
    words = f"{source}\0{path}".encode()
    return str(UUID(bytes=blake2b(words, digest_size=16).digest()))
