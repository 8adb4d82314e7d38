"""Any causal language model of transformers as a `TokenScorer` and a `Generator`."""

from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

import torch

from assay.errors import ModelError
from assay.models.batching import TokenBudget, original_context
from assay.models.digest import combined, model_digest, tokenizer_digest
from assay.models.encoding import TextEncoder
from assay.models.forward import Forward, embedding, hidden_states
from assay.models.generators import Decoding, DecodingArguments, end_tokens
from assay.models.settings import ModelSettings
from assay.models.windowed import CPU_ALIKE, CPU_BATCH_TOKENS, WindowedScorer
from assay.models.windows import context_length, resolve_stride
from assay.types import Float32Array, Pooling, Tokens

if TYPE_CHECKING:  # these import transformers, which a built-in model that only scores does not wait for
    from assay.models.generation import Continuer
    from assay.models.loading import Checkpoint

CPU_GENERATION_TOKENS = 4096
"""A step of generation reads all weights for one token of each row, so more rows cost little more than few."""
GPU_BATCH_TOKENS = 2**15
CPU_WHOLE, GPU_WHOLE = 2**27, 2**31
"""Logits of a batch at most, where a model computes those of all its tokens: 512 MiB in float32 on the CPU."""


class TransformersModel(WindowedScorer):
    """A loaded checkpoint with its settings.

    Attributes:
        name: what the user called it.
        context: longest sequence of tokens it is given, a BOS included.
        stride: distance between the windows of a longer text.
        encoder: its tokenizer and what stands before a text.
        forward: the model itself.
    """

    def __init__(self, checkpoint: "Checkpoint", settings: ModelSettings = ModelSettings()) -> None:  # noqa: B008  frozen
        """Settle context, windows and batches.

        Args:
            checkpoint: a loaded model.
            settings: BOS, windows and batches; what concerns loading has been done.

        Raises:
            ModelError: the model and its tokenizer do not fit together, give no finite numbers, or a setting
                is wrong.
        """
        self.name = checkpoint.name
        self.checkpoint = checkpoint
        self.context = context_length(checkpoint, settings.max_length)
        self.stride = resolve_stride(settings.stride, self.context)
        try:
            rows = len(embedding(checkpoint.model))
            self.encoder = TextEncoder(
                checkpoint.tokenizer, name=self.name, bos=settings.bos, chat=settings.chat_template, rows=rows
            )
            self.forward = Forward(checkpoint.model)
        except ModelError as error:
            raise ModelError(f"{self.name}: {error}") from error
        if len(self.encoder.prefix) >= self.context:
            raise ModelError(f"{self.name}: a context of {self.context} holds nothing beside the special tokens")
        # scoring wants batches that fit into a cache; a step of generation reads all weights, so it wants many rows
        scoring, generation, whole, self.alike = GPU_BATCH_TOKENS, GPU_BATCH_TOKENS, GPU_WHOLE, 0.0
        if checkpoint.model.device.type == "cpu":
            scoring, generation, whole, self.alike = CPU_BATCH_TOKENS, CPU_GENERATION_TOKENS, CPU_WHOLE, CPU_ALIKE
        if not self.forward.chunked:
            scoring = max(1, min(scoring, whole // self.vocabulary_size))
        self.limit = original_context(checkpoint.model.config.get_text_config())
        self.budget = TokenBudget(settings.batch_tokens or scoring)
        self.generation_budget = TokenBudget(settings.batch_tokens or generation)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of weights, configuration, tokenizer, dtype, windows and BOS; not of the device."""
        return self._digest_of(self.checkpoint.folders, self.checkpoint.model.dtype)

    @cached_property
    def generation_digest(self) -> str:
        """SHA-256 of the digest and of the tokens that end a continuation, which are in files of their own."""
        return combined([self.digest, end_tokens(self.checkpoint.model, self.checkpoint.tokenizer)])

    @cached_property
    def tokenizer_digest(self) -> str:
        """SHA-256 of what the tokenizer does to text."""
        return tokenizer_digest(self.encoder.tokenizer)

    @cached_property
    def shares_prefixes(self) -> bool:
        """True if shared prefixes of prompts can be computed once."""
        from assay.models.prefixes import continues_from_cache  # noqa: PLC0415  it imports transformers

        return continues_from_cache(self.checkpoint.model)

    @property
    def vocabulary_size(self) -> int:
        """Number of logits, V."""
        return self.forward.vocabulary_size

    def hidden_states(self, texts: Sequence[str], *, layer: int = -1, pooling: Pooling = "last") -> Float32Array:
        """Return one vector per text, float32 [texts, d]; of a text longer than the context, its end counts.

        Args:
            texts: each of at least one token.
            layer: 0 is the embedding, -1 the last layer.
            pooling: "last" token, or "mean" over the tokens.

        Raises:
            ModelError: a text has no token, there is no such layer, or one text does not fit into memory.
        """
        ids = [text.ids[-self.context :] for text in self.encoder.encode(texts)]
        empty = [index for index, row in enumerate(ids) if not len(row)]
        if empty:
            raise ModelError(f"{self.name}: text {empty[0]} has no token, so it has no hidden state")
        try:
            return hidden_states(self.checkpoint.model, ids, self.budget, layer=layer, pooling=pooling)
        except ModelError as error:
            raise ModelError(f"{self.name}: {error}") from error

    def generate(self, prompts: Sequence[str], **how: Unpack[DecodingArguments]) -> Iterator[str]:
        """Continuations in the order of `prompts`; what one prompt gets does not depend on the others.

        A prompt too long for the context keeps its end, so that `max_new_tokens` fit behind it.

        Raises:
            ModelError: a setting out of its range, or one prompt alone does not fit into memory.
        """
        return self._continuer().texts(prompts, Decoding(**how))

    def tokens(self, texts: Sequence[str]) -> list[Tokens]:
        """Each text as the model reads it."""
        before = len(self.encoder.prefix)
        return [
            Tokens(ids=tuple(encoding.ids.tolist()), offsets=encoding.offsets, first=encoding.first, special=before)
            for encoding in self.encoder.encode(texts)
        ]

    def continue_tokens(self, prompts: Sequence[Sequence[int]], *, max_new_tokens: int) -> Iterator[tuple[int, ...]]:
        """Greedy continuations in the order of `prompts`, in tokens.

        Raises:
            ModelError: as `generate`.
        """
        return self._continuer().tokens(prompts, max_new_tokens)

    def forward_statistics(self, ids: torch.Tensor, positions: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        """Return the statistics of one batch; see `Forward.statistics`."""
        return self.forward.statistics(ids, positions, targets)

    def _digest_of(self, folders: Sequence[Path], dtype: torch.dtype) -> str:
        prefix = self.encoder.prefix
        settings = {"dtype": str(dtype), "context": self.context, "stride": self.stride, "prefix": prefix}
        return model_digest(folders, self.encoder.tokenizer, settings)

    def _continuer(self) -> "Continuer":
        from assay.models import generation, prefixes  # noqa: PLC0415  see shares_prefixes

        model = self.checkpoint.model
        return generation.Continuer(
            model=model,
            encoder=self.encoder,
            context=self.context,
            budget=self.generation_budget,
            prefixes=prefixes.Prefixes(model) if self.shares_prefixes else None,
        )
