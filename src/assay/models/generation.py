"""Prompts → continuations: batches padded on the left, shared prefixes computed once, and stop strings."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import chain, count, islice, takewhile
from operator import attrgetter
from typing import Any

import torch
from torch import Tensor
from transformers import (
    GenerationConfig,
    LogitsProcessor,
    LogitsProcessorList,
    PreTrainedModel,
    PreTrainedTokenizerBase,
    StoppingCriteria,
    StoppingCriteriaList,
    TemperatureLogitsWarper,
    TopPLogitsWarper,
)

from assay.errors import ModelError
from assay.models.batching import TokenBudget, apart, original_context
from assay.models.encoding import TextEncoder, beginning
from assay.models.forward import device_of, embedding
from assay.models.generators import Decoding, before_first, end_tokens, in_blocks, in_order, room_for, stream_seeds
from assay.models.prefixes import Prefixes, families_of

BUFFER_PROMPTS = 1024
"""Prompts that are processed at a time: sorted by length, returned in order."""

SPLIT_CHARACTER = 4
"""Tokens to decode beside one for each byte of a stop string: a character before it may be split."""


@dataclass(frozen=True, slots=True)
class _Prompt:
    index: int
    ids: list[int]
    seed: int
    tokens: int


@dataclass(frozen=True, slots=True)
class Continuer:
    """Continues prompts with one model.

    A prompt too long for the context keeps its special tokens and its END, so that `max_new_tokens` fit behind it.

    Attributes:
        model: generates.
        encoder: its tokenizer and the special tokens before a text.
        context: largest number of tokens of prompt and completion together.
        budget: tokens in a batch.
        prefixes: computes shared prefixes once; None computes every prompt whole, which works for any model.
    """

    model: PreTrainedModel
    encoder: TextEncoder
    context: int
    budget: TokenBudget
    prefixes: Prefixes | None = None

    def texts(self, prompts: Sequence[str], decoding: Decoding) -> Iterator[str]:
        """Continuations in the order of `prompts`.

        An empty prompt without special tokens begins with BOS (EOS if there is no BOS).

        Raises:
            ModelError: `max_new_tokens` leaves no room for a prompt, or one prompt alone does not fit into memory.
        """
        encoder, before = self.encoder, len(self.encoder.prefix)
        room = room_for(decoding.max_new_tokens, self.context, before)
        seeds = stream_seeds(decoding.seed, prompts)
        for block in in_blocks(prompts, BUFFER_PROMPTS):
            cut = (text.ids[before:][-room:].tolist() for text in encoder.encode(block))
            ids = [[*encoder.prefix, *own] or [beginning(encoder.tokenizer)] for own in cut]
            # torch takes 63 bits
            streams = [seed >> 1 for seed in islice(seeds, len(ids))]
            for prompt, own in zip(ids, self._batched(ids, decoding, streams), strict=True):
                # decoded together with the prompt: some tokenizers drop the space before the first word of a text
                text = _text(encoder.tokenizer, [*prompt, *own])[len(_text(encoder.tokenizer, prompt)) :]
                yield before_first(text, decoding.stop)

    def tokens(self, prompts: Sequence[Sequence[int]], max_new_tokens: int) -> Iterator[tuple[int, ...]]:
        """Greedy continuations of token ids, as token ids, in the order of `prompts`.

        Raises:
            ModelError: as `texts`; or an empty prompt.
        """
        before = len(self.encoder.prefix)
        room = room_for(max_new_tokens, self.context, before)
        for block in in_blocks(prompts, BUFFER_PROMPTS):
            ids = [[*prompt[:before], *prompt[before:][-room:]] for prompt in block]
            if not all(ids):
                raise ModelError("an empty prompt of tokens: expected at least one token")
            yield from map(tuple, self._batched(ids, Decoding(max_new_tokens), [0] * len(ids)))

    def _batched(self, prompts: Sequence[list[int]], decoding: Decoding, seeds: Sequence[int]) -> Iterator[list[int]]:
        """Yield the new tokens of each prompt, in order."""
        # a batch is as large as what it will hold in the end, prompt and continuation
        tokens = [len(ids) + decoding.max_new_tokens for ids in prompts]
        work = list(map(_Prompt, count(), prompts, seeds, tokens))

        def run(batch: Sequence[_Prompt], shared: Prefixes | None) -> list[tuple[int, list[int]]]:
            places = map(attrgetter("index"), batch)
            return list(zip(places, self._new_tokens(batch, decoding, shared), strict=True))

        # A prompt that may cross the border of LongRoPE's two kinds does so at a place of its own: it runs alone.
        crossing, within = apart(work, original_context(self.model.config.get_text_config()))
        alone = (self.budget.run([prompt], lambda batch: run(batch, None)) for prompt in crossing)
        ordered = within if self.prefixes is None else _in_families(within)
        together = self.budget.run(ordered, lambda batch: run(batch, self.prefixes))
        return in_order(chain.from_iterable((*alone, together)))

    def _new_tokens(self, batch: Sequence[_Prompt], decoding: Decoding, prefixes: Prefixes | None) -> list[list[int]]:
        """Return the tokens generated after each prompt of a batch, up to the end-of-sequence token."""
        model = self.model
        prompts = list(map(attrgetter("ids"), batch))
        width = max(map(len, prompts))
        ends = end_tokens(model, self.encoder.tokenizer)
        padding = next(iter(ends), 0)
        # padded on the left: every prompt ends in the last column, where generation goes on
        ids = torch.full((len(batch), width), padding)
        mask = torch.zeros_like(ids)
        for row, prompt in enumerate(prompts):
            ids[row, width - len(prompt) :] = torch.tensor(prompt)
            mask[row, width - len(prompt) :] = 1
        device = device_of(embedding(model))
        generate: Any = model.generate
        stopping = StoppingCriteriaList([_StopStrings(self.encoder, decoding.stop, width)] if decoding.stop else [])
        settings = GenerationConfig(
            max_new_tokens=decoding.max_new_tokens,
            do_sample=False,
            num_beams=1,
            use_cache=True,
            eos_token_id=ends or None,
            pad_token_id=padding,
        )
        with torch.inference_mode(), own_settings_off(model):
            computed = {} if prefixes is None else {"past_key_values": prefixes.cache(prompts)}
            output = generate(
                ids.to(device),
                attention_mask=mask.to(device),
                generation_config=settings,
                logits_processor=sampling(decoding, list(map(attrgetter("seed"), batch))),
                stopping_criteria=stopping,
                **computed,
            )
            if prefixes is not None:
                prefixes.keep(computed["past_key_values"], prompts)
        rows: list[list[int]] = output[:, width:].tolist()[: len(batch)]
        return [list(takewhile(lambda token: token not in ends, row)) for row in rows]


def _in_families(work: Sequence[_Prompt]) -> list[_Prompt]:
    """The work in an order in which prompts that begin alike stay together, each as long as its family's longest."""
    ordered: list[_Prompt] = []
    for family in families_of(list(map(attrgetter("ids"), work))):
        members = list(map(work.__getitem__, family))
        longest = max(map(attrgetter("tokens"), members))
        ordered += [replace(prompt, tokens=longest) for prompt in members]
    return ordered


