"""One HTTP end point that takes and gives JSON: many requests at a time, and patience with a busy server."""

import json
import random
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass

import httpx

from assay.errors import ModelError

Json = Mapping[str, object]
_BUSY = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
_DENIED = frozenset({401, 403})
_OF_REQUEST = frozenset({400, 413, 422})
"""What is wrong may be the one request: its text is too long, say."""
_SHOWN = 200
_LONGEST_PAUSE = 60.0


@dataclass(frozen=True, slots=True)
class Patience:
    """How long one request is tried.

    Attributes:
        attempts: requests in all, the first one included.
        seconds: of pauses in all; a server that asks for more (Retry-After) is given up on.
        first_pause: upper end of the first pause in seconds; each further one is up to twice as long.
        timeout: seconds without a byte of the reply before a request counts as lost.
    """

    attempts: int = 6
    seconds: float = 180.0
    first_pause: float = 1.0
    timeout: float = 300.0


class Refused(ModelError):  # noqa: N818  as MissingCapability
    """The server answers, and will not do what was asked: a request that no repetition makes better.

    Attributes:
        status: of HTTP.
        words: what the server says.
    """

    def __init__(self, place: str, status: int, words: str) -> None:
        self.status = status
        self.words = words
        super().__init__(f"{place}: HTTP {status}{words}")

    @property
    def of_request(self) -> bool:
        """Whether the one request may be at fault, and not address, key or model."""
        return self.status in _OF_REQUEST


