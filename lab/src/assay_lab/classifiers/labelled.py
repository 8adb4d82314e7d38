"""Code of known origin: a person or a generator, in collections, with the groups that no split may cut."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np

from assay.authorship.normalising import Code, code_of
from assay.datasets import split_by_group
from assay.errors import DataError
from assay.types import BooleanArray, Int64Array, Sample

HUMAN = "human"
"""Label of the texts of people."""

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
        kept = tuple(samples)
        if not kept:
            raise DataError("no samples, expected code of people and of generators")
        unlabelled = [sample.id for sample in kept if not sample.label]
        if unlabelled:
            raise DataError(
                f"{len(unlabelled)} samples have no label (the first: {unlabelled[0]!r}), expected {human!r} or the "
                "name of a generator; name the column with --columns label=NAME"
            )
        collections = tuple(map(collection_of, kept))
        return cls(
            kept,
            tuple(code_of(sample.text, sample.language) for sample in kept),
            np.array([(sample.label or "").casefold() == human.casefold() for sample in kept]),
            collections,
            related_groups(kept),
        )

    def __len__(self) -> int:
        return len(self.samples)

    def take(self, rows: Int64Array) -> "LabelledCode":
        """Return some of the texts, in this order."""
        chosen = rows.tolist()
        return LabelledCode(
            tuple(self.samples[row] for row in chosen),
            tuple(self.codes[row] for row in chosen),
            self.human[rows],
            tuple(self.collections[row] for row in chosen),
            tuple(self.groups[row] for row in chosen),
        )

    @cached_property
    def environments(self) -> tuple[str, ...]:
        """Collection and language of each text: what the classes are balanced within."""
        return tuple(
            f"{collection}/{sample.language}" for collection, sample in zip(self.collections, self.samples, strict=True)
        )

    @property
    def generators(self) -> tuple[str, ...]:
        """Label of each text; "human" for those of people."""
        return tuple(
            HUMAN if person else str(sample.label) for person, sample in zip(self.human, self.samples, strict=True)
        )

    def rows_of(self, by: str) -> dict[str, Int64Array]:
        """Return the rows of each collection, language or generator.

        Args:
            by: "collection", "language" or "generator"; the rows of a generator hold no texts of people.

        Raises:
            DataError: another value of `by`.
        """
        columns: dict[str, Sequence[str | None]] = {
            "collection": self.collections,
            "language": tuple(sample.language for sample in self.samples),
            "generator": self.generators,
        }
        if by not in columns:
            raise DataError(f"received leave-out {by!r}, expected {', '.join(columns)}")
        values = np.array([str(value) for value in columns[by]], object)
        names = sorted(set(values.tolist()) - ({HUMAN} if by == "generator" else set()))
        return {name: np.flatnonzero(values == name) for name in names}

    def parted(self, fractions: Mapping[str, float], *, by_group: bool = True, seed: int = 0) -> dict[str, Int64Array]:
        """Return the rows of each part, ascending.

        Args:
            fractions: part → expected share of the groups.
            by_group: keep related texts in one part; False splits text by text.
            seed: of the split.
        """
        markers = [Sample(str(row), "", group=group if by_group else None) for row, group in enumerate(self.groups)]
        parts = split_by_group(markers, fractions, seed=seed)
        return {name: np.array([int(sample.id) for sample in part], np.int64) for name, part in parts.items()}


def related_groups(samples: Sequence[Sample]) -> tuple[str, ...]:
    """Return one group for all texts that share a group, or that solve the same LeetCode task.

    A LeetCode task is known by its slug or, where a collection does not give it, by the method of `class Solution`,
    whose name the task fixes. Texts that share either, in any collection, are in one group.
    """
    parents: dict[str, str] = {}

    def root(key: str) -> str:
        while parents.setdefault(key, key) != key:
            parents[key] = parents[parents[key]]
            key = parents[key]
        return key

    keys = []
    for sample in samples:
        own = [f"group {sample.group}"] if sample.group is not None else []
        if (method := solution_method(sample.text)) is not None:
            own.append(f"solution {method}")
        own = own or [f"sample {sample.id}"]
        for key in own[1:]:
            parents[root(key)] = root(own[0])
        keys.append(own[0])
    return tuple(map(root, keys))


def solution_method(text: str) -> str | None:
    """Return the name of the first method with parameters in `class Solution`; None where there is no such class."""
    match = _SOLUTION_METHOD.search(text)
    if match is None or match[1] in _CONSTRUCTORS:
        return None
    return match[1].casefold()
