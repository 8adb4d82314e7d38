"""Bug benchmarks: one sample is one bug, its text the human fix.

The text is the fixed side of the patch, context and fix lines, hunk by hunk (an empty line between two).
Patches run in different directions: those of Defects4J and BugsC++ turn the fixed source into the buggy one,
so their "-" lines are the fix; those of BugsInPy, GitBug-Java and SWE-bench turn the buggy source into the
fixed one, so it is their "+" lines.

Sources: Just et al. 2014 (Defects4J), Widyasari et al. 2020 (BugsInPy), Silva et al. 2024 (GitBug-Java), An et al. 2023
(BugsC++), Jimenez et al. 2024 (SWE-bench).
"""

import csv
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from assay.datasets.families.selection import Selection, file_text, rest, words
from assay.datasets.patches import Side, patch_side, patched_files
from assay.datasets.sources import Note, SourceRow, walk
from assay.errors import DataError, plain_reason
from assay.files import parse_json
from assay.languages import language_of
from assay.types import Sample

FIXED_TO_BUGGY, BUGGY_TO_FIXED = "fixed→buggy", "buggy→fixed"
SIDES: tuple[Side, Side] = ("old", "new")
"""The fixed and the buggy side of a patch that turns the fixed source into the buggy one."""

_text = partial(file_text, parts=3)  # projects have files of the same names
_BUGSCPP_PATCH = re.compile(r"(\d+)-buggy\.patch")
_SETTING = re.compile(r'^(\w+)="(.*)"\s*$', re.MULTILINE)


def defects4j(row: SourceRow, _number: int, selection: Selection, direction: str = FIXED_TO_BUGGY) -> Iterator[Sample]:
    """Id: project and bug number ("Lang-1"). Group: the project. Direction: fixed → buggy, as of BugsC++."""
    yield _bug(
        f"{row['project']}-{row['bug']}", row=row, selection=selection, direction=direction, group=str(row["project"])
    )


bugscpp = defects4j
bugsinpy = partial(defects4j, direction=BUGGY_TO_FIXED)


def gitbug_java(row: SourceRow, _number: int, selection: Selection) -> Iterator[Sample]:
    """Id: repository and the first 12 digits of the fixing commit, as the benchmark's own tool names bugs.

    Group: the repository. Direction: buggy → fixed. The logs of test runs, most of the file, are left out.
    """
    repository = words(row, "repository")
    name = f"{repository.replace('/', '-')}-{words(row, 'commit_hash')[:12]}"
    kept = {**rest(row, "actions_runs", "bug_patch"), "patch": row["bug_patch"]}
    yield _bug(name, row=kept, selection=selection, direction=BUGGY_TO_FIXED, group=repository)


def swe_bench(row: SourceRow, _number: int, selection: Selection) -> Iterator[Sample]:
    """Id: instance_id. Group: the repository. Direction: buggy → fixed. `metadata` has the issue text."""
    yield _bug(
        words(row, "instance_id"), row=row, selection=selection, direction=BUGGY_TO_FIXED, group=words(row, "repo")
    )


def defects4j_folders(path: Path, note: Note) -> Iterator[SourceRow]:
    """Rows of a checkout: framework/projects/<project>/patches/<bug>.src.patch, with what lies beside it."""
    for patch in walk(path):
        if patch.parent.name != "patches" or not patch.name.endswith(".src.patch"):
            continue
        project, bug = patch.parent.parent, patch.name.removesuffix(".src.patch")
        yield {
            "project": project.name,
            "bug": bug,
            "patch": _text(patch, note),
            "test_patch": _text(patch.with_name(f"{bug}.test.patch"), note),
            "modified_classes": _text(project / "modified_classes" / f"{bug}.src", note).split(),
            "trigger_tests": _text(project / "trigger_tests" / bug, note),
            **_record(project / "active-bugs.csv", bug, note),
            **_record(project / "deprecated-bugs.csv", bug, note),
        }


def bugscpp_folders(path: Path, note: Note) -> Iterator[SourceRow]:
    """Rows of a checkout: bugscpp/taxonomy/<project>/patch/NNNN-buggy.patch, with its entry in meta.json."""
    for patch in walk(path):
        if patch.parent.name != "patch" or not (number := _BUGSCPP_PATCH.fullmatch(patch.name)):
            continue
        project, bug = patch.parent.parent, int(number[1])
        meta = _meta(project / "meta.json", note)
        defect: SourceRow = next((entry for entry in meta.get("defects", []) if entry.get("id") == bug), {})
        yield {
            "project": project.name,
            "bug": bug,
            "patch": _text(patch, note),
            "url": meta.get("info", {}).get("url"),
            **rest(defect, "id"),
        }


def bugsinpy_folders(path: Path, note: Note) -> Iterator[SourceRow]:
    """Rows of a checkout: projects/<project>/bugs/<bug>/bug_patch.txt, with bug.info and project.info."""
    for patch in walk(path):
        if patch.name != "bug_patch.txt":
            continue
        bug, project = patch.parent, patch.parent.parent.parent
        yield {
            "project": project.name,
            "bug": bug.name,
            "patch": _text(patch, note),
            "run_test": _text(bug / "run_test.sh", note),
            **dict(_SETTING.findall(_text(bug / "bug.info", note))),
            **dict(_SETTING.findall(_text(project / "project.info", note))),
        }


def _bug(name: str, row: SourceRow, selection: Selection, direction: str, *, group: str) -> Sample:
    patch = words(row, "patch")
    fixed, buggy = SIDES if direction == FIXED_TO_BUGGY else SIDES[::-1]
    files = patched_files(patch)
    return Sample(
        name,
        {
            "full": lambda: patch_side(patch, fixed),
            "fix": lambda: patch_side(patch, fixed, context=False),
            "buggy": lambda: patch_side(patch, buggy),
        }[selection.part](),
        next(filter(None, map(language_of, files)), None),
        group=group,
        metadata={**row, "direction": direction, "files": files},
    )


def _record(path: Path, bug: str, note: Note) -> SourceRow:
    """The line of a bug in one of Defects4J's tables, dots in its column names turned to underscores."""
    records = csv.DictReader(_text(path, note).splitlines())
    for record in records:
        if record.get("bug.id") == bug:
            return {column.replace(".", "_"): value for column, value in record.items() if column != "bug.id"}
    return {}


def _meta(path: Path, note: Note) -> dict[str, Any]:
    try:
        meta = parse_json(_text(path, note) or "{}")
    except ValueError as fault:
        raise DataError(f"{path}: broken JSON ({plain_reason(fault)})") from fault
    if not isinstance(meta, dict):
        raise DataError(f"{path}: holds {type(meta).__name__}, expected an object with info and defects")
    return meta
