"""Comparison of SPDX licence expressions with licences that a user denies."""

import re
from collections.abc import Sequence
from fnmatch import fnmatchcase

from assay.errors import DataError

_TOKEN = re.compile(r"\s*(\(|\)|[^\s()]+)")
_OPERATORS = {"AND", "OR", "WITH"}
_OLD_GNU = re.compile(r"^((?:[al]?gpl|gfdl)-\d\.\d)(\+?)$")


def denied(expression: str, rules: Sequence[str]) -> bool:
    """Return True if an expression leaves no choice of a licence that the rules allow.

    AND requires both sides, so one denied side is enough; OR leaves a choice, so both must be denied. A licence WITH an
    exception is still that licence; a rule may also name the exception. Case does not matter; `*` in a rule matches any
    text: `GPL-*`. `GPL-3.0` is read as `GPL-3.0-only`, `GPL-3.0+` as `GPL-3.0-or-later`. A text that is not an
    expression is compared unchanged: the rule `unknown` denies code without a stated licence.
    """
    patterns = [_named(rule) for rule in rules]
    tokens = _TOKEN.findall(expression)
    verdict, end = _either(tokens, 0, patterns)
    if end == len(tokens):
        return verdict is True
    return _meets(expression.strip(), patterns)


def checked_rules(rules: Sequence[str]) -> tuple[str, ...]:
    """Return the rules if each names one licence.

    Raises:
        DataError: a rule is empty, or names several licences.
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
    value, at = _single(tokens, at, patterns)
    while value is not None and at < len(tokens) and tokens[at].upper() == "AND":
        other, at = _single(tokens, at + 1, patterns)
        value = None if other is None else value or other
    return value, at


def _single(tokens: Sequence[str], at: int, patterns: Sequence[str]) -> tuple[bool | None, int]:
    """Return the verdict on a licence with its exception, or on a bracket; None if there is neither."""
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
    """Return the canonical spelling: lower case, single spaces, present identifiers of the GNU licences."""
    words = " ".join(licence.casefold().split())
    old = _OLD_GNU.match(words)
    return words if old is None else f"{old[1]}-{'or-later' if old[2] else 'only'}"
