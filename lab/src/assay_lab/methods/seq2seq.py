"""An encoder-decoder model of transformers (T5, BART): it generates text, and scores a text given another."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Unpack

import numpy as np
import torch
from torch import Tensor
from transformers import GenerationConfig, PreTrainedTokenizerBase

from assay.errors import ModelError
from assay.models import (
    Checkpoint,
    Decoding,
    DecodingArguments,
    ModelSettings,
    TokenBudget,
    before_first,
    context_length,
    encodable,
    in_order,
    load_checkpoint,
    model_digest,
    own_settings_off,
    right_padded,
    sampling,
    stream_seeds,
)
from assay.types import TokenLogProbs
from assay_lab.columns import attributes, without
from assay_lab.methods.derivations import SEQ2SEQ

CPU_BATCH_TOKENS = 4096
GPU_BATCH_TOKENS = 2**14
DEFAULT_CONTEXT = 512
"""Tokens that an encoder reads where its configuration names no limit, as with T5's relative positions."""


@dataclass(frozen=True, slots=True)
class _Pair:
    """A source with its target, or with the number of tokens to generate.

    Attributes:
        index: place in the list of requests.
        source: token ids for the encoder.
        target: token ids that are scored; none where text is generated.
        room: tokens of the decoder.
        seed: of the random stream.
    """

    index: int
    source: list[int]
    target: list[int]
    room: int
    seed: int = 0

    @property
    def tokens(self) -> int:
        return len(self.source) + self.room


