"""Pairs of a fixed and a buggy text, from a bug benchmark or from any table."""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from assay.authorship import comment_spans, docstring_spans, without_spans
from assay.datasets import DataSelection, Dataset, benchmark, is_benchmark, list_benchmarks
from assay.datasets.dataset import EMPTY
from assay.datasets.loading import read_datasets
from assay.errors import DataError
from assay.types import Sample

_HEADER = re.compile(r"^[ \t]*(?:package|import|from\s+\S+\s+import|#\s*include)\b.*$", re.MULTILINE)
"""A line that names a package or another file."""

FIXED, BUGGY = "fixed", "buggy"
"""Columns of a table that is not a named benchmark."""


@dataclass(frozen=True, slots=True)
class SamplePair:
    """One bug: the text after its fix and the text before.

    Both samples have the id, language, group and metadata of the bug.

    Attributes:
        fixed: the text after the fix.
        buggy: the text with the bug.
    """

    fixed: Sample
    buggy: Sample

    @property
    def id(self) -> str:
        """Return the id of the bug."""
        return self.fixed.id


@dataclass(frozen=True, slots=True)
class PairedDataset:
    """Both sides of every bug, in the order of their source.

    Attributes:
        fixed: the texts after the fix.
        buggy: the texts with the bug, in the same order.
    """

    fixed: Dataset
    buggy: Dataset

    @property
    def pairs(self) -> tuple[SamplePair, ...]:
        """Return one pair for each bug."""
        return tuple(map(SamplePair, self.fixed.samples, self.buggy.samples))


def read_pairs(name_or_path: str | Path, selection: DataSelection | None = None) -> PairedDataset:
    """Read both sides of a bug benchmark, or of a table with the columns `fixed` and `buggy`.

    A side may be empty: a fix that only adds lines has no buggy lines of its own. A bug with several fixes has several
    rows of one id: each is a pair of its own, and they are one group.

    Raises:
        UnknownBenchmark: neither a benchmark nor a path.
        DataError: the benchmark has no buggy side, or the data cannot be read; one line.
    """
    chosen = replace(selection or DataSelection(), repeated="number")
    if is_benchmark(str(name_or_path)):
        info = benchmark(str(name_or_path))
        if BUGGY not in info.parts:
            names = ", ".join(each.name for each in list_benchmarks() if BUGGY in each.parts)
            raise DataError(f"{info.name} has no buggy side; expected a bug benchmark ({names}) or a table")
        sides = replace(chosen, part=None), replace(chosen, part=BUGGY)
    else:
        sides = replace(chosen, text=FIXED), replace(chosen, text=BUGGY)
    fixed, buggy = read_datasets(name_or_path, sides)
    ids = {sample.id for sample in fixed.samples}
    in_order = (fixed.samples, _in_order(buggy.samples, fixed.samples))
    return PairedDataset(
        *(
            replace(side, samples=tuple(_grouped(sample, ids) for sample in samples), notes=_without_empty(side.notes))
            for side, samples in zip((fixed, buggy), in_order, strict=True)
        )
    )


def _grouped(sample: Sample, names: Collection[str]) -> Sample:
    """Return a sample whose bug has several fixes with the first one's id as its group."""
    name, number, _ = sample.id.rpartition("#")
    first = name if number and name in names else sample.id
    return (
        replace(sample, group=first)
        if sample.group is None and (first != sample.id or f"{first}#2" in names)
        else sample
    )


def _without_empty(notes: Sequence[str]) -> tuple[str, ...]:
    """Return notes without that on empty texts, which are no fault of a pair."""
    return tuple(note for note in notes if not note.endswith(EMPTY))


def _in_order(samples: Sequence[Sample], leading: Sequence[Sample]) -> tuple[Sample, ...]:
    """Return samples in the order of the ids of others."""
    by_id = {sample.id: sample for sample in samples}
    return tuple(by_id[sample.id] for sample in leading)


def comparable_sides(pairs: Sequence[SamplePair], name: str) -> tuple[tuple[SamplePair, ...], tuple[str, ...]]:
    """Return pairs without the comments, docstrings and headers that only one side has, and a note on how many had any.

    They say nothing about the bug, and change how likely a model finds a token.

    Args:
        pairs: the bugs.
        name: of the benchmark, for the note.
    """
    kept = tuple(_comparable(pair) for pair in pairs)
    count = sum(pair != other for pair, other in zip(pairs, kept, strict=True))
    what = "comments, docstrings or headers on one side only, which were removed there"
    return kept, (f"{name}: {count} of {len(pairs)} bugs have {what}",) if count else ()


def _comparable(pair: SamplePair) -> SamplePair:
    texts = pair.fixed.text, pair.buggy.text
    spans = [_beside_the_code(text, pair.fixed.language) for text in texts]
    words = [{_words(text, span) for span in own} for text, own in zip(texts, spans, strict=True)]
    sides = []
    for text, own, others in zip(texts, spans, reversed(words), strict=True):
        alone = [span for span in own if _words(text, span) not in others]
        sides.append(without_spans(text, alone) if alone else text)
    return SamplePair(replace(pair.fixed, text=sides[0]), replace(pair.buggy, text=sides[1]))


def _beside_the_code(text: str, language: str | None) -> list[tuple[int, int]]:
    headers = [match.span() for match in _HEADER.finditer(text)]
    return sorted([*comment_spans(text, language), *docstring_spans(text, language), *headers])


def _words(text: str, span: tuple[int, int]) -> str:
    return " ".join(text[slice(*span)].split())
