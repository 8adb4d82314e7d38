"""The Llama of both training programs: how it is built, its optimisers and its loss."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

import torch
from transformers import LlamaConfig, LlamaForCausalLM

from assay.training import restore_parameters
from assay_lab.builtin.base_tokenizer import BOS_ID, EOS_ID, PAD_ID
from assay_lab.columns import having
from assay_lab.training.muon import Muon

COUNT_ALL = -100
"""Target of the loss that no token has, so that none is left out."""


class LlamaRecipe(Protocol):
    """The choices of a recipe that determine the model and its optimisers; see `TrainingRecipe`."""

    @property
    def hidden_size(self) -> int: ...  # noqa: D102  described where the recipes are
    @property
    def layers(self) -> int: ...  # noqa: D102
    @property
    def heads(self) -> int: ...  # noqa: D102
    @property
    def intermediate_size(self) -> int: ...  # noqa: D102
    @property
    def muon_rate(self) -> float: ...  # noqa: D102
    @property
    def adam_rate(self) -> float: ...  # noqa: D102
    @property
    def weight_decay(self) -> float: ...  # noqa: D102
    @property
    def seed(self) -> int: ...  # noqa: D102


def build_llama(recipe: LlamaRecipe, *, vocabulary_size: int, context: int) -> LlamaForCausalLM:
    """Return the untrained model; its weights depend on the recipe's seed alone."""
    torch.manual_seed(recipe.seed)
    config = LlamaConfig(
        vocab_size=vocabulary_size,
        hidden_size=recipe.hidden_size,
        intermediate_size=recipe.intermediate_size,
        num_hidden_layers=recipe.layers,
        num_attention_heads=recipe.heads,
        num_key_value_heads=recipe.heads,
        max_position_embeddings=context,
        tie_word_embeddings=True,
        bos_token_id=BOS_ID,
        eos_token_id=EOS_ID,
        pad_token_id=PAD_ID,
    )
    model = LlamaForCausalLM(config)
    for name, parameter in model.named_parameters():
        # keeps the residual stream's scale, as GPT-2 does
        if name.endswith(("o_proj.weight", "down_proj.weight")):
            parameter.data.mul_((2 * recipe.layers) ** -0.5)
    return model


def llama_optimisers(model: LlamaForCausalLM, recipe: LlamaRecipe) -> tuple[torch.optim.Optimizer, ...]:
    """Return Muon for the hidden matrices, and AdamW for embedding and norms."""
    matrices = having(model.model.layers.parameters(), ndim=2)
    in_muon = set(map(id, matrices))
    others = [p for p in model.parameters() if id(p) not in in_muon]
    return (
        # Muon orthogonalises the steps of hidden matrices; it is not meant for embeddings and vectors
        Muon(matrices, lr=recipe.muon_rate, weight_decay=recipe.weight_decay),
        torch.optim.AdamW(others, lr=recipe.adam_rate, betas=(0.9, 0.95), weight_decay=0.0),
    )


def trained_llama(model: LlamaForCausalLM, path: Path, state: Mapping[str, Any]) -> tuple[LlamaForCausalLM, int, float]:
    """Return a model with the weights of a saved state, its step, and the seconds trained so far."""
    restore_parameters(path, state, dict(model.named_parameters()))
    return model, int(state["step"]), float(state["seconds"])


def summed_loss(model: LlamaForCausalLM, rows: torch.Tensor, ignored: int = COUNT_ALL) -> torch.Tensor:
    """Return the summed negative log-likelihood of every token of the rows but the first, in nats.

    Args:
        model: the model.
        rows: int64 [rows, tokens].
        ignored: token that does not count as a prediction, such as padding.
    """
    hidden = model.model(rows[:, :-1], use_cache=False).last_hidden_state
    logits = model.lm_head(hidden).float()
    targets = rows[:, 1:].reshape(-1)
    return torch.nn.functional.cross_entropy(logits.flatten(0, 1), targets, ignore_index=ignored, reduction="sum")
