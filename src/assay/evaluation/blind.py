"""Blind baselines: do the texts alone separate the classes, without the model?

If text alone separates members from nonmembers (another period, another style, another length), a membership
score may measure only that difference, and its AUROC proves nothing (Das, Zhang, Tramer 2024, "Blind baselines beat
membership inference attacks for foundation models"; Meeus et al. 2024, "SoK: membership inference attacks on
LLMs are rushing nowhere"). Two classifiers look at the text only, and the stronger is reported:

- "bag of words": TF-IDF of words (1 and 2) and of characters (3) under logistic regression;
- "lexical shape": length, lines, compression ratio, shares of character classes, under logistic regression.

Where the texts themselves are not at hand, as in a calibration file, their stored `BlindFeatures` take the place of the
first: counts of hashed words.

Every score is out of fold: the classifier that scores a sample was fitted without the samples of its group. The
vocabulary and the document frequencies are counted once over all texts, which uses no label.
"""

import re
import zlib
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from assay.errors import DataError
from assay.evaluation.arrays import Indices, group_codes, labels
from assay.evaluation.bootstrap import RESAMPLES, SEED
from assay.evaluation.ranking_result import Ranking, rank_all
from assay.evaluation.shape import lexical_shape
from assay.types import BooleanArray, Float64Array

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

BAG_OF_WORDS = "bag of words"
HASHED_WORDS = "hashed words"
LEXICAL_SHAPE = "lexical shape"

SEPARATING_AUROC = 0.6
"""Smallest AUROC of a baseline that separates the classes. An interval above one half is not enough: with 2,000 samples
an AUROC of .53 has one."""

DECISION_LEVEL = 0.997
"""Level of the interval that decides: three standard errors. The better of two baselines is taken, and the fits of the
folds vary too, which a bootstrap of finished scores does not measure: on random splits of 20 to 200 functions
cross-validated AUROCs varied 1.3 times as much as those of a fixed score, and a 95 % interval gave 9 to 12 % false
alarms."""

CHANCE = 0.5

LOGISTIC: dict[str, Any] = {"solver": "liblinear", "class_weight": "balanced", "max_iter": 1000}
"""Balanced, so that the share of positives in a fold does not shift its scores. This solver runs in one thread:
hundreds of small fits are slower with more."""

MINIMUM_SAMPLES = 10
MINIMUM_GROUPS_OF_A_CLASS = 2

MAXIMUM_FEATURES = 20_000
"""Most frequent n-grams kept of each kind."""

LONGEST_HEAD = 20_000
"""Characters of a text that are read: more of them hardly change its bag of words."""

WORD_PATTERN = r"[^\W\d]\w*|\d+|[^\w\s]"
"""Identifiers, numbers, and single signs: code is made of all three."""

BUCKETS = 4096
"""Buckets of hashed words: many words share one, so that a word cannot be read from its bucket."""

CLIPPED_AT = 4.0
"""Standard deviations at which a feature is clipped, so that one unusual text does not dominate a fit."""

Fold = tuple[Indices, Indices]
"""Samples that a classifier is fitted on, and samples that it scores."""


@dataclass(frozen=True, slots=True, eq=False)
class BlindBaseline:
    """Result of the blind baselines of one set of texts.

    Attributes:
        ranking: of the stronger baseline (higher AUROC); None if none could be measured.
        kind: its name; None with `ranking`.
        separates: the baseline separates the classes: its AUROC is at least `SEPARATING_AUROC`, and even
            its 99.7 % interval lies above one half. Cross-validated scores below one half mean chance or worse
            (small folds push them below), never separation.
        all: every measured baseline.
        reason: why no baseline could be measured; None otherwise.
    """

    ranking: Ranking | None
    kind: str | None
    separates: bool
    all: tuple[Ranking, ...]
    reason: str | None = None


