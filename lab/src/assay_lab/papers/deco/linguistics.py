"""The language of code by author: vocabulary, length, density, log-perplexity, and how alike authors write.

Density is that of DECo, 100 · V / (L · N): V distinct tokens in N texts of L tokens on average. It falls with the
number of tokens, so compare authors with the same texts only. Tokens are lexemes: words, numbers and other visible
characters, in strings and comments too.
"""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, combinations

import numpy as np

from assay.code import lexemes
from assay.errors import AssayError
from assay.evaluation import Estimate, grouped_mean
from assay.retrieval import Form, TooShort, fingerprint
from assay.types import LogProbScorer, Rejected, Sample
from assay_lab.mappings import map_values

FORM: Form = "tokens"
"""Fingerprints that ignore names: a rewriting that only renames counts as the same text, as for MOSS."""


@dataclass(frozen=True, slots=True)
class Linguistics:
    """The language of a set of texts.

    Attributes:
        texts: N.
        vocabulary: V, distinct tokens.
        length: L, mean number of tokens.
        log_perplexity: mean over texts of the mean NLL in bits a token; NaN without a model.
    """

    texts: int
    vocabulary: int
    length: float
    log_perplexity: Estimate

    @property
    def density(self) -> float:
        """Return 100 · V / (L · N); NaN of no token."""
        total = self.length * self.texts
        return 100 * self.vocabulary / total if total else math.nan


def linguistics_of(texts: Sequence[str], bits: Sequence[float]) -> Linguistics:
    """Return the language of a set of texts.

    Args:
        texts: at least one.
        bits: mean NLL of each in bits, NaN where it has none; see `bits_of`.
    """
    tokens = list(map(lexemes, texts))
    return Linguistics(
        texts=len(texts),
        vocabulary=len(set(chain.from_iterable(tokens))),
        length=float(np.mean(list(map(len, tokens)))),
        log_perplexity=mean_with_interval(bits),
    )


def bits_of(texts: Sequence[str], model: LogProbScorer) -> list[float]:
    """Return the mean NLL of each text in bits a token; NaN where the model rejects it or it has no scored token."""
    bits = [math.nan] * len(texts)
    for batch in model.completed(texts):
        for index, reply in batch:
            if not isinstance(reply, Rejected) and len(reply):
                # the paper's log-perplexity has base 2
                bits[index] = -float(np.mean(reply.log_probs, dtype=np.float64)) / math.log(2)
    return bits


def mean_with_interval(values: Sequence[float]) -> Estimate:
    """Return the mean of independent values that are no NaN, with its normal 95 % interval."""
    present = np.array(values)[~np.isnan(values)]
    if not len(present):
        return Estimate(math.nan, math.nan, math.nan, reason="no value")
    mean = float(present.mean())
    if len(present) == 1:
        return Estimate(mean, math.nan, math.nan, reason="one text")
    # 97.5 % quantile of the normal distribution
    half = 1.96 * float(present.std(ddof=1)) / math.sqrt(len(present))
    return Estimate(mean, mean - half, mean + half)


def similarities(tasks: Sequence[Mapping[str, Sample]]) -> dict[tuple[str, str], Estimate]:
    """Return the mean Jaccard similarity of two authors' fingerprints over the tasks that both solved.

    Args:
        tasks: author → text, one mapping for each task.

    Returns:
        (author, author) in alphabetical order → mean over tasks; pairs without a common task are left out. A text too
        short for a fingerprint is left out.
    """
    values: defaultdict[tuple[str, str], list[float]] = defaultdict(list)
    for task in tasks:
        prints = map_values(hashes_of, task)
        for first, second in combinations(sorted(prints), 2):
            own, other = prints[first], prints[second]
            if own and other:
                # Jaccard: common fingerprints over all
                values[first, second].append(len(own & other) / len(own | other))
    return map_values(grouped_mean, values)


def hashes_of(sample: Sample) -> frozenset[int]:
    """Return the fingerprints of a text; none where it is too short or cannot be read."""
    try:
        prints = fingerprint(sample.text, sample.language)[FORM]
    except AssayError:
        return frozenset()
    return frozenset() if isinstance(prints, TooShort) else frozenset(prints.hashes.tolist())
