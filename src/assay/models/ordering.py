"""Batches finish in any order; readers want the order they asked in."""

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

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
