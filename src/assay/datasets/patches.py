"""Unified diffs: the text of one side of a patch, without signs and headers."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from operator import attrgetter, methodcaller
from typing import Literal

Side = Literal["old", "new"]

# "@@ -3 +5,2 @@": of one line the count is left out (GNU diffutils, "Detailed Description of Unified Format")
_HUNK = re.compile(r"@@ -\d+(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@")
_HEADER = re.compile(r"(?:---|\+\+\+) (?:[ab]/)?([^\t\r\n]+)")


@dataclass(frozen=True, slots=True)
class Hunk:
    """One changed place.

    Attributes:
        path: the file, without the a/ or b/ of git; of the new side, or of the old where the file was
            deleted.
        lines: (sign, text) with sign " ", "-" or "+"; the text keeps its line end.
        first_line: line of the new side at which it begins, from 1; 0 where the file was deleted.
    """

    path: str
    lines: tuple[tuple[str, str], ...]
    first_line: int = 1

    def side(self, side: Side, *, context: bool = True) -> str:
        """The old or the new text of this place; without `context` only the lines that differ."""
        signs = {"old": "-", "new": "+"}[side] + " " * context
        return "".join(text for sign, text in self.lines if sign in signs)


def hunks(patch: str) -> Iterator[Hunk]:
    r"""The hunks of a unified diff, by git, diff or svn.

    Line counts in the `@@` header decide where a hunk ends, so a mail signature ("-- ") below the last one is
    no deleted line. Only "\n" ends a line: a carriage return before it is text of the file and stays.
    """
    lines = iter(patch.split("\n"))
    path = ""
    for line in lines:
        header = _HEADER.match(line)
        # of a deleted file the second header is /dev/null, so the name stays that of the first
        if header and (header[1] != "/dev/null" or not path):
            path = header[1]
        elif start := _HUNK.match(line):
            yield Hunk(path, _body(lines, old=_count(start[1]), new=_count(start[3])), int(start[2]))


def patch_side(patch: str, side: Side, *, context: bool = True) -> str:
    """One side of the whole patch: its hunks, an empty line between two of them."""
    return "\n".join(filter(None, map(methodcaller("side", side, context=context), hunks(patch))))


def patched_files(patch: str) -> tuple[str, ...]:
    """The files that a patch changes, each once, in its order."""
    return tuple(dict.fromkeys(map(attrgetter("path"), hunks(patch))))


def _count(text: str | None) -> int:
    return int(text or 1)


def _body(lines: Iterator[str], *, old: int, new: int) -> tuple[tuple[str, str], ...]:
    body: list[tuple[str, str]] = []
    while old > 0 or new > 0:
        line = next(lines, None)
        if line is None:
            break  # the patch was cut off: what is there is kept
        if line.startswith("\\"):  # "\ No newline at end of file" speaks of the line before
            continue
        # an editor may have stripped the one space of an empty context line
        if not line.strip("\r"):
            line = f" {line}"
        sign = line[0]
        if sign not in " -+":
            break  # the counts in the header were wrong: the hunk ends where its lines end
        old -= sign in " -"
        new -= sign in " +"
        body.append((sign, line[1:] + "\n"))
    return tuple(body)
