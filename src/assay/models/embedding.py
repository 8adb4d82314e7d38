"""Hidden states of texts: one forward pass of the decoder a batch, without the language-model head."""

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from transformers import PreTrainedModel

from assay.errors import ModelError
from assay.models.batching import PlacedWork, TokenBudget, right_padded
from assay.models.forward import device_of, embedding
from assay.types import Float32Array, Pooling


def hidden_states(
    model: PreTrainedModel, texts: Sequence[NDArray[np.int64]], budget: TokenBudget, *, layer: int, pooling: Pooling
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
    for batch, result in budget.run(rows, lambda batch: (batch, _pooled(model, batch, layer, pooling))):
        vectors |= {row.index: vector for row, vector in zip(batch, result, strict=True)}
    if not vectors:
        return np.zeros((0, int(model.config.get_text_config().hidden_size)), np.float32)
    matrix: Float32Array = np.stack([vectors[index] for index in range(len(texts))])
    if not np.isfinite(matrix).all():
        raise ModelError("a hidden state is not finite: expected weights without NaN or infinity")
    return matrix


def _pooled(
    model: PreTrainedModel, batch: Sequence[PlacedWork[NDArray[np.int64]]], layer: int, pooling: Pooling
) -> Float32Array:
    lengths = torch.tensor([row.tokens for row in batch])
    ids, _ = right_padded([row.content for row in batch])
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
