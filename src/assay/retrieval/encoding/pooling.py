"""Pooling of the vectors of tokens to one vector of a text."""

from collections.abc import Callable, Mapping

import torch

Pool = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
"""Hidden states [b, t, h] and mask [b, t] (1 for a token, 0 for padding, which stands at the end) → [b, h]."""


def mean_of_tokens(hidden: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """Return the mean over all tokens."""
    return _weighted(hidden, mask.to(hidden.dtype))


def mean_sqrt(hidden: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """Return the sum over all tokens, divided by the square root of their number."""
    return mean_of_tokens(hidden, mask) * mask.sum(1, keepdim=True).to(hidden.dtype).sqrt()


def weighted_mean(hidden: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """Return the mean with weights 1, 2, 3, …: later tokens have more context (SGPT, arXiv:2202.08904)."""
    return _weighted(hidden, (mask * torch.arange(1, mask.shape[1] + 1, device=mask.device)).to(hidden.dtype))


def maximum(hidden: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """Return the largest value of each dimension."""
    return hidden.masked_fill(mask[:, :, None] == 0, -torch.inf).amax(1)


def first(hidden: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:  # noqa: ARG001  one shape for all
    """Return the vector of the first token: [CLS] of BERT."""
    return hidden[:, 0]


def last(hidden: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """Return the vector of the last token."""
    # padding stands at the end, so the number of tokens is the place behind the last one
    return hidden[torch.arange(len(hidden), device=hidden.device), mask.sum(1) - 1]


POOLINGS: Mapping[str, Pool] = {
    "mean": mean_of_tokens,
    "cls": first,
    "last": last,
    "eos": last,
    "max": maximum,
    "mean_sqrt": mean_sqrt,
    "weighted_mean": weighted_mean,
}
"""By name. "eos" is "last" of a text to which the encoder appends the end-of-sequence token."""


def _weighted(hidden: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
    return (hidden * weights[:, :, None]).sum(1) / weights.sum(1, keepdim=True)
