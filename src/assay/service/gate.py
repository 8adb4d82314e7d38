"""How much work a service takes on: so many calls at a time, so many waiting, so long each."""

import asyncio
import functools
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


class Busy(Exception):  # noqa: N818  an answer to the caller, not a fault
    """As many calls wait as may wait."""


class Gate:
    """Runs calls on threads of its own.

    Args:
        workers: calls at a time; each thread keeps what it opened.
        waiting: calls that may wait beside them.
        seconds: after so long the caller is told; the call itself runs to its end and keeps its place until then.
    """

    def __init__(self, *, workers: int, waiting: int, seconds: float) -> None:
        self._pool = ThreadPoolExecutor(workers, thread_name_prefix="assay-service")
        self._most = workers + waiting
        self._seconds = seconds
        self.taken = 0

    async def run(self, function: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        """The value of a call.

        Raises:
            Busy: too many calls wait already.
            TimeoutError: it took too long.
        """
        if self.taken >= self._most:
            raise Busy
        self.taken += 1
        loop = asyncio.get_running_loop()
        call = loop.run_in_executor(self._pool, functools.partial(function, *args, **kwargs))
        call.add_done_callback(self._left)
        return await asyncio.wait_for(asyncio.shield(call), self._seconds)

    def _left(self, call: "asyncio.Future[R]") -> None:
        self.taken -= 1
        if not call.cancelled():
            call.exception()  # a caller that went away asks no more: the exception counts as seen

    def close(self) -> None:
        """Start nothing more and wait for what runs."""
        self._pool.shutdown(wait=True, cancel_futures=True)
