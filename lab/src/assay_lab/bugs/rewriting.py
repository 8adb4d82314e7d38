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
from assay_lab.bugs.pairs import SamplePair
from assay_lab.bugs.preference import Preference, mean_of, preference


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
    bugs: list[int] = []
    kinds: list[int] = []
    for at, pair in enumerate(pairs):
        sides = [_rewritten(side, count, seed) for side in (pair.fixed, pair.buggy)]
        if all(sides):
            for side, rewritings in enumerate(sides):
                bugs += [at] * len(rewritings)
                kinds += [side] * len(rewritings)
                texts += rewritings
    scored = score_samples(_numbered(texts), plan, progress=progress).values[loss.name] if texts else np.empty(0)
    means = np.full((2, len(pairs)), np.nan)
    for side, at in sorted(set(zip(kinds, bugs, strict=True))):
        values = scored[(np.array(kinds) == side) & (np.array(bugs) == at)]
        if not np.isnan(values).all():
            means[side, at] = np.nanmean(values)
    fixed, buggy = original
    present = ~np.isnan(means).any(axis=0) & ~np.isnan(fixed) & ~np.isnan(buggy)
    groups = [pair.fixed.group for pair in pairs]

    def on_present(values: Float64Array) -> Float64Array:
        return np.where(present, values, np.nan)

    before, after = on_present(fixed - buggy), on_present(means[0] - means[1])
    return RewrittenPreference(
        int(present.sum()),
        len(pairs) - int(present.sum()),
        preference(before, groups),
        preference(after, groups),
        mean_of(before - after, groups),
        mean_of(on_present(fixed - means[0]), groups),
        mean_of(on_present(buggy - means[1]), groups),
    )


def _rewritten(side: Sample, count: int, seed: int) -> list[Sample]:
    language = side.language or "python"
    if language not in languages_with("variants") or not side.text.strip():
        return []
    return [
        replace(side, text=variant.text)
        for variant in variants(side.text, count, language=language, seed=seed).variants
    ]


def _numbered(samples: Sequence[Sample]) -> list[Sample]:
    return [replace(sample, id=f"{at}") for at, sample in enumerate(samples)]
