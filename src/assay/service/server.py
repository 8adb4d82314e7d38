"""A socket that accepts connections."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager

from assay.errors import AssayError, plain_reason

WAITING = 2048
"""Connections that the kernel keeps until the service accepts them."""


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
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            opened.bind(address)
        except (OSError, OverflowError) as error:
            raise AssayError(
                f"{host}:{port}: {plain_reason(error)}; expected a free address of this machine"
            ) from error
        opened.listen(WAITING)
        yield opened
