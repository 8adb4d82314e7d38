"""Muon: momentum, then an orthogonalised update, for the weight matrices of hidden layers.

Source: Jordan et al. 2024, "Muon: An optimizer for hidden layers in neural networks", with its coefficients.
`torch.optim` has a Muon as well, but that one iterates matrix by matrix in bfloat16, which processors without
bfloat16 units emulate slowly; this one stacks matrices of one shape and keeps their dtype.
"""

from collections.abc import Callable, Iterable
from itertools import groupby

import torch

_COEFFICIENTS = (3.4445, -4.7750, 2.0315)


def orthogonalised(matrices: torch.Tensor, *, steps: int = 5) -> torch.Tensor:
    """Return approximately U Vᵀ for each G = U S Vᵀ of the stack [n, rows, columns], by quintic Newton-Schulz steps."""
    a, b, c = _COEFFICIENTS
    # the Gram matrix of the shorter side is smaller, and the result is the same transposed
    tall = matrices.shape[1] > matrices.shape[2]
    x: torch.Tensor = matrices.mT if tall else matrices
    # the Frobenius norm bounds the largest singular value by 1, where the iteration converges
    x = x / x.norm(dim=(1, 2), keepdim=True).clamp(min=1e-7)
    for _ in range(steps):
        gram = x @ x.mT
        x = a * x + (b * gram + c * gram @ gram) @ x
    return x.mT if tall else x


class Muon(torch.optim.Optimizer):
    """W ← W - lr · (√max(1, rows / columns) · orthogonalised(nesterov momentum) + weight_decay · W), for matrices."""

    def __init__(
        self, params: Iterable[torch.Tensor], *, lr: float, momentum: float = 0.95, weight_decay: float = 0.0
    ) -> None:
        super().__init__(params, {"lr": lr, "momentum": momentum, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> float | None:  # type: ignore[override]  # two overloads there, one here
        """Update every matrix that has a gradient; `closure`, if not None, computes loss and gradients first."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            matrices = sorted((p for p in group["params"] if p.grad is not None), key=_shape)
            for (rows, columns), same in groupby(matrices, key=_shape):
                self._update([(matrix, matrix.grad) for matrix in same], group, max(1.0, rows / columns) ** 0.5)
        return loss

    def _update(self, pairs: list[tuple[torch.Tensor, torch.Tensor]], group: dict[str, float], scale: float) -> None:
        """Update (matrix, gradient) pairs of one shape, in a single batch of matrix products."""
        directions = []
        for matrix, grad in pairs:
            momentum = self.state[matrix].setdefault("momentum", torch.zeros_like(matrix))
            momentum.lerp_(grad, 1 - group["momentum"])
            # Nesterov: a step ahead, between gradient and momentum
            directions.append(torch.lerp(grad, momentum, group["momentum"]))
        updates = orthogonalised(torch.stack(directions))
        for (matrix, _), update in zip(pairs, updates, strict=True):
            matrix.mul_(1 - group["lr"] * group["weight_decay"]).add_(update, alpha=-group["lr"] * scale)


def _shape(matrix: torch.Tensor) -> tuple[int, ...]:
    return tuple(matrix.shape)
