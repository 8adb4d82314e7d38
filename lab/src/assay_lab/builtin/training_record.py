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
    records = [json.loads(line) for line in log.read_text().splitlines()]
    spans = np.array_split(np.arange(len(records)), min(points, len(records)))
    measured = [record for record in records if judged in record]
    return {
        unit: [records[span[-1]][unit] for span in spans],
        "loss": [round(float(np.mean([records[at]["loss"] for at in span])), 4) for span in spans],
        f"validation_{unit}": [record[unit] for record in measured],
        judged: [record[judged] for record in measured],
    }


def versions(*packages: str) -> dict[str, str]:
    """Return the versions of Python and of packages."""
    return {
        "python": platform.python_version(),
        **{name: __version__ if name == "assay" else version(name) for name in packages},
    }


def write_record(folder: Path, record: Mapping[str, object]) -> None:
    """Write the record, and make all files of the folder readable for everyone."""
    write_json(folder / RECORD, record)
    for file in folder.iterdir():
        os.chmod(file, 0o644)  # noqa: PTH101  the umask of whoever trains must not decide what others can read
