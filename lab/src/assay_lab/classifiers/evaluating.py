"""Quality of a classifier on collections, languages or generators that it was not fitted on."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import compress

import numpy as np

from assay.authorship import ADVISED, FEWEST, NOMINAL, Classifier, Reference
from assay.errors import DataError
from assay.evaluation import FlagRate, Ranking, flag_rate, rank_score
from assay.reports import TabularResult
from assay.types import Float64Array, Int64Array
from assay_lab.classifiers.fitting import fit_classifier, ngrams_of, subsample
from assay_lab.classifiers.formatting import as_formatted
from assay_lab.classifiers.labelled import LabelledCode
from assay_lab.classifiers.settings import FitSettings
from assay_lab.columns import attributes, present
from assay_lab.mappings import numbered


@dataclass(frozen=True, slots=True, eq=False)
class Calibrated:
    """Decisions after calibration on human code of the same origin.

    Attributes:
        reference: texts of people that the decisions were calibrated on.
        false_positives: share of the other texts of people that is flagged; None where too few are left.
        true_positives: share of the generated texts that is flagged; None where there is none.
        abstained: share of the texts without an answer.
        ranking: AUROC and other metrics of the other texts; None without both classes.
    """

    reference: int
    false_positives: FlagRate | None
    true_positives: FlagRate | None
    abstained: float
    ranking: Ranking | None = None


@dataclass(frozen=True, slots=True, eq=False)
class LeftOut:
    """One part of the data that the classifier was not fitted on.

    Attributes:
        name: of the collection, language or generator.
        people: number of texts of people.
        generated: number of generated texts.
        ranking: AUROC and other metrics; None where a class is missing.
        calibrated: decisions after calibration; None with fewer than twice `FEWEST` texts of people.
        formatted: AUROC and other metrics of the texts as a formatter writes them; None where that was not measured.
    """

    name: str
    people: int
    generated: int
    ranking: Ranking | None
    calibrated: Calibrated | None
    formatted: Ranking | None = None


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Transfer(TabularResult):
    """All parts of one evaluation.

    Attributes:
        by: "collection", "language" or "generator".
        parts: one entry per part left out.
    """

    by: str
    parts: tuple[LeftOut, ...]

    @property
    def mean_auroc(self) -> float:
        """Mean over the parts with both classes; NaN without one."""
        values = attributes(present(attributes(self.parts, "ranking")), "auroc.value")
        return mean_or_nan(values)

    @property
    def mean_calibrated_auroc(self) -> float:
        """Mean after calibration over the parts with both classes; NaN where one of these has no calibration."""
        values = []
        for part in self.parts:
            if part.ranking is None:
                continue
            if part.calibrated is None or part.calibrated.ranking is None:
                return float("nan")
            values.append(part.calibrated.ranking.auroc.value)
        return mean_or_nan(values)


def mean_or_nan(values: Sequence[float]) -> float:
    """Return the mean; NaN of no value."""
    return float(np.mean(values)) if values else float("nan")


def leave_out(
    labelled: LabelledCode, settings: FitSettings | None = None, *, by: str = "collection", formatted: bool = False
) -> Transfer:
    """Return the quality on each part in turn, by classifiers fitted on all others.

    No group is both fitted and tested. A generator is tested against the texts of people that share no group with
    what was fitted.

    Args:
        labelled: texts of people and of generators.
        settings: of the fits; None for the defaults.
        by: "collection", "language" or "generator".
        formatted: test every part as a formatter writes it, too.

    Raises:
        DataError: too few texts are left to fit on.
    """
    settings = settings or FitSettings()
    labelled = labelled.take(subsample(labelled, settings.per_class, settings.seed))
    matrix, groups = ngrams_of(labelled), np.array(labelled.groups, object)
    parts = []
    for name, rows in labelled.rows_of(by).items():
        tested = _with_people(labelled, rows, settings.seed) if by == "generator" else rows
        # related texts share a group in all collections: none of a tested group may be fitted
        fitted = np.setdiff1d(np.flatnonzero(~np.isin(groups, groups[tested])), tested)
        if labelled.human[fitted].all() or not labelled.human[fitted].any():
            continue
        # the texts were drawn before
        classifier = fit_classifier(labelled.take(fitted), replace(settings, per_class=None), matrix=matrix[fitted])
        parts.append(measure_part(name, labelled.take(tested), classifier, formatted=formatted, seed=settings.seed))
    return Transfer(by, tuple(parts))


def measure_collections(
    labelled: LabelledCode, classifier: Classifier, *, formatted: bool = False, seed: int = 0
) -> Transfer:
    """Return the quality of a fitted classifier on each collection; it should have seen none of them.

    Args:
        labelled: texts of people and of generators.
        classifier: fitted.
        formatted: test every collection as a formatter writes it, too.
        seed: of the choice of the texts that calibrate.
    """
    parts = [
        measure_part(name, labelled.take(rows), classifier, formatted=formatted, seed=seed)
        for name, rows in labelled.rows_of("collection").items()
    ]
    return Transfer("collection", tuple(parts))


def measure_part(
    name: str, labelled: LabelledCode, classifier: Classifier, *, formatted: bool = False, seed: int = 0
) -> LeftOut:
    """Return the quality of a classifier on one part."""
    people, scores = int(labelled.human.sum()), _scores(classifier, labelled)
    generated = len(labelled) - people
    ranking = after = None
    if people and generated:
        ranking = _ranked(labelled, scores, seed)
        if formatted:
            rewritten = as_formatted(labelled)
            after = _ranked(rewritten, _scores(classifier, rewritten), seed)
    # one half of them calibrates and needs as many as a reference
    enough = people >= 2 * FEWEST
    return LeftOut(
        name=name,
        people=people,
        generated=generated,
        ranking=ranking,
        calibrated=calibrated(labelled, scores, seed) if enough else None,
        formatted=after,
    )


def _scores(classifier: Classifier, labelled: LabelledCode) -> Float64Array:
    return classifier.scores(labelled.texts, labelled.codes)


def _ranked(labelled: LabelledCode, margins: Float64Array, seed: int) -> Ranking:
    return rank_score("margin", margins, ~labelled.human, groups=labelled.groups, seed=seed)


def calibrated(labelled: LabelledCode, scores: Float64Array, seed: int = 0) -> Calibrated:
    """Return the decisions on the other texts after calibration on min(200, half) texts of people.

    The calibrating half is drawn by group.
    """
    chosen = _calibrating(labelled, seed)
    rest = np.setdiff1d(np.arange(len(labelled)), chosen)
    calibrating, others = labelled.take(chosen), labelled.take(rest)
    ranking = None
    if 0 < others.human.sum() < len(others):
        ranking = _ranked(others, scores[rest], seed)
    try:
        reference = Reference.of(
            "evaluated",
            scores[chosen].tolist(),
            languages=calibrating.languages,
            tokens=_lengths(calibrating),
            groups=calibrating.groups,
        )
    except DataError:  # too few texts of people are long enough: no text gets an answer
        return Calibrated(
            reference=len(chosen), false_positives=None, true_positives=None, abstained=1.0, ranking=ranking
        )
    judged = zip(scores[rest].tolist(), others.languages, _lengths(others), strict=True)
    # a text without an answer has no bound: None becomes NaN
    bounds = np.array([reference.judge(*text).bound for text in judged], np.float64)
    return Calibrated(
        reference=len(chosen),
        false_positives=_flagged(bounds, others, human=True),
        true_positives=_flagged(bounds, others, human=False),
        abstained=float(np.isnan(bounds).mean()),
        ranking=ranking,
    )


def _lengths(labelled: LabelledCode) -> list[int]:
    return list(map(len, attributes(labelled.codes, "tokens")))


def _flagged(bounds: Float64Array, labelled: LabelledCode, *, human: bool) -> FlagRate | None:
    side = labelled.human == human
    if np.isnan(bounds[side]).all():
        return None
    return flag_rate(bounds[side], NOMINAL, groups=list(compress(labelled.groups, side)))


def _calibrating(labelled: LabelledCode, seed: int) -> Int64Array:
    """Return min(200, half) of the texts of people, by whole groups as far as that goes."""
    people = np.flatnonzero(labelled.human)
    size = min(ADVISED, len(people) // 2)
    groups = np.array(labelled.groups, object)[people].tolist()
    order = np.random.default_rng(seed).permutation(np.array(sorted(set(groups)), object))
    rank = numbered(order.tolist())
    ranks = list(map(rank.__getitem__, groups))
    # whole groups in random order: only the last one may be cut
    return np.sort(people[np.argsort(ranks, kind="stable")][:size])


def _with_people(labelled: LabelledCode, rows: Int64Array, seed: int) -> Int64Array:
    """Return the texts of a generator and as many texts of people of the same environments, if there are as many."""
    environments = np.array(labelled.environments, object)
    people = np.flatnonzero(labelled.human & np.isin(environments, environments[rows]))
    drawn = np.random.default_rng(seed).permutation(people)[: max(len(rows), FEWEST)]
    return np.sort(np.concatenate([rows, drawn]))
