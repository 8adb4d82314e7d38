"""Notes of an audit: the limits of its data, and what the rules of the papers call leaked."""

import math
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Literal

import numpy as np

from assay.evaluation import grouped_share, unseen_note
from assay.leakage.calibration_file import UnseenScores
from assay.leakage.summarising import groups_of
from assay.scoring import Plan
from assay.types import MEMBER, NONMEMBER, Float64Array, Sample

Ties = Literal["strict", "inclusive"]
LABELLED: Mapping[str, str] = {MEMBER: "members", NONMEMBER: "non-members"}
TWO_MODELS = (
    "this score needs two models and is not to be ranked against scores of one model. It shows "
    "leakage only where {model} is the audited model from before the suspected training, or one that cannot have seen "
    "the samples."
)


def calibration_notes(unseen: int, calibration: UnseenScores | None) -> list[str]:
    """Return the limits of the calibration: a small set, or a file without its text."""
    notes = [unseen_note(unseen)] if unseen else []
    if calibration and calibration.features is None:
        notes.append(
            "The calibration file is of an earlier version and holds no properties of its texts, so nothing shows "
            "whether they are like the benchmark: run `assay calibrate` again."
        )
    return [note for note in notes if note]


def group_notes(audited: Sequence[Sample], fresh: Sequence[Sample], calibration: UnseenScores | None) -> Iterator[str]:
    """Yield a note on each set of texts without groups."""
    consequence = (
        "have no groups, so each counts as independent. Where some are siblings, of one project, file or task, "
        "intervals are then too narrow, and the blind baseline may separate the texts by their siblings"
    )
    if all(sample.group is None for sample in audited):
        yield f"The samples {consequence}: name their column with --columns group=NAME."
    if fresh and all(sample.group is None for sample in fresh):
        yield f"The unseen texts {consequence}: name their column with --unseen-columns group=NAME."
    if calibration is not None and calibration.groups is None:
        yield f"The unseen texts of the calibration file {consequence}: use `assay calibrate --columns group=NAME`."


def one_class_note(samples: Sequence[Sample]) -> list[str]:
    """Return a note where all labels are the same, so that nothing can be ranked."""
    labels = [sample.label for sample in samples if sample.label in (MEMBER, NONMEMBER)]
    if len(set(labels)) != 1:
        return []
    return [f"All {len(labels)} labelled samples are {labels[0]}s; AUROC and TPR need both classes."]


def tier_notes(plan: Plan) -> list[str]:
    """Return a note for each score of two models."""
    names = [request.name for request in plan.requests if request.definition.access == "two models"]
    return [f"{name}: {TWO_MODELS.format(model=plan.models['reference'].name)}" for name in names]


NAMES_NOTE = (
    " Its rate on unseen text depends on the model and on the names of the variants: on a real model of 135 million"
    " parameters it flagged 99 % of ordinary functions."
)
"""Printed wherever the rule of a score over variants is applied: users must not take its rate for a leak."""


def rule_notes(
    plan: Plan,
    samples: Sequence[Sample],
    values: Mapping[str, Float64Array],
    unseen: Mapping[str, Float64Array],
    *,
    ties: Ties = "strict",
    fresh: Sequence[Sample] = (),
) -> list[str]:
    """Return what the rule of a score's own paper calls leaked, in the samples and where nothing can have leaked."""
    labels = np.array([sample.label or "" for sample in samples])
    notes = []
    for request in plan.requests:
        rule = request.definition.rule
        if rule is None:
            continue
        column, groups = values[request.name], groups_of(samples)
        parts = {
            words: (column[labels == label], [g for g, own in zip(groups, labels, strict=True) if own == label])
            for label, words in LABELLED.items()
            if label in labels
        }
        parts = parts or {"samples": (column, groups)}
        if unseen:
            scores = unseen[request.name]
            parts["unseen texts"] = (scores, groups_of(fresh, "unseen") if fresh else [None] * len(scores))
        shares = ", ".join(f"{share_above(rule, *part, ties)} {words}" for words, part in parts.items())
        chance = (
            f"; if names meant nothing it would be {100 / (request.variants + 1):.0f} %" if request.variants else ""
        )
        unmeasured = "" if len(parts) > 1 else " On text never seen it may call as many: measure that with --unseen."
        names_note = NAMES_NOTE if request.variants and request.definition.access == "gray" else ""
        notes.append(
            f"{request.name}: the rule of its paper, a value {'above' if ties == 'strict' else 'of at least'} "
            f"{rule:g}, calls leaked {shares}{chance}. That rule is not calibrated.{names_note}"
            f"{ties_note(rule, [part for part, _ in parts.values()], ties)}{unmeasured}"
        )
    return notes


def ties_note(rule: float, columns: Iterable[Float64Array], ties: Ties) -> str:
    """Return a note on the samples that equal their best variant, common where a model reproduces nothing of either."""
    equal = sum(int((column == rule).sum()) for column in columns)
    how = "not counted" if ties == "strict" else "counted"
    return f" {equal} equal their best variant and are {how}." if equal else ""


def share_above(rule: float, column: Float64Array, groups: Sequence[Hashable], ties: Ties) -> str:
    """The share of the scorable values that exceeds the rule: `45 % [40, 50; 31 groups] of 394`."""
    scored = ~np.isnan(column)
    above = column[scored] > rule if ties == "strict" else column[scored] >= rule
    share = grouped_share(above, [group for group, counts in zip(groups, scored, strict=True) if counts])
    if math.isnan(share.value):
        return "none of 0"
    ends = f"{100 * share.low:.0f}, {100 * share.high:.0f}; {share.support}" if share.has_interval else share.reason
    return f"{100 * share.value:.0f} % [{ends}] of {len(above)}"
