"""The floor that a classifier of machine-written code has to beat: n-grams and logistic regression.

Written down before any figure was seen:

- Methods: `characters` (1 to 3, of the text as it is written); `floor` (the same and 1 to 3 tokens); `code only` (the
  floor, of the text without comments and docstrings); `invariant` (code only; a column whose weight changes its sign
  between collections of the training set counts nothing, and no weight exceeds the 99th percentile); `zero-shot`
  (`fast_detect_gpt` of the default surrogate, no training). Two more, `evidence` and `style` (heads on hand-made
  features, with and without docstrings), were measured beside them and removed after that (commit d8dbbc3).
- Each of the five collections of `COLLECTIONS` is left out in turn, and with it the other collection of its source. The
  floor has nothing that was chosen on any of them; the evidence was developed with all five in view, which favours it.
- A method is a default if it is better than the floor, by a paired 95 % interval over tasks above 0, in two thirds of
  the collections, and in none worse by an interval below 0. Otherwise the floor is the only classifier.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import compress
from typing import Any

import numpy as np

from assay.authorship import FEWEST, comment_spans, docstring_spans, rate_data, without_spans
from assay.evaluation import rank_score
from assay.models import StatisticsCache, cached_scorer, default_control, open_model
from assay.scores import requests
from assay.scoring import plan, score_samples
from assay.types import Float64Array, Int64Array, TokenScorer
from assay_lab.authorship.collections import COLLECTIONS, SOURCES, collections
from assay_lab.classifiers.evaluating import calibrated
from assay_lab.classifiers.fitting import fitted_weights, ngrams_of
from assay_lab.classifiers.labelled import LabelledCode
from assay_lab.columns import at_places
from assay_lab.evaluation.differences import paired_difference
from assay_lab.experiments.declaration import Data, Experiment, Result
from assay_lab.measuring import with_ends

CAP = 0.99
METHODS = ("characters", "floor", "code only", "invariant", "zero-shot")
BASE = "floor"


def run(scale: tuple[int, int], seed: int, data: Data) -> Result:
    """The floor beside other classifiers, on collections that were left out."""
    per_class, few = scale
    both = collections(data, per_class)
    groups, names = np.array(both.groups, object), np.array(both.collections, object)
    matrices = {"floor": ngrams_of(both), "code only": ngrams_of(without_words(both))}
    matrices["characters"] = matrices["floor"][:, : matrices["floor"].shape[1] // 2]
    zero_shot = _zero_shot(both, few)
    rows: list[dict[str, Any]] = []
    for name, part in both.rows_of("collection").items():
        out = np.flatnonzero(np.isin(names, SOURCES.get(name, (name,))))
        # a task that a left-out text shares leaves the training too
        training = np.setdiff1d(np.flatnonzero(~np.isin(groups, groups[out])), out)
        scores = {title: _fit(both, matrix, training)(matrix[part]) for title, matrix in matrices.items()}
        scores["invariant"] = _fit_invariant(both, matrices["code only"], training)(matrices["code only"][part])
        scores["zero-shot"] = zero_shot[part]
        own = both.take(part)
        after = calibrated(own, scores[BASE]) if own.human.sum() >= 2 * FEWEST else None
        rates = after and {"people": rate_data(after.false_positives), "generated": rate_data(after.true_positives)}
        rows.append({"name": name, **compared(own, scores), "floor with a reference": rates})
    return Result(
        rows, [f"at most {per_class} texts of a class, collection and language; {few} for the zero-shot score"]
    )


def compared(labelled: LabelledCode, scores: Mapping[str, Float64Array]) -> dict[str, Any]:
    """Return the AUROC of each method, and its difference to the floor, with intervals over tasks."""
    machine, groups = ~labelled.human, list(labelled.groups)
    result: dict[str, Any] = {"people": int(labelled.human.sum()), "generated": int(machine.sum())}
    for title in METHODS:
        kept = ~np.isnan(scores[title])
        own = list(compress(groups, kept))
        ranking = rank_score("score", scores[title][kept], positive=machine[kept], groups=own)
        result[title] = with_ends(ranking.auroc)
        if title != BASE:
            difference = paired_difference(scores[title], scores[BASE], positive=machine, groups=groups)
            result[title]["less the floor"] = with_ends(difference.estimate)
    return result


def without_words(labelled: LabelledCode) -> LabelledCode:
    """Return the texts without comments and docstrings."""
    samples = []
    for sample in labelled.samples:
        spans = [*comment_spans(sample.text, sample.language), *docstring_spans(sample.text, sample.language)]
        samples.append(replace(sample, text=without_spans(sample.text, sorted(spans)), metadata={}))
    return replace(labelled, samples=tuple(samples))


Margins = Callable[[Any], Float64Array]


def _fit(labelled: LabelledCode, matrix: Any, rows: Int64Array) -> Margins:  # noqa: ANN401  sparse
    weights = fitted_weights(labelled, rows, matrix)
    return lambda tested: np.asarray(tested @ weights, np.float64)


def _fit_invariant(labelled: LabelledCode, matrix: Any, rows: Int64Array) -> Margins:  # noqa: ANN401  sparse
    names = np.array(labelled.collections, object)[rows]
    weights = [fitted_weights(labelled, rows[names == name], matrix) for name in sorted(set(names.tolist()))]
    signs = np.sign(np.stack(weights))
    # the signs add up to their number only where no two contradict each other
    agreed = np.abs(signs.sum(0)) == np.abs(signs).sum(0)
    mean = np.where(agreed, np.mean(weights, axis=0), 0.0)
    cap = float(np.quantile(np.abs(mean[mean != 0]), CAP))
    capped = np.clip(mean, -cap, cap)
    return lambda tested: np.asarray(tested @ capped, np.float64)


def _zero_shot(labelled: LabelledCode, most: int) -> Float64Array:
    """Return the default score of `assay detect` for the first `most` texts of each class and collection."""
    model = open_model(default_control())
    if not isinstance(model, TokenScorer):
        raise TypeError(f"{model.name} gives no distributions")
    chosen: list[int] = []
    for rows in labelled.rows_of("collection").values():
        human = labelled.human[rows]
        chosen += [*rows[human][:most].tolist(), *rows[~human][:most].tolist()]
    scorer = cached_scorer(model, StatisticsCache())
    samples = at_places(labelled.samples, chosen)
    table = score_samples(samples, plan(requests("fast_detect_gpt"), {"target": scorer}))
    values = np.full(len(labelled), np.nan)
    values[chosen] = table.values["fast_detect_gpt"]
    return values


EXPERIMENTS = (
    Experiment(
        name="authorship/floor",
        run=run,
        scales={"smoke": (8, 2), "full": (300, 100)},
        columns=("name", *((title, "value") for title in METHODS)),
        needs=COLLECTIONS,
        stored="authorship/floor",
    ),
)
