"""Notes of an audit: the limits of its data, and what the rules of the papers call leaked."""

import math
from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from itertools import compress

import numpy as np

from assay.evaluation import grouped_share, unseen_note
from assay.leakage.contrasting import ComparedAudit
from assay.leakage.inputs import Ties
from assay.leakage.measuring import MeasuredAudit
from assay.leakage.naturalness import naturalness_notes
from assay.leakage.texts import labels_of
from assay.leakage.weighting import weights_note
from assay.scores import ScoreRequest
from assay.types import MEMBER, NONMEMBER, Float64Array, Sample

LABELLED: Mapping[str, str] = {MEMBER: "members", NONMEMBER: "non-members"}
TWO_MODELS = (
    "this score needs two models and is not to be ranked against scores of one model. It shows "
    "leakage only where {model} is the audited model from before the suspected training, or one that cannot have seen "
    "the samples."
)
SAME_FORM = (
    "The unseen text counts as text of the same form. That is exact if it was drawn at random from the same tasks; "
    "where it was written later, it supposes that it is alike."
)
COVERED_GROUPS = (
    "There is unseen text of the groups of the benchmark, so no allowance was made for projects that the model knows "
    "from other texts."
)
NO_FEATURES = (
    "The calibration file is of an earlier version and holds no properties of its texts, so nothing shows "
    "whether they are like the benchmark: run `assay calibrate` again."
)
WITHOUT_GROUPS = (
    "have no groups, so each counts as independent. Where some are siblings, of one project, file or task, "
    "intervals are then too narrow, and the blind baseline may separate the texts by their siblings"
)
NAMES_NOTE = (
    " Its rate on unseen text depends on the model and on the names of the variants: on a real model of 135 million"
    " parameters it flagged 99 % of ordinary functions."
)
"""Printed wherever the rule of a score over variants is applied: users must not take its rate for a leak."""


def notes_of(compared: ComparedAudit) -> Iterator[str]:
    """Yield what a reader needs to know of the data of an audit, in the order of its steps."""
    measured, inputs = compared.measured, compared.measured.inputs
    unseen = measured.unseen
    yield from inputs.labels.notes
    yield from _label_notes(measured)
    yield from _score_notes(measured)
    yield from rule_notes(measured)
    if unseen.values:
        yield from naturalness_notes(inputs.plan, unseen.values, unseen.groups)
    yield from measured.overlap
    if measured.control is not None and measured.control.note:
        yield measured.control.note
    own = compared.compared.get(inputs.primary)
    # said because the missing allowance makes the test sharper than usual
    if own is not None and own.is_covered:
        yield SAME_FORM if own.same_form else COVERED_GROUPS
    yield from weights_note(inputs.decision.weights, compared.ratio)
    if unseen.values:
        yield from filter(None, [unseen_note(len(unseen.values[inputs.primary]))])
    calibration = inputs.comparison.calibration
    if calibration and calibration.features is None:
        yield NO_FEATURES
    if unseen.values:
        yield from _group_notes(measured)


def _label_notes(measured: MeasuredAudit) -> Iterator[str]:
    """Yield a note where all labels are the same, so that nothing can be ranked."""
    counts = Counter(filter(LABELLED.__contains__, labels_of(measured.inputs.samples).tolist()))
    if len(counts) == 1:
        ((label, count),) = counts.items()
        yield f"All {count} labelled samples are {label}s; AUROC and TPR need both classes."


def _score_notes(measured: MeasuredAudit) -> Iterator[str]:
    """Yield a note for each score of two models."""
    plan = measured.inputs.plan
    for entry in plan.requests:
        if entry.definition.access == "two models":
            yield f"{entry.name}: {TWO_MODELS.format(model=plan.models['reference'].name)}"


def _group_notes(measured: MeasuredAudit) -> Iterator[str]:
    """Yield a note on each set of texts without groups."""
    inputs, fresh = measured.inputs, measured.fresh
    calibration = inputs.comparison.calibration
    if _without_groups(inputs.samples):
        yield f"The samples {WITHOUT_GROUPS}: name their column with --columns group=NAME."
    if fresh and _without_groups(fresh):
        yield f"The unseen texts {WITHOUT_GROUPS}: name their column with --unseen-columns group=NAME."
    if calibration is not None and calibration.groups is None:
        yield f"The unseen texts of the calibration file {WITHOUT_GROUPS}: use `assay calibrate --columns group=NAME`."


def _without_groups(samples: Sequence[Sample]) -> bool:
    return all(sample.group is None for sample in samples)


def rule_notes(measured: MeasuredAudit) -> Iterator[str]:
    """Yield what the rule of a score's own paper calls leaked, in the samples and where nothing can have leaked."""
    for entry in measured.inputs.plan.requests:
        if entry.definition.rule is not None:
            yield _rule_note(entry, entry.definition.rule, measured)


def _rule_note(entry: ScoreRequest, rule: float, measured: MeasuredAudit) -> str:
    ties, sides = measured.inputs.decision.ties, _sides(entry.name, measured)
    shares = ", ".join(f"{share_above(rule, *side, ties)} {words}" for words, side in sides.items())
    sign, counted = ("above", "not counted") if ties == "strict" else ("of at least", "counted")
    sentences = [f"{entry.name}: the rule of its paper, a value {sign} {rule:g}, calls leaked {shares}"]
    # an original among n variants comes first by chance in one of n + 1 cases
    if entry.variants:
        sentences.append(f"; if names meant nothing it would be {100 / (entry.variants + 1):.0f} %")
    sentences.append(". That rule is not calibrated.")
    if entry.variants and entry.definition.access == "gray":
        sentences.append(NAMES_NOTE)
    # common where a model reproduces nothing of either
    equal = sum(int((column == rule).sum()) for column, _ in sides.values())
    if equal:
        sentences.append(f" {equal} equal their best variant and are {counted}.")
    if len(sides) == 1:
        sentences.append(" On text never seen it may call as many: measure that with --unseen.")
    return "".join(sentences)


def _sides(score: str, measured: MeasuredAudit) -> dict[str, tuple[Float64Array, Sequence[Hashable]]]:
    """Return sets of texts in words → values of a score and groups: by label, and of unseen text."""
    labels = labels_of(measured.inputs.samples)
    column, groups = measured.values[score], measured.groups
    sides: dict[str, tuple[Float64Array, Sequence[Hashable]]] = {}
    for label, words in LABELLED.items():
        own = labels == label
        if own.any():
            sides[words] = column[own], list(compress(groups, own))
    sides = sides or {"samples": (column, groups)}
    if measured.unseen.values:
        scores = measured.unseen.values[score]
        sides["unseen texts"] = scores, [None] * len(scores)
        # the groups of a calibration file count for no interval of a paper's rule
        if measured.fresh:
            sides["unseen texts"] = scores, measured.unseen.groups
    return sides


def share_above(rule: float, column: Float64Array, groups: Sequence[Hashable], ties: Ties) -> str:
    """The share of the scorable values that exceeds the rule: `45 % [40, 50; 31 groups] of 394`."""
    scored = ~np.isnan(column)
    above = column[scored] >= rule
    # SrDetection's equations are strict, its Algorithm 1 counts ties
    if ties == "strict":
        above = column[scored] > rule
    share = grouped_share(above, list(compress(groups, scored)))
    if math.isnan(share.value):
        return "none of 0"
    ends = share.reason
    if share.has_interval:
        ends = f"{100 * share.low:.0f}, {100 * share.high:.0f}; {share.support}"
    return f"{100 * share.value:.0f} % [{ends}] of {len(above)}"
