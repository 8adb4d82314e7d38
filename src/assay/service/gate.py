"""The limits of a service: calls at a time, calls that wait, and seconds for each."""

import asyncio
import functools
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


class TooManyCalls(Exception):  # noqa: N818  an answer to the caller, not a fault
    """Too many calls are waiting."""


class Gate:
    """Runs calls on threads of its own.

    Args:
        workers: calls at a time; each thread keeps the index that it opened.
        waiting: calls that may wait beside them.
        seconds: after this time the caller gets an error; the call itself runs to its end and keeps its place.
    """

    def __init__(self, *, workers: int, waiting: int, seconds: float) -> None:
        self._pool = ThreadPoolExecutor(workers, thread_name_prefix="assay-service")
        self._most = workers + waiting
        self._seconds = seconds
        self.calls = 0

    async def run(self, function: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        """Return the value of a call.

        Raises:
            Busy: too many calls wait already.
            TimeoutError: it took too long.
        """
        if self.calls >= self._most:
            raise TooManyCalls
        self.calls += 1
        loop = asyncio.get_running_loop()
        call = loop.run_in_executor(self._pool, functools.partial(function, *args, **kwargs))
        call.add_done_callback(self._left)
        return await asyncio.wait_for(asyncio.shield(call), self._seconds)

    def _left(self, call: "asyncio.Future[R]") -> None:
        self.calls -= 1
        if not call.cancelled():
            call.exception()  # the caller may have gone away: reading the exception prevents a warning

    def close(self) -> None:
        """Start no more calls, and wait for those that run."""
        self._pool.shutdown(wait=True, cancel_futures=True)
