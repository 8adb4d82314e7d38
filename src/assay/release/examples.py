"""Other examples of a task: whether they may stand in place of its own, which the tests of the task cannot tell.

Only doctests change. The new ones show as much as the old: not one result alone where there were several, no result
that is its own input where none was, and each special case that the old ones show. Numbers stay in the range that a
reader would infer, since the text may state one; brackets that are closed stay closed, and words stay words.
"""

import ast
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from difflib import SequenceMatcher
from doctest import DocTestParser, Example
from itertools import chain, compress
from operator import methodcaller, not_

import numpy as np

from assay.code import WORDS_BY_PART
from assay.python_parser import REFUSALS, python_expression, python_literal

EMPTY = {"", "[]", "{}", "()", "''", '""', "set()"}
FURTHEST = 2
"""A new number lies up to so many times as far from 0 as the old numbers of the same argument."""
RESULTS = 3
"""Different results that are shown, where the old examples have so many."""
DULL = (-1, "all alike")
CLOSING = dict(zip("([{<", ")]}>", strict=True))
KNOWN = frozenset(chain.from_iterable(WORDS_BY_PART.values()))
_WORD = re.compile(r"[A-Za-z]{4,}")
# a letter in quotes is a case that the text names
_QUOTED = re.compile(r"""(['"`])(\w)\1""")
PlacedValue = tuple[int, object]
"""A value of an example, with its place among the arguments; the result is at -1."""


def shows_as_much(old: str, new: str) -> bool:
    """Return True if a text differs from another in its doctests alone, and these show as much."""
    if not _changes_doctests_alone(old, new):
        return False
    try:
        before, after = map(DocTestParser().get_examples, (old, new))
    except ValueError:
        return False
    results, new_results = set(map(_result, before)), set(map(_result, after))
    if len(new_results) < min(RESULTS, len(results)) or (new_results & EMPTY) - results:
        return False
    # a comment explains its own example; an input that comes back shows nothing of the task
    if any("#" in example.source for example in before) or all(map(_echoes, after)) > all(map(_echoes, before)):
        return False
    old_values, new_values = list(_values(before)), list(_values(after))
    letters = {letter.lower() for _, letter in _QUOTED.findall(_prose(old))}
    cases, new_cases = _special_cases(old_values, letters), _special_cases(new_values, letters)
    # a result of one value throughout shows less, where no old one was so
    if not cases <= new_cases or DULL in new_cases - cases:
        return False
    arguments: dict[int, list[object]] = {}
    for place, value in old_values:
        arguments.setdefault(place, []).append(value)
    return all(_is_alike(value, arguments.get(place, ())) for place, value in new_values if place >= 0)


def _echoes(example: Example) -> bool:
    return _result(example) in example.source


def _result(example: Example) -> str:
    # the last result of a docstring ends with it
    return re.split("\"\"\"|'''", example.want)[0].strip()


def _values(examples: Iterable[Example]) -> Iterator[PlacedValue]:
    """Yield the literal arguments of calls, and their results."""
    for example in examples:
        with suppress(*REFUSALS):
            yield -1, python_literal(python_expression(_result(example)))
        try:
            call = python_expression(example.source.strip())
        except REFUSALS:
            continue
        for place, argument in enumerate(call.args if isinstance(call, ast.Call) else ()):
            with suppress(*REFUSALS):
                yield place, python_literal(argument)


def _special_cases(values: Iterable[PlacedValue], letters: Iterable[str]) -> set[tuple[int, str]]:
    """Return what values show beside themselves: the edges of a task, and the letters that its text names."""
    cases = set()
    for place, value in values:
        # no bool: it is a number to Python alone
        if type(value) in (int, float) and value in (0, 1):
            cases.add((place, str(value)))
        if not isinstance(value, str | list | tuple):
            continue
        parts = list(map(repr, value))
        shown = {
            "empty or single": len(parts) < 2,  # noqa: PLR2004  less than a pair
            "repeated": len(set(parts)) < len(parts),
            "all alike": len(set(parts)) == 1 < len(parts),
            "palindrome": parts == parts[::-1] and len(parts) > 1,
            "negative": any(map(methodcaller("startswith", "-"), parts)),
        }
        for letter in letters:
            places = list(map(str.lower, map(str, value)))
            shown[f"has {letter}"] = letter in places
            shown[f"ends with {letter}"] = places[-1:] == [letter]
        cases |= {(place, case) for case, holds in shown.items() if holds}
    return cases


def _is_alike(value: object, old: Sequence[object]) -> bool:
    """Return True if a value is of the range that the old values of its argument show."""
    if isinstance(value, str):
        texts = [each for each in old if isinstance(each, str)]
        # what was always one character stays one; `>` of two bools: the old texts were closed, this one is not
        if set(map(len, texts)) == {1} != {len(value)} or all(map(_is_closed, texts)) > _is_closed(value):
            return False
        # ranges such as "2-5" have an order that the text may assume
        return not re.search(r"\d-\d", value) and _has_sense(value, texts)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return True
    numbers = [each for each in old if isinstance(each, int | float)]
    alike = [abs(each) for each in numbers if np.sign(each) == np.sign(value)]
    # no old number has this sign: with -1 nothing passes
    return abs(value) <= FURTHEST * max(alike, default=-1)


def _is_closed(text: str) -> bool:
    """Return True if each bracket of a text is closed by its own kind."""
    expected: list[str] = []
    for character in text:
        if character in CLOSING:
            expected.append(CLOSING[character])
        elif character in CLOSING.values() and (not expected or expected.pop() != character):
            return False
    return not expected


def _has_sense(text: str, old: Iterable[str]) -> bool:
    """Return False where old texts have words that are known, and a text has words without a sense."""
    before = set(_WORD.findall(" ".join(old).lower()))
    return before.isdisjoint(KNOWN) or KNOWN.union(before).issuperset(_WORD.findall(text.lower()))


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


def _prose(text: str) -> str:
    lines = text.splitlines()
    return "\n".join(compress(lines, map(not_, _doctest_lines(lines))))


def _doctest_lines(lines: Sequence[str]) -> list[bool]:
    """Return for each line whether it is part of a doctest: from its prompt to the next blank line."""
    inside, flags = False, []
    for line in lines:
        text = line.strip()
        inside = text.startswith(">>>") or (inside and bool(text) and not text.startswith(('"""', "'''")))
        flags.append(inside)
    return flags
