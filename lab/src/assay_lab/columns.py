"""Columns of texts: what many steps read of a sequence of samples, one value for each."""

from collections.abc import Iterable

from assay.types import Sample


def text_column(samples: Iterable[Sample]) -> list[str]:
    """Return the text of each sample."""
    return [sample.text for sample in samples]


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
