"""The socket of a service, and limits on its connections: their number, and the time to ask and to read the answer.

uvicorn hands a request to the application once its head has arrived. A caller that sends half a head and waits costs a
descriptor and nothing else, so a thousand of them would keep everybody else out.
"""

import asyncio
import socket
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

from assay.errors import AssayError, plain_reason

HEAD_SECONDS = 10.0
BACKLOG = 64
"""Connections that the event loop accepts in one turn, before it can refuse any."""
KEPT = 2 * BACKLOG + 100
"""Descriptors that are left for files of the index, and for connections that are being refused."""
WAITING = 2048
"""Connections that the kernel keeps until the service accepts them."""
MOST = 1024
REFUSAL = (
    b"HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nContent-Length: 65\r\n"
    b'Retry-After: 1\r\nConnection: close\r\n\r\n{"detail":"too many connections are open; try again in a second"}'
)


def most_descriptors() -> int:
    """Return the limit on open files and sockets of this process; Windows states none for sockets."""
    try:
        import resource  # noqa: PLC0415  not on Windows
    except ImportError:
        return MOST
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]


@dataclass(slots=True)
class Connections:
    """The open connections of one service.

    Attributes:
        most: in all; None for as many as the limit on descriptors leaves, at most `MOST`.
        share: part of them that one address may have.
        head_seconds: time for the head of a request, from the start of the connection or the end of the last answer;
            and for the caller to read what was sent to it.
    """

    most: int | None = None
    share: float = 0.5
    head_seconds: float = HEAD_SECONDS
    by_address: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        if self.most is None:
            self.most = max(BACKLOG, min(MOST, most_descriptors() - KEPT))

    def are_too_many(self, address: str) -> bool:
        """Return True if no further connection of an address is served."""
        most = self.most or MOST
        return self.by_address.total() >= most or self.by_address[address] >= self.share * most

    def protocol(self) -> "type[GuardedProtocol]":
        """Return the protocol of uvicorn that keeps these limits."""
        # uvicorn makes an object of the class for each connection and passes none of ours, so the shared counts are an
        # attribute of the class; a new class for each service keeps two of them in one process apart
        return type("GuardedProtocolOfService", (GuardedProtocol,), {"admitted": self})


class GuardedProtocol(H11Protocol):
    """HTTP/1.1 with limits on connections; see `Connections`."""

    admitted: Connections
    _address: str | None = None
    _deadline: asyncio.TimerHandle | None = None
    _unread: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn declares it
        """Serve a connection, or refuse it with 503."""
        peer: Any = transport.get_extra_info("peername")
        address = peer[0] if isinstance(peer, tuple) else ""
        if self.admitted.are_too_many(address):
            transport.write(REFUSAL)
            transport.close()
            return
        self._address = address
        self.admitted.by_address[address] += 1
        super().connection_made(transport)
        self._wait_for_head()

    def data_received(self, data: bytes) -> None:
        """Read a part of a request; the time for the head of the next one starts with its first byte."""
        if self._address is None:  # refused, and not closed yet
            return
        super().data_received(data)
        cycle: Any = self.cycle  # None before the first request, whatever uvicorn declares
        if cycle is not None and not cycle.response_complete:
            self._stop_waiting()
        else:
            self._wait_for_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget a connection."""
        if self._address is None:  # it was refused, and never counted
            return
        self._stop_waiting()
        self._is_read()
        self.admitted.by_address[self._address] -= 1
        if not self.admitted.by_address[self._address]:
            del self.admitted.by_address[self._address]
        super().connection_lost(exc)

    def eof_received(self) -> None:
        """Close with the caller."""

    def pause_writing(self) -> None:
        """Cut a caller off that does not read: its answers fill the buffers, and it would keep its place for ever."""
        super().pause_writing()
        self._unread = self.loop.call_later(self.admitted.head_seconds, self.transport.abort)

    def resume_writing(self) -> None:
        """Go on with a caller that reads."""
        super().resume_writing()
        self._is_read()

    def timeout_keep_alive_handler(self) -> None:
        """Close a connection that asks nothing more."""
        super().timeout_keep_alive_handler()
        self._close()

    def _close(self) -> None:
        # closing waits until the caller has read the rest, aborting does not
        self.transport.close()
        self.loop.call_later(self.admitted.head_seconds, self.transport.abort)

    def _is_read(self) -> None:
        if self._unread is not None:
            self._unread.cancel()
            self._unread = None

    def _wait_for_head(self) -> None:
        # one timer from the first byte to the last of a head: bytes in between do not renew it, so a trickle is cut off
        if self._deadline is None:
            self._deadline = self.loop.call_later(self.admitted.head_seconds, self._close)

    def _stop_waiting(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


@contextmanager
def listening(host: str, port: int) -> Iterator[socket.socket]:
    """Open a bound socket.

    Raises:
        AssayError: the address cannot be used.
    """
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        opened = socket.socket(family, kind, protocol)
    except OSError as error:
        raise AssayError(f"--host {host}: {error.strerror}; expected an address of this machine") from error
    with opened:
        # a service that is started again does not wait for connections of the last one to be forgotten
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            opened.bind(address)
        except (OSError, OverflowError) as error:
            raise AssayError(
                f"{host}:{port}: {plain_reason(error)}; expected a free address of this machine"
            ) from error
        opened.listen(WAITING)
        yield opened
