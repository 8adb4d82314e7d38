"""Splits that never cut a group in two."""

import hashlib
import math
from collections.abc import Iterable, Mapping
from itertools import accumulate

from assay.types import Sample


def split_by_group(
    samples: Iterable[Sample], fractions: Mapping[str, float], *, seed: int = 0
) -> dict[str, tuple[Sample, ...]]:
    """Share samples out by a hash of their group, so siblings stay together.

    The part of a group depends on its name and the seed alone: neither the order of the samples nor the
    presence of other groups can move it. Shares are therefore expectations over groups, not exact counts of
    samples. A sample without a group is a group of its own, known by its id.

    Args:
        samples: in any order; each part keeps that order.
        fractions: part name → expected share of the groups; positive, summing to 1.
        seed: another seed gives another split.

    Raises:
        ValueError: the fractions are not positive or do not sum to 1.
    """
    if any(share <= 0 for share in fractions.values()) or not math.isclose(sum(fractions.values()), 1.0):
        raise ValueError(f"received fractions {dict(fractions)}, expected positive shares that sum to 1")
    bounds = list(accumulate(fractions.values()))
    parts: dict[str, list[Sample]] = {name: [] for name in fractions}
    names = list(fractions)
    for sample in samples:
        # the hash of a group is its place on the line from 0 to 1, which the fractions cut into parts
        position = _position(sample, seed)
        # the last bound may fall short of 1 by rounding: the last part takes what lies above it
        chosen = next((name for name, bound in zip(names, bounds, strict=True) if position < bound), names[-1])
        parts[chosen].append(sample)
    return {name: tuple(part) for name, part in parts.items()}


def _position(sample: Sample, seed: int) -> float:
    """A number in [0, 1) that the seed and the group alone decide."""
    key = f"{seed}\0id\0{sample.id}" if sample.group is None else f"{seed}\0group\0{sample.group}"
    return int.from_bytes(hashlib.blake2b(key.encode(), digest_size=8).digest()) / 2**64
