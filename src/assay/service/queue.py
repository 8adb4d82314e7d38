"""The limits of a service: calls at a time, calls that wait, and seconds for each."""

import asyncio
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


class TooManyCalls(Exception):  # noqa: N818  an answer to the caller, not a fault
    """Too many calls are waiting, or this one waited too long."""


class CallerGone(Exception):  # noqa: N818  nobody is left to answer
    """The caller has closed its connection."""


async def unless_gone(call: Awaitable[R], gone: Callable[[], Awaitable[object]]) -> R:
    """Return the value of a call, which is cancelled once its caller has gone.

    Callers that lose patience ask again: what they left behind in the line would be worked off for nobody, and the more
    of them there are, the fewer get an answer.

    Args:
        call: that waits, or runs.
        gone: waits until the caller has gone.

    Raises:
        CallerGone: it has.
    """
    working, leaving = asyncio.ensure_future(call), asyncio.ensure_future(gone())
    try:
        await asyncio.wait((working, leaving), return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            return working.result()
        raise CallerGone
    finally:
        working.cancel()
        leaving.cancel()


class CallQueue:
    """Runs calls on threads of its own.

    Args:
        workers: calls at a time; each thread keeps the index that it opened.
        waiting: calls that may wait beside them.
        seconds: a call that has not begun after this time is dropped, unless it is among the next to begin: those wait
            as long again, so that there is work until dropped callers come back. A call that has begun has this time
            too; then its caller gets an error, and the call keeps its place until it ends.
    """

    def __init__(self, *, workers: int, waiting: int, seconds: float) -> None:
        self._pool = ThreadPoolExecutor(workers, thread_name_prefix="assay-service")
        self._workers = workers
        self._most = workers + waiting
        self._seconds = seconds
        self._lock = threading.Lock()
        self._line: dict[Future[Any], None] = {}  # calls that have not begun, the oldest first; the loop alone uses it
        self.calls = 0

    @property
    def is_full(self) -> bool:
        """Return True if a further call would be refused."""
        return self.calls >= self._most

    async def run(self, function: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        """Return the value of a call.

        Raises:
            TooManyCalls: too many calls wait already, or this one waited too long.
            TimeoutError: it took too long.
        """
        # no await between the check and the count: only the loop adds calls, and workers only take them away
        if self.is_full:
            raise TooManyCalls
        with self._lock:
            self.calls += 1
        loop, begun = asyncio.get_running_loop(), asyncio.Event()

        def call() -> R:
            loop.call_soon_threadsafe(begun.set)
            return function(*args, **kwargs)

        # the count falls when the call itself ends, not when its caller stops waiting: a slow call keeps its place, so
        # that callers who time out and ask again cannot pile up more work than the limit
        submitted = self._pool.submit(call)
        submitted.add_done_callback(self._left)
        await self._beginning(begun, submitted)
        # the time of a call starts with the call: a queue in front of it must not make its work useless
        return await asyncio.wait_for(asyncio.wrap_future(submitted), self._seconds)

    async def _beginning(self, begun: asyncio.Event, call: "Future[R]") -> None:
        """Wait until a call begins.

        Raises:
            TooManyCalls: it waited too long, and was dropped.
        """
        self._line[call] = None
        try:
            if not await self._begins(begun) and call in islice(self._line, self._workers):
                await self._begins(begun)
            # a call that begins in this very moment cannot be cancelled, and is then waited for as any other
            if not begun.is_set() and call.cancel():
                raise TooManyCalls
        except asyncio.CancelledError:
            call.cancel()
            raise
        finally:
            del self._line[call]

    async def _begins(self, begun: asyncio.Event) -> bool:
        """Wait for the beginning of a call, and return whether it came in time."""
        try:
            await asyncio.wait_for(begun.wait(), self._seconds)
        except TimeoutError:
            return False
        return True

    def _left(self, _: "Future[R]") -> None:
        """Count a call that ended or was dropped; a worker calls this, or the loop."""
        with self._lock:
            self.calls -= 1

    def close(self) -> None:
        """Start no more calls, and wait for those that run."""
        self._pool.shutdown(wait=True, cancel_futures=True)
