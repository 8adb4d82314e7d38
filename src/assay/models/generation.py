"""Prompts → continuations: batches padded on the left, shared prefixes computed once, and stop strings."""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, TypeVar

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
from assay.models.batching import TokenBudget
from assay.models.encoding import TextEncoder, beginning
from assay.models.forward import device_of, embedding
from assay.models.long_rope import apart, original_context
from assay.models.ordering import in_order
from assay.models.prefixes import Prefixes, families_of

Written = TypeVar("Written")

BUFFER_PROMPTS = 1024
"""Prompts that are processed at a time: sorted by length, returned in order."""

SPLIT_CHARACTER = 4
"""Tokens to decode beside one for each byte of a stop string: a character before it may be split."""


@dataclass(frozen=True, slots=True)
class Decoding:
    """How to continue: the arguments of `Generator.generate`."""

    max_new_tokens: int
    temperature: float
    top_p: float
    stop: tuple[str, ...]
    seed: int

    def __post_init__(self) -> None:
        if self.max_new_tokens < 1:
            raise ModelError(f"max_new_tokens {self.max_new_tokens}: expected at least 1")
        if not self.temperature >= 0:
            raise ModelError(f"temperature {self.temperature}: expected 0 (greedy) or more")
        if not 0 < self.top_p <= 1:
            raise ModelError(f"top_p {self.top_p}: expected a number in (0, 1]")
        if "" in self.stop:
            raise ModelError("an empty stop string would stop everywhere: expected at least one character")


@dataclass(frozen=True, slots=True)
class _Prompt:
    index: int
    ids: list[int]
    seed: int
    tokens: int


def continuations(
    model: PreTrainedModel,
    encoder: TextEncoder,
    prompts: Sequence[str],
    decoding: Decoding,
    *,
    context: int,
    budget: TokenBudget,
    prefixes: Prefixes | None = None,
) -> Iterator[str]:
    """Continuations in the order of `prompts`.

    Args:
        model: generates.
        encoder: its tokenizer and the special tokens before a text.
        prompts: texts.
        decoding: settings.
        context: largest number of tokens of prompt and completion together.
        budget: tokens in a batch.
        prefixes: computes shared prefixes once; None computes every prompt whole, which works for any model.

    A prompt too long for the context keeps its special tokens and its END, so that `max_new_tokens` fit
    behind it. An empty prompt without special tokens begins with BOS (EOS if there is no BOS).

    Raises:
        ModelError: `max_new_tokens` leaves no room for a prompt, or one prompt alone does not fit into
            memory.
    """
    room = _room(encoder, decoding.max_new_tokens, context)
    seen: dict[str, int] = {}
    for start in range(0, len(prompts), BUFFER_PROMPTS):
        buffer = prompts[start : start + BUFFER_PROMPTS]
        work = []
        for index, (prompt, encoded) in enumerate(zip(buffer, encoder.encode(buffer), strict=True)):
            before = len(encoder.prefix)
            ids = [*encoder.prefix, *encoded.ids[before:][-room:].tolist()] or [beginning(encoder.tokenizer)]
            repetition = seen[prompt] = seen.get(prompt, -1) + 1
            tokens = len(ids) + decoding.max_new_tokens
            work.append(_Prompt(index, ids, prompt_seed(decoding.seed, prompt, repetition), tokens))
        yield from _batched(
            model, work, budget, prefixes, lambda batch, shared: _continue(model, encoder, batch, decoding, shared)
        )


