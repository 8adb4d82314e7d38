"""The code that a change adds."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType

from assay.corpora import SourceChange, SourceText, WrittenPath


@dataclass(frozen=True)
class ChangedCode:
    """The code that a change adds, read once.

    Attributes:
        change: of a branch or of the index.
        files: source files, each with the numbers of the lines that are added.
        unread: source files that could not be read, each with the reason.
        others: changed paths that are no source code.
    """

    change: SourceChange
    files: tuple[tuple[SourceText, frozenset[int]], ...]
    unread: tuple[tuple[WrittenPath, str], ...]
    others: tuple[WrittenPath, ...]

    @classmethod
    def of(cls, change: SourceChange) -> "ChangedCode":
        """Read a change.

        Raises:
            DataError: git cannot read it.
        """
        files, unread, others = change.source_texts()
        return cls(change, files=tuple(files), unread=tuple(unread), others=tuple(others))

    @cached_property
    def texts(self) -> Mapping[str, str]:
        """Path → text of a source file."""
        return MappingProxyType({file.path: file.text for file, _ in self.files})

    @cached_property
    def added(self) -> Mapping[str, frozenset[int]]:
        """Path → numbers of the lines that are added."""
        return MappingProxyType({file.path: lines for file, lines in self.files})

    @cached_property
    def paths(self) -> frozenset[str]:
        """Every path that the change writes or removes, earlier names among them."""
        paths: set[str] = set()
        for file in self.change.written:
            paths |= {file.path, file.earlier}
        return frozenset(paths)
