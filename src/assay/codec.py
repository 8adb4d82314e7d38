"""Values as strict JSON: frozen dataclasses there and back, led by their type annotations.

NaN is written as null and the infinities as strings, since JSON has neither; reading turns them back where the
annotation says float.
"""

import dataclasses
import math
from collections.abc import Callable, Mapping
from enum import StrEnum
from functools import partial
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np

T = TypeVar("T")

INFINITIES = (str(math.inf), str(-math.inf))
PLAIN = frozenset({str, int, bool, NoneType})
"""Types whose values are JSON as they are; not their subclasses, among them the numbers of numpy."""


def encode(value: object) -> Any:  # noqa: ANN401  JSON has no narrower type
    """Return a value as dicts, lists, strings, numbers, booleans and null."""
    # nearly all parts of a large value are plain, and no question about a type is as quick as this one
    if type(value) in PLAIN:
        return value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: encode(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(key): encode(item) for key, item in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        # numbers of Python, in which NaN and infinity are looked for again
        return encode(value.tolist())
    if isinstance(value, list | tuple):
        return [encode(item) for item in value]
    if not isinstance(value, str | int | float):
        raise TypeError(f"{type(value).__name__} has no JSON form")
    if isinstance(value, float) and not math.isfinite(value):
        value = None if math.isnan(value) else str(value)
    return value


def decode(kind: type[T], data: Any) -> T:  # noqa: ANN401  JSON has no narrower type
    """Return the value of type `kind` that `encode` wrote.

    Raises:
        KeyError: a field without a default is missing.
        TypeError: a part is not what its annotation says.
        ValueError: a part cannot be read as what its annotation says.
    """
    value: T = _decode(kind, data)
    return value


def _decode(kind: Any, data: Any) -> Any:  # noqa: ANN401  led by annotations at run time
    origin = get_origin(kind)
    if origin is not None:
        return _decode_generic(kind, origin, data)
    if dataclasses.is_dataclass(kind):
        return _decode_dataclass(kind, data)
    if isinstance(kind, type) and issubclass(kind, StrEnum):
        return kind(data)
    if kind is float:
        return _number(data)
    # a mapping's key
    if kind is int and isinstance(data, str):
        return int(data)
    return _expect(kind, data)


def _decode_generic(kind: Any, origin: Any, data: Any) -> Any:  # noqa: ANN401
    """Return the value of a type with parameters, such as `tuple[int, ...]`."""
    arguments = get_args(kind)
    # an alias with parameters, as `NDArray` is in later versions of numpy
    if hasattr(origin, "__value__"):
        return _decode(origin.__value__[arguments], data)
    if origin in GENERIC:
        return GENERIC[origin](arguments, data)
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return _decode_mapping(arguments, _expect(dict, data))
    return _expect(kind, data)


def _decode_optional(arguments: tuple[Any, ...], data: Any) -> Any:  # noqa: ANN401
    if data is None and NoneType in arguments:
        return None
    return _decode(next(each for each in arguments if each is not NoneType), data)


def _decode_choice(arguments: tuple[Any, ...], data: Any) -> Any:  # noqa: ANN401
    if data not in arguments:
        raise ValueError(f"{data!r} is none of {arguments}")
    return data


def _decode_tuple(arguments: tuple[Any, ...], data: Any) -> tuple[Any, ...]:  # noqa: ANN401
    return tuple(map(partial(_decode, arguments[0]), _expect(list, data)))


def _decode_array(arguments: tuple[Any, ...], data: Any) -> Any:  # noqa: ANN401
    return np.array(list(map(_or_nan, _expect(list, data))), dtype=get_args(arguments[1])[0])


GENERIC: Mapping[Any, Callable[[tuple[Any, ...], Any], Any]] = {
    Union: _decode_optional,
    UnionType: _decode_optional,
    Literal: _decode_choice,
    tuple: _decode_tuple,
    np.ndarray: _decode_array,
}
"""Type with parameters → what reads its values, from the parameters and the JSON value."""


def _decode_mapping(arguments: tuple[Any, ...], data: Mapping[str, Any]) -> dict[Any, Any]:
    key, item = arguments
    # JSON has names of text alone: a number as a key is written as one
    read = key if key in (int, float) else partial(_decode, key)
    entries = {read(name): _decode(item, value) for name, value in data.items()}
    if key is str:
        return entries
    # as text, "16" stands before "2"
    return dict(sorted(entries.items()))


def _or_nan(item: Any) -> Any:  # noqa: ANN401
    """Return an element of an array: null is NaN."""
    if item is None:
        return math.nan
    return item


def _decode_dataclass(kind: Any, data: Any) -> Any:  # noqa: ANN401  led by annotations at run time
    hints = get_type_hints(kind)
    entries = _expect(dict, data)
    # a field with a default may be missing: a file of an earlier version has fewer
    fields = dataclasses.fields(kind)
    needed = [f for f in fields if f.name in entries or f.default is f.default_factory is dataclasses.MISSING]
    return kind(**{f.name: _decode(hints[f.name], entries[f.name]) for f in needed})


def _number(data: Any) -> float:  # noqa: ANN401  led by annotations at run time
    if data is None:
        return math.nan
    if isinstance(data, bool) or (isinstance(data, str) and data not in INFINITIES):
        raise TypeError(f"{data!r:.40} where a number is expected")
    try:
        return float(data)
    except OverflowError:
        raise ValueError("an integer that is larger than every float") from None


def _expect(kind: type, data: Any) -> Any:  # noqa: ANN401  led by annotations at run time
    # True is an int in Python, and in JSON it is not
    if not isinstance(data, kind) or (kind is int and isinstance(data, bool)):
        raise TypeError(f"{type(data).__name__} where {kind.__name__} is expected")
    return data
