"""What is written of a training beside its weights: the record and the loss curve."""

import json
import os
import platform
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path

import numpy as np

RECORD = "training.json"
CURVE = "loss_curve.json"


def loss_curve(log: Path, *, unit: str, judged: str, points: int = 200) -> dict[str, list[float]]:
    """The logged losses as means over equal spans of steps, and the figures on held-out text where they were measured.

    Args:
        log: one line a step.
        unit: what steps are counted in, a column of the log ("tokens").
        judged: the column of the figures on held-out text ("validation_loss").
        points: spans.
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
    """Versions of Python and of packages."""
    return {"python": platform.python_version(), **{name: version(name) for name in packages}}


def write_record(folder: Path, record: Mapping[str, object]) -> None:
    """Write the record, and let everyone read what lies in the folder."""
    (folder / RECORD).write_text(json.dumps(record, indent=1) + "\n")
    for file in folder.iterdir():
        os.chmod(file, 0o644)  # noqa: PTH101  the umask of whoever trains must not decide what others can read
