"""The commands of an index take an address where they take a folder."""

import json

import pytest

pytest.importorskip("qdrant_client", reason="qdrant-client is not installed")

from fastapi.testclient import TestClient
from qdrant_server import qdrant_server
from typer.testing import CliRunner

from assay.cli.app import app
from assay.service.app import create_app
from support.commands import run_assay

KEY = "QDRANT_API_KEY"
CODE = "def joined(words, mark):\n    found = [word.strip() for word in words if word]\n    return mark.join(found)\n"


@pytest.fixture
def server(monkeypatch):
    """A played server, which wants a key."""
    monkeypatch.setenv(KEY, "hush")
    with qdrant_server(key="hush") as made:
        made.address = f"{made.url}/corpus?shards=2"
        yield made


@pytest.fixture
def corpus(tmp_path):
    folder = tmp_path / "corpus"
    folder.mkdir()
    for name in ("alpha", "beta"):
        (folder / f"{name}.py").write_text(f"# SPDX-License-Identifier: MIT\n{CODE.replace('joined', name)}" * 2)
    return folder


def run(*words):
    result = run_assay(*words)
    assert result.code == 0, result.err
    return result.out


@pytest.mark.slow
def test_an_index_at_an_address_is_built_told_traced_served_and_emptied(server, corpus, tmp_path):
    address = server.address
    built = json.loads(run("index", "build", corpus, "--index", address, "--jobs", 1, "--json"))
    assert built["read"] == 2
    again = json.loads(run("index", "add", corpus, "--index", address, "--jobs", 1, "--json"))
    assert (again["unchanged"], again["documents"]) == (2, 0)
    told = json.loads(run("index", "info", "--index", address, "--json"))
    assert (told["folder"], told["sources"], told["licences"]) == (address, [str(corpus)], {"MIT": told["documents"]})
    assert "documents at" in run("index", "info", "--index", address)
    query = tmp_path / "query.py"
    query.write_text(CODE.replace("words", "lines").replace("found", "kept") * 2)
    (traced,) = json.loads(run("trace", query, "--index", address, "--min-confidence", 0, "--json"))["files"]
    assert {place["path"] for each in traced["findings"] for place in each["places"]} == {"alpha.py", "beta.py"}
    with TestClient(create_app(address)) as client:
        answer = client.post("/api/trace", json={"code": query.read_text(), "language": "python"}).json()
        number = answer["findings"][0]["places"][0]["document_id"]
        assert client.get(f"/api/documents/{number}").json()["origins"][0]["licence"] == "MIT"
    assert run("index", "remove", corpus, "--index", address).startswith("2 files")
    assert json.loads(run("index", "info", "--index", address, "--json"))["documents"] == 0


def test_without_the_key_the_server_refuses(server, monkeypatch):
    monkeypatch.delenv(KEY)
    result = CliRunner().invoke(app, ["index", "info", "--index", server.address])
    assert f"expected an API key in {KEY}" in str(result.exception)


def test_a_server_compacts_its_collections_itself():
    result = CliRunner().invoke(app, ["index", "compact", "--index", "http://localhost/corpus"])
    assert "expected the folder of an index" in str(result.exception)
