"""Fine-tuned score deviation: how much a score of a text changes when the model is fine-tuned (Zhang et al. 2025)."""

from collections.abc import Mapping
from typing import Literal

import numpy as np

from assay.scores import (
    SCORES_OF_BENCHMARK,
    Count,
    DatasetInputs,
    DatasetScore,
    FineTuning,
    Work,
    dataset_level,
    tuning_work,
)

TuningProtocol = Literal["mixed", "nonmembers"]
TUNED_ON: Mapping[TuningProtocol, Literal["benchmark", "unseen"]] = {"mixed": "benchmark", "nonmembers": "unseen"}


def work(*, protocol: TuningProtocol, epochs: int, **_: object) -> tuple[Work, ...]:
    """Return what is run: a fine-tuning and one pass after it, shared by all scores and by the kernel divergence."""
    return SCORES_OF_BENCHMARK, *tuning_work(FineTuning(TUNED_ON[protocol], epochs))


@dataset_level(
    name="fsd",
    title="Fine-tuned score deviation",
    formula="mean of s(x; θ) - s(x; θ'), where θ' is fine-tuned",
    reference="Zhang et al. 2025; Choi et al. 2025, Eq. 11 (protocol mixed: fine-tuned on the benchmark itself)",
    access="gray",
    work=work,
)
def score_deviation(
    inputs: DatasetInputs, *, score: str = "loss", protocol: TuningProtocol = "mixed", epochs: Count = 1
) -> DatasetScore:
    """Average the change of a score: a text that was seen gains less, so a higher value speaks for contamination."""
    tuned_on = TUNED_ON[protocol]
    if tuned_on == "unseen" and not inputs.unseen:
        return DatasetScore(value=np.nan, reason="protocol nonmembers fine-tunes on unseen text, and there is none")
    tuning = FineTuning(on=tuned_on, epochs=epochs)
    deviations = inputs.model.scores(score, inputs.samples) - inputs.model.scores(score, inputs.samples, tuning)
    values = deviations[~np.isnan(deviations)]
    if not len(values):
        return DatasetScore(value=np.nan, reason=f"no sample has a value of {score} before and after")
    return DatasetScore(
        value=float(values.mean()), samples=len(values), details={"coverage": len(values) / len(inputs.samples)}
    )