def token_continuations(
    model: PreTrainedModel,
    encoder: TextEncoder,
    prompts: Sequence[Sequence[int]],
    *,
    max_new_tokens: int,
    context: int,
    budget: TokenBudget,
    prefixes: Prefixes | None = None,
) -> Iterator[tuple[int, ...]]:
    """Greedy continuations of token ids, as token ids, in the order of `prompts`; a prompt too long keeps its end.

    Arguments as of `continuations`.

    Raises:
        ModelError: as `continuations`; or an empty prompt.
    """
    decoding = Decoding(max_new_tokens, temperature=0.0, top_p=1.0, stop=(), seed=0)
    before = len(encoder.prefix)
    room = _room(encoder, max_new_tokens, context)
    for start in range(0, len(prompts), BUFFER_PROMPTS):
        work = []
        for index, prompt in enumerate(prompts[start : start + BUFFER_PROMPTS]):
            ids = [*prompt[:before], *prompt[before:][-room:]]
            if not ids:
                raise ModelError("an empty prompt of tokens: expected at least one token")
            work.append(_Prompt(index, ids, 0, len(ids) + max_new_tokens))
        yield from _batched(
            model,
            work,
            budget,
            prefixes,
            lambda batch, shared: [
                (prompt.index, tuple(new))
                for prompt, new in zip(batch, _new_tokens(model, encoder, batch, decoding, shared), strict=True)
            ],
        )


def _room(encoder: TextEncoder, max_new_tokens: int, context: int) -> int:
    room = context - max_new_tokens - len(encoder.prefix)
    if room < 1:
        raise ModelError(
            f"max_new_tokens {max_new_tokens} with a context of {context}: expected at most"
            f" {context - len(encoder.prefix) - 1}, so that a prompt fits"
        )
    return room


def _batched(
    model: PreTrainedModel,
    work: Sequence[_Prompt],
    budget: TokenBudget,
    prefixes: Prefixes | None,
    run: Callable[[Sequence[_Prompt], Prefixes | None], list[tuple[int, Written]]],
) -> Iterator[Written]:
    # A prompt that may cross the border of LongRoPE's two kinds does so at a place of its own: it runs alone.
    crossing, within = apart(work, original_context(model.config.get_text_config()))
    alone = (budget.run([prompt], lambda batch: run(batch, None)) for prompt in crossing)
    ordered = within if prefixes is None else _in_families(within)
    return in_order(chain.from_iterable((*alone, budget.run(ordered, lambda batch: run(batch, prefixes)))))


def _in_families(work: Sequence[_Prompt]) -> list[_Prompt]:
    """The work in an order in which prompts that begin alike stay together, each as long as its family's longest."""
    families = [[work[place] for place in family] for family in families_of([prompt.ids for prompt in work])]
    return [
        replace(prompt, tokens=longest)
        for family, longest in ((members, max(prompt.tokens for prompt in members)) for members in families)
        for prompt in family
    ]


def _continue(
    model: PreTrainedModel,
    encoder: TextEncoder,
    batch: Sequence[_Prompt],
    decoding: Decoding,
    prefixes: Prefixes | None,
) -> list[tuple[int, str]]:
    results = []
    for prompt, new in zip(batch, _new_tokens(model, encoder, batch, decoding, prefixes), strict=True):
        text = _text_after(encoder.tokenizer, prompt.ids, new)
        cuts = [place for place in map(text.find, decoding.stop) if place >= 0]
        results.append((prompt.index, text[: min(cuts)] if cuts else text))
    return results


