"""Outcomes and metrics of a log: a value is between 0 and 1, or it is refused with the names that can be chosen."""

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import date
from itertools import filterfalse

from assay.errors import DataError, did_you_mean

WORDS = {"pass": 1.0, "passed": 1.0, "true": 1.0, "fail": 0.0, "failed": 0.0, "false": 0.0}
"""Words of tables for an outcome, in lower case."""
SHOWN = 8


def outcome(value: object) -> float:
    """Return an outcome between 0 and 1; NaN for NaN, by which a harness marks a sample that was not scored.

    Raises:
        ValueError: a value that is no outcome of one task.
    """
    if isinstance(value, str):
        word = value.strip().lower()
        value = WORDS[word] if word in WORDS else float(word)
    # NaN compares with nothing, and an int may be too large for a float
    if isinstance(value, bool | int | float) and not (value < 0 or value > 1):
        return float(value)
    raise ValueError(value)


def outcome_at(value: object, place: str) -> float | None:
    """Return an outcome; None for NaN.

    Raises:
        DataError: a value that is no outcome of one task.
    """
    try:
        number = outcome(value)
    except ValueError:
        expected = "expected pass, fail, true, false or a number between 0 and 1"
        raise DataError(f"{place}: received the outcome {value!r:.60}, {expected}") from None
    return None if math.isnan(number) else number


def status_at(value: object, words: Mapping[str, float], place: str) -> float:
    """Return the outcome that a word of a harness stands for.

    Raises:
        DataError: a word that is none of its own.
    """
    if not isinstance(value, str) or value not in words:
        raise DataError(f"{place}: received the outcome {value!r:.60}, expected {', '.join(words)}")
    return words[value]


def choose_metric(
    requested: str | None, metrics: Mapping[str, Sequence[object]], place: str, note: Callable[[str], None]
) -> str:
    """Return the metric that was requested, by its name or by the end of it, else the first one.

    Args:
        requested: its name; None for the first one.
        metrics: name → its values in the log.
        place: begins the error line.
        note: takes a sentence on what was guessed.

    Raises:
        DataError: there is no such metric, or its values are no outcomes; the names that can be chosen are listed.
    """
    # one value that is no outcome, such as a length, and the metric is none
    usable = [name for name, values in metrics.items() if all(map(_is_outcome, values))]
    listed = f"expected {' or '.join(usable[:SHOWN]) or 'a metric between 0 and 1, and there is none'}"
    name = next(iter(metrics), None)
    if requested is not None:
        name = _named(requested, metrics)
        if name is None:
            raise DataError(f"{place}: --metric {requested}: {listed}{did_you_mean(requested, metrics)}")
    if name not in usable or name is None:
        shown = next(iter(filterfalse(_is_outcome, metrics.get(name or "", ()))), None)
        raise DataError(f"{place}: the metric {name} has the outcome {shown!r:.60}, {listed}, named with --metric")
    if requested is None and len(metrics) > 1:
        others = ", ".join(list(metrics)[: SHOWN + 1])
        note(f"the outcomes are those of {name}; --metric NAME takes another of {others}")
    return name


def _named(requested: str, metrics: Collection[str]) -> str | None:
    """Return the metric of a name, else the only one that ends or begins with it: `key` or `scorer` of `scorer.key`."""
    if requested in metrics:
        return requested
    ending = [name for name in metrics if name.endswith((f".{requested}", f",{requested}"))]
    beginning = [name for name in metrics if name.startswith((f"{requested}.", f"{requested},"))]
    # `key` names one value of a scorer, `scorer` any of its values: the first says more
    matches = ending or beginning
    return matches[0] if len(matches) == 1 else None


def _is_outcome(value: object) -> bool:
    try:
        outcome(value)
    except ValueError:
        return False
    return True


def day_of(value: object) -> date | None:
    """Return the day at the beginning of an ISO date; None for anything else."""
    try:
        return date.fromisoformat(str(value)[:10])
    except ValueError:
        return None
