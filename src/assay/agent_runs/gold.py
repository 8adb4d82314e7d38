"""Tasks with their gold patch, and what of a patch can be recognised in a text.

A patch is a set of items: its informative added lines, and pairs of neighbours in the new text of which at least one is
new (or between which lines were deleted). A line alone may stand anywhere; a pair says that the text has the change at
its place. What the old side has is no item.
"""

import html
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import chain, filterfalse, pairwise, repeat
from operator import attrgetter, itemgetter, methodcaller
from pathlib import Path
from typing import Any

from assay.agent_runs.layouts.contents import mapping_or_empty, objects_of, text_of
from assay.datasets import SourceRow, hunks, rows_named
from assay.errors import DataError

ID_COLUMNS = ("instance_id", "task_id", "task_name", "id", "name")
PATCH_COLUMNS = ("patch", "gold_patch", "golden_patch", "fix_patch", "solution_patch", "solution")
TEST_COLUMNS = ("test_patch", "tests")
TEXT_COLUMNS = ("problem_statement", "hints_text", "instruction", "issue", "title", "body", "requirements", "interface")

LARGE, AROUND = 1 << 18, 1 << 12
"""Characters of a text of which only what surrounds the lines of a patch is read, and of these surroundings."""

Item = tuple[str, ...]
"""A line (one text), or two neighbours, or three; white space is one blank."""
_Lines = Sequence[tuple[str, str]]
"""Lines of a hunk, each with its sign."""
DELETED = "-"
"""First text of a pair that is a deleted line of a diff: all that is left of a patch that adds nothing."""

_WORD = re.compile(r"\w+")
_MARKED = r"\s*\d+(?:[:|→\t-]| \|)"
# in this order: blame, a number with its mark (cat -n, editors), names before one (grep -n), names alone, a number
# alone; only the last name may end at a dash, since names that may overlap take hours for a line of dashes
_PREFIX = re.compile(
    rf"\^?[0-9a-f]{{7,40}} [^()]*\([^()]*\d\)|{_MARKED}|(?:(?!\d+:)[^\s:]+:){{0,2}}(?:[^\s:]+[:-])??{_MARKED}|"
    r"(?:[^\s:]+:)+(?=\S)|\s*\d+\s+(?=\S)"
)
"""What grep, cat -n, editors and blame put before a line."""
_DIFF = re.compile(r"^(?:diff --git |--- |Index: |@@ )", re.MULTILINE)
_COLOUR = re.compile(r"\x1b\[[\d;]*[mK]")
_SHORT, _WORDS = 10, 2
"""Characters and words that a line needs to be informative."""


@dataclass(frozen=True)
class PatchItems:
    """The recognisable parts of one patch.

    Attributes:
        lines: informative added lines, in order, as they are found in a text.
        places: items of each changed place.
        paths: of the patched files.
        deleted: informative lines of a patch that only deletes; empty for any other.
    """

    lines: tuple[str, ...]
    places: tuple[frozenset[Item], ...]
    paths: tuple[str, ...]
    deleted: tuple[str, ...] = ()

    @cached_property
    def items(self) -> frozenset[Item]:
        """All of them."""
        return frozenset().union(*self.places)

    @cached_property
    def words(self) -> frozenset[str]:
        """The lines that occur in any item."""
        return frozenset(chain.from_iterable(self.items)) - {DELETED}

    @cached_property
    def anchors(self) -> tuple[str, ...]:
        """Texts of which each occurrence of the patch has at least one, in their spellings within JSON and HTML."""
        # a pair has no line that is rare by itself: the longer one is looked for
        longest = sorted(set(map(partial(max, key=len), self.items)))
        return tuple(dict.fromkeys(chain.from_iterable(map(_spellings, self.lines or longest))))

    def occurs_in(self, text: str) -> bool:
        """Return True if a text may hold an item: a quick test."""
        return any(map(text.__contains__, self.anchors))

    def shown(self, text: str, sign: str = "") -> frozenset[Item]:
        """Return the items that a text shows.

        Args:
            text: of an output: a file, a diff, lines with numbers or names before them, within JSON or HTML.
            sign: of the lines of a diff that count; "" for any.
        """
        if "\x1b" in text:
            text = _COLOUR.sub("", text)
        if not self.occurs_in(text):
            return frozenset()
        present: set[Item] = set()
        if len(text) > LARGE:
            text = self._near_anchors(text)
        for lines in _readings(text, sign):
            keys = [key for line in lines if (key := self._key(line)) is not None]
            present.update(_runs_of(keys))
            present.update((DELETED, normal(line[1:])) for line in lines if line[:1] == "-")
        return self.items & present

    def _near_anchors(self, text: str) -> str:
        """Return the parts of a large text around the lines of the patch."""
        parts, reached = [], 0
        for start in map(methodcaller("start"), re.finditer("|".join(map(re.escape, self.anchors)), text)):
            begin = max(reached, start - AROUND)
            reached = max(reached, start + AROUND)
            parts.append(text[begin:reached])
        return "".join(parts)

    def _key(self, line: str) -> str | None:
        """Return the line of the patch that a line shows; "" where it shows none, None for an empty one."""
        for candidate in _without_prefix(line):
            text = normal(candidate)
            if not text:
                return None
            if text in self.words:
                return text
        # not None: a line that is none of the patch parts its neighbours, an empty one does not
        return ""


