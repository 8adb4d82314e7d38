"""Muon: orthogonalised momentum."""

import pytest
import torch

from assay_lab.training.muon import Muon, orthogonalised


@pytest.fixture
def random():
    return torch.Generator().manual_seed(3)


@pytest.mark.parametrize("shape", [(4, 24, 24), (2, 16, 40), (2, 40, 16)])
def test_singular_values_come_near_one(random, shape):
    """The published coefficients trade exactness for speed: values end within about 0.7 to 1.2."""
    left, values, right = torch.linalg.svd(torch.randn(shape, generator=random), full_matrices=False)
    stretched = left @ torch.diag_embed(torch.linspace(0.1, 3.0, values.shape[-1]).expand_as(values)) @ right
    after = torch.linalg.svdvals(orthogonalised(stretched))
    assert after.min() > 0.6
    assert after.max() < 1.3


def test_singular_vectors_stay(random):
    left, _, right = torch.linalg.svd(torch.randn(1, 12, 20, generator=random), full_matrices=False)
    stretched = left @ torch.diag(torch.linspace(1.0, 2.0, 12)) @ right
    turned = left.mT @ orthogonalised(stretched) @ right.mT
    assert (turned - torch.diag_embed(turned.diagonal(dim1=1, dim2=2))).abs().max() < 1e-4


def test_the_scale_of_a_gradient_does_not_count(random):
    gradients = torch.randn(2, 8, 8, generator=random)
    assert torch.allclose(orthogonalised(gradients), orthogonalised(gradients * 1000), atol=1e-5)


def test_a_gradient_of_zero_moves_nothing():
    assert orthogonalised(torch.zeros(1, 4, 6)).abs().max() == 0


def test_matrices_are_updated_as_if_alone(random):
    """Stacking matrices of one shape is for speed: it changes no update."""
    weights = [torch.randn(shape, generator=random) for shape in [(6, 4), (4, 6), (6, 4)]]
    gradients = [torch.randn(weight.shape, generator=random) for weight in weights]

    def updated(indices):
        parameters = [torch.nn.Parameter(weights[i].clone()) for i in indices]
        optimiser = Muon(parameters, lr=0.1, weight_decay=0.01)
        for _ in range(3):
            for parameter, i in zip(parameters, indices, strict=True):
                parameter.grad = gradients[i].clone()
            optimiser.step()
        return [parameter.detach() for parameter in parameters]

    for i, together in enumerate(updated([0, 1, 2])):
        assert torch.allclose(together, updated([i])[0], atol=1e-6)


def test_one_step_is_the_formula(random):
    weight, gradient = torch.randn(2, 9, 4, generator=random)
    parameter = torch.nn.Parameter(weight.clone())
    parameter.grad = gradient
    Muon([parameter], lr=0.1, momentum=0.9, weight_decay=0.5).step()
    momentum = 0.1 * gradient
    direction = orthogonalised((0.1 * gradient + 0.9 * momentum)[None])[0]
    expected = (1 - 0.1 * 0.5) * weight - 0.1 * (9 / 4) ** 0.5 * direction
    assert torch.allclose(parameter, expected, atol=1e-5)


def test_a_closure_computes_the_gradients(random):
    parameter = torch.nn.Parameter(torch.randn(4, 4, generator=random))
    before = parameter.detach().clone()
    optimiser = Muon([parameter], lr=0.1)

    def loss():
        value = (parameter**2).sum()
        value.backward()
        return value.item()

    assert optimiser.step(loss) == pytest.approx(float((before**2).sum()))
    assert parameter.detach().norm() < before.norm()
