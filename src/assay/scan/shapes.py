"""Shapes of rows that people train on, and the text of a row.

A shape is recognised by its columns and named in the answer. The text of a row is every text in it, in the order of its
columns, nested ones too: what stands beside a task in its row is part of the evidence, and no column goes unread.
`--columns text=NAME` restricts it to named columns.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from html import unescape
from itertools import chain
from typing import Any

from assay.datasets import nested_value

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


def row_text(row: Any, columns: Sequence[str] = ()) -> str:  # noqa: ANN401  whatever JSON can hold
    """Return all text of a row; "" where it has none.

    Args:
        row: a value of JSON.
        columns: restrict it to these, with dots for nested ones.
    """
    if columns:
        values = [nested_value(row, column) for column in columns]
        return "\n".join(chain.from_iterable(map(_pieces, values)))
    return "\n".join(_pieces(row))


def _pieces(value: Any) -> Iterator[str]:  # noqa: ANN401  as above
    """Yield the texts of a value; a list of lines, as notebooks have them, is one text."""
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            yield plain_text(item)
        elif isinstance(item, bytes):
            yield plain_text(item.decode("utf-8", "replace"))
        elif isinstance(item, dict):
            stack.extend(reversed(item.values()))
        elif isinstance(item, list):
            if item and all(isinstance(line, str) for line in item):
                yield plain_text("".join(line if line.endswith("\n") else f"{line}\n" for line in item))
            else:
                stack.extend(reversed(item))


def plain_text(text: str) -> str:
    """Return a text without the markup of HTML, if it has code in it that markup would hide."""
    if "<" not in text or not _MARKUP.search(text):
        return text
    # a tag inside a word colours a part of it; lines stay where they are
    return unescape(_TAG.sub(lambda tag: "\n" * tag[0].count("\n"), text))
