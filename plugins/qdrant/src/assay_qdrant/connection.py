"""Addresses of servers, clients, and requests that are repeated while a server is busy and fail in one line."""

import os
import re
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from json import JSONDecodeError
from typing import TypeVar
from urllib.parse import SplitResult, parse_qsl, urlsplit

import httpx
from qdrant_client import QdrantClient
from qdrant_client.common.client_exceptions import ResourceExhaustedResponse
from qdrant_client.http.exceptions import ResponseHandlingException, UnexpectedResponse

from assay.errors import CorpusIndexError
from assay.retrying import Busy, Patience, with_retries

KEY = "QDRANT_API_KEY"
"""The environment variable of the API key; it is never stored or shown."""

LOOPBACK = {"localhost", "127.0.0.1", "::1"}
"""Hosts to which a key may be sent unencrypted, because it stays on this machine."""

COLLECTION = "assay"
PORT = 6333
TIMEOUT = 60
"""Seconds for one request."""

PATIENCE = Patience(attempts=6, first_pause=1.0, longest_pause=30.0)

REFUSED = {401, 403}
BUSY = {408, 429, 500, 502, 503, 504}

T = TypeVar("T")

_COUNT = re.compile(r"0*[1-9]\d{0,5}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Address:
    """Address of a collection: http[s]://HOST[:PORT][/PREFIX…][/COLLECTION][?shards=N&replicas=N].

    Attributes:
        text: of the address, unchanged.
        server: scheme, host and port.
        prefix: path before the collection, of servers behind a proxy.
        collection: name; "assay" where the address has none.
        shards: of a new collection; None: the server's default.
        replicas: of each shard of a new collection; None: the server's default.
    """

    text: str
    server: str
    prefix: str | None
    collection: str
    shards: int | None = None
    replicas: int | None = None


def address_of(text: str) -> Address:
    """Read an address.

    Raises:
        CorpusIndexError: it is not an address, contains a password, or has unknown options.
    """
    expected = "expected http[s]://HOST[:PORT][/COLLECTION][?shards=N&replicas=N]"
    try:
        parts = urlsplit(text)
        port = parts.port or PORT
        options = dict(parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query)))
    except ValueError as error:
        raise CorpusIndexError(f"--index {text}: {error}: {expected}") from error
    if parts.username or parts.password:
        raise CorpusIndexError(f"--index: the address contains a user name or password; expected the API key in {KEY}")
    *before, name = list(filter(None, parts.path.split("/"))) or [COLLECTION]
    valid = set(options) <= {"shards", "replicas"} and all(map(_COUNT.fullmatch, options.values()))
    if not _is_server(parts) or not re.fullmatch(r"[\w.-]+", name) or not valid:
        raise CorpusIndexError(f"--index {text}: {expected}")
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    numbers = dict(zip(options, map(int, options.values()), strict=True))
    url = f"{parts.scheme}://{host}:{port}"
    return Address(text, url, prefix="/".join(before) or None, collection=name, **numbers)


def _is_server(parts: SplitResult) -> bool:
    return parts.scheme in {"http", "https"} and bool(parts.hostname) and not parts.fragment


def client_of(address: Address) -> QdrantClient:
    """Return a client for the server of an address; nothing is sent yet."""
    with warnings.catch_warnings():
        if urlsplit(address.server).hostname in LOOPBACK:
            warnings.filterwarnings("ignore", message="Api key is used with an insecure", category=UserWarning)
        return QdrantClient(
            url=address.server,
            prefix=address.prefix,
            api_key=os.environ.get(KEY) or None,
            timeout=TIMEOUT,
            check_compatibility=False,  # it would send a request in the constructor, and print a warning if that fails
        )


class Calls:
    """Requests to one server, repeated with growing pauses while it is busy or unreachable.

    All requests of an index can be repeated without harm: the number of a point follows from its content.
    """

    def __init__(
        self,
        client: QdrantClient,
        name: str,
        *,
        owned: bool = True,
        patience: Patience = PATIENCE,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """Store the client and the patience.

        Args:
            client: the connection.
            name: of the server, for errors.
            owned: `close` closes the client.
            patience: with a server that is busy or unreachable.
            sleep: waits the given number of seconds.
        """
        self.client = client
        self.name = name
        self._owned = owned
        self._patience = patience
        self._answered = False
        self._sleep = sleep

    def close(self) -> None:
        """Close the client if it is owned."""
        if self._owned:
            self.client.close()

    @contextmanager
    def closed_on_error(self) -> Iterator[None]:
        """Close the client if the block ends in an error."""
        try:
            yield
        except BaseException:
            self.close()
            raise

    def __call__(self, request: Callable[[QdrantClient], T]) -> T:
        """Return the result of a request.

        Raises:
            CorpusIndexError: the server does not answer, or refuses the request.
        """
        try:
            return with_retries(lambda: self._attempt(request), self._patience, sleep=self._sleep)
        except Busy as busy:
            raise CorpusIndexError(busy.reason) from busy

    def _attempt(self, request: Callable[[QdrantClient], T]) -> T:
        """Send one request; raise Busy where another attempt may help."""
        try:
            reply = request(self.client)
        except ResourceExhaustedResponse as error:
            raise Busy(f"{self.name}: the server asks to wait ({error})", wait=float(error.retry_after_s)) from error
        except UnexpectedResponse as error:
            if error.status_code in BUSY:
                raise Busy(self._error_line(error)) from error
            raise CorpusIndexError(self._error_line(error)) from error
        except ResponseHandlingException as error:
            if not isinstance(error.source, httpx.TransportError):
                raise CorpusIndexError(f"{self.name}: the reply is not one of a Qdrant server") from error
            reason = str(error.source) or type(error.source).__name__
            line = f"{self.name}: no Qdrant server answers there: {reason}"
            if (
                not self._answered
            ):  # a server that never answered is probably a typing error in the address: do not wait
                raise CorpusIndexError(line) from error
            raise Busy(line) from error
        except JSONDecodeError as error:
            raise CorpusIndexError(f"{self.name}: the reply is not one of a Qdrant server") from error
        self._answered = True
        return reply

    def _error_line(self, error: UnexpectedResponse) -> str:
        if error.status_code in REFUSED:
            reason = "the API key was not accepted" if os.environ.get(KEY) else f"expected an API key in {KEY}"
            return f"{self.name}: refused (HTTP {error.status_code}): {reason}"
        try:
            message = str(error.structured()["status"]["error"])
        except (ValueError, KeyError, TypeError):
            message = error.content.decode("utf-8", "replace")
        return f"{self.name}: HTTP {error.status_code}: {' '.join(message.split())[:200] or error.reason_phrase}"