def _new_tokens(
    model: PreTrainedModel,
    encoder: TextEncoder,
    batch: Sequence[_Prompt],
    decoding: Decoding,
    prefixes: Prefixes | None,
) -> list[list[int]]:
    """Return the tokens generated after each prompt of a batch, up to the end-of-sequence token."""
    width = max(len(prompt.ids) for prompt in batch)
    ends = end_tokens(model, encoder)
    padding = ends[0] if ends else 0
    ids = torch.full((len(batch), width), padding)
    mask = torch.zeros_like(ids)
    for row, prompt in enumerate(batch):
        ids[row, width - len(prompt.ids) :] = torch.tensor(prompt.ids)
        mask[row, width - len(prompt.ids) :] = 1
    device = device_of(embedding(model))
    generate: Any = model.generate
    processors = LogitsProcessorList()
    if decoding.temperature > 0:
        if decoding.temperature != 1:
            processors.append(TemperatureLogitsWarper(decoding.temperature))
        if decoding.top_p < 1:
            processors.append(TopPLogitsWarper(decoding.top_p))
        processors.append(GumbelNoise([prompt.seed for prompt in batch]))
    stopping = StoppingCriteriaList([_StopStrings(encoder, decoding.stop, width)] if decoding.stop else [])
    settings = GenerationConfig(
        max_new_tokens=decoding.max_new_tokens,
        do_sample=False,
        num_beams=1,
        use_cache=True,
        eos_token_id=ends or None,
        pad_token_id=padding,
    )
    with torch.inference_mode(), own_settings_off(model):
        prompts = [prompt.ids for prompt in batch]
        computed = None if prefixes is None else prefixes.cache(prompts)
        output = generate(
            ids.to(device),
            attention_mask=mask.to(device),
            generation_config=settings,
            logits_processor=processors,
            stopping_criteria=stopping,
            **({} if computed is None else {"past_key_values": computed}),
        )
        if prefixes is not None and computed is not None:
            prefixes.keep(computed, prompts)
    rows = output[:, width:].tolist()
    return [
        new[: next((place for place, token in enumerate(new) if token in ends), len(new))] for new in rows[: len(batch)]
    ]


@contextmanager
def own_settings_off(model: PreTrainedModel) -> Iterator[None]:
    """Switch the checkpoint's own settings off: greedy decoding must not add a repetition penalty, for example."""
    own = model.generation_config
    model.generation_config = GenerationConfig()
    try:
        yield
    finally:
        model.generation_config = own


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
        gumbel = -(-uniform.clamp(min=torch.finfo(uniform.dtype).tiny).log()).log()
        return scores.float() + gumbel.to(scores.device)


class _StopStrings(StoppingCriteria):
    """Stop a row when its generated text contains a stop string; the text is cut there afterwards."""

    def __init__(self, encoder: TextEncoder, stop: Sequence[str], width: int) -> None:
        self._tokenizer = encoder.tokenizer
        self._stop = stop
        self._width = width
        self._tail = max(len(end.encode()) for end in stop) + SPLIT_CHARACTER

    def __call__(self, input_ids: Tensor, scores: object, **_: object) -> Tensor:  # noqa: ARG002  as above
        new = input_ids[:, max(self._width, input_ids.shape[1] - self._tail) :].tolist()
        stopped = [any(end in _text(self._tokenizer, row) for end in self._stop) for row in new]
        return torch.tensor(stopped, device=input_ids.device)


def _text_after(tokenizer: PreTrainedTokenizerBase, prompt: list[int], new: list[int]) -> str:
    """The text that `new` adds to `prompt`: decoded together, for some tokenizers drop a leading space."""
    return _text(tokenizer, [*prompt, *new])[len(_text(tokenizer, prompt)) :]


def _text(tokenizer: PreTrainedTokenizerBase, ids: list[int]) -> str:
    return str(tokenizer.decode(ids, skip_special_tokens=True, clean_up_tokenization_spaces=False))


def end_tokens(model: PreTrainedModel, encoder: TextEncoder) -> list[int]:
    """Return the end-of-sequence tokens: those that the checkpoint's generation settings name, else the tokenizer's."""
    stated = getattr(model.generation_config, "eos_token_id", None)
    if stated is None:
        stated = encoder.tokenizer.eos_token_id
    if stated is None:
        return []
    return [int(token) for token in stated] if isinstance(stated, list) else [int(stated)]


def prompt_seed(seed: int, prompt: str, repetition: int) -> int:
    """A stream per prompt; the same prompt asked twice continues in two ways."""
    key = f"{seed}\0{repetition}\0".encode() + prompt.encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.sha256(key).digest()[:8]) >> 1
