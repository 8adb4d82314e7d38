"""Files of a folder, as the disk has them now."""

import os
import re
import stat
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from pathspec import GitIgnoreSpec

from assay.corpora.archives import archive_form, members_of
from assay.corpora.entry import NEVER_ENTERED, NO_FACTS, Entry, Facts, OnDisk, Reason, Skipped, SourceFile
from assay.corpora.filters import patterns
from assay.corpora.surroundings import DEBIAN_FOLDER, REUSE_FOLDER, Surroundings, describes_neighbours
from assay.datasets import file_error
from assay.errors import DataError
from assay.guard import LARGEST_METADATA
from assay.languages import language_of

IGNORE_FILE = ".gitignore"


@dataclass(frozen=True, slots=True)
class Folder:
    """All plain files below a folder; no symbolic link is followed, so no loop is walked and nothing is read twice.

    Attributes:
        path: of the folder, or of one file.
        name: see `CorpusSource`.
        honour_ignore: skip files that .gitignore files on the way down exclude.
        exclude: patterns as in .gitignore; a folder that matches is not entered.
        largest: bytes of a member of an archive in the folder.
        note: what a reader should know of it.
    """

    path: Path
    name: str
    honour_ignore: bool = True
    exclude: tuple[str, ...] = ()
    largest: int = LARGEST_METADATA
    note: str = ""
    stamp: str | None = field(default=None, init=False)
    whole: bool = field(default=True, init=False)
    indivisible: bool = field(default=False, init=False)

    def files(self) -> Iterator[SourceFile]:
        """See `CorpusSource`; sorted within each folder; an ignored folder counts once.

        Raises:
            DataError: the folder cannot be listed; one below it is skipped.
        """
        if self.path.is_file():
            yield _entry(self.path, self.path.name, self.path.stat(), facts=_stated_above(self.path))
            return
        surroundings = Surroundings(_stated_above(self.path))
        # depth first without recursion: folders may be nested deeper than Python's stack
        waiting = [_Waiting(self.path, "", ())]
        while waiting:
            folder = waiting.pop()
            try:
                with os.scandir(folder.path) as listed:
                    inside = sorted(listed, key=lambda item: item.name)
            except OSError as fault:
                if folder.path == self.path:
                    raise file_error(self.path, fault) from fault
                yield Skipped(folder.below.rstrip("/"), "unreadable")
                continue
            deeper: list[_Waiting] = []
            for item in self._inside(folder, inside, surroundings):
                if isinstance(item, _Waiting):
                    deeper.append(item)
                else:
                    yield item
            waiting.extend(reversed(deeper))  # the last one is taken first

    def _inside(
        self, folder: "_Waiting", inside: "list[os.DirEntry[str]]", surroundings: Surroundings
    ) -> "Iterator[SourceFile | _Waiting]":
        rules = folder.rules
        if self.honour_ignore and any(item.name == IGNORE_FILE for item in inside):
            rules = (*rules, *_rules(folder.path / IGNORE_FILE, folder.below))
        _notice(inside, folder.below, surroundings)
        for item in inside:
            path = _path(folder.below, item.name)
            kind = _kind(item)
            if kind == "folder" and item.name == ".git":
                continue
            # as in git: a pattern that ends in a slash matches folders alone
            shown = path + "/" * (kind == "folder")
            if self.exclude and patterns(self.exclude).match_file(shown):
                yield Skipped(path, "excluded")
            elif rules and is_ignored(rules, shown):
                yield Skipped(path, "ignored")
            elif kind == "folder":
                yield _Waiting(Path(item.path), f"{path}/", rules)
            elif _OF_VERSION_CONTROL.search(path):
                # no source is written there, so what has the name of one is named
                if language_of(path):
                    yield Skipped(path, "in a folder of version control")
            elif not _is_compiled_source(item):
                yield from self._no_folder(item, path, kind, facts=surroundings.facts_of(path))

    def _no_folder(self, item: "os.DirEntry[str]", path: str, kind: "_Kind", *, facts: Facts) -> Iterator[SourceFile]:
        if kind == "file":
            yield from self._file(item, path, facts)
        elif kind == "link":
            yield Skipped(path, self._link_reason(item))
        elif kind != "folder":
            yield Skipped(path, kind)

    def _file(self, item: "os.DirEntry[str]", path: str, facts: Facts) -> Iterator[SourceFile]:
        """Yield a file, or the members of an archive."""
        place = Path(item.path)
        try:
            # a source file is never an archive: it is opened once, by the one who reads it
            if not language_of(path) and archive_form(place):
                yield from members_of(path, place, largest=self.largest, facts=facts)
            else:
                yield _entry(place, path, item.stat(follow_symlinks=False), facts=facts)
        except (OSError, DataError):
            yield Skipped(path, "unreadable")

    def _link_reason(self, item: "os.DirEntry[str]") -> Reason:
        target = Path(os.path.realpath(item.path))
        root = Path(os.path.realpath(self.path))
        is_inside = target.exists() and target.is_relative_to(root)
        # folders of version control are never entered, so a target in one is not judged
        if is_inside and NEVER_ENTERED.isdisjoint(target.parts):
            return "link to a judged file"
        return "link"


@dataclass(frozen=True, slots=True)
class _Rules:
    """The patterns of one .gitignore file, and the folder that they are relative to ("" or ending in a slash)."""

    below: str
    spec: GitIgnoreSpec


@dataclass(frozen=True, slots=True)
class _Waiting:
    """A folder that is still to be entered, and the .gitignore rules that apply in it."""

    path: Path
    below: str
    rules: tuple[_Rules, ...]


