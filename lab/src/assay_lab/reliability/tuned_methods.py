"""Values of the methods that fine-tune the model, or run it many times, on a drawn benchmark; and the gate of one."""

import json
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from pathlib import Path

from assay.codec import decode, encode
from assay.evaluation import MeanGradient
from assay.files import write_json
from assay.leakage import GradientGate, MeasuredModel, TuningOptions
from assay.models import combined, open_local
from assay.scores import DatasetInputs, DatasetRequest, dataset_requests
from assay.types import Sample
from assay_lab.columns import attributes, id_column, outside, text_column

GATE = "gate"
"""1 where the gate of the kernel divergence is open, else 0."""


@cache
def tuned_requests() -> tuple[DatasetRequest, ...]:
    """Return the dataset-level detectors that `assay audit` does not run by default, each with its defaults."""
    by_default = set(attributes(dataset_requests("default"), "name"))
    return tuple(outside(dataset_requests("all"), "name", by_default))


def tuned_values(model: str, samples: Sequence[Sample], unseen: Sequence[Sample], folder: Path) -> Mapping[str, float]:
    """Return method → value, higher = more contaminated, and `GATE`; values of a draw that are in `folder` are read.

    Args:
        model: name or folder of the model.
        samples: the drawn benchmark.
        unseen: text that the model has certainly not seen.
        folder: of the stored values.
    """
    scorer = open_local(model)
    ids = id_column(samples), id_column(unseen)
    names = attributes(tuned_requests(), "name")
    path = folder / f"{combined([scorer.digest, list(ids), names])[:16]}.json"
    # through the codec, because a method without a value gives NaN, which JSON does not have
    values = decode(dict[str, float], json.loads(path.read_text("utf-8"))) if path.exists() else {}
    if values.keys() >= {*names, GATE}:
        return values
    # rate and gradient of the unseen text are those of all draws of the pool
    rate, of_unseen = rate_and_gradient(model, len(samples), tuple(text_column(unseen)))
    model_of_draw = MeasuredModel(scorer, samples, unseen, tuning=TuningOptions(rate=rate))
    for request in tuned_requests():
        if request.name not in values:
            values[request.name] = request(DatasetInputs(samples, unseen, model_of_draw)).value
    if GATE not in values:
        gate = GradientGate(model_of_draw.mean_gradient(samples), of_unseen)
        values[GATE] = float(gate.is_open)
    folder.mkdir(parents=True, exist_ok=True)
    write_json(path, encode(values))
    return values


@lru_cache(maxsize=4)
def rate_and_gradient(model: str, n: int, unseen: tuple[str, ...]) -> tuple[float, MeanGradient]:
    """Return the learning rate for benchmarks of `n` texts, and the mean gradient of the unseen text.

    All draws of a pool have the same, and finding them costs more than the kernel divergence itself.
    """
    texts = [Sample(str(at), text) for at, text in enumerate(unseen)]
    measured = MeasuredModel(open_local(model), texts[:n], texts)
    return measured.rate, measured.mean_gradient(texts)
