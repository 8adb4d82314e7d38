"""The first screen of a result: the answer, its reason, what was measured, what to do next.

    Contaminated
    The model knows tasks of the benchmark better than text that it cannot have seen.
    It has seen 41 % of the tasks (33 % to 50 %).
    next: assay report run/ lists the tasks

Every question gives its answer in this form, and every renderer shows it before anything else.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

MOST_VERDICT_WORDS = 4
MOST_REASON_WORDS = 20
MOST_NUMBERS = 3
"""Numbers on a line."""

LONGEST_LINE = 100

_NUMBER = re.compile(r"(?<![\w.-])[-+−]?\d[\d,]*(?:\.\d+)?(?![\w-])|(?<![\w.-])\.\d+")
"""A number that stands alone: the digits of a name (`GPL-2.0-or-later`, `part_2`) are none."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer of a question, one line each.

    Attributes:
        verdict: at most four words: "Contaminated", "Cannot tell yet".
        because: the reason, a sentence of at most twenty words without a number.
        measured: the main figure with its interval; at most three numbers.
        next_step: what would decide it, or what to do about it.
    """

    verdict: str
    because: str = ""
    measured: str = ""
    next_step: str = ""

    @property
    def lines(self) -> tuple[str, ...]:
        """The lines that are not empty, the verdict first."""
        step = f"next: {self.next_step}" if self.next_step else ""
        return tuple(line for line in (self.verdict, self.because, self.measured, step) if line)

    def __str__(self) -> str:
        """Return the verdict and its reason on one line."""
        return f"{self.verdict}. {self.because}" if self.because else self.verdict


def broken_limits(answer: Answer) -> Iterator[str]:
    """Yield each rule of a first screen that an answer breaks, for tests: the words of a result are ours to choose.

    Names of users (files, models) may be as long as they like, so no answer is refused for them when a command runs.
    """
    if len(answer.verdict.split()) > MOST_VERDICT_WORDS:
        yield f"received the verdict {answer.verdict!r}, expected at most {MOST_VERDICT_WORDS} words"
    if len(answer.because.split()) > MOST_REASON_WORDS:
        yield f"received the reason {answer.because!r}, expected at most {MOST_REASON_WORDS} words"
    if _NUMBER.search(answer.because):
        yield f"received the reason {answer.because!r}, expected no number in it"
    for line in answer.lines:
        if len(line) > LONGEST_LINE or "\n" in line:
            yield f"received the line {line!r}, expected one line of at most {LONGEST_LINE} characters"
        if len(_NUMBER.findall(line)) > MOST_NUMBERS:
            yield f"received the line {line!r}, expected at most {MOST_NUMBERS} numbers"
