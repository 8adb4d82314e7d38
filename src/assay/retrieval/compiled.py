"""Loops over single units, compiled to machine code at their first call."""

from collections.abc import Callable
from typing import ParamSpec, TypeVar

from numba import njit

P = ParamSpec("P")
R = TypeVar("R")


def compiled(function: Callable[P, R]) -> Callable[P, R]:
    """The same function, compiled by numba when it is first called with arrays of these types.

    What was compiled is kept on disk for the next process: beside the module, or in the user's cache folder where that
    cannot be written. Where neither can be, every process compiles for itself, which takes seconds.
    """
    try:
        made: Callable[P, R] = njit(cache=True, nogil=True)(function)
    except RuntimeError:  # numba found no folder to keep it in
        made = njit(nogil=True)(function)
    return made
