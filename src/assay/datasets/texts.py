"""Texts as callers give them: by name, by path, as values, or as a function that reads them later."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path

from assay.datasets.dataset import Dataset
from assay.datasets.loading import read_dataset
from assay.datasets.selection import DataSelection
from assay.errors import DataError
from assay.types import Sample

Texts = str | Path | Dataset | Sequence[Sample] | Callable[[], Dataset]
"""A benchmark's name, a file or folder, a data set that `assay.load` returned, samples, or a function that loads a data
set once the other arguments have been checked."""
EXPECTED = "expected a benchmark's name, a file, a folder, or samples such as assay.Sample('name', 'def f(x): ...')"


def unread(texts: str, selection: DataSelection) -> Callable[[], Dataset]:
    """Return a function that reads a data set once the other arguments have been checked."""
    return partial(dataset_of, texts, selection)


def dataset_of(texts: Texts, selection: DataSelection | None = None) -> Dataset:
    """Return the samples behind a name, a path, a function or values.

    Args:
        texts: see `Texts`.
        selection: what is read of a name or a path.

    Raises:
        DataError: they cannot be read, or are no samples.
    """
    if isinstance(texts, Dataset):
        return texts
    if isinstance(texts, str | Path):
        return read_dataset(texts, selection or DataSelection())
    if callable(texts):
        return texts()
    if not isinstance(texts, Iterable):
        raise DataError(f"received {texts!r} for texts; {EXPECTED}")
    samples = tuple(texts)
    for other in samples:
        if not isinstance(other, Sample):
            raise DataError(f"received texts that hold a {type(other).__name__}; {EXPECTED}")
    return Dataset.of("samples", samples, source="samples")
