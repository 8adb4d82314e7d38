"""Any table with a column mapping: rows → samples."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, filterfalse, repeat
from pathlib import PurePosixPath

from assay.datasets.selection import DataSelection
from assay.datasets.sources import Note, SourceRow, UnreadRow
from assay.errors import DataError
from assay.languages import checked_language, language_named, language_of
from assay.types import MEMBER, NONMEMBER, Sample

# Groups of samples whose table names none: from a column of repositories or projects, or from paths.
#
# Functions of one project resemble each other. Without groups they count as independent, so intervals are too narrow,
# and a blind baseline separates any two sets of texts by their siblings.

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
    # a stated origin first; a path says where a file lies, which is a weaker sign of where it comes from
    for column in _usual_columns(ORIGIN_COLUMNS, columns):
        origins = _origins(table, column)
        if _groups(origins):
            return column, origins
    by_path = [*_usual_columns(PATH_COLUMNS, columns)]
    if ids is not None and all(language_of(str(row.get(ids))) for row in table):
        by_path.append(ids)
    for column in by_path:
        directories = leading_parts(_origins(table, column))
        if _groups(directories):
            return column, directories
    return None


def leading_parts(paths: Sequence[str | None]) -> list[str | None]:
    """Return the shortest leading part of each path that gives `ENOUGH` groups, and the whole paths where none does."""
    parts = [PurePosixPath(path.replace("\\", "/")).parts for path in paths if path is not None]
    # the coarsest cut that gives enough groups: fine groups would hide that files of a project are alike
    for depth in range(1, max(map(len, parts), default=0) + 1):
        leading = ["/".join(part[:depth]) for part in parts]
        if len(set(leading)) >= ENOUGH and _groups(leading):
            following = iter(leading)  # one for each path: rows without a path are in none of the groups
            return [path if path is None else next(following) for path in paths]
    return list(paths)


def _groups(names: Iterable[str | None]) -> bool:
    # one group, or one for each row, groups nothing
    named = [name for name in names if name is not None]
    return 1 < len(set(named)) < len(named)


def _origins(table: Iterable[SourceRow], column: str) -> list[str | None]:
    return [_origin(row.get(column)) for row in table]


def _origin(value: object) -> str | None:
    # the number of a book or family names an origin as well as a word does; a list or an object does not
    if isinstance(value, str | int) and str(value).strip():
        return str(value)
    return None


TEXT_COLUMNS = (
    "text", "code", "content", "snippet", "input", "func", "function", "solution", "canonical_solution",
    "source_code", "source", "body", "document",
)  # fmt: skip
"""Text columns in the order in which they are tried, whatever their case, if none is named."""
PROMPT, SOLUTION = "prompt", "canonical_solution"
"""Columns of HumanEval and its relatives; the second holds a body, or a whole function with the prompt."""
STATEMENTS, CODE = ("text", "prompt"), "code"
"""Columns of MBPP, which has a `test_list` too: the text is the statement, a line end and the code."""
ID_COLUMNS = ("id", "task_id", "sample_id", "instance_id", "problem_id", "uid", "uuid")
GROUP_COLUMNS = ("group",)
LANGUAGE_COLUMNS = ("language", "lang", "programming_language")
MEMBERSHIP_COLUMNS = ("member", "is_member", "membership", "seen")
"""Columns whose name says that they hold membership; read without being named if their values agree."""

ROW_NUMBERS = "row"
"""Id column that numbers the rows instead (unless a column has that name)."""

_MEMBERSHIP_WORDS = "1/0, true/false, member/nonmember or seen/unseen"
_MEMBER = frozenset({"1", "1.0", "true", "member", "members", "seen", "contaminated"})
_NONMEMBER = frozenset(
    {
        "0", "0.0", "false", "nonmember", "nonmembers", "non-member", "non_member", "unseen", "uncontaminated", "clean",
    }
)  # fmt: skip
# what pandas, JSON and people write for a label that is not known
_UNLABELLED = frozenset({"", "none", "null", "nan", "unknown"})
LOGS = {
    "EvalPlus": {"date", "hash", "eval"},
    "inspect": {"status", "eval", "samples"},
    "lm-eval": {"doc_id", "doc", "resps"},
}
"""Columns by which the log of an evaluation is recognised; it holds answers of a model."""
_SHOWN = 8  # values or columns that fit in a message


def samples_from(
    rows: Iterable[SourceRow], chosen: DataSelection, *, name: str, source: str, note: Note
) -> Iterator[Sample]:
    """Yield the samples of a table; columns that are not used stay in `metadata` (so does a label that is not read).

    A row without its text (no such column, or null) stays a sample with an empty text, so that it is counted
    as unscorable later and never dropped; a note says how many there are.

    Args:
        rows: of the table.
        chosen: the column of each field of a sample; None means: one of the usual names if there is one. Texts of
            several columns joined by "+" are put together in that order.
        name: of the table.
        source: of the table, for messages.
        note: is called with what the reader should know.

    Raises:
        DataError: a missing column, a text that is not a string, a row without an id, a label of no
            known meaning.
    """
    table = list(rows)
    if not table:
        raise DataError(f"{source}: no rows, expected at least one")
    # rows of JSON may lack columns: the table has the columns of all of them
    columns = tuple(dict.fromkeys(chain.from_iterable(table)))
    texts = _text_columns(chosen.text, columns, source)
    if chosen.text is None:
        _note_columns(texts, columns, note)
    for column in filterfalse(columns.__contains__, texts):
        check_nested(table, column, source)
    ids = _ids(chosen.id, columns, source)
    group = _named(chosen.group, columns, source, role="group") or usual_column(GROUP_COLUMNS, columns)
    groups = _groups_of_rows(table, columns, ids, group=group, note=note)
    language_column, language = _language(chosen.language, columns, source)
    labels = _labels(table, columns, chosen, source=source, note=note)
    used = {ids, group, language_column, chosen.label}
    # a prompt and its solution stay, for scores of the one given the other
    if chosen.text is not None or len(texts) == 1:
        used |= set(texts)
    missing = 0
    between = _line_end(chosen.text, texts)
    named: object = language
    for number, row in enumerate(table):
        if isinstance(row, UnreadRow):
            yield Sample(row.name, text="")
            continue
        text, absent = _text(row, texts, f"{source}: row {number + 1}", between=between)
        missing += absent
        if language_column:
            named = row.get(language_column)
        yield Sample(
            id=f"{name}/{number}" if ids is None else _id(row, ids, f"{source}: row {number + 1}"),
            text=text,
            language=language_named(str(named)) if named else None,
            label=labels[number],
            group=groups[number],
            metadata=dict(filterfalse(lambda item: item[0] in used, row.items())),
        )
    if missing:
        note(f"{number_have(missing, 'record')} no {' + '.join(map(repr, texts))}: kept with an empty text")


def _note_columns(texts: Sequence[str], columns: Sequence[str], note: Note) -> None:
    """Say which columns the text was taken from, unless it is the usual one alone."""
    code = usual_column((CODE, "solution", SOLUTION), columns)
    if texts == TEXT_COLUMNS[:1] and code is not None:
        way = f"--columns text={texts[0]}+{code} takes both"
        note(f"the text was taken from the column {texts[0]!r}, without {code!r}; {way}")
    elif texts != TEXT_COLUMNS[:1]:
        alone = ", without its prompt" * (texts[0].casefold() == SOLUTION)
        columns = " + ".join(map(repr, texts))
        note(f"the text was taken from the column {columns}{alone}; --columns text=NAME names another")


def _ids(requested: str | None, columns: Sequence[str], source: str) -> str | None:
    """Return the column of ids; None where the rows are numbered."""
    if requested is None:
        return usual_column(ID_COLUMNS, columns)
    if requested == ROW_NUMBERS and ROW_NUMBERS not in columns:
        return None
    return _named(requested, columns, source, role="id")


def _groups_of_rows(
    table: Sequence[SourceRow], columns: Sequence[str], ids: str | None, *, group: str | None, note: Note
) -> list[str | None]:
    """Return the group of each row: of a column, or inferred; None for each where neither is there."""
    if group:
        return list(map(_word, map(nested_value, table, repeat(group))))
    inferred = inferred_groups(table, columns, ids)
    if inferred is None:
        return [None] * len(table)
    column, groups = inferred
    named_groups = len({*groups} - {None})
    note(f"groups were taken from the column {column!r} ({named_groups} groups); another can be named as the group")
    return groups


def _word(value: object) -> str | None:
    return None if value is None else str(value)


def number_have(count: int, noun: str) -> str:
    """Return `1 record has`, `2 records have`."""
    return f"{count} {noun} has" if count == 1 else f"{count} {noun}s have"


def shortened(values: Iterable[object]) -> str:
    """Return values for a message: the first few, and how many more."""
    shown = list(map(str, values))
    more = len(shown) - _SHOWN
    return ", ".join(shown[:_SHOWN]) + f" and {more} more" * (more > 0)


def membership(value: object) -> str | None:
    """Return "member" or "nonmember" for the usual words for it (1, true, seen, ...); None for an empty value.

    Raises:
        ValueError: the value means neither.
    """
    word = str(value).strip().casefold()
    if word in _MEMBER:
        return MEMBER
    if word in _NONMEMBER:
        return NONMEMBER
    if word in _UNLABELLED:
        return None
    raise ValueError(word)


def memberships(values: Sequence[object], where: str) -> list[str | None]:
    """Return the `membership` of each value of a column.

    Raises:
        DataError: values of no known meaning; all of them are listed.
    """
    unknown = dict.fromkeys(map(repr, filterfalse(_is_membership, values)))
    if unknown:
        raise DataError(f"{where} holds {shortened(unknown)}; expected membership ({_MEMBERSHIP_WORDS})")
    return list(map(membership, values))


def _is_membership(value: object) -> bool:
    try:
        membership(value)
    except ValueError:
        return False
    return True


def nested_value(row: Mapping[str, object], column: str) -> object:
    """Return the value of a column; dots lead into nested columns where no column has the whole name: "doc.prompt"."""
    if column in row:
        return row[column]
    # the whole name first, as a column may have a dot in its name
    head, _, rest = column.partition(".")
    inner = row.get(head)
    if rest and isinstance(inner, Mapping):
        return nested_value(inner, rest)
    return None


def check_nested(rows: Sequence[Mapping[str, object]], column: str, source: str) -> None:
    """Check that a row has a value in a nested column.

    Raises:
        DataError: none has; the columns that there are, nested ones with dots, are listed.
    """
    if all(nested_value(row, column) is None for row in rows):
        present = shortened(dict.fromkeys(chain.from_iterable(map(_leaves, rows))))
        raise DataError(f"{source}: no row has a nested column {column!r}; found the columns {present}")


def _leaves(row: Mapping[str, object], prefix: str = "") -> Iterator[str]:
    """Yield the names of the columns without columns of their own, as `nested_value` takes them."""
    for name, value in row.items():
        if isinstance(value, Mapping) and value:
            yield from _leaves(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}"


def usual_column(names: Sequence[str], columns: Sequence[str]) -> str | None:
    """Return the first of the usual names that is a column, whatever its case."""
    return next(_usual_columns(names, columns), None)


def _usual_columns(names: Sequence[str], columns: Sequence[str]) -> Iterator[str]:
    # reversed, so that of two columns that differ in case alone the first one counts
    folded = {column.casefold(): column for column in reversed(columns)}
    return (folded[name] for name in names if name in folded)


def _named(column: str | None, columns: Sequence[str], source: str, *, role: str) -> str | None:
    if column is not None and column not in columns and column.partition(".")[0] not in columns:
        raise DataError(f"{source}: no {role} column {column!r}; found the columns {shortened(columns)}")
    return column


def _text_columns(requested: str | None, columns: Sequence[str], source: str) -> tuple[str, ...]:
    if requested is None:
        if {CODE, "test_list"}.issubset(columns):
            statement = usual_column(STATEMENTS, columns)
            if statement is not None:
                return statement, CODE
        usual = usual_column(TEXT_COLUMNS, columns)
        if usual is None:
            for harness, marks in LOGS.items():
                if marks.issubset(columns):
                    raise DataError(f"{source}: received a log of {harness}, expected the benchmark that it is of")
            raise DataError(
                f"{source}: no text column; found the columns {shortened(columns)}, expected one to be named "
                f"(--columns text=NAME, or text=NAME+NAME), or called {shortened(TEXT_COLUMNS)}"
            )
        prompt = usual_column((PROMPT,), columns)
        # the body of a function alone is not what a model read: its head stands in the prompt
        return (prompt, usual) if prompt and usual.casefold() == SOLUTION else (usual,)
    if requested in columns:
        return (requested,)
    parts = tuple(requested.split("+"))
    for part in parts:
        _named(part, columns, source, role="text")
    return parts


def _text(row: Mapping[str, object], columns: Sequence[str], where: str, *, between: str) -> tuple[str, bool]:
    """Return the text of a row, and True if any part of it is absent."""
    texts = []
    for column in columns:
        value = nested_value(row, column)
        if isinstance(value, str):
            texts.append(value)
        elif value is not None and not _is_nan(value):  # pandas writes a missing text as the number NaN
            raise DataError(f"{where}: {column!r} holds {type(value).__name__} {str(value)[:40]!r}, expected text")
    is_absent = len(texts) < len(columns)
    whole = between.join(texts) if between else whole_text(*texts)
    return whole * (not is_absent), is_absent


def _line_end(requested: str | None, texts: Sequence[str]) -> str:
    """Return what stands between the columns of a text: a line end for MBPP, else nothing."""
    return "\n" * (requested is None and texts[1:] == (CODE,))


def whole_text(*parts: str) -> str:
    """Return parts of a text joined, as a prompt and its solution; a solution that repeats its prompt is the whole."""
    first, *others = parts or ("",)
    if len(others) == 1 and first.strip() and others[0].startswith(first):
        return others[0]
    return "".join(parts)


def _is_nan(value: object) -> bool:
    return isinstance(value, float) and math.isnan(value)


def _id(row: Mapping[str, object], column: str, where: str) -> str:
    value = nested_value(row, column)
    if value is None or value == "" or isinstance(value, dict | list):
        raise DataError(f"{where}: {column!r} holds {value!r:.40}, expected an id; name another column, or 'row'")
    return str(value)


def _language(requested: str | None, columns: Sequence[str], source: str) -> tuple[str | None, str | None]:
    """Return the language column, or the language of all rows.

    Raises:
        DataError: it is neither.
    """
    if requested is None:
        return usual_column(LANGUAGE_COLUMNS, columns), None
    if requested in columns:
        return requested, None
    try:
        return None, checked_language(requested)
    except DataError as error:
        raise DataError(f"{source}: no language column {requested!r}, and {error}") from None


def _labels(
    table: Sequence[SourceRow], columns: Sequence[str], chosen: DataSelection, *, source: str, note: Note
) -> Sequence[str | None]:
    """Return one label for each row.

    A column that was not named is read only if all its values mean membership. A column called "label" must
    also hold words: 0 and 1 often mean something else (written by a person or a model), and a wrong guess would
    look like a result.
    """
    if named := _named(chosen.label, columns, source, role="label"):
        values = list(map(nested_value, table, repeat(named)))
        if chosen.labels == "as-is":
            return list(map(_word, values))
        return memberships(values, f"{source}: the label column {named!r}")
    column = usual_column((*MEMBERSHIP_COLUMNS, "label"), columns)
    if column is None:
        return [None] * len(table)
    values = [row.get(column) for row in table]
    # 0 and 1 in a column `label` may say who wrote the code; in a column `member` they cannot
    numbers_count = column.casefold() != "label"
    if all(_is_membership(value) and (numbers_count or not _is_number(value)) for value in values):
        return memberships(values, source)
    way = f"expected {_MEMBERSHIP_WORDS}"
    if all(map(_is_membership, values)):
        way = f"--columns label={column} reads 1 as member and 0 as nonmember"
    note(
        f"the column {column!r} ({shortened(dict.fromkeys(map(str, values)))}) is not read: it may not mean "
        f"membership; {way}"
    )
    return [None] * len(table)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) or (isinstance(value, str) and value.strip() in {"0", "1", "0.0", "1.0"})
