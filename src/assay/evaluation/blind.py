"""Blind baselines: can the classes be told apart WITHOUT the model?

If text alone separates members from nonmembers (another period, another style, another length), a membership
score may only be measuring that, and its AUROC proves nothing (Das, Zhang, Tramer 2024, "Blind baselines beat
membership inference attacks for foundation models"; Meeus et al. 2024, "SoK: membership inference attacks on
LLMs are rushing nowhere"). Two classifiers look at the text only, and the stronger is reported:

- "bag of words": TF-IDF of words (1 and 2) and of characters (3) under logistic regression;
- "lexical shape": length, lines, compression ratio, shares of character classes, under logistic regression.

Every score is out of fold: the classifier that judges a sample saw no sample of its group. The vocabulary and
the document frequencies are counted once over all texts, which uses no label.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from assay.errors import DataError
from assay.evaluation.arrays import Booleans, Floats, Indices, group_codes, labels
from assay.evaluation.bootstrap import RESAMPLES, SEED
from assay.evaluation.interval import LEVEL
from assay.evaluation.ranking_result import Ranking, rank, rank_all
from assay.evaluation.shape import lexical_shape

BAG_OF_WORDS = "bag of words"
LEXICAL_SHAPE = "lexical shape"

SEPARATING_AUROC = 0.6
"""An interval above one half alone would condemn a large set for a trifle: of 2,000 samples .53 is enough."""

DECISION_LEVEL = 0.997
"""Level of the interval that decides, three standard errors: the better of two baselines is looked at, and the
folds' fits vary too, which no bootstrap of finished scores can see (on random splits of 20 to 200 functions
cross-validated AUROCs had 1.3 times a fixed score's spread, and a 95 % interval gave 9 to 12 % false alarms)."""

CHANCE = 0.5

LOGISTIC: dict[str, Any] = {"solver": "liblinear", "class_weight": "balanced", "max_iter": 1000}
"""Balanced, so that a fold's share of positives does not shift its scores against another fold's. This solver runs
in one thread: hundreds of small fits only lose by more."""

MINIMUM_SAMPLES = 10
MINIMUM_GROUPS = 2

MAXIMUM_FEATURES = 20_000
"""Most frequent n-grams kept of each kind."""

LONGEST_TEXT = 20_000
"""Characters read of one text: the bag of words of a book is well known by then."""

WORD = r"[^\W\d]\w*|\d+|[^\w\s]"
"""Identifiers, numbers, and single signs: code is made of all three."""

STRAY = 4.0
"""Standard deviations at which a feature is cut, so that one odd text does not rule a fit."""

Part = tuple[Indices, Indices]
"""Samples to learn from, samples to judge."""


@dataclass(frozen=True, slots=True, eq=False)
class BlindBaseline:
    """What can be told without the model.

    Attributes:
        ranking: of the stronger baseline (higher AUROC); None where none could be measured.
        kind: its name; None with `ranking`.
        separates: the classes can be told apart blindly: its AUROC is at least `SEPARATING_AUROC`, and even
            its 99.7 % interval lies above one half. Cross-validated scores below one half mean chance or worse
            (small folds push them below), never separation.
        all: every baseline measured.
        reason: why none could be measured; None otherwise.
    """

    ranking: Ranking | None
    kind: str | None
    separates: bool
    all: tuple[Ranking, ...]
    reason: str | None = None


