"""Words of comments that are names: "the count" may speak of a variable, "a list" hardly of the one called a."""

import re
from collections.abc import Collection, Iterator

# ruff: noqa: SIM905  a list of words reads best as words

_WORD = re.compile(r"(?<![\w.$])[^\W\d]\w*")
_ENGLISH = frozenset(
    (
        "a am an and any are as at be but by can do each for from get go had has have he her him his how i if "
        "in is it its let may me more my new no not now of off old on one only or other our out over own same "
        "set she so some such than that the then there they this time to two under up us use was way we well "
        "were what when where which who will with yes you "
    ).split()
)
"""Words of comments that are names only where they stand like code."""
_CODE = "`'\"([{=<>+*/%"
_MARKER = re.compile(r"(?:^\s*\*|/\*[*!]?|//[/!]?<?)$")
"""The start of a comment, or of a line of it."""
_TAG = re.compile(r"[@\\]param(?:\[\w+(?:,\w+)*\])?[ \t]+(?:\{[^{}\n]*\}[ \t]*)?$")


def mentioned(text: str, start: int, end: int, names: Collection[str]) -> Iterator[re.Match[str]]:
    """Words of a comment that are one of the names.

    A word that is plain English too counts only where it stands like code: a[i], a = 1, `a`, a(b), @param a.

    Args:
        text: all of it.
        start: of the comment.
        end: of the comment.
        names: what is looked for.
    """
    for word in _WORD.finditer(text, start, end):
        if word[0] in names and (word[0].lower() not in _ENGLISH or _like_code(text, word)):
            yield word


def _like_code(text: str, word: re.Match[str]) -> bool:
    start, end = text.rfind("\n", 0, word.start()) + 1, text.find("\n", word.end())
    before, after = text[start : word.start()].rstrip(" \t"), text[word.end() : None if end < 0 else end].lstrip(" \t")
    if before and before[-1] in _CODE and not _MARKER.search(before):
        return True
    if after and after[0] in _CODE and not after.startswith("*/"):
        return True
    return _TAG.search(text[start : word.start()]) is not None
