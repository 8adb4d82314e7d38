"""Evaluation of the values of all detectors on one checkpoint.

Thresholds are fitted on the calibration split, never on the judged texts; p-values are computed against its held-out
half.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import compress, product

import numpy as np

from assay.evaluation import MINIMUM_UNSEEN, blind_baseline, conformal_p_values, flag_rate, grouped_share, rank_all
from assay.types import MEMBER, BooleanArray, Float64Array, Sample
from assay_lab.columns import group_column, is_labelled, text_column
from assay_lab.evaluation.differences import paired_difference
from assay_lab.evaluation.thresholds import at_threshold, best_threshold
from assay_lab.testbed.configuration import Ties
from assay_lab.testbed.detectors import BASELINES, CONTENDERS, ComparedDetector
from assay_lab.testbed.evaluation_result import Blind, Contest, Decided, DetectorResult, Null, SampleView
from assay_lab.testbed.plant import Planted, part_column

ALPHAS = (0.05, 0.1)


def cells(
    planted: Planted,
    values: Mapping[str, Float64Array],
    detectors: Sequence[ComparedDetector],
    *,
    epoch: int,
    view: SampleView,
    kept: BooleanArray,
    resamples: int,
    seed: int,
    ties: Ties = "strict",
) -> Iterator[DetectorResult]:
    """Yield the result of each detector.

    Args:
        planted: the texts, in the order of the values.
        values: detector → float64 [texts], NaN where unscorable.
        detectors: in the order of the cells.
        epoch: of the checkpoint.
        view: name of the chosen texts.
        kept: bool [texts], true for the texts of the view.
        resamples: behind every interval.
        seed: of the resamples.
        ties: whether a value that equals that of a rule counts.
    """
    part = part_column(planted.samples)
    judged = kept & np.isin(part, ("member", "nonmember"))
    fits = kept & np.isin(part, ("calibration-member", "calibration-nonmember"))
    truths = is_labelled(planted.samples, MEMBER)
    groups = selected_groups(planted.samples, judged)
    rankings = rank_all(
        {detector.name: values[detector.name][judged] for detector in detectors},
        truths[judged],
        groups,
        resamples=resamples,
        seed=seed,
    )
    for detector in detectors:
        column = values[detector.name]
        decided, on_unseen = None, None
        threshold, labels = _threshold(detector, column[fits], truths[fits], ties=ties)
        outcome = rankings[detector.name]
        if threshold is not None and outcome.positives and outcome.negatives:
            quality = at_threshold(
                column[judged],
                positive=truths[judged],
                groups=groups,
                threshold=threshold,
                resamples=resamples,
                seed=seed,
            )
            decided = Decided(
                threshold=threshold,
                fitted_on=labels,
                accuracy=quality.accuracy,
                precision=quality.macro_precision,
                recall=quality.macro_recall,
                f1=quality.macro_f1,
            )
        # texts that calibrate are not judged by themselves
        is_clean, is_member = kept & np.isin(part, ("nonmember", "unseen")), kept & (part == "member")
        if detector.rule is not None and threshold is not None:
            scored = is_clean & ~np.isnan(column)
            on_unseen = grouped_share(column[scored] >= threshold, selected_groups(planted.samples, scored))
        calibration = column[kept & (part == "calibration-nonmember")]
        yield DetectorResult(
            detector=detector.name,
            epoch=epoch,
            view=view,
            members=outcome.positives,
            nonmembers=outcome.negatives,
            unscorable=outcome.unscorable_positives + outcome.unscorable_negatives,
            auroc=outcome.auroc,
            tpr_at_fpr=outcome.tpr_at_fpr,
            decided=decided,
            rule_on_unseen=on_unseen,
            nulls=tuple(nulls(planted, column, calibration=calibration, is_clean=is_clean, is_member=is_member)),
        )


def nulls(
    planted: Planted, column: Float64Array, calibration: Float64Array, is_clean: BooleanArray, is_member: BooleanArray
) -> Iterator[Null]:
    """Yield conformal decisions at each level of `ALPHAS`; none where fewer than 20 texts calibrate."""
    calibrated_on = int((~np.isnan(calibration)).sum())
    if calibrated_on < MINIMUM_UNSEEN:
        return
    p_values = conformal_p_values(column, calibration)
    for alpha in ALPHAS:
        clean, members = (
            flag_rate(p_values[part], alpha, groups=selected_groups(planted.samples, part), unseen=calibrated_on)
            for part in (is_clean, is_member)
        )
        yield Null(alpha=alpha, calibrated_on=calibrated_on, clean=clean, members=members)


def contests(
    planted: Planted,
    values: Mapping[str, Float64Array],
    *,
    epoch: int,
    view: SampleView,
    kept: BooleanArray,
    resamples: int,
    seed: int,
) -> Iterator[Contest]:
    """Yield the paired difference of AUROC of each candidate and each rival."""
    part = part_column(planted.samples)
    judged = kept & np.isin(part, ("member", "nonmember"))
    truths = is_labelled(planted.samples, MEMBER)[judged]
    groups = selected_groups(planted.samples, judged)
    for candidate, rival in product(CONTENDERS, BASELINES):
        if candidate not in values or rival not in values:
            continue
        first, second = values[candidate][judged], values[rival][judged]
        # an AUROC needs both classes among the texts that both can score
        both = ~(np.isnan(first) | np.isnan(second))
        if truths[both].all() or not truths[both].any():
            continue
        difference = paired_difference(first, second, positive=truths, groups=groups, resamples=resamples, seed=seed)
        yield Contest(candidate=candidate, rival=rival, epoch=epoch, view=view, difference=difference)


def blind(planted: Planted, *, view: SampleView, kept: BooleanArray, resamples: int, seed: int) -> Blind | None:
    """Return the baseline that separates members from non-members without the model; None for too few texts."""
    part = part_column(planted.samples)
    judged = kept & np.isin(part, ("member", "nonmember"))
    samples = list(compress(planted.samples, judged))
    outcome = blind_baseline(
        text_column(samples),
        is_labelled(samples, MEMBER).tolist(),
        selected_groups(planted.samples, judged),
        resamples=resamples,
        seed=seed,
    )
    if outcome.ranking is None or outcome.kind is None:
        return None
    return Blind(view=view, kind=outcome.kind, auroc=outcome.ranking.auroc, separates=outcome.separates)


def selected_groups(samples: Sequence[Sample], chosen: BooleanArray) -> list[str | None]:
    """Return the group of each chosen sample; an interval treats a group as a unit."""
    return group_column(compress(samples, chosen))


def _threshold(
    detector: ComparedDetector, column: Float64Array, truths: BooleanArray, ties: Ties
) -> tuple[float | None, int]:
    """Return the detector's threshold, and the number of labelled texts that it or the detector was fitted on."""
    if detector.access == "labelled":
        return 0.0, len(truths)
    if detector.rule is not None:
        # values from the threshold on are called members: the next larger number leaves those equal to the rule out
        return detector.rule if ties == "inclusive" else float(np.nextafter(detector.rule, np.inf)), 0
    scored = ~np.isnan(column)
    labels = truths[scored]
    if labels.all() or not labels.any():
        return None, 0
    return best_threshold(column[scored], labels), int(scored.sum())