@dataclass(frozen=True, slots=True, eq=False)
class BlindFeatures:
    """Properties of texts that a blind baseline may use, without the texts: their order of words is not kept.

    Attributes:
        shape: float64 [n, 23], see `lexical_shape`.
        words: of each text, bucket → number of its words that are hashed into it.
    """

    shape: Float64Array
    words: tuple[Mapping[int, int], ...]

    @classmethod
    def of(cls, texts: Sequence[str]) -> Self:
        """Return the features of texts."""
        pattern = re.compile(WORD_PATTERN)
        shape = np.array(list(map(lexical_shape, texts))).reshape(len(texts), -1)
        words = []
        for text in texts:
            buckets = Counter(map(_bucket, pattern.findall(text[:LONGEST_HEAD])))
            words.append(dict(sorted(buckets.items())))
        return cls(shape, tuple(words))

    def __len__(self) -> int:
        return len(self.words)

    def joined(self, other: "BlindFeatures") -> "BlindFeatures":
        """Return the features of these texts, then of others."""
        return BlindFeatures(np.concatenate([self.shape, other.shape]), (*self.words, *other.words))


def _bucket(word: str) -> int:
    """Return the bucket that a word is hashed into: it cannot be read from there."""
    return zlib.crc32(word.encode("utf-8", "surrogatepass")) % BUCKETS


def blind_baseline(
    texts: Sequence[str] | BlindFeatures,
    positive: ArrayLike,
    groups: Sequence[Hashable],
    *,
    folds: int = 5,
    seed: int = SEED,
    resamples: int = RESAMPLES,
) -> BlindBaseline:
    """Return cross-validated blind baselines of labelled texts, or of the features that are left of them.

    Args:
        texts: [n].
        positive: [n], booleans.
        groups: [n], never divided between fitting and scoring; None is a group of its own.
        folds: at most this many; fewer where a class has fewer groups.
        seed: of the folds and of the bootstrap.
        resamples: behind the intervals.

    Returns:
        A result with `reason` and no ranking if a class has fewer than 10 samples or 2 groups, or if the groups
        cannot be divided so that every fold is fitted on both classes.

    Raises:
        DataError: lengths differ, or fewer than two folds are requested.
    """
    scores = blind_scores(texts, positive, groups, folds=folds, seed=seed)
    if isinstance(scores, str):
        return BlindBaseline(ranking=None, kind=None, separates=False, all=(), reason=scores)
    truths = labels(positive, len(texts))
    rankings = tuple(rank_all(scores, truths, groups, resamples=resamples, seed=seed).values())
    best = max(rankings, key=lambda ranking: ranking.auroc.value)
    separates = best.auroc.value >= SEPARATING_AUROC
    # the better of two was taken, so that its own interval is too hopeful: a stricter one has to confirm it
    if separates:
        name = best.name
        only = {name: scores[name]}
        strict = rank_all(only, truths, groups, resamples=resamples, seed=seed, level=DECISION_LEVEL)[name]
        separates = strict.auroc.low > CHANCE
    return BlindBaseline(ranking=best, kind=best.name, separates=separates, all=rankings)


def blind_scores(
    texts: Sequence[str] | BlindFeatures,
    positive: ArrayLike,
    groups: Sequence[Hashable],
    *,
    folds: int = 5,
    seed: int = SEED,
) -> dict[str, Float64Array] | str:
    """Return the out-of-fold score of every text under each blind baseline; arguments as of `blind_baseline`.

    A score is the log-odds of the positive class. Where none can be computed, the reason is returned instead.

    Raises:
        DataError: as `blind_baseline`.
    """
    truths = labels(positive, len(texts))
    group = group_codes(groups, len(texts))
    if folds < 2:  # noqa: PLR2004  a sample is scored by a fit on other folds
        raise DataError(f"{folds} folds; expected at least 2")
    reason = _too_few(truths, group)
    if reason is not None:
        return reason
    folds_of_samples = grouped_folds(truths, group=group, folds=folds, seed=seed)
    if any(len(np.unique(truths[fitted])) == 1 for fitted, _ in folds_of_samples):
        return "the groups cannot be divided into folds with both classes to fit on"
    if isinstance(texts, BlindFeatures):
        shape, words = texts.shape, {HASHED_WORDS: _logistic(_hashed_words(texts), truths, folds_of_samples)}
    else:
        shape = np.array(list(map(lexical_shape, texts)))
        words = {BAG_OF_WORDS: _logistic(_bag_of_words(texts), truths, folds_of_samples)}
    return words | {LEXICAL_SHAPE: _logistic(shape, truths=truths, folds=folds_of_samples, design=with_squares)}


