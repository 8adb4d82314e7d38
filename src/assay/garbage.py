"""The cyclic garbage collector of Python, out of the way of work that makes many objects which stay."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def garbage_collection_paused() -> Iterator[None]:
    """Pause the cyclic garbage collector.

    A syntax tree or an imported library is many objects and hardly a cycle: the collector would walk them again and
    again while they grow.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
