"""The code that a change adds."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType

from assay.corpora import SourceChange, SourceText, Unread, WrittenPath, read_change
from assay.languages import language_of


@dataclass(frozen=True)
class ChangedCode:
    """The code that a change adds, read once.

    Attributes:
        change: of a branch or of the index.
        files: texts, each with the numbers of the lines that are judged: added ones, and those that became code.
        unread: files that could hold code and were not read.
        others: changed paths that are no source code by their names, but may state a licence.
        no_code: number of files that cannot hold code, by reason.
    """

    change: SourceChange
    files: tuple[tuple[SourceText, frozenset[int]], ...]
    unread: tuple[Unread, ...]
    others: tuple[WrittenPath, ...]
    no_code: Mapping[str, int]

    @classmethod
    def of(cls, change: SourceChange) -> "ChangedCode":
        """Read a change.

        Raises:
            DataError: git cannot read it.
        """
        read = read_change(change)
        return cls(
            change,
            files=tuple(read.files),
            unread=tuple(read.unread),
            others=tuple(read.others),
            no_code=MappingProxyType(read.no_code),
        )

    @cached_property
    def texts(self) -> Mapping[str, str]:
        """Path → text of a file."""
        return MappingProxyType({file.path: file.text for file, _ in self.files})

    @cached_property
    def sources(self) -> Mapping[str, str]:
        """Path → text of a source file: by its name, written by a person or an agent, with a licence of its own."""
        return MappingProxyType({path: text for path, text in self.texts.items() if language_of(path)})

    @cached_property
    def added(self) -> Mapping[str, frozenset[int]]:
        """Path → numbers of the lines that are judged."""
        return MappingProxyType({file.path: lines for file, lines in self.files})

    @cached_property
    def paths(self) -> frozenset[str]:
        """Every path that the change writes or removes, earlier names among them."""
        paths: set[str] = set()
        for file in self.change.written:
            paths |= {file.path, file.earlier}
        return frozenset(paths)
