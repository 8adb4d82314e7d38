"""SPDX licence expressions against the licences that a user does not want."""

import re
from collections.abc import Sequence
from fnmatch import fnmatchcase

from assay.errors import DataError

_TOKEN = re.compile(r"\s*(\(|\)|[^\s()]+)")
_OPERATORS = {"AND", "OR", "WITH"}
_OLD_GNU = re.compile(r"^((?:[al]?gpl|gfdl)-\d\.\d)(\+?)$")


def denied(expression: str, rules: Sequence[str]) -> bool:
    """Whether every way to use what stands under an expression meets a rule.

    AND asks for both sides, so one of them is enough; OR leaves the choice, so both have to be denied. A licence WITH
    an exception is still that licence; a rule may also name the exception. Case does not count; `*` in a rule stands
    for anything: `GPL-*`. `GPL-3.0` is read as `GPL-3.0-only`, `GPL-3.0+` as `GPL-3.0-or-later`. What is no expression
    is compared as it stands: the rule `unknown` denies what states no licence.
    """
    patterns = [_named(rule) for rule in rules]
    tokens = _TOKEN.findall(expression)
    found, end = _either(tokens, 0, patterns)
    if end == len(tokens):
        return found is True
    return _meets(expression.strip(), patterns)


def checked_rules(rules: Sequence[str]) -> tuple[str, ...]:
    """The rules, if each names one licence.

    Raises:
        DataError: one is empty or an expression of several.
    """
    for rule in rules:
        words = rule.split()
        if not words or {"AND", "OR"} & {word.upper() for word in words} or "(" in rule or "," in rule:
            raise DataError(f"licence {rule!r}: expected one SPDX identifier such as GPL-3.0-only, or GPL-*")
    return tuple(rules)


def _either(tokens: Sequence[str], at: int, patterns: Sequence[str]) -> tuple[bool | None, int]:
    value, at = _both(tokens, at, patterns)
    while value is not None and at < len(tokens) and tokens[at].upper() == "OR":
        other, at = _both(tokens, at + 1, patterns)
        value = None if other is None else value and other
    return value, at if value is not None else -1


def _both(tokens: Sequence[str], at: int, patterns: Sequence[str]) -> tuple[bool | None, int]:
    value, at = _one(tokens, at, patterns)
    while value is not None and at < len(tokens) and tokens[at].upper() == "AND":
        other, at = _one(tokens, at + 1, patterns)
        value = None if other is None else value or other
    return value, at


def _one(tokens: Sequence[str], at: int, patterns: Sequence[str]) -> tuple[bool | None, int]:
    """A licence, with its exception, or what stands in brackets; None where there is neither."""
    if at >= len(tokens) or tokens[at] == ")" or tokens[at].upper() in _OPERATORS:
        return None, -1
    if tokens[at] == "(":
        value, at = _either(tokens, at + 1, patterns)
        closed = value is not None and at < len(tokens) and tokens[at] == ")"
        return (value, at + 1) if closed else (None, -1)
    licence = tokens[at]
    if at + 2 < len(tokens) and tokens[at + 1].upper() == "WITH":
        return _meets(licence, patterns) or _meets(f"{licence} WITH {tokens[at + 2]}", patterns), at + 3
    return _meets(licence, patterns), at + 1


def _meets(licence: str, patterns: Sequence[str]) -> bool:
    name = _named(licence)
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def _named(licence: str) -> str:
    """One spelling: lower case, single spaces, GNU licences by their present identifiers."""
    words = " ".join(licence.casefold().split())
    old = _OLD_GNU.match(words)
    return words if old is None else f"{old[1]}-{'or-later' if old[2] else 'only'}"
