"""The contrastive loss, and the gradient of a batch in parts."""

import math

import pytest
import torch

from assay_lab.builtin.contrastive import accumulate_gradient, clip_loss


def test_equal_vectors_give_the_loss_of_a_guess():
    ones = torch.ones(5, 3)
    assert clip_loss(ones, ones, torch.tensor(7.0)).item() == pytest.approx(math.log(5))


def test_the_loss_is_cross_entropy_both_ways():
    torch.manual_seed(1)
    fragments, documents = torch.randn(4, 3), torch.randn(4, 3)
    unit_f, unit_d = (value / value.norm(dim=1, keepdim=True) for value in (fragments, documents))
    s = 5 * unit_f @ unit_d.T
    rows = -(s.diag() - s.logsumexp(1)).mean()
    columns = -(s.diag() - s.logsumexp(0)).mean()
    assert clip_loss(fragments, documents, torch.tensor(5.0)).item() == pytest.approx(((rows + columns) / 2).item())


def test_length_does_not_count_and_order_does():
    torch.manual_seed(1)
    fragments, documents = torch.randn(4, 3), torch.randn(4, 3)
    scale = torch.tensor(5.0)
    assert clip_loss(3 * fragments, documents / 2, scale).item() == pytest.approx(
        clip_loss(fragments, documents, scale).item()
    )
    assert clip_loss(fragments, fragments, scale) < clip_loss(fragments, fragments.flip(0), scale)


@pytest.mark.parametrize("sizes", [[8], [4, 4], [3, 3, 2], [1] * 8])
def test_the_gradient_in_parts_is_that_of_the_whole_batch(sizes):
    torch.manual_seed(1)
    left, right = torch.randn(8, 5, dtype=torch.float64), torch.randn(8, 6, dtype=torch.float64)
    models = torch.nn.Linear(5, 4).double(), torch.nn.Linear(6, 4).double()
    log_scale = torch.nn.Parameter(torch.tensor(1.5, dtype=torch.float64))
    parameters = [*models[0].parameters(), *models[1].parameters(), log_scale]

    def loss(fragments, documents):
        return clip_loss(fragments, documents, log_scale.exp())

    whole = loss(models[0](left), models[1](right))
    wanted = torch.autograd.grad(whole, parameters)
    found = accumulate_gradient(
        lambda part: (models[0](part[0]), models[1](part[1])),
        list(zip(left.split(sizes), right.split(sizes), strict=True)),
        loss,
    )
    assert found.item() == pytest.approx(whole.item())
    assert not found.requires_grad
    for parameter, grad in zip(parameters, wanted, strict=True):
        torch.testing.assert_close(parameter.grad, grad)


def test_gradients_add_up_over_calls():
    weight = torch.nn.Parameter(torch.eye(2))
    part = torch.tensor([[1.0, 2.0], [2.0, 1.0]])
    for _ in range(2):
        accumulate_gradient(
            lambda entry: (entry @ weight, entry), [part], lambda f, d: clip_loss(f, d, torch.tensor(2.0))
        )
    twice = weight.grad.clone()
    weight.grad = None
    accumulate_gradient(lambda entry: (entry @ weight, entry), [part], lambda f, d: clip_loss(f, d, torch.tensor(2.0)))
    torch.testing.assert_close(twice, 2 * weight.grad)
