"""Samples of every_eval_ever, written again with what is known of their contamination.

The format has no field of its own for it; its `metadata` of a sample takes any name with a text.
"""

from collections.abc import Sequence
from pathlib import Path

from assay.annotation.annotating import AnnotatedTasks
from assay.annotation.log_file import LogFile
from assay.annotation.matching import matched_ids
from assay.annotation.task_results import TaskResult
from assay.errors import DataError
from assay.escaping import json_text
from assay.files import write_text

FIELD, BASIS = "contamination", "contamination_basis"
"""Names in the metadata of a sample: its status, and on what that rests."""


def write_every_eval_ever(path: Path, logs: Sequence[Path], annotated: AnnotatedTasks) -> None:
    """Write the samples of logs of every_eval_ever with `metadata.contamination`.

    Args:
        path: JSON lines.
        logs: files that were annotated.
        annotated: with the status of each task.

    Raises:
        DataError: no log holds samples of every_eval_ever, none of them is a task, or the file cannot be written.
    """
    statuses = {str(row["id"]): str(row["status"]) for row in annotated.rows()}
    rows = []
    for file in map(LogFile, logs):
        if {"sample_id", "evaluation", "schema_version"} <= file.row_names:
            rows += file.rows
    if not rows:
        raise DataError(
            f"{logs[0]} holds no samples of every_eval_ever; expected them: its own converters make them of logs of "
            "inspect, lm-eval and HELM"
        )
    # the tasks have the ids of a benchmark where it was named, which may be spelt in another way
    ids = list(dict.fromkeys(str(row["sample_id"]) for row in rows))
    matches = matched_ids(list(map(TaskResult, ids)), list(statuses), annotated.name, note=list[str]().append)
    if not matches:
        raise DataError(
            f"no sample of {logs[0]} is an annotated task: ids such as {ids[0]!r} and {next(iter(statuses))!r} differ; "
            "expected the same ids, without --columns id"
        )
    lines = []
    for row in rows:
        status = statuses.get(matches.get(str(row["sample_id"]), ""), "unknown")
        added = {FIELD: status, BASIS: annotated.split.basis}
        lines.append(json_text({**row, "metadata": {**(row.get("metadata") or {}), **added}}, ensure_ascii=False))
    write_text(path, "".join(map("{}\n".format, lines)))
