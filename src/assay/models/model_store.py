"""The entries of one model in the cache. A cache that fails costs time, not the run."""

import logging
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from assay.errors import CacheError
from assay.models.cache import StatisticsCache

LOG = logging.getLogger("assay")

Value = TypeVar("Value")


class ModelStore:
    """Entries of one model. The first failure (disk full, file damaged) is reported, and the cache is no longer used.

    Attributes:
        cache: the file.
        digest: of the model; entries are kept under it.
        name: what the user calls the model.
    """

    def __init__(
        self, cache: StatisticsCache, digest: str, name: str, *, on_problem: Callable[[str], None] = LOG.warning
    ) -> None:
        self.cache = cache
        self.digest = digest
        self.name = name
        self._on_problem = on_problem
        self._usable = True

    def lookup(self, keys: Iterable[bytes], unpack: Callable[[bytes], Value]) -> dict[bytes, Value]:
        """Return the entries held under these keys; `unpack` raises ValueError for a damaged one."""
        if not self._usable:
            return {}
        try:
            return self.cache.rows(self.digest, keys, unpack)
        except CacheError as error:
            self._give_up(error)
            return {}

    def write(self, rows: Sequence[tuple[bytes, bytes]]) -> None:
        """Keep entries by key."""
        if not self._usable or not rows:
            return
        try:
            self.cache.write_rows(self.digest, self.name, rows)
        except CacheError as error:
            self._give_up(error)

    def _give_up(self, error: CacheError) -> None:
        self._usable = False
        self._on_problem(f"{error}; going on without the cache")
