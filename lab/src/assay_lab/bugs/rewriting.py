"""Verified rewritings of both sides of a bug: memory of the text apart from knowledge of the code.

A rewriting has other names and does the same. A model that remembers the text of a fix loses its preference for it when
the names change; a model that knows which code is right keeps it. Only texts that parse on their own can be rewritten:
programs, functions and whole files, not hunks.

Source: the semantics-preserving variants of SrDetection.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from assay.code import variants
from assay.evaluation import Estimate
from assay.languages import languages_with
from assay.scores import loss
from assay.scoring import Plan, Progress, score_samples
from assay.types import Float64Array, Sample
from assay_lab.bugs.pairs import SamplePair, bug_groups
from assay_lab.bugs.preference import Preference, mean_of, preference
from assay_lab.bugs.scored import numbered


@dataclass(frozen=True, slots=True)
class RewrittenPreference:
    """Preference for the fix before and after both sides were rewritten, over the same bugs.

    Attributes:
        bugs: of which both sides could be rewritten and scored.
        left_out: all others.
        original: preference on the texts as they are.
        rewritten: mean preference over the rewritings of each bug.
        drop: original minus rewritten, nats a token: the part that depends on the names.
        fixed_gap: log-likelihood of a token of the fixed text minus the mean of its rewritings.
        buggy_gap: the same of the buggy text.
    """

    bugs: int
    left_out: int
    original: Preference
    rewritten: Preference
    drop: Estimate
    fixed_gap: Estimate
    buggy_gap: Estimate


def rewritten_preference(
    pairs: Sequence[SamplePair],
    original: tuple[Float64Array, Float64Array],
    plan: Plan,
    *,
    count: int,
    seed: int = 0,
    progress: Progress | None = None,
) -> RewrittenPreference:
    """Score verified rewritings of both sides of every bug.

    Args:
        pairs: [bugs].
        original: log-likelihoods of a token of the fixed and of the buggy texts, float64 [bugs] each.
        plan: of the model.
        count: rewritings of each side at most.
        seed: of the new names.
        progress: receives the texts that were scored.

    Raises:
        ModelError: the model cannot be run.
    """
    texts: list[Sample] = []
    places: list[tuple[int, int]] = []
    for at, pair in enumerate(pairs):
        sides = [_rewritten(side, count, seed) for side in (pair.fixed, pair.buggy)]
        if all(sides):
            for side, rewritings in enumerate(sides):
                places += [(side, at)] * len(rewritings)
                texts += rewritings
    scored = score_samples(numbered(texts), plan, progress=progress).values[loss.name] if texts else np.empty(0)
    side_of, bug_of = np.array(places, np.intp).reshape(-1, 2).T
    means = np.full((2, len(pairs)), np.nan)
    # a bug may have several rewritings of a side: their mean stands for the side
    for side, at in sorted(set(places)):
        values = scored[(side_of == side) & (bug_of == at)]
        if not np.isnan(values).all():
            means[side, at] = np.nanmean(values)
    fixed, buggy = original
    # every figure is of the same bugs: those with a value of both sides before and after
    present = ~np.isnan([fixed, buggy, *means]).any(axis=0)
    fixed, buggy, new_fixed, new_buggy = np.where(present, [fixed, buggy, *means], np.nan)
    groups = bug_groups(pairs)
    before, after = fixed - buggy, new_fixed - new_buggy
    return RewrittenPreference(
        bugs=int(present.sum()),
        left_out=len(pairs) - int(present.sum()),
        original=preference(before, groups),
        rewritten=preference(after, groups),
        drop=mean_of(before - after, groups),
        fixed_gap=mean_of(fixed - new_fixed, groups),
        buggy_gap=mean_of(buggy - new_buggy, groups),
    )


def _rewritten(side: Sample, count: int, seed: int) -> list[Sample]:
    language = side.language or "python"
    if language not in languages_with("variants") or not side.text.strip():
        return []
    rewritings = variants(side.text, count, language=language, seed=seed).variants
    return [replace(side, text=variant.text) for variant in rewritings]
