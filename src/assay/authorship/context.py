"""Added lines of a patch, scored given the part of the file before them."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import product

import numpy as np

from assay.authorship.detecting import LineKeeper, Scored, by_scores
from assay.authorship.units import LONGEST_TEXT, CodeUnit, PatchedText
from assay.errors import Unscorable
from assay.scores import SampleInputs, View
from assay.scoring import Plan, Progress, has_parts, restricted, score_samples
from assay.types import Sample, TokenLogProbs, TokenScorer, TokenStatistics

NEAR = 4_000
"""Characters before an added line that it is scored given; whole lines count. A long file costs no more than that."""


def by_scores_in_context(units: Sequence[CodeUnit], plan: Plan, progress: Progress | None = None) -> Scored:
    """Return the scores of pieces of code; of added lines from their tokens, given the text before them.

    Scores that need more than one pass over one text are those of the lines alone, as are all scores of a model that
    gives log-probabilities alone.

    Args:
        units: pieces of code.
        plan: models and scores; the answer rests on the first score.
        progress: called after every batch.

    Raises:
        ModelError: a model cannot be run.
    """
    requests = [request for request in plan.requests if has_parts(request)]
    rows = [row for row, unit in enumerate(units) if unit.surroundings is not None and len(unit.text) <= LONGEST_TEXT]
    if not rows or not requests or not isinstance(plan.models["target"], TokenScorer):
        return by_scores(units, plan, progress)
    # where every score can be read from a part of the tokens, added lines need no pass of their own
    left_out = frozenset(rows if len(requests) == len(plan.requests) else ())
    alone = by_scores(units, plan, _shifted(progress, 0, len(rows)), left_out=left_out)
    values = {name: column.copy() for name, column in alone.scores.items()}
    reasons = {name: list(column) for name, column in alone.reasons.items()}

    def keep(position: int, statistics: TokenLogProbs) -> None:
        unit = units[rows[position]]
        if not isinstance(statistics, TokenStatistics):
            return
        read.add(position)
        inside = np.zeros(len(statistics), np.bool_)
        for start, stop in around[position].spans:
            inside |= (statistics.offsets[:, 0] >= start) & (statistics.offsets[:, 0] < stop)
        if keeper.request in requests:
            keeper(position, statistics)
        own = restricted(statistics, inside)
        inputs = SampleInputs(unit.text, {View(): own}, plan.frequencies)
        for request in requests:
            if left_out:
                counts.update({(request.name, words): count(own) for words, count in request.definition.counts.items()})
            try:
                value, reason = request(inputs), None
            except Unscorable as outcome:
                value, reason = math.nan, str(outcome)
            values[request.name][rows[position]], reasons[request.name][rows[position]] = value, reason

    read, counts = set[int](), Counter(alone.counts)
    around = [near_lines(own) for row in rows if (own := units[row].surroundings)]
    samples = [Sample(str(row), own.text, units[row].language) for row, own in zip(rows, around, strict=True)]
    keeper = LineKeeper(plan.requests[0], around, plan.frequencies)
    whole = replace(plan, requests=tuple(requests), views=(View(),))
    table = score_samples(samples, whole, progress=_shifted(progress, len(units) - len(left_out), 0), observe=[keep])
    for request, position in product(requests, sorted({*range(len(rows))} - read)):
        values[request.name][rows[position]] = math.nan
        reasons[request.name][rows[position]] = table.reasons[request.name][position]
    of_patch = {rows[position]: lines for position, lines in keeper.lines.items()}
    return replace(
        alone,
        values=values[plan.requests[0].name],
        scores=values,
        reasons={name: tuple(column) for name, column in reasons.items()},
        counts=counts,
        lines=tuple(of_patch.get(row, of_piece) for row, of_piece in enumerate(alone.lines)),
    )


def _shifted(progress: Progress | None, before: int, after: int) -> Progress | None:
    """Return progress of a part of the texts, as progress of all."""
    return progress and (lambda done, total: progress(before + done, before + total + after))


def near_lines(whole: PatchedText, characters: int = NEAR) -> PatchedText:
    """Return the lines of a piece and those that begin at most so many characters before one of them.

    A causal model reads nothing behind a token, so the text behind the last line of the piece goes without any effect.
    """
    *ended, rest = whole.text.split("\n")
    content = [*(f"{line}\n" for line in ended), rest]
    starts = np.cumsum([0, *map(len, content)])
    own = np.array([line - 1 for line, _ in whole.lines])
    # a line is kept if the next line of the piece begins within reach of it
    following = np.searchsorted(own, np.arange(len(content)))  # the next line of the piece, or behind the last one
    reaches = np.append(starts[own], np.iinfo(np.int64).max)[following]
    kept = np.flatnonzero(reaches - starts[:-1] <= characters)
    place = {int(row): at for at, row in enumerate(kept, 1)}
    lines = tuple((place[line - 1], of_file) for line, of_file in whole.lines)
    return PatchedText("".join(content[row] for row in kept), lines)
