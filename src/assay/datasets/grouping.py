"""Groups of samples whose table names none: from a column of repositories or projects, or from paths.

Functions of one project resemble each other. Without groups they count as independent, so intervals are too narrow, and
a blind baseline separates any two sets of texts by their siblings.
"""

from collections.abc import Sequence
from pathlib import PurePosixPath

from assay.datasets.sources import SourceRow
from assay.languages import language_of

ORIGIN_COLUMNS = (
    "repo", "repository", "repo_name", "repository_name", "project", "project_name", "package", "module",
    "task_family", "family", "book",
)  # fmt: skip
"""Columns of origins in the order in which they are tried, whatever their case."""
PATH_COLUMNS = ("path", "file_path", "filepath", "filename", "file_name", "file")
ENOUGH = 10
"""Groups from which on there are intervals: a path is cut where it gives that many, so that groups are large."""


def inferred_groups(
    table: Sequence[SourceRow], columns: Sequence[str], ids: str | None
) -> tuple[str, list[str | None]] | None:
    """Return a column that says which samples are siblings, and the group of each row by it; None if there is none.

    A column counts only if it has several values and at least two rows share one.

    Args:
        table: the rows.
        columns: of the table.
        ids: the column of ids; it counts as a column of paths if all its values are names of code files.
    """
    folded = {column.casefold(): column for column in reversed(columns)}
    for name in ORIGIN_COLUMNS:
        if name in folded and _groups(origins := [_word(row.get(folded[name])) for row in table]):
            return folded[name], origins
    by_path = [folded[name] for name in PATH_COLUMNS if name in folded]
    if ids is not None and all(language_of(str(row.get(ids))) for row in table):
        by_path.append(ids)
    for column in by_path:
        paths = [_word(row.get(column)) for row in table]
        if _groups(directories := leading_parts(paths)):
            return column, directories
    return None


def leading_parts(paths: Sequence[str | None]) -> list[str | None]:
    """Return the shortest leading part of each path that gives `ENOUGH` groups, and the whole paths where none does."""
    parts = [None if path is None else PurePosixPath(path.replace("\\", "/")).parts for path in paths]
    deepest = max((len(part) for part in parts if part is not None), default=0)
    # the coarsest cut that gives enough groups: fine groups would hide that files of a project are alike
    for depth in range(1, deepest + 1):
        leading = [None if part is None else "/".join(part[:depth]) for part in parts]
        if len({part for part in leading if part is not None}) >= ENOUGH and _groups(leading):
            return leading
    return list(paths)


def _groups(names: Sequence[str | None]) -> bool:
    named = [name for name in names if name is not None]
    return 1 < len(set(named)) < len(named)


def _word(value: object) -> str | None:
    return str(value) if isinstance(value, str | int) and str(value).strip() else None
