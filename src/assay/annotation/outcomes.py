"""Outcomes and metrics of a log: a value is between 0 and 1, or it is refused with the names that can be chosen."""

import math
from collections.abc import Callable, Mapping, Sequence
from datetime import date

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
    usable = [name for name, values in metrics.items() if all(map(_is_outcome, values))]
    listed = f"expected {' or '.join(usable[:SHOWN]) or 'a metric between 0 and 1, and there is none'}"
    if requested is None:
        name = next(iter(metrics), None)
        if name is not None and len(metrics) > 1:
            others = ", ".join(list(metrics)[1 : SHOWN + 1])
            note(f"the outcomes are those of {name}; --metric NAME takes another: {others}")
    else:
        ending = tuple(f"{sign}{requested}" for sign in ".,")
        matches = [requested] if requested in metrics else [name for name in metrics if name.endswith(ending)]
        if not matches:
            beginning = [name for name in metrics if name.startswith((f"{requested}.", f"{requested},"))]
            matches = beginning[:1] if len(beginning) == 1 else []
        if len(matches) != 1:
            near = did_you_mean(requested, metrics)
            raise DataError(f"{place}: --metric {requested}: {listed}{near}")
        name = matches[0]
    if name is None or name not in usable:
        shown = next((value for value in metrics.get(name or "", ()) if not _is_outcome(value)), None)
        raise DataError(f"{place}: the metric {name} has the outcome {shown!r:.60}, {listed}, named with --metric")
    return name


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
