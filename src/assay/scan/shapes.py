"""Shapes of rows that people train on, and the text of a row.

A shape is recognised by its columns and named in the answer. The text of a row is every text in it, in the order of its
columns, nested ones too: what stands beside a task in its row is part of the evidence, and no column goes unread.
`--columns text=NAME` restricts it to named columns.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from html import unescape
from operator import itemgetter
from typing import Any

SHAPES: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "chat (messages)": (("messages",),),
    "chat (conversations)": (("conversations",), ("conversation",)),
    "preferences (chosen, rejected)": (("chosen", "rejected"),),
    "Alpaca (instruction, output)": (("instruction", "output"), ("instruction", "response")),
    "prompt and completion": (("prompt", "completion"), ("prompt", "response"), ("question", "answer")),
    "SWE (patch, problem_statement)": (("patch", "problem_statement"), ("patch",)),
    "The Stack": (("content", "lang"), ("content", "max_stars_repo_path"), ("content", "blob_id"), ("content", "path")),
    "text": (("text",), ("content",), ("code",), ("source",), ("raw_content",)),
}
"""Name → choices of columns, one of which all rows of the shape have; the first shape that fits counts."""
OTHER = "other columns"
NOTEBOOK = "notebook"
SISTERS = (".json", ".txt", ".cls")
"""Endings of which a WebDataset has one; a folder of source has other neighbours."""

_MARKUP = re.compile(r"<(?:pre|code)\b", re.IGNORECASE)
_TAG = re.compile(r"<(?:/?[a-zA-Z][^<>]{0,2000}|!--.{0,2000}?--)>", re.DOTALL)


def shape_of(row: Mapping[str, Any]) -> str:
    """Return the name of a row's shape."""
    if isinstance(row.get("cells"), list):
        return NOTEBOOK
    for name, choices in SHAPES.items():
        if any(map(row.keys().__ge__, map(set, choices))):
            return name
    return OTHER


def sisters_name(path: str) -> str:
    """Return the name that stands for a member of a WebDataset and its sisters: `shard/000017.*`."""
    folder, slash, name = path.rpartition("/")
    return f"{folder}{slash}{name.partition('.')[0]}.*"


def are_sisters(paths: Sequence[str]) -> bool:
    """Return True if the first members of a tar are sisters, the parts of one row of a WebDataset."""
    return len(set(map(sisters_name, paths))) < len(paths) and any(path.endswith(SISTERS) for path in paths)


def row_fields(row: Any, columns: Sequence[str] = ()) -> Iterator[tuple[str, str]]:  # noqa: ANN401  whatever JSON can hold
    """Yield the path of each text of a row, as in `messages.1.content`, and the text.

    A list of lines, as notebooks have them, is one text.

    Args:
        row: a value of JSON.
        columns: restrict it to these, with dots for nested ones, in lists too: `messages.content`.
    """
    # a stack in place of recursion: nesting as deep as JSON allows would end Python's
    stack = [("", "", row)]
    while stack:
        path, column, item = stack.pop()
        if isinstance(item, dict):
            # of the path, the column has the names alone
            inner = [(_joined(path, name), _joined(column, name), value) for name, value in item.items()]
            stack.extend(reversed(inner))
        elif isinstance(item, list) and not (item and all(isinstance(line, str) for line in item)):
            stack.extend((_joined(path, at), column, item[at]) for at in reversed(range(len(item))))
        elif isinstance(item, str | bytes | list) and (not columns or _is_inside(column, columns)):
            yield path, plain_text(_text_of(item))


def _joined(path: str, name: object) -> str:
    return f"{path}.{name}".removeprefix(".")


def _is_inside(column: str, columns: Sequence[str]) -> bool:
    return any(f"{column}.".startswith(f"{asked}.") for asked in columns)


def _text_of(value: str | bytes | list[str]) -> str:
    if isinstance(value, list):
        # notebooks keep the line ends of a cell's lines (nbformat 4, "multiline string"); other lists do not
        return "".join(line.removesuffix("\n") + "\n" for line in value)
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


def row_text(row: Any, columns: Sequence[str] = ()) -> str:  # noqa: ANN401  as above
    """Return all text of a row, each on lines of its own; "" where it has none."""
    return "\n".join(map(itemgetter(1), row_fields(row, columns)))


def field_at(row: Any, columns: Sequence[str], line: int) -> tuple[str, int]:  # noqa: ANN401  as above
    """Return the path of the text that holds a line of `row_text`, and the line in it, both from 1."""
    for path, text in row_fields(row, columns):
        lines = text.count("\n") + 1
        if line <= lines:
            return path, line
        line -= lines
    return "", line


def plain_text(text: str) -> str:
    """Return a text without the markup of HTML, if it has code in it that markup would hide."""
    if "<" not in text or not _MARKUP.search(text):
        return text
    # a tag inside a word colours a part of it; lines stay where they are
    return unescape(_TAG.sub(lambda tag: "\n" * tag[0].count("\n"), text))
