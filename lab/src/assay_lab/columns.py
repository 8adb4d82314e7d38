"""Columns of records: what many steps take of a sequence of samples, files or results, one value for each."""

import math
from collections.abc import Collection, Iterable
from functools import partial
from operator import attrgetter
from typing import Any, Protocol, TypeVar

import numpy as np

from assay.types import BooleanArray, Sample

Record = TypeVar("Record")
Place_contra = TypeVar("Place_contra", contravariant=True)
Place = TypeVar("Place")
Taken_co = TypeVar("Taken_co", covariant=True)
Taken = TypeVar("Taken")


class HasText(Protocol):
    """Something with a text: a sample, a function, a file."""

    @property
    def text(self) -> str:
        """What it reads."""


Text = TypeVar("Text", bound=HasText)


class Table(Protocol[Place_contra, Taken_co]):
    """Something that has a value at a place: a sequence, a mapping, an array."""

    def __getitem__(self, place: Place_contra, /) -> Taken_co:
        """Return the value at a place."""


def attributes(records: Iterable[object], name: str) -> list[Any]:
    """Return one attribute of each record; a name with dots leads through attributes of attributes."""
    return list(map(attrgetter(name), records))


def having(records: Iterable[Record], **values: object) -> list[Record]:
    """Return the records whose attributes have all of these values."""
    expected = tuple(values.values())
    chosen = []
    for record in records:
        if tuple(map(partial(getattr, record), values)) == expected:
            chosen.append(record)
    return chosen


def among(records: Iterable[Record], name: str, values: Collection[object]) -> list[Record]:
    """Return the records of which the attribute is one of the values."""
    read = attrgetter(name)
    return [record for record in records if read(record) in values]


def outside(records: Iterable[Record], name: str, values: Collection[object]) -> list[Record]:
    """Return the records of which the attribute is none of the values."""
    read = attrgetter(name)
    return [record for record in records if read(record) not in values]


def of_length(records: Iterable[Text], least: int, most: float = math.inf) -> list[Text]:
    """Return the records whose text has from `least` to `most` characters."""
    return [record for record in records if least <= len(record.text) <= most]


def keyed(records: Iterable[Record], *names: str) -> dict[Any, Record]:
    """Return value of the attribute, or the tuple of values of several → the last record that has it."""
    read = attrgetter(*names)
    return {read(record): record for record in records}


def without(values: Iterable[Record], excluded: Collection[object]) -> list[Record]:
    """Return the values that are not among those excluded, in their order."""
    return [value for value in values if value not in excluded]


def present(values: Iterable[Record | None]) -> list[Record]:
    """Return the values that are not None, in their order."""
    return [value for value in values if value is not None]


def at_places(table: Table[Place, Taken], places: Iterable[Place]) -> list[Taken]:
    """Return the values at some places of a sequence, a mapping or an array, in the order of the places."""
    return list(map(table.__getitem__, places))


def text_column(records: Iterable[HasText]) -> list[str]:
    """Return the text of each record."""
    return [record.text for record in records]


def id_column(samples: Iterable[Sample]) -> list[str]:
    """Return the id of each sample."""
    return [sample.id for sample in samples]


def group_column(samples: Iterable[Sample]) -> list[str | None]:
    """Return the group of each sample; None where it belongs to none."""
    return [sample.group for sample in samples]


def own_group_column(samples: Iterable[Sample]) -> list[str]:
    """Return the group of each sample; a sample without one is a group of its own."""
    return [sample.group or sample.id for sample in samples]


def label_column(samples: Iterable[Sample]) -> list[str | None]:
    """Return the label of each sample."""
    return [sample.label for sample in samples]


def is_labelled(samples: Iterable[Sample], label: str) -> BooleanArray:
    """Return True for each sample of this label."""
    return np.array([sample.label == label for sample in samples], bool)
