"""Compilation of loops over single units to machine code, at their first call."""

from collections.abc import Callable
from pathlib import Path
from typing import ParamSpec, TypeVar

from assay.errors import DataError

# numba takes settings from the current folder, one of them the folder of compiled code, which is a folder of pickles
NUMBA_SETTINGS = Path(".numba_config.yaml")
if NUMBA_SETTINGS.exists():
    raise DataError(
        f"{NUMBA_SETTINGS.absolute()}: received settings of numba, which can make it run code, expected a current "
        "folder without this file: variables NUMBA_… set the same"
    )

from numba import njit  # noqa: E402

P = ParamSpec("P")
R = TypeVar("R")


def compiled(function: Callable[P, R]) -> Callable[P, R]:
    """Return the same function, compiled by numba when it is first called with arrays of these types.

    The machine code is stored on disk for the next process: beside the module, or in the cache folder of the user if
    the former cannot be written. If neither can be written, every process compiles again, which takes seconds.
    """
    try:
        machine_code: Callable[P, R] = njit(cache=True, nogil=True)(function)
    except RuntimeError:  # numba cannot write to any cache folder
        machine_code = njit(nogil=True)(function)
    return machine_code
