"""Token ids → statistics of chosen positions, without ever holding all logits.

The decoder runs to its last hidden states; the language-model head, which is a thousand times as wide, then
processes only the scored rows, some hundreds at a time. Soft-capping and scaling of the logits are repeated from
the configuration, and the result is compared with the model's own forward pass on a few tokens. A model that does
not agree is run through its own forward pass, and its logits are reduced in the same small pieces.
"""

import math
from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from assay.errors import ModelError
from assay.models.batching import PlacedWork, TokenBudget, right_padded
from assay.types import Float32Array, Pooling, TokenStatistics

if TYPE_CHECKING:  # slow to import, and a built-in model is read without it
    from transformers import PreTrainedModel

CPU_LOGITS = 2**24
"""Logits held at once: 64 MiB in float32, enough rows for the head to be a real matrix product."""

GPU_LOGITS = 2**27

PROBE_TOKENS = 8

TOLERANCE = {torch.float32: 1e-5, torch.float64: 1e-9}
"""Largest difference of the two computations, in units of the largest logit. Half precision: see `HALF_TOLERANCE`."""

HALF_TOLERANCE = 2**-6

Head = Callable[[Tensor], Tensor]


class Forward:
    """A causal language model, ready to give statistics.

    Attributes:
        vocabulary_size: number of logits, V.
        chunked: True if the head runs on chosen rows only; False for the model's own forward pass, with all logits
            in its dtype.
    """

    def __init__(self, model: "PreTrainedModel") -> None:
        """Check that the model works, and whether its head can be run on chosen rows.

        Raises:
            ModelError: the logits are not finite.
        """
        self._model = model
        self._device = device_of(embedding(model))
        self._decoder: Any = model.base_model
        self._head = _head(model)
        # A prime step spreads the probe's tokens over the vocabulary.
        probe = (torch.arange(PROBE_TOKENS, device=self._device) * 7919 % len(embedding(model)))[None]
        with torch.inference_mode():
            logits = self._own_logits(probe)
            if not bool(logits.isfinite().any(-1).all()) or bool(logits.isnan().any()):
                raise ModelError("the model's logits are not finite: expected weights without NaN or infinity")
            self.vocabulary_size = int(logits.shape[-1])
            self.chunked = self._head is not None and self._agrees(self._head, probe, logits)

    def statistics(self, ids: Tensor, positions: Tensor, targets: Tensor) -> Tensor:
        """Statistics of `targets`, each predicted at one of `positions`.

        Args:
            ids: int64 [batch, length], padded on the right. No attention mask is needed: a causal model never
                attends to the right, so padding cannot change a token, and no position of padding is scored.
            positions: int64 [rows], places in the flattened [batch · length].
            targets: int64 [rows], the tokens that follow those places.

        Returns:
            float32 [6, rows] on the CPU, in the order of `ROWS`.

        Raises:
            ModelError: a statistic is not finite.
        """
        with torch.inference_mode():
            return reduced(*self.source(ids), self.vocabulary_size, positions=positions, targets=targets)

    def source(self, ids: Tensor) -> tuple[Tensor, Head]:
        """Return what the logits of chosen rows are computed from, [batch, length, …], and how.

        Call it in inference mode.
        """
        ids = ids.to(self._device)
        # hidden states are far smaller than the logits: the head is applied later, to chosen rows in small pieces
        if self.chunked and self._head is not None:
            return self._hidden(ids), self._head
        return self._own_logits(ids), _unchanged

    def with_states(
        self, ids: Tensor, positions: Tensor, targets: Tensor, layer: int, ends: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Statistics as `statistics`, and hidden states of one layer, from the same pass.

        Args:
            ids: as in `statistics`.
            positions: as in `statistics`.
            targets: as in `statistics`.
            layer: index into transformers' list of hidden states: 0 is the embedding, -1 the last layer.
            ends: int64 [batch], the place in each row whose hidden state is returned.

        Returns:
            float32 [6, rows], and float32 [batch, d], both on the CPU.

        Raises:
            ModelError: a value is not finite, or there is no such layer.
        """
        options: dict[str, Any] = {"use_cache": False, "output_hidden_states": True}
        with torch.inference_mode():
            ids = ids.to(self._device)
            chunked = self.chunked and self._head is not None
            output = self._decoder(input_ids=ids, **options) if chunked else self._model(input_ids=ids, **options)
            layers = len(output.hidden_states)
            if not -layers <= layer < layers:
                raise ModelError(f"layer {layer}: expected {-layers} to {layers - 1}")
            states = output.hidden_states[layer]
            rows = torch.arange(len(ids), device=states.device)
            vectors = states[rows, ends.to(states.device)].float().cpu()
            if not bool(vectors.isfinite().all()):
                raise ModelError("a hidden state is not finite: expected weights without NaN or infinity")
            source, head = (output[0], self._head) if chunked and self._head else (output.logits, _unchanged)
            return reduced(source, head, self.vocabulary_size, positions=positions, targets=targets), vectors

    def _hidden(self, ids: Tensor) -> Tensor:
        hidden: Tensor = self._decoder(input_ids=ids, use_cache=False)[0]
        return hidden

    def _own_logits(self, ids: Tensor) -> Tensor:
        logits: Tensor = self._model(input_ids=ids, use_cache=False).logits
        return logits

    def _agrees(self, head: Head, probe: Tensor, logits: Tensor) -> bool:
        try:
            ours = head(self._hidden(probe))
        except (RuntimeError, TypeError, AttributeError, IndexError):
            return False  # the decoder has an unusual interface, which only the model's own forward pass knows
        return agree(ours, logits, self._model.dtype)


def reduced(source: Tensor, head: Head, vocabulary: int, positions: Tensor, targets: Tensor) -> Tensor:
    """Return statistics as `Forward.statistics` from what `Forward.source` gives for a vocabulary of some size."""
    source = source.flatten(0, 1)
    if not len(positions):
        return torch.zeros((len(ROWS), 0))
    positions, targets = positions.to(source.device), targets.to(source.device)
    limit = CPU_LOGITS if source.device.type == "cpu" else GPU_LOGITS
    step = max(1, limit // vocabulary)
    # The logits of all rows together may take more memory than the model itself: a chunk's logits are reduced
    # to six numbers a row before the next chunk is computed.
    parts = [
        reduce_logits(logits := head(source[rows]), following.to(logits.device)).cpu()
        for rows, following in zip(positions.split(step), targets.split(step), strict=True)
    ]
    result = torch.cat(parts, dim=1)
    if not bool(result.isfinite().all()):
        raise ModelError("a token's log-probability is not finite: expected weights without NaN or infinity")
    return result


def agree(ours: Tensor, logits: Tensor, dtype: torch.dtype) -> bool:
    """Return True if two computations of the logits differ by no more than rounding in that dtype."""
    if ours.shape != logits.shape:
        return False
    # Some models give -inf for tokens that cannot occur: both must agree on them, and the rest is compared.
    ours, logits = ours.float(), logits.to(ours.device).float()
    masked = ~logits.isfinite()
    allowed = TOLERANCE.get(dtype, HALF_TOLERANCE) * logits[~masked].abs().max()
    return bool((ours.isfinite() == ~masked).all()) and bool((ours - logits)[~masked].abs().max() <= allowed)


def embedding(model: "PreTrainedModel") -> Tensor:
    """The input embedding's weights, [token ids, d]."""
    weight: Tensor = cast("Any", model.get_input_embeddings()).weight
    return weight


def device_of(weight: Tensor) -> torch.device:
    """Return the device for inputs of this weight; accelerate moves an offloaded (meta) weight and its input itself."""
    if weight.is_meta:
        return torch.device("cpu")
    return weight.device


def _unchanged(logits: Tensor) -> Tensor:
    return logits


def _head(model: "PreTrainedModel") -> Head | None:
    """Return the output embedding with the scaling and capping of the configuration; None if there is none."""
    projection: Any = model.get_output_embeddings()
    if projection is None or model.base_model is model:
        return None
    config = model.config.get_text_config()
    device = device_of(projection.weight)
    factor = float(getattr(config, "logit_scale", None) or 1)
    factor /= float(getattr(config, "logits_scaling", None) or 1)
    cap = getattr(config, "final_logit_softcapping", None)

    def head(hidden: Tensor) -> Tensor:
        logits: Tensor = projection(hidden.to(device))
        if factor != 1:
            logits = logits * factor
        if cap:
            logits = (logits / cap).tanh() * cap
        return logits

    return head


# Hidden states of texts: one forward pass of the decoder a batch, without the language-model head.


def hidden_states(
    model: "PreTrainedModel", texts: Sequence[NDArray[np.int64]], budget: TokenBudget, *, layer: int, pooling: Pooling
) -> Float32Array:
    """Return one vector per text, float32 [texts, d].

    Padding stands on the right, where a causal model never looks, so that it changes no vector.

    Args:
        model: in evaluation mode.
        texts: token ids of each, at least one, at most the context.
        budget: padded tokens in one batch.
        layer: index into transformers' list of hidden states: 0 is the embedding, -1 the last layer.
        pooling: "last" token or "mean" over the tokens.

    Raises:
        ModelError: the model has no such layer, a vector is not finite, or one text does not fit into memory.
    """
    layers = int(model.config.get_text_config().num_hidden_layers)
    if not -layers - 1 <= layer <= layers:
        raise ModelError(f"layer {layer}: expected {-layers - 1} to {layers}, the model has {layers} layers")
    rows = [PlacedWork(index, len(ids), ids) for index, ids in enumerate(texts)]
    vectors: dict[int, Float32Array] = {}
    for batch, result in budget.run(rows, lambda batch: (batch, _pooled(model, batch, layer, pooling=pooling))):
        vectors |= {row.index: vector for row, vector in zip(batch, result, strict=True)}
    if not vectors:
        return np.zeros((0, int(model.config.get_text_config().hidden_size)), np.float32)
    matrix: Float32Array = np.stack(list(map(vectors.__getitem__, range(len(texts)))))
    if not np.isfinite(matrix).all():
        raise ModelError("a hidden state is not finite: expected weights without NaN or infinity")
    return matrix


def _pooled(
    model: "PreTrainedModel", batch: Sequence[PlacedWork[NDArray[np.int64]]], layer: int, pooling: Pooling
) -> Float32Array:
    lengths = torch.tensor(list(map(attrgetter("tokens"), batch)))
    ids, _ = right_padded(list(map(attrgetter("content"), batch)))
    with torch.inference_mode():
        output = model.base_model(
            input_ids=ids.to(device_of(embedding(model))), use_cache=False, output_hidden_states=True
        )
        states: Tensor = output.hidden_states[layer].float()
        lengths = lengths.to(states.device)
        # the last real token of each row, or the mean over real tokens: padding on the right enters neither
        if pooling == "last":
            chosen = states[torch.arange(len(batch), device=states.device), lengths - 1]
        else:
            inside = torch.arange(states.shape[1], device=states.device)[None] < lengths[:, None]
            chosen = (states * inside[..., None]).sum(1) / lengths[:, None]
        vectors: Float32Array = chosen.cpu().numpy()
    return vectors


# Logits → seven numbers per token, in one place (METHODS §0).
#
# With z the logits at a position, t the token that stands there, p = softmax(z) and c = z - max z:
#
#     l = c_t - ln Σ e^c        r = 1 + #{v: z_v > z_t}       H = ln Σ e^c - E[c]
#     V = E[(c - E[c])²]        u = Σ_{p_v < p_t} p_v + p_t/2  l_max = -ln Σ e^c
#
# The expectations are under p. Everything comes from one exponential per logit, in float32 whatever the logits
# are, some rows at a time, so that no second array of the logits' size exists.

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
        _reduce(logits[rows], targets[rows, None], space[:, : rows.stop - start], result=result[:, rows])
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
