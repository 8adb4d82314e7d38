"""The graph over vectors finds what a comparison of all finds; removals, additions and damage lose nothing."""

import os
import signal
import sys

import numpy as np
import pytest

from assay.errors import CorpusIndexError
from assay.retrieval import vectors
from assay.retrieval.vectors import VectorIndex

pytest.importorskip("usearch", reason="the extra graph is not installed")

DIMENSIONS, DOCUMENTS = 32, 3000


@pytest.fixture(autouse=True)
def _small_indexes_get_a_graph(monkeypatch):
    monkeypatch.setattr(vectors, "GRAPH_FROM", 1000)


@pytest.fixture
def rows():
    """Vectors around a hundred centres, as code around its idioms."""
    draw = np.random.default_rng(0)
    centres = draw.normal(size=(100, DIMENSIONS))
    return (centres[draw.integers(0, 100, DOCUMENTS)] + draw.normal(size=(DOCUMENTS, DIMENSIONS))).astype(np.float32)


@pytest.fixture
def index(tmp_path, rows):
    made = VectorIndex.create(tmp_path / "vectors", DIMENSIONS)
    made.add(np.arange(1, DOCUMENTS + 1), rows)
    made.connect()
    made.commit()
    return made


def recall(index, queries, n=20):
    shared = []
    for query in queries:
        found, exact = (index.search(query, n, exact=exact)[0] for exact in (False, True))
        assert len(found) == len(exact)
        shared.append(len(np.intersect1d(found, exact)) / n)
    return np.mean(shared)


def test_the_graph_finds_the_nearest_with_their_cosines(index, rows):
    assert index.graph is not None
    assert recall(index, rows[:50]) >= 0.98
    documents, cosines = index.search(rows[7], 5)
    assert documents[0] == 8
    assert cosines[0] == pytest.approx(1, abs=1e-4)
    assert (np.diff(cosines) <= 0).all()


def test_a_reader_maps_the_graph_that_was_committed(index, rows, tmp_path):
    opened = VectorIndex.open(tmp_path / "vectors")
    assert opened.connected == DOCUMENTS
    for query in rows[:20]:
        assert opened.search(query, 10)[0].tolist() == index.search(query, 10)[0].tolist()


def test_removed_documents_make_room_for_the_next(index, rows, tmp_path):
    for query in rows[:5]:
        near = index.search(query, 200)[0]
        index.remove_all(near)
        found = index.search(query, 20)[0]
        assert len(found) == 20
        assert not np.intersect1d(found, near).size
    assert recall(index, rows[100:140]) >= 0.98
    index.commit()
    reopened = VectorIndex.open(tmp_path / "vectors")
    assert recall(reopened, rows[100:140]) >= 0.98


def test_where_nearly_all_was_removed_the_rest_is_found(index, rows):
    index.remove_all(np.arange(1, DOCUMENTS - 9))
    assert set(index.search(rows[0], 10)[0].tolist()) == set(range(DOCUMENTS - 9, DOCUMENTS + 1))


def test_documents_that_were_added_since_are_found_too(index, rows):
    late = rows[:100] + np.float32(0.01)
    index.add(np.arange(DOCUMENTS + 1, DOCUMENTS + 101), late)
    assert {DOCUMENTS + 5, 5} <= set(index.search(late[4], 2)[0].tolist())
    index.commit()
    graph = index.graph
    index.connect()
    assert index.graph is graph  # so few are compared one by one
    index.add(np.arange(DOCUMENTS + 101, DOCUMENTS + 601), rows[:500])
    index.connect()
    index.commit()
    assert index.connected == DOCUMENTS + 600
    assert recall(index, rows[:30]) >= 0.98


def test_many_removed_documents_leave_the_graph(index, rows):
    index.remove_all(np.arange(1, 1001))
    index.compact()
    index.connect()
    index.commit()
    assert index.connected == 2000
    assert recall(index, rows[1000:1030]) >= 0.98


def test_files_may_be_merged_under_a_graph(index, rows):
    index.add(np.arange(DOCUMENTS + 1, DOCUMENTS + 51), rows[:50])
    index.commit()
    before = [index.search(query, 10)[0].tolist() for query in rows[:20]]
    index.compact()
    index.commit()
    assert index.segments == 1
    assert [index.search(query, 10)[0].tolist() for query in rows[:20]] == before


