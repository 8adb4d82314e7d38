"""Work on a Ray cluster: a function of bytes, applied by Ray Data, in order, whatever dies."""

import logging
import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from typing import Any, Self

import ray
import ray.data
from ray.exceptions import RayError

from assay.errors import DataError

AUTO = "auto"
"""Instead of an address: the cluster that this machine belongs to."""

LOCAL = "local"
"""Instead of an address: a new cluster on this machine that ends with the work."""

ATTEMPTS = 3
"""Workers that may die of one task; then it is given up."""

BytesFunction = Callable[[bytes], bytes]
"""Pickled for the workers: a function at the top of a module, or a `partial` of one."""
_Row = dict[str, Any]


class RayCluster:
    """A connection to a Ray cluster, open between `__enter__` and `__exit__`.

    Attributes:
        address: "auto", "local", HOST:PORT, or ray://HOST:PORT. If this process is connected already, that cluster is
            used.
    """

    def __init__(self, address: str, *, jobs: int | None = None) -> None:
        """Store the settings; entering the context connects to the cluster.

        Args:
            address: of the cluster; "" is "auto".
            jobs: tasks that are worked on at a time; None: as many as fit.
        """
        self.address = address or AUTO
        self._jobs = jobs
        self._open = ExitStack()

    def __enter__(self) -> Self:
        if not ray.is_initialized():
            _connect(self.address, self._jobs)
            self._open.callback(ray.shutdown)
        # Ray Data writes its plan to the log of every run, between the lines of the command
        logger = logging.getLogger("ray.data")
        self._open.callback(logger.setLevel, logger.level)
        logger.setLevel(logging.ERROR)
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    @property
    def resources(self) -> dict[str, float]:
        """Name of a resource, such as CPU or GPU → its amount in the whole cluster."""
        resources: dict[str, float] = ray.cluster_resources()  # type: ignore[no-untyped-call]  # typed in part only
        return resources

    @property
    def smallest_node(self) -> int:
        """Number of cores of the node that has the fewest."""
        nodes: list[dict[str, Any]] = ray.nodes()  # type: ignore[no-untyped-call]  # as above
        return int(min((n["Resources"]["CPU"] for n in nodes if n["Resources"].get("CPU")), default=1))

    def each(
        self, function: BytesFunction, tasks: Sequence[bytes], *, cores: int = 1, accelerators: int = 0
    ) -> Iterator[bytes | None]:
        """Yield the function's result for each task, in order; None for a task of which `ATTEMPTS` workers died.

        Args:
            function: what the workers apply.
            tasks: its arguments.
            cores: cores of one worker.
            accelerators: GPUs of one worker.

        Raises:
            DataError: the connection to the cluster was lost, or the function raised.
        """
        if not tasks:
            return
        # a block a task, so that a dying worker takes one task with it; the counter needs no core of its own
        rows = [{"number": number, "task": task} for number, task in enumerate(tasks)]
        run = partial(_run_row, begun=_remote(_Begun, num_cpus=0).remote(), attempts=ATTEMPTS, function=function)
        data = ray.data.from_items(rows, override_num_blocks=len(rows)).map(
            run, compute=ray.data.TaskPoolStrategy(self._jobs), num_cpus=cores, num_gpus=accelerators
        )
        data.context.execution_options.preserve_order = True
        data.context.enable_progress_bars = False
        data.context.print_on_execution_start = False
        try:
            for row in data.iter_rows():
                # Ray's rows hold no None: the empty result stands for a task that was given up
                yield row["result"] or None
        except RayError as error:
            first = next(iter(str(error).splitlines()), type(error).__name__)
            raise DataError(f"ray:{self.address}: the connection to the cluster was lost: {first}") from error

    def alone(self, function: BytesFunction, task: bytes, *, cores: int = 1, accelerators: int = 0) -> bytes | None:
        """Return the function's result for one task, None if it kills its worker.

        Raises:
            DataError: the connection to the cluster was lost, or the function raised.
        """
        run = _remote(function_of, num_cpus=cores, num_gpus=accelerators, max_retries=0)
        try:
            result: bytes = ray.get(run.remote(function, task))
        except ray.exceptions.WorkerCrashedError:
            return None
        except RayError as error:
            first = next(iter(str(error).splitlines()), type(error).__name__)
            raise DataError(f"ray:{self.address}: a worker failed: {first}") from error
        return result


class _Begun:
    """Count of the starts of each task, kept in a process of its own, so that it survives the workers."""

    def __init__(self) -> None:
        self._times: Counter[int] = Counter()

    def times(self, number: int) -> int:
        self._times[number] += 1
        return self._times[number]


def _run_row(row: _Row, *, begun: Any, attempts: int, function: BytesFunction) -> _Row:  # noqa: ANN401  Ray's handle
    # Ray gives a task that kills its worker to the next worker, without end: one task would stop the work
    if ray.get(begun.times.remote(row["number"])) > attempts:
        return {"result": b""}
    return {"result": function(row["task"])}


def function_of(function: BytesFunction, task: bytes) -> bytes:
    """Apply a function; the remote task of `RayCluster.alone`."""
    return function(task)


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
        raise DataError(f"ray:{address}: no Ray cluster answers there: {first}") from error


def _remote(what: Any, **options: Any) -> Any:  # noqa: ANN401  a function or class, as Ray wraps it
    decorator: Any = ray.remote(**options)
    return decorator(what)
