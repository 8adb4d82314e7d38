"""The parts of two programs that match, as runs of statements with gaps, and the names that took each other's place."""

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from assay.retrieval import Hashes
from assay.submissions.evidence import Program
from assay.submissions.statements import Statement
from assay.types import Float64Array

GAP = 4
"""Statements from one match to the next one of a run, on either side."""

REPEATS = 16
"""Occurrences of one statement that are tried on the other side."""

LEAST = 2
"""Statements of a run."""


@dataclass(frozen=True, slots=True)
class StatementPlace:
    """A statement: the number of its text, and itself."""

    text: int
    statement: Statement


@dataclass(frozen=True, slots=True)
class MatchedRun:
    """Statements of both programs that match, in order.

    Attributes:
        first, second: as many places of either program.
        weight: of the statements as evidence.
    """

    first: tuple[StatementPlace, ...]
    second: tuple[StatementPlace, ...]
    weight: float


def runs_of(first: Program, second: Program, weight_of: Callable[[Hashes], Float64Array]) -> list[MatchedRun]:
    """Return the runs, the strongest first; a statement belongs to one run."""
    left, right = _places(first), _places(second)
    at_code: dict[int, list[int]] = defaultdict(list)
    for at, place in enumerate(right):
        at_code[place.statement.code].append(at)
    codes = np.array([place.statement.code for place in left], np.uint64)
    weights = weight_of(codes) if len(codes) else np.empty(0)
    best: dict[tuple[int, int], tuple[float, tuple[int, int] | None]] = {}
    # from the end: each match continues with the strongest run that begins at most a gap behind it
    for at in range(len(left) - 1, -1, -1):
        for other in at_code.get(left[at].statement.code, ())[:REPEATS]:
            following: tuple[float, tuple[int, int] | None] = (0.0, None)
            for step in range(1, GAP + 1):
                for across in range(1, GAP + 1):
                    behind = (at + step, other + across)
                    if (
                        behind in best
                        and best[behind][0] > following[0]
                        and _same_texts(left, right=right, match=(at, other), behind=behind)
                    ):
                        following = (best[behind][0], behind)
            best[at, other] = (float(weights[at]) + 0.01 + following[0], following[1])
    return _greedy(best, left, right)


def _greedy(
    best: dict[tuple[int, int], tuple[float, tuple[int, int] | None]],
    left: Sequence[StatementPlace],
    right: Sequence[StatementPlace],
) -> list[MatchedRun]:
    used: tuple[set[int], set[int]] = (set(), set())
    runs = []
    for start in sorted(best, key=lambda match: (-best[match][0], match)):
        chain: list[tuple[int, int]] = []
        at: tuple[int, int] | None = start
        while at is not None and at[0] not in used[0] and at[1] not in used[1]:
            chain.append(at)
            at = best[at][1]
        weight = best[start][0] - (best[at][0] if at is not None else 0)
        if len(chain) < LEAST or weight < 1:
            continue
        used[0].update(match[0] for match in chain)
        used[1].update(match[1] for match in chain)
        runs.append(MatchedRun(tuple(left[at] for at, _ in chain), tuple(right[at] for _, at in chain), weight))
    return runs


def _same_texts(
    left: Sequence[StatementPlace], right: Sequence[StatementPlace], match: tuple[int, int], behind: tuple[int, int]
) -> bool:
    return left[match[0]].text == left[behind[0]].text and right[match[1]].text == right[behind[1]].text


def _places(program: Program) -> list[StatementPlace]:
    places = []
    for number, statements in enumerate(program.statements):
        places += [StatementPlace(number, statement) for statement in statements]
    return places


def renamed(runs: Sequence[MatchedRun]) -> dict[str, str]:
    """Return name of the first program → the one that most often stands for it in the second, where they differ."""
    votes: dict[str, Counter[str]] = defaultdict(Counter)
    for run in runs:
        for left, right in zip(run.first, run.second, strict=True):
            if len(left.statement.names) == len(right.statement.names):
                for name, other in zip(left.statement.names, right.statement.names, strict=True):
                    votes[name][other] += 1
    pairs = {}
    for name, others in votes.items():
        other, count = others.most_common(1)[0]
        if other != name and 2 * count > others.total() and count > 1:
            pairs[name] = other
    return pairs
