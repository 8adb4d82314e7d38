"""The contrastive objective, and its gradient for a batch larger than memory.

Source of the objective: Radford et al. 2021, arXiv:2103.00020 (CLIP); of the two passes: Gao et al. 2021,
arXiv:2101.06983 (GradCache).
"""

from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import TypeVar

import torch
from torch.nn.functional import cross_entropy, normalize

Part = TypeVar("Part")
Pairs = tuple[torch.Tensor, torch.Tensor]
"""Vectors of the fragments and of the documents that they are from, both [n, d], row by row."""


def clip_loss(fragments: torch.Tensor, documents: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
    """Symmetric cross-entropy over a batch: ½ (CE(S, i → i) + CE(Sᵀ, i → i)), S = scale · cosines.

    Every other document of the batch is a negative for a fragment, and every other fragment for a document.

    Args:
        fragments: [n, d], of any length.
        documents: [n, d], of any length; row i is the source of fragment i.
        scale: inverse temperature, a scalar.

    Returns:
        In nats, the mean over the batch.
    """
    similarities = scale * (normalize(fragments, dim=1) @ normalize(documents, dim=1).T)
    own = torch.arange(len(fragments), device=fragments.device)
    return (cross_entropy(similarities, own) + cross_entropy(similarities.T, own)) / 2


def accumulate_gradient(
    embed: Callable[[Part], Pairs], parts: Sequence[Part], loss: Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
) -> torch.Tensor:
    """Add the gradient of the loss over ALL parts together, with the graph of one part in memory at a time.

    The loss depends on all vectors together, so losses of parts cannot be added. First every part is embedded without a
    graph, and the loss of all vectors gives the gradient of each vector. Then each part is embedded again, with a
    graph, and the gradient of its vectors is propagated to the parameters: by the chain rule the sum is the gradient
    of the whole batch. A batch of a single part is embedded once.

    Args:
        embed: a part of the batch → its vectors; deterministic, because it is called twice.
        parts: the batch in parts.
        loss: of the vectors of the whole batch; its own parameters get their gradient too.

    Returns:
        The loss, without a graph.
    """
    if len(parts) == 1:
        value = loss(*embed(parts[0]))
        value.backward()
        return value.detach()
    # first pass: all vectors, without a graph; the loss needs every pair of the batch
    with torch.no_grad():
        embedded = list(map(embed, parts))
    fragments, documents = (torch.cat(side).requires_grad_() for side in zip(*embedded, strict=True))
    value = loss(fragments, documents)
    value.backward()
    assert fragments.grad is not None  # noqa: S101  just computed
    assert documents.grad is not None  # noqa: S101  just computed
    sizes = list(map(len, map(itemgetter(0), embedded)))
    for part, *grads in zip(parts, fragments.grad.split(sizes), documents.grad.split(sizes), strict=True):
        # second pass: the gradient of the loss by a vector goes on into the weights (chain rule), part by part
        torch.autograd.backward(embed(part), grads)
    return value.detach()
