"""Other examples of a task: whether they may stand in place of its own, which the tests of the task cannot tell.

Only doctests change. The new ones show as much as the old: not one result alone where there were several, and no result
that is its own input where none was. Numbers stay in the range that a reader would infer, since the text may state one.
"""

import ast
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from difflib import SequenceMatcher
from doctest import DocTestParser, Example

import numpy as np

EMPTY = {"", "[]", "{}", "()", "''", '""', "set()"}
FURTHEST = 2
"""A new number lies up to so many times as far from 0 as the old numbers of the same argument."""


def shows_as_much(old: str, new: str) -> bool:
    """Return True if a text differs from another in its doctests alone, and these show as much."""
    if not _changes_doctests_alone(old, new):
        return False
    try:
        before, after = map(DocTestParser().get_examples, (old, new))
    except ValueError:
        return False
    results, new_results = set(map(_result, before)), set(map(_result, after))
    if len(new_results) < min(2, len(results)) or (new_results & EMPTY) - results:
        return False
    # a comment explains its own example; an input that comes back shows nothing of the task
    if any("#" in example.source for example in before) or all(map(_echoes, after)) > all(map(_echoes, before)):
        return False
    arguments: dict[int, list[object]] = {}
    for place, value in _arguments(before):
        arguments.setdefault(place, []).append(value)
    return all(_is_alike(value, arguments.get(place, ())) for place, value in _arguments(after))


def _echoes(example: Example) -> bool:
    return _result(example) in example.source


def _result(example: Example) -> str:
    # the last result of a docstring ends with it
    return re.split("\"\"\"|'''", example.want)[0].strip()


def _arguments(examples: Iterable[Example]) -> Iterator[tuple[int, object]]:
    """Yield the literal arguments of calls, with their places."""
    for example in examples:
        try:
            call = ast.parse(example.source.strip(), mode="eval").body
        except (SyntaxError, ValueError):
            continue
        for place, argument in enumerate(call.args if isinstance(call, ast.Call) else ()):
            with suppress(ValueError):
                yield place, ast.literal_eval(argument)


def _is_alike(value: object, old: Sequence[object]) -> bool:
    """Return True if a value is of the range that the old values of its argument show."""
    if isinstance(value, str):
        lengths = {len(each) for each in old if isinstance(each, str)}
        # ranges such as "2-5" have an order that the text may assume
        return (lengths != {1} or len(value) == 1) and not re.search(r"\d-\d", value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return True
    numbers = [each for each in old if isinstance(each, int | float)]
    alike = [abs(each) for each in numbers if np.sign(each) == np.sign(value)]
    return abs(value) <= FURTHEST * max(alike, default=-1)


def _changes_doctests_alone(old: str, new: str) -> bool:
    """Return True if two texts differ in their doctests alone.

    An example in prose may define what it shows (`f(0) == 2`), or be explained by the lines behind it.
    """
    before, after = old.splitlines(), new.splitlines()
    is_test = _doctest_lines(before), _doctest_lines(after)
    for tag, *places in SequenceMatcher(a=before, b=after, autojunk=False).get_opcodes():
        first, second = slice(*places[:2]), slice(*places[2:])
        if tag != "equal" and not all((*is_test[0][first], *is_test[1][second])):
            return False
    return True


def _doctest_lines(lines: Sequence[str]) -> list[bool]:
    """Return for each line whether it is part of a doctest: from its prompt to the next blank line."""
    inside, flags = False, []
    for line in lines:
        text = line.strip()
        inside = text.startswith(">>>") or (inside and bool(text) and not text.startswith(('"""', "'''")))
        flags.append(inside)
    return flags
