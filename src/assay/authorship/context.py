"""Added lines of a patch, scored given the part of the file before them."""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from assay.authorship.detecting import Scored
from assay.authorship.units import CodeUnit, PatchedText
from assay.errors import Unscorable
from assay.scores import SampleInputs, View
from assay.scoring import Plan, Progress, has_parts, restricted, score_samples
from assay.types import Sample, TokenLogProbs, TokenStatistics

NEAR = 4_000
"""Characters before an added line that it is scored given; whole lines count. A long file costs no more than that."""


def in_context(units: Sequence[CodeUnit], plan: Plan, scored: Scored, progress: Progress | None = None) -> Scored:
    """Return the scores of pieces with surroundings from the tokens of the piece, given the text before them.

    Scores that need more than one pass over one text stay those of the lines alone, as do all scores of a model that
    gives log-probabilities alone.

    Args:
        units: the pieces that were scored.
        plan: models and scores.
        scored: of the pieces alone.
        progress: called after every batch.

    Raises:
        ModelError: the model cannot be run.
    """
    rows = [row for row, unit in enumerate(units) if unit.surroundings is not None]
    requests = [request for request in plan.requests if has_parts(request)]
    if not rows or not requests:
        return scored
    values = {name: column.copy() for name, column in scored.scores.items()}
    reasons = {name: list(column) for name, column in scored.reasons.items()}

    def keep(position: int, statistics: TokenLogProbs) -> None:
        unit = units[rows[position]]
        if not isinstance(statistics, TokenStatistics):
            return
        inside = np.zeros(len(statistics), np.bool_)
        for start, stop in around[position].spans:
            inside |= (statistics.offsets[:, 0] >= start) & (statistics.offsets[:, 0] < stop)
        inputs = SampleInputs(unit.text, {View(): restricted(statistics, inside)}, plan.frequencies)
        for request in requests:
            try:
                value, reason = request(inputs), None
            except Unscorable as outcome:
                value, reason = math.nan, str(outcome)
            values[request.name][rows[position]], reasons[request.name][rows[position]] = value, reason

    around = [near_lines(own) for row in rows if (own := units[row].surroundings)]
    samples = [Sample(str(row), own.text, units[row].language) for row, own in zip(rows, around, strict=True)]
    score_samples(samples, replace(plan, requests=tuple(requests), views=(View(),)), progress=progress, observe=keep)
    primary = plan.requests[0].name
    return replace(
        scored,
        values=values.get(primary, scored.values),
        scores=values,
        reasons={name: tuple(column) for name, column in reasons.items()},
    )


def near_lines(whole: PatchedText, characters: int = NEAR) -> PatchedText:
    """Return the lines of a piece and those that begin at most so many characters before one of them.

    A causal model reads nothing behind a token, so the text behind the last line of the piece goes without any effect.
    """
    *ended, rest = whole.text.split("\n")
    content = [*(f"{line}\n" for line in ended), rest]
    starts = np.cumsum([0, *map(len, content)])
    own = np.array([line - 1 for line, _ in whole.lines])
    following = np.searchsorted(own, np.arange(len(content)))  # the next line of the piece, or behind the last one
    reaches = np.append(starts[own], np.iinfo(np.int64).max)[following]
    kept = np.flatnonzero(reaches - starts[:-1] <= characters)
    place = {int(row): at for at, row in enumerate(kept, 1)}
    lines = tuple((place[line - 1], of_file) for line, of_file in whole.lines)
    return PatchedText("".join(content[row] for row in kept), lines)
