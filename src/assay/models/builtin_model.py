"""The built-in models, which score without transformers: its import takes longer than scoring a patch.

They are Llamas with tied embeddings and one key for each query. The operations are those of transformers in its order,
so every statistic is the same number, and so is the digest: caches and references hold for both.
"""

import json
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import torch
from safetensors.torch import load_file
from tokenizers import Tokenizer
from torch import Tensor
from torch.nn import functional

from assay.models.batching import TokenBudget
from assay.models.encoding import TextEncoder
from assay.models.forward import Forward, reduced
from assay.models.names import builtin_folder, builtin_name
from assay.models.settings import ModelSettings
from assay.models.transformers_backend import CPU_GENERATION_TOKENS, TransformersModel
from assay.models.windowed import CPU_ALIKE, CPU_BATCH_TOKENS
from assay.models.windows import limited_context, resolve_stride

if TYPE_CHECKING:  # see TransformersModel
    from assay.models.generation import Continuer
    from assay.models.loading import Checkpoint

TAKES = frozenset({"device", "max_length", "cache"})


def reads(name: str, settings: ModelSettings) -> bool:
    """Return True for a built-in model on a CPU, opened with nothing but a context of one's own."""
    if builtin_name(name) is None or not TAKES.issuperset(settings.changed()):
        return False
    has_accelerator = torch.cuda.is_available() or torch.backends.mps.is_available()
    return settings.device == "cpu" or (settings.device == "auto" and not has_accelerator)


class BuiltinModel(TransformersModel):
    """A built-in model, which is loaded through transformers when more than token statistics is asked of it."""

    def __init__(self, name: str, settings: ModelSettings) -> None:
        """Read weights and tokenizer.

        Raises:
            ModelError: there is no built-in model of that name, or its context is shorter than `max_length`.
        """
        self.name = name
        self._settings = settings
        self._folder = builtin_folder(str(builtin_name(name)))
        self._config = json.loads((self._folder / "config.json").read_text("utf-8"))
        self._weights = {key: value.float() for key, value in load_file(self._folder / "model.safetensors").items()}
        self.context = limited_context(name, self._config["max_position_embeddings"], settings.max_length)
        self.stride = resolve_stride(None, self.context)
        self._embedding = self._weights["model.embed_tokens.weight"]
        tokenizer = cast("Any", _FastTokenizer(self._folder / "tokenizer.json"))
        self.encoder = TextEncoder(tokenizer, name=name, rows=self.vocabulary_size)
        self.alike, self.limit = CPU_ALIKE, None
        self.budget, self.generation_budget = TokenBudget(CPU_BATCH_TOKENS), TokenBudget(CPU_GENERATION_TOKENS)
        width = self._config["head_dim"]
        angles = 1 / self._config["rope_parameters"]["rope_theta"] ** (torch.arange(0, width, 2) / width)
        places = torch.outer(torch.arange(self.context).float(), angles).repeat(1, 2)
        self._rotation = places.cos(), places.sin()

    @cached_property
    def checkpoint(self) -> "Checkpoint":  # type: ignore[override]  # set by nobody else, and read as the attribute
        """The model as transformers loads it."""
        from assay.models.loading import load_checkpoint  # noqa: PLC0415  it imports transformers

        return load_checkpoint(self.name, self._settings)

    @cached_property
    def forward(self) -> Forward:  # type: ignore[override]  # as checkpoint
        """The forward pass of transformers."""
        return Forward(self.checkpoint.model)

    @cached_property
    def digest(self) -> str:
        """SHA-256 as `TransformersModel.digest`."""
        return self._digest_of([self._folder], torch.float32)

    @property
    def vocabulary_size(self) -> int:
        """Number of logits, V."""
        return len(self._embedding)

    def forward_statistics(self, ids: Tensor, positions: Tensor, targets: Tensor) -> Tensor:
        """Return the statistics of one batch; see `Forward.statistics`."""
        if "checkpoint" in vars(self):  # a caller that has loaded the weights may have changed them
            return super().forward_statistics(ids, positions, targets)
        with torch.inference_mode():
            return reduced(self._hidden(ids), self._logits, self.vocabulary_size, positions=positions, targets=targets)

    def _logits(self, hidden: Tensor) -> Tensor:
        return functional.linear(hidden, self._embedding)

    def _hidden(self, ids: Tensor) -> Tensor:
        rows, length = ids.shape
        heads, width = self._config["num_attention_heads"], self._config["head_dim"]
        states = functional.embedding(ids, self._embedding)
        for layer in range(self._config["num_hidden_layers"]):
            part = f"model.layers.{layer}"
            normed = self._normed(states, f"{part}.input_layernorm")
            shape = (rows, length, heads, width)
            query, key, value = (
                self._linear(normed, f"{part}.self_attn.{name}_proj").view(shape).transpose(1, 2) for name in "qkv"
            )
            attended = functional.scaled_dot_product_attention(
                self._rotated(query), self._rotated(key), value, is_causal=True
            )
            attended = attended.transpose(1, 2).reshape(rows, length, -1)
            states = states + self._linear(attended, f"{part}.self_attn.o_proj")
            normed = self._normed(states, f"{part}.post_attention_layernorm")
            gate = functional.silu(self._linear(normed, f"{part}.mlp.gate_proj"))
            states = states + self._linear(gate * self._linear(normed, f"{part}.mlp.up_proj"), f"{part}.mlp.down_proj")
        return self._normed(states, "model.norm")

    def _rotated(self, heads: Tensor) -> Tensor:
        cosine, sine = (table[: heads.shape[2]] for table in self._rotation)
        first, second = heads.chunk(2, -1)
        return heads * cosine + torch.cat([-second, first], -1) * sine

    def _linear(self, states: Tensor, name: str) -> Tensor:
        return functional.linear(states, self._weights[f"{name}.weight"])

    def _normed(self, states: Tensor, name: str) -> Tensor:
        weight = self._weights[f"{name}.weight"]
        return functional.rms_norm(states, weight.shape, weight, eps=self._config["rms_norm_eps"])

    def _continuer(self) -> "Continuer":
        # text is decoded by the whole tokenizer, which knows more than tokenizer.json
        encoder = TextEncoder(self.checkpoint.tokenizer, name=self.name, rows=self.vocabulary_size)
        return replace(super()._continuer(), encoder=encoder)


class _FastTokenizer:
    """A tokenizer.json with what `TextEncoder` needs of a tokenizer of transformers."""

    is_fast = True

    def __init__(self, file: Path) -> None:
        self.backend_tokenizer = Tokenizer.from_file(str(file))
        self.convert_ids_to_tokens = self.backend_tokenizer.id_to_token

    def __call__(self, texts: str | Sequence[str], *, add_special_tokens: bool = True, **_: object) -> dict[str, Any]:
        encode = self.backend_tokenizer.encode_batch
        encoded = encode([texts] if isinstance(texts, str) else texts, add_special_tokens=add_special_tokens)
        ids = list(map(attrgetter("ids"), encoded))
        return {
            "input_ids": ids[0] if isinstance(texts, str) else ids,
            "offset_mapping": list(map(attrgetter("offsets"), encoded)),
        }
