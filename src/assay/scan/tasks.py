"""The tasks that are looked for: each with its parts, as texts.

A task of a benchmark is read by the loader of the benchmark, so every benchmark that has a name, and every table that
`read_dataset` reads, can be looked for. The parts come from the usual columns of its row.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from assay.datasets import DataSelection, copies_named_by, is_benchmark, read_dataset
from assay.errors import DataError
from assay.types import Sample

PARTS: Mapping[str, tuple[str, ...]] = {
    "prompt": ("prompt", "complete_prompt", "question", "question_content", "text", "instruct_prompt", "instruction"),
    "solution": ("canonical_solution", "code", "solution", "fixed"),
    "tests": ("test", "test_list", "challenge_test_list", "tests", "test_code"),
    "patch": ("patch", "bug_patch"),
    "test_patch": ("test_patch",),
    "issue": ("problem_statement",),
}
"""Part → the columns that may hold it, in order of preference; of `tests` all that are there."""
CODE_PARTS = frozenset({"task", "solution", "patch"})
"""Parts whose tokens are looked for as well, blind to names."""

_TRIPLE = re.compile(r'"""(.*?)(?:"""|\Z)|\'\'\'(.*?)(?:\'\'\'|\Z)', re.DOTALL)
_COMMENT = re.compile(r"/\*+(.*?)\*/|((?:^[ \t]*(?://+|#(?!include|define|pragma)).*\n?)+)", re.DOTALL | re.MULTILINE)
_EXAMPLES = re.compile(
    r"^[\s/*#]*(?:>>>|(?:for\s+)?(?:examples?|e\.g\.|parameters?|args|returns?)\b[^\n]{0,12}:).*",
    re.DOTALL | re.IGNORECASE | re.MULTILINE,
)
_HEADER = re.compile(r"^(?:diff --git|index [0-9a-f]+\.\.|--- |\+\+\+ |(?:new|deleted) file mode) ?.*\n", re.MULTILINE)
"""Lines of a patch that name its files: patches of one project share them."""
_ADDED = re.compile(r"^\+(?!\+\+ )(.*)$", re.MULTILINE)
_REMOVED = re.compile(r"^-(?!-- )(.*)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class TaskPart:
    """A part of a task: its name and its text."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class ScannedTask:
    """A task that is looked for.

    Attributes:
        benchmark: its name, as in `--for`.
        id: in the benchmark.
        parts: whole task first where it has several parts.
        entry: the name that its tests call; "" where there is none.
    """

    benchmark: str
    id: str
    parts: tuple[TaskPart, ...]
    entry: str = ""


def read_tasks(names: Sequence[str]) -> list[ScannedTask]:
    """Return the tasks of benchmarks.

    Args:
        names: of benchmarks, NAME=PATH where the files of one lie on the disk, or paths of tables.

    Raises:
        DataError: one cannot be read, is named twice, or has no task.
    """
    tasks: list[ScannedTask] = []
    for name in names:
        title, equals, path = name.partition("=")
        if equals and not path:
            raise DataError(f"--for {name}: received no path behind =, expected NAME=PATH or NAME")
        chosen = DataSelection(repeated="number")
        if path and is_benchmark(title):
            chosen = replace(chosen, data=path)
        elif path:
            raise DataError(f"{name}: {title!r} is no benchmark; expected NAME, NAME=PATH or the path of a table")
        called = title if is_benchmark(title) or title.startswith("hf:") else Path(title).name
        if any(task.benchmark == called for task in tasks):
            raise DataError(f"--for: {called} is named twice, expected each benchmark once")
        with copies_named_by(f"--for {title}=PATH" if is_benchmark(title) else "--for PATH"):
            tasks += (task_of(sample, called) for sample in read_dataset(title, chosen).samples)
    if not tasks:
        raise DataError("--for: received no benchmark, expected NAME, NAME=PATH or the path of a table")
    return tasks


def task_of(sample: Sample, benchmark: str) -> ScannedTask:
    """Return a sample of a benchmark with its parts."""
    row = sample.metadata
    texts = {part: _cell(row, columns, every=part == "tests") for part, columns in PARTS.items()}
    if texts["patch"]:
        return ScannedTask(benchmark, sample.id, tuple(_bug_parts(texts, sample)))
    parts: list[TaskPart] = []
    prompt, solution = texts["prompt"], texts["solution"]
    if not (prompt and solution) or sample.text.strip() not in (prompt.strip(), solution.strip()):
        parts.append(TaskPart("task", sample.text))
    docstring = prose_of_prompt(prompt)
    parts += [TaskPart("prompt", prompt), TaskPart("docstring", docstring), TaskPart("solution", solution)]
    parts.append(TaskPart("tests", texts["tests"]))
    # reversed twice, so that of equal texts the first part stays: the task before its prompt
    kept = {part.text: part for part in reversed(parts) if part.text.strip()}
    return ScannedTask(benchmark, sample.id, parts=tuple(reversed(kept.values())), entry=_text(row.get("entry_point")))


def prose_of_prompt(prompt: str) -> str:
    """Return the prose of a prompt before its examples: the last docstring or comment; "" where it has none."""
    texts = list(map(_inner, _TRIPLE.finditer(prompt))) or list(map(_inner, _COMMENT.finditer(prompt)))
    if not texts:
        return ""
    before = _EXAMPLES.sub("", texts[-1], count=1)
    if before.strip():
        return before
    # examples alone: they are all that there is
    return texts[-1]


def _inner(match: re.Match[str]) -> str:
    return match[1] or match[2] or ""


def _bug_parts(texts: Mapping[str, str], sample: Sample) -> Iterator[TaskPart]:
    """Yield the patch as a diff without its headers, the code on its fixed side, the issue and the tests."""
    patch = texts["patch"]
    yield TaskPart("patch", _HEADER.sub("", patch[max(0, patch.find("diff --git")) :]))
    # patches of Defects4J and BugsC++ turn the fixed source into the buggy one: there the removed lines are the fix
    fixed = {"fixed→buggy": _REMOVED}.get(str(sample.metadata.get("direction")), _ADDED)
    yield TaskPart("solution", "\n".join(fixed.findall(patch)))
    if texts["issue"]:
        yield TaskPart("issue", texts["issue"])
    if texts["test_patch"]:
        yield TaskPart("tests", "\n".join(_ADDED.findall(texts["test_patch"])))


def _cell(row: Mapping[str, object], columns: Sequence[str], *, every: bool) -> str:
    texts = list(filter(None, map(_text, map(row.get, columns))))
    if every:
        return "\n".join(texts)
    return next(iter(texts), "")


def _text(value: object) -> str:
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return "\n".join(value)
    if isinstance(value, str):
        return value
    return ""
