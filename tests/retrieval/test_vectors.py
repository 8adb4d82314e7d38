"""Search by vector: what is nearest is found, in files that are read through and in graphs."""

import numpy as np
import pytest

from assay.retrieval import vectors
from assay.retrieval.vectors import VectorIndex

DIMENSIONS = 32


@pytest.fixture
def rows():
    """Documents with much in common, as functions have: a graph is hard to walk among them."""
    draw = np.random.default_rng(0)
    made = draw.normal(size=(3000, DIMENSIONS)).astype(np.float32) + 2
    return made / np.linalg.norm(made, axis=1, keepdims=True)


@pytest.fixture
def asked():
    """Queries unlike every document."""
    made = np.random.default_rng(1).normal(size=(40, DIMENSIONS)).astype(np.float32)
    return made / np.linalg.norm(made, axis=1, keepdims=True)


def filled(folder, rows, *, files=1):
    index = VectorIndex.create(folder, DIMENSIONS)
    for part in np.array_split(np.arange(len(rows)), files):
        index.add(part, rows[part])
        index.commit()
    return index


def nearest(rows, query, n, without=()):
    similarities = rows @ query
    similarities[list(without)] = -2
    return np.argsort(-similarities, kind="stable")[:n]


def share_found(index, rows, asked, n=20, without=()):
    return np.mean([len(np.intersect1d(index.search(one, n)[0], nearest(rows, one, n, without))) / n for one in asked])


@pytest.mark.parametrize("files", [1, 3])
def test_of_a_file_that_is_read_through_nothing_is_missed(tmp_path, rows, asked, files):
    index = filled(tmp_path / "vectors", rows, files=files)
    # 16 bits a number: at the end of the list two neighbours may change places
    assert share_found(index, rows, asked) > 0.995
    index.remove_all(np.arange(0, 3000, 5))
    assert share_found(index, rows, asked, without=range(0, 3000, 5)) > 0.995


def test_similarities_are_cosines_and_fall(tmp_path, rows, asked):
    found, similarities = filled(tmp_path / "vectors", rows).search(asked[0], 10)
    assert similarities == pytest.approx(rows[found] @ asked[0], abs=2e-3)
    assert (np.diff(similarities) <= 0).all()


def test_a_graph_is_searched_so_widely_that_queries_unlike_all_documents_miss_little(
    tmp_path, rows, asked, monkeypatch
):
    monkeypatch.setattr(vectors, "EXACT_UP_TO", 0)
    filled(tmp_path / "vectors", rows)
    # what is opened is searched as what was made: the file does not say how widely
    assert share_found(VectorIndex.open(tmp_path / "vectors"), rows, asked) > 0.97
    index = VectorIndex.open(tmp_path / "vectors", writable=True)
    index.remove_all(np.arange(0, 3000, 2))
    index.compact()
    index.commit()
    assert share_found(index, rows, asked, without=range(0, 3000, 2)) > 0.97