def _too_few(truths: BooleanArray, group: Indices) -> str | None:
    for name, side in (("positive", truths), ("negative", ~truths)):
        samples, groups = int(side.sum()), len(np.unique(group[side]))
        if samples < MINIMUM_SAMPLES or groups < MINIMUM_GROUPS_OF_A_CLASS:
            return (
                f"{samples} {name} samples in {groups} groups; a blind baseline needs {MINIMUM_SAMPLES} in "
                f"{MINIMUM_GROUPS_OF_A_CLASS}"
            )
    return None


def grouped_folds(truths: BooleanArray, group: Indices, folds: int, seed: int) -> list[Fold]:
    """Divide samples into folds: no group is on both sides, classes are spread as evenly as the groups allow."""
    from sklearn.model_selection import StratifiedGroupKFold  # noqa: PLC0415  slow to import, needed only here

    fewest = min(len(np.unique(group[side])) for side in (truths, ~truths))
    splitter = StratifiedGroupKFold(min(folds, fewest), shuffle=True, random_state=seed)
    # a fold without a sample has nothing to score
    return [fold for fold in splitter.split(np.zeros(len(truths)), truths, group) if len(fold[1])]


def _bag_of_words(texts: Sequence[str]) -> "csr_matrix | None":
    """Return TF-IDF of words and characters; None where no n-gram occurs in two texts."""
    from scipy.sparse import hstack  # noqa: PLC0415  as above
    from sklearn.feature_extraction.text import TfidfVectorizer  # noqa: PLC0415  as above

    heads = [text[:LONGEST_HEAD] for text in texts]
    grams = (
        {"analyzer": "word", "token_pattern": WORD_PATTERN, "ngram_range": (1, 2)},
        {"analyzer": "char", "ngram_range": (3, 3)},
    )
    bags = []
    for gram in grams:
        bag = TfidfVectorizer(lowercase=False, sublinear_tf=True, min_df=2, max_features=MAXIMUM_FEATURES, **gram)
        try:
            bags.append(bag.fit_transform(heads))
        except ValueError:  # scikit-learn raises it if no n-gram occurs in two texts
            continue
    return hstack(bags).tocsr() if bags else None


def _hashed_words(features: BlindFeatures) -> "csr_matrix":
    """Return TF-IDF of the hashed words."""
    from scipy.sparse import csr_matrix  # noqa: PLC0415  as above
    from sklearn.feature_extraction.text import TfidfTransformer  # noqa: PLC0415  as above

    # one entry for each word of each text: its row is the text, its column the bucket
    rows = np.repeat(np.arange(len(features)), list(map(len, features.words)))
    buckets = list(chain.from_iterable(features.words))
    counts = np.array([*chain.from_iterable(words.values() for words in features.words)], np.float64)
    bags = csr_matrix((counts, (rows, buckets)), shape=(len(features), BUCKETS))
    return TfidfTransformer(sublinear_tf=True).fit_transform(bags)


def _logistic(
    features: "csr_matrix | Float64Array | None",
    truths: BooleanArray,
    folds: Sequence[Fold],
    design: Callable[[Any, Indices], Any] = lambda features, _: features,
) -> Float64Array:
    """Return log-odds out of fold; `design` makes the features of a fold from the samples that it is fitted on."""
    from sklearn.linear_model import LogisticRegression  # noqa: PLC0415  as above

    scores = np.zeros(len(truths))
    if features is None:
        return scores
    # out of fold: a text is never scored by a fit that has seen its group
    for fitted, scored in folds:
        own = design(features, fitted)
        model = LogisticRegression(**LOGISTIC).fit(own[fitted], truths[fitted])
        scores[scored] = model.decision_function(own[scored])
    return scores


def with_squares(features: Float64Array, fitted: Indices) -> Float64Array:
    """Return features in standard deviations of the fitted samples, clipped, and their squares."""
    centre, spread = features[fitted].mean(0), features[fitted].std(0)
    standard = np.clip((features - centre) / np.where(spread > 0, spread, 1), -CLIPPED_AT, CLIPPED_AT)
    # squares too: the values of a class may lie between those of the other
    return np.hstack([standard, standard**2])
