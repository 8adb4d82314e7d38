"""Callers that open connections and do not ask keep nobody else out for long."""

import logging
import socket
import threading
from contextlib import ExitStack
from urllib.parse import urlsplit

import httpx
import pytest

from assay.service import Connections
from assay.service.answers import public_name
from assay.service.connections import GuardedProtocol
from support.serving import serving

HALF_A_HEAD = b"GET /health HTTP/1.1\r\nHost: localhost\r\nX-Wait: "


def connect(address):
    place = urlsplit(address)
    return socket.create_connection((place.hostname, place.port), timeout=60)


def everything(connection):
    """All that the service sends until it closes the connection."""
    pieces = []
    try:
        while piece := connection.recv(4096):
            pieces.append(piece)
    except ConnectionResetError:
        pass
    return b"".join(pieces)


def test_connections_with_half_a_head_are_closed_and_those_beyond_the_limit_get_503(small_index, caplog):
    connections = Connections(most=20, share=1, head_seconds=2)
    with serving(small_index, connections=connections) as address, ExitStack() as opened:
        waiting = [opened.enter_context(connect(address)) for _ in range(60)]
        for connection in waiting:
            try:
                connection.sendall(HALF_A_HEAD)
            except OSError:  # refused already
                continue
        answers = [everything(connection) for connection in waiting]
        refused = [answer for answer in answers if answer.startswith(b"HTTP/1.1 503 ")]
        assert (len(refused), answers.count(b"")) == (40, 20)
        assert all(answer.endswith(b'try again in a second"}') for answer in refused)
        assert httpx.get(f"{address}health", timeout=60).json() == {"status": "ok"}
        assert connections.by_address.total() <= 1
    assert not [record for record in caplog.records if record.levelno >= logging.ERROR]


def test_one_address_has_a_part_of_the_connections_only():
    connections = Connections(most=10, share=0.5)
    connections.by_address.update({"a": 5, "b": 1})
    assert connections.are_too_many("a")
    assert not connections.are_too_many("b")
    connections.by_address.update({"b": 4})
    assert connections.are_too_many("c")


def test_a_second_head_on_a_kept_connection_has_the_same_time(small_index):
    with serving(small_index, connections=Connections(head_seconds=1)) as address, connect(address) as connection:
        connection.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert connection.recv(4096).startswith(b"HTTP/1.1 200 ")
        connection.sendall(HALF_A_HEAD)
        assert b"HTTP/1.1 200" not in everything(connection)


def test_a_caller_that_does_not_read_its_answers_is_cut_off(small_index, monkeypatch):
    """Its answers fill the buffers of both sides: without a time for it, the connection would stay open for ever."""
    lost, connection_lost = threading.Event(), GuardedProtocol.connection_lost

    def ended(protocol, error):
        connection_lost(protocol, error)
        lost.set()

    monkeypatch.setattr(GuardedProtocol, "connection_lost", ended)
    with serving(small_index, connections=Connections(head_seconds=1)) as address, socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)  # else the kernel takes all of them
        connection.connect((urlsplit(address).hostname, urlsplit(address).port))
        connection.sendall(b"GET /static/page.js HTTP/1.1\r\nHost: localhost\r\n\r\n" * 1_000)
        assert lost.wait(60)


def test_the_description_declares_the_token(small_index):
    with serving(small_index, token="secret") as address:  # noqa: S106  of a service that lives for one test
        described = httpx.get(f"{address}openapi.json", timeout=60).json()
    assert described["components"]["securitySchemes"]["HTTPBearer"]["scheme"] == "bearer"
    assert described["paths"]["/api/trace"]["post"]["security"] == [{"HTTPBearer": []}]
    assert "security" not in described["paths"]["/health"]["get"]


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("/srv/secret/corpus", "corpus"),
        ("/srv/a.zip/", "a.zip"),
        ("C:\\code\\lib", "lib"),
        ("\\\\host\\share\\lib", "lib"),
        ("~/src/lib", "lib"),
        ("corpus/part", "corpus/part"),
        ("https://example.org/a/b", "https://example.org/a/b"),
    ],
)
def test_a_source_has_a_name_and_never_a_place_on_the_machine(source, name):
    assert public_name(source) == name
