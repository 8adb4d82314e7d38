"""Worker processes: started by a server without threads, stopped with the process that they work for."""

import multiprocessing
import multiprocessing.connection
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from functools import partial
from types import ModuleType
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")
_main_lock = threading.Lock()


def worker_processes(
    jobs: int, begin: Callable[..., object] = bool, *arguments: object, preload: str
) -> ProcessPoolExecutor:
    """Return processes that work for this one; `submit_to` gives them work.

    Args:
        jobs: number of processes.
        begin: is called in each first; the default does nothing.
        arguments: of it.
        preload: module that the server of processes imports once.
    """
    # a server of processes is started by `python -c`, which imports from the current folder, unless this forbids it
    os.environ.setdefault("PYTHONSAFEPATH", "1")
    # a fork of this process would take over locks that its threads hold; a server without threads forks safely
    methods = multiprocessing.get_all_start_methods()
    context = multiprocessing.get_context("forkserver" if "forkserver" in methods else "spawn")
    if "forkserver" in methods:
        context.set_forkserver_preload([preload])
    return ProcessPoolExecutor(jobs, mp_context=context, initializer=partial(_begin, begin, *arguments))


def submit_to(
    pool: ProcessPoolExecutor, function: Callable[P, R], *arguments: P.args, **options: P.kwargs
) -> Future[R]:
    """Submit a call; a process that is started for it does not run the caller's script again."""
    with _no_main():
        return pool.submit(function, *arguments, **options)


def map_with(
    pool: ProcessPoolExecutor, function: Callable[[T], R], items: Iterable[T], *, chunksize: int
) -> Iterator[R]:
    """Return the results of calls, in order; as for `submit_to`, and so many items go to a process at a time."""
    with _no_main():
        return pool.map(function, items, chunksize=chunksize)


@contextmanager
def closed_at_end(pool: ProcessPoolExecutor) -> Iterator[ProcessPoolExecutor]:
    """Close processes when the block ends: at once where it fails or is interrupted, as their work may take hours."""
    try:
        yield pool
    except BaseException:
        stop_processes(pool)
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def stop_processes(pool: ProcessPoolExecutor) -> None:
    """End processes at once; what they work on is lost."""
    # from Python 3.14 on there is `terminate_workers`, which does this; None after `shutdown`
    for process in list((pool._processes or {}).values()):  # noqa: SLF001
        process.terminate()


@contextmanager
def _no_main() -> Iterator[None]:
    """Hide the script that runs from a process that is started meanwhile.

    A new process imports the script that started it, as `__mp_main__`. One that calls `build_index` without
    `if __name__ == "__main__"` would call it there too and fail, and no file would be read.
    """
    with _main_lock:
        main = sys.modules["__main__"]
        sys.modules["__main__"] = ModuleType("__main__")
        try:
            yield
        finally:
            sys.modules["__main__"] = main


def _begin(begin: Callable[..., object], *arguments: object) -> None:
    # Ctrl-C goes to the whole process group, and the process that they work for alone decides when to stop
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_exit_with_parent, daemon=True).start()
    begin(*arguments)


def _exit_with_parent() -> None:
    """Exit when the parent is gone: one that is killed cannot stop its processes, and they would wait for ever."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        multiprocessing.connection.wait([parent.sentinel])
        os._exit(1)
