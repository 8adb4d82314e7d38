"""Repeat a request to a busy server: growing pauses with jitter, a limit on attempts and on the time in all."""

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from tenacity import RetryCallState, Retrying, retry_if_exception_type, stop_after_attempt, wait_exponential

Reply = TypeVar("Reply")


@dataclass(frozen=True, slots=True)
class Patience:
    """How long one request is tried.

    Attributes:
        attempts: requests in all, the first one included.
        seconds: of pauses in all; a server that asks for more is given up on.
        first_pause: upper end of the first pause in seconds; each further one is up to twice as long.
        longest_pause: upper end of any pause in seconds that the server did not ask for.
        timeout: seconds without a byte of the reply before a request counts as lost.
    """

    attempts: int = 6
    seconds: float = 180.0
    first_pause: float = 1.0
    longest_pause: float = 60.0
    timeout: float = 300.0


class Busy(Exception):  # noqa: N818  not an error until patience ends
    """The server may answer later.

    Attributes:
        reason: one line.
        wait: seconds that the server asks to wait, 0 if it does not ask.
        attempts: how often the request was sent, when patience ends.
    """

    def __init__(self, reason: str, *, wait: float = 0.0) -> None:
        super().__init__(reason)
        self.reason = reason
        self.wait = wait
        self.attempts = 1


def with_retries(
    request: Callable[[], Reply], patience: Patience, *, sleep: Callable[[float], None] = time.sleep
) -> Reply:
    """Return what the request returns; repeat it while it raises `Busy`.

    Args:
        request: raises `Busy` where another attempt may help; every other exception passes through.
        patience: attempts and pauses.
        sleep: waits the given number of seconds.

    Raises:
        Busy: the last one, when patience ends.
    """
    growing = wait_exponential(multiplier=patience.first_pause, max=patience.longest_pause)
    waited = 0.0

    def pause(state: RetryCallState) -> float:
        jitter = random.uniform(0.5, 1.0)  # noqa: S311  spreads requests in time; no result depends on it
        # jitter, or the clients that one failure sent away would all come back at once; a server's own wish is obeyed
        return max(growing(state) * jitter, _busy(state).wait)

    def exhausted(state: RetryCallState) -> bool:
        # the pause that is to come counts, so that the limit holds before it and not after
        nonlocal waited
        waited += state.upcoming_sleep
        _busy(state).attempts = state.attempt_number
        return waited > patience.seconds

    attempts = Retrying(
        retry=retry_if_exception_type(Busy),
        wait=pause,
        stop=lambda state: exhausted(state) or stop_after_attempt(patience.attempts)(state),
        sleep=sleep,
        reraise=True,
    )
    return attempts(request)


def _busy(state: RetryCallState) -> Busy:
    error = state.outcome.exception() if state.outcome is not None else None
    if not isinstance(error, Busy):
        raise TypeError(f"retried after {error!r}, expected Busy")
    return error
