"""Kernel divergence: agreement with the published functions, and values that can be computed by hand."""

import json
import os
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from assay.errors import DataError
from assay.evaluation import KernelSettings, check_embeddings, displacement, kernel_divergence, mean_kernel
from assay.evaluation.divergence import EXACT_MEDIAN, median_distance
from assay_lab.papers.kds.figures import decomposition

PUBLISHED = {
    "per-side": KernelSettings(per_side=True),
    "shared": KernelSettings(),
    "gamma=1.0": KernelSettings(gamma=1.0),
}
KERNELS = ("rbf", "euclidean", "cosine", "dot")


@pytest.fixture(scope="module")
def published():
    root = Path(__file__).resolve().parents[2]
    folder = Path(os.environ.get("ASSAY_SHARED", root.parent / "shared")) / "golden"
    if not (folder / "kds.npz").exists():
        pytest.skip(f"no values of the published functions here: {folder} is absent")
    arrays = np.load(folder / "kds.npz")
    return arrays["pre"], arrays["post"], json.loads((folder / "kds.json").read_text())


@pytest.fixture
def pair():
    random = np.random.default_rng(3)
    before = random.normal(size=(40, 5))
    return before, before + random.normal(scale=0.01, size=before.shape)


@pytest.mark.parametrize("name", PUBLISHED)
def test_the_published_functions_give_the_same_values(published, name):
    before, after, values = published
    assert kernel_divergence(before, after, PUBLISHED[name]) == pytest.approx(values[name], rel=1e-9)


def test_two_orthogonal_vectors_that_come_closer_have_the_divergence_of_the_formula():
    """Squared distances 2 → 1 off the diagonal; with γ = 1 each of the two pairs adds e^-2."""
    before, after = np.eye(2), np.array([[1.0, 0.0], [0.5, np.sqrt(0.75)]])
    gate = np.exp(-2)
    assert kernel_divergence(before, after, KernelSettings(gamma=1.0)) == pytest.approx(
        -2 * gate / np.sqrt(2 + 2 * gate)
    )
    assert kernel_divergence(before, after, KernelSettings(gating=False)) == pytest.approx(-0.5)
    euclidean = 2 * np.sqrt(2) * np.log(np.sqrt(2)) / np.sqrt(2 * np.sqrt(2))
    assert kernel_divergence(before, after, KernelSettings("euclidean")) == pytest.approx(-euclidean)
    # 1 + cosine: 1 → 1.5 off the diagonal, 2 on it
    cosine = 2 * np.log(1.5) / np.sqrt(6)
    assert kernel_divergence(before, after, KernelSettings("cosine")) == pytest.approx(-cosine)
    assert kernel_divergence(before, 2 * before, KernelSettings("dot")) == pytest.approx(-2 * 9 / 4)
    assert mean_kernel(before, KernelSettings(gamma=1.0)) == pytest.approx((2 + 2 * gate) / 4)


@pytest.mark.parametrize("kernel", KERNELS)
def test_embeddings_that_do_not_move_have_no_divergence(pair, kernel):
    before, _ = pair
    assert kernel_divergence(before, before.copy(), KernelSettings(kernel)) == 0


@pytest.mark.parametrize("kernel", KERNELS)
def test_blocks_give_what_the_whole_matrix_gives(pair, kernel, monkeypatch):
    before, after = pair
    whole = kernel_divergence(before, after, KernelSettings(kernel))
    monkeypatch.setattr("assay.evaluation.divergence.BLOCK", 7)
    assert kernel_divergence(before, after, KernelSettings(kernel)) == pytest.approx(whole, rel=1e-12)
    assert displacement(before, after) == pytest.approx(displacement(before, after))


def test_more_movement_is_a_lower_score(pair):
    before, after = pair
    assert kernel_divergence(before, before + 2 * (after - before)) < kernel_divergence(before, after) < 0


def test_the_length_of_an_embedding_does_not_count(pair):
    before, after = pair
    assert kernel_divergence(3 * before, 5 * after) == pytest.approx(kernel_divergence(before, after))


def test_a_common_shift_leaves_no_spread():
    """On a circle a rotation moves every vector by the same length; what is left after the mean shift is smaller."""
    angles = np.linspace(0, 0.1, 20)
    before, after = (np.column_stack([np.cos(a), np.sin(a)]) for a in (angles, angles + 0.01))
    moved = displacement(before, after)
    assert moved.median == pytest.approx(0.01, rel=1e-3)
    assert moved.spread < 0.05 * moved.median


def test_the_decomposition_multiplies_to_the_divergence(pair):
    before, after = pair
    gate, change = decomposition(before, after)
    gamma = 1 / median_distance(before)
    assert -(gate * gamma * abs(change)).sum() / np.sqrt(gate.sum()) == pytest.approx(kernel_divergence(before, after))


@pytest.mark.slow
def test_memory_is_that_of_a_few_blocks():
    """8,000 samples: a single matrix of all pairs would take 512 MB."""
    random = np.random.default_rng(0)
    before = random.normal(size=(8000, 4)).astype(np.float32)
    after = before + np.float32(0.01)
    tracemalloc.start()
    value = kernel_divergence(before, after, KernelSettings(gamma=1.0))
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert value < 0
    assert most < 120e6


def test_embeddings_are_checked_in_blocks():
    """All of them in float64 would take 82 MB."""
    embeddings = np.ones((20_000, 512), np.float32)
    tracemalloc.start()
    check_embeddings(embeddings, embeddings)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 20e6


def test_the_median_of_many_samples_is_that_of_drawn_ones(monkeypatch):
    embeddings = np.random.default_rng(0).normal(size=(400, 6))
    exact = median_distance(embeddings)
    monkeypatch.setattr("assay.evaluation.divergence.EXACT_MEDIAN", 200)
    assert median_distance(embeddings) == pytest.approx(exact, rel=0.02)
    assert EXACT_MEDIAN > 4000  # exact at the sizes of the paper


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        (np.ones((1, 3)), np.ones((1, 3)), "1 samples"),
        (np.ones((4, 3)), np.ones((4, 3)), "are the same"),
        (np.ones((4, 3)) + 1e-7 * np.eye(4, 3), np.ones((4, 3)), "are the same"),
        (np.ones((4, 3)), np.ones((4, 2)), r"shapes \(4, 3\) and \(4, 2\)"),
        (np.array([[1.0, np.nan], [1, 2]]), np.ones((2, 2)), "sample 0 before fine-tuning is NaN"),
        (np.array([[1.0, 2], [3, 1]]), np.array([[1.0, 2], [0, 0]]), "sample 1 after fine-tuning"),
    ],
)
def test_embeddings_that_cannot_be_compared_are_refused(before, after, words):
    with pytest.raises(DataError, match=words):
        kernel_divergence(before, after)
