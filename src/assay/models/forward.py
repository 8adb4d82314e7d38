"""Token ids → statistics of chosen positions, without ever holding all logits.

The decoder runs to its last hidden states; the language-model head, which is a thousand times as wide, then
processes only the scored rows, some hundreds at a time. Soft-capping and scaling of the logits are repeated from
the configuration, and the result is compared with the model's own forward pass on a few tokens. A model that does
not agree is run through its own forward pass, and its logits are reduced in the same small pieces.
"""

from collections.abc import Callable
from typing import Any, cast

import torch
from torch import Tensor
from transformers import PreTrainedModel

from assay.errors import ModelError
from assay.models.statistics import ROWS, reduce_logits

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

    def __init__(self, model: PreTrainedModel) -> None:
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
            float32 [6, rows] on the CPU, in the order of `statistics.ROWS`.

        Raises:
            ModelError: a statistic is not finite.
        """
        with torch.inference_mode():
            return self._reduced(*self.source(ids), positions, targets)

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
            if self.chunked and self._head is not None:
                return self._reduced(output[0], self._head, positions, targets), vectors
            return self._reduced(output.logits, _unchanged, positions, targets), vectors

    def _reduced(self, source: Tensor, head: Head, positions: Tensor, targets: Tensor) -> Tensor:
        source = source.flatten(0, 1)
        if not len(positions):
            return torch.zeros((len(ROWS), 0))
        positions, targets = positions.to(source.device), targets.to(source.device)
        limit = CPU_LOGITS if source.device.type == "cpu" else GPU_LOGITS
        step = max(1, limit // self.vocabulary_size)
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


def agree(ours: Tensor, logits: Tensor, dtype: torch.dtype) -> bool:
    """Return True if two computations of the logits differ by no more than rounding in that dtype."""
    if ours.shape != logits.shape:
        return False
    # Some models give -inf for tokens that cannot occur: both must agree on them, and the rest is compared.
    ours, logits = ours.float(), logits.to(ours.device).float()
    masked = ~logits.isfinite()
    allowed = TOLERANCE.get(dtype, HALF_TOLERANCE) * logits[~masked].abs().max()
    return bool((ours.isfinite() == ~masked).all()) and bool((ours - logits)[~masked].abs().max() <= allowed)


def embedding(model: PreTrainedModel) -> Tensor:
    """The input embedding's weights, [token ids, d]."""
    weight: Tensor = cast("Any", model.get_input_embeddings()).weight
    return weight


def device_of(weight: Tensor) -> torch.device:
    """Return the device for inputs of this weight; accelerate moves an offloaded (meta) weight and its input itself."""
    return torch.device("cpu") if weight.is_meta else weight.device


def _unchanged(logits: Tensor) -> Tensor:
    return logits


def _head(model: PreTrainedModel) -> Head | None:
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
