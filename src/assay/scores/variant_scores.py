"""Scores that compare a text with semantics-preserving rewritings of itself. Higher = member.

SrDetection (Li et al.): a model that has memorised a sample finds it easier than the same program under other names.
Notation: x_0 the sample, x_1 … x_n its variants, PPL(x) = exp(-mean l).
"""

from collections.abc import Sequence
from typing import Annotated

import numpy as np
from annotated_types import Interval
from numpy.typing import NDArray

from assay.errors import Unscorable
from assay.scores.definition import LogProbs, Statistics, Variants, score
from assay.scores.parameters import Count
from assay.scores.token_scores import LEAST_NLL, mean, mid_pit
from assay.types import TokenLogProbs

REACH = 24
"""Tokens that a replaced name may have; behind more, the search for what follows it ends."""
SR_DETECTION = "Li et al., SrDetection: A Self-Referential Framework for Data Leakage Detection in Code LLMs"


def variants_of(variants: Sequence[TokenLogProbs], n: int) -> Sequence[TokenLogProbs]:
    """Return the first n variants."""
    if len(variants) < n:
        raise Unscorable(f"fewer than {n} distinct variants")
    if not all(map(len, variants[:n])):
        raise Unscorable("a variant of fewer than 2 tokens")
    return variants[:n]


def variant_nll(variants: Sequence[TokenLogProbs], n: int) -> NDArray[np.float64]:
    """Return float64 [n], the NLL of each of the first n variants."""
    return -np.array([mean(variant.log_probs) for variant in variants_of(variants, n)])


def log_likelihood(text: TokenLogProbs) -> float:
    """Return the log-likelihood of a whole text, in nats."""
    return float(np.sum(text.log_probs, dtype=np.float64))


def rank_p_value(value: float, others: NDArray[np.float64]) -> float:
    """Return (1 + #{others at least as high}) / (n + 1): a p-value if the text is exchangeable with its variants."""
    # the text counts as one of the n + 1: if it is exchangeable with its variants, every rank is as likely
    return float((1 + np.count_nonzero(others >= value)) / (len(others) + 1))


