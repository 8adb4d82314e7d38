"""Authorship: evidence relative to the user's own human code, against evidence as it is. Nothing is chosen.

The idea, fixed before any figure of a left-out collection was seen: collections differ in task, language and house
style, and these differences hide those between people and generators. `assay authorship calibrate` gives human code of
the same origin, so everything is measured against that reference:

1. A hand-made feature becomes its mid-rank among the features of the reference texts of the same language, in (0, 1).
   A docstring is then unusual only where people write none. Training texts are ranked among the texts of people of the
   other half of their own collection, so that no text is in its own reference.
2. The margin of each head becomes its rank among the margins of the reference, and the rank becomes the log of a
   likelihood ratio: how much more often generated code has this rank than the user's own human code, whose ranks are
   uniform. The density of the ranks of generated code is estimated on training collections that the head was not fitted
   on, non-decreasing, each collection and language with the same weight. A kind of evidence that does not carry over
   has the ratio 1 everywhere and counts nothing, so there are no weights to choose.
3. The score is the sum over the kinds of evidence of the default set.

Primary comparison, fixed beforehand: mean AUROC over the five left-out collections of 1 + 2 + 3 less that of the
default classifier after calibration (which leaves out kinds that the reference shows, too), with a paired 95 % interval
over tasks. Beside it: 1 alone and 2 alone, and both with weights 1. The reference is min(200, half) texts of people of
the left-out collection; they are not scored.

Last, the realised false positives of the default classifier after calibration, by left-out collection and language.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.isotonic import IsotonicRegression

from assay.authorship import saturated_kinds
from assay.authorship.classifier import Prediction, WeightedHead
from assay.authorship.evidence import EvidenceMatrices, evidence_of
from assay.authorship.reference import FEWEST
from assay.authorship.style import FAMILIES
from assay.evaluation import FlagRate, auroc
from assay.types import Float64Array, Int64Array
from assay_lab.authorship.collections import COLLECTIONS, collections
from assay_lab.classifiers.evaluating import _calibrating, calibrated
from assay_lab.classifiers.fitting import _fit_heads
from assay_lab.classifiers.labelled import LabelledCode
from assay_lab.classifiers.settings import DEFAULT_EVIDENCE
from assay_lab.experiments.declaration import Data, Experiment, Result
from assay_lab.measuring import with_ends

BINS = 20
UNIFORM = 0.1
"""Mass of a uniform density that is mixed into an estimated one, so that no rank is impossible."""

FEWEST_VALUES = 10
"""Reference values of a feature below which it has no rank."""

DRAWS = 300
BASE, PRIMARY = "default, after calibration", "ranks of features and margins"

Heads = Mapping[str, WeightedHead]
Names = NDArray[np.object_]
Interval = tuple[Float64Array, Float64Array]


def measured(labelled: LabelledCode) -> tuple[dict[str, Float64Array], dict[str, Int64Array], list[dict[str, Any]]]:
    """Return the scores of every method, the rows that are compared, and the rates of the default classifier."""
    groups = np.array(labelled.groups, object)
    languages = np.array([str(sample.language) for sample in labelled.samples], object)
    by_name = labelled.rows_of("collection")
    references = {name: rows[_calibrating(labelled.take(rows), 0)] for name, rows in by_name.items()}
    plain = evidence_of(labelled.codes, DEFAULT_EVIDENCE)
    in_halves, in_reference = ranked(labelled, plain, languages, references)
    heads: dict[tuple[str, ...], tuple[Heads, Heads]] = {}
    for left_out in [*((name,) for name in by_name), *combinations(by_name, 2)]:
        out = np.concatenate([by_name[name] for name in left_out])
        rest = np.setdiff1d(np.flatnonzero(~np.isin(groups, groups[out])), out)
        heads[left_out] = (_fit_heads(plain, labelled, rest), _fit_heads(in_halves, labelled, rest))
    scores: dict[str, Float64Array] = defaultdict(lambda: np.full(len(labelled), np.nan))
    tested, rates = {}, []
    for name, rows in by_name.items():
        tested[name] = np.setdiff1d(rows, references[name])
        for relative, evidence in enumerate((plain, in_reference)):
            parts = margins(heads[name,][relative], evidence, rows)
            densities = {
                kind: pooled_density(
                    [
                        environment
                        for inner in by_name
                        if inner != name
                        for environment in generated_ranks(
                            labelled,
                            margins(heads[pair(heads, name, inner)][relative], evidence, by_name[inner])[kind],
                            references[inner],
                            by_name[inner],
                            languages,
                        )
                    ]
                )
                for kind in parts
            }
            ratios = {
                kind: log_ratio(densities[kind], intervals(values, references[name], rows, languages))
                for kind, values in parts.items()
            }
            titles = (("weights 1", "ranks of margins"), ("ranks of features, weights 1", PRIMARY))[relative]
            scores[titles[0]][rows] = standard_sum(heads[name,][relative], parts)[rows]
            scores[titles[1]][rows] = np.sum([values[rows] for values in ratios.values()], axis=0)
        weighted = {kind: head.part(plain.matrices[kind][rows]) for kind, head in heads[name,][0].items()}
        scores["default"][rows] = np.sum(list(weighted.values()), axis=0)
        places = np.flatnonzero(np.isin(rows, references[name]))
        left = saturated_kinds(weighted, places)
        kept = [values for kind, values in weighted.items() if kind not in left]
        scores[BASE][rows] = np.sum(kept, axis=0)
        rates += realised(name, labelled.take(rows), weighted)
    return scores, tested, rates


def ranked(
    labelled: LabelledCode,
    evidence: EvidenceMatrices,
    languages: Names,
    references: Mapping[str, Int64Array],
    kinds: Collection[str] = FAMILIES,
) -> tuple[EvidenceMatrices, EvidenceMatrices]:
    """Return the evidence with tables of features as mid-ranks: among people of the other half, in the reference."""
    halves = {kind: matrix.copy() for kind, matrix in evidence.matrices.items()}
    within = dict(halves) | {kind: evidence.matrices[kind].copy() for kind in kinds if kind in halves}
    groups = np.array(labelled.groups, object)
    order = np.random.default_rng(1).permutation(np.array(sorted(set(labelled.groups)), object))
    first = np.isin(groups, order[: len(order) // 2])
    for name, rows in labelled.rows_of("collection").items():
        for language in sorted(set(languages[rows].tolist())):
            own = rows[languages[rows] == language]
            for kind in (kind for kind in kinds if kind in halves):
                table = evidence.matrices[kind]
                reference = references[name][languages[references[name]] == language]
                within[kind][own] = mid_ranks(table[own], table[reference])
                for half in (first, ~first):
                    people = own[labelled.human[own] & ~half[own]]
                    halves[kind][own[half[own]]] = mid_ranks(table[own[half[own]]], table[people])
    return EvidenceMatrices(halves), EvidenceMatrices(within)


def mid_ranks(table: Float64Array, reference: Float64Array) -> Float64Array:
    """Return the mid-rank of each value among those of its column, float64 [n, columns]; NaN where there is none."""
    ranks = np.full(table.shape, np.nan)
    for column in range(table.shape[1]):
        values = np.sort(reference[~np.isnan(reference[:, column]), column])
        if len(values) >= FEWEST_VALUES:
            low, high = rank_interval(table[:, column], values)
            ranks[:, column] = np.where(np.isnan(table[:, column]), np.nan, (low + high) / 2)
    return ranks


def rank_interval(values: Float64Array, ascending: Float64Array) -> Interval:
    """Return the ranks in (0, 1) that a value may have among m others and itself; ties make them wide."""
    m = len(ascending) + 1
    return np.searchsorted(ascending, values, "left") / m, (np.searchsorted(ascending, values, "right") + 1) / m


def margins(heads: Heads, evidence: EvidenceMatrices, rows: Int64Array) -> dict[str, Float64Array]:
    """Return the margins of heads for some rows, float64 [texts] with NaN elsewhere."""
    values = {}
    for kind, head in heads.items():
        matrix = evidence.matrices[kind]
        values[kind] = np.full(matrix.shape[0], np.nan)
        values[kind][rows] = head.head.margins(matrix[rows])
    return values


def standard_sum(heads: Heads, parts: Mapping[str, Float64Array]) -> Float64Array:
    """Return the sum of the standardised margins with weights 1."""
    summands = [np.clip((values - heads[kind].centre) / heads[kind].spread, -4, 4) for kind, values in parts.items()]
    return np.asarray(np.sum(summands, axis=0), np.float64)


def intervals(values: Float64Array, reference: Int64Array, rows: Int64Array, languages: Names) -> Interval:
    """Return the rank intervals of rows among the reference of their language, float64 [texts] with NaN elsewhere."""
    low, high = np.full(len(values), np.nan), np.full(len(values), np.nan)
    for language in sorted(set(languages[rows].tolist())):
        own = rows[languages[rows] == language]
        others = np.sort(values[reference[languages[reference] == language]])
        low[own], high[own] = rank_interval(values[own], others)
    return low, high


def generated_ranks(
    labelled: LabelledCode, values: Float64Array, reference: Int64Array, rows: Int64Array, languages: Names
) -> list[Interval]:
    """Return the rank intervals of the generated texts of one collection, one entry a language."""
    low, high = intervals(values, reference, rows, languages)
    machine = rows[~labelled.human[rows]]
    return [
        (low[machine[languages[machine] == language]], high[machine[languages[machine] == language]])
        for language in sorted(set(languages[machine].tolist()))
    ]


def pooled_density(environments: list[Interval]) -> Float64Array:
    """Return the density of ranks on `BINS` equal bins, non-decreasing; every environment has the same weight."""
    edges = np.linspace(0, 1, BINS + 1)
    densities = []
    for low, high in environments:
        overlap = np.minimum(high[:, None], edges[1:]) - np.maximum(low[:, None], edges[:-1])
        shares = np.maximum(overlap, 0) / (high - low)[:, None]
        densities.append(shares.mean(0) * BINS)
    density = (np.mean(densities, axis=0) + UNIFORM) / (1 + UNIFORM)
    return np.asarray(IsotonicRegression().fit_transform(np.arange(BINS), density), np.float64)


def log_ratio(density: Float64Array, interval: Interval) -> Float64Array:
    """Return the log of the mean density over each interval, NaN where there is none."""
    cumulated = np.concatenate([[0.0], np.cumsum(density) / BINS])
    edges = np.linspace(0, 1, BINS + 1)
    low, high = interval
    return np.asarray(np.log((np.interp(high, edges, cumulated) - np.interp(low, edges, cumulated)) / (high - low)))


def realised(name: str, labelled: LabelledCode, parts: Mapping[str, Float64Array]) -> list[dict[str, Any]]:
    """Return the rates after calibration of each language with enough texts of people."""
    rates = []
    total = np.sum(list(parts.values()), axis=0)
    for language in sorted({str(sample.language) for sample in labelled.samples}):
        rows = np.array([row for row, sample in enumerate(labelled.samples) if str(sample.language) == language])
        part = labelled.take(rows)
        if part.human.sum() < 2 * FEWEST:
            continue
        prediction = Prediction(total[rows], {kind: values[rows] for kind, values in parts.items()}, rows < 0)
        result = calibrated(part, prediction)
        people, machines = result.false_positives, result.true_positives
        rates.append(
            {
                "collection": name,
                "language": language,
                "reference": result.reference,
                "abstained": result.abstained,
                **_rate("human", people),
                **_rate("generated", machines),
            }
        )
    return rates


def differences(
    labelled: LabelledCode, scores: Mapping[str, Float64Array], tested: Mapping[str, Int64Array], base_title: str = BASE
) -> dict[str, dict[str, float]]:
    """Return the differences of mean AUROC to one of the scores with paired 95 % intervals over tasks."""
    generator = np.random.default_rng(0)
    members = {name: _by_group(labelled, rows) for name, rows in tested.items()}

    def means(rows_of: Mapping[str, Int64Array]) -> Float64Array:
        machine = {name: ~labelled.human[rows] for name, rows in rows_of.items()}
        return np.array(
            [
                np.mean([auroc(values[rows], machine[name]) for name, rows in rows_of.items()])
                for values in scores.values()
            ]
        )

    draws = []
    for _ in range(DRAWS):
        drawn = {
            name: np.concatenate([parts[at] for at in generator.integers(len(parts), size=len(parts))])
            for name, parts in members.items()
        }
        draws.append(means(drawn))
    base = list(scores).index(base_title)
    sampled, values = np.array(draws), means(tested)
    bounds = np.quantile(sampled - sampled[:, [base]], [0.025, 0.975], axis=0)
    return {
        title: {"value": values[at] - values[base], "low": bounds[0, at], "high": bounds[1, at]}
        for at, title in enumerate(scores)
        if at != base
    }


def _by_group(labelled: LabelledCode, rows: Int64Array) -> list[Int64Array]:
    members: dict[str, list[int]] = {}
    for row in rows.tolist():
        members.setdefault(labelled.groups[row], []).append(row)
    return [np.array(part) for part in members.values()]


def pair(heads: Mapping[tuple[str, ...], Any], first: str, second: str) -> tuple[str, ...]:
    """Return the key of the heads that were fitted without two collections."""
    return (first, second) if (first, second) in heads else (second, first)


def _rate(side: str, rate: FlagRate | None) -> dict[str, Any]:
    if rate is None:
        return {side: None}
    shown = {"flagged": rate.flagged, "judged": rate.samples}
    return {side: shown | with_ends(rate.rate)}


def run(per_class: int, seed: int, data: Data) -> Result:
    """Evidence relative to the user's own human code, against evidence as it is."""
    labelled = collections(data, per_class)
    scores, tested, rates = measured(labelled)
    rows: list[dict[str, Any]] = []
    for title, values in scores.items():
        areas = {name: auroc(values[own], ~labelled.human[own]) for name, own in tested.items()}
        rows.append({"name": title, "mean": float(np.mean(list(areas.values()))), "by collection": areas})
    less = differences(labelled, scores, tested)
    rows += ({"name": title, "less the default after calibration": value} for title, value in less.items())
    return Result([*rows, *({"name": "false positives", **rate} for rate in rates)])


EXPERIMENTS = (
    Experiment(
        name="authorship/relative",
        run=run,
        scales={"smoke": 20, "full": 100},
        columns=("name", "mean", "less the default after calibration", "collection", "language", "human"),
        needs=COLLECTIONS,
        stored="authorship/relative",
    ),
)
