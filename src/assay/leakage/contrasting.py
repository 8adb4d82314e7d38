"""Second step of an audit: the scores of the benchmark beside those of the unseen text and of the control."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import compress

import numpy as np

from assay.evaluation import (
    BlindBaseline,
    BlindFeatures,
    DensityRatio,
    FlagRate,
    benjamini_hochberg,
    blind_baseline,
    detectable_leak,
    exceeding,
    flag_rate,
    weighted_p_values,
    weighted_tail,
)
from assay.leakage.form_test import TESTED_SCORE, FormTest, form_test
from assay.leakage.measuring import MeasuredAudit
from assay.leakage.outlook import compared_blindly
from assay.leakage.results import Calibration, NegativeControl
from assay.leakage.texts import doses_of, groups_of, labels_of
from assay.leakage.unseen_test import Compared
from assay.leakage.verdict import COMPARED, unfit_score
from assay.leakage.weighting import weights_of
from assay.scores import SCORES, request
from assay.types import MEMBER, NONMEMBER, BooleanArray, Sample, texts_of

ALPHA = 0.05
"""Level at which single samples stand out."""
HALF = 0.5
"""Second level at which samples are flagged, for the lower bound of the seen share: Storey's usual threshold."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ComparedAudit:
    """The benchmark beside what it is compared with; nothing is decided yet.

    Attributes:
        measured: the scores.
        ratio: weights of the texts; None for equal ones.
        calibrations: score → p- and q-values, and what is flagged; empty without unseen text.
        compared: score → values and groups of both sides, for the scores that are tested.
        forms: score → its residual after the scores of a second model, where it was measured.
        blind: baseline that never sees the model; None where none was measured.
        blind_compares: the two sets of texts in words; "" where there are not two.
    """

    measured: MeasuredAudit
    ratio: DensityRatio | None
    calibrations: Mapping[str, Calibration]
    compared: Mapping[str, Compared]
    forms: Mapping[str, FormTest]
    blind: BlindBaseline | None
    blind_compares: str


def compare_scores(measured: MeasuredAudit) -> ComparedAudit:
    """Calibrate every score on the unseen text, and measure what the two sets of texts differ by without the model.

    Raises:
        AssayError: too few unseen texts, see `assay.evaluation.calibration` and `assay.leakage.weighting`.
    """
    inputs, unseen = measured.inputs, measured.unseen
    ratio = weights_of(measured, alpha=ALPHA)
    calibrations: dict[str, Calibration] = {}
    compared: dict[str, Compared] = {}
    # a calibration file has scores and no texts, so its scores lead
    for name, column in unseen.values.items():
        calibrations[name] = calibration_of(name, measured, ratio)
        # the permutation test has no weights: with weighted p-values the flags decide
        if ratio is None and is_tested(name, inputs.primary):
            compared[name] = Compared(
                values=measured.values[name],
                unseen=column,
                groups=measured.groups,
                unseen_groups=unseen.groups,
                same_form=inputs.comparison.same_form,
            )
    blind, blind_compares = blind_check(measured)
    inputs.begin(f"testing {inputs.benchmark} against unseen text")
    return ComparedAudit(
        measured=measured,
        ratio=ratio,
        calibrations=calibrations,
        compared=compared,
        forms=residuals_of(measured, compared),
        blind=blind,
        blind_compares=blind_compares,
    )


def is_tested(score: str, primary: str) -> bool:
    """Return True if the benchmark is tested by a score as a whole; for other scores the flags count.

    That is the score of the verdict, and every other one that may carry one, if it comes from token probabilities.
    """
    if score.partition(":")[0] not in SCORES:  # a fitted detector
        return False
    definition = request(score).definition
    return definition.access != "black" and (score == primary or "verdict" in definition.flags)


