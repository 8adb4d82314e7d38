"""Files of a folder, as the disk has them now."""

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from pathspec import GitIgnoreSpec

from assay.datasets import file_error
from assay.errors import DataError
from assay.provenance.filters import patterns
from assay.provenance.sources.entry import NOTHING_KNOWN, Entry, Facts, Found, OnDisk, Skipped
from assay.provenance.sources.surroundings import LARGEST, Surroundings, tells_of_others

NEVER_ENTERED = frozenset({".git", ".hg", ".svn", "__pycache__"})
IGNORE_FILE = ".gitignore"


@dataclass(frozen=True, slots=True)
class Folder:
    """All plain files below a folder; no symbolic link is followed, so no loop is walked and nothing is read twice.

    Attributes:
        path: of the folder, or of one file.
        name: see `CorpusSource`.
        honour_ignore: leave out what .gitignore files on the way down leave out.
        exclude: patterns as in .gitignore; a folder that matches is not entered.
    """

    path: Path
    name: str
    honour_ignore: bool = True
    exclude: tuple[str, ...] = ()
    stamp: str | None = field(default=None, init=False)
    whole: bool = field(default=True, init=False)
    indivisible: bool = field(default=False, init=False)

    def found(self) -> Iterator[Found]:
        """See `CorpusSource`; sorted within each folder, an ignored folder counting once.

        Raises:
            DataError: the folder cannot be listed; one below it is passed over.
        """
        if self.path.is_file():
            yield _entry(self.path, self.path.name, self.path.stat(), _stated_above(self.path))
            return
        surroundings = Surroundings(_stated_above(self.path))
        # depth first without recursion: folders of others may be nested deeper than our stack
        waiting = [_Waiting(self.path, "", ())]
        while waiting:
            folder = waiting.pop()
            try:
                with os.scandir(folder.path) as listed:
                    inside = sorted(listed, key=lambda one: one.name)
            except OSError as fault:
                if folder.path == self.path:
                    raise file_error(self.path, fault) from fault
                yield Skipped(folder.below.rstrip("/"), "unreadable")
                continue
            deeper: list[_Waiting] = []
            for one in self._inside(folder, inside, surroundings):
                if isinstance(one, _Waiting):
                    deeper.append(one)
                else:
                    yield one
            waiting.extend(reversed(deeper))

    def _inside(
        self, folder: "_Waiting", inside: "list[os.DirEntry[str]]", surroundings: Surroundings
    ) -> "Iterator[Found | _Waiting]":
        rules = folder.rules
        if self.honour_ignore and any(one.name == IGNORE_FILE for one in inside):
            rules = (*rules, *_rules(folder.path / IGNORE_FILE, folder.below))
        _notice(inside, folder.below, surroundings)
        for one in inside:
            path = _path(folder.below, one.name)
            kind = _kind(one)
            if kind == "folder" and one.name in NEVER_ENTERED:
                continue
            shown = path + "/" * (kind == "folder")
            if self.exclude and patterns(self.exclude).match_file(shown):
                yield Skipped(path, "excluded")
            elif rules and ignored(rules, shown):
                yield Skipped(path, "ignored")
            elif kind == "folder":
                yield _Waiting(Path(one.path), f"{path}/", rules)
            elif kind == "file":
                yield _stated(one, path, surroundings.facts_of(path))
            else:
                yield Skipped(path, kind)


@dataclass(frozen=True, slots=True)
class _Rules:
    """The patterns of one .gitignore file, and the folder that they are relative to ("" or ending in a slash)."""

    below: str
    spec: GitIgnoreSpec


@dataclass(frozen=True, slots=True)
class _Waiting:
    """A folder that is still to be entered, and the .gitignore rules that hold in it."""

    path: Path
    below: str
    rules: tuple[_Rules, ...]


def ignored(rules: tuple[_Rules, ...], path: str) -> bool:
    """Whether the deepest .gitignore with a word on a path leaves it out."""
    for one in reversed(rules):
        verdict = one.spec.check_file(path.removeprefix(one.below)).include
        if verdict is not None:
            return verdict
    return False


