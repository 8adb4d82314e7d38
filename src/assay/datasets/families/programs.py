"""Pairs of whole programs: one sample is one bug, its text the program after the fix.

QuixBugs and HumanEval-Java keep both sides in folders whose names say which side they hold. Java repeats that name in
the package line of each file, so that line is left out of both sides. DebugBench put bugs into solutions that people
had posted; its sides are columns. A table with the columns fixed and buggy is read as well.

Sources: Lin et al. 2017, "QuixBugs"; Jiang et al. 2023, "Impact of Code Language Models on Automated Program Repair"
(HumanEval-Java); Tian et al. 2024, "DebugBench".
"""

import re
from collections.abc import Callable, Iterator
from pathlib import Path

from assay.datasets.families.selection import Selection, file_text, rest, words
from assay.datasets.sources import Note, SourceRow, read_rows, walk
from assay.languages import language_named, language_of
from assay.types import Sample

QUIXBUGS = {"python_programs": "correct_python_programs", "java_programs": "correct_java_programs"}
"""Folder of the buggy programs → folder of the fixed ones."""
HUMANEVAL_JAVA = {"buggy": "correct"}
"""Folder of the buggy programs → folder of the fixed ones."""

_PACKAGE = re.compile(r"^\s*package [\w.]*;[^\S\n]*\n?")
_DEBUGBENCH_FILE = re.compile(r"(cpp|java|python3)_(.+)\.json")


def quixbugs(row: SourceRow, _number: int, selection: Selection) -> Iterator[Sample]:
    """Id: folder and file ("python_programs/gcd.py"). Group: the program, in both languages ("gcd")."""
    yield _program(words(row, "id"), row, selection, fixed="fixed", buggy="buggy", group=words(row, "group"))


def humaneval_java(row: SourceRow, _number: int, selection: Selection) -> Iterator[Sample]:
    """Id and group: the name of the class ("ADD")."""
    yield _program(words(row, "group"), row, selection, fixed="fixed", buggy="buggy", group=words(row, "group"))


def debugbench(row: SourceRow, number: int, selection: Selection) -> Iterator[Sample]:
    """Id: the row's own, else language, kind of bug and position. Group: the task's slug, in all languages."""
    # the hub's table, the official JSON files, and a plain table of pairs
    fixed = next(filter(row.__contains__, ("oracle_code", "solution", "fixed")))
    buggy = next(filter(row.__contains__, ("buggy_code", "buggy")), "buggy")
    slug = words(row, "slug") or words(row, "group")
    name = words(row, "id") or f"{row.get('language')}/{row.get('subtype')}/{number}"
    yield _program(name, row, selection, fixed=fixed, buggy=buggy, group=slug)


def quixbugs_folders(path: Path, note: Note) -> Iterator[SourceRow]:
    """Rows of a checkout: python_programs/X.py with correct_python_programs/X.py, and the same in Java."""
    yield from _folders(path, note=note, sides=QUIXBUGS, is_program=lambda file: not file.stem.endswith("_test"))


def humaneval_java_folders(path: Path, note: Note) -> Iterator[SourceRow]:
    """Rows of a checkout: humaneval/buggy/X.java with humaneval/correct/X.java."""
    yield from _folders(path, note=note, sides=HUMANEVAL_JAVA, is_program=lambda file: file.suffix == ".java")


def debugbench_folders(path: Path, note: Note) -> Iterator[SourceRow]:
    """Rows of a checkout: benchmark/LANGUAGE_KIND.json, whose names hold the language and the kind of bug."""
    for file in walk(path):
        name = _DEBUGBENCH_FILE.fullmatch(file.name)
        if name and file.parent.name == "benchmark":
            for position, row in enumerate(read_rows(file, note)):
                yield {**row, "id": f"{file.stem}#{position}", "language": name[1], "subtype": name[2]}


def _folders(path: Path, note: Note, sides: dict[str, str], is_program: Callable[[Path], bool]) -> Iterator[SourceRow]:
    for buggy in walk(path):
        folder = buggy.parent
        if folder.name not in sides or not is_program(buggy):
            continue
        fixed = folder.with_name(sides[folder.name]) / buggy.name
        if fixed.exists():
            yield {
                "id": f"{folder.name}/{buggy.name}",
                # QuixBugs names a program gcd.py in Python and GCD.java in Java: one group
                "group": buggy.stem if folder.name in HUMANEVAL_JAVA else buggy.stem.lower(),
                "language": language_of(buggy.name),
                "fixed": file_text(fixed, note),
                "buggy": file_text(buggy, note),
            }


def _program(name: str, row: SourceRow, selection: Selection, *, fixed: str, buggy: str, group: str) -> Sample:
    return Sample(
        name,
        # the package line of Java says which side a file holds
        _PACKAGE.sub("", words(row, {"full": fixed, "buggy": buggy}[selection.part])),
        language_named(words(row, "language")) or None,
        group=group or None,
        metadata=rest(row, fixed, buggy),
    )
