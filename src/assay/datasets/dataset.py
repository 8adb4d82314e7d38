"""The samples of one data set, with notes on how they were read."""

import hashlib
import json
import math
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate
from operator import attrgetter, is_not
from typing import Self

from assay.datasets.columns import number_have
from assay.datasets.selection import RepeatedIds
from assay.errors import DataError
from assay.types import MEMBER, NONMEMBER, Sample

LONGEST_TEXT = 2**22
"""Characters of a text: far more than any function, file or task has; a longer one is a data file in a column."""
MOST_SAMPLES = 5_000_000
"""Samples of a data set: a sample without text takes half a kilobyte of memory."""

_LONE_SURROGATE = re.compile(r"[\ud800-\udfff]")


EMPTY = "an empty text: no score can judge it"
"""End of the note on samples with an empty text."""


@dataclass(frozen=True)
class Dataset:
    """Samples in the order of their source.

    Attributes:
        name: benchmark name, or the name of the file or folder.
        samples: with ids that are unique.
        source: where the rows came from, in words: a path, or a hub id with configuration and split.
        digest: hexadecimal SHA-256 over the ids, texts and labels, in order.
        notes: what was skipped, guessed or mended while reading, one sentence each, with counts.
    """

    name: str
    samples: tuple[Sample, ...]
    source: str
    digest: str
    notes: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        name: str,
        samples: Iterable[Sample],
        *,
        source: str,
        notes: Iterable[str] = (),
        repeated: RepeatedIds = "refuse",
    ) -> Self:
        """Check the samples, take their digest and keep the notes.

        A lone surrogate (legal in a JSON escape, impossible in UTF-8, refused by every tokenizer) becomes
        U+FFFD; a note counts the texts. With `repeated` "number" the second sample of an id "a" becomes "a#2", for
        texts whose ids do not matter.

        Raises:
            DataError: no sample at all, too many, a text that is too long, or an id that occurs twice.
        """
        # the samples may still be reading their source, which adds to the notes: samples first
        read = tuple(_plausible(samples, source))
        if not read:
            raise DataError(f"{source}: no samples for {name}, expected at least one")
        kept = tuple(map(_encodable, read))
        all_notes = tuple(notes)
        if repeated == "number":
            numbered = _numbered(kept)
            if changed := sum(map(is_not, numbered, kept)):
                all_notes += (f"{changed} samples repeat an id: each got a number behind its id",)
            kept = numbered
        _check_ids(kept, source)
        if mended := sum(_LONE_SURROGATE.search(sample.id + sample.text) is not None for sample in read):
            all_notes += (f"lone surrogates became U+FFFD in {mended} sample{'s' * (mended > 1)}",)
        if empty := sum(not sample.text.strip() for sample in kept):
            all_notes += (f"{number_have(empty, 'sample')} {EMPTY}",)
        return cls(name, samples=kept, source=source, digest=_digest(kept), notes=all_notes)

    def __len__(self) -> int:
        return len(self.samples)

    @cached_property
    def members(self) -> tuple[Sample, ...]:
        """Samples that are known to be in the training data."""
        return self._labelled(MEMBER)

    @cached_property
    def nonmembers(self) -> tuple[Sample, ...]:
        """Samples that are known not to be in the training data."""
        return self._labelled(NONMEMBER)

    def _labelled(self, label: str) -> tuple[Sample, ...]:
        return tuple(sample for sample in self.samples if sample.label == label)

    @property
    def labelled(self) -> bool:
        """True if members and nonmembers both occur, so that detectors can be evaluated."""
        return bool(self.members and self.nonmembers)


def _encodable(sample: Sample) -> Sample:
    """Return the sample with an id and a text that UTF-8 can hold; the same object if it has them."""
    if not _LONE_SURROGATE.search(sample.id + sample.text):
        return sample
    return replace(sample, id=_LONE_SURROGATE.sub("\ufffd", sample.id), text=_LONE_SURROGATE.sub("\ufffd", sample.text))


def _plausible(samples: Iterable[Sample], source: str) -> Iterator[Sample]:
    """Yield the samples as they are read, up to the first beyond a limit."""
    for number, sample in enumerate(samples, 1):
        if len(sample.text) > LONGEST_TEXT:
            raise DataError(
                f"{source}: sample {sample.id!r} has {len(sample.text):,} characters; expected at most "
                f"{LONGEST_TEXT:,}: cut it, or name another text column"
            )
        if number > MOST_SAMPLES:
            raise DataError(
                f"{source}: more than {MOST_SAMPLES:,} samples; expected fewer: --limit N takes the first N"
            )
        yield sample


def _numbered(samples: tuple[Sample, ...]) -> tuple[Sample, ...]:
    """Return the samples with a number behind each id that occurred before: "a", "a#2", "a#3"."""
    present = set(map(attrgetter("id"), samples))
    counts: Counter[str] = Counter()
    numbered = []
    for sample in samples:
        counts[sample.id] += 1
        # the table may itself hold an id "a#2": that number is passed over
        while counts[sample.id] > 1 and f"{sample.id}#{counts[sample.id]}" in present:
            counts[sample.id] += 1
        count = counts[sample.id]
        numbered.append(sample if count == 1 else replace(sample, id=f"{sample.id}#{count}"))
    return tuple(numbered)


def _check_ids(samples: tuple[Sample, ...], source: str) -> None:
    counts = Counter(map(attrgetter("id"), samples))
    twice = [name for name, count in counts.items() if count > 1]
    if twice:
        raise DataError(
            f"{source}: {len(twice)} ids occur more than once (the first: {twice[0]!r}), "
            "expected unique ids; name another id column, or 'row' to number the rows"
        )


def _digest(samples: tuple[Sample, ...]) -> str:
    digest = hashlib.sha256()
    for sample in samples:
        # JSON marks where a field ends, so no two data sets share one stream of bytes
        digest.update(json.dumps([sample.id, sample.text, sample.label]).encode() + b"\n")
    return digest.hexdigest()


# Splits that never cut a group in two.


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
    if min(fractions.values(), default=0) <= 0 or not math.isclose(sum(fractions.values()), 1.0):
        raise ValueError(f"received fractions {dict(fractions)}, expected positive shares that sum to 1")
    # the hash of a group is its place on the line from 0 to 1, which the fractions cut into parts; the last bound may
    # fall short of 1 by rounding, and is left out: the last part takes what lies above the others
    bounds = list(accumulate(fractions.values()))[:-1]
    parts: list[list[Sample]] = [[] for _ in fractions]
    for sample in samples:
        parts[bisect_right(bounds, _position(sample, seed))].append(sample)
    return dict(zip(fractions, map(tuple, parts), strict=True))


def _position(sample: Sample, seed: int) -> float:
    """A number in [0, 1) that the seed and the group alone decide."""
    # the word keeps a sample without a group apart from a group that is called as its id is
    key = f"{seed}\0id\0{sample.id}" if sample.group is None else f"{seed}\0group\0{sample.group}"
    return int.from_bytes(hashlib.blake2b(key.encode(), digest_size=8).digest()) / 2**64
