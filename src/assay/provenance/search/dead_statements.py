"""Statements without effect, which hide a copy: assignments to names that nothing reads, and values alone.

Tokens show a renamed copy in runs of 20, and a statement between every two lines leaves none. What is left out is only
looked for in addition, so a statement that was taken for one without effect costs nothing.
"""

import re
from collections import Counter
from collections.abc import Sequence

from assay.corpora import lines_of

FEWEST = 3
"""Statements without effect from which a function is looked for without them; its authors may have left one or two."""

_NAME = re.compile(r"[^\W\d][\w$]*")
_ASSIGNMENT = re.compile(
    r"[ \t]*(?:[^\W\d][\w.<>\[\]]*[ \t*&]+){0,3}\$?(?P<name>[^\W\d]\w*)(?:[ \t]*:[ \t]*[\w.<>\[\]]+)?"
    r"[ \t]*(?:[-+*/|&^]|:)?=(?![=>])(?P<value>[^\n]*?);?[ \t]*"
)
_VALUE = re.compile(
    r"[ \t]*(?:pass|\.\.\.|none|null|nil|true|false|assert true|[-+.\d\s*/()]+|\"[^\"]*\"|'[^']*')?[ \t]*;?[ \t]*",
    re.IGNORECASE,
)
_VARIABLE = re.compile(r"(?<![\w\"'])[^\W\d]\w*(?![\w\"'(])")
"""A name that is not called, outside of a short literal."""

_NO_DECLARATION = re.compile(r"[ \t]*(?:return|yield|await|if|while|for|else|elif|case|throw|raise|del|type)\b")


def without_dead_statements(text: str, *, constants: bool = False) -> str | None:
    """Return a function with blank lines in place of statements without effect; None where there are few.

    Args:
        text: each statement stands on a line of its own.
        constants: leave out only what is made of numbers and literals, not what its author computed in vain.
    """
    lines = lines_of(text)  # each with its end
    targets = _assigned(lines, constants=constants)
    dead = {at for at, line in enumerate(lines) if line.strip() and _VALUE.fullmatch(line.rstrip()) and _is_whole(line)}
    is_read = Counter(_NAME.findall(text))
    # a value that only dead statements read is dead too, so they are taken out until nothing changes
    while added := _unread(targets, is_read) - dead:
        dead |= added
        for at in added:
            is_read.subtract(_NAME.findall(lines[at]))
            del targets[at]
    if len(dead) < FEWEST:
        return None
    for at in dead:
        lines[at] = "\n"
    return "".join(lines)


def _assigned(lines: Sequence[str], *, constants: bool) -> dict[int, str]:
    """Return the lines that do nothing but assign a name, with the name; `constants` as in the caller."""
    targets = {}
    for at, line in enumerate(lines):
        assignment = _ASSIGNMENT.fullmatch(line.rstrip())
        if not assignment or not _is_whole(line) or _NO_DECLARATION.match(line):
            continue
        if not (constants and _VARIABLE.search(line.partition("=")[2])):
            targets[at] = assignment["name"]
    return targets


def _unread(targets: dict[int, str], is_read: Counter[str]) -> set[int]:
    """Return the lines that assign a name which occurs nowhere else than in such lines."""
    assigned = Counter(targets.values())
    return {at for at, name in targets.items() if is_read[name] <= assigned[name]}


def _is_whole(line: str) -> bool:
    # an open bracket: the statement goes on in the next line
    return all(line.count(left) == line.count(right) for left, right in ("()", "[]", "{}"))