def _without_prefix(line: str) -> Iterator[str]:
    yield line
    if line[:1] in "+- ":
        yield line[1:]
    if match := _PREFIX.match(line):
        rest = line[match.end() :]
        yield rest
        if rest[:1] in {"+", "-"}:
            yield rest[1:]


def _runs_of(texts: Sequence[str]) -> Iterator[Item]:
    """Yield each text, each pair of neighbours and each three of them."""
    return chain(zip(texts), pairwise(texts), zip(texts, texts[1:], texts[2:], strict=False))


def normal(line: str) -> str:
    """Return a line with single blanks."""
    return " ".join(line.split())


def _spellings(text: str) -> tuple[str, ...]:
    return text, json.dumps(text)[1:-1], html.escape(text), html.escape(text, quote=False)


def _meanings(text: str) -> Iterator[str]:
    """Yield a text in every way in which it may be meant: as it is, and what it is within JSON or HTML."""
    yield text
    if "\\n" in text:
        yield text.replace("\\n", "\n").replace("\\t", "\t").replace('\\"', '"').replace("\\\\", "\\")
    if "</" in text or ("&" in text and ";" in text):
        yield html.unescape(re.sub(r"<[^<>\n]{1,300}>", "", text))


def _readings(text: str, sign: str) -> Iterator[Sequence[str]]:
    """Yield the lines of a text in every way in which it may be meant; of a diff each side is a reading."""
    for reading in _meanings(text):
        lines = reading.splitlines()
        if sign:
            yield list(filter(methodcaller("startswith", sign), lines))
        elif "@@" in reading:
            for other in "-+":
                yield list(filterfalse(methodcaller("startswith", other), lines))
        else:
            yield lines


def items_of(patch: str) -> PatchItems:
    """Return the items of a unified diff; of a text that is none, every line is new."""
    parts = list(hunks(patch))
    sides: list[_Lines] = list(map(attrgetter("lines"), parts))
    if not is_diff(patch):
        sides = [tuple(zip(repeat("+"), patch.splitlines()))]
    # over all hunks: a line that another hunk had before was moved, and is no sign of the fix
    old: set[Item] = set()
    for lines in sides:
        before = _texts(lines, " -")
        old.update(_runs_of(before))
    every = list(chain.from_iterable(sides))
    deleted = _deleted(every) * ("+" not in map(itemgetter(0), every))
    return PatchItems(
        lines=tuple(dict.fromkeys(chain.from_iterable(map(_added, sides, repeat(old))))),
        places=tuple(map(partial(_place, old=old, deletes=bool(deleted)), sides)),
        paths=tuple(dict.fromkeys(map(attrgetter("path"), parts))),
        deleted=deleted,
    )


def is_diff(patch: str) -> bool:
    """Return True for a text with the headers of a diff, though its hunks be damaged."""
    return bool(_DIFF.search(patch))


def _texts(lines: _Lines, signs: str) -> list[str]:
    """Return the texts of a hunk's lines with these signs, empty ones left out."""
    return list(filter(None, (normal(line) for sign, line in lines if sign in signs)))


def _added(lines: _Lines, old: AbstractSet[Item]) -> list[str]:
    """Return the informative lines of a hunk that no hunk had before."""
    return [text for text in filter(is_informative, _texts(lines, "+")) if (text,) not in old]


def _deleted(lines: _Lines) -> tuple[str, ...]:
    """Return the informative lines that are deleted."""
    return tuple(filter(is_informative, _texts(lines, "-")))


