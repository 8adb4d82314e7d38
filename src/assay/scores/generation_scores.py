"""Scores of a black-box model: its continuation, compared with the text itself. Higher = member.

Notation: x_0 the sample, x_1 … x_n its variants; NGO(x) the share of the true suffix's N-grams that are
generated.
"""

from collections.abc import Hashable, Sequence
from typing import Annotated, Literal

import numpy as np
from annotated_types import Interval
from numpy.typing import NDArray

from assay.errors import Unscorable
from assay.scores.continuation import Continuation, StartsCut, SuffixCut, SuffixUnits
from assay.scores.definition import Continuations, VariantContinuations, score
from assay.scores.parameters import Count
from assay.scores.variant_scores import SR_DETECTION, rank_p_value

CutPlace = Literal["line", "token"]


def n_grams(units: Sequence[Hashable], n: int) -> set[tuple[Hashable, ...]]:
    """Return the set of all runs of n units."""
    return {tuple(units[start : start + n]) for start in range(len(units) - n + 1)}


def n_gram_overlap(continuation: Continuation, n: int) -> float:
    """Return NGO = |G(generated) ∩ G(true)| / |G(true)|, G the set of n-grams.

    Raises:
        Unscorable: the true suffix has fewer than n units.
    """
    true = n_grams(continuation.truth, n)
    if not true:
        raise Unscorable(f"a suffix of fewer than {n} tokens")
    # sets, as in the paper: a repeated n-gram counts once, wherever it stands
    return len(true & n_grams(continuation.generated, n)) / len(true)


def overlaps(
    own: Sequence[Continuation], variants: Sequence[Sequence[Continuation]], *, n: int, ngram: int
) -> tuple[float, NDArray[np.float64]]:
    """Return the NGO of the text, and float64 [n], of its first n variants."""
    if len(variants) < n:
        raise Unscorable(f"fewer than {n} distinct variants")
    return n_gram_overlap(own[0], ngram), np.array(
        [n_gram_overlap(continuations[0], ngram) for continuations in variants[:n]]
    )


def suffix_cut(*, prefix: float, at: CutPlace, units: SuffixUnits, **_: object) -> SuffixCut:
    """Return the cut of SrDetection's parameters."""
    return SuffixCut(prefix, at, units)


def starts_cut(*, n: int, stride: int) -> StartsCut:
    """Return the cut of the n-gram accuracy's parameters."""
    return StartsCut(n, stride)


@score(
    title="SrDetection, black-box",
    formula="NGO(x_0) - max_i NGO(x_i)",
    reference=SR_DETECTION,
    rule=0.0,
    cut=suffix_cut,
    flags={"headline", "verdict"},
)
def sr_black(
    own: Continuations,
    variants: VariantContinuations,
    *,
    n: Count = 10,
    ngram: Count = 7,
    prefix: Annotated[float, Interval(gt=0, lt=1)] = 0.5,  # noqa: ARG001  of the cut
    at: CutPlace = "line",  # noqa: ARG001  of the cut
    units: SuffixUnits = "lexical",  # noqa: ARG001  of the cut
) -> float:
    """Reproduced share of the second half, above that of every variant; the paper calls more than 0 a leak."""
    original, others = overlaps(own, variants, n=n, ngram=ngram)
    return float(original - others.max())


@score(
    title="SrDetection, black-box, rank p-value",
    formula="-(1 + #{i : NGO(x_i) ≥ NGO(x_0)}) / (n + 1)",
    reference=f"ours, after {SR_DETECTION}",
    cut=suffix_cut,
    flags={"ours", "verdict"},
)
def sr_black_rank(
    own: Continuations,
    variants: VariantContinuations,
    *,
    n: Count = 10,
    ngram: Count = 7,
    prefix: Annotated[float, Interval(gt=0, lt=1)] = 0.5,  # noqa: ARG001  of the cut
    at: CutPlace = "line",  # noqa: ARG001  of the cut
    units: SuffixUnits = "lexical",  # noqa: ARG001  of the cut
) -> float:
    """Negated p-value of the text's rank among its n variants, by the reproduced share of the second half."""
    original, others = overlaps(own, variants, n=n, ngram=ngram)
    return -rank_p_value(original, others)


@score(
    title="n-gram accuracy by generation",
    formula="share of starts from which the next n tokens are written",
    reference="Xu et al. 2024, arXiv:2404.18824",
    cut=starts_cut,
    flags={"default"},
)
def ngram_generation(own: Continuations, *, n: Count = 5, stride: Count = 512) -> float:  # noqa: ARG001  of the cut
    """Share of five evenly spaced starts from which the model generates the next n tokens exactly."""
    if not own or any(len(continuation.truth) < n for continuation in own):
        raise Unscorable(f"fewer than {n} scored tokens")
    return float(np.mean([continuation.generated[:n] == continuation.truth for continuation in own]))
