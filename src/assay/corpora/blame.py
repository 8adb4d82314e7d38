"""The commit that last changed each line of a file, and the place of the line in the file as that commit left it."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from assay.corpora.change import unquoted
from assay.corpora.git import git_output

_HEAD = re.compile(r"([0-9a-f]{40,64}) (\d+) (\d+) (\d+)")


@dataclass(frozen=True, slots=True)
class BlamedLines:
    """Consecutive lines that one commit changed last.

    Attributes:
        commit: digest.
        path: of the file in that commit.
        first: the first of the lines in the file as the commit left it, from 1.
        place: the same line in the blamed file.
        count: number of lines.
        author_time: seconds since 1970.
        committer_time: seconds since 1970.
        boundary: the history that was read begins with this commit, so that the lines may be older.
    """

    commit: str
    path: str
    first: int
    place: int
    count: int
    author_time: int
    committer_time: int
    boundary: bool


def blame(repository: Path, revision: str, path: str, *options: str) -> Iterator[BlamedLines]:
    """Yield the lines of a file at a revision, in no order.

    Args:
        repository: its root.
        revision: HEAD or a hexadecimal digest. Without one git would run the filters that the repository sets up.
        path: relative to the root.
        options: of git blame, such as -w.

    Raises:
        DataError: git cannot read the file.
    """
    # no setting of the repository may pass over a commit or convert the content
    command = ("blame", "--incremental", "--no-ignore-revs-file", "--no-textconv", *options, revision, "--", path)
    facts: dict[str, dict[str, str]] = {}  # git states those of a commit once
    head = ("", "0", "0", "0")
    for line in git_output(repository, *command).split("\n"):
        if match := _HEAD.fullmatch(line):
            head = match[1], match[2], match[3], match[4]
            facts.setdefault(head[0], {})
            continue
        name, _, value = line.partition(" ")
        facts.setdefault(head[0], {})[name] = value
        if name == "filename":  # the last line of an entry
            commit, first, place, count = head
            of_commit = facts[commit]
            yield BlamedLines(
                commit,
                path=unquoted(value),
                first=int(first),
                place=int(place),
                count=int(count),
                author_time=int(of_commit.get("author-time", 0)),
                committer_time=int(of_commit.get("committer-time", 0)),
                boundary="boundary" in of_commit,
            )