def test_of_several_vectors_of_a_document_the_nearest_counts(tmp_path, rows):
    index = VectorIndex.create(tmp_path / "vectors", DIMENSIONS)
    index.add(np.repeat(np.arange(300), 10), rows)
    index.connect()
    index.commit()
    assert index.connected == DOCUMENTS
    assert recall(index, rows[:30]) >= 0.98
    assert int(index.search(rows[1234], 1)[0][0]) == 123


def test_a_small_index_has_no_graph(tmp_path, rows):
    index = VectorIndex.create(tmp_path / "vectors", DIMENSIONS)
    index.add(np.arange(900), rows[:900])
    index.connect()
    index.commit()
    assert index.graph is None
    assert index.is_connected
    assert not list((tmp_path / "vectors").glob("*.graph"))


def graph_file(tmp_path):
    (file,) = (tmp_path / "vectors").glob("*.graph")
    return file


@pytest.mark.parametrize("damage", ["cut", "changed", "missing"])
def test_a_damaged_graph_changes_no_answer_and_is_reported(damage, index, rows, tmp_path):
    file = graph_file(tmp_path)
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 255
    if damage == "missing":
        file.unlink()
    else:
        file.write_bytes(content[:-5] if damage == "cut" else content)
    reader = VectorIndex.open(tmp_path / "vectors")
    assert reader.graph is None
    assert str(file) in reader.graph_fault
    for query in rows[:5]:
        assert reader.search(query, 10)[0].tolist() == index.search(query, 10, exact=True)[0].tolist()
    with pytest.raises(CorpusIndexError, match="the graph"):
        reader.check()
    writer = VectorIndex.open(tmp_path / "vectors", writable=True)
    writer.connect()
    writer.commit()
    again = VectorIndex.open(tmp_path / "vectors")
    assert again.graph is not None
    again.check()


def test_a_graph_outside_of_the_folder_is_never_opened(index, tmp_path):
    entry = {**index.described["graph"], "name": "../other.graph"}
    with pytest.raises(CorpusIndexError, match="a file named"):
        VectorIndex.create(tmp_path / "other", DIMENSIONS).take_graph(entry)


def test_without_the_package_the_index_is_read_exactly(index, rows, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "usearch", None)
    monkeypatch.setattr("assay.errors.find_spec", lambda _name: None)
    monkeypatch.setattr(vectors, "find_spec", lambda _name: None)
    reader = VectorIndex.open(tmp_path / "vectors")
    assert reader.graph is None
    assert "needs the package 'usearch'" in reader.graph_fault
    assert reader.search(rows[0], 5)[0].tolist() == index.search(rows[0], 5, exact=True)[0].tolist()
    reader.check()


@pytest.mark.skipif(sys.platform == "win32", reason="kill -9 is a matter of POSIX")
@pytest.mark.parametrize("sync", range(1, 9))
def test_a_kill_while_the_graph_is_written_loses_nothing(sync, rows, tmp_path):
    index = VectorIndex.create(tmp_path / "vectors", DIMENSIONS)
    index.add(np.arange(1, 2001), rows[:2000])
    index.commit()
    child = os.fork()
    if not child:
        counted, asked = os.fsync, iter(range(sync - 1))

        def sync_or_die(descriptor):
            if next(asked, None) is None:
                os.kill(os.getpid(), signal.SIGKILL)
            counted(descriptor)

        os.fsync = sync_or_die
        writer = VectorIndex.open(tmp_path / "vectors", writable=True)
        writer.remove_all(np.arange(1, 11))
        writer.connect()
        writer.commit()
        os._exit(0)
    os.waitpid(child, 0)
    reader = VectorIndex.open(tmp_path / "vectors")
    assert len(reader) in {2000, 1990}
    assert (reader.graph is None) == (len(reader) == 2000)
    assert all(reader.search(rows[at], 1, exact=True)[0].tolist() == [at + 1] for at in range(100, 110))
    writer = VectorIndex.open(tmp_path / "vectors", writable=True)
    writer.remove_all(np.arange(1, 11))
    writer.connect()
    writer.commit()
    assert len(list((tmp_path / "vectors").glob("*.graph"))) == 1
    written = VectorIndex.open(tmp_path / "vectors")
    assert all(written.search(rows[at], 1, exact=True)[0].tolist() == [at + 1] for at in range(100, 110))
