"""Parameters of detectors: keyword-only arguments, and the values that their types accept."""

import inspect
import operator
from collections.abc import Callable, Mapping
from functools import cache
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

from annotated_types import Interval

from assay.errors import ScoreError

Share = Annotated[float, Interval(gt=0, le=1)]
Count = Annotated[int, Interval(ge=1)]
_RELATIONS = {"gt": "above", "ge": "at least", "lt": "below", "le": "at most"}
"""Field of an `Interval`, which is also the name of its comparison → the relation in words."""


def defaults_of(function: Callable[..., object]) -> dict[str, Any]:
    """Return the keyword-only parameters of a function with their defaults."""
    parameters = inspect.signature(function).parameters.values()
    return {entry.name: entry.default for entry in parameters if entry.kind is inspect.Parameter.KEYWORD_ONLY}


def check_parameters(name: str, function: Callable[..., object], values: Mapping[str, object]) -> None:
    """Check values against the types of a detector's parameters: a `Literal`, or a number in an `Interval`.

    Args:
        name: of the detector, for the error.
        function: has the parameters.
        values: parameter → value.

    Raises:
        ScoreError: a value is outside of its type.
    """
    for key, value in values.items():
        expected = _expected(_hints(function).get(key), value)
        if expected is not None:
            raise ScoreError(f"{name}: {key} is {value!r}, expected {expected}")


@cache
def _hints(function: Callable[..., object]) -> Mapping[str, Any]:
    return get_type_hints(function, include_extras=True)


def _expected(hint: Any, value: Any) -> str | None:  # noqa: ANN401  any annotation, any value
    """Return the description of the accepted values; None where the value is one of them."""
    if get_origin(hint) is Literal:
        values = get_args(hint)
        return None if value in values else " or ".join(map(str, values))
    # the fields of an `Interval` are named as the functions of `operator` that compare
    bounds, holds = [], True
    for interval in getattr(hint, "__metadata__", ()):
        if isinstance(interval, Interval):
            for relation, words in _RELATIONS.items():
                bound = getattr(interval, relation)
                if bound is not None:
                    bounds.append(f"{words} {bound}")
                    holds &= getattr(operator, relation)(value, bound)
    return None if holds else " and ".join(bounds)
