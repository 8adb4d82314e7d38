import numpy as np
import pytest
import torch
from naive import naive_column

from assay.models import forward as statistics
from assay.models.forward import reduce_logits


def reference(logits, targets):
    rows = [naive_column(row, token) for row, token in zip(logits.double().numpy(), targets, strict=True)]
    return np.array(rows).T


def random_case(rows, vocabulary, scale, seed=0):
    generator = torch.Generator().manual_seed(seed)
    logits = torch.randn(rows, vocabulary, generator=generator) * scale
    return logits, torch.randint(0, vocabulary, (rows,), generator=generator)


@pytest.mark.parametrize("scale", [0.01, 1.0, 8.0])
@pytest.mark.parametrize("vocabulary", [2, 257, 5000])
def test_the_six_numbers_are_their_definitions_in_float64(vocabulary, scale):
    logits, targets = random_case(40, vocabulary, scale)
    expected = reference(logits, targets)
    assert np.allclose(reduce_logits(logits, targets).numpy(), expected, rtol=2e-5, atol=2e-6)


def test_ranks_are_exact():
    logits, targets = random_case(200, 3000, 2.0)
    assert (reduce_logits(logits, targets)[1].numpy() == reference(logits, targets)[1]).all()


@pytest.mark.parametrize("elements", [1, 700, 2100, 10**6])
def test_the_size_of_the_pieces_changes_nothing(monkeypatch, elements):
    logits, targets = random_case(17, 700, 3.0)
    whole = reduce_logits(logits, targets)
    monkeypatch.setattr(statistics, "CPU_ELEMENTS", elements)
    assert torch.allclose(reduce_logits(logits, targets), whole, rtol=1e-6, atol=1e-7)


def test_half_precision_logits_are_reduced_in_float32():
    logits, targets = random_case(20, 900, 3.0)
    expected = reference(logits.bfloat16().float(), targets)
    assert np.allclose(reduce_logits(logits.bfloat16(), targets).numpy(), expected, rtol=2e-5, atol=2e-6)


def test_equal_logits_share_the_better_rank():
    columns = reduce_logits(torch.zeros(1, 10), torch.tensor([7]))
    assert columns[1].item() == 1


def test_a_flat_distribution_has_the_logarithm_of_its_size_as_entropy_and_no_variance():
    log_prob, _, entropy, variance, tail, top = reduce_logits(torch.full((1, 1000), 5.0), torch.tensor([3]))[:, 0]
    assert entropy.item() == pytest.approx(np.log(1000), rel=1e-6)
    assert variance.item() == 0
    assert log_prob.item() == top.item() == pytest.approx(-np.log(1000), rel=1e-6)
    assert tail.item() == pytest.approx(1 / 2000, rel=1e-5)


def test_a_small_variance_on_a_large_mean_does_not_cancel():
    """One lonely logit far above a flat rest: E[c²] - E[c]² would lose its digits here."""
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(1, 50_000, generator=generator) * 1e-3
    logits[0, 0] = 5.0
    target = torch.tensor([1])
    assert reduce_logits(logits, target)[3, 0].item() == pytest.approx(reference(logits, target)[3, 0], rel=1e-4)


def test_a_certain_token_has_probability_one_and_tail_one_half():
    logits = torch.zeros(1, 50)
    logits[0, 4] = 200.0
    log_prob, rank, entropy, variance, tail, top = reduce_logits(logits, torch.tensor([4]))[:, 0].tolist()
    assert (log_prob, rank, entropy, variance, top) == (0, 1, 0, 0, 0)
    assert tail == 0.5


def test_an_impossible_token_keeps_its_tail_mass_above_zero():
    logits = torch.zeros(1, 50)
    logits[0, 4] = -300.0
    column = reduce_logits(logits, torch.tensor([4]))[:, 0]
    assert column.isfinite().all()
    assert 0 < column[4].item() < 1e-30


@pytest.mark.parametrize("mask", [float("-inf"), torch.finfo(torch.float32).min])
def test_masked_vocabulary_has_probability_zero(mask):
    """Some models switch padding entries of their vocabulary off with -inf or the smallest number."""
    logits, targets = random_case(5, 100, 2.0)
    padded = torch.cat([logits, torch.full((5, 28), mask)], dim=1)
    assert torch.allclose(reduce_logits(padded, targets), reduce_logits(logits, targets), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("poison", [float("nan"), float("inf")])
def test_a_logit_that_is_no_number_leaves_no_finite_column(poison):
    logits, targets = random_case(3, 100, 1.0)
    logits[1, 17] = poison
    finite = reduce_logits(logits, targets).isfinite().all(0)
    assert finite.tolist() == [True, False, True]


def test_no_rows_give_no_columns():
    assert reduce_logits(torch.empty(0, 10), torch.empty(0, dtype=torch.int64)).shape == (6, 0)