def blind_baseline(
    texts: Sequence[str],
    positive: ArrayLike,
    groups: Sequence[Hashable],
    *,
    folds: int = 5,
    seed: int = SEED,
    resamples: int = RESAMPLES,
    level: float = LEVEL,
) -> BlindBaseline:
    """Cross-validated blind baselines of labelled texts.

    Args:
        texts: [n].
        positive: [n], booleans.
        groups: [n], never split between training and judging; None is a group of its own.
        folds: at most this many; fewer where a class has fewer groups.
        seed: of the folds and of the bootstrap.
        resamples: behind the intervals.
        level: of the intervals.

    Returns:
        A result with `reason` and no ranking where a class has fewer than 10 samples or 2 groups, or where
        groups cannot be parted so that every training part holds both classes.

    Raises:
        DataError: lengths differ, or fewer than two folds are asked for.
    """
    truths = labels(positive, len(texts))
    group = group_codes(groups, len(texts))
    if folds < 2:  # noqa: PLR2004  one part cannot judge another
        raise DataError(f"{folds} folds; expected at least 2")
    reason = _too_few(truths, group)
    if reason is not None:
        return BlindBaseline(None, None, False, (), reason)
    parts = _parts(truths, group, folds, seed)
    if any(len(np.unique(truths[train])) == 1 for train, _ in parts):
        return BlindBaseline(None, None, False, (), "the groups cannot be parted with both classes to learn from")
    scores = {
        BAG_OF_WORDS: _bag_of_words(texts, truths, parts),
        LEXICAL_SHAPE: _shape(texts, truths, parts),
    }
    rankings = tuple(rank_all(scores, truths, groups, resamples=resamples, seed=seed, level=level).values())
    best = max(rankings, key=lambda ranking: ranking.auroc.value)
    separates = best.auroc.value >= SEPARATING_AUROC
    if separates:
        name = best.name
        strict = rank(name, scores[name], truths, groups, resamples=resamples, seed=seed, level=DECISION_LEVEL)
        separates = strict.auroc.low > CHANCE
    return BlindBaseline(best, best.name, separates, rankings)


def _too_few(truths: Booleans, group: Indices) -> str | None:
    for name, side in (("positive", truths), ("negative", ~truths)):
        samples, groups = int(side.sum()), len(np.unique(group[side]))
        if samples < MINIMUM_SAMPLES or groups < MINIMUM_GROUPS:
            return (
                f"{samples} {name} samples in {groups} groups; a blind baseline needs {MINIMUM_SAMPLES} in "
                f"{MINIMUM_GROUPS}"
            )
    return None


def _parts(truths: Booleans, group: Indices, folds: int, seed: int) -> list[Part]:
    # no group stands on both sides; classes are spread as evenly as the groups allow
    from sklearn.model_selection import StratifiedGroupKFold  # noqa: PLC0415  slow to import, needed only here

    fewest = min(len(np.unique(group[side])) for side in (truths, ~truths))
    splitter = StratifiedGroupKFold(min(folds, fewest), shuffle=True, random_state=seed)
    return [part for part in splitter.split(np.zeros(len(truths)), truths, group) if len(part[1])]


def _bag_of_words(texts: Sequence[str], truths: Booleans, parts: Sequence[Part]) -> Floats:
    from scipy.sparse import hstack  # noqa: PLC0415  as above
    from sklearn.feature_extraction.text import TfidfVectorizer  # noqa: PLC0415  as above
    from sklearn.linear_model import LogisticRegression  # noqa: PLC0415  as above

    heads = [text[:LONGEST_TEXT] for text in texts]
    grams = (
        {"analyzer": "word", "token_pattern": WORD, "ngram_range": (1, 2)},
        {"analyzer": "char", "ngram_range": (3, 3)},
    )
    bags = []
    for gram in grams:
        bag = TfidfVectorizer(lowercase=False, sublinear_tf=True, min_df=2, max_features=MAXIMUM_FEATURES, **gram)
        try:
            bags.append(bag.fit_transform(heads))
        except ValueError:  # scikit-learn's way to say that no n-gram stands in two texts
            continue
    if not bags:
        return np.zeros(len(texts))
    features = hstack(bags).tocsr()
    scores = np.zeros(len(texts))
    for train, judged in parts:
        model = LogisticRegression(**LOGISTIC).fit(features[train], truths[train])
        scores[judged] = model.decision_function(features[judged])
    return scores


def _shape(texts: Sequence[str], truths: Booleans, parts: Sequence[Part]) -> Floats:
    from sklearn.linear_model import LogisticRegression  # noqa: PLC0415  as above

    features = np.array([lexical_shape(text) for text in texts])
    scores = np.zeros(len(texts))
    for train, judged in parts:
        centre, spread = features[train].mean(0), features[train].std(0)
        standard = np.clip((features - centre) / np.where(spread > 0, spread, 1), -STRAY, STRAY)
        # squares too: a class may sit in the middle of the other
        both = np.hstack([standard, standard**2])
        model = LogisticRegression(**LOGISTIC).fit(both[train], truths[train])
        scores[judged] = model.decision_function(both[judged])
    return scores
