"""Scores of one text under one model. Notation: l log-probability, r rank, H entropy, V variance, u tail mass.

Every value is oriented: higher = member (or written by a model). Means are over all n scored tokens.
"""

import zlib as compression
from typing import Annotated, Literal

import numpy as np
from annotated_types import Interval
from numpy.typing import NDArray

from assay.errors import Unscorable
from assay.scores.definition import (
    LogProbs,
    LowercasedLogProbs,
    RankedTokens,
    ReferenceLogProbs,
    Statistics,
    Text,
    score,
)
from assay.scores.frequency import FrequencyTable
from assay.scores.parameters import Count, Share
from assay.types import TokenLogProbs, TokenStatistics

VARIANCE_FLOOR = 1e-6
TAIL_MASS_FLOOR = 1e-6


def mean(values: NDArray[np.number | np.bool_]) -> float:
    """Return the arithmetic mean in float64."""
    return float(np.mean(values, dtype=np.float64))


def mean_of_lowest(values: NDArray[np.float64], k: float) -> float:
    """Return the mean of the lowest max(1, floor(k n)) values, 0 < k ≤ 1."""
    count = max(1, int(k * len(values)))
    # a partition finds the lowest values without sorting the rest
    return mean(np.partition(values, count - 1)[:count])


def floored_tokens(target: TokenStatistics) -> int:
    """Count the tokens whose variance is below the floor: the model was certain there."""
    return int(np.count_nonzero(target.variance < VARIANCE_FLOOR))


def deviation(target: TokenStatistics) -> NDArray[np.float64]:
    """Return float64 [n], sqrt(V_t) with the floor; unscorable where every token is below it."""
    if floored_tokens(target) == len(target):
        raise Unscorable("saturated: the distribution at every token is certain")
    # where the model is certain, V is 0 and any surprise would count without bound
    return np.sqrt(np.maximum(target.variance.astype(np.float64), VARIANCE_FLOOR))


@score(
    title="LOSS, log-likelihood",
    formula="mean l",
    reference="Yeom et al. 2018, arXiv:1709.01604",
    flags={"demo", "weights"},
    aliases=("log_likelihood",),
)
def loss(target: LogProbs) -> float:
    """Mean log-probability: text that was trained on is likelier."""
    return mean(target.log_probs)


@score(
    title="Perplexity",
    formula="-exp(-mean l)",
    reference="Li 2023, arXiv:2309.10677; dataset mean as Kernel Divergence Score, Eq. 8",
)
def perplexity(target: LogProbs) -> float:
    """Negated perplexity; over a data set, the arithmetic mean of the samples' values."""
    with np.errstate(over="ignore"):  # an infinite perplexity is unscorable, and is reported as that
        return -float(np.exp(-np.float64(mean(target.log_probs))))


@score(
    title="zlib ratio",
    formula="mean l / bytes(zlib(text))",
    reference="Carlini et al. 2021, arXiv:2012.07805",
    flags={"demo", "weights"},
)
def zlib(target: LogProbs, text: Text) -> float:
    """Log-likelihood relative to the size of the text under a compressor, which never saw the training data."""
    return mean(target.log_probs) / len(compression.compress(text.encode("utf-8", "surrogatepass")))


@score(
    title="Min-K%",
    formula="mean of the lowest max(1, ⌊k n⌋) l",
    reference="Shi et al. 2024, arXiv:2310.16789",
    flags={"demo", "weights"},
)
def min_k(target: LogProbs, *, k: Share = 0.2) -> float:
    """Mean log-probability of the least likely tokens: unseen text has outliers, seen text fewer."""
    return mean_of_lowest(target.log_probs.astype(np.float64), k)


@score(
    title="Min-K%++",
    formula="mean of the lowest max(1, ⌊k n⌋) (l + H) / √V",
    reference="Zhang et al. 2025, arXiv:2404.02936",
    counts={"tokens with floored variance": floored_tokens},
    flags={"verdict", "demo", "weights"},
)
def min_k_plus_plus(target: Statistics, *, k: Share = 0.2) -> float:
    """Min-K% over log-probabilities standardised by the model's own distribution at each token."""
    z = (target.log_probs.astype(np.float64) + target.entropy) / deviation(target)
    return mean_of_lowest(z, k)


