"""The record and the loss curve of a training, written beside its weights."""

import json
import os
import platform
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path

import numpy as np

from assay import __version__
from assay.files import write_json
from assay_lab.result_rows import column

RECORD = "training.json"
CURVE = "loss_curve.json"


def loss_curve(log: Path, *, unit: str, judged: str, points: int = 200) -> dict[str, list[float]]:
    """Return the logged losses as means over equal spans of steps, and the figures on held-out text.

    Args:
        log: a line per step.
        unit: the column that counts progress ("tokens").
        judged: the column of the figures on held-out text ("validation_loss"), present in only a part of the lines.
        points: number of spans.
    """
    records = list(map(json.loads, log.read_text().splitlines()))
    spans = np.array_split(column(records, "loss"), min(points, len(records)))
    # the last step of each span, at which its mean is drawn
    ends = np.cumsum(list(map(len, spans))) - 1
    measured = [record for record in records if judged in record]
    return {
        unit: [records[end][unit] for end in ends],
        "loss": [round(float(span.mean()), 4) for span in spans],
        f"validation_{unit}": column(measured, unit),
        judged: column(measured, judged),
    }


def versions(*packages: str) -> dict[str, str]:
    """Return the versions of Python and of packages."""
    numbers = {"python": platform.python_version()}
    for name in packages:
        numbers[name] = __version__ if name == "assay" else version(name)
    return numbers


def write_record(folder: Path, record: Mapping[str, object]) -> None:
    """Write the record, and make all files of the folder readable for everyone."""
    write_json(folder / RECORD, record)
    for file in folder.iterdir():
        os.chmod(file, 0o644)  # noqa: PTH101  the umask of whoever trains must not decide what others can read
