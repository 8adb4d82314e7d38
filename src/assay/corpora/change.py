"""Lines that a change adds, read from git or from a unified diff, and the parts of a file that they make."""

import os
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path, PurePosixPath

from assay.corpora.git import Blob, git_output, git_records, is_shallow, tree_files
from assay.corpora.lines import lines_of
from assay.corpora.surroundings import Surroundings, describes_neighbours, is_licence_text, is_readme
from assay.corpora.texts import SourceText, parts_of
from assay.datasets import hunks
from assay.errors import DataError
from assay.guard import LARGEST_METADATA
from assay.licences import UNKNOWN_LICENCE

DEFAULT_BRANCHES = ("origin/HEAD", "origin/main", "origin/master", "main", "master")
_DELIMITER = re.compile(r'"""|\'\'\'|/\*|\*/|`')


REGULAR, SUBMODULE, FOLDER_MODE = "100", "160000", "040000"
"""Modes of git; of a regular file its beginning."""


@dataclass(frozen=True, slots=True)
class WrittenPath:
    """One path that a change writes or removes.

    Attributes:
        path: after the change; of a removed file, before it.
        earlier: its path before the change.
        mode: of git after the change.
        before: digest of its content before the change; zeros without one.
        after: digest of its content after it; zeros where it is removed or not a file.
    """

    path: str
    earlier: str
    mode: str
    before: str
    after: str

    @property
    def is_removed(self) -> bool:
        """True where nothing is left."""
        # git writes a mode of zeros where nothing is left
        return not self.mode.strip("0")

    @property
    def is_new_text(self) -> bool:
        """True for a regular file with another content than before."""
        return self.mode.startswith(REGULAR) and self.after != self.before

    def __str__(self) -> str:
        if self.mode.startswith(REGULAR):
            return self.path
        if self.mode == SUBMODULE:
            return f"{self.path} (submodule)"
        return f"{self.path} (link)"


@dataclass(frozen=True, slots=True)
class LicenceChange:
    """The change of a file that states the licence of its folder, such as LICENSE, package.json or README.

    Attributes:
        path: after the change.
        before: licence that it stated, or "unknown"; None where it stated none.
        after: licence that it states.
        content: digest of it; "" where it is removed.
    """

    path: str
    before: str | None
    after: str | None
    content: str

    def __str__(self) -> str:
        after = "no longer states a licence"
        if self.after == UNKNOWN_LICENCE:
            after = "states an unknown licence"
        elif self.after:
            after = f"states the licence {self.after}"
        if self.before == self.after:
            return f"changes, and {after} as before"
        if self.before:
            return f"{after}, before: {self.before}"
        return after


