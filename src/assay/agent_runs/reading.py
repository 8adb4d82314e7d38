"""Runs from files and folders; the content of a file shows its layout. Nothing in them is executed."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import filterfalse, product, repeat
from pathlib import Path
from typing import Any

from assay.agent_runs.layouts import (
    claude_code,
    codex,
    harbor,
    inspect_runs,
    is_inspect_log,
    mini_swe_agent,
    openhands,
    swe_agent,
)
from assay.agent_runs.layouts.contents import mapping_or_empty, objects_of
from assay.agent_runs.run_values import AgentRun
from assay.datasets import opened, walk
from assay.errors import DataError, plain_reason
from assay.files import parse_json
from assay.plug_ins import PlugIns

RunReader = Callable[[Path, Any], Iterable[AgentRun] | None]
"""Path and JSON content of a file (of JSON lines: the list of its rows) → its runs; None for another layout.

Without a run, the content belongs to one that is read from another file.
"""

RUN_READERS: PlugIns[RunReader] = PlugIns(
    "assay.agent_runs",
    callable,
    "a function of a path and its JSON content that returns runs, or None",
    own={
        "openhands": openhands,
        "mini-swe-agent": mini_swe_agent,
        "swe-agent": swe_agent,
        "harbor": harbor,
        "claude-code": claude_code,
        "codex": codex,
    },
)
LAYOUTS = "a trajectory of mini-swe-agent, SWE-agent, OpenHands, inspect, Harbor (ATIF), Claude Code or Codex"
_SUFFIXES = (".json", ".jsonl", ".ndjson", ".traj", ".eval")
_ZIP = b"PK\x03\x04"
_REPEATS = re.compile(r"output\.critic_attempt_\d+\.jsonl|trajectory\.(?:cont|summarization)\S*\.json")
"""Names of files whose runs are in the file of the first word, where that is beside them."""
_BESIDE = (
    *({"model_patch"}, {"base_commit", "patch"}, {"resolved_ids"}, {"llm", "max_iterations"}),
    *({"trial_name"}, {"job_name"}, {"n_total_trials"}, {"rewards"}, {"reward"}, {"results"}, {"datasets"}),
)
"""Keys of files beside runs: predictions, tasks, reports, settings and results."""
LARGEST_RUN = 1 << 30
"""Bytes of one JSON document or line: an output of hundreds of megabytes is read, an endless one is not."""


@dataclass(frozen=True, slots=True)
class UnreadRun:
    """A file, or a part of one, that gave no run.

    Attributes:
        path: of the file.
        reason: why, as a clause.
        is_beside: True for a file without runs that lies beside them, such as predictions.
    """

    path: Path
    reason: str
    is_beside: bool = False


def run_files(paths: Iterable[Path]) -> Iterator[tuple[Path, bool]]:
    """Yield the files below some paths that may hold runs, and True for those that were named themselves.

    Raises:
        DataError: a path does not exist, or is a folder without such a file.
    """
    for path in paths:
        if not path.is_dir():
            yield path, True
            continue
        files = [file for file in walk(path) if file.name.removesuffix(".gz").endswith(_SUFFIXES)]
        if not files:
            raise DataError(f"{path}: no file named {', '.join(_SUFFIXES)} in it, expected {LAYOUTS}")
        # a folder that holds repetitions alone was meant as it is
        yield from zip(sorted(filterfalse(_is_repeated, files)) or sorted(files), repeat(False))


def _is_repeated(path: Path) -> bool:
    """Return True for a file whose runs another file has too."""
    if _REPEATS.match(path.name):
        return path.with_name(path.name.partition(".")[0] + path.suffix).exists()
    # a trial of Harbor has the session of its agent beside the trajectory made from it
    folder = next((folder for folder in list(path.parents)[1:] if folder.name == "agent"), path / "none")
    return (folder / "trajectory.json").exists()


def read_runs(path: Path) -> Iterator[AgentRun | UnreadRun]:
    """Yield the runs of a file, and what of it could not be read.

    Raises:
        MissingExtra: a log of inspect without inspect_ai.
        PlugInError: a reader of another distribution cannot be imported.
    """
    try:
        with opened(path) as stream:
            if stream.peek(4)[:4] == _ZIP:
                yield from inspect_runs(path)
                return
            for content, cut in _documents(path, stream):
                yield from _runs_of(path, content, cut)
    except DataError as error:
        yield UnreadRun(path, str(error).removeprefix(f"{path}: "))


def _runs_of(path: Path, content: object, cut: str) -> Iterator[AgentRun | UnreadRun]:
    if is_inspect_log(content):
        yield from inspect_runs(path)
        return
    for name, reader in RUN_READERS.items():
        try:
            runs = reader(path, content)
            if runs is None:
                continue
            runs = list(runs)
            for run in runs:
                yield replace(run, cut=run.cut or cut)
            if not runs:
                yield UnreadRun(path, "its steps belong to a run in another file, expected that one", is_beside=True)
        except (KeyError, TypeError, AttributeError, ValueError, IndexError) as error:
            yield UnreadRun(path, f"an entry is damaged ({plain_reason(error)}), expected the layout of {name}")
        return
    if _is_beside(content):
        yield UnreadRun(path, f"predictions, tasks, a report, or settings, expected {LAYOUTS}", is_beside=True)
        return
    keys = ", ".join(map(str, mapping_or_empty(content))) or type(content).__name__
    yield UnreadRun(path, f"an unknown layout ({keys[:80]}), expected {LAYOUTS}")


def _is_beside(content: Any) -> bool:  # noqa: ANN401  JSON
    """Return True for the content of a file that harnesses write beside runs, as one object or one for each task."""
    # one object, or an object of them by task: it is known by itself or by its first entry
    rows = objects_of([content, *mapping_or_empty(content).values()]) or objects_of(content)
    return any(keys <= row.keys() for row, keys in product(rows[:2], _BESIDE))


def _documents(path: Path, stream: Any) -> Iterator[tuple[object, str]]:  # noqa: ANN401  a binary stream
    """Yield the JSON documents of a file that are runs: a whole document, one row, or all rows; and why one is cut."""
    first = _line(path, stream)
    row = _value(first)
    if row is None:
        # no JSON on the first line: one document over several lines
        whole = first + stream.read(LARGEST_RUN + 1 - len(first))
        try:
            yield parse_json(_limited(path, whole)), ""
        except ValueError as error:
            raise DataError(f"{path}: cut or damaged JSON ({plain_reason(error)}), expected {LAYOUTS}") from error
        return
    rows, cut = [row], ""
    for number, line in enumerate(iter(partial(_line, path, stream), b""), 2):
        if not line.strip():
            continue
        further = _value(line)
        if further is None:
            cut = f"line {number} is cut or damaged"
            break
        rows.append(further)
        # a row a run: a file of gigabytes is read run by run, and only the last row waits for the next one
        if _is_run(rows[0]):
            yield rows.pop(0), ""
    if len(rows) == 1 and (not cut or _is_run(rows[0])):
        yield rows[0], ""
    else:
        yield rows, cut
        return
    if cut:
        raise DataError(f"{path}: {cut}, expected JSON lines")


def _is_run(row: object) -> bool:
    return isinstance(row, Mapping) and "instance_id" in row and ("history" in row or "messages" in row)


def _line(path: Path, stream: Any) -> bytes:  # noqa: ANN401  a binary stream
    line: bytes = stream.readline(LARGEST_RUN + 1)
    return _limited(path, line)


def _limited(path: Path, content: bytes) -> bytes:
    if len(content) > LARGEST_RUN:
        raise DataError(f"{path}: a run of more than {LARGEST_RUN:,} bytes, expected a smaller one")
    return content


def _value(line: bytes) -> object | None:
    try:
        return parse_json(line) if line.strip() else None
    except ValueError:
        return None
