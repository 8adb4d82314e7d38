"""Logits → seven numbers per token, in one place (METHODS §0).

With z the logits at a position, t the token that stands there, p = softmax(z) and c = z - max z:

    l = c_t - ln Σ e^c        r = 1 + #{v: z_v > z_t}       H = ln Σ e^c - E[c]
    V = E[(c - E[c])²]        u = Σ_{p_v < p_t} p_v + p_t/2  l_max = -ln Σ e^c

The expectations are under p. Everything comes from one exponential per logit, in float32 whatever the logits
are, some rows at a time, so that no second array of the logits' size exists.
"""

import math

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from assay.types import Float32Array, TokenStatistics

ROWS = ("log_probs", "ranks", "entropy", "variance", "tail_mass", "top_log_probs")
"""What the rows of `reduce_logits`' result are."""

CPU_ELEMENTS = 2**19
"""Logits worked on at once: three float32 arrays of 2 MiB. Smaller ones cost more in calls than they save in memory."""

GPU_ELEMENTS = 2**25
"""The same on an accelerator, where few large kernels are quick: three arrays of 128 MiB."""

IMPOSSIBLE = -1e4
"""Log-odds to the likeliest token that mean probability zero: masked vocabulary has -inf or nearly so."""

LOG2_E = 1 / math.log(2)

SMALLEST, LARGEST = 1.2e-38, 1 - 2**-24
"""The tail mass lies in (0, 1); these are the ends of that interval in float32."""


def reduce_logits(logits: Tensor, targets: Tensor) -> Tensor:
    """Log-probability, rank, entropy, variance, tail mass and top log-probability of each target.

    Args:
        logits: [rows, V], any floating dtype, any device.
        targets: int64 [rows], the token that stands at each position.

    Returns:
        float32 [6, rows] on the same device, in the order of `ROWS`. Ranks are exact: float32 counts to 2^24.
        Where a logit is NaN or the target's is infinite, the column is not finite: the caller tells which
        model that was.
    """
    count, vocabulary = logits.shape
    result = torch.empty((len(ROWS), count), dtype=torch.float32, device=logits.device)
    elements = CPU_ELEMENTS if logits.device.type == "cpu" else GPU_ELEMENTS
    # as many rows as fill the cache of a core, or the kernels of a GPU; at least one, however large the vocabulary
    step = max(1, min(count, elements // vocabulary))
    space = torch.empty((3, step, vocabulary), dtype=torch.float32, device=logits.device)
    for start in range(0, count, step):
        rows = slice(start, min(count, start + step))
        _reduce(logits[rows], targets[rows, None], space[:, : rows.stop - start], result[:, rows])
    return result


def as_statistics(
    ids: NDArray[np.int32] | NDArray[np.int64], columns: Float32Array, offsets: NDArray[np.int32]
) -> TokenStatistics:
    """Return the statistics of a text from its columns, float32 [6, tokens] in the order of `ROWS`.

    Args:
        ids: of the scored tokens.
        columns: one a token.
        offsets: [tokens, 2], each token's place in the text.
    """
    log_probs, ranks, entropy, variance, tail_mass, top_log_probs = columns
    return TokenStatistics(
        token_ids=ids.astype(np.int32),
        log_probs=log_probs,
        ranks=ranks.astype(np.int32),
        entropy=entropy,
        variance=variance,
        tail_mass=tail_mass,
        top_log_probs=top_log_probs,
        offsets=offsets,
    )


def _reduce(logits: Tensor, target: Tensor, space: Tensor, result: Tensor) -> None:
    """Fill `result` [6, rows] from `logits` [rows, V]; `space` [3, rows, V] is overwritten."""
    odds, weights, mask = space.unbind()
    odds.copy_(logits)
    top = odds.amax(-1, keepdim=True)
    # taken before the clamp: a target of probability zero keeps its -inf, which the caller reports
    own_odds = odds.gather(-1, target) - top
    odds.sub_(top).clamp_(min=IMPOSSIBLE)
    own_clamped = own_odds.clamp(min=IMPOSSIBLE)

    torch.mul(odds, LOG2_E, out=weights).exp2_()  # e^c: on many processors torch's exp2 takes a quarter of its exp
    total = weights.sum(-1)
    log_total = total.log()

    # comparisons write 0 and 1 into the third array, so counts and masked sums need no array of booleans
    torch.gt(odds, own_clamped, out=mask)
    ranks = mask.sum(-1) + 1
    torch.lt(odds, own_clamped, out=mask)
    below = mask.mul_(weights).sum(-1)
    own = own_clamped.exp().squeeze(-1)

    mean = torch.mul(weights, odds, out=mask).sum(-1) / total
    # Centred before squaring: E[c²] - E[c]² cancels where the distribution is nearly flat.
    variance = odds.sub_(mean[:, None]).square_().mul_(weights).sum(-1) / total

    result[0] = own_odds.squeeze(-1) - log_total
    result[1] = ranks
    result[2] = log_total - mean
    result[3] = variance
    result[4] = ((below + own / 2) / total).clamp(SMALLEST, LARGEST)
    result[5] = -log_total
