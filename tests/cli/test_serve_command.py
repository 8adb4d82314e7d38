"""`assay serve` as a person starts it."""

import signal
import socket
import subprocess
import sys
from urllib.parse import urlsplit

import httpx
import pytest

from assay.provenance import CodeIndex
from support.commands import run_assay

PATIENCE = 120


@pytest.fixture(scope="module")
def empty_index(tmp_path_factory):
    folder = tmp_path_factory.mktemp("serve") / "index"
    CodeIndex.create(folder).close()
    return folder


@pytest.mark.slow
@pytest.mark.parametrize(("how", "code"), [(signal.SIGTERM, -signal.SIGTERM), (signal.SIGINT, 130)])
def test_it_ends_when_it_is_stopped_whatever_a_client_is_doing(empty_index, how, code):
    """One client has sent half a request. Another one asks for much and reads nothing."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's `&` lets its children ignore Ctrl-C
    command = [sys.executable, "-m", "assay", "serve", "--index", str(empty_index), "--port", "0", "--timeout", "1"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            address = urlsplit(process.stdout.readline().strip())
            where = (address.hostname, address.port)
            with socket.create_connection(where) as stalled, socket.create_connection(where) as deaf:
                stalled.sendall(b"POST /api/trace HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n{")
                deaf.sendall(b"GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n" * 2000)
                assert httpx.get(f"{address.geturl()}health", timeout=PATIENCE).json() == {"status": "ok"}
                assert "Where does this code come from?" in httpx.get(address.geturl(), timeout=PATIENCE).text
                process.send_signal(how)
                _, errors = process.communicate(timeout=PATIENCE)
        finally:
            process.kill()
            signal.signal(signal.SIGINT, before)
    assert process.returncode == code
    assert "Traceback" not in errors
    assert "continue" not in errors


def test_a_folder_without_an_index_is_told_in_one_line(tmp_path):
    found = run_assay("serve", "--index", tmp_path)
    assert found.code == 2
    assert found.err.startswith("assay: error:")
    assert "no index here" in found.err
    assert len(found.err.splitlines()) == 1


def test_a_port_that_is_taken_is_told_in_one_line(empty_index):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        found = run_assay("serve", "--index", empty_index, "--port", port)
    assert found.code == 2
    assert f"127.0.0.1:{port}" in found.err
    assert len(found.err.splitlines()) == 1


def test_an_address_that_is_none_is_told_in_one_line(empty_index):
    found = run_assay("serve", "--index", empty_index, "--host", "256.1.1.1")
    assert found.code == 2
    assert "--host 256.1.1.1" in found.err
