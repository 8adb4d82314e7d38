"""SharedEvidence that two submissions have a common origin: what they share and few others have.

A submission is a set of features: the statements (`statements`), and each two statements that use a name one after the
other. A feature weighs ln(n / (m - 1)) where m of n submissions have it: what two share alone weighs most, what all
share nothing. Statements without effect that are put between, other names and another order leave the links of names.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, pairwise

import numpy as np

from assay.corpora import SourceText
from assay.retrieval import Hashes
from assay.submissions.reading import Submission, texts_in
from assay.submissions.statements import CodeToken, Statement, called_names, normal_statements, tokens_of
from assay.types import BooleanArray, Float64Array

FEWEST = 8
"""Submissions that tell what is usual; with fewer, the share of common features decides."""

ALIKE = 0.5
"""That share."""

KNOWN_TO = 0.1
"""Share of the submissions that call a name from which it is no name of an author; at least three."""

OUTSTANDING = 1.5
LEAST_EVIDENCE = 4.5
_LINK = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True, eq=False)
class Program:
    """The texts of one submission, its statements and features.

    Attributes:
        texts: with code.
        statements: of each text.
        features: uint64 [m], distinct, ascending.
    """

    texts: tuple[SourceText, ...]
    statements: tuple[tuple[Statement, ...], ...]
    features: Hashes

    @cached_property
    def plain(self) -> str:
        """All characters but layout."""
        return "".join("".join(text.text.split()) for text in self.texts)


@dataclass(frozen=True, eq=False)
class SharedEvidence:
    """Weights of what all pairs share.

    Attributes:
        scores: [n, n], evidence of each pair; 0 on the diagonal and where a pair is not compared.
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
        if np.isinf(self.unusual):
            return self.compared & (self.shares >= ALIKE) & (self.scores > 1)
        return self.compared & (self.scores >= self.unusual)


def programs_of(groups: Sequence[Sequence[SourceText]]) -> list[Program]:
    """Return the programs of submissions; names that many of them call are those of a library."""
    texts = [list(chain.from_iterable(map(texts_in, files))) for files in groups]
    sequences = [list(map(_tokens, parts)) for parts in texts]
    callers = Counter[str]()
    for lists in sequences:
        callers.update(set(chain.from_iterable(map(called_names, lists))))
    least = max(3, KNOWN_TO * len(groups))
    kept = frozenset(name for name, count in callers.items() if count >= least)
    return [_program(parts, lists, kept) for parts, lists in zip(texts, sequences, strict=True)]


def _tokens(text: SourceText) -> list[CodeToken]:
    return tokens_of(text.text, text.language)


def _program(texts: Sequence[SourceText], sequences: Sequence[Sequence[CodeToken]], kept: frozenset[str]) -> Program:
    statements = []
    features: list[Hashes] = []
    for text, tokens in zip(texts, sequences, strict=True):
        inside = tuple(normal_statements(text.text, language=text.language, sequence=tokens, kept=kept))
        statements.append(inside)
        features += [np.array([statement.code for statement in inside], np.uint64), links(inside)]
    joined = np.concatenate(features) if features else np.empty(0, np.uint64)
    return Program(tuple(texts), tuple(statements), np.unique(joined))


def links(statements: Sequence[Statement]) -> Hashes:
    """Return a code for each two statements that use a name one after the other."""
    uses: dict[str, list[int]] = defaultdict(list)
    for statement in statements:
        for name in statement.names:
            uses[name].append(statement.code)
    chained = list(chain.from_iterable(map(pairwise, uses.values())))
    pairs = np.array(chained, np.uint64).reshape(-1, 2)
    return pairs[:, 0] * _LINK + (pairs[:, 1] ^ (pairs[:, 1] >> np.uint64(29)))


def weigh_evidence(submissions: Sequence[Submission], programs: Sequence[Program], template: Hashes) -> SharedEvidence:
    """Weigh what the submissions share.

    Args:
        submissions: of distinct content.
        programs: theirs.
        template: features of code that was handed out; they weigh nothing.
    """
    from scipy.sparse import csr_array  # noqa: PLC0415  slow to import, and needed here only

    count = len(programs)
    features, columns = np.unique(
        np.concatenate([program.features for program in programs] or [np.empty(0, np.uint64)]), return_inverse=True
    )
    starts = np.concatenate([[0], np.cumsum([len(program.features) for program in programs])])
    matrix = csr_array((np.ones(len(columns), np.float32), columns, starts), shape=(count, max(1, len(features))))
    owners = np.bincount(columns, minlength=max(1, len(features)))
    weights = np.log(max(1, count) / np.maximum(1, owners - 1))
    weights[: len(features)][np.isin(features, template)] = 0
    if count == 2:  # noqa: PLR2004  nothing is unusual in two
        weights[: len(features)][~np.isin(features, template)] = 1
    weighted = matrix * np.sqrt(weights, dtype=np.float32)[None, :]
    shared = (weighted @ weighted.T).toarray().astype(np.float64)
    whole = np.diag(shared).copy()
    sizes = np.sqrt(np.outer(whole, whole)) + 1e-12
    compared = np.triu(np.ones((count, count), np.bool_), 1)
    for first, submission in enumerate(submissions):
        for second in range(first + 1, count):
            other = submissions[second]
            if (submission.is_earlier and other.is_earlier) or submission.student == other.student:
                compared[first, second] = False
    # half way between the evidence and the share of the whole: long programs share more by chance
    scores = np.where(compared, shared / np.sqrt(sizes), 0)
    values = scores[compared]
    usual, unusual = 0.0, np.inf
    if count >= FEWEST and len(values):
        usual, upper = np.quantile(values, [0.5, 0.9])
        # the upper tail of all pairs is exponential: its largest of m grows with ln m
        unusual = max(LEAST_EVIDENCE, usual + OUTSTANDING * (upper - usual) * np.log(len(values)))
    return SharedEvidence(
        scores=scores,
        shares=np.where(compared, shared / sizes, 0),
        compared=compared,
        usual=float(usual),
        unusual=float(unusual),
        weights=weights,
        features=features,
    )
