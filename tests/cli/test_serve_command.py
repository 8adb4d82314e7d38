"""`assay serve` as a person starts it."""

import socket
import subprocess
import sys

import httpx
import pytest

from assay.provenance import CodeIndex

PATIENCE = 120


def served(*arguments, **settings):
    return subprocess.run(
        [sys.executable, "-m", "assay", "serve", *map(str, arguments)],
        capture_output=True, text=True, timeout=PATIENCE, check=False, **settings,
    )  # fmt: skip


@pytest.fixture(scope="module")
def empty_index(tmp_path_factory):
    folder = tmp_path_factory.mktemp("serve") / "index"
    CodeIndex.create(folder).close()
    return folder


def test_it_says_where_it_listens_and_answers_there(empty_index):
    command = [sys.executable, "-m", "assay", "serve", "--index", str(empty_index), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            address = process.stdout.readline().strip()
            assert httpx.get(f"{address}health", timeout=PATIENCE).json() == {"status": "ok"}
            assert "Where does this code come from?" in httpx.get(address, timeout=PATIENCE).text
        finally:
            process.terminate()
            process.communicate(timeout=PATIENCE)


def test_a_folder_without_an_index_is_told_in_one_line(tmp_path):
    found = served("--index", tmp_path)
    assert found.returncode == 2
    assert found.stderr.startswith("assay: error:")
    assert "no index here" in found.stderr
    assert len(found.stderr.splitlines()) == 1


def test_a_port_that_is_taken_is_told_in_one_line(empty_index):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        found = served("--index", empty_index, "--port", port)
    assert found.returncode == 2
    assert f"127.0.0.1:{port}" in found.stderr
    assert len(found.stderr.splitlines()) == 1


def test_an_address_that_is_none_is_told_in_one_line(empty_index):
    found = served("--index", empty_index, "--host", "256.1.1.1")
    assert found.returncode == 2
    assert "--host 256.1.1.1" in found.stderr