def is_ignored(rules: tuple[_Rules, ...], path: str) -> bool:
    """Return True if the deepest .gitignore with a pattern for a path excludes it."""
    # as git does: the deepest file that has an opinion decides, and a pattern with ! may include again
    for ignore_file in reversed(rules):
        verdict = ignore_file.spec.check_file(path.removeprefix(ignore_file.below)).include
        if verdict is not None:
            return verdict
    return False


def _rules(file: Path, below: str) -> tuple[_Rules, ...]:
    try:
        lines = file.read_text("utf-8", "replace").splitlines()
        return (_Rules(below, GitIgnoreSpec.from_lines(lines)),)
    except (OSError, ValueError):  # unreadable, or an invalid pattern: as if the file did not exist
        return ()


def _stated_above(path: Path) -> Facts:
    """Return the facts that the folders above state, up to the root of the path's repository; without one, no facts.

    Files that a repository ignores do not belong to it: installed packages, builds, the Python versions of pyenv.
    """
    path = Path(os.path.abspath(path))  # noqa: PTH100  parents of a relative path end early; links stay as they are
    folders = list(path.parents)
    root = next((number for number, folder in enumerate(folders) if (folder / ".git").exists()), None)
    if root is None or (path / ".git").exists() or _repository_ignores(path, folders[root]):
        return NO_FACTS
    for folder in folders[: root + 1]:
        surroundings = Surroundings()
        try:
            with os.scandir(folder) as listed:
                _notice(list(listed), "", surroundings)
        except OSError:  # a folder that cannot be listed states nothing
            continue
        if (facts := surroundings.facts_of("")).nearest:
            return facts
    return NO_FACTS


def _repository_ignores(path: Path, root: Path) -> bool:
    """Return True if a repository ignores a path below its root, or a folder on the way to it."""
    # first, since later rules outrank it: every .gitignore does
    rules = _rules(root / ".git" / "info" / "exclude", "")
    at = ""
    *folders, last = path.relative_to(root).parts
    for name in folders:
        rules = (*rules, *_rules(root / at / IGNORE_FILE, at))
        at = f"{at}{name}/"
        if is_ignored(rules, at):
            return True
    rules = (*rules, *_rules(root / at / IGNORE_FILE, at))
    return is_ignored(rules, f"{at}{last}" + "/" * path.is_dir())


def _notice(inside: list[os.DirEntry[str]], below: str, surroundings: Surroundings) -> None:
    """Read licence and metadata files of a folder, and those of the distributions installed in it."""
    for item in inside:
        if item.name.endswith((".dist-info", ".egg-info")) and _kind(item) == "folder":
            for name in ("METADATA", "PKG-INFO", "RECORD"):
                _show(Path(item.path, name), f"{_path(below, item.name)}/{name}", surroundings)
        elif item.name == REUSE_FOLDER and _kind(item) == "folder":
            _notice_texts(item.path, _path(below, item.name), surroundings)
        elif item.name == DEBIAN_FOLDER and _kind(item) == "folder":
            _show(Path(item.path, "copyright"), f"{_path(below, item.name)}/copyright", surroundings)
        elif describes_neighbours(item.name) and _kind(item) == "file":
            _show(Path(item.path), _path(below, item.name), surroundings)
    if not inside:
        return
    for path in surroundings.named_texts:  # files that a manifest names lie in its folder or below
        if path.startswith(below):
            _show(Path(inside[0].path).parent / path[len(below) :], path, surroundings)


def _notice_texts(folder: str, path: str, surroundings: Surroundings) -> None:
    """Read the licence texts of a folder by the REUSE specification."""
    try:
        with os.scandir(folder) as listed:
            inside = sorted(listed, key=lambda item: item.name)
    except OSError:  # a folder that cannot be listed states nothing
        return
    for item in inside:
        if describes_neighbours(f"{REUSE_FOLDER}/{item.name}") and _kind(item) == "file":
            _show(Path(item.path), f"{path}/{_path('', item.name)}", surroundings)


def _show(file: Path, path: str, surroundings: Surroundings) -> None:
    with suppress(OSError), file.open("rb") as stream:  # absent or unreadable: it states nothing
        surroundings.notice(path, stream.read(LARGEST_METADATA))


_OF_VERSION_CONTROL = re.compile(r"(?:^|/)\.(?:hg|svn)/")


def _is_compiled_source(item: os.DirEntry[str]) -> bool:
    """Return True if a file of `__pycache__` is compiled from the source that stands beside that folder."""
    if not item.name.endswith(".pyc"):
        return False
    folder = Path(item.path).parent
    # NAME.cpython-311.opt-1.pyc of NAME.py
    return folder.name == "__pycache__" and (folder.parent / f"{item.name.partition('.')[0]}.py").is_file()


_Kind = Literal["file", "folder", "link", "not a plain file", "unreadable"]


def _kind(item: os.DirEntry[str]) -> _Kind:
    try:
        if item.is_symlink():
            return "link"
        if item.is_dir(follow_symlinks=False):
            return "folder"
        return "file" if item.is_file(follow_symlinks=False) else "not a plain file"
    except OSError:
        return "unreadable"


def _entry(file: Path, path: str, status: os.stat_result, facts: Facts) -> Entry:
    if not stat.S_ISREG(status.st_mode):
        raise DataError(f"{file}: neither a file nor a folder, expected one of them")
    stamp = f"{status.st_size}:{status.st_mtime_ns}"
    return Entry(path, stamp, status.st_size, content=OnDisk(file), facts=facts)


def _path(below: str, name: str) -> str:
    """Return a path that any database accepts: bytes that are not UTF-8 become escapes."""
    return below + name.encode("utf-8", "backslashreplace").decode()