@contextmanager
def own_settings_off(model: PreTrainedModel) -> Iterator[None]:
    """Switch the checkpoint's own settings off: greedy decoding must not add a repetition penalty, for example."""
    own = model.generation_config
    model.generation_config = GenerationConfig()
    try:
        yield
    finally:
        model.generation_config = own


def sampling(decoding: Decoding, seeds: Sequence[int]) -> LogitsProcessorList:
    """Return what changes the logits of rows before the largest one is taken; nothing where decoding is greedy."""
    processors = LogitsProcessorList()
    if decoding.temperature > 0:
        if decoding.temperature != 1:
            processors.append(TemperatureLogitsWarper(decoding.temperature))
        if decoding.top_p < 1:
            processors.append(TopPLogitsWarper(decoding.top_p))
        processors.append(GumbelNoise(seeds))
    return processors


class GumbelNoise(LogitsProcessor):
    """Argmax of logits plus Gumbel noise is a sample of their softmax.

    Each prompt has a random stream of its own, on the CPU: what is sampled for it depends neither on the
    other prompts of its batch nor on the device.
    """

    def __init__(self, seeds: Sequence[int]) -> None:
        self._streams = [torch.Generator().manual_seed(seed) for seed in seeds]

    def __call__(self, input_ids: Tensor, scores: Tensor) -> Tensor:  # noqa: ARG002  the interface passes both
        """Return logits with noise, [rows, V]."""
        uniform = torch.stack([torch.rand(scores.shape[-1], generator=stream) for stream in self._streams])
        # argmax(logits + Gumbel noise) is an exact sample (Gumbel-max); greedy decoding then draws it
        gumbel = -(-uniform.clamp(min=torch.finfo(uniform.dtype).tiny).log()).log()
        return scores.float() + gumbel.to(scores.device)


class _StopStrings(StoppingCriteria):
    """Stop a row when its generated text contains a stop string; the text is cut there afterwards."""

    def __init__(self, encoder: TextEncoder, stop: Sequence[str], width: int) -> None:
        self._tokenizer = encoder.tokenizer
        self._stop = stop
        self._width = width
        # a stop string is looked for in the last tokens alone, so a step costs the same however long the text is
        self._tail = max(map(len, map(str.encode, stop))) + SPLIT_CHARACTER

    def __call__(self, input_ids: Tensor, scores: object, **_: object) -> Tensor:  # noqa: ARG002  as above
        new = input_ids[:, max(self._width, input_ids.shape[1] - self._tail) :].tolist()
        return torch.tensor(list(map(self._stops, new)), device=input_ids.device)

    def _stops(self, ids: list[int]) -> bool:
        text = _text(self._tokenizer, ids)
        return any(map(text.__contains__, self._stop))


def _text(tokenizer: PreTrainedTokenizerBase, ids: list[int]) -> str:
    return str(tokenizer.decode(ids, skip_special_tokens=True, clean_up_tokenization_spaces=False))