@dataclass(frozen=True)
class SourceChange:
    """The change of a branch, or of the index.

    Attributes:
        repository: its root.
        base: digest of the commit that the change is to be merged into; it holds what the change must not alter.
        fork: digest of the commit that the change began with.
        head: digest of its last commit; "" for the index.
        onto: name of the base.
    """

    repository: Path
    base: str
    fork: str
    head: str
    onto: str = "HEAD"

    @classmethod
    def between(cls, repository: Path, base: str | None = None, head: str | None = None) -> "SourceChange":
        """Return the change from a branch to a commit.

        Args:
            repository: its root.
            base: commit or branch; None for the default branch.
            head: commit or branch; None for HEAD.

        Raises:
            DataError: there is no such commit, or the two have none in common.
        """
        last = _existing(repository, "HEAD" if head is None else head)
        onto, commit = _default_branch(repository) if base is None else (base, _existing(repository, base))
        try:
            fork = git_output(repository, "merge-base", commit, last).strip()
        except DataError as error:
            raise DataError(
                f"{repository}: received no common commit of {onto} and the change, expected a whole clone "
                "(in CI: fetch-depth: 0)"
            ) from error
        # a shallow clone of one branch names it as the default one, and nothing would be judged
        if base is None and fork == last and is_shallow(repository):
            raise DataError(f"{repository}: received a shallow clone without its default branch, expected a whole one")
        return cls(repository, base=commit, fork=fork, head=last, onto=onto)

    @classmethod
    def staged(cls, repository: Path) -> "SourceChange":
        """Return the change that is staged for the next commit.

        Raises:
            DataError: the repository has no commit.
        """
        last = _existing(repository, "HEAD")
        return cls(repository, base=last, fork=last, head="")

    def at_base(self, path: str) -> bytes | None:
        """Return a file as the base has it; None without one.

        Raises:
            DataError: the clone lacks it.
        """
        named = (digest for _, digest, name in tree_files(self.repository, self.base, path) if name == path)
        digest = next(named, None)
        if digest is None:
            return None
        # one byte more than allowed, by which a reader sees that a file is too large
        return self._content(digest, f"{path} of {self.base[:12]}", LARGEST_METADATA + 1)

    def within(self, path: Path | str) -> str:
        """Return a path relative to the root of the repository; one outside of it is absolute."""
        # without following links: the change could have made one of them
        whole = Path(os.path.normpath(Path.cwd() / path))
        if whole.is_relative_to(self.repository):
            whole = whole.relative_to(self.repository)
        return whole.as_posix()

    @cached_property
    def written(self) -> tuple[WrittenPath, ...]:
        """Every path that the change writes or removes, links and submodules too.

        Raises:
            DataError: git cannot read the change.
        """
        records = git_records(self.repository, *self._diff("--raw", "-z", "--abbrev=64"))
        paths = []
        # with -z: description and path; of a rename or copy the old path, then the new one
        for described in records:
            _, mode, before, after, kind = described.split(" ")
            earlier = next(records)
            path = next(records) if kind[0] in "RC" else earlier
            paths.append(WrittenPath(path, earlier, mode=mode, before=before, after=after))
        return tuple(paths)

    def licences(self) -> Iterator[LicenceChange]:
        """Yield the changes of files that state a licence for their folder, and every change of a licence text.

        Raises:
            DataError: git cannot read the change.
        """
        for file in self.written:
            # a licence that comes from elsewhere is new here
            moved = PurePosixPath(file.earlier).parent != PurePosixPath(file.path).parent
            if describes_neighbours(file.path) and (moved or file.before != file.after):
                change = self._licence_change(file, is_new=moved or not file.before.strip("0"))
                if change.before != change.after or (change.before and is_licence_text(file.path)):
                    yield change

    def _licence_change(self, file: WrittenPath, *, is_new: bool) -> LicenceChange:
        # the licence of a text may be none that is known: what it was, or is, then counts as unknown
        unknown = UNKNOWN_LICENCE if is_licence_text(file.path) else None
        before = None
        if not is_new:
            before = _stated(file.path, self._content(file.before, file.path)) or unknown
        if file.is_removed:
            return LicenceChange(file.path, before=before, after=None, content="")
        content = b""
        if file.mode != SUBMODULE:
            content = self._content(file.after, file.path)
        # nor may that of a field, where one that is known stood before
        if before and not is_readme(file.path) and b"licen" in content.lower():
            unknown = UNKNOWN_LICENCE
        return LicenceChange(file.path, before=before, after=_stated(file.path, content) or unknown, content=file.after)

    def _content(self, digest: str, place: str, limit: int = LARGEST_METADATA) -> bytes:
        try:
            return Blob(self.repository, digest).read(limit)
        except OSError as error:  # what is absent must not read as a file that states nothing
            raise DataError(f"{place}: the repository lacks its content, expected a whole clone") from error

    @cached_property
    def added(self) -> Mapping[str, frozenset[int]]:
        """The lines that are added, by path.

        Raises:
            DataError: git cannot read the change.
        """
        # --text: otherwise a .gitattributes of the change could call its own code binary, and nothing would be added
        return added_lines(git_output(self.repository, *self._diff("--text", "--unified=0")))

    def _diff(self, *options: str) -> tuple[str, ...]:
        # no setting of the user may change the form of the diff, or start a program
        ends = ("--cached", self.fork)
        if self.head:
            ends = (self.fork, self.head)
        plain = ("--find-renames", "--no-ext-diff", "--no-textconv", "--src-prefix=a/", "--dst-prefix=b/")
        return ("diff", *plain, *options, *ends, "--")

    def entry(self, path: str) -> tuple[str, str]:
        """Return mode and digest of a path after the change; the mode of a folder, or "" where nothing is there.

        Raises:
            DataError: git cannot read the change.
        """
        if path == "." or path.startswith(("../", "/")) or path == "..":
            return "", ""
        listed = tree_files(self.repository, self.head, path) if self.head else self._staged_files(path)
        for mode, digest, name in listed:
            if name == path:
                return mode, digest
            # git lists what is below a folder, never the folder by its own name
            return FOLDER_MODE, ""
        return "", ""

    def _staged_files(self, path: str) -> Iterator[tuple[str, str, str]]:
        for record in git_records(self.repository, "--literal-pathspecs", "ls-files", "--stage", "-z", "--", path):
            described, _, name = record.partition("\t")
            mode, digest, _ = described.split()
            yield mode, digest, name


