"""Dates of a repository's files and lines, from git alone: when they appeared, and when they were last changed."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path

from assay.errors import DataError
from assay.provenance.sources.git import git_output, git_records

_COMMIT = re.compile(r"\x01(\d+) (\d+)")
_LINE = re.compile(rb"([0-9a-f]{40,64}) \d+ \d+")
_LAST = 253_402_300_799  # the last second of the year 9999, which a date can hold
_TWO_PATHS = ("R", "C")


@dataclass(frozen=True, slots=True)
class Age:
    """The days, in UTC, on which a text appeared and was last changed.

    Attributes:
        first: earliest day; where author and committer name two, the earlier.
        last: latest day; the later of two.
    """

    first: date
    last: date

    def merged(self, other: "Age") -> "Age":
        """Return the age of two texts together."""
        return Age(min(self.first, other.first), max(self.last, other.last))


class GitHistory:
    """The commits on the way to a revision.

    Attributes:
        path: of the repository.
        revision: HEAD or a hexadecimal digest.
        files: path at the revision → age of the file; a renamed file keeps the day on which it appeared under its first
            name.
    """

    def __init__(self, path: Path, revision: str = "HEAD") -> None:
        """Read which commit touched which file, once.

        Raises:
            DataError: the clone is shallow, so that its oldest dates would be wrong, or git cannot read it.
        """
        if git_output(path, "rev-parse", "--is-shallow-repository").strip() == "true":
            raise DataError(
                f"{path}: a shallow clone, whose history is cut, so that dates would be wrong: expected a whole clone "
                "(git fetch --unshallow)"
            )
        self.path = path
        self.revision = revision
        self._blamed: tuple[str, list[Age]] = ("", [])
        self.files: dict[str, Age] = {}
        for age, old, new in self._changes():
            earlier = self.files.get(old)  # kept when a file is deleted: it may come back with its old text
            self.files[new] = age if earlier is None else earlier.merged(age)

    def _changes(self) -> Iterator[tuple[Age, str, str]]:
        """Yield age, old path and new path of every change, oldest commit first."""
        records = git_records(
            self.path, "log", "-z", "--topo-order", "--reverse", "-M", "--no-ext-diff", "--no-textconv",
            "--no-show-signature", "--name-status", "--format=%x00%x01%at %ct", self.revision,
        )  # fmt: skip
        age = Age(date.max, date.min)
        for record in records:
            if commit := _COMMIT.fullmatch(record):
                age = _age(int(commit[1]), int(commit[2]))
                continue
            kind = record.removeprefix("\n")[:1]
            if not kind:
                continue
            old = next(records, "")
            new = next(records, "") if kind in _TWO_PATHS else old
            yield age, old, new

    def lines(self, path: str) -> list[Age]:
        """Return the age of each line of a file at the revision: of the commits that last changed it.

        Changes of spaces and moves do not count.

        Raises:
            DataError: git cannot read the file.
        """
        if self._blamed[0] == path:
            return self._blamed[1]
        out = git_output(
            self.path, "blame", "--no-ignore-revs-file", "--porcelain", "-w", "-M", "--no-textconv",
            self.revision, "--", path,
        )  # fmt: skip
        ages: list[Age] = []
        times: dict[bytes, dict[bytes, int]] = {}
        commit = b""
        for line in out.encode("utf-8", "replace").split(b"\n"):
            if line.startswith(b"\t"):
                seconds = times[commit]
                ages.append(_age(seconds[b"author-time"], seconds[b"committer-time"]))
            elif header := _LINE.match(line):
                commit = header[1]
                times.setdefault(commit, {})
            elif line.startswith((b"author-time ", b"committer-time ")):
                name, _, value = line.partition(b" ")
                times[commit][name] = int(value)
        self._blamed = path, ages  # functions of one file come one after the other
        return ages


def _age(author: int, committer: int) -> Age:
    days = [datetime.fromtimestamp(min(seconds, _LAST), UTC).date() for seconds in (author, committer)]
    return Age(min(days), max(days))
