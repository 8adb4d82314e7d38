"""Choice of the immutable files to merge, so that a query reads few of them and no content is rewritten often."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

File = TypeVar("File")

FANOUT = 4
"""Files of about the same size that are merged: content is rewritten log4(growth) times."""

DEAD_SHARE = 0.25
"""Share of the documents of a file; if more were removed, the file is rewritten."""


@dataclass(frozen=True, slots=True)
class MergePolicy(Generic[File]):
    """When files of one kind are merged.

    Attributes:
        size: of a file, in postings or vectors.
        dead_share: share of the documents of a file that were removed, 0 to 1.
        most: largest size of a merged file, so that no merge takes hours.
        least_tier: files below this size are in one tier.
    """

    size: Callable[[File], int]
    dead_share: Callable[[File], float]
    most: int
    least_tier: int

    def to_merge(self, files: Sequence[File], *, everything: bool = False) -> list[File]:
        """Return the files to merge next; empty if none need be."""
        if everything:
            fitting = self._fitting(files)
            return fitting if len(fitting) > 1 or any(map(self.dead_share, fitting)) else []
        for file in files:
            if self.dead_share(file) > DEAD_SHARE:
                return [file]
        for tier in sorted(set(map(self._tier, files))):
            up_to = self._fitting([file for file in files if self._tier(file) <= tier])
            if sum(self._tier(file) == tier for file in up_to) >= FANOUT:
                return up_to
        return []

    def _tier(self, file: File) -> int:
        return (max(self.size(file) // self.least_tier, 1).bit_length() - 1) // 2

    def _fitting(self, files: Sequence[File]) -> list[File]:
        """Return the smallest files, as many as fit into one."""
        fitting: list[File] = []
        total = 0
        for file in sorted(files, key=self.size):
            total += self.size(file)
            if total > self.most:
                break
            fitting.append(file)
        return fitting
