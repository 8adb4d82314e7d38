"""Lines of a query that also occur in a document, and the lines where they do."""

from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from assay.corpora import LineRange
from assay.retrieval import Fingerprints
from assay.types import Float64Array, Span

REPEATS = 64
"""Occurrences of one fingerprint in a document that are examined: repetitive code would give pairs without end."""

PAIRS = 1 << 16
"""Pairs of occurrences that are compared; with more, fewer occurrences of each fingerprint are examined on both sides.
 Without this bound a text that repeats one character takes minutes."""

JOINED = 1
"""Lines between two spans of the document that still let them become one."""

INSERTED = 4
"""The same of the query: statements without effect are put between those of a copy."""

_Pairs = NDArray[np.int64]
_Lines = tuple[int, int, int, int]
_Stretch = tuple[_Lines, NDArray[np.int64]]
"""Lines of both sides, and the positions of the fingerprints of the query."""


def spans(
    query: Fingerprints, document: Fingerprints, first_line: int = 1, weights: Float64Array | None = None
) -> tuple[Span, ...]:
    """Return the matched stretches in query order; each fingerprint of the query explains one stretch.

    A shared run of code gives fingerprints at a constant distance between both sides, not further apart than a window.
    The longest runs are taken first, then the rest of the others.

    Args:
        query: of one channel.
        document: of the same channel.
        first_line: line of its file at which the document begins.
        weights: of the query's fingerprints as evidence, [m]; None: 1 each.
    """
    pairs = _pairs(query, document)
    if not len(pairs):
        return ()
    free = np.zeros(len(query), np.bool_)
    free[pairs[:, 0]] = True
    waiting = int(free.sum())
    chosen: list[_Stretch] = []
    # greedy: the longest run takes its fingerprints first, so a repeated idiom cannot split a long copy into pieces
    for run in _longest_runs(query, document, pairs):
        left = run[free[run[:, 0]]]
        if len(left):
            free[left[:, 0]] = False
            waiting -= len(left)
            chosen.append((_lines(query, document, left), left[:, 0]))
        if not waiting:
            break
    below = first_line - 1
    weights = np.ones(len(query)) if weights is None else weights
    stretches = []
    for (first, last, start, stop), at in _joined(chosen):
        evidence = _evidence(query, weights, at)
        stretches.append(
            Span(
                query_first=first,
                query_last=last,
                document_first=start + below,
                document_last=stop + below,
                evidence=evidence,
            )
        )
    return tuple(stretches)


def query_lines(stretches: Iterable[Span]) -> list[LineRange]:
    """Return the lines of the query in each stretch."""
    return [LineRange(stretch.query_first, stretch.query_last) for stretch in stretches]


def document_lines(stretches: Iterable[Span], below: int = 0) -> list[LineRange]:
    """Return the lines of the document in each stretch; `below` is added to their numbers."""
    return [LineRange(span.document_first + below, span.document_last + below) for span in stretches]


def _evidence(query: Fingerprints, weights: Float64Array, at: NDArray[np.int64]) -> float:
    """Return the sum of the weights of distinct fingerprints."""
    _, first = np.unique(query.hashes[at], return_index=True)
    return round(float(weights[at[first]].sum()), 4)


def _pairs(query: Fingerprints, document: Fingerprints) -> _Pairs:
    """Return the positions [p, 2] of fingerprints of the query and the document that have the same hash."""
    order = np.argsort(document.hashes, kind="stable")
    ascending = document.hashes[order]
    starts = np.searchsorted(ascending, query.hashes, side="left")
    in_document = np.searchsorted(ascending, query.hashes, side="right") - starts
    counts = _counts(query, in_document)
    # each fingerprint of the query beside its run of equal hashes in the document, written out without a loop
    of_query = np.repeat(np.arange(len(query)), counts)
    within = np.arange(len(of_query)) - np.repeat(np.cumsum(counts) - counts, counts)
    return np.stack([of_query, order[np.repeat(starts, counts) + within]], axis=1)


def _counts(query: Fingerprints, in_document: _Pairs) -> _Pairs:
    """Return the number of occurrences in the document with which each fingerprint of the query is paired.

    Args:
        query: of one channel.
        in_document: int64 [q], how often each of its fingerprints occurs in the document.
    """
    repeats = REPEATS
    counts = np.minimum(in_document, repeats)
    if counts.sum() <= PAIRS:
        return counts
    order = np.argsort(query.hashes, kind="stable")
    _, first, sizes = np.unique(query.hashes[order], return_index=True, return_counts=True)
    occurrence = np.empty_like(order)  # of each fingerprint among the equal ones of the query, from 0
    occurrence[order] = np.arange(len(order)) - np.repeat(first, sizes)
    while counts.sum() > PAIRS and repeats > 1:
        repeats //= 2
        counts = np.where(occurrence < repeats, np.minimum(in_document, repeats), 0)
    return counts


def _longest_runs(query: Fingerprints, document: Fingerprints, pairs: _Pairs) -> Iterator[_Pairs]:
    """Yield runs of pairs on one diagonal, the longest first.

    Winnowing keeps a fingerprint in each window, so a gap longer than a window is not shared code and ends the run.
    """
    # On a plot of document against query a shared run is a stretch of one diagonal: both positions grow alike. Sorted
    # by diagonal and position, runs are neighbours, and a change of diagonal or a wide gap ends them.
    at = query.positions[pairs[:, 0]]
    diagonal = document.positions[pairs[:, 1]] - at
    order = np.lexsort((at, diagonal))
    pairs, at, diagonal = pairs[order], at[order], diagonal[order]
    cuts = np.flatnonzero((np.diff(diagonal) != 0) | (np.diff(at) > query.channel.w)) + 1
    starts, stops = np.concatenate([[0], cuts]), np.concatenate([cuts, [len(pairs)]])
    for run in np.lexsort((pairs[starts, 1], pairs[starts, 0], starts - stops)).tolist():
        yield pairs[starts[run] : stops[run]]


def _lines(query: Fingerprints, document: Fingerprints, run: _Pairs) -> _Lines:
    of_query, of_document = run[:, 0], run[:, 1]
    return (
        int(query.lines[of_query[0]]),
        int(query.last_lines[of_query].max()),
        int(document.lines[of_document[0]]),
        int(document.last_lines[of_document].max()),
    )


def _joined(chosen: list[_Stretch]) -> list[_Stretch]:
    """Join stretches that are neighbours on both sides."""
    joined: list[_Stretch] = []
    for lines, at in sorted(chosen, key=lambda stretch: stretch[0]):
        if joined and _follows(joined[-1][0], lines):
            before, earlier = joined.pop()
            both = before[0], max(before[1], lines[1]), before[2], max(before[3], lines[3])
            joined.append((both, np.concatenate([earlier, at])))
        else:
            joined.append((lines, at))
    return joined


def _follows(before: _Lines, after: _Lines) -> bool:
    near = after[0] <= before[1] + 1 + INSERTED and before[2] <= after[2] <= before[3] + 1 + JOINED
    inside = before[0] <= after[0] and after[1] <= before[1] and before[2] <= after[2] and after[3] <= before[3]
    return near or inside
