"""Formats of tasks: which cells of a row are code, tests, statement or mentions of names, and how its tests are run.

    HumanEval, EvalPlus, HumanEval-X    prompt + canonical_solution, tests behind
    BigCodeBench                        complete_prompt + canonical_solution, unit tests behind
    MBPP                                code between set-up and tests, statement before it
    LiveCodeBench                       statement and starter code, no solution
    any other table                     one column of texts

A public file keeps every column, so that harnesses run it as they run the original.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from assay.datasets.columns import ID_COLUMNS, LANGUAGE_COLUMNS, TEXT_COLUMNS, usual_column
from assay.datasets.selection import DataSelection
from assay.datasets.sources import SourceRow
from assay.errors import DataError
from assay.languages import LANGUAGES, language_named

CellAddress = tuple[str, int]
"""A column, and the place in its list; -1 for a column that holds one text."""
INDENTED = "    pass\n"
"""Body of starter code that has none, so that it parses."""


@dataclass(frozen=True, slots=True)
class TaskLayout:
    """One format.

    Attributes:
        name: of the format.
        needs: columns that show it.
        before: columns of code in front of the program.
        code: columns that make the program.
        tests: columns of code behind it.
        mentions: columns of further code, in which every name of the program changes too.
        statement: columns of prose before the code, which are scored with it.
        prose: further columns of prose.
        end: what completes the program where the format leaves its body open.
        id_prefix: put before the id of a task.
    """

    name: str
    needs: tuple[str, ...]
    code: tuple[str, ...]
    before: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()
    mentions: tuple[str, ...] = ()
    statement: tuple[str, ...] = ()
    prose: tuple[str, ...] = ()
    end: str = ""
    id_prefix: str = ""


TASK_LAYOUTS = (
    TaskLayout(
        "bigcodebench",
        ("complete_prompt", "canonical_solution", "test"),
        code=("complete_prompt", "canonical_solution"),
        tests=("test",),
        mentions=("entry_point", "code_prompt"),
        prose=("instruct_prompt", "doc_struct"),
    ),
    TaskLayout(
        "humaneval",
        ("prompt", "canonical_solution"),
        code=("prompt", "canonical_solution"),
        tests=("test",),
        mentions=("entry_point", "contract", "assertion", "declaration", "example_test", "buggy_solution"),
        prose=("text", "docstring", "instruction"),
    ),
    TaskLayout(
        "mbpp",
        ("code", "test_list"),
        code=("code",),
        before=("test_setup_code", "test_imports"),
        tests=("test_list", "challenge_test_list"),
        statement=("text", "prompt"),
        id_prefix="MBPP/",
    ),
    TaskLayout(
        "livecodebench",
        ("question_content", "starter_code"),
        code=("starter_code",),
        statement=("question_content",),
        mentions=("metadata",),
        end=INDENTED,
    ),
)


def layout_of(rows: Sequence[SourceRow], columns: DataSelection, source: str) -> TaskLayout:
    """Return the format of a table; its columns are the usual ones unless others are named.

    Raises:
        DataError: no row, or no column of texts.
    """
    if not rows:
        raise DataError(f"{source}: no tasks, expected at least one")
    present = list(filter(partial(_is_full, rows), rows[0]))
    for layout in TASK_LAYOUTS:
        # a column that was named makes a plain table of any format
        if columns.text is None and set(layout.needs) <= set(present):
            return layout
    text = columns.text or usual_column(TEXT_COLUMNS, tuple(present))
    if text is None or text not in present:
        raise DataError(f"{source}: no column {columns.text or 'of texts'}; found {', '.join(present)}")
    return TaskLayout("table", (text,), code=(text,))


def _is_full(rows: Sequence[SourceRow], column: str) -> bool:
    return all(row.get(column) is not None for row in rows)


def ids_of(rows: Sequence[SourceRow], layout: TaskLayout, columns: DataSelection, source: str) -> list[str]:
    """Return the ids of the tasks.

    Raises:
        DataError: no column of ids, or an id that occurs twice.
    """
    names = ("question_id", *ID_COLUMNS)
    column = columns.id or usual_column(names, tuple(rows[0]))
    if column is None or not _is_full(rows, column):
        raise DataError(f"{source}: no column {columns.id or 'of ids'}, expected one such as task_id")
    ids = [f"{layout.id_prefix}{row[column]}" for row in rows]
    repeated = sorted(name for name, count in Counter(ids).items() if count > 1)
    if repeated:
        raise DataError(f"{source}: {len(repeated)} ids occur more than once (the first: {repeated[0]!r})")
    return ids


def language_of_row(row: SourceRow, name: str, columns: DataSelection) -> str:
    """Return the language of a task: of its column, of its id ("CPP/7"), else Python."""
    column = columns.language or usual_column(LANGUAGE_COLUMNS, tuple(row))
    stated = column and row.get(column)
    named = language_named(str(stated or name.rpartition("/")[0].rpartition("/")[2]))
    return named if named in LANGUAGES else "python"


def task_table(
    rows: Sequence[SourceRow], columns: DataSelection, source: str
) -> tuple[TaskLayout, list[str], list[str]]:
    """Return the format of a table, and the id and the language of each task.

    Raises:
        DataError: no row, no column of texts or of ids, or an id that occurs twice.
    """
    layout = layout_of(rows, columns, source)
    ids = ids_of(rows, layout=layout, columns=columns, source=source)
    return layout, ids, [language_of_row(row, name, columns) for row, name in zip(rows, ids, strict=True)]


def cells_of(row: Mapping[str, object], columns: Sequence[str]) -> Iterator[tuple[CellAddress, str]]:
    """Yield the texts of some columns, and those in lists of texts."""
    for column in columns:
        value = row.get(column)
        if isinstance(value, str):
            yield (column, -1), value
        elif isinstance(value, list):
            for place, item in enumerate(value):
                if isinstance(item, str):
                    yield (column, place), item


def with_cells(row: Mapping[str, object], cells: Mapping[CellAddress, str]) -> dict[str, object]:
    """Return the row with other texts in some cells."""
    changed = dict(row)
    for (column, place), text in cells.items():
        entry = changed[column]
        if place < 0:
            changed[column] = text
        elif isinstance(entry, list):
            # lists are copied, since the row is read again for the next copy
            changed[column] = [*entry[:place], text, *entry[place + 1 :]]
    return changed


def scored_text(row: Mapping[str, object], layout: TaskLayout) -> str:
    """Return the text of a task that a model is asked about: as the loaders of the benchmarks put it together."""
    return "".join([*map("{}\n".format, _texts(row, layout.statement)), *_texts(row, layout.code)])


def _texts(row: Mapping[str, object], columns: Sequence[str]) -> Iterator[str]:
    for _address, text in cells_of(row, columns):
        yield text


def runnable(
    row: Mapping[str, object], layout: TaskLayout, original: Mapping[str, object], language: str
) -> str | None:
    """Return a program that ends with exit code 0 if the tests of a task pass; None where there are no tests.

    EvalPlus has inputs in place of tests: the copy must return on each what the original returns.
    """
    code, tests = "".join(_texts(row, layout.code)), "\n".join(_texts(row, layout.tests))
    entry = row.get("entry_point")
    if language == "python" and not tests and isinstance(row.get("base_input"), list) and isinstance(entry, str):
        # both programs run in name spaces of their own, on deep copies: neither sees what the other changed
        old = "".join(_texts(original, layout.code))
        return (
            f"import copy\nold, new = {{}}, {{}}\nexec({old!r}, old)\nexec({code!r}, new)\n"
            f"for values in {row['base_input']!r}:\n"
            f"    first = old[{original['entry_point']!r}](*copy.deepcopy(values))\n"
            f"    assert new[{entry!r}](*copy.deepcopy(values)) == first\n"
        )
    if not tests:
        return None
    before = map("{}\n".format, _texts(row, layout.before))
    program = f"{''.join(before)}{code}\n\n{tests}\n"
    if layout.name == "humaneval" and language == "python" and isinstance(entry, str):
        return f"{program}\ncheck({entry})\n"
    # tests of BigCodeBench are cases of unittest, which nothing runs until its main is called
    return program + "\nunittest.main()\n" * (layout.name == "bigcodebench")
