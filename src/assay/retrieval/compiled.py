"""Compilation of loops over single units to machine code, at their first call."""

from collections.abc import Callable
from typing import ParamSpec, TypeVar

from numba import njit

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