@score(
    title="DC-PDD",
    formula="mean over first occurrences of min(p · ln(1/f), a)",
    reference="Zhang et al. 2024, arXiv:2409.14781",
)
def dc_pdd(target: LogProbs, frequencies: FrequencyTable, *, a: Annotated[float, Interval(gt=0)] = 0.01) -> float:
    """Token probability against the token's frequency in a reference corpus, rare tokens counting more."""
    # np.unique returns the place of the first occurrence, the only one that counts
    ids, first = np.unique(target.token_ids, return_index=True)
    probability = np.exp(target.log_probs[first].astype(np.float64))
    return mean(np.minimum(probability * frequencies.surprise[ids], a))


def even_starts(length: int, n: int, stride: int) -> NDArray[np.int64]:
    """Return five evenly spaced starts of runs of n in every `stride` of `length` tokens, ascending, each once."""
    blocks = [np.arange(begin, min(begin + stride, length)) for begin in range(0, length, stride)]
    chosen = [block[np.linspace(0, len(block) - n, 5).round().astype(int)] for block in blocks if len(block) >= n]
    return np.unique(np.concatenate(chosen)) if chosen else np.zeros(0, np.int64)


@score(
    title="n-gram accuracy",
    formula="share of starts where the next n ranks are all 1",
    reference="Xu et al. 2024, arXiv:2404.18824",
)
def ngram_accuracy(
    target: RankedTokens, *, n: Count = 5, starts: Literal["all", "paper"] = "all", stride: Count = 512
) -> float:
    """Share of start positions from which greedy decoding would reproduce the next n tokens exactly.

    One teacher-forced pass decides it: greedy decoding reproduces a run exactly when every rank in it is 1.
    `starts="paper"` takes five evenly spaced starts per `stride` tokens instead of every position.
    """
    if len(target) < n:
        raise Unscorable(f"fewer than {n} scored tokens")
    # a run of n ranks of 1 is a sum of n in a window: one convolution tests every start
    hits = np.convolve(target.ranks == 1, np.ones(n, np.int64), "valid") == n
    if starts == "all":
        return mean(hits)
    return mean(hits[even_starts(len(target), n, stride)])


@score(title="Rank", formula="-mean r", reference="Gehrmann et al. 2019, arXiv:1906.04043")
def rank(target: RankedTokens) -> float:
    """Negated mean rank of the true token."""
    return -mean(target.ranks)


@score(title="Log-rank", formula="-mean ln r", reference="Mitchell et al. 2023, arXiv:2301.11305", flags={"weights"})
def log_rank(target: RankedTokens) -> float:
    """Negated mean log-rank of the true token."""
    return -mean(np.log(target.ranks))


@score(title="Entropy", formula="-mean H", reference="Gehrmann et al. 2019, arXiv:1906.04043", flags={"weights"})
def entropy(target: Statistics) -> float:
    """Negated mean entropy of the predictions: a model is more certain on text that it was trained on."""
    return -mean(target.entropy)


@score(title="LRR", formula="-(mean l) / (mean ln r)", reference="Su et al. 2023, arXiv:2306.05540")
def lrr(target: RankedTokens) -> float:
    """Log-likelihood log-rank ratio."""
    log_ranks = mean(np.log(target.ranks))
    if log_ranks == 0:
        raise Unscorable("every rank is 1")
    return -mean(target.log_probs) / log_ranks


@score(
    title="Mid-PIT",
    formula="mean ln max(u, 10⁻⁶)",
    reference="assay; the mid probability-integral transform of each prediction",
    flags={"ours", "headline", "verdict", "demo", "weights"},
)
def mid_pit(target: Statistics) -> float:
    """Mean log tail mass: how much of the model's distribution lies below the true token."""
    return mean(np.log(np.maximum(target.tail_mass.astype(np.float64), TAIL_MASS_FLOOR)))


@score(
    title="Gap-K%",
    formula="mean of the lowest max(1, ⌊k n'⌋) moving averages of (l - l_max) / √V",
    reference="Gap-K% 2026, arXiv:2601.19936",
    counts={"tokens with floored variance": floored_tokens},
    flags={"demo", "weights"},
)
def gap_k(target: Statistics, *, k: Share = 0.2, window: Count = 3) -> float:
    """Distance of the true token from the most likely one, smoothed over neighbouring tokens."""
    if len(target) < window:
        raise Unscorable(f"fewer than {window} scored tokens")
    # the most likely token has the gap 0, so a sure and right prediction costs nothing
    gap = (target.log_probs.astype(np.float64) - target.top_log_probs) / deviation(target)
    return mean_of_lowest(np.convolve(gap, np.full(window, 1 / window), "valid"), k)


