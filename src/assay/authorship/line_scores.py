"""Evidence by line for scores of a language model: the lines of a piece that score highest by themselves."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from assay.authorship.units import CodeUnit, PatchedText
from assay.errors import Unscorable
from assay.scores import FrequencyTable, SampleInputs, ScoreRequest, View
from assay.scoring import restricted
from assay.types import TokenLogProbs, TokenStatistics

FEWEST_TOKENS = 5
"""Of a line that has a value; a bracket alone says nothing."""
SHOWN_LINES = 5

LineScores = tuple[tuple[int, float], ...]
"""(line of the file, score), the highest first."""


@dataclass(slots=True)
class LineKeeper:
    """Observer of the engine: keeps the highest lines of each piece by one score.

    Each line is scored by its own tokens, which the model read after the lines before them.

    Attributes:
        request: the score; it can be computed on a part of the tokens.
        texts: of the engine, with the lines that count: all of a piece, or the added ones of a patch.
        frequencies: of tokens, for a score that needs them.
        lines: position of a text → its lines.
    """

    request: ScoreRequest
    texts: Sequence[PatchedText]
    frequencies: FrequencyTable | None = None
    lines: dict[int, LineScores] = field(default_factory=dict)

    def __call__(self, position: int, statistics: TokenLogProbs) -> None:
        """Score the lines of one text; log-probabilities alone do not say where their tokens are."""
        if isinstance(statistics, TokenStatistics):
            scored = self._scored(self.texts[position], statistics)
            self.lines[position] = tuple(sorted(scored, key=lambda line: -line[1])[:SHOWN_LINES])

    def _scored(self, text: PatchedText, statistics: TokenStatistics) -> Iterator[tuple[int, float]]:
        starts = statistics.offsets[:, 0]
        for (start, stop), (_, line) in zip(text.spans, text.lines, strict=True):
            # a token belongs to the line in which it begins
            inside = (starts >= start) & (starts < stop)
            if inside.sum() < FEWEST_TOKENS:
                continue
            try:
                views: Mapping[View, TokenLogProbs] = {View(): restricted(statistics, inside)}
                value = self.request(SampleInputs(text.text[start:stop], views, self.frequencies))
            except Unscorable:  # the line has too few tokens of the kind that the score needs
                continue
            if np.isfinite(value):
                yield line, value


def whole(unit: CodeUnit) -> PatchedText:
    """Return a piece as a text all of whose lines count."""
    count = unit.text.count("\n") + 1
    of_file: Sequence[int] = range(unit.first_line, unit.first_line + count)
    if unit.surroundings is not None:  # added lines of a patch need not follow each other
        of_file = [line for _, line in unit.surroundings.lines][:count]
    return PatchedText(unit.text, tuple(enumerate(of_file, 1)))
