"""Lines that a change adds, read from git or from a unified diff, and the parts of a file that they make."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from assay.datasets import hunks
from assay.errors import DataError
from assay.guard import LARGEST_METADATA
from assay.languages import language_of
from assay.provenance.sources.git import Blob, git_output, git_records
from assay.provenance.sources.lines import lines_of
from assay.provenance.sources.texts import LARGEST_TEXT, SourceText, parts_of, text_of_bytes

DEFAULT_BRANCHES = ("origin/HEAD", "origin/main", "origin/master", "main", "master")
_LONE_RETURN = re.compile(r"\r(?!\n)")
_DELIMITER = re.compile(r'"""|\'\'\'|/\*|\*/|`')


@dataclass(frozen=True, slots=True)
class SourceChange:
    """The change of a branch, or of the index.

    Attributes:
        repository: its root.
        base: digest of the commit that the change is to be merged into; it holds what the change must not alter.
        fork: digest of the commit that the change began with.
        head: digest of its last commit; "" for the index.
    """

    repository: Path
    base: str
    fork: str
    head: str

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
        names = DEFAULT_BRANCHES if base is None else (base,)
        bases = (_commit(repository, name) for name in names)
        onto, last = next(filter(None, bases), None), _commit(repository, head or "HEAD")
        if onto is None or last is None:
            name = (head or "HEAD") if last is None else " or ".join(names)
            raise DataError(
                f"{repository}: received no commit {name}, expected one (in CI: a clone of the whole history)"
            )
        try:
            fork = git_output(repository, "merge-base", onto, last).strip()
        except DataError as error:
            raise DataError(f"{repository}: received no common commit of the two, expected a whole clone") from error
        return cls(repository, onto, fork, last)

    @classmethod
    def staged(cls, repository: Path) -> "SourceChange":
        """Return the change that is staged for the next commit.

        Raises:
            DataError: the repository has no commit.
        """
        last = _commit(repository, "HEAD")
        if last is None:
            raise DataError(f"{repository}: received a repository without a commit, expected one")
        return cls(repository, last, last, "")

    def at_base(self, path: str) -> bytes | None:
        """Return a file as the base has it; None without one."""
        try:
            return Blob(self.repository, f"{self.base}:{path}").read(LARGEST_METADATA + 1)
        except OSError:
            return None

    def paths(self, *, removed: bool = True) -> list[str]:
        """Return every path that the change writes, with links and submodules, and those that it removes.

        Raises:
            DataError: git cannot read the change.
        """
        return [path for kind, paths, _ in self._written() for path in paths if removed or kind != "D"]

    def _written(self) -> Iterator[tuple[str, list[str], str]]:
        """Yield kind, paths and digest of each change; the digest is "" unless a regular file has new content."""
        records = git_records(self.repository, *self._diff("--raw", "-z", "--abbrev=64"))
        for described in records:
            _, mode, before, digest, kind = described.split(" ")
            paths = [next(records) for _ in range(1 + (kind[0] in "RC"))]
            yield kind[0], paths, digest if mode.startswith("100") and digest != before else ""

    def added(self) -> Mapping[str, frozenset[int]]:
        """Return the lines that are added, by path.

        Raises:
            DataError: git cannot read the change.
        """
        # --text: otherwise a .gitattributes of the change could call its own code binary, and nothing would be added
        return added_lines(git_output(self.repository, *self._diff("--text", "--unified=0")))

    def _diff(self, *options: str) -> tuple[str, ...]:
        ends = (self.fork, self.head) if self.head else ("--cached", self.fork)
        plain = ("--find-renames", "--no-ext-diff", "--no-textconv", "--src-prefix=a/", "--dst-prefix=b/")
        return ("diff", *plain, *options, *ends, "--")

    def source_texts(self) -> tuple[list[tuple[SourceText, frozenset[int]]], list[str]]:
        """Return the source files with the lines that are added, and sentences on those that cannot be read.

        Raises:
            DataError: git cannot read the change.
        """
        added, files, unread = self.added(), list[tuple[SourceText, frozenset[int]]](), list[str]()
        for _, (*_, path), digest in self._written():
            lines = added.get(path)
            if not digest or not language_of(path) or lines == frozenset():
                continue
            try:
                file = text_of_bytes(path, Blob(self.repository, digest).read(LARGEST_TEXT + 1))
            except (OSError, DataError) as error:
                unread.append(f"{path} was not judged: {error}")
                continue
            # a carriage return alone ends a line of a source, and none of git: the numbers would not be the same; a
            # name that is not UTF-8 is not found in the diff
            if lines is None or _LONE_RETURN.search(file.text):
                lines = frozenset(range(1, len(lines_of(file.text)) + 1))
            files.append((file, lines))
        return files, unread


def _commit(repository: Path, name: str) -> str | None:
    """Return the digest of a commit; None where there is none of this name."""
    if name.startswith("-"):
        raise DataError(f"received the commit {name!r}, expected a name or a digest")
    try:
        return git_output(repository, "rev-parse", "--verify", "--quiet", f"{name}^{{commit}}").strip()
    except DataError:
        return None


def added_lines(diff: str) -> Mapping[str, frozenset[int]]:
    """Return the lines that a unified diff adds, by the path of the changed file."""
    added: dict[str, set[int]] = {}
    for hunk in hunks(diff):
        path = re.sub("^[ab]/", "", unquoted(hunk.path)) if hunk.path.startswith('"') else hunk.path
        signs = (sign for sign, _ in hunk.lines if sign != "-")
        added.setdefault(path, set()).update(n for n, sign in enumerate(signs, hunk.first_line) if sign == "+")
    return {path: frozenset(numbers) for path, numbers in added.items()}


def unquoted(path: str) -> str:
    """Return a path without the quotes and octal escapes of git."""
    if not path.startswith('"'):
        return path
    raw = path.strip('"').encode("latin-1", "backslashreplace").decode("unicode_escape").encode("latin-1", "replace")
    return raw.decode("utf-8", "surrogateescape")


def added_parts(file: SourceText, added: frozenset[int], *, by_function: bool = True) -> tuple[SourceText, ...]:
    """Return the parts of a file with all lines blank that the change does not add; parts without one are left out.

    A line that opens or closes a string or a comment of several lines stays, so that the others are read as before.
    """
    whole = parts_of(file) if by_function else (file,)
    parts = (replace(part, text=_only(part, added)) for part in whole)
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
