"""Reading with a Ray cluster: the pure function of `assay.provenance.reading` in Ray Data. Needs the extra `ray`.

The workers open the paths that the writer sends, so a path must name the same file on every node, as on a shared file
system. Content that has no path of its own, such as a member of an archive, is sent with the task.
"""

import gc
import logging
import os
import pickle
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from functools import cache, partial
from itertools import islice
from typing import Any, Self

import ray
import ray.data
from ray.exceptions import RayError

from assay.errors import DataError
from assay.provenance.reading import FileRead, IndexSettings, read_entries
from assay.provenance.workers import ReadTask, batches_of, crashing, in_batch_order, to_read
from assay.retrieval import open_encoder
from assay.types import Encoder

LOCAL = "local"
"""Instead of an address: a new cluster on this machine that ends with the build."""

_ATTEMPTS = 3
"""Workers that may die while they read a batch; then its files are read one by one."""

_AHEAD = 8
"""Batches in progress for each core of the cluster."""

_Row = dict[str, Any]


class RayReaders:
    """Workers of a Ray cluster that read, and encode if an encoder is named; see `ProcessReaders`."""

    def __init__(
        self, settings: IndexSettings, address: str = LOCAL, encoder: str | None = None, *, jobs: int | None = None
    ) -> None:
        """Store the settings; entering the context connects to the cluster.

        Args:
            settings: how a file becomes documents.
            address: "local", "auto" for the cluster that this machine belongs to, HOST:PORT, or ray://HOST:PORT. If
                this process is connected already, that cluster is used.
            encoder: name of an encoder.
            jobs: batches that are read at a time; None: one for each core.
        """
        self._settings = settings
        self._address = address
        self._encoder = encoder
        self._jobs = jobs
        self._open = ExitStack()

    def __enter__(self) -> Self:
        if not ray.is_initialized():
            _connect(self._address, self._jobs)
            self._open.callback(ray.shutdown)
        logger = logging.getLogger("ray.data")
        self._open.callback(logger.setLevel, logger.level)
        logger.setLevel(logging.ERROR)
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def read(self, tasks: Iterable[ReadTask | FileRead]) -> Iterator[list[FileRead]]:
        """Yield the results of the tasks, in order, in batches; a `FileRead` among the tasks is passed on.

        Raises:
            DataError: the connection to the cluster was lost.
        """
        batches = batches_of(tasks)
        # a window at a time: Ray Data would otherwise hold the whole corpus before it starts
        window = _AHEAD * max(1, _cores())
        while group := list(islice(batches, window)):
            results = self._read([unread for batch in group if (unread := to_read(batch))])
            for batch in group:
                yield in_batch_order(batch, next(results) if to_read(batch) else [])

    def _read(self, batches: Sequence[Sequence[ReadTask]]) -> Iterator[list[FileRead]]:
        """Yield the result of each batch, in order, even if workers die."""
        if not batches:
            return
        rows = [{"number": number, "work": pickle.dumps(list(batch))} for number, batch in enumerate(batches)]
        read = partial(
            _read_row,
            begun=_remote(_Begun, num_cpus=0).remote(),
            attempts=_ATTEMPTS,
            settings=self._settings,
            encoder=self._encoder,
        )
        data = ray.data.from_items(rows, override_num_blocks=len(rows)).map(
            read, compute=ray.data.TaskPoolStrategy(self._jobs), num_cpus=1
        )
        data.context.execution_options.preserve_order = True
        data.context.enable_progress_bars = False
        data.context.print_on_execution_start = False
        try:
            for row, batch in zip(data.iter_rows(), batches, strict=True):
                # no stranger's pickle: our own workers wrote it; empty means that the batch kills its workers
                yield pickle.loads(row["read"]) if row["read"] else self._one_by_one(batch)  # noqa: S301
        except RayError as error:
            first = next(iter(str(error).splitlines()), type(error).__name__)
            raise DataError(f"--ray {self._address}: the connection to the cluster was lost: {first}") from error

    def _one_by_one(self, batch: Sequence[ReadTask]) -> list[FileRead]:
        """Read each file of a batch alone, to find the one that crashes its worker."""
        read = _remote(_read_alone, num_cpus=1, max_retries=0)
        results: list[FileRead] = []
        for task in batch:
            try:
                results += pickle.loads(ray.get(read.remote(task, self._settings, self._encoder)))  # noqa: S301  as above
            except ray.exceptions.WorkerCrashedError:
                results.append(crashing(task, self._settings))
        return results


class _Begun:
    """Count of the starts of each batch, kept in a process of its own, so that it survives the workers."""

    def __init__(self) -> None:
        self._times: Counter[int] = Counter()

    def times(self, number: int) -> int:
        self._times[number] += 1
        return self._times[number]


def _read_row(row: _Row, *, begun: Any, attempts: int, settings: IndexSettings, encoder: str | None) -> _Row:  # noqa: ANN401  Ray's handle
    # Ray gives a batch that kills its worker to the next worker, without end: one file would stop the build
    if ray.get(begun.times.remote(row["number"])) > attempts:
        return {"read": b""}
    return {"read": _pickled(pickle.loads(row["work"]), settings, encoder)}  # noqa: S301  of our own writer


def _read_alone(task: ReadTask, settings: IndexSettings, encoder: str | None) -> bytes:
    return _pickled([task], settings, encoder)


def _pickled(tasks: Sequence[ReadTask], settings: IndexSettings, encoder: str | None) -> bytes:
    # a syntax tree is many objects without cycles: the search for cycles among them would take as long as parsing
    gc.disable()
    try:
        return pickle.dumps(read_entries(tasks, settings, _opened(encoder) if encoder else None))
    finally:
        gc.enable()


@cache
def _opened(encoder: str) -> Encoder:
    """Open an encoder, once in each worker."""
    return open_encoder(encoder)


def _connect(address: str, jobs: int | None) -> None:
    # without this Ray sends usage statistics to its makers
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    options: dict[str, Any] = {"log_to_driver": False, "logging_level": "error"}
    if address == LOCAL:
        options |= {"include_dashboard": False, "num_cpus": jobs}
    try:
        ray.init(address=address, **options)
    except (ConnectionError, ValueError, RuntimeError, RayError) as error:
        first = next(iter(str(error).splitlines()), type(error).__name__)
        raise DataError(f"--ray {address}: no Ray cluster answers there: {first}") from error


def _cores() -> int:
    resources: dict[str, float] = ray.cluster_resources()  # type: ignore[no-untyped-call]  # typed in part only
    return int(resources.get("CPU", 1))


def _remote(what: Any, **options: Any) -> Any:  # noqa: ANN401  a function or class, as Ray wraps it
    decorator: Any = ray.remote(**options)
    return decorator(what)
