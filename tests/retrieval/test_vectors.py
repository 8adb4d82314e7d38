"""Search by vector: the nearest documents are found, however many cosines are computed."""

import json
import zlib
from dataclasses import replace

import numpy as np
import pytest

from assay.errors import CorpusIndexError
from assay.retrieval import VectorRows, vector_file
from assay.retrieval.vector_file import _bit_planes, parts, sign_products
from assay.retrieval.vectors import VectorIndex

DIMENSIONS = 96


def directions(seed, count, dimensions=DIMENSIONS):
    vectors = np.random.default_rng(seed).normal(size=(count, dimensions)).astype(np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


@pytest.fixture
def rows():
    return directions(0, 3000)


@pytest.fixture
def queries():
    """Queries unlike every document."""
    return directions(1, 40)


def filled(folder, rows, *, files=1):
    index = VectorIndex.create(folder, rows.shape[1])
    for part in np.array_split(np.arange(len(rows)), files):
        index.add(part, rows[part])
        index.commit()
    return index


def nearest(rows, query, n, without=()):
    similarities = rows @ query
    similarities[list(without)] = -2
    return np.argsort(-similarities, kind="stable")[:n]


def share_found(index, rows, queries, n=20, without=()):
    shared = [np.intersect1d(index.search(query, n)[0], nearest(rows, query, n, without)) for query in queries]
    return np.mean([len(documents) / n for documents in shared])


@pytest.mark.parametrize("files", [1, 3])
def test_of_a_file_that_is_searched_exactly_nothing_is_missed(tmp_path, rows, queries, files):
    index = filled(tmp_path / "vectors", rows, files=files)
    # 8 bits a component: at the end of the list two neighbours may change places
    assert share_found(index, rows, queries) > 0.97
    index.remove_all(np.arange(0, 3000, 5))
    assert share_found(index, rows, queries, without=range(0, 3000, 5)) > 0.97


def test_similarities_are_cosines_and_fall(tmp_path, rows, queries):
    documents, similarities = filled(tmp_path / "vectors", rows).search(queries[0], 10)
    assert similarities == pytest.approx(rows[documents] @ queries[0], abs=3e-3)
    assert (np.diff(similarities) <= 0).all()


def test_a_vector_is_as_near_to_itself_as_can_be(tmp_path, rows):
    documents, similarities = filled(tmp_path / "vectors", rows).search(rows[7], 2)
    assert documents[0] == 7
    assert similarities[0] == pytest.approx(1, abs=1e-4)


def test_of_a_large_file_the_nearest_by_signs_are_compared_and_few_are_missed(tmp_path, rows, monkeypatch):
    monkeypatch.setattr(vector_file, "LEAST_COMPARED", 60)
    index = filled(tmp_path / "vectors", rows)
    noise = directions(2, 40)
    queries = rows[:40] + noise
    documents = [index.search(query, 5)[0] for query in queries]
    assert np.mean([at in nearest for at, nearest in enumerate(documents)]) > 0.95
    assert share_found(index, rows, queries, n=3) < 1  # the fixture is so hard that a search of 60 misses something


def test_a_removed_document_does_not_take_the_place_of_a_compared_one(tmp_path, rows, monkeypatch):
    monkeypatch.setattr(vector_file, "LEAST_COMPARED", 10)
    monkeypatch.setattr(vector_file, "COMPARED_SHARE", 0)
    index = filled(tmp_path / "vectors", rows)
    query = rows[0]
    near = index.search(query, 10)[0]
    index.remove_all(near)
    assert len(index.search(query, 10)[0]) == 10
    assert not np.intersect1d(index.search(query, 10)[0], near).size


def test_a_file_that_was_reopened_answers_as_before(tmp_path, rows, queries):
    index = filled(tmp_path / "vectors", rows, files=5)
    before = [index.search(query, 10) for query in queries]
    index.remove_all(np.array([3, 4]))
    index.compact()
    index.commit()
    reopened = VectorIndex.open(tmp_path / "vectors")
    assert len(reopened) == 2998
    assert np.array_equal(reopened.ids(), np.delete(np.arange(3000), [3, 4]))
    for query, (documents, similarities) in zip(queries, before, strict=True):
        if not np.isin(documents, [3, 4]).any():
            again, cosines = reopened.search(query, 10)
            assert again.tolist() == documents.tolist()
            assert cosines.tolist() == similarities.tolist()


def test_documents_may_be_added_in_any_order_and_merged(tmp_path, rows):
    index = VectorIndex.create(tmp_path / "vectors", DIMENSIONS)
    for part in (np.array([9, 2, 5]), np.array([4, 1, 8]), np.array([3, 7]), np.array([6])):
        index.add(part, rows[part])
        index.commit()
    index.compact()
    index.commit()
    assert index.ids().tolist() == list(range(1, 10))
    assert [int(index.search(rows[at], 1)[0][0]) for at in range(1, 10)] == list(range(1, 10))


def test_signs_are_multiplied_with_the_rounded_query():
    rows, query = directions(4, 50, 130), directions(5, 1, 130)[0]
    steps = np.rint(query / np.abs(query).max() * 7).astype(int)
    file = VectorRows.of(np.arange(50), rows)
    expected = (file.values > 0) @ steps
    assert sign_products(file.signs, _bit_planes(query)).tolist() == expected.tolist()


def test_a_vector_of_zeros_has_cosine_zero_with_everything(tmp_path, rows):
    index = VectorIndex.create(tmp_path / "vectors", DIMENSIONS)
    index.add(np.arange(2), np.stack([np.zeros(DIMENSIONS, np.float32), rows[0]]))
    documents, similarities = index.search(rows[0], 2)
    assert documents.tolist() == [1, 0]
    assert similarities[1] == 0


@pytest.mark.parametrize("dimensions", [1, 64, 65, 768, 5000])
def test_any_number_of_dimensions(dimensions):
    rows = directions(3, 50, dimensions)
    file = VectorRows.of(np.arange(50), rows)
    content = b"".join(parts([file], [np.ones(50, np.bool_)]))
    again = VectorRows.read(np.frombuffer(content, np.uint8), dimensions)
    documents, cosines = again.nearest(rows[4], 50, np.zeros(0, np.int64))
    assert cosines == pytest.approx(rows[documents] @ rows[4], abs=2e-2)


def test_a_file_of_other_vectors_is_damage(rows):
    content = np.frombuffer(b"".join(parts([VectorRows.of(np.arange(5), rows[:5])], [np.ones(5, np.bool_)])), np.uint8)
    with pytest.raises(ValueError, match="not whole vectors"):
        VectorRows.read(content[:-1], DIMENSIONS)
    swapped = content.copy()
    swapped[:16] = np.roll(swapped[:16], 8)
    with pytest.raises(ValueError, match="ascending"):
        VectorRows.read(swapped, DIMENSIONS)


def test_vectors_of_another_length_are_refused(tmp_path):
    index = VectorIndex.create(tmp_path / "vectors", DIMENSIONS)
    with pytest.raises(CorpusIndexError, match="expected"):
        index.add(np.arange(1), np.ones((1, 3), np.float32))


def forged(folder, **changes):
    """Change fields of the manifest of an index, with the right checksum."""
    path = folder / "manifest-0000000001.json"
    manifest = json.loads(path.read_bytes().partition(b"\n")[2]) | changes
    content = json.dumps(manifest).encode()
    path.write_bytes(f"{zlib.crc32(content):08x}\n".encode() + content)


@pytest.mark.parametrize("dimensions", [0, -1, -20, 10**30, True, "96", None])
def test_a_number_of_components_that_cannot_be_is_damage(tmp_path, rows, dimensions):
    filled(tmp_path / "vectors", rows[:50])
    forged(tmp_path / "vectors", dimensions=dimensions)
    with pytest.raises(CorpusIndexError, match="damaged"):
        VectorIndex.open(tmp_path / "vectors")


@pytest.mark.parametrize("scale", [np.nan, np.inf, 0, -1])
def test_a_length_that_is_no_positive_number_is_damage(rows, scale):
    file = VectorRows.of(np.arange(5), rows[:5])
    content = b"".join(parts([replace(file, scales=np.float32([1, scale, 1, 1, 1]))], [np.ones(5, np.bool_)]))
    with pytest.raises(ValueError, match="positive"):
        VectorRows.read(np.frombuffer(content, np.uint8), DIMENSIONS)


@pytest.mark.parametrize("name", ["/dev/zero", "../0000000001.vectors", "", "0000000001.vectors/x"])
def test_a_file_outside_of_the_folder_is_never_opened(tmp_path, rows, name):
    filled(tmp_path / "vectors", rows[:50])
    forged(tmp_path / "vectors", files=[{"name": name, "bytes": 0, "checksum": 0}])
    with pytest.raises(CorpusIndexError, match="damaged"):
        VectorIndex.open(tmp_path / "vectors")


def test_documents_that_two_files_have_are_damage_that_a_repair_drops(tmp_path, rows):
    index = filled(tmp_path / "vectors", rows[:50])
    (file,) = index._files
    (tmp_path / "vectors" / "0000000009.vectors").write_bytes((tmp_path / "vectors" / file.name).read_bytes())
    entries = [dict(file.entry), file.entry | {"name": "0000000009.vectors"}]
    forged(tmp_path / "vectors", files=entries)
    with pytest.raises(CorpusIndexError, match="two files"):
        VectorIndex.open(tmp_path / "vectors").check()
    assert len(VectorIndex.open(tmp_path / "vectors", writable=True, damaged=True)) == 50


@pytest.mark.parametrize("dead", [[7, 7], [7, 5], [4000]])
def test_removed_documents_that_a_file_does_not_have_are_damage(tmp_path, rows, dead):
    (file,) = filled(tmp_path / "vectors", rows[:50])._files
    content = np.array(dead, "<i8").tobytes()
    name = f"{file.name}.1.dead"
    (tmp_path / "vectors" / name).write_bytes(content)
    forged(tmp_path / "vectors", files=[file.entry | {"dead": name, "dead_checksum": zlib.crc32(content)}])
    with pytest.raises(CorpusIndexError, match="does not have"):
        VectorIndex.open(tmp_path / "vectors")


def test_a_query_of_another_length_is_damage(tmp_path, rows):
    with pytest.raises(CorpusIndexError, match="components"):
        filled(tmp_path / "vectors", rows[:50]).search(np.ones(384, np.float32), 3)


@pytest.fixture
def several(tmp_path, rows):
    """Documents 0 to 999 with three vectors each, in two files; the vectors of a document are those of its number."""
    index = VectorIndex.create(tmp_path / "vectors", DIMENSIONS)
    owners = np.repeat(np.arange(1000), 3)
    for half in (owners < 400, owners >= 400):
        index.add(owners[half], rows[half])
        index.commit()
    return index


def test_of_several_vectors_of_a_document_the_nearest_counts(several, rows, queries):
    assert len(several) == 1000
    assert several.ids().tolist() == list(range(1000))
    for query in queries:
        documents, similarities = several.search(query, 20)
        of_document = (rows @ query).reshape(1000, 3).max(axis=1)
        assert len(np.unique(documents)) == 20
        assert similarities == pytest.approx(of_document[documents], abs=0.02)
        assert (np.diff(similarities) <= 0).all()
        assert of_document[documents].min() >= np.sort(of_document)[-20] - 0.02


def test_a_document_is_removed_with_all_its_vectors(several, rows, tmp_path):
    gone = np.arange(300, 500)
    several.remove_all(gone)
    assert len(several) == 800
    several.commit(several.generation + 1)
    for index in (several, VectorIndex.open(tmp_path / "vectors")):
        assert len(index) == 800
        for vector in rows[3 * 450 : 3 * 450 + 3]:
            assert not np.isin(index.search(vector, 50)[0], gone).any()
    several.compact()
    assert several.ids().tolist() == [*range(300), *range(500, 1000)]
    several.check()


def test_two_files_with_one_document_are_damage(tmp_path, rows):
    index = filled(tmp_path / "vectors", rows[:10])
    index.add(np.array([3, 3]), rows[10:12])
    index.commit()
    with pytest.raises(CorpusIndexError, match="two files have the same document"):
        index.check()
