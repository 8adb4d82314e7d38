"""Added lines of a patch, scored given the part of the file before them."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Self

import numpy as np

from assay.authorship.detecting import LineKeeper, Scored, by_scores
from assay.authorship.units import LONGEST_TEXT, CodeUnit, PatchedText
from assay.errors import Unscorable
from assay.scores import SampleInputs, ScoreRequest, View
from assay.scoring import Plan, Progress, has_parts, restricted, score_samples
from assay.types import Float64Array, Sample, TokenLogProbs, TokenScorer, TokenStatistics

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
    requests = tuple(filter(has_parts, plan.requests))
    rows = [row for row, unit in enumerate(units) if unit.surroundings is not None and len(unit.text) <= LONGEST_TEXT]
    if not rows or not requests or not isinstance(plan.models["target"], TokenScorer):
        return by_scores(units, plan, progress)
    # where every score can be read from a part of the tokens, added lines need no pass of their own
    left_out = frozenset(rows if len(requests) == len(plan.requests) else ())
    alone = by_scores(units, plan, _shifted(progress, 0, len(rows)), left_out=left_out)
    patches = list(map(units.__getitem__, rows))
    keeper = AddedLinesKeeper.over(alone, units=patches, rows=rows, requests=requests, plan=plan)
    samples = [
        Sample(str(row), text.text, units[row].language) for row, text in zip(rows, keeper.lines.texts, strict=True)
    ]
    in_context = replace(plan, requests=requests, views=(View(),))
    report = _shifted(progress, len(units) - len(left_out), 0)
    table = score_samples(samples, in_context, progress=report, observe=[keeper])
    # a text that the engine gave up has its reason in the table, since the keeper never saw its tokens
    for request in requests:
        for position in keeper.unread():
            keeper.put(position, request.name, value=math.nan, reason=table.reasons[request.name][position])
    counts = Counter(alone.counts)
    if left_out:
        counts.update(keeper.counts)
    lines = list(alone.lines)
    for position, of_patch in keeper.lines.lines.items():
        lines[rows[position]] = of_patch
    return replace(
        alone,
        values=keeper.values[plan.requests[0].name],
        scores=keeper.values,
        reasons={name: tuple(column) for name, column in keeper.reasons.items()},
        counts=counts,
        lines=tuple(lines),
    )


@dataclass(slots=True)
class AddedLinesKeeper:
    """Observer of the engine: scores the added lines of patches by their own tokens.

    Attributes:
        rows: position of a text in the engine → row of its piece.
        units: the pieces.
        requests: scores that can be read from a part of the tokens.
        lines: keeps the lines that count most.
        values: score → float64 [pieces].
        reasons: score → why there is no value, or None, per piece.
        counts: (score, words) → number over all added lines.
        read: positions whose tokens have arrived.
    """

    rows: Sequence[int]
    units: Sequence[CodeUnit]
    requests: Sequence[ScoreRequest]
    lines: LineKeeper
    values: dict[str, Float64Array]
    reasons: dict[str, list[str | None]]
    counts: Counter[tuple[str, str]] = field(default_factory=Counter)
    read: set[int] = field(default_factory=set)

    @classmethod
    def over(
        cls,
        alone: Scored,
        units: Sequence[CodeUnit],
        rows: Sequence[int],
        requests: Sequence[ScoreRequest],
        plan: Plan,
    ) -> Self:
        """Return a keeper that starts from the scores of the pieces alone."""
        texts = [near_lines(unit.surroundings) for unit in units if unit.surroundings is not None]
        return cls(
            rows=rows,
            units=units,
            requests=requests,
            lines=LineKeeper(plan.requests[0], texts, plan.frequencies),
            values={name: column.copy() for name, column in alone.scores.items()},
            reasons={name: list(column) for name, column in alone.reasons.items()},
        )

    def __call__(self, position: int, statistics: TokenLogProbs) -> None:
        """Score the added lines of one text; log-probabilities alone do not say where their tokens are."""
        if not isinstance(statistics, TokenStatistics):
            return
        self.read.add(position)
        if self.lines.request in self.requests:
            self.lines(position, statistics)
        # a token belongs to the line in which it begins, as in `LineKeeper`
        starts = statistics.offsets[:, 0]
        inside = np.zeros(len(statistics), np.bool_)
        for start, stop in self.lines.texts[position].spans:
            inside |= (starts >= start) & (starts < stop)
        own = restricted(statistics, inside)
        inputs = SampleInputs(self.units[position].text, {View(): own}, self.lines.frequencies)
        for request in self.requests:
            for words, counted in request.definition.counts.items():
                self.counts[request.name, words] += counted(own)
            try:
                self.put(position, name=request.name, value=request(inputs), reason=None)
            except Unscorable as outcome:
                self.put(position, name=request.name, value=math.nan, reason=str(outcome))

    def put(self, position: int, name: str, value: float, reason: str | None) -> None:
        """Record the value of a score for one text, or why there is none."""
        row = self.rows[position]
        self.values[name][row], self.reasons[name][row] = value, reason

    def unread(self) -> list[int]:
        """Positions whose tokens never arrived, ascending."""
        return sorted(set(range(len(self.rows))) - self.read)


def _shifted(progress: Progress | None, before: int, after: int) -> Progress | None:
    """Return progress of a part of the texts, as progress of all."""
    if progress is None:
        return None
    return lambda done, total: progress(before + done, before + total + after)


def near_lines(whole: PatchedText, characters: int = NEAR) -> PatchedText:
    """Return the lines of a piece and those that begin at most so many characters before one of them.

    A causal model reads nothing behind a token, so the text behind the last line of the piece goes without any effect.
    """
    *ended, rest = whole.text.split("\n")
    content = [*map("{}\n".format, ended), rest]
    starts = np.cumsum([0, *map(len, content)])
    own = np.array(whole.lines)[:, 0] - 1
    # a line is kept if the next line of the piece begins within reach of it
    following = np.searchsorted(own, np.arange(len(content)))  # the next line of the piece, or behind the last one
    # behind the last line of the piece nothing follows: an end that no line reaches
    reaches = np.append(starts[own], np.iinfo(np.int64).max)[following]
    kept = np.flatnonzero(reaches - starts[:-1] <= characters)
    place = dict(zip(kept.tolist(), count(1), strict=False))
    lines = tuple((place[line - 1], of_file) for line, of_file in whole.lines)
    return PatchedText("".join(map(content.__getitem__, kept)), lines)
