"""Where the names of copies come from: lists of the author, close synonyms, and unrelated words on demand alone."""

import builtins
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import filterfalse
from keyword import iskeyword
from operator import attrgetter
from pathlib import Path

from assay.code import ClosePool, DictionaryPool, NameKind, NamePool, Renamable
from assay.datasets import SourceRow
from assay.errors import DataError
from assay.guard import json_file

Alternatives = Mapping[str, tuple[str, ...]]
"""Name → names that may replace it."""

OWN, SYNONYMS, UNRELATED = "the author's lists", "close synonyms", "unrelated words"


@dataclass(frozen=True, slots=True)
class ListedNames:
    """The author's alternatives of some names; the others are renamed by another pool."""

    alternatives: Alternatives
    others: NamePool

    def candidates(self, name: str, kind: NameKind) -> Sequence[str]:
        """See `NamePool`."""
        return self.alternatives.get(name) or self.others.candidates(name, kind)


@dataclass(frozen=True, slots=True)
class NameSources:
    """How the tasks of a release get their names.

    Attributes:
        unrelated: names may become any word of a dictionary; they do not fit what the task says.
        listed: id of a task → the author's alternatives for its names.
    """

    unrelated: bool = False
    listed: Mapping[str, Alternatives] | None = None

    @property
    def title(self) -> str:
        """The sources in words, for the data card."""
        rest = UNRELATED if self.unrelated else SYNONYMS
        return f"{OWN}, else {rest}" if self.listed else rest

    def pool(
        self, task: str, public: frozenset[str], prose: frozenset[str], words: frozenset[str] = frozenset()
    ) -> NamePool:
        """Return the pool of a task; see `ClosePool`."""
        others: NamePool = DictionaryPool() if self.unrelated else ClosePool(public, prose, words)
        alternatives = (self.listed or {}).get(task)
        return ListedNames(alternatives, others) if alternatives else others

    def fitting(self, task: str, in_signatures: Iterable[str]) -> frozenset[str]:
        """Return the names whose new names say the same, so that they may replace them in prose too."""
        listed = frozenset((self.listed or {}).get(task, ()))
        # `list` or `max` in prose is a word of the language
        plain = filterfalse(vars(builtins).__contains__, in_signatures)
        return listed if self.unrelated else listed.union(plain)

    def fixed(self, task: str, mentioned: Iterable[str]) -> frozenset[str]:
        """Return the names that stay: letters that prose mentions, as n in "the n-th", mean what they always do."""
        if self.unrelated:
            return frozenset()
        letters = {name for name in mentioned if len(name) == 1}
        return frozenset(letters.difference((self.listed or {}).get(task, ())))

    def alone(self, task: str, names: Iterable[Renamable]) -> frozenset[str]:
        """Return the names that may change unlike those that they resemble: by the author's lists, or to any word."""
        listed = frozenset((self.listed or {}).get(task, ()))
        return listed.union(map(attrgetter("name"), names)) if self.unrelated else listed

    def check(self, task: str, changing: Collection[str]) -> None:
        """Make sure that every name of the author's list can change.

        Raises:
            DataError: one is no such name of the task.
        """
        unused = set((self.listed or {}).get(task, ())).difference(changing)
        if unused:
            raise DataError(f"--names: {task}: {min(unused)!r} is no name that can change there")


def read_name_sources(
    names: str | None, rows: Sequence[SourceRow], ids: Sequence[str], *, unrelated: bool
) -> NameSources:
    """Return how names are made.

    Args:
        names: a JSON file of {id of a task: {name: [alternatives]}}, or a column with {name: [alternatives]}; or None.
        rows: of the tasks.
        ids: of the tasks.
        unrelated: names without alternatives may become any word.

    Raises:
        DataError: neither such a file nor such a column, or an alternative is no identifier.
    """
    if names is None:
        return NameSources(unrelated)
    if Path(names).is_file():
        try:
            by_task = json_file(Path(names))
        except ValueError as fault:
            raise DataError(f"--names {names}: {fault}, expected JSON") from None
    else:
        by_task = {task: row[names] for task, row in zip(ids, rows, strict=True) if row.get(names)}
        if not by_task:
            raise DataError(f"--names {names}: no such file, and no column of the tasks has alternatives")
    if not isinstance(by_task, dict) or not by_task.keys() <= set(ids):
        raise DataError(f"--names {names}: expected an object of ids of these tasks")
    return NameSources(
        unrelated, {task: _alternatives(lists, f"--names {names}: {task}") for task, lists in by_task.items()}
    )


def _alternatives(lists: object, source: str) -> Alternatives:
    """Return the alternatives of the names of one task.

    Raises:
        DataError: they are no lists of identifiers under names.
    """
    if not isinstance(lists, dict):
        raise DataError(f"{source}: expected an object of names with lists of alternatives")
    alternatives = {}
    for name, words in lists.items():
        if not isinstance(words, list) or not words or not all(map(_is_identifier, words)):
            raise DataError(f"{source}: {name!r} has {str(words)[:40]}, expected a list of identifiers")
        alternatives[name] = tuple(dict.fromkeys(words))
    return alternatives


def _is_identifier(word: object) -> bool:
    return isinstance(word, str) and word.isidentifier() and not iskeyword(word)
