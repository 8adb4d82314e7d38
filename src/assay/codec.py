"""Values as strict JSON: frozen dataclasses there and back, led by their type annotations.

NaN is written as null and the infinities as strings, since JSON has neither; reading turns them back where the
annotation says float.
"""

import dataclasses
import math
from collections.abc import Mapping
from enum import StrEnum
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np

T = TypeVar("T")


def encode(value: object) -> Any:  # noqa: ANN401  JSON has no narrower type
    """Return a value as dicts, lists, strings, numbers, booleans and null."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: encode(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(key): encode(item) for key, item in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return encode(value.tolist())
    if isinstance(value, list | tuple):
        return [encode(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else str(value)
    if value is None or isinstance(value, str | int | float):
        return value
    raise TypeError(f"{type(value).__name__} has no JSON form")


def decode(kind: type[T], data: Any) -> T:  # noqa: ANN401  JSON has no narrower type
    """Return the value of type `kind` that `encode` wrote.

    Raises:
        KeyError: a field without a default is missing.
        TypeError: a part is not what its annotation says.
        ValueError: a part cannot be read as what its annotation says.
    """
    value: T = _decode(kind, data)
    return value


def _decode(kind: Any, data: Any) -> Any:  # noqa: ANN401, C901, PLR0911  a table of cases, one a kind of annotation
    origin, arguments = get_origin(kind), get_args(kind)
    if hasattr(origin, "__value__"):  # an alias with parameters, as `NDArray` is in later versions of numpy
        return _decode(origin.__value__[arguments], data)
    if dataclasses.is_dataclass(kind) and isinstance(kind, type):
        return _decode_dataclass(kind, data)
    if origin in (Union, UnionType):
        if data is None and NoneType in arguments:
            return None
        return _decode(next(a for a in arguments if a is not NoneType), data)
    if origin is Literal:
        if data not in arguments:
            raise ValueError(f"{data!r} is none of {arguments}")
        return data
    if origin is tuple:
        return tuple(_decode(arguments[0], item) for item in _expect(list, data))
    if origin is np.ndarray:
        element = get_args(arguments[1])[0]
        return np.array([math.nan if item is None else item for item in _expect(list, data)], dtype=element)
    if isinstance(origin, type) and issubclass(origin, Mapping):
        key, item = arguments
        entries = {_decode(key, name): _decode(item, value) for name, value in _expect(dict, data).items()}
        return entries if key is str else dict(sorted(entries.items()))  # as text, "16" stands before "2"
    if isinstance(kind, type) and issubclass(kind, StrEnum):
        return kind(data)
    if kind is float:
        return math.nan if data is None else float(data)
    if kind is int and isinstance(data, str):  # a mapping's key
        return int(data)
    return _expect(kind, data)


def _decode_dataclass(kind: type, data: Any) -> Any:  # noqa: ANN401  led by annotations at run time
    hints = get_type_hints(kind)
    entries = _expect(dict, data)
    # a field with a default may be missing: a file of an earlier version has fewer
    needed = [f for f in dataclasses.fields(kind) if f.name in entries or f.default is dataclasses.MISSING]
    return kind(**{f.name: _decode(hints[f.name], entries[f.name]) for f in needed})


def _expect(kind: type, data: Any) -> Any:  # noqa: ANN401  led by annotations at run time
    if not isinstance(data, kind):
        raise TypeError(f"{type(data).__name__} where {kind.__name__} is expected")
    return data
