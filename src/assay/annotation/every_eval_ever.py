"""Samples of every_eval_ever, written again with what is known of their contamination.

The format has no field of its own for it; its `metadata` of a sample takes any name with a text.
"""

from collections.abc import Sequence
from pathlib import Path

from assay.annotation.annotating import AnnotatedTasks
from assay.annotation.log_file import LogFile
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
        DataError: no log holds samples of every_eval_ever, or the file cannot be written.
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
    lines = []
    for row in rows:
        added = {FIELD: statuses.get(str(row["sample_id"]), "unknown"), BASIS: annotated.split.basis}
        lines.append(json_text({**row, "metadata": {**(row.get("metadata") or {}), **added}}, ensure_ascii=False))
    write_text(path, "".join(map("{}\n".format, lines)))
