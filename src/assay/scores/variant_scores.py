"""Scores that compare a text with semantics-preserving rewritings of itself. Higher = member.

SrDetection (Li et al.): whoever learnt a sample by heart finds it easier than the same program under other names.
Notation: x_0 the sample, x_1 … x_n its variants, PPL(x) = exp(-mean l).
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from assay.errors import ScoreError, Unscorable
from assay.scores.definition import LogProbs, Variants, score
from assay.scores.token_scores import mean
from assay.types import TokenLogProbs

SR_DETECTION = "Li et al., SrDetection: A Self-Referential Framework for Data Leakage Detection in Code LLMs"


def variant_nll(variants: Sequence[TokenLogProbs], n: int) -> NDArray[np.float64]:
    """float64 [n], NLL of each of the first n variants."""
    if n < 1:
        raise ScoreError(f"n = {n}: expected at least 1 variant")
    if len(variants) < n:
        raise Unscorable(f"fewer than {n} distinct variants")
    if not all(len(one) for one in variants[:n]):
        raise Unscorable("a variant of fewer than 2 tokens")
    return np.array([-mean(one.log_probs) for one in variants[:n]])


@score(
    title="SrDetection, gray-box",
    formula="min_i PPL(x_i) - PPL(x_0)",
    reference=SR_DETECTION,
    rule=0.0,
)
def sr_gray(target: LogProbs, variants: Variants, *, n: int = 10) -> float:
    """How much easier the text is than the easiest of its n variants; the paper calls more than 0 a leak."""
    return float(np.exp(variant_nll(variants, n).min()) - np.exp(-mean(target.log_probs)))


@score(
    title="SrDetection, standardised",
    formula="(mean_i NLL(x_i) - NLL(x_0)) / std_i NLL(x_i)",
    reference=f"ours, after {SR_DETECTION}",
)
def sr_z(target: LogProbs, variants: Variants, *, n: int = 10) -> float:
    """How many standard deviations of its n variants the text is easier than their mean."""
    nll = variant_nll(variants, n)
    if n == 1 or not (spread := nll.std(ddof=1)) > 0:
        raise Unscorable("all variants are equally likely")
    return float((nll.mean() + mean(target.log_probs)) / spread)
