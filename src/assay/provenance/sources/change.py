"""Lines that a change adds, read from a unified diff, and the parts of a file that they make."""

import re
from collections.abc import Mapping
from dataclasses import replace

from unidiff.errors import UnidiffParseError
from unidiff.patch import PatchSet

from assay.errors import DataError, plain_reason
from assay.provenance.sources.lines import lines_of
from assay.provenance.sources.texts import SourceText, parts_of

_DELIMITER = re.compile(r'"""|\'\'\'|/\*|\*/|`')


def added_lines(diff: str, place: str) -> Mapping[str, frozenset[int]]:
    """Return the lines that a unified diff adds, by the path of the changed file; removed files are left out.

    Args:
        diff: as `git diff` prints it.
        place: of the diff, for the error message.

    Raises:
        DataError: the text is not a unified diff.
    """
    try:
        patch = PatchSet(diff)
    except UnidiffParseError as error:
        raise DataError(f"{place}: expected a unified diff, as `git diff` prints it: {plain_reason(error)}") from error
    if not patch and diff.strip() and "diff --git" not in diff:
        raise DataError(f"{place}: expected a unified diff, as `git diff` prints it; received other text")
    return {
        unquoted(file.path).removeprefix("b/" if file.path.startswith('"') else ""): frozenset(
            line.target_line_no for hunk in file for line in hunk if line.is_added and line.target_line_no
        )
        for file in patch
        if not file.is_removed_file
    }


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
