"""Values of the methods that fine-tune the model, or run it many times, on a drawn benchmark."""

import json
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from assay.files import write_json
from assay.leakage import MeasuredModel
from assay.models import combined, open_local
from assay.scores import DatasetInputs, DatasetRequest, dataset_requests
from assay.types import Sample


@cache
def tuned_requests() -> tuple[DatasetRequest, ...]:
    """Return the dataset-level detectors that `assay dataset` does not run by default, each with its defaults."""
    by_default = {request.name for request in dataset_requests("default")}
    return tuple(request for request in dataset_requests("all") if request.name not in by_default)


def tuned_values(model: str, samples: Sequence[Sample], unseen: Sequence[Sample], folder: Path) -> Mapping[str, float]:
    """Return method → value, higher = more contaminated; values of a draw that are in `folder` are read.

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
    if not path.exists():
        inputs = DatasetInputs(samples, unseen, MeasuredModel(scorer, samples, unseen))
        folder.mkdir(parents=True, exist_ok=True)
        write_json(path, {request.name: request(inputs).value for request in tuned_requests()})
    values: dict[str, float] = json.loads(path.read_text("utf-8"))
    return values
