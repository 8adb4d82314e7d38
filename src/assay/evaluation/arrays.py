"""Checks of the arrays that evaluation receives, made once at its edge."""

from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from assay.errors import DataError
from assay.types import BooleanArray, Float64Array

Indices = NDArray[np.intp]


def finite(values: ArrayLike, what: str = "scores") -> Float64Array:
    """Return a float64 vector without NaN or infinity.

    Raises:
        DataError: it is not one-dimensional, or a value is not finite.
    """
    array = _vector(values, what)
    bad = int((~np.isfinite(array)).sum())
    if bad:
        raise DataError(f"{bad} of {len(array)} {what} are NaN or infinite; expected finite numbers only")
    return array


def scorable(values: ArrayLike, what: str = "scores") -> Float64Array:
    """Return a float64 vector in which NaN stands for an unscorable sample.

    Raises:
        DataError: it is not one-dimensional, or a value is infinite.
    """
    array = _vector(values, what)
    bad = int(np.isinf(array).sum())
    if bad:
        raise DataError(f"{bad} of {len(array)} {what} are infinite; expected numbers, or NaN where unscorable")
    return array


def labels(positive: ArrayLike, size: int) -> BooleanArray:
    """Return a boolean vector of `size` labels.

    Raises:
        DataError: wrong shape, or values other than true / false (1 / 0).
    """
    array = np.asarray(positive)
    if array.shape != (size,):
        raise DataError(f"labels of shape {array.shape} for {size} scores; expected one label a score")
    # labels such as 1 and 2, or -1 and 1, would all become true
    if array.dtype != np.bool_ and not np.isin(array, (0, 1)).all():
        raise DataError("labels that are neither true nor false; expected booleans, or 1 and 0")
    return array.astype(np.bool_)


def both_classes(positive: BooleanArray) -> None:
    """Check that both classes are present.

    Raises:
        DataError: only one class is present.
    """
    positives = int(positive.sum())
    if positives in (0, len(positive)):
        raise DataError(f"{positives} positive and {len(positive) - positives} negative samples; expected both classes")


def group_codes(groups: Sequence[Hashable] | None, size: int) -> Indices:
    """Return the number of each sample's group, intp [size], counted from 0 in order of appearance.

    None is no group: such a sample is a group of its own; None for all means that all are.

    Raises:
        DataError: another number of groups than samples.
    """
    if groups is None:
        return np.arange(size, dtype=np.intp)
    if len(groups) != size:
        raise DataError(f"{len(groups)} groups for {size} scores; expected one group a score")
    seen: dict[Hashable, int] = {}
    codes = np.empty(size, np.intp)
    for i, group in enumerate(groups):
        # a key of its own kind: the name of no group can be taken for that of a lone sample
        key: Hashable = ("alone", i) if group is None else ("group", group)
        codes[i] = seen.setdefault(key, len(seen))
    return codes


def _vector(values: ArrayLike, what: str) -> Float64Array:
    array = np.asarray(values, np.float64)
    if array.ndim != 1:
        raise DataError(f"{what} of shape {array.shape}; expected one dimension")
    return array