@score(
    title="Fast-DetectGPT (analytic)",
    formula="(Σ l + Σ H) / √(Σ V)",
    reference="Bao et al. 2024, arXiv:2310.05130",
)
def fast_detect_gpt(target: Statistics) -> float:
    """Log-likelihood of the text against what the model expects of its own samples, in standard deviations."""
    spread = float(np.sum(target.variance, dtype=np.float64))
    if spread <= 0:
        raise Unscorable("saturated: the distribution at every token is certain")
    # log-probability minus its expectation, which is the negated entropy
    excess = np.sum(target.log_probs, dtype=np.float64) + np.sum(target.entropy, dtype=np.float64)
    return float(excess / np.sqrt(spread))


# Scores that compare two forms of a text, or two models. Higher = member.

LEAST_NLL = 1e-10


@score(
    title="Lower-case ratio",
    formula="NLL(lower(x)) / NLL(x)",
    reference="Carlini et al. 2021, arXiv:2012.07805",
    flags={"demo"},
)
def lowercase(target: LogProbs, lowercased: LowercasedLogProbs) -> float:
    """NLL of the lower-cased text relative to that of the text: seen text loses more."""
    nll = -mean(target.log_probs)
    # a text that the model is sure of has no ratio
    if nll < LEAST_NLL:
        raise Unscorable("NLL of the text is zero")
    return -mean(lowercased.log_probs) / nll


@score(
    title="Reference model",
    formula="mean l_target - mean l_reference",
    reference="Carlini et al. 2021, arXiv:2012.07805",
    flags={"verdict"},
)
def reference(target: LogProbs, reference: ReferenceLogProbs) -> float:
    """Log-likelihood against that of a second model which has not seen the text."""
    return mean(target.log_probs) - mean(reference.log_probs)


WINDOWS = (2, 3, 4, 6, 9, 13, 18, 25, 32, 40)
"""Lengths in the authors' configuration (configs/example.yaml)."""

LEAST_ERRORS = 2
"""Tokens that the model predicts wrongly; with fewer the authors' program gives no ratio."""


@score(
    title="WBC, window-based comparison",
    formula="mean over windows w of the share of runs of w tokens with Σ l_target > Σ l_reference",
    reference="Chen et al. 2026, arXiv:2601.02751",
)
def wbc(target: LogProbs, reference: ReferenceLogProbs) -> float:
    """Share of windows in which the text is likelier than under the model from before the training, by sign alone.

    A text shorter than a window is one window.
    """
    gain = _gain(target, reference)
    # a window of ones is a running sum
    sums = [np.convolve(gain, np.ones(min(window, len(gain))), "valid") for window in WINDOWS]
    return mean(np.array([mean(values > 0) for values in sums]))


@score(
    title="EZ-MIA, error zone",
    formula="P / (P + N): sums of the rises and falls of l against the reference, where the likeliest token is wrong",
    reference="Ilić et al. 2026, arXiv:2601.12104",
)
def ez_mia(target: RankedTokens, reference: ReferenceLogProbs) -> float:
    """Share of the change by training that went upward, over tokens that the model still predicts wrongly.

    The paper's value is P / N, which orders texts in the same way and has no value where N is 0. The first token does
    not count, and where nothing changed the value is 1/2.
    """
    # as in the authors' program, the first token does not count
    gain = _gain(target, reference)[1:][target.ranks[1:] > 1]
    if len(gain) < LEAST_ERRORS:
        raise Unscorable(f"fewer than {LEAST_ERRORS} tokens are predicted wrongly")
    moved = float(np.abs(gain).sum())
    return float(gain[gain > 0].sum()) / moved if moved else 0.5


def _gain(target: TokenLogProbs, reference: TokenLogProbs) -> NDArray[np.float64]:
    """Return l_target - l_reference, float64 [n]; unscorable where the models read other tokens."""
    if not np.array_equal(target.token_ids, reference.token_ids):
        raise Unscorable("the two models read the text as different tokens")
    gain: NDArray[np.float64] = target.log_probs.astype(np.float64) - reference.log_probs
    return gain
