"""Parts of every backend that generates: a seed for each prompt, and the cut before a stop string."""

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

from assay.types import Prompt

SEEDS = 2**31
"""Seeds are below this, which every server takes."""


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
    return text[: min((place for end in stop if end and (place := text.find(end)) >= 0), default=len(text))]


# Batches finish in any order; readers want the order they asked in.

Value = TypeVar("Value")


def in_order(batches: Iterable[Sequence[tuple[int, Value]]]) -> Iterator[Value]:
    """The values of indexed batches, by index from 0 on, each as early as that order allows."""
    waiting: dict[int, Value] = {}
    following = 0
    for batch in batches:
        waiting.update(batch)
        while following in waiting:
            yield waiting.pop(following)
            following += 1