def _rules(file: Path, below: str) -> tuple[_Rules, ...]:
    try:
        lines = file.read_text("utf-8", "replace").splitlines()
        return (_Rules(below, GitIgnoreSpec.from_lines(lines)),)
    except (OSError, ValueError):  # unreadable, or a pattern that is none: as if it were not there
        return ()


def _stated_above(path: Path) -> Facts:
    """What the folders above state, up to the root of the repository that a path belongs to; outside of one, nothing.

    What a repository ignores does not belong to it: installed packages, builds, the Pythons in the one of pyenv.
    """
    path = Path(os.path.abspath(path))  # noqa: PTH100  parents of a relative path end early; links stay as they are
    folders = list(path.parents)
    root = next((number for number, one in enumerate(folders) if (one / ".git").exists()), None)
    if root is None or (path / ".git").exists() or _is_ignored(path, folders[root]):
        return NOTHING_KNOWN
    for folder in folders[: root + 1]:
        found = Surroundings()
        try:
            with os.scandir(folder) as listed:
                _notice(list(listed), "", found)
        except OSError:  # it says nothing
            continue
        if (facts := found.facts_of("")).nearest:
            return facts
    return NOTHING_KNOWN


def _is_ignored(path: Path, root: Path) -> bool:
    """Whether a repository leaves out a path below its root, or a folder on the way to it."""
    rules = _rules(root / ".git" / "info" / "exclude", "")
    at = ""
    *folders, last = path.relative_to(root).parts
    for name in folders:
        rules = (*rules, *_rules(root / at / IGNORE_FILE, at))
        at = f"{at}{name}/"
        if ignored(rules, at):
            return True
    rules = (*rules, *_rules(root / at / IGNORE_FILE, at))
    return ignored(rules, f"{at}{last}" + "/" * path.is_dir())


def _notice(inside: list[os.DirEntry[str]], below: str, surroundings: Surroundings) -> None:
    """Show licence and metadata files of a folder, and those of the distributions installed in it."""
    for one in inside:
        if one.name.endswith((".dist-info", ".egg-info")) and _kind(one) == "folder":
            for name in ("METADATA", "PKG-INFO", "RECORD"):
                _show(Path(one.path, name), f"{_path(below, one.name)}/{name}", surroundings)
        elif tells_of_others(one.name) and _kind(one) == "file":
            _show(Path(one.path), _path(below, one.name), surroundings)


def _show(file: Path, path: str, surroundings: Surroundings) -> None:
    try:
        with file.open("rb") as stream:
            surroundings.notice(path, stream.read(LARGEST))
    except OSError:  # absent or unreadable: it says nothing
        return


_Kind = Literal["file", "folder", "link", "not a plain file", "unreadable"]


def _kind(one: os.DirEntry[str]) -> _Kind:
    try:
        if one.is_symlink():
            return "link"
        if one.is_dir(follow_symlinks=False):
            return "folder"
        return "file" if one.is_file(follow_symlinks=False) else "not a plain file"
    except OSError:
        return "unreadable"


def _stated(one: os.DirEntry[str], path: str, facts: Facts) -> Found:
    try:
        return _entry(Path(one.path), path, one.stat(follow_symlinks=False), facts)
    except OSError:
        return Skipped(path, "unreadable")


def _entry(file: Path, path: str, status: os.stat_result, facts: Facts) -> Entry:
    if not stat.S_ISREG(status.st_mode):
        raise DataError(f"{file}: neither a file nor a folder, expected one of them")
    return Entry(path, f"{status.st_size}:{status.st_mtime_ns}", status.st_size, OnDisk(file), facts)


def _path(below: str, name: str) -> str:
    """A path that any database can hold: bytes that are no UTF-8 are shown by their escapes."""
    return below + name.encode("utf-8", "backslashreplace").decode()
