"""Evidence that two submissions have a common origin: what a stretch of one shares with the other and few others have.

The features of a submission are its statements (`statements`), their forms, and each two statements that use a name
one after the other. A statement that m of n submissions have weighs ln(n / (m - 1)): what two share alone weighs most.
A form or a link weighs by how rare it is where its statements occur. The best stretch of a pair is that of a local
alignment: each statement that the other side has adds the weight of its features, each other one costs `COST`, and the
best sum counts, the geometric mean of both sides, times the root of the share of the whole. What either submission
shares with many others is subtracted. So one copied exercise stands out, and statements without effect that are put
between, other names and another order change little.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from operator import attrgetter

import numpy as np
from scipy.sparse import csr_array

from assay.corpora import SourceText
from assay.retrieval import Hashes
from assay.submissions.reading import Submission, texts_in
from assay.submissions.statements import CodeToken, Statement, called_names, normal_statements, tokens_of
from assay.types import BooleanArray, Float64Array, Int64Array

FEWEST = 8
"""Submissions that tell what is usual; with fewer, the share of common features decides, or much evidence."""

ALIKE, ALIKE_OF_TWO = 0.7, 0.5
"""That share; of two submissions it decides alone."""

MUCH = 10.5
"""That evidence, times the root of the share."""

KNOWN_TO = 0.1
"""Share of the submissions that call a name from which it is no name of an author; at least three."""

COST = 1.0
"""Of a statement that only one side has."""

FORM = 2.0
"""Weight of a form, beside that of a link: disguises change forms, so what keeps them is no chance."""

PARTNERS = 0.8
"""Quantile of what one submission shares with all others that is usual for it: a fifth may share its source."""

LINKS_AT_ONCE = 4096
OUTSTANDING = 1.25
LEAST_EVIDENCE = 13.0
_LINK = np.uint64(0x9E3779B97F4A7C15)


def unspaced(text: SourceText) -> str:
    """Return all characters of a text but layout."""
    return "".join(text.text.split())


@dataclass(frozen=True, eq=False)
class FeatureOccurrences:
    """Occurrences of the features of one submission, in the order of its statements.

    Attributes:
        codes: uint64 [m].
        of: number of the statement of each, ascending; of a link, the later one.
        first, second: codes of the statements of a link; of a statement and its form, its own twice.
        parts: 1 / features of one shape: a list of cases is no more evidence than one of them; `FORM` times that.
        size: statements.
    """

    codes: Hashes
    of: Int64Array
    first: Hashes
    second: Hashes
    parts: Float64Array
    size: int


@dataclass(frozen=True, eq=False)
class Program:
    """The texts of one submission, its statements and features.

    Attributes:
        texts: with code.
        statements: of each text.
    """

    texts: tuple[SourceText, ...]
    statements: tuple[tuple[Statement, ...], ...]

    @cached_property
    def features(self) -> FeatureOccurrences:
        """Occurrences of what can be shared."""
        return _features(self.statements)

    @cached_property
    def plain(self) -> str:
        """All characters but layout."""
        return "".join(map(unspaced, self.texts))


@dataclass(frozen=True, eq=False)
class SharedEvidence:
    """Weights of what all pairs share.

    Attributes:
        scores: [n, n], evidence of each pair above what is usual for either; 0 where a pair is not compared.
        shares: [n, n], weighted cosine of the features, 0 to 1.
        compared: bool [n, n], above the diagonal.
        usual: median of the scores.
        unusual: from which a score stands out; infinite with too few submissions.
        weights: of the features.
        features: uint64, ascending, all of them.
    """

    scores: Float64Array
    shares: Float64Array
    compared: BooleanArray
    usual: float
    unusual: float
    weights: Float64Array
    features: Hashes

    def weight_of(self, features: Hashes) -> Float64Array:
        """Return the weight of features that occur."""
        return self.weights[np.searchsorted(self.features, features)]

    @property
    def standing_out(self) -> BooleanArray:
        """Pairs that stand out, bool [n, n]."""
        if np.isinf(self.unusual) and len(self.scores) > 2:  # noqa: PLR2004  two
            alike = (self.shares >= ALIKE) | (self.scores * np.sqrt(self.shares) >= MUCH)
            return self.compared & alike & (self.scores > 1)
        if np.isinf(self.unusual):
            return self.compared & (self.shares >= ALIKE_OF_TWO) & (self.scores > 1)
        return self.compared & (self.scores >= self.unusual)


def programs_of(groups: Sequence[Sequence[SourceText]]) -> list[Program]:
    """Return the programs of submissions; names that many of them call are those of a library."""
    read, callers = [], Counter[str]()
    for files in groups:
        texts = list(chain.from_iterable(map(texts_in, files)))
        read.append(texts)
        callers.update(set(chain.from_iterable(map(called_names, map(_tokens, texts)))))
    least = max(3, KNOWN_TO * len(groups))
    kept = frozenset(name for name, count in callers.items() if count >= least)
    # the tokens are made once more: kept, those of 2,000 submissions would fill half a gigabyte
    return [_program(texts, kept) for texts in read]


def _tokens(text: SourceText) -> list[CodeToken]:
    return tokens_of(text.text, text.language)


def _program(texts: Sequence[SourceText], kept: frozenset[str]) -> Program:
    statements = []
    for text in texts:
        statements.append(tuple(normal_statements(text.text, text.language, sequence=_tokens(text), kept=kept)))
    return Program(tuple(texts), tuple(statements))


def _features(texts: Sequence[Sequence[Statement]]) -> FeatureOccurrences:
    """Return the statements of texts, their forms, and each two that use a name one after the other in one of them."""
    rows: list[tuple[int, int, int, int, int]] = []
    number = 0
    for statements in texts:
        last: dict[str, Statement] = {}
        for statement in statements:
            rows.append((number, statement.code, statement.code, statement.shape, statement.shape))
            rows.append((number, statement.code, statement.form, statement.shape, 0))
            for name in statement.names:
                if before := last.get(name):
                    rows.append((number, before.code, statement.code, before.shape, statement.shape))
                last[name] = statement
            number += 1
    table = np.array(rows, np.uint64).reshape(-1, 5)
    of, first, second = table[:, 0].astype(np.int64), table[:, 1], table[:, 2]
    # `of` ascends, so the first row of each number is its statement, and the form stands behind it
    at = np.unique(of, return_index=True)[1]
    codes, shapes = _mixed(first, second), _mixed(table[:, 3], table[:, 4])
    codes[at], shapes[at], second[at + 1] = first[at], table[at, 3], first[at]
    # a feature counts at its first occurrence, and less if others have its shape
    _, places = np.unique(codes, return_index=True)
    _, shape_of, counts = np.unique(shapes[places], return_inverse=True, return_counts=True)
    parts = np.zeros(len(codes))
    parts[places] = 1 / counts[shape_of]
    parts[at + 1] *= FORM
    return FeatureOccurrences(codes=codes, of=of, first=first, second=second, parts=parts, size=number)


def _mixed(first: Hashes, second: Hashes) -> Hashes:
    return first * _LINK + (second ^ (second >> np.uint64(29)))


def weigh_evidence(submissions: Sequence[Submission], programs: Sequence[Program], template: Hashes) -> SharedEvidence:
    """Weigh what the submissions share.

    Args:
        submissions: of distinct content.
        programs: theirs.
        template: features of code that was handed out; they weigh nothing.
    """
    count = len(programs)
    lists = list(map(attrgetter("features"), programs))
    codes = np.concatenate([np.empty(0, np.uint64), *map(attrgetter("codes"), lists)])
    features, columns = np.unique(codes, return_inverse=True)
    starts = np.cumsum([0, *map(len, map(attrgetter("codes"), lists))])
    # a submission is a row and a feature a column: products of this matrix compare all pairs at once
    has = csr_array((np.ones(len(columns), np.float32), columns, starts), (count, max(1, len(features))), copy=True)
    # a feature that a program repeats is had once: rows become 0 or 1
    has.sum_duplicates()
    has.data[:] = 1
    weights = _weights(lists, features=features, has=has)
    weights[np.isin(features, template)] = 0
    if count == 2:  # noqa: PLR2004  nothing is unusual in two
        weights[~np.isin(features, template)] = 1
    compared = _compared(submissions)
    both_ways = compared | compared.T
    weighted = has * np.sqrt(np.append(weights, np.zeros(has.shape[1] - len(weights))), dtype=np.float32)[None, :]
    shared = (weighted @ weighted.T).toarray()
    whole = shared.diagonal().copy()
    # cosine; the small summand is for submissions in which nothing has a weight
    shares = np.where(both_ways, shared / (np.sqrt(np.outer(whole, whole)) + 1e-6), 0)
    owners = csr_array(has.T)
    scores = np.zeros((count, count))
    for number, part in enumerate(lists):
        scores[number] = _best_stretch(part, columns[starts[number] : starts[number + 1]], weights, owners=owners)
    # the geometric mean of both sides, times the root of the share
    scores = np.sqrt(scores * scores.T * shares)
    if count >= FEWEST:
        # of two submissions with much in common with everybody, some of what they share is usual
        own = _usual_for_each(scores, both_ways)
        scores -= (own[:, None] + own[None, :]) / 2
    scores, shares = np.where(compared, scores, 0), np.where(compared, shares, 0)
    usual, unusual = _usual(scores[compared], count)
    return SharedEvidence(
        scores=scores,
        shares=shares,
        compared=compared,
        usual=usual,
        unusual=unusual,
        weights=weights,
        features=features,
    )


def _weights(lists: Sequence[FeatureOccurrences], features: Hashes, has: csr_array) -> Float64Array:
    """Return the weight of each feature, float64 [f]."""
    count = len(lists)
    owners = np.asarray(has.sum(axis=0)).ravel()[: len(features)]
    # the one that asks is not counted: of two owners each has one other, and weighs ln n
    others = np.maximum(1, owners - 1)
    weights = np.log(max(1, count) / others)
    links = np.unique(np.concatenate([np.empty((0, 3), np.uint64), *map(_links, lists)]), axis=0)
    codes, first, second = np.searchsorted(features, links).T
    shared = owners[codes] > 1
    by_feature = csr_array(has.T)
    # by blocks: the products have as many columns as submissions
    for part in np.array_split(np.flatnonzero(shared), 1 + np.count_nonzero(shared) // LINKS_AT_ONCE):
        both = by_feature[first[part]].multiply(by_feature[second[part]]).sum(axis=1)
        weights[codes[part]] = np.log(np.asarray(both).ravel() / others[codes[part]])
    return np.asarray(weights, np.float64)


def _links(features: FeatureOccurrences) -> Hashes:
    is_link = np.ones(len(features.of), np.bool_)
    is_link[np.unique(features.of, return_index=True)[1]] = False
    return np.stack([features.codes, features.first, features.second], axis=1)[is_link]


def _best_stretch(
    features: FeatureOccurrences, columns: Int64Array, weights: Float64Array, *, owners: csr_array
) -> Float64Array:
    """Return the evidence of the best stretch of one submission with each other one, [n]."""
    values = weights[columns] * features.parts + 1e-6  # a match without weight is no gap
    gains = csr_array((values, (features.of, columns)), shape=(features.size, owners.shape[0])) @ owners
    steps = gains.toarray()
    steps[steps == 0] = -COST
    # the best sum of neighbours (Kadane) for all partners at once: each prefix less the least one before it
    sums = np.cumsum(steps, axis=0)
    before = np.minimum.accumulate(np.vstack([np.zeros((1, sums.shape[1])), sums[:-1]]), axis=0)
    return np.asarray((sums - before).max(axis=0, initial=0), np.float64)


def _compared(submissions: Sequence[Submission]) -> BooleanArray:
    """Return which pairs are compared: no student with himself, nor two of earlier courses."""
    _, students = np.unique(list(map(attrgetter("student"), submissions)), return_inverse=True)
    earlier = np.array(list(map(attrgetter("is_earlier"), submissions)), np.bool_)
    # above the diagonal: each pair once
    differ = (students[:, None] != students[None, :]) & ~(earlier[:, None] & earlier[None, :])
    return np.triu(differ, 1)


def _usual_for_each(scores: Float64Array, compared: BooleanArray) -> Float64Array:
    """Return what each submission shares with all but a fifth of the others, [n]."""
    partners = compared.sum(axis=1)
    # what is not compared goes to the end of each row, behind the place that is read
    ordered = np.sort(np.where(compared, scores, np.inf), axis=1)
    values = np.take_along_axis(ordered, (PARTNERS * np.maximum(0, partners - 1)).astype(np.int64)[:, None], axis=1)
    return np.where(partners, values[:, 0], 0)


def _usual(values: Float64Array, count: int) -> tuple[float, float]:
    """Return the median of the scores, and the score from which a pair stands out."""
    if count < FEWEST or not len(values):
        return 0.0, np.inf
    usual, upper = np.quantile(values, [0.5, 0.9])
    # the upper tail of all pairs is exponential: its largest of m grows with ln m
    return float(usual), float(max(LEAST_EVIDENCE, usual + OUTSTANDING * (upper - usual) * np.log(len(values))))
