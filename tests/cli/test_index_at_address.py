"""The commands of an index take an address where they take a folder."""

import json
import sys

import pytest

pytest.importorskip("qdrant_client", reason="the extra qdrant is not installed")

from fastapi.testclient import TestClient
from qdrant_client import QdrantClient
from typer.testing import CliRunner

from assay.cli.app import app
from assay.provenance.qdrant import index as qdrant_index
from assay.service.app import create_app

ADDRESS = "http://localhost:6333/corpus"
CODE = "def joined(words, mark):\n    found = [word.strip() for word in words if word]\n    return mark.join(found)\n"


@pytest.fixture
def server(monkeypatch):
    """What answers at every address: the client's own engine, which stays open."""
    client = QdrantClient(":memory:")
    close = client.close
    client.close = lambda: None
    monkeypatch.setattr(qdrant_index, "client_of", lambda _: client)
    yield client
    close()


@pytest.fixture
def corpus(tmp_path):
    folder = tmp_path / "corpus"
    folder.mkdir()
    for name in ("alpha", "beta"):
        (folder / f"{name}.py").write_text(f"# SPDX-License-Identifier: MIT\n{CODE.replace('joined', name)}" * 2)
    return folder


def run(*words):
    result = CliRunner().invoke(app, [str(word) for word in words], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_an_index_at_an_address_is_built_told_traced_served_and_emptied(server, corpus, tmp_path):
    built = json.loads(run("index", "build", corpus, "--index", ADDRESS, "--jobs", 1, "--json"))
    assert built["read"] == 2
    again = json.loads(run("index", "add", corpus, "--index", ADDRESS, "--jobs", 1, "--json"))
    assert (again["unchanged"], again["documents"]) == (2, 0)
    told = json.loads(run("index", "info", "--index", ADDRESS, "--json"))
    assert (told["folder"], told["sources"], told["licences"]) == (ADDRESS, [str(corpus)], {"MIT": told["documents"]})
    assert "documents at" in run("index", "info", "--index", ADDRESS)
    query = tmp_path / "query.py"
    query.write_text(CODE.replace("words", "lines").replace("found", "kept") * 2)
    (traced,) = json.loads(run("trace", query, "--index", ADDRESS, "--min-confidence", 0, "--json"))
    assert {match["path"] for match in traced["matches"]} == {"alpha.py", "beta.py"}
    with TestClient(create_app(ADDRESS)) as client:
        answer = client.post("/api/trace", json={"code": query.read_text(), "language": "python"}).json()
        number = answer["matches"][0]["document_id"]
        assert client.get(f"/api/documents/{number}").json()["origins"][0]["licence"] == "MIT"
    assert run("index", "remove", corpus, "--index", ADDRESS).startswith("2 files")
    assert json.loads(run("index", "info", "--index", ADDRESS, "--json"))["documents"] == 0


def test_a_server_compacts_its_collections_itself(server):
    result = CliRunner().invoke(app, ["index", "compact", "--index", ADDRESS])
    assert "expected the folder of an index" in str(result.exception)


def test_without_the_extra_the_missing_package_is_named(monkeypatch):
    for name in [one for one in sys.modules if one.startswith("assay.provenance.qdrant")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "qdrant_client", None)
    result = CliRunner().invoke(app, ["index", "info", "--index", ADDRESS])
    assert "assay[qdrant]" in str(result.exception)
