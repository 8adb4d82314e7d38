"""Parts of every backend that generates: settings, a seed for each prompt, and the cut before a stop string."""

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Required, TypedDict, TypeVar

from assay.errors import ModelError
from assay.types import Prompt

if TYPE_CHECKING:  # slow to import
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

SEEDS = 2**31
"""Seeds are below this, which every server takes."""


class DecodingArguments(TypedDict, total=False):
    """The keywords of `Generator.generate`, which a backend hands to `Decoding`; defaults are there."""

    max_new_tokens: Required[int]
    temperature: float
    top_p: float
    stop: Sequence[str]
    seed: int


@dataclass(frozen=True, slots=True)
class Decoding:
    """How to continue: the arguments of `Generator.generate`."""

    max_new_tokens: int
    temperature: float = 0.0
    top_p: float = 1.0
    stop: Sequence[str] = ()
    seed: int = 0

    def __post_init__(self) -> None:
        if self.max_new_tokens < 1:
            raise ModelError(f"max_new_tokens {self.max_new_tokens}: expected at least 1")
        if not self.temperature >= 0:
            raise ModelError(f"temperature {self.temperature}: expected 0 (greedy) or more")
        if not 0 < self.top_p <= 1:
            raise ModelError(f"top_p {self.top_p}: expected a number in (0, 1]")
        if "" in self.stop:
            raise ModelError("an empty stop string would stop everywhere: expected at least one character")


def numbered(prompts: Iterable[Prompt]) -> Iterator[tuple[Prompt, int]]:
    """Yield each prompt with its number among equal prompts, from 0: two samples of one prompt are meant to differ."""
    seen: Counter[Prompt] = Counter()
    for prompt in prompts:
        yield prompt, seen[prompt]
        seen[prompt] += 1


def stream_seeds(seed: int, prompts: Iterable[str]) -> Iterator[int]:
    """Yield a seed of 64 bits for each prompt; the same prompt asked twice has two."""
    for prompt, repetition in numbered(prompts):
        # no place in the list is part of the key, so that neighbours, order and batches change no sample
        key = f"{seed}\0{repetition}\0".encode() + str(prompt).encode("utf-8", "surrogatepass")
        yield int.from_bytes(hashlib.sha256(key).digest()[:8])


def prompt_seeds(seed: int, prompts: Iterable[str]) -> Iterator[int]:
    """Yield a seed below `SEEDS` for each prompt; see `stream_seeds`."""
    return (own % SEEDS for own in stream_seeds(seed, prompts))


def before_first(text: str, stop: Iterable[str]) -> str:
    """Return the text up to the first place where one of `stop` begins."""
    places = map(text.find, filter(None, stop))
    return text[: min((place for place in places if place >= 0), default=len(text))]


def room_for(max_new_tokens: int, context: int, special: int) -> int:
    """Return the tokens of a prompt for which there is room, beside the special ones and those to generate.

    Raises:
        ModelError: there is room for none.
    """
    room = context - max_new_tokens - special
    if room < 1:
        raise ModelError(
            f"max_new_tokens {max_new_tokens} with a context of {context}: expected at most {context - special - 1}, "
            "so that a prompt fits"
        )
    return room


def end_tokens(model: "PreTrainedModel", tokenizer: "PreTrainedTokenizerBase") -> list[int]:
    """Return the end-of-sequence tokens: those that the checkpoint's generation settings name, else the tokenizer's."""
    stated = getattr(model.generation_config, "eos_token_id", None)
    if stated is None:
        stated = tokenizer.eos_token_id
    if stated is None:
        return []
    # one token, or several: Llama 3 ends a turn and a text with different ones
    return list(map(int, stated if isinstance(stated, list) else [stated]))


# Batches finish in any order; readers want the order they asked in.

Value = TypeVar("Value")


def in_blocks(items: Sequence[Value], size: int) -> Iterator[Sequence[Value]]:
    """Yield a sequence in parts of `size`, the last of which may be shorter."""
    for start in range(0, len(items), size):
        yield items[start : start + size]


def portions(texts: Sequence[str], *, characters: int, most: int | None = None) -> Iterator[slice]:
    """Yield the ranges of texts that are taken up together, in order; a text is never divided.

    Args:
        texts: of any length.
        characters: most of one portion; a longer text is a portion of its own.
        most: texts of one portion; None is any number.
    """
    start = size = 0
    for at, text in enumerate(texts):
        if at > start and (at - start == most or size + len(text) > characters):
            yield slice(start, at)
            start, size = at, 0
        size += len(text)
    if start < len(texts):
        yield slice(start, len(texts))


def in_order(batches: Iterable[Sequence[tuple[int, Value]]]) -> Iterator[Value]:
    """The values of indexed batches, by index from 0 on, each as early as that order allows."""
    waiting: dict[int, Value] = {}
    following = 0
    for batch in batches:
        waiting.update(batch)
        while following in waiting:
            yield waiting.pop(following)
            following += 1
