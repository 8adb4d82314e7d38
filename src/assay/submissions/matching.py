"""The parts of two programs that match, as runs of statements with gaps, and the names that took each other's place."""

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product

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
    for across, place in right.items():
        at_code[place.statement.code].append(across)
    # wider by a gap, so that a step on the right never reaches the next place on the left
    width = max(right, default=0) + GAP + 1
    behind = [step * width + across for step, across in product(range(1, GAP + 1), repeat=2)]
    weights = weight_of(np.array([place.statement.code for place in left.values()], np.uint64)) + 0.01
    # a match is a number, its place on the left times the width plus its place on the right
    best: dict[int, float] = {}
    nothing = [0.0] * len(behind)

    def following(match: int) -> int:
        return max(map(match.__add__, behind), key=lambda other: best.get(other, 0.0))

    # from the end: each match continues with the strongest run that begins at most a gap behind it
    for (at, place), weight in zip(reversed(left.items()), weights[::-1].tolist(), strict=True):
        for across in at_code.get(place.statement.code, ())[:REPEATS]:
            match = at * width + across
            best[match] = weight + max(map(best.get, map(match.__add__, behind), nothing))
    used: tuple[set[int], set[int]] = (set(), set())
    runs = []
    for start in sorted(best, key=lambda match: (-best[match], match)):
        if best[start] < 1:
            break
        chain: list[tuple[int, int]] = []
        match = start
        while match in best and match // width not in used[0] and match % width not in used[1]:
            chain.append(divmod(match, width))
            match = following(match)
        # the chain may have met a run that was taken before: what belongs to that one does not count
        weight = best[start] - best.get(match, 0.0)
        if len(chain) < LEAST or weight < 1:
            continue
        places = tuple(zip(*chain, strict=True))
        used[0].update(places[0])
        used[1].update(places[1])
        runs.append(
            MatchedRun(tuple(map(left.__getitem__, places[0])), tuple(map(right.__getitem__, places[1])), weight)
        )
    return runs


def _places(program: Program) -> dict[int, StatementPlace]:
    """Return the statements by their places, those of two texts so far apart that no run reaches across."""
    places: dict[int, StatementPlace] = {}
    for number, statements in enumerate(program.statements):
        first = len(places) + number * GAP
        places |= {at: StatementPlace(number, statement) for at, statement in enumerate(statements, first)}
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
        # most of its occurrences, and more than one: a single pair may be chance
        if other != name and 2 * count > others.total() and count > 1:
            pairs[name] = other
    return pairs
