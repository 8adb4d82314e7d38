"""One HTTP end point for JSON: concurrent requests, and retries if the server is busy."""

import json
import threading
import time
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from urllib.parse import urljoin

import httpx

from assay.errors import ModelError, plain_reason
from assay.escaping import cut_off
from assay.files import parse_json
from assay.models.spending import SpendingLimits, SpendingMeter
from assay.retrying import Busy, Patience, with_retries

Json = Mapping[str, object]
_BUSY = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
_DENIED = frozenset({401, 403})
_OF_REQUEST = frozenset({400, 413, 422})
"""Status codes for which the request itself may be at fault: a text that is too long, for example."""
_SHOWN = 200
LARGEST_REPLY = 2**28
"""Bytes of a reply after it is decompressed: several times the reply to the longest text that is sent."""


class Refused(ModelError):  # noqa: N818  as MissingCapability
    """The server rejected a request; a repetition would not help.

    Attributes:
        status: of HTTP.
        words: the server's message.
    """

    def __init__(self, place: str, status: int, words: str) -> None:
        self.status = status
        self.words = words
        super().__init__(f"{place}: HTTP {status}{words}")

    @property
    def of_request(self) -> bool:
        """True if the request itself may be at fault, and not address, key or model."""
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
        sleep: Callable[[float], None] = time.sleep,
        limits: SpendingLimits | None = None,
    ) -> None:
        """Take note of the server.

        Args:
            url: without a slash at its end.
            key: sent as a bearer token; it is in no message, log or digest.
            concurrency: requests at a time.
            patience: with a server that is busy or silent.
            sleep: waits the given number of seconds between attempts.
            limits: of requests, tokens, cost and rate.
        """
        self.meter = SpendingMeter(limits or SpendingLimits(), sleep)
        self.url = url
        self._key = key
        self._concurrency = max(1, concurrency)
        self._patience = patience or Patience()
        self._sleep = sleep
        self._lock = threading.Lock()
        self._opened: httpx.Client | None = None
        self._answered = False

    def address(self, path: str) -> str:
        """Return the address of an end point; "/.." at the start of its path leaves the folder of the API."""
        return urljoin(f"{self.url}/", path.removeprefix("/"))

    def post(self, path: str, body: Json) -> Json:
        """The reply to one request.

        Raises:
            Refused: the server rejects it.
            ModelError: it is not there, stays busy, or answers something that is not a JSON object.
        """
        try:
            return with_retries(lambda: self._attempt(path, body), self._patience, sleep=self._sleep)
        except Busy as busy:
            raise ModelError(f"{self.address(path)}: gave up after {busy.attempts} attempts: {busy}") from busy

    def outcome(self, path: str, body: Json) -> Json | Refused:
        """The reply to one request, or a refusal for which the request itself may be the reason.

        Raises:
            Refused: the server rejects every request.
            ModelError: as `post`.
        """
        try:
            return self.post(path, body)
        except Refused as refusal:
            if refusal.of_request:
                return refusal
            raise

    def each(
        self, path: str, bodies: Iterable[Json], *, in_order: bool = False
    ) -> Iterator[tuple[int, Json | Refused]]:
        """Yield outcomes with the index of their request, as they arrive or in the order of the requests.

        Args:
            path: of the end point.
            bodies: of the requests; at most `concurrency` of them are taken ahead of the reader.
            in_order: wait for the oldest request each time.

        Raises:
            ModelError: as `outcome`; requests that are not yet sent are dropped.
        """
        numbered = enumerate(bodies)
        running: dict[Future[Json | Refused], int] = {}
        with ThreadPoolExecutor(self._concurrency) as pool:
            try:
                while True:
                    for index, body in numbered:
                        running[pool.submit(self.outcome, path, body)] = index
                        # no more bodies are taken than are sent: the reader may stop, and a text may be large
                        if len(running) >= self._concurrency:
                            break
                    if not running:
                        return
                    # a dict keeps the order of insertion: its first key is the oldest request
                    done = [next(iter(running))] if in_order else wait(running, return_when=FIRST_COMPLETED).done
                    for request in done:
                        yield running.pop(request), request.result()
            finally:
                # the reader may have stopped early: what is not yet sent is not paid for
                pool.shutdown(wait=False, cancel_futures=True)

    def _attempt(self, path: str, body: Json) -> Json:
        """Send one request; raise Busy where another attempt may help."""
        estimate = self.meter.admit(body)
        try:
            response = self._received(self.address(path), body)
        except httpx.TimeoutException as error:
            raise Busy(f"no reply within {self._patience.timeout:g} s") from error
        except httpx.ConnectError as error:
            if not self._answered:  # a server that never answered is not worth the wait
                raise ModelError(f"{self.url}: no server answers there ({plain_reason(error)})") from None
            raise Busy("the server is gone") from error
        except httpx.TransportError as error:
            raise Busy(f"the connection broke ({plain_reason(error)})") from error
        except httpx.DecodingError as error:
            raise ModelError(f"{self.address(path)}: a reply that cannot be decompressed") from error
        except (httpx.InvalidURL, UnicodeEncodeError) as error:
            raise ModelError(f"{self.url}: cannot be asked ({plain_reason(error)})") from None
        self._answered = True
        if response.status_code in _BUSY:
            raise Busy(f"HTTP {response.status_code}{self._error_text(response)}", wait=_seconds(response))
        reply = self._read(path, response)
        self.meter.settle(estimate, reply)
        return reply

    def _received(self, place: str, body: Json) -> httpx.Response:
        """Return the whole reply to a request.

        Raises:
            ModelError: it is longer than `LARGEST_REPLY`.
        """
        with self._client().stream("POST", place, json=body) as response:
            content = bytearray()
            for part in response.iter_bytes():
                content += part
                if len(content) > LARGEST_REPLY:
                    raise ModelError(f"{place}: received more than {LARGEST_REPLY:,} bytes, expected a shorter reply")
        # the body is decompressed already: a second attempt, by its header, would fail
        headers = [pair for pair in response.headers.multi_items() if pair[0] != "content-encoding"]
        return httpx.Response(response.status_code, headers=headers, content=bytes(content))

    def _read(self, path: str, response: httpx.Response) -> Json:
        place = self.address(path)
        if response.status_code in _DENIED:
            reason = "the key in OPENAI_API_KEY was not accepted" if self._key else "OPENAI_API_KEY is not set"
            raise Refused(place, response.status_code, f", {reason}{self._error_text(response)}")
        if not response.is_success:
            raise Refused(place, response.status_code, self._error_text(response))
        try:
            reply = parse_json(response.content)
        except ValueError:
            raise ModelError(f"{place}: expected JSON, received {self._shown(response.text)!r}") from None
        if not isinstance(reply, dict):
            raise ModelError(f"{place}: expected a JSON object, received {self._shown(response.text)!r}")
        return reply

    def _error_text(self, response: httpx.Response) -> str:
        """Return the server's error message: OpenAI's form, FastAPI's, or the text as it is."""
        try:
            content: object = parse_json(response.content)
        except ValueError:
            content = response.text
        for name in ("error", "message", "detail"):
            if isinstance(content, dict):
                content = content.get(name, content)
        message = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
        return f": {self._shown(message)}" * bool(message.strip())

    def _shown(self, text: str) -> str:
        line = " ".join(text.split())
        if self._key:
            # a server may repeat the key in its message; nobody else may read it
            line = line.replace(self._key, "…")
        return cut_off(line, _SHOWN)

    def _client(self) -> httpx.Client:
        headers = {"Authorization": f"Bearer {self._key}"}
        with self._lock:
            if self._opened is None:
                self._opened = httpx.Client(
                    headers=headers if self._key else None,
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


def _seconds(response: httpx.Response) -> float:
    """Return the seconds that the server asks to wait; 0 where it asks for none, or for a date."""
    try:
        return max(0.0, float(response.headers.get("retry-after", 0)))
    except ValueError:
        return 0.0
