"""Code of known origin: a person or a generator, in collections, with the groups that no split may cut."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import filterfalse
from operator import attrgetter
from typing import Self, TypeVar

import numpy as np

from assay.authorship import Code, code_of
from assay.datasets import split_by_group
from assay.errors import DataError
from assay.types import BooleanArray, Int64Array, Sample
from assay_lab.columns import attributes, id_column, label_column, text_column

HUMAN = "human"
"""Label of the texts of people."""
Entry = TypeVar("Entry")

_SOLUTION_METHOD = re.compile(r"\bclass\s+Solution\b[^{:]*[{:].*?\b([a-z]\w*)\s*\((?!\s*\))", re.DOTALL)
_CONSTRUCTORS = frozenset({"if", "for", "while", "return", "def"})


@dataclass(frozen=True, eq=False)
class LabelledCode:
    """Texts with their tokens and their origin, column by column; every sequence has n entries.

    Attributes:
        samples: the texts.
        codes: their tokens.
        human: bool [n], True where a person wrote the text.
        collections: name of the collection of each text.
        groups: name of the task or project of each text; related texts of all collections share it.
    """

    samples: tuple[Sample, ...]
    codes: tuple[Code, ...]
    human: BooleanArray
    collections: tuple[str, ...]
    groups: tuple[str, ...]

    @classmethod
    def of(cls, samples: Iterable[Sample], collection_of: Callable[[Sample], str], human: str = HUMAN) -> Self:
        """Read samples whose label is `human` (in any case) or the name of a generator.

        Raises:
            DataError: a sample without a label, or no sample at all.
        """
        texts = tuple(samples)
        if not texts:
            raise DataError("no samples, expected code of people and of generators")
        unlabelled = id_column(filterfalse(attrgetter("label"), texts))
        if unlabelled:
            raise DataError(
                f"{len(unlabelled)} samples have no label (the first: {unlabelled[0]!r}), expected {human!r} or the "
                "name of a generator; name the column with --columns label=NAME"
            )
        return cls(
            samples=texts,
            codes=tuple(code_of(sample.text, sample.language) for sample in texts),
            human=np.array([str(sample.label).casefold() == human.casefold() for sample in texts]),
            collections=tuple(map(collection_of, texts)),
            groups=related_groups(texts),
        )

    def __len__(self) -> int:
        return len(self.samples)

    def take(self, rows: Int64Array) -> "LabelledCode":
        """Return some of the texts, in this order."""

        def at_rows(column: Sequence[Entry]) -> tuple[Entry, ...]:
            return tuple(map(column.__getitem__, rows.tolist()))

        return LabelledCode(
            samples=at_rows(self.samples),
            codes=at_rows(self.codes),
            human=self.human[rows],
            collections=at_rows(self.collections),
            groups=at_rows(self.groups),
        )

    @cached_property
    def texts(self) -> list[str]:
        """The texts themselves."""
        return text_column(self.samples)

    @cached_property
    def languages(self) -> list[str | None]:
        """Language of each text."""
        return attributes(self.samples, "language")

    @cached_property
    def environments(self) -> tuple[str, ...]:
        """Collection and language of each text: what the classes are balanced within."""
        return tuple(map("{}/{}".format, self.collections, self.languages))

    @property
    def generators(self) -> tuple[str, ...]:
        """Label of each text; "human" for those of people."""
        labels = np.array(list(map(str, label_column(self.samples))), object)
        return tuple(np.where(self.human, HUMAN, labels).tolist())

    def rows_of(self, by: str) -> dict[str, Int64Array]:
        """Return the rows of each collection, language or generator.

        Args:
            by: "collection", "language" or "generator"; the rows of a generator hold no texts of people.

        Raises:
            DataError: another value of `by`.
        """
        columns: dict[str, Sequence[str | None]] = {
            "collection": self.collections,
            "language": self.languages,
            "generator": self.generators,
        }
        if by not in columns:
            raise DataError(f"received leave-out {by!r}, expected {', '.join(columns)}")
        values = np.array(list(map(str, columns[by])), object)
        names = set(values.tolist())
        if by == "generator":
            names -= {HUMAN}
        return {name: np.flatnonzero(values == name) for name in sorted(names)}

    def parted(self, fractions: Mapping[str, float], *, by_group: bool = True, seed: int = 0) -> dict[str, Int64Array]:
        """Return the rows of each part, ascending.

        Args:
            fractions: part → expected share of the groups.
            by_group: keep related texts in one part; False splits text by text.
            seed: of the split.
        """
        # the rows are split as samples that hold nothing but their number
        markers = [Sample(str(row), "", group=group if by_group else None) for row, group in enumerate(self.groups)]
        parts = split_by_group(markers, fractions, seed=seed)
        return {name: np.array(id_column(part), np.int64) for name, part in parts.items()}


def related_groups(samples: Sequence[Sample]) -> tuple[str, ...]:
    """Return one group for all texts that share a group, or that solve the same LeetCode task.

    A LeetCode task is known by its slug or, where a collection does not give it, by the method of `class Solution`,
    whose name the task fixes. Texts that share either, in any collection, are in one group.
    """
    parents: dict[str, str] = {}

    def root(key: str) -> str:
        # union-find: every step shortens the way for the next look-up
        while parents.setdefault(key, key) != key:
            parents[key] = parents[parents[key]]
            key = parents[key]
        return key

    firsts = []
    for sample in samples:
        keys = []
        if sample.group is not None:
            keys.append(f"group {sample.group}")
        if (method := solution_method(sample.text)) is not None:
            keys.append(f"solution {method}")
        first, *others = keys or [f"sample {sample.id}"]
        for key in others:
            parents[root(key)] = root(first)
        firsts.append(first)
    return tuple(map(root, firsts))


def solution_method(text: str) -> str | None:
    """Return the name of the first method with parameters in `class Solution`; None where there is no such class."""
    match = _SOLUTION_METHOD.search(text)
    if match is None or match[1] in _CONSTRUCTORS:
        return None
    return match[1].casefold()
