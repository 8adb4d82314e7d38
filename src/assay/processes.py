"""Worker processes: started by a server without threads, stopped with the process that they work for."""

import multiprocessing
import multiprocessing.connection
import os
import signal
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future, ProcessPoolExecutor
from functools import partial
from types import ModuleType
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")
_main_lock = threading.Lock()


def worker_processes(jobs: int, begin: Callable[..., None], *arguments: object, preload: str) -> ProcessPoolExecutor:
    """Return processes that work for this one; `submit_to` gives them work.

    Args:
        jobs: number of processes.
        begin: is called in each first.
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
    """Submit a call; a process that is started for it does not run the caller's script again.

    A new process imports the script that started it, as `__mp_main__`. One that calls `build_index` without
    `if __name__ == "__main__"` would call it there too and fail, and no file would be read.
    """
    with _main_lock:
        main = sys.modules["__main__"]
        sys.modules["__main__"] = ModuleType("__main__")
        try:
            return pool.submit(function, *arguments, **options)
        finally:
            sys.modules["__main__"] = main


def _begin(begin: Callable[..., None], *arguments: object) -> None:
    begin(*arguments)
    # Ctrl-C goes to the whole process group, and the process that they work for alone decides when to stop
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_exit_with_parent, daemon=True).start()


def _exit_with_parent() -> None:
    """Exit when the parent is gone: one that is killed cannot stop its processes, and they would wait for ever."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        multiprocessing.connection.wait([parent.sentinel])
        os._exit(1)
