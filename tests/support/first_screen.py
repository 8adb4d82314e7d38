"""The limits of a first screen: the words of a result are ours to choose, and few enough to be read at once."""

import re
from collections.abc import Iterator

from assay.reports import Answer

MOST_VERDICT_WORDS = 4
MOST_REASON_WORDS = 20
MOST_NUMBERS = 3
"""Numbers on a line."""

LONGEST_LINE = 100

_NUMBER = re.compile(r"(?<![\w.-])[-+−]?\d[\d,]*(?:\.\d+)?(?![\w-])|(?<![\w.-])\.\d+")
"""A number that stands alone: the digits of a name (`GPL-2.0-or-later`, `part_2`) are none."""


def broken_limits(answer: Answer) -> Iterator[str]:
    """Yield each rule of a first screen that an answer breaks.

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
