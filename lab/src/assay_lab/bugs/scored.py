"""Scores of texts that may share an id, as both sides of a bug do."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import TypeVar

from assay.scores import loss, requests
from assay.scoring import Plan, Progress, plan, score_samples
from assay.types import Float64Array, LogProbScorer, Sample

Key = TypeVar("Key")


def numbered(samples: Iterable[Sample]) -> list[Sample]:
    """Return the samples with their positions as ids."""
    return [replace(sample, id=f"{at}") for at, sample in enumerate(samples)]


def likelihoods(samples: Iterable[Sample], model: LogProbScorer) -> Float64Array:
    """Return the mean log-likelihood of a token of each text, float64 [n]."""
    values: Float64Array = score_samples(numbered(samples), plan(requests(loss.name), {"target": model})).values[
        loss.name
    ]
    return values


def scored_sets(
    texts: Mapping[Key, Sequence[Sample]], chosen: Plan, *, progress: Progress | None = None
) -> dict[Key, dict[str, Float64Array]]:
    """Score all texts of several sets together; return set → score, without its parameters → float64 [texts].

    Args:
        texts: set → its texts.
        chosen: of a model, with the scores.
        progress: receives the texts that were scored.
    """
    columns = score_samples(numbered(chain.from_iterable(texts.values())), chosen, progress=progress).values
    # one pass over all texts sorts them by length and runs a repeated text once
    values = {}
    start = 0
    for key, samples in texts.items():
        rows = slice(start, start + len(samples))
        values[key] = {name.partition(":")[0]: column[rows] for name, column in columns.items()}
        start = rows.stop
    return values