def shared_tokens(first: NDArray[np.int32], second: NDArray[np.int32]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the positions in two token sequences of the tokens that they share, ascending on both sides.

    Linear: both are read side by side; where they differ (a name was replaced) the search goes to the nearest two
    tokens that agree again, at most `REACH` tokens ahead.
    """
    pairs = []
    i = j = 0
    while i < len(first) and j < len(second):
        # a renaming changes few tokens, so both texts agree nearly everywhere and the search below is rare
        if first[i] == second[j]:
            pairs.append((i, j))
            i, j = i + 1, j + 1
            continue
        ahead = _steps_ahead(first[i:], second[j:])
        if ahead is None:
            break
        i, j = i + ahead[0], j + ahead[1]
    left, right = np.array(pairs, np.int64).reshape(-1, 2).T
    return left, right


def _steps_ahead(first: NDArray[np.int32], second: NDArray[np.int32]) -> tuple[int, int] | None:
    """Return the steps in both texts to the nearest place where two tokens agree; None where none is within reach."""
    # by the sum of both steps, then by the step in the first text
    for total in range(1, 2 * REACH):
        for left in range(max(0, total - REACH), min(total, REACH, len(first) - 1) + 1):
            right = total - left
            # two tokens, as a single one such as a comma agrees by chance
            if np.array_equal(first[left : left + 2], second[right : right + 2]):
                return left, right
    return None


@score(
    title="SrDetection, gray-box",
    formula="min_i PPL(x_i) - PPL(x_0)",
    reference=SR_DETECTION,
    rule=0.0,
    flags={"verdict"},
)
def sr_gray(target: LogProbs, variants: Variants, *, n: Count = 10) -> float:
    """Return the perplexity of the easiest of n variants minus that of the text.

    The paper calls more than 0 a leak. That rule is not calibrated: with our names it flags 99 % of ordinary functions
    on a real model of 135 million parameters. Use it with unseen text only.
    """
    return float(np.exp(variant_nll(variants, n).min()) - np.exp(-mean(target.log_probs)))


@score(
    title="SrDetection, standardised",
    formula="(mean_i NLL(x_i) - NLL(x_0)) / std_i NLL(x_i)",
    reference=f"ours, after {SR_DETECTION}",
    flags={"ours", "verdict"},
)
def sr_z(target: LogProbs, variants: Variants, *, n: Count = 10) -> float:
    """Mean NLL of n variants minus the NLL of the text, in standard deviations of the variants."""
    # in units of the spread of its own variants, texts of any difficulty compare
    nll = variant_nll(variants, n)
    if n == 1 or not (spread := nll.std(ddof=1)) > 0:
        raise Unscorable("all variants are equally likely")
    return float((nll.mean() + mean(target.log_probs)) / spread)


@score(
    title="SrDetection, rank p-value",
    formula="-(1 + #{i : PPL(x_i) ≤ PPL(x_0)}) / (n + 1)",
    reference=f"ours, after {SR_DETECTION}",
    flags={"ours", "verdict", "rank"},
)
def sr_rank(target: LogProbs, variants: Variants, *, n: Count = 10) -> float:
    """Negated p-value of the text's rank among its n variants, by perplexity."""
    return -rank_p_value(mean(target.log_probs), -variant_nll(variants, n))


@score(
    title="SrDetection, shared tokens",
    formula="mean_i mean_{t in x_0 and x_i} (l_t(x_0) - l_t(x_i))",
    reference=f"ours, after {SR_DETECTION}",
    flags={"ours", "verdict"},
)
def sr_shared(target: LogProbs, variants: Variants, *, n: Count = 10) -> float:
    """Gain in log-probability, over n variants, of the tokens that no renaming touched."""
    differences = []
    for variant in variants_of(variants, n):
        own, shared = shared_tokens(target.token_ids, variant.token_ids)
        if not len(own):
            raise Unscorable("a variant shares no token with the text")
        differences.append(mean(target.log_probs[own].astype(np.float64) - variant.log_probs[shared]))
    return mean(np.array(differences))


def by_name(text: TokenLogProbs, variants: Sequence[TokenLogProbs]) -> list[list[int]]:
    """Return the variants that replace the same name, by their indices, in the order of the names in the text.

    They differ from the text first at the same token or at its neighbour, since new names may begin like the old one.
    """
    first = [_first_difference(text.token_ids, variant.token_ids) for variant in variants]
    groups: list[list[int]] = []
    # sorted by the place of the change, variants of one name stand side by side
    last = None
    for index in sorted(range(len(variants)), key=first.__getitem__):
        if last is not None and first[index] <= last + 1:
            groups[-1].append(index)
        else:
            groups.append([index])
        last = first[index]
    return groups


def least_of_names(text: TokenLogProbs, variants: Sequence[TokenLogProbs], values: Sequence[float]) -> float:
    """Return the mean over the names of the smallest value of a name's variants, given one value for each variant."""
    # the easiest of a name's variants counts: a synonym that is as natural shows that the name was not remembered
    array = np.array(values)
    return mean(np.array([array[group].min() for group in by_name(text, variants)]))


def _first_difference(first: NDArray[np.int32], second: NDArray[np.int32]) -> int:
    length = min(len(first), len(second))
    differing = np.flatnonzero(first[:length] != second[:length])
    return int(next(iter(differing), length))


@score(
    title="SrDetection, name by name",
    formula="mean_k min_{i in I_k} (L(x_0) - L(x_i)), L = Σ l, I_k the variants that replace name k",
    reference=f"ours, after {SR_DETECTION}",
    flags={"ours", "verdict"},
)
def sr_names(target: LogProbs, variants: Variants, *, n: Count = 10) -> float:
    """Log-likelihood ratio of the text and its easiest variant with another name, mean over the names.

    It is meant for variants that change one name each (`--rename one`). Where all names change at once, the text counts
    as one name.
    """
    gains = [log_likelihood(target) - log_likelihood(variant) for variant in variants_of(variants, n)]
    return least_of_names(target, variants[:n], gains)


@score(
    title="SrDetection, relative, name by name",
    formula="mean_k min_{i in I_k} log(L(x_i) / L(x_0)), L = Σ l, I_k the variants that replace name k",
    reference=f"ours, after {SR_DETECTION}",
    flags={"ours", "verdict", "naming"},
)
def sr_ratio(target: LogProbs, variants: Variants, *, n: Count = 10) -> float:
    """Logarithm of the factor by which another name makes the whole text less likely, mean over the names.

    A memorised text has little left to gain in nats, whatever its names; relative to its own log-likelihood another
    name costs much. Of each name the easiest variant counts, as in `sr_names`.
    """
    own = log_likelihood(target)
    if own > -LEAST_NLL:
        raise Unscorable("NLL of the text is zero")
    # a variant that is certain has no logarithm of its factor: it is taken for nearly certain
    factors = [np.log(min(log_likelihood(variant), -LEAST_NLL) / own) for variant in variants_of(variants, n)]
    return least_of_names(target, variants[:n], factors)


@score(title="Mid-PIT and names", formula="mid_pit + sr_names / nats", reference="ours", flags={"ours", "verdict"})
def sr_mid_pit(
    target: Statistics, variants: Variants, *, n: Count = 10, nats: Annotated[float, Interval(gt=0)] = 30.0
) -> float:
    """Familiarity of the text and preference for its own names: text in the form of planted text lacks the second."""
    return float(mid_pit.function(target) + sr_names.function(target, variants, n=n) / nats)
