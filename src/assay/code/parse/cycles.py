"""Python's search for cycles of objects, put off while something grows that has none."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def cycles_let_be() -> Iterator[None]:
    """A syntax tree is many objects and no cycle: to look for cycles while it grows takes as long as to parse."""
    looked_for = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if looked_for:
            gc.enable()