def _stated(path: str, content: bytes) -> str | None:
    """Return the licence that a file states for its folder."""
    alone = Surroundings()
    alone.notice(path, content)
    return alone.facts_of(path).nearest


def _default_branch(repository: Path) -> tuple[str, str]:
    """Return the name of the default branch, and its last commit.

    Raises:
        DataError: there is none.
    """
    for name in DEFAULT_BRANCHES:
        if commit := _commit(repository, name):
            return name, commit
    names = ", ".join(DEFAULT_BRANCHES)
    raise DataError(f"{repository}: received none of the branches {names}, expected --base COMMIT")


def _existing(repository: Path, name: str) -> str:
    """Return the digest of a commit.

    Raises:
        DataError: there is none of this name.
    """
    commit = _commit(repository, name)
    if commit is not None:
        return commit
    if _commit(repository, "HEAD") is None and name == "HEAD":
        raise DataError(f"{repository}: received a repository without a commit, expected one")
    raise DataError(f"{repository}: received no commit {name}, expected one (in CI: a clone of the whole history)")


def _commit(repository: Path, name: str) -> str | None:
    """Return the digest of a commit; None where there is none of this name."""
    # git would take it for an option
    if not name or name.startswith("-"):
        raise DataError(f"received the commit {name!r}, expected a name or a digest")
    try:
        return git_output(repository, "rev-parse", "--verify", "--quiet", f"{name}^{{commit}}").strip()
    except DataError:
        return None


def added_lines(diff: str) -> Mapping[str, frozenset[int]]:
    """Return the lines that a unified diff adds, by the path of the changed file."""
    added: dict[str, set[int]] = defaultdict(set)
    for hunk in hunks(diff):
        path = re.sub("^[ab]/", "", unquoted(hunk.path)) if hunk.path.startswith('"') else hunk.path
        signs = (sign for sign, _ in hunk.lines if sign != "-")
        added[path].update(number for number, sign in enumerate(signs, hunk.first_line) if sign == "+")
    return {path: frozenset(numbers) for path, numbers in added.items()}


def unquoted(path: str) -> str:
    """Return a path without the quotes and octal escapes of git."""
    if not path.startswith('"'):
        return path
    # the escapes are those of bytes, and Python reads a byte that is none as a character of its number
    raw = path[1:-1].encode("utf-8", "surrogateescape").decode("unicode_escape").encode("latin-1")
    return raw.decode("utf-8", "surrogateescape")


def added_parts(file: SourceText, added: frozenset[int]) -> tuple[SourceText, ...]:
    """Return the parts of a file with all lines blank that the change does not add; parts without one are left out.

    A line that opens or closes a string or a comment of several lines stays, so that the others are read as before.
    """
    parts = (replace(part, text=_only(part, added)) for part in parts_of(file))
    return tuple(part for part in parts if part.text.strip())


def _only(part: SourceText, added: frozenset[int]) -> str:
    lines = lines_of(part.text)
    numbers = range(part.first_line, part.first_line + len(lines))
    if not any(number in added and line.strip() for number, line in zip(numbers, lines, strict=True)):
        return ""
    return "".join(
        # lines stay where they are, so that matches have the numbers of the file
        line if number in added or _DELIMITER.search(line) else line[len(line.rstrip("\r\n")) :]
        for number, line in zip(numbers, lines, strict=True)
    )