class Seq2SeqModel:
    """A loaded encoder-decoder model.

    A text is read with the special tokens that its tokenizer adds, and cut at the context.

    Attributes:
        name: what the user called it.
        context: tokens that encoder and decoder read at most, each.
    """

    def __init__(self, checkpoint: Checkpoint, settings: ModelSettings = ModelSettings()) -> None:  # noqa: B008  frozen
        """Settle context and batches.

        Raises:
            ModelError: `max_length` is not in [2, context].
        """
        self.name = checkpoint.name
        self.checkpoint = checkpoint
        self.context = context_length(checkpoint, settings.max_length, default=DEFAULT_CONTEXT)
        default = CPU_BATCH_TOKENS if checkpoint.model.device.type == "cpu" else GPU_BATCH_TOKENS
        self.budget = TokenBudget(default if settings.batch_tokens is None else settings.batch_tokens)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of weights, configuration, tokenizer, dtype and context; not of the device."""
        settings = {"dtype": str(self.checkpoint.model.dtype), "context": self.context, "kind": "seq2seq"}
        return model_digest(self.checkpoint.folders, self.checkpoint.tokenizer, settings)

    def generate(self, prompts: Sequence[str], **how: Unpack[DecodingArguments]) -> Iterator[str]:
        """Outputs of the decoder in the order of `prompts`; see `assay.types.Generator`.

        Tokens with a meaning in the text, as the sentinels of T5, stay in the output.

        Raises:
            ModelError: a setting out of its range, or one prompt alone does not fit into memory.
        """
        decoding = Decoding(**how)
        # the decoder begins with a start token, which takes one place
        room = min(decoding.max_new_tokens, self.context - 1)
        seeds = stream_seeds(decoding.seed, prompts)
        work = [
            _Pair(index, source=ids, target=[], room=room, seed=own >> 1)
            for index, (ids, own) in enumerate(zip(self._encode(prompts), seeds, strict=True))
        ]
        yield from in_order(self.budget.run(work, lambda batch: self._generated(batch, decoding)))

    def conditional(self, sources: Sequence[str], targets: Sequence[str]) -> Iterator[TokenLogProbs]:
        """Log-probabilities of each target given its source, in order.

        The scored tokens are those of the target as the tokenizer writes it, its special tokens included, as BARTScore
        does.

        Raises:
            ModelError: a log-probability is not finite, or one pair does not fit into memory.
        """
        pairs = zip(self._encode(sources), self._encode(targets), strict=True)
        work = [
            _Pair(index, source=source, target=target, room=len(target)) for index, (source, target) in enumerate(pairs)
        ]
        yield from in_order(self.budget.run(work, self._scored))

    def _encode(self, texts: Sequence[str]) -> list[list[int]]:
        if not texts:
            return []
        clean = list(map(encodable, texts))
        rows = self.checkpoint.tokenizer(clean, truncation=True, max_length=self.context, verbose=False)["input_ids"]
        # a tokenizer without special tokens gives nothing for an empty text, and an encoder cannot read nothing
        return [list(row) or [_token(self.checkpoint.tokenizer, "eos_token_id", 0)] for row in rows]

    def _inputs(self, batch: Sequence[_Pair]) -> dict[str, Tensor]:
        device = self.checkpoint.model.device
        ids, mask = right_padded(attributes(batch, "source"), self._padding)
        return {"input_ids": ids.to(device), "attention_mask": mask.to(device)}

    @property
    def _padding(self) -> int:
        return int(_token(self.checkpoint.tokenizer, "pad_token_id", 0))

    def _scored(self, batch: Sequence[_Pair]) -> list[tuple[int, TokenLogProbs]]:
        inputs = self._inputs(batch)
        labels, mask = right_padded(attributes(batch, "target"), self._padding)
        model: Any = self.checkpoint.model
        with torch.inference_mode():
            start = model.prepare_decoder_input_ids_from_labels(labels=labels.to(inputs["input_ids"].device))
            logits = model(**inputs, decoder_input_ids=start).logits.float()
            values = logits.log_softmax(-1).gather(-1, labels.to(logits.device)[..., None])[..., 0].cpu()
        if not bool(values[mask.bool()].isfinite().all()):
            raise ModelError(f"{self.name}: a log-probability is not finite: expected weights without NaN or infinity")
        return [
            (pair.index, TokenLogProbs(np.array(pair.target, np.int32), row[: len(pair.target)].numpy()))
            for pair, row in zip(batch, values, strict=True)
        ]

    def _generated(self, batch: Sequence[_Pair], decoding: Decoding) -> list[tuple[int, str]]:
        model: Any = self.checkpoint.model
        tokenizer = self.checkpoint.tokenizer
        start = model.config.decoder_start_token_id
        ends = _token(tokenizer, "eos_token_id", None)
        settings = GenerationConfig(
            max_new_tokens=batch[0].room,
            do_sample=False,
            num_beams=1,
            decoder_start_token_id=self._padding if start is None else start,
            eos_token_id=ends,
            pad_token_id=self._padding,
        )
        processors = sampling(decoding, attributes(batch, "seed"))
        with torch.inference_mode(), own_settings_off(model):
            output = model.generate(**self._inputs(batch), generation_config=settings, logits_processor=processors)
        frame = {self._padding, ends, start, _token(tokenizer, "bos_token_id", None)}
        results = []
        for pair, row in zip(batch, output.tolist(), strict=True):
            # the first is the start token; padding stands behind the end of shorter outputs
            ids = without(row[1:], frame)
            text = str(tokenizer.decode(ids, skip_special_tokens=False, clean_up_tokenization_spaces=False))
            results.append((pair.index, before_first(text, decoding.stop)))
        return results


def _token(tokenizer: PreTrainedTokenizerBase, name: str, default: Any) -> Any:  # noqa: ANN401  an id, or the default
    token = getattr(tokenizer, name)
    return default if token is None else int(token)


def open_seq2seq(name: str, settings: ModelSettings = ModelSettings()) -> Seq2SeqModel:  # noqa: B008  frozen
    """Open an encoder-decoder model (T5, BART) from its weights.

    Args:
        name: a folder as save_pretrained writes it, or a hub id; `seq2seq:` may stand before it.
        settings: how to open it.

    Raises:
        ModelError: there is no such model, it does not work, or it is no encoder-decoder model.
        MissingExtra: it needs an optional dependency.
    """
    checkpoint = load_checkpoint(name.removeprefix(SEQ2SEQ), settings)
    if not checkpoint.model.config.is_encoder_decoder:
        raise ModelError(
            f"{name} is a decoder without an encoder: expected an encoder-decoder model such as T5 or BART"
        )
    return Seq2SeqModel(checkpoint, settings)
