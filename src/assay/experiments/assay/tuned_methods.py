"""Values of the methods that fine-tune the model, or run it many times, on a drawn benchmark; and the gate of one."""

import json
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from assay.files import write_json
from assay.leakage import GradientGate, MeasuredModel
from assay.models import combined, open_local
from assay.scores import DatasetInputs, DatasetRequest, dataset_requests
from assay.types import Sample

GATE = "gate"
"""1 where the gate of the kernel divergence is open, else 0."""


@cache
def tuned_requests() -> tuple[DatasetRequest, ...]:
    """Return the dataset-level detectors that `assay dataset` does not run by default, each with its defaults."""
    by_default = {request.name for request in dataset_requests("default")}
    return tuple(request for request in dataset_requests("all") if request.name not in by_default)


def tuned_values(model: str, samples: Sequence[Sample], unseen: Sequence[Sample], folder: Path) -> Mapping[str, float]:
    """Return method → value, higher = more contaminated, and `GATE`; values of a draw that are in `folder` are read.

    Args:
        model: name or folder of the model.
        samples: the drawn benchmark.
        unseen: text that the model has certainly not seen.
        folder: of the stored values.
    """
    scorer = open_local(model)
    ids = [[sample.id for sample in side] for side in (samples, unseen)]
    names = [request.name for request in tuned_requests()]
    path = folder / f"{combined([scorer.digest, ids, names])[:16]}.json"
    stored: dict[str, float] = json.loads(path.read_text("utf-8")) if path.exists() else {}
    values = dict(stored)
    model_of_draw = MeasuredModel(scorer, samples, unseen)
    for request in tuned_requests():
        if request.name not in stored:
            values[request.name] = request(DatasetInputs(samples, unseen, model_of_draw)).value
    if GATE not in stored:
        gate = GradientGate(model_of_draw.mean_gradient(samples), model_of_draw.mean_gradient(unseen))
        values[GATE] = float(gate.is_open)
    if values != stored:
        folder.mkdir(parents=True, exist_ok=True)
        write_json(path, values)
    return values
