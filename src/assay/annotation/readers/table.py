"""The table of readers, and the tasks of all files of an evaluation."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from itertools import chain
from operator import attrgetter
from pathlib import Path

from assay.annotation.log_file import LogFile, first_object
from assay.annotation.readers.code_logs import (
    read_bigcode,
    read_bigcodebench,
    read_evalplus,
    read_livecodebench,
    read_predictions,
)
from assay.annotation.readers.columns import read_columns
from assay.annotation.readers.harness_logs import read_evalscope, read_lighteval, read_lm_eval, read_opencompass
from assay.annotation.readers.inspect_logs import read_inspect
from assay.annotation.readers.patch_logs import read_outcomes_by_id, read_patch_report, read_single_reports
from assay.annotation.readers.shared_logs import read_every_eval_ever, read_helm
from assay.annotation.task_results import LogColumns, TaskLog, TaskResult, check_stated, merge_results
from assay.errors import DataError, plain_reason
from assay.plug_ins import PlugIns

Reader = Callable[[LogFile, LogColumns], TaskLog | None]

READERS: PlugIns[Reader] = PlugIns(
    "assay.logs",
    callable,
    "a function of a LogFile and LogColumns that returns a TaskLog, or None for another layout",
    own={
        "inspect": read_inspect,
        "lm-eval": read_lm_eval,
        "lighteval": read_lighteval,
        "EvalScope": read_evalscope,
        "OpenCompass": read_opencompass,
        "HELM": read_helm,
        "every_eval_ever": read_every_eval_ever,
        "EvalPlus": read_evalplus,
        "BigCodeBench": read_bigcodebench,
        "LiveCodeBench": read_livecodebench,
        "bigcode-evaluation-harness": read_bigcode,
        "SWE-bench report": read_patch_report,
        "SWE-bench instances": read_single_reports,
        "SWE-bench Pro": read_outcomes_by_id,
        "predictions": read_predictions,
    },
)
"""Name → reader, in the order in which they are tried."""
EXPECTED = "a file of a harness that `assay annotate --help` names, or --columns id=PATH,outcome=PATH for any other"
MOST_NAMED, MOST_FIELDS = 3, 8
"""Tasks that a note names, and fields that an error does."""


def harness_of(path: Path) -> str:
    """Return the name of the harness that wrote a file.

    Raises:
        DataError: see `read_task_results`.
    """
    return _read(LogFile(path), LogColumns()).harness


def read_task_results(
    paths: Sequence[Path], columns: LogColumns, note: Callable[[str], None]
) -> tuple[TaskResult, ...]:
    """Return the tasks of several files, in their order; entries of one id are one task.

    Args:
        paths: a log, or predictions and the file with their outcomes.
        columns: places of the fields.
        note: takes a sentence on what was guessed.

    Raises:
        DataError: a file cannot be read, is of no known form, has a row without a known outcome, or states another
            score than that of its rows.
        MissingExtra: an inspect log without inspect_ai.
    """
    logs = [_read(LogFile(path), columns) for path in paths]
    read = frozenset[str]().union(*map(attrgetter("columns"), logs))
    for name, value in asdict(columns).items():
        # an option that no reader has taken would be believed to have decided
        if value is not None and name not in read:
            option = "--metric" if name == "metric" else f"--columns {name}"
            harnesses = ", ".join(map(attrgetter("harness"), logs))
            raise DataError(f"received {option}, which the results of {harnesses} have no use for; expected none")
    for log in logs:
        for sentence in log.notes:
            note(sentence)
    check_stated(logs)
    tasks = merge_results(tuple(chain.from_iterable(map(attrgetter("results"), logs))))
    if not tasks:
        raise DataError(f"{', '.join(map(str, paths))}: no task in it, expected {EXPECTED}")
    by_problem: dict[str, list[str]] = {}
    for task in tasks:
        if task.problem is not None:
            by_problem.setdefault(task.problem, []).append(task.id)
    for problem, ids in by_problem.items():
        more = f" and {len(ids) - MOST_NAMED:,} more" * (len(ids) > MOST_NAMED)
        note(f"{len(ids):,} task{'s' * (len(ids) > 1)} {problem}: {', '.join(ids[:MOST_NAMED])}{more}")
    return tasks


def _read(file: LogFile, columns: LogColumns) -> TaskLog:
    try:
        if columns.outcome is not None:
            return _with_notes(read_columns(file, columns), file)
        for read in map(READERS.__getitem__, READERS):
            log = read(file, columns)
            if log is not None:
                return _with_notes(log, file)
    # a field that is missing, or of another type
    except (LookupError, TypeError, AttributeError, ValueError, OverflowError) as error:
        raise DataError(f"{file.path}: an entry is damaged ({plain_reason(error)}); expected {EXPECTED}") from error
    raise DataError(f"{file.path}: received {_description(file)}; expected {EXPECTED}")


def _with_notes(log: TaskLog, file: LogFile) -> TaskLog:
    return replace(log, notes=(*file.notes, *log.notes))


def _description(file: LogFile) -> str:
    """Return what a file of no known layout holds, in words."""
    if file.path.is_dir():
        return "a folder without reports of instances"
    if file.fields:
        return f"an object with {', '.join(list(file.fields)[:MOST_FIELDS])}"
    first = list(first_object(file.rows))[:MOST_FIELDS]
    return f"rows with {', '.join(map(str, first)) or 'nothing'}"
