"""The built-in models as scorers, read without transformers, whose import takes longer than scoring a patch.

They are Llamas with tied embeddings and one key for each query. The operations are those of transformers in its order,
so every statistic is the same number, and so is the digest: caches and references hold for both.
"""

import json
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, cast

import torch
from safetensors.torch import load_file
from tokenizers import Tokenizer
from torch import Tensor
from torch.nn import functional

from assay.models.batching import TokenBudget
from assay.models.digest import model_digest, tokenizer_digest
from assay.models.encoding import TextEncoder
from assay.models.forward import reduced
from assay.models.names import builtin_folder, builtin_name
from assay.models.settings import ModelSettings
from assay.models.windowed import CPU_ALIKE, CPU_BATCH_TOKENS, WindowedScorer
from assay.models.windows import resolve_stride

TAKES = frozenset({"max_length", "cache"})


def reads(name: str, settings: ModelSettings) -> bool:
    """Return True for a built-in model on a CPU, opened with nothing but a context of one's own."""
    has_accelerator = torch.cuda.is_available() or torch.backends.mps.is_available()
    return builtin_name(name) is not None and not has_accelerator and TAKES.issuperset(settings.changed())


class BuiltinScorer(WindowedScorer):
    """A built-in model that gives statistics and generates nothing; see `WindowedScorer`."""

    def __init__(self, name: str, settings: ModelSettings) -> None:
        """Read the model; its context is no longer than the model's own.

        Raises:
            ModelError: there is no built-in model of that name.
        """
        self.name = name
        self._folder = builtin_folder(str(builtin_name(name)))
        self._config = json.loads((self._folder / "config.json").read_text("utf-8"))
        self._weights = {key: value.float() for key, value in load_file(self._folder / "model.safetensors").items()}
        longest = self._config["max_position_embeddings"]
        self.context = min(settings.max_length or longest, longest)
        self.stride = resolve_stride(None, self.context)
        self._embedding = self._weights["model.embed_tokens.weight"]
        self.vocabulary_size = len(self._embedding)
        self._tokenizer = cast("Any", _FastTokenizer(self._folder / "tokenizer.json"))
        self.encoder = TextEncoder(self._tokenizer, name=name, rows=self.vocabulary_size)
        self.budget, self.alike, self.limit = TokenBudget(CPU_BATCH_TOKENS), CPU_ALIKE, None
        width = self._config["head_dim"]
        angles = 1 / self._config["rope_parameters"]["rope_theta"] ** (torch.arange(0, width, 2) / width)
        places = torch.outer(torch.arange(self.context).float(), angles).repeat(1, 2)
        self._rotation = places.cos(), places.sin()

    @cached_property
    def digest(self) -> str:
        """SHA-256 as `TransformersModel.digest`."""
        settings = {
            "dtype": str(torch.float32),
            "context": self.context,
            "stride": self.stride,
            "prefix": self.encoder.prefix,
        }
        return model_digest([self._folder], self._tokenizer, settings)

    @cached_property
    def tokenizer_digest(self) -> str:
        """SHA-256 of what the tokenizer does to text."""
        return tokenizer_digest(self._tokenizer)

    def forward_statistics(self, ids: Tensor, positions: Tensor, targets: Tensor) -> Tensor:
        """Return the statistics of one batch; see `Forward.statistics`."""
        with torch.inference_mode():
            hidden = self._hidden(ids)
            return reduced(
                hidden, lambda rows: functional.linear(rows, self._embedding), self.vocabulary_size, positions, targets
            )

    def _hidden(self, ids: Tensor) -> Tensor:
        rows, length = ids.shape
        heads, width = self._config["num_attention_heads"], self._config["head_dim"]
        states = functional.embedding(ids, self._embedding)
        for layer in range(self._config["num_hidden_layers"]):
            part = f"model.layers.{layer}"
            normed = self._normed(states, f"{part}.input_layernorm")
            query, key, value = (
                self._linear(normed, f"{part}.self_attn.{name}_proj").view(rows, length, heads, width).transpose(1, 2)
                for name in "qkv"
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
        return functional.rms_norm(states, weight.shape, weight, self._config["rms_norm_eps"])


class _FastTokenizer:
    """A tokenizer.json with what `TextEncoder` needs of a tokenizer of transformers."""

    is_fast = True

    def __init__(self, file: Path) -> None:
        self.backend_tokenizer = Tokenizer.from_file(str(file))
        self.convert_ids_to_tokens = self.backend_tokenizer.id_to_token

    def __call__(self, texts: str | Sequence[str], *, add_special_tokens: bool = True, **_: object) -> dict[str, Any]:
        encode = self.backend_tokenizer.encode_batch
        encoded = encode([texts] if isinstance(texts, str) else texts, add_special_tokens=add_special_tokens)
        ids = [row.ids for row in encoded]
        return {
            "input_ids": ids[0] if isinstance(texts, str) else ids,
            "offset_mapping": [row.offsets for row in encoded],
        }
