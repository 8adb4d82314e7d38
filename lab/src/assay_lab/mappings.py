"""Mappings that are made from names or from another mapping."""

from collections.abc import Callable, Iterable, Mapping
from itertools import starmap
from typing import Any, TypeVar

Name = TypeVar("Name")
Before = TypeVar("Before")
After = TypeVar("After")


def mapped(function: Callable[[Name], After], names: Iterable[Name]) -> dict[Name, After]:
    """Return name → what the function returns for it."""
    return {name: function(name) for name in names}


def map_values(function: Callable[[Before], After], mapping: Mapping[Name, Before]) -> dict[Name, After]:
    """Return name → what the function returns for its value."""
    return {name: function(value) for name, value in mapping.items()}


def numbered(names: Iterable[Name]) -> dict[Name, int]:
    """Return name → its place, counted from 0; a name that occurs twice has its last place."""
    return {name: place for place, name in enumerate(names)}


def enumerated(mapping: Mapping[Any, object], pattern: str = "{} {}", separator: str = ", ") -> str:
    """Return each name with its value in one line; the pattern holds `{0}` for the name and `{1}` for the value."""
    return separator.join(starmap(pattern.format, mapping.items()))
