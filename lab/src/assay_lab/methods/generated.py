"""Scores of machine-written text that need more than one pass of one model. Higher = generated.

Notation: x the text, x̃_1 … x̃_n what was derived from it, l log-probability, r rank, H entropy.
"""

from collections.abc import Sequence
from typing import Annotated

import numpy as np
from annotated_types import Interval
from numpy.typing import NDArray

from assay.errors import Unscorable
from assay.scores import GENERATED, Count, Statistics, mean, score
from assay.types import TokenLogProbs, TokenStatistics
from assay_lab.columns import attributes
from assay_lab.methods.derivations import (
    PairStatistics,
    Restorations,
    RevisionSimilarities,
    SpanCopies,
    StyleCopies,
    TaskStatistics,
)

LEAST_COPIES = 2
"""Copies below which a standard deviation means nothing."""


def check_derived(derived: Sequence[object], least: int = 1) -> None:
    """Check that enough derivations were made.

    Raises:
        Unscorable: fewer could be made.
    """
    if len(derived) < least:
        raise Unscorable(f"{len(derived)} could be made of the text, expected at least {least}")


def mean_log_prob(text: TokenLogProbs) -> float:
    """Return the mean log-probability of a derived text.

    Raises:
        Unscorable: it has no scored token.
    """
    if not len(text):
        raise Unscorable("a derived text of fewer than 2 tokens")
    return mean(text.log_probs)


def log_rank_ratio(target: TokenStatistics, copies: Sequence[TokenStatistics]) -> float:
    """Return the mean log-rank of perturbed copies over that of the text.

    Raises:
        Unscorable: every token of the text is ranked first, or a copy has no scored token.
    """
    own = mean(np.log(target.ranks))
    if own == 0:
        raise Unscorable("every token is ranked first")
    if not all(map(len, copies)):
        raise Unscorable("a derived text of fewer than 2 tokens")
    perturbed: NDArray[np.float64] = np.array([mean(np.log(copy.ranks)) for copy in copies])
    return float(perturbed.mean()) / own


@score(
    title="DetectGPT",
    formula="(mean l(x) - mean_i mean l(x̃_i)) / std_i mean l(x̃_i)",
    reference="Mitchell et al. 2023, arXiv:2301.11305; with a filler and a surrogate of code, Yang et al. 2023, "
    "arXiv:2310.05103",
    positive=GENERATED,
    aliases=("detect_gpt4code",),
)
def detect_gpt(target: Statistics, copies: SpanCopies, *, n: Annotated[int, Interval(ge=LEAST_COPIES)] = 10) -> float:  # noqa: ARG001  of the derivations
    """Log-likelihood against that of copies with spans that another model filled, in standard deviations.

    A standard deviation of 0 counts as 1, as in the published code.
    """
    check_derived(copies, LEAST_COPIES)
    perturbed = np.array(list(map(mean_log_prob, copies)))
    # equal copies have a deviation of 0, which the published code takes for 1
    return float((mean(target.log_probs) - perturbed.mean()) / (perturbed.std() or 1.0))


@score(
    title="NPR, normalised perturbed log-rank",
    formula="mean_i mean ln r(x̃_i) / mean ln r(x)",
    reference="Su et al. 2023, arXiv:2306.05540",
    positive=GENERATED,
)
def npr(target: Statistics, copies: SpanCopies, *, n: Count = 10) -> float:  # noqa: ARG001  of the derivations
    """Log-rank of copies with spans that another model filled, over that of the text."""
    check_derived(copies)
    return log_rank_ratio(target, copies)


@score(
    title="DetectCodeGPT",
    formula="mean_i mean ln r(x̃_i) / mean ln r(x)",
    reference="Shi et al. 2025, arXiv:2401.06461",
    positive=GENERATED,
)
def detect_code_gpt(target: Statistics, copies: StyleCopies, *, n: Count = 20) -> float:  # noqa: ARG001  of the derivations
    """Log-rank of copies with random white space, over that of the text."""
    check_derived(copies)
    return log_rank_ratio(target, copies)


@score(
    title="Binoculars",
    formula="(Σ l) / (Σ cross-entropy)",
    reference="Hans et al. 2024, arXiv:2401.12070",
    positive=GENERATED,
)
def binoculars(pair: PairStatistics) -> float:
    """Log-perplexity under the performer over the cross-entropy of observer and performer, negated."""
    (statistics,) = pair
    if not len(statistics):
        raise Unscorable("fewer than 2 tokens")
    crossed = float(np.sum(statistics.entropy, dtype=np.float64))
    if crossed <= 0:
        raise Unscorable("saturated: the cross-entropy is zero")
    return float(np.sum(statistics.log_probs, dtype=np.float64)) / crossed


@score(
    title="BARTScore of a revision",
    formula="mean_i mean ln p(x | revision_i)",
    reference="Zhu et al. 2023, EMNLP; Yuan et al. 2021, arXiv:2106.11520",
    positive=GENERATED,
)
def bart_score(restorations: Restorations, *, n: Count = 1) -> float:  # noqa: ARG001  of the derivations
    """Log-likelihood of the text given its revision: a reviser changes less in generated text."""
    check_derived(restorations)
    return float(np.mean(list(map(mean_log_prob, restorations))))


@score(
    title="Rewriting similarity",
    formula="mean_i cos(x, revision_i)",
    reference="Ye et al. 2025, arXiv:2405.16133",
    positive=GENERATED,
)
def revision_similarity(similarities: RevisionSimilarities, *, n: Count = 4) -> float:  # noqa: ARG001  of the derivations
    """Mean similarity of the text to its revisions: a reviser changes less in generated code."""
    check_derived(similarities)
    return float(np.mean(similarities))


@score(
    title="ATC, approximated task conditioning",
    formula="-mean_i mean H of the code given task_i",
    reference="Ashkenazi et al. 2025, arXiv:2506.06069",
    positive=GENERATED,
)
def atc(conditioned: TaskStatistics, *, n: Count = 1) -> float:  # noqa: ARG001  of the derivations
    """Negated entropy of the code behind a description of its task that a model wrote from the code."""
    check_derived(conditioned)
    if not all(map(len, conditioned)):
        raise Unscorable("no token of code outside comments")
    return -float(np.mean(list(map(mean, attributes(conditioned, "entropy")))))
