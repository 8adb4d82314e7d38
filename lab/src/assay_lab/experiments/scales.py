"""Sizes of a family of experiments at a scale, or as a configuration file changes them."""

import json
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from pydantic import Field, TypeAdapter, ValidationError

from assay.errors import DataError
from assay_lab.columns import without
from assay_lab.experiments.bench import Bench
from assay_lab.experiments.declaration import FULL
from assay_lab.testbed import SCALES, is_file

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Count = Annotated[int, Field(ge=1)]
Several = Annotated[int, Field(ge=2)]
Share = Annotated[float, Field(ge=0, le=1)]
Counts = Annotated[tuple[Count, ...], Field(min_length=1)]
"""Kinds of sizes; a key of a file that is none is refused in one line."""
Sizes = TypeVar("Sizes", bound="DataclassInstance")


def sizes_of(bench: Bench, family: str, scales: Mapping[str, Sizes]) -> Sizes:
    """Return the sizes of a family of experiments.

    Args:
        bench: its scale is one of `scales`, or a configuration file, whose table of the family changes those of "full".
        family: name of the paper, and of its table in a configuration file.
        scales: scale → sizes.

    Raises:
        DataError: there is no such scale, or the file has an unknown key or a value of the wrong kind.
    """
    if not is_file(bench.scale):
        if bench.scale not in scales:
            raise DataError(f"scale {bench.scale!r}: expected one of {', '.join(scales)}, or a configuration file")
        # a rehearsal divides the sizes of its scale
        return changed_sizes(scales[bench.scale], bench.sizes.get(family, {}), where=f"{bench.scale}: {family}")
    return changed_sizes(scales[FULL], bench.sizes.get(family, {}), where=f"{Path(bench.scale).name}: {family}")


def check_scale(name: str) -> None:
    """Refuse a scale that nothing has, before anything else is looked at.

    Raises:
        DataError: it is neither one of `SCALES` nor a configuration file.
    """
    if name not in SCALES and not is_file(name):
        raise DataError(f"scale {name!r}: expected one of {', '.join(SCALES)}, or a configuration file (.toml, .json)")


def changed_sizes(sizes: Sizes, changes: Mapping[str, Any], *, where: str) -> Sizes:
    """Return sizes with other values of some fields; arguments as `sizes_of`."""
    defaults = asdict(sizes)
    if unknown := without(changes, defaults):
        raise DataError(f"{where}.{unknown[0]}: no such key; expected some of {', '.join(defaults)}")
    try:
        # through JSON, where a list is a tuple even if values are taken strictly
        checked = TypeAdapter(type(sizes)).validate_json(json.dumps({**defaults, **changes}, default=str), strict=True)
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(map(str, first["loc"]))
        raise DataError(f"{where}.{key} = {first['input']!r}: {first['msg'].lower()}") from error
    return replace(sizes, **{key: getattr(checked, key) for key in changes})
