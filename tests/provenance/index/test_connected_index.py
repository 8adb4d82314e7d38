"""A large index has a graph, built by a build or by `compact`; without one it is read exactly, and says so."""

import random

import pytest
from typer.testing import CliRunner

from assay.cli.app import app
from assay.corpora import Document, Origin
from assay.provenance import CodeIndex, trace
from assay.provenance.search import TraceSettings
from assay.retrieval import open_encoder, vectors

WORDS = ("total", "price", "queue", "label", "width", "offset", "height", "record", "socket", "buffer")


def function(number):
    draw = random.Random(number)
    names = draw.sample(WORDS, 4)
    lines = [f"    {draw.choice(names)} = {draw.choice(names)} + {draw.choice(names)}_{number}" for _ in range(6)]
    return f"def work_{number}({names[0]}, {names[1]}):\n" + "\n".join(lines) + "\n"


@pytest.fixture
def corpus(tmp_path):
    folder = tmp_path / "corpus"
    folder.mkdir()
    for number in range(60):
        (folder / f"file_{number}.py").write_text(function(number))
    return folder


def assay(*words):
    return CliRunner().invoke(app, list(map(str, words)))


@pytest.fixture
def place(tmp_path, corpus):
    """An index without a graph, because it was small when it was built."""
    assert assay("index", "build", corpus, "--index", tmp_path / "index").exit_code == 0
    return tmp_path / "index"


@pytest.fixture
def _large(monkeypatch, place):
    """From now on the index is one of many vectors."""
    assert place.is_dir()
    monkeypatch.setattr(vectors, "GRAPH_FROM", 50)
    monkeypatch.setattr(vectors, "MOST_BY_GRAPH", 10)


@pytest.mark.usefixtures("_large")
def test_without_a_graph_a_trace_names_compact_unless_an_exact_search_was_asked_for(place):
    with CodeIndex.open(place, encoder=encoder()) as index:
        note = "each search compares all 60 vectors: the index has no graph"
        assert index.info().graph == 0
        assert note in index.vector_note
        (found,) = [each for each in trace(function(3), index, language="python").notes if "vectors" in each]
        assert found.startswith(note)
        assert found.endswith("`assay index compact` builds it")
        for settings, method in ((TraceSettings(exact=True), "union"), (TraceSettings(), "winnowing")):
            notes = trace(function(3), index, language="python", method=method, settings=settings).notes
            assert not any("vectors" in each for each in notes)


def encoder():
    return open_encoder("builtin:fragments")


@pytest.mark.usefixtures("_large")
def test_compact_builds_the_graph_and_traces_find_the_same(place, corpus, tmp_path):
    pytest.importorskip("usearch", reason="the extra graph is not installed")
    before = [traced(place, number) for number in range(5)]
    assert assay("index", "compact", "--index", place).exit_code == 0
    assert "a graph over 60 vectors" in " ".join(assay("index", "info", "--index", place).stdout.split())
    assert [traced(place, number) for number in range(5)] == before
    assert [traced(place, number, exact=True) for number in range(5)] == before
    assert assay("index", "verify", "--index", place).exit_code == 0
    new = tmp_path / "new"
    assert assay("index", "build", corpus, "--index", new).exit_code == 0
    with CodeIndex.open(new, encoder=encoder()) as index:
        assert index.info().graph == 60
        assert index.vector_note == ""


def traced(place, number, *, exact=False):
    with CodeIndex.open(place, encoder=encoder()) as index:
        settings = TraceSettings(exact=exact)
        matches = trace(function(number), index, language="python", method="vector", settings=settings).matches
        return [(match.path, match.cosine) for match in matches]


@pytest.mark.usefixtures("_large")
def test_a_graph_survives_additions_removals_and_repair(place):
    pytest.importorskip("usearch", reason="the extra graph is not installed")
    with CodeIndex.open(place, writable=True, encoder=encoder()) as index:
        index.compact()
        index.add([Document(function(900), "python", "function", "late", (Origin("late", "late.py"),))])
        index.remove(source=index.info().sources[0], path="file_3.py")
        index.commit()
    assert traced(place, 900)[0][0] == "late.py"
    assert "file_3.py" not in dict(traced(place, 3))
    (graph,) = (place / "vectors").glob("*.graph")
    graph.write_bytes(graph.read_bytes()[:-1])
    damaged = assay("index", "verify", "--index", place).exception
    assert "the graph is half-written" in str(damaged)
    assert str(damaged).endswith("see `assay index verify --repair`")
    assert traced(place, 900)[0][0] == "late.py"
    CodeIndex.repair(place)
    with CodeIndex.open(place, encoder=encoder()) as index:
        index.check()
        assert index.info().graph == 60
