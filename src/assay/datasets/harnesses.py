"""Samples of the tasks of evaluation harnesses: `lm-eval:TASK` and `inspect:TASK`.

Every task that a harness knows can be audited without a loader of our own. TASK of lm-eval is the name of a task or the
path of its YAML file; TASK of inspect is the name of an installed task or FILE.py@NAME.
"""

import contextlib
import io
import re
import zipfile
from collections.abc import Iterator
from operator import attrgetter
from pathlib import Path
from typing import Any

from assay.datasets.columns import ID_COLUMNS, usual_column
from assay.datasets.sources import SourceRow
from assay.datasets.sources.stream import check_ratio
from assay.errors import DataError, did_you_mean, plain_reason, require

LM_EVAL = "lm-eval:"
INSPECT = "inspect:"
HARNESSES = (LM_EVAL, INSPECT)
GRADES = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0, "yes": 1.0, "no": 0.0}
"""Grades of inspect: correct, incorrect, partial, no answer."""


def harness_rows(name: str) -> Iterator[SourceRow]:
    """Yield a row with the columns id, text and target for each sample of a task.

    Args:
        name: `lm-eval:TASK` or `inspect:TASK`.

    Raises:
        DataError: the task cannot be loaded.
        MissingExtra: the harness is not installed.
    """
    package, rows_of = ("lm_eval", _lm_eval_rows) if name.startswith(LM_EVAL) else ("inspect_ai", _inspect_rows)
    require(package, purpose=f"task {name}")
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            rows = rows_of(name.partition(":")[2])
    except DataError:
        raise
    except Exception as error:  # a task runs code of others, which may raise anything
        message = " ".join(f"{type(error).__name__}: {error}".split())[:300]
        raise DataError(f"task {name} cannot be loaded: {message}") from error
    yield from rows


def read_inspect_log(path: Path, *, header_only: bool = False) -> Any:  # noqa: ANN401  inspect_ai is optional
    """Return a log of inspect as inspect_ai reads it, with the attachments of its samples.

    Raises:
        DataError: it cannot, or unpacks to far more than its size.
        MissingExtra: inspect_ai is not installed.
    """
    require("inspect_ai", purpose=f"the inspect log {path}")
    from inspect_ai.log import read_eval_log  # noqa: PLC0415  slow to import

    try:
        if zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as archive:  # stated sizes: a member never unpacks to more
                check_ratio(path, sum(map(attrgetter("file_size"), archive.infolist())), path.stat().st_size)
        # as a stream: of a name with "::" inspect_ai would make an address
        with path.open("rb") as file:
            return read_eval_log(file, resolve_attachments=not header_only, header_only=header_only)
    except DataError:
        raise
    except Exception as error:  # inspect_ai raises what zip, JSON and pydantic raise
        raise DataError(f"{path} cannot be read as an inspect log: {_fault_of_log(path, error)}") from error


def _fault_of_log(path: Path, error: Exception) -> str:
    """Return what a file is that inspect_ai cannot read, and what was expected; its errors do not say it."""
    if not path.is_file():
        return f"{_first_fault(error)}; expected a file"
    if path.stat().st_size == 0:
        return "received an empty file, expected the log of a run"
    if path.suffix != ".eval":
        return f"{_first_fault(error)}; expected the JSON log of a run"
    if zipfile.is_zipfile(path):
        return f"{_first_fault(error)}; expected the members that inspect writes"
    with path.open("rb") as file:
        is_cut = file.read(4) == b"PK\x03\x04"
    received = "a zip archive that is cut off" if is_cut else "a file that is no zip archive"
    return f"received {received}, expected the whole .eval file of a run"


def _first_fault(error: Exception) -> str:
    """Return one line of an error; pydantic gives a paragraph for each field that is wrong."""
    fields: list[dict[str, Any]] = getattr(error, "errors", list)()
    if not fields:
        return plain_reason(error)[:200]
    return f"{'.'.join(map(str, fields[0]['loc']))}: {fields[0]['msg']}"[:200].removeprefix(": ")


def _lm_eval_rows(name: str) -> list[SourceRow]:
    from lm_eval.tasks import TaskManager, get_task_dict  # noqa: PLC0415  slow to import

    path = Path(name)
    is_file = path.suffix in {".yaml", ".yml"}
    if is_file and not path.is_file():
        raise DataError(f"{name}: no such file; expected the name of an lm-eval task, or its YAML file")
    manager = TaskManager(include_path=str(path.parent) if is_file else None, include_defaults=not is_file)
    # the manager looked for tasks beside the file alone: the task still has to be named
    if is_file:
        # a whole YAML reader would need the tags of lm-eval, such as !function
        match = re.search(r"^task:\s*[\"']?([^\s\"']+)", path.read_text("utf-8"), re.MULTILINE)
        if match is None:
            raise DataError(f"{name}: no line `task: NAME`; expected the YAML file of an lm-eval task")
        name = match[1]
    if name not in manager.all_tasks:
        raise DataError(f"lm-eval has no task {name!r}{did_you_mean(name, manager.all_tasks)}")
    loaded = next(iter(_single_tasks(get_task_dict([name], manager))))
    docs = list(loaded.eval_docs)
    column = usual_column(ID_COLUMNS, tuple(*docs[:1]))
    rows: list[SourceRow] = []
    for number, doc in enumerate(docs):
        row_id = doc.get(column, f"{name}/{number}")
        rows.append(_row(row_id, loaded.doc_to_text(doc), loaded.doc_to_target(doc)))
    return rows


def _row(row_id: object, text: object, target: object) -> SourceRow:
    return {"id": str(row_id), "text": _text(text), "target": _text(target)}


def _single_tasks(tasks: Any) -> Iterator[Any]:  # noqa: ANN401  lm-eval nests groups of tasks
    for task in tasks.values():
        yield from _single_tasks(task) if isinstance(task, dict) else (task,)


def _inspect_rows(name: str) -> list[SourceRow]:
    # inspect_ai offers no public function that loads a task by its name
    from inspect_ai._eval.loader import load_tasks  # noqa: PLC0415

    tasks = load_tasks([name])
    if not tasks:
        raise DataError(f"inspect has no task {name!r}; expected the name of an installed task, or FILE.py@NAME")
    rows: list[SourceRow] = []
    for number, sample in enumerate(tasks[0].dataset):
        row_id = f"{name}/{number}" if sample.id is None else sample.id
        text = sample.input
        if not isinstance(text, str):
            # a conversation: inspect sends its messages one after the other
            text = list(map(attrgetter("text"), text))
        rows.append(_row(row_id, text, sample.target))
    return rows


def _text(value: object) -> str:
    return "\n".join(map(str, value)) if isinstance(value, list) else str(value)


def inspect_values(sample: Any) -> dict[str, object]:  # noqa: ANN401  inspect_ai is optional
    """Return the values of a sample by scorer, or by scorer and key or place."""
    values: dict[str, object] = {}
    for scorer, score in (sample.scores or {}).items():
        parts = score.value
        if isinstance(parts, list):
            parts = dict(enumerate(parts))
        if not isinstance(parts, dict):
            values[scorer] = _graded(parts)
            continue
        for key, part in parts.items():
            values[f"{scorer}.{key}"] = _graded(part)
    return values


def _graded(value: object) -> object:
    # a value may be a list or an object, which has no hash to be looked up by
    return GRADES.get(value, value) if isinstance(value, str) else value
