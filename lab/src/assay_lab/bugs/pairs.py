"""Pairs of a fixed and a buggy text, from a bug benchmark or from any table."""

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import filterfalse
from operator import itemgetter, methodcaller, ne
from pathlib import Path

from assay.authorship import comment_spans, docstring_spans, without_spans
from assay.datasets import EMPTY, DataSelection, Dataset, benchmark, is_benchmark, list_benchmarks, read_datasets
from assay.errors import DataError
from assay.types import Sample
from assay_lab.columns import at_places, attributes, id_column, keyed

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


def fixed_sides(pairs: Iterable[SamplePair]) -> tuple[Sample, ...]:
    """Return the text after the fix of each bug."""
    return tuple(attributes(pairs, "fixed"))


def bug_groups(pairs: Iterable[SamplePair]) -> list[str | None]:
    """Return the group of each bug: bugs of one project are not independent."""
    return attributes(pairs, "fixed.group")


def issue_of(pair: SamplePair) -> str:
    """Return the issue text of a bug; "" where its benchmark has none."""
    issue = pair.fixed.metadata.get("problem_statement")
    if isinstance(issue, str) and issue.strip():
        return issue
    return ""


def files_of(pair: SamplePair) -> tuple[str, ...] | None:
    """Return the files that the fix of a bug changes; None where the benchmark does not name them."""
    files = pair.fixed.metadata.get("files")
    return tuple(map(str, files)) if isinstance(files, tuple | list) else None


def read_pairs(name_or_path: str | Path, selection: DataSelection | None = None) -> PairedDataset:
    """Read both sides of a bug benchmark, or of a table with the columns `fixed` and `buggy`.

    A side may be empty: a fix that only adds lines has no buggy lines of its own. A bug with several fixes has several
    rows of one id: each is a pair of its own, and they are one group.

    Raises:
        UnknownBenchmark: neither a benchmark nor a path.
        DataError: the benchmark has no buggy side, or the data cannot be read; one line.
    """
    chosen = replace(selection or DataSelection(), repeated="number")
    sides = replace(chosen, text=FIXED), replace(chosen, text=BUGGY)
    if is_benchmark(str(name_or_path)):
        info = benchmark(str(name_or_path))
        if BUGGY not in info.parts:
            names = ", ".join(each.name for each in list_benchmarks() if BUGGY in each.parts)
            raise DataError(f"{info.name} has no buggy side; expected a bug benchmark ({names}) or a table")
        sides = replace(chosen, part=None), replace(chosen, part=BUGGY)
    fixed, buggy = read_datasets(name_or_path, sides)
    buggy_by_id = keyed(buggy.samples, "id")
    in_order = at_places(buggy_by_id, id_column(fixed.samples))
    return PairedDataset(_grouped_side(fixed, fixed.samples), _grouped_side(buggy, in_order))


def _grouped_side(side: Dataset, samples: Sequence[Sample]) -> Dataset:
    """Return a side with these samples, without the note on empty texts, which are no fault of a pair."""
    ids = set(id_column(samples))
    notes = tuple(filterfalse(methodcaller("endswith", EMPTY), side.notes))
    return replace(side, samples=tuple(map(partial(_grouped, names=ids), samples)), notes=notes)


def _grouped(sample: Sample, names: Collection[str]) -> Sample:
    """Return a sample whose bug has several fixes with the first one's id as its group."""
    # several fixes of one bug are numbered: the first one has the plain id, the next one ends in #2
    name, number, _ = sample.id.rpartition("#")
    first = name if number and name in names else sample.id
    if sample.group is None and (first != sample.id or f"{first}#2" in names):
        return replace(sample, group=first)
    return sample


def comparable_sides(pairs: Sequence[SamplePair], name: str) -> tuple[tuple[SamplePair, ...], tuple[str, ...]]:
    """Return pairs without the comments, docstrings and headers that only one side has, and a note on how many had any.

    They say nothing about the bug, and change how likely a model finds a token.

    Args:
        pairs: the bugs.
        name: of the benchmark, for the note.
    """
    kept = tuple(map(_comparable, pairs))
    count = sum(map(ne, pairs, kept))
    if not count:
        return kept, ()
    what = "comments, docstrings or headers on one side only, which were removed there"
    return kept, (f"{name}: {count} of {len(pairs)} bugs have {what}",)


def _comparable(pair: SamplePair) -> SamplePair:
    language = pair.fixed.language
    fixed, buggy = _asides(pair.fixed.text, language), _asides(pair.buggy.text, language)
    return SamplePair(_without_asides(pair.fixed, fixed, buggy), _without_asides(pair.buggy, buggy, fixed))


Asides = Sequence[tuple[str, tuple[int, int]]]
"""Words and place of each comment, docstring and header of a text."""


def _asides(text: str, language: str | None) -> Asides:
    headers = list(map(methodcaller("span"), _HEADER.finditer(text)))
    spans = sorted([*comment_spans(text, language), *docstring_spans(text, language), *headers])
    return [(" ".join(text[slice(*span)].split()), span) for span in spans]


def _without_asides(side: Sample, own: Asides, others: Asides) -> Sample:
    """Return a side without those that the other side does not have."""
    # layout does not count
    common = set(map(itemgetter(0), others))
    alone = [span for words, span in own if words not in common]
    return replace(side, text=without_spans(side.text, alone)) if alone else side