def calibration_of(name: str, measured: MeasuredAudit, ratio: DensityRatio | None) -> Calibration:
    """Return split-conformal p- and q-values of one score, weighted or not, and the flag rates that follow."""
    samples, groups, alpha = measured.inputs.samples, measured.groups, ALPHA
    column, unseen = measured.values[name], measured.unseen.values[name]
    p_values = weighted_p_values(column, unseen, ratio)
    references = np.sort(unseen[~np.isnan(unseen)])
    tail = weighted_tail(unseen, measured.unseen.groups, alpha=alpha, ratio=ratio)
    exceeded_by = exceeding(alpha, len(references))  # flagged: fewer than this many unseen reach it
    threshold = np.nan
    # weighted p-values of one score differ between samples, so no threshold holds for all
    if exceeded_by and ratio is None:
        # the next larger number: a sample that ties with the last unseen text has a p-value just above alpha
        threshold = float(np.nextafter(references[-exceeded_by], np.inf))

    def rate(chosen: BooleanArray) -> FlagRate:
        return flag_rate(p_values[chosen], alpha, groups=list(compress(groups, chosen)), unseen=tail)

    # rates by label and dose share the threshold of the unseen text, so they can be compared with each other
    labels, doses = labels_of(samples), doses_of(samples)
    by_label: dict[str, FlagRate] = {}
    by_dose: dict[int, FlagRate] = {}
    for label in {MEMBER, NONMEMBER}.intersection(labels.tolist()):
        by_label[label] = rate(labels == label)
    if doses is not None:
        for dose in np.unique(doses):
            by_dose[int(dose)] = rate(doses == dose)
    # counted anew: how groups vary at the median says nothing of how they vary in the tail
    half_tail = weighted_tail(unseen, measured.unseen.groups, alpha=HALF, ratio=ratio)
    return Calibration(
        source=measured.unseen.source,
        unseen=len(references),
        alpha=alpha,
        p_values=p_values,
        q_values=benjamini_hochberg(p_values),
        flagged=flag_rate(p_values, alpha, groups=groups, unseen=tail),
        threshold=threshold,
        false_positives=by_label.get(NONMEMBER),
        true_positives=by_label.get(MEMBER),
        by_dose=by_dose,
        flagged_at_half=flag_rate(p_values, HALF, groups=groups, unseen=half_tail),
        unseen_groups=tail.groups,
        detectable=detectable_leak(column, unseen, tail, alpha=alpha, groups=groups),
        control=_control_flags(name, measured, ratio),
    )


def _control_flags(name: str, measured: MeasuredAudit, ratio: DensityRatio | None) -> NegativeControl | None:
    """Return what the control flags by a score; beside the audited model where the score may carry the verdict."""
    if measured.control is None:
        return None
    inputs, unseen = measured.inputs, measured.unseen
    audited = None
    # the excess takes resamples, which only a score that may decide is worth
    if name == inputs.primary or unfit_score(name) is None:
        audited = measured.values[name], unseen.values[name]
    return measured.control.flags(
        name,
        ALPHA,
        groups=(measured.groups, unseen.groups),
        ratio=ratio,
        audited=audited,
        seed=inputs.decision.seed,
    )


def blind_check(measured: MeasuredAudit) -> tuple[BlindBaseline | None, str]:
    """Measure whether the two sets of texts that are compared can be separated without the model.

    Members and nonmembers where both are labelled, or samples of a dose and those of none; else the benchmark and the
    unseen text that calibrates it, since a calibration set of another kind calibrates nothing.
    """
    samples, calibration = measured.inputs.samples, measured.inputs.comparison.calibration
    draws = measured.inputs.decision.draws

    def baseline(texts: Sequence[Sample], positive: BooleanArray) -> BlindBaseline:
        return blind_baseline(texts_of(texts), positive, groups_of(texts), **draws)

    labels = labels_of(samples)
    # samples of other labels are left out: the baseline separates what the scores rank
    if {MEMBER, NONMEMBER} <= set(labels.tolist()):
        labelled = np.isin(labels, (MEMBER, NONMEMBER))
        return baseline(list(compress(samples, labelled)), labels[labelled] == MEMBER), "members and non-members"
    doses = doses_of(samples)
    if doses is not None:
        return baseline(samples, doses > 0), "seen and never-seen samples"
    if measured.fresh:
        beforehand = measured.inputs.comparison.blind
        return beforehand or compared_blindly(samples, measured.fresh, draws), COMPARED
    if calibration is None:
        return None, ""
    # not measured, which never counts as alike
    if calibration.features is None:
        return None, COMPARED
    features = BlindFeatures.of(texts_of(samples)).joined(calibration.features)
    groups = [*measured.groups, *measured.unseen.groups]
    return blind_baseline(features, np.arange(len(groups)) < len(samples), groups, **draws), COMPARED


def residuals_of(measured: MeasuredAudit, compared: Mapping[str, Compared]) -> dict[str, FormTest]:
    """Return the residual of the score that has placebos, where a second model scored texts of another form."""
    control, own = measured.control, compared.get(TESTED_SCORE)
    # against text of the same form nothing of the form is left to take off
    if control is None or own is None or own.same_form:
        return {}
    residual = form_test(
        scores=(own.values, own.unseen),
        second=(control.samples, control.unseen),
        texts=(measured.inputs.samples, measured.fresh),
        groups=(own.groups, own.unseen_groups),
        model=control.model,
        parent=control.is_parent,
    )
    if residual is None:
        return {}
    return {TESTED_SCORE: residual}