class Endpoint:
    """Requests to one server. Nothing is opened before the first of them.

    Attributes:
        url: the base, for example http://localhost:8000/v1.
    """

    def __init__(
        self,
        url: str,
        *,
        key: str | None = None,
        concurrency: int = 8,
        patience: Patience | None = None,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        """Take note of the server.

        Args:
            url: without a slash at its end.
            key: sent as a bearer token; it stands in no message, log or digest.
            concurrency: requests at a time.
            patience: with a server that is busy or silent.
            pause: what waits between attempts.
        """
        self.url = url
        self._key = key
        self._concurrency = max(1, concurrency)
        self._patience = patience or Patience()
        self._pause = pause
        self._random = random.Random()  # noqa: S311  spreads requests in time; no result depends on it
        self._lock = threading.Lock()
        self._opened: httpx.Client | None = None
        self._answered = False

    def post(self, path: str, body: Json) -> Json:
        """The reply to one request.

        Raises:
            Refused: the server says no.
            ModelError: it is not there, stays busy, or answers something that is no JSON object.
        """
        waited = 0.0
        for attempt in range(1, self._patience.attempts + 1):
            response, trouble = self._attempt(path, body)
            if response is not None and response.status_code not in _BUSY:
                return self._read(path, response)
            pause = self._random.uniform(0.5, 1.0) * self._patience.first_pause * 2 ** (attempt - 1)
            pause = max(min(pause, _LONGEST_PAUSE), retry_after(response))
            if attempt == self._patience.attempts or waited + pause > self._patience.seconds:
                break
            waited += pause
            self._pause(pause)
        raise ModelError(f"{self.url}{path}: given up after {attempt} attempts: {trouble}")

    def outcome(self, path: str, body: Json) -> Json | Refused:
        """The reply to one request, or a refusal for which the request itself may be the reason.

        Raises:
            Refused: the server says no, whatever it is asked.
            ModelError: as `post`.
        """
        try:
            return self.post(path, body)
        except Refused as refusal:
            if refusal.of_request:
                return refusal
            raise

    def each(self, path: str, bodies: Iterable[Json]) -> Iterator[tuple[int, Json | Refused]]:
        """Outcomes with the index of their request, as they come.

        Raises:
            ModelError: as `outcome`; what has not begun then is not sent.
        """
        numbered = enumerate(bodies)
        running: dict[Future[Json | Refused], int] = {}
        with ThreadPoolExecutor(self._concurrency) as pool:
            try:
                while True:
                    for index, body in numbered:
                        running[pool.submit(self.outcome, path, body)] = index
                        if len(running) >= self._concurrency:
                            break
                    if not running:
                        return
                    done, _ = wait(running, return_when=FIRST_COMPLETED)
                    for one in done:
                        yield running.pop(one), one.result()
            finally:
                pool.shutdown(wait=False, cancel_futures=True)

    def in_order(self, path: str, bodies: Iterable[Json]) -> Iterator[Json | Refused]:
        """Outcomes in the order of the requests; at most `concurrency` of them are ahead of the reader.

        Raises:
            ModelError: as `outcome`.
        """
        numbered = iter(bodies)
        running: deque[Future[Json | Refused]] = deque()
        with ThreadPoolExecutor(self._concurrency) as pool:
            try:
                while True:
                    for body in numbered:
                        running.append(pool.submit(self.outcome, path, body))
                        if len(running) >= self._concurrency:
                            break
                    if not running:
                        return
                    yield running.popleft().result()
            finally:
                pool.shutdown(wait=False, cancel_futures=True)

    def _attempt(self, path: str, body: Json) -> tuple[httpx.Response | None, str]:
        """A response, or what came instead of one."""
        try:
            response = self._client().post(self.url + path, json=body)
        except httpx.TimeoutException:
            return None, f"no reply within {self._patience.timeout:g} s"
        except httpx.ConnectError as error:
            if not self._answered:  # one that was never there is not worth the wait
                raise ModelError(f"{self.url}: no server answers there ({first_line(str(error))})") from None
            return None, "the server is gone"
        except httpx.TransportError as error:
            return None, f"the connection broke ({first_line(str(error)) or type(error).__name__})"
        except (httpx.InvalidURL, UnicodeEncodeError) as error:
            raise ModelError(f"{self.url}: cannot be asked ({first_line(str(error))})") from None
        self._answered = True
        return response, f"HTTP {response.status_code}{self._said(response)}"

    def _read(self, path: str, response: httpx.Response) -> Json:
        place = f"{self.url}{path}"
        if response.status_code in _DENIED:
            given = "the key in OPENAI_API_KEY was not accepted" if self._key else "OPENAI_API_KEY is not set"
            raise Refused(place, response.status_code, f", {given}{self._said(response)}")
        if not response.is_success:
            raise Refused(place, response.status_code, self._said(response))
        try:
            found = response.json()
        except ValueError:
            raise ModelError(f"{place}: expected JSON, received {self._shown(response.text)!r}") from None
        if not isinstance(found, dict):
            raise ModelError(f"{place}: expected a JSON object, received {self._shown(response.text)!r}")
        return found

    def _said(self, response: httpx.Response) -> str:
        """What the server says of an error: OpenAI's form, FastAPI's, or the text as it stands."""
        try:
            found = response.json()
        except ValueError:
            found = response.text
        for name in ("error", "message", "detail"):
            found = found.get(name, found) if isinstance(found, dict) else found
        said = found if isinstance(found, str) else json.dumps(found, ensure_ascii=False)
        return f": {self._shown(said)}" if said.strip() else ""

    def _shown(self, text: str) -> str:
        line = " ".join(text.split())
        if self._key:
            line = line.replace(self._key, "…")
        return line if len(line) <= _SHOWN else line[: _SHOWN - 1] + "…"

    def _client(self) -> httpx.Client:
        with self._lock:
            if self._opened is None:
                self._opened = httpx.Client(
                    headers={"Authorization": f"Bearer {self._key}"} if self._key else {},
                    timeout=self._patience.timeout,
                    limits=httpx.Limits(max_connections=self._concurrency),
                )
                weakref.finalize(self, self._opened.close)  # connections end with the last reference
            return self._opened

    def close(self) -> None:
        """Close what is open; a later request opens it again."""
        with self._lock:
            if self._opened is not None:
                self._opened.close()
                self._opened = None


def retry_after(response: httpx.Response | None) -> float:
    """Seconds that the server asks to wait; 0 where it asks for none, or for a date."""
    try:
        return max(0.0, float(response.headers.get("retry-after", 0))) if response is not None else 0.0
    except ValueError:
        return 0.0


def first_line(text: str) -> str:
    """A message without what a library adds below it."""
    return text.strip().partition("\n")[0]
