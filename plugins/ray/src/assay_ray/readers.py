"""Reading with a Ray cluster: the pure function `read_entries` of `assay.provenance.index` in Ray Data.

The workers open the paths that the writer sends, so a path must name the same file on every node, as on a shared file
system. Content that has no path of its own, such as a member of an archive, is sent with the task.
"""

import gc
import pickle
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, partial
from itertools import islice
from typing import Self

from assay.provenance.index import (
    FileRead,
    IndexSettings,
    ReadTask,
    batches_of,
    crashing,
    in_batch_order,
    read_entries,
    to_read,
)
from assay.retrieval import open_encoder
from assay.types import Encoder
from assay_ray.cluster import BytesFunction, RayCluster

_AHEAD = 8
"""Batches or files in progress for each core of the cluster."""


class RayReaders:
    """Workers of a Ray cluster that read, and encode if an encoder is named; see `ProcessReaders`."""

    def __init__(
        self, settings: IndexSettings, address: str = "", encoder: str | None = None, *, jobs: int | None = None
    ) -> None:
        """Store the settings; entering the context connects to the cluster.

        Args:
            settings: how a file becomes documents.
            address: see `RayCluster`.
            encoder: name of an encoder.
            jobs: batches that are read at a time; None: one for each core.
        """
        self._settings = settings
        self._cluster = RayCluster(address, jobs=jobs)
        self._function = partial(_read, settings=settings, encoder=encoder)

    def __enter__(self) -> Self:
        self._cluster.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._cluster.__exit__()

    def read(self, tasks: Iterable[ReadTask | FileRead]) -> Iterator[list[FileRead]]:
        """Yield the results of the tasks, in order, in batches; a `FileRead` among the tasks is passed on.

        Raises:
            DataError: the connection to the cluster was lost.
        """
        batches = batches_of(tasks)
        while group := list(islice(batches, self._window)):
            results = self._read([unread for batch in group if (unread := to_read(batch))])
            for batch in group:
                yield in_batch_order(batch, next(results) if to_read(batch) else [])

    def each(self, function: BytesFunction, tasks: Iterable[bytes]) -> Iterator[bytes | None]:
        """Yield the result of a function for each task, in order; None for a task that ends its workers.

        Raises:
            DataError: the connection to the cluster was lost, or the function raised.
        """
        remaining = iter(tasks)
        while group := list(islice(remaining, self._window)):
            yield from self._cluster.each(function, group)

    @property
    def _window(self) -> int:
        # a window at a time: Ray Data would otherwise hold the whole corpus before it starts
        return _AHEAD * max(1, int(self._cluster.resources.get("CPU", 1)))

    def _read(self, batches: Sequence[Sequence[ReadTask]]) -> Iterator[list[FileRead]]:
        """Yield the result of each batch, in order, even if workers die."""
        results = self._cluster.each(self._function, [pickle.dumps(list(batch)) for batch in batches])
        for result, batch in zip(results, batches, strict=True):
            # no stranger's pickle: our own workers wrote it; None means that the batch kills its workers
            yield self._one_by_one(batch) if result is None else pickle.loads(result)  # noqa: S301

    def _one_by_one(self, batch: Sequence[ReadTask]) -> list[FileRead]:
        """Read each file of a batch alone, to find the one that crashes its worker."""
        results: list[FileRead] = []
        for task in batch:
            result = self._cluster.alone(self._function, pickle.dumps([task]))
            results += [crashing(task, self._settings)] if result is None else pickle.loads(result)  # noqa: S301  above
        return results


def _read(batch: bytes, *, settings: IndexSettings, encoder: str | None) -> bytes:
    # a syntax tree is many objects without cycles: the search for cycles among them would take as long as parsing
    gc.disable()
    try:
        tasks = pickle.loads(batch)  # noqa: S301  of our own writer
        return pickle.dumps(read_entries(tasks, settings, _opened(encoder) if encoder else None))
    finally:
        gc.enable()


@cache
def _opened(encoder: str) -> Encoder:
    """Open an encoder, once in each worker."""
    return open_encoder(encoder)
