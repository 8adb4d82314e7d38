"""Limits of requests, tokens and cost for a model behind a server, and of the rate of requests."""

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar, TypeVar

from assay.errors import ModelError
from assay.settings import MODEL_OPTION, Setting, Settings

CODE_CHARACTERS_PER_TOKEN = 3
"""Characters of code in one token: fewer than in prose, so that an estimate is rather too high."""
MOST_TOKENS = 2**40
"""A server that reports more tokens for a request than this is not believed."""
PER_PRICE = 1_000_000
"""Tokens that a price is for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SpendingLimits(Settings):
    """Limits of one model behind a server; None is no limit.

    Raises:
        ModelError: a limit of the cost without a price.
    """

    PANEL: ClassVar[str] = "Model"
    max_requests: Annotated[
        int | None, Setting("Most requests to a server.", least=1, decides=False, inside=MODEL_OPTION)
    ] = None
    max_tokens: Annotated[
        int | None,
        Setting("Most tokens that a server reads and writes, together.", least=1, decides=False, inside=MODEL_OPTION),
    ] = None
    price: Annotated[
        float | None,
        Setting("Price of a million tokens, in any currency.", least=0, decides=False, inside=MODEL_OPTION),
    ] = None
    max_cost: Annotated[
        float | None,
        Setting("Most that may be spent, in the currency of price.", least=0, decides=False, inside=MODEL_OPTION),
    ] = None
    requests_per_minute: Annotated[
        float | None, Setting("Rate of requests to a server.", least=0.01, decides=False, inside=MODEL_OPTION)
    ] = None

    def __post_init__(self) -> None:
        """Check the values, and that the cost can be computed."""
        Settings.__post_init__(self)
        if self.max_cost is not None and self.price is None:
            raise ModelError("max-cost needs price, the price of a million tokens")

    def cost(self, tokens: int) -> float | None:
        """Return the cost of tokens; None without a price."""
        return None if self.price is None else tokens * self.price / PER_PRICE

    def after(self, requests: int, tokens: int) -> "SpendingLimits":
        """Return the limits that are left after so many requests and tokens."""
        cost = self.cost(tokens)
        return replace(
            self,
            max_requests=_left(self.max_requests, requests),
            max_tokens=_left(self.max_tokens, tokens),
            max_cost=_left(self.max_cost, cost),
        )

    def exceeded(self, requests: int, tokens: int) -> str:
        """Return the limit that so many requests and tokens exceed, in words; "" if they exceed none."""
        cost = self.cost(tokens)
        if self.max_requests is not None and requests > self.max_requests:
            return f"{requests:,} requests, max-requests {self.max_requests:,}"
        if self.max_tokens is not None and tokens > self.max_tokens:
            return f"about {tokens:,} tokens, max-tokens {self.max_tokens:,}"
        if self.max_cost is not None and cost is not None and cost > self.max_cost:
            return f"a cost of about {cost:.2g}, max-cost {self.max_cost:g}"
        return ""


Amount = TypeVar("Amount", int, float)


def _left(limit: Amount | None, spent: Amount | None) -> Amount | None:
    return None if limit is None or spent is None else max(limit - spent, type(limit)())


class SpendingMeter:
    """Requests and tokens that were sent, counted over all threads, and the pauses between requests.

    Args:
        limits: of the model.
        sleep: waits the given number of seconds.
        clock: seconds from any start.
    """

    def __init__(
        self,
        limits: SpendingLimits,
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.limits = limits
        self.requests = self.tokens = 0
        self._sleep, self._clock = sleep, clock
        self._lock = threading.Lock()
        self._next = clock()

    def admit(self, body: Mapping[str, object]) -> int:
        """Count one request before it is sent, and wait for its turn; return its estimated tokens.

        Raises:
            ModelError: it would exceed a limit; nothing more is sent.
        """
        tokens = estimated_tokens(body)
        with self._lock:
            exceeded = self.limits.exceeded(self.requests + 1, self.tokens + tokens)
            if exceeded:
                raise ModelError(
                    f"stopped before a limit: the next request makes {exceeded}; sent so far: {self.requests:,} "
                    f"requests, about {self.tokens:,} tokens. With the cache a higher limit continues here"
                )
            self.requests += 1
            # counted before it is sent: threads that ask at the same time cannot pass a limit together
            self.tokens += tokens
            rate = self.limits.requests_per_minute
            now = self._clock()
            # each request takes its turn under the lock and waits outside of it, so that threads wait side by side
            turn = max(now, self._next)
            self._next = turn + (60 / rate if rate else 0)
        if turn > now:
            self._sleep(turn - now)
        return tokens

    def settle(self, estimate: int, reply: Mapping[str, object]) -> None:
        """Replace an estimate by the tokens that the server reports."""
        usage = reply.get("usage")
        total = isinstance(usage, Mapping) and usage.get("total_tokens")
        if type(total) is int and 0 <= total < MOST_TOKENS:
            with self._lock:
                # the estimate was counted already, so only the difference to the reported number is added
                self.tokens += total - estimate


def estimated_tokens(body: Mapping[str, object]) -> int:
    """Return the tokens of a request: those of its text by its length, and the most that the model may write."""
    messages = body.get("messages")
    texts = [str(body.get("prompt", ""))]
    if isinstance(messages, list):
        texts += [str(message.get("content", "")) for message in messages if isinstance(message, dict)]
    # the most that may be written, so that a limit is never passed by what is on its way
    return sum(map(tokens_of_length, map(len, texts))) + int(str(body.get("max_tokens", 0)))


def tokens_of_length(characters: int) -> int:
    """Return the estimated tokens of a text of that length."""
    return -(-characters // CODE_CHARACTERS_PER_TOKEN)
