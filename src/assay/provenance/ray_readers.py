"""Files read by a Ray cluster: the pure function of `assay.provenance.reading`, in Ray Data. Needs the extra `ray`.

The workers read what the writer names: paths of plain files have to mean the same on every node, as on a shared file
system. What an archive, a repository or a stream holds travels with the request where it is no path.
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
from assay.provenance.reading import FileRead, Settings, read_entries
from assay.provenance.workers import Work, batches_of, crashing, in_order, to_read
from assay.retrieval import open_encoder
from assay.types import Encoder

LOCAL = "local"
"""In place of an address: a cluster of this machine's own, for as long as the build lasts."""

ATTEMPTS = 3
"""Workers that a batch is given to while they die of it or beside it; then its files are read one by one."""

AHEAD = 8
"""Batches under way for each core of the cluster."""

Row = dict[str, Any]


class RayReaders:
    """Workers of a Ray cluster that read, and encode where an encoder is named; see `Readers`."""

    def __init__(
        self, settings: Settings, address: str = LOCAL, encoder: str | None = None, *, jobs: int | None = None
    ) -> None:
        """Nothing is connected to yet.

        Args:
            settings: how a file becomes documents.
            address: "local", "auto" for the cluster that this machine belongs to, HOST:PORT, or ray://HOST:PORT. Where
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

    def read(self, work: Iterable[Work | FileRead]) -> Iterator[list[FileRead]]:
        """What was read of each piece of work, in its order, in batches; a `FileRead` among the work passes through.

        Raises:
            DataError: the cluster is gone.
        """
        batches = batches_of(work)
        window = AHEAD * max(1, _cores())
        while some := list(islice(batches, window)):
            answers = self._read([mine for batch in some if (mine := to_read(batch))])
            for batch in some:
                yield in_order(batch, next(answers) if to_read(batch) else [])

    def _read(self, batches: Sequence[Sequence[Work]]) -> Iterator[list[FileRead]]:
        """Each batch, in order, whatever becomes of the workers."""
        if not batches:
            return
        rows = [{"number": number, "work": pickle.dumps(list(batch))} for number, batch in enumerate(batches)]
        read = partial(
            _read_row,
            begun=_remote(_Begun, num_cpus=0).remote(),
            attempts=ATTEMPTS,
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
                # our own workers have pickled it
                yield pickle.loads(row["read"]) if row["read"] else self._one_by_one(batch)  # noqa: S301
        except RayError as error:
            first = next(iter(str(error).splitlines()), type(error).__name__)
            raise DataError(f"--ray {self._address}: the cluster is gone: {first}") from error

    def _one_by_one(self, batch: Sequence[Work]) -> list[FileRead]:
        """Which file of a batch takes its worker down?"""
        read = _remote(_read_alone, num_cpus=1, max_retries=0)
        found: list[FileRead] = []
        for one in batch:
            try:
                found += pickle.loads(ray.get(read.remote(one, self._settings, self._encoder)))  # noqa: S301  as above
            except ray.exceptions.WorkerCrashedError:
                found.append(crashing(one, self._settings))
        return found


class _Begun:
    """How often each batch was begun; lives beside the workers, and outlives them."""

    def __init__(self) -> None:
        self._times: Counter[int] = Counter()

    def times(self, number: int) -> int:
        self._times[number] += 1
        return self._times[number]


def _read_row(row: Row, *, begun: Any, attempts: int, settings: Settings, encoder: str | None) -> Row:  # noqa: ANN401  Ray's handle
    # Ray gives what a worker died of to the next one for ever: one file would stop the build
    if ray.get(begun.times.remote(row["number"])) > attempts:
        return {"read": b""}
    return {"read": _pickled(pickle.loads(row["work"]), settings, encoder)}  # noqa: S301  of our own writer


def _read_alone(work: Work, settings: Settings, encoder: str | None) -> bytes:
    return _pickled([work], settings, encoder)


def _pickled(work: Sequence[Work], settings: Settings, encoder: str | None) -> bytes:
    # syntax trees are many objects without cycles: looking for cycles among them takes as long as parsing
    gc.disable()
    try:
        return pickle.dumps(read_entries(work, settings, _opened(encoder) if encoder else None))
    finally:
        gc.enable()


@cache
def _opened(encoder: str) -> Encoder:
    """Once in each worker."""
    return open_encoder(encoder)


def _connect(address: str, jobs: int | None) -> None:
    # Ray reports its use to its makers unless told not to
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
    made: Any = ray.remote(**options)
    return made(what)
