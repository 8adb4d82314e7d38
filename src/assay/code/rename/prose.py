"""Mentions of names in prose: statements of tasks, and what docstrings say beside lists of parameters and examples."""

import ast
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate

from assay.code.parse.python_source import docstring_of
from assay.code.rename.mentions import ENGLISH
from assay.code.rename.names import Renamable
from assay.python_parser import REFUSALS, python_tree


@dataclass(frozen=True, slots=True)
class ProseMentions:
    """Where prose has the names of a program as words, beside the places that are known.

    Attributes:
        mentions: place → index of the name that it mentions.
        unclear: names of which a word may be a mention and may be plain English.
    """

    mentions: Mapping[int, int]
    unclear: frozenset[str]


def prose_mentions(
    text: str,
    names: Sequence[Renamable],
    *,
    first: int,
    last: int,
    places: Mapping[int, int],
    fitting: Collection[str] = (),
) -> ProseMentions:
    """Return where prose mentions names.

    A name that may be a plain word counts only where it stands like code: in quotes or before a bracket. A letter
    counts only in lines without quotes and examples, where it may be a value.

    Args:
        text: the prose, or a text around it.
        names: of the program.
        first: where the prose begins.
        last: where it ends.
        places: that are known to be names.
        fitting: names whose new names fit the prose: their plain words change too.
    """
    mentions: dict[int, int] = {}
    unclear = set()
    for index, name in enumerate(names):
        fits = name.name in fitting and len(name.name) > 1 and name.name.lower() not in ENGLISH
        for match in re.finditer(rf"(?<![\w\\]){re.escape(name.name)}(?!\w)", text[:last]):
            begin, end = match.span()
            if begin < first or begin in places:
                continue
            line = text[text.rfind("\n", 0, begin) + 1 : (text + "\n").index("\n", end)]
            if fits or _is_code(name.name, before=text[begin - 1 : begin], after=text[end : end + 1], line=line):
                mentions[begin] = index
            elif ">>>" not in line:
                unclear.add(name.name)
    return ProseMentions(mentions, frozenset(unclear))


def _is_code(name: str, *, before: str, after: str, line: str) -> bool:
    """Return whether a word that is a name stands like code, with the characters around it and its line."""
    is_letter = len(name) == 1
    is_word = name.isalpha() and name.islower()
    is_example = ">>>" in line
    has_values = is_example or not {"'", '"', "’"}.isdisjoint(line)
    # quotes around a letter, or in an example, are those of a string; backquotes never are
    in_quotes = before == after != "" and (before == "`" or (before in "'\"" and not is_letter and not is_example))
    is_called = after == "(" or (after == "[" and not has_values)
    is_variable = is_letter and not has_values and name not in "aAiI"
    return in_quotes or is_called or is_variable or not (is_word or is_letter)


def docstring_lines(program: str, start: int, length: int) -> Iterator[tuple[int, int]]:
    """Yield the docstrings of Python inside a cell: from, to, from the start of the cell."""
    for begin, end in _docstrings(program):
        first, last = begin - start, end - start
        if first >= -len(program) and last > 0 and first < length:
            yield max(0, first), min(length, last)


# the cells of a row are parts of one program, which may hold tests of megabytes: it is parsed once for all of them
@lru_cache(maxsize=1)
def _docstrings(program: str) -> tuple[tuple[int, int], ...]:
    """Return where the lines of each docstring begin and end."""
    try:
        tree = python_tree(program)
    except REFUSALS:
        return ()
    lines = list(accumulate(map(len, program.splitlines(keepends=True)), initial=0))
    places = []
    for node in ast.walk(tree):
        text = docstring_of(node)
        if text and text.end_lineno is not None and not isinstance(node, ast.AsyncFunctionDef):
            # only whole lines are looked at: columns count bytes
            places.append((lines[text.lineno - 1], lines[text.end_lineno]))
    return tuple(places)