def _place(lines: _Lines, old: AbstractSet[Item], *, deletes: bool) -> frozenset[Item]:
    """Return the items of a hunk; of a patch that only deletes, its deleted lines too."""
    place: set[Item] = set(zip(_added(lines, old)))
    after = _texts(lines, " +")
    # a pair of the new text that the old text lacks has a new line, or lines were deleted between the two;
    # where the last deleted line is the same as the one before the deletion, only three lines tell
    for neighbours in (pairwise(after), zip(after, after[1:], after[2:], strict=False)):
        new = filterfalse(old.__contains__, neighbours)
        place.update(texts for texts in new if len(_WORD.findall(" ".join(texts))) > _WORDS)
        if place:
            break
    if deletes:
        place.update(zip(repeat(DELETED), _deleted(lines)))
    return frozenset(place)


def is_informative(line: str) -> bool:
    """Return True for a line that is not so short that it stands everywhere."""
    return len(line) >= _SHORT and len(set(_WORD.findall(line))) >= _WORDS


@dataclass(frozen=True)
class GoldTask:
    """A task with a known fix.

    Attributes:
        id: of the task.
        patch: the gold patch; "" where the table has none.
        test_patch: the tests of the fix; "" where the table has none.
        text: what the agent is given.
        repository: "owner/name"; "" where the table does not say.
        base: commit that the task starts from; "" where the table does not say.
    """

    id: str
    patch: str
    test_patch: str = ""
    text: str = ""
    repository: str = ""
    base: str = ""

    @cached_property
    def fix(self) -> PatchItems:
        """Items of the gold patch."""
        return items_of(self.patch)

    @cached_property
    def tests(self) -> PatchItems:
        """Items of the tests."""
        return items_of(self.test_patch)


def read_gold_tasks(source: str | Path, columns: Mapping[str, str], note: Any = None) -> dict[str, GoldTask]:  # noqa: ANN401
    """Return the tasks of a benchmark or table by id: SWE-bench and its relatives, or any with a column of patches.

    Args:
        source: a benchmark by its name, a table, or a hub data set.
        columns: names of the columns `id` and `patch`, where they are not the usual ones.
        note: takes a sentence on what was guessed.

    Raises:
        DataError: the table cannot be read, has no column of ids or of patches, or a row without an id.
    """
    note = note or _ignore
    tasks: dict[str, GoldTask] = {}
    ids, names = _chosen(columns, "id", ID_COLUMNS), _chosen(columns, "patch", PATCH_COLUMNS)
    for number, row in enumerate(rows_named(str(source), note), 1):
        name = _first(row, ids)
        if number == 1 and (not name or not set(names) & set(row)):
            raise DataError(
                f"{source}: a table with {', '.join(row)}; expected a column of ids and one of gold patches, such as "
                "instance_id and patch, or --columns id=NAME,text=NAME"
            )
        if not name or name in tasks:
            fault = f"the id {name!r} occurs twice" if name else f"row {number} has no id"
            raise DataError(f"{source}: {fault}, expected each task once, with its id")
        tasks[name] = _task(name, row, names)
    plain = sum(task.patch.strip() != "" and not is_diff(task.patch) for task in tasks.values())
    if plain:
        note(f"{plain:,} of {len(tasks):,} gold patches are no diffs: each of their lines was taken as a new one")
    return tasks


def _chosen(columns: Mapping[str, str], name: str, usual: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(filter(None, [columns.get(name)])) or usual


def _task(name: str, row: SourceRow, patches: Iterable[str]) -> GoldTask:
    # Multi-SWE-bench has an object with the commit where the others have its name
    commit = mapping_or_empty(row.get("base")).get("sha") or row.get("base_commit")
    return GoldTask(
        id=name,
        patch=_first(row, patches),
        test_patch=_first(row, TEST_COLUMNS),
        text="\n".join(_statements(row)),
        repository="/".join(map(str, filter(None, map(row.get, ("org", "repo"))))),
        base=str(commit or ""),
    )


def _ignore(_: str) -> None:
    """Take a note and drop it."""


def _first(row: SourceRow, names: Iterable[str]) -> str:
    """Return the first text, or number, in some columns; "" without one."""
    values = (str(value) for name in names if isinstance(value := row.get(name), str | int))
    return next(filter(str.strip, values), "")


def _statements(row: SourceRow) -> Iterator[str]:
    yield from (value for name in TEXT_COLUMNS if isinstance(value := row.get(name), str))
    for issue in objects_of(row.get("resolved_issues")):  # in Multi-SWE-bench
        yield text_of(issue.get("title")) + "\n" + text_of(issue.get("body"))
