"""Two texts that differ in words alone: which words, and where."""

import re

_WORD = re.compile(r"[^\W\d]\w*")


def word_changes(original: str, other: str) -> dict[int, str] | None:
    """Offset in the original → the word that stands there in the other text, where it is another one.

    None where more than words differs: another number of words, or anything between them.
    """
    if _WORD.split(original) != _WORD.split(other):
        return None
    words = zip(_WORD.finditer(original), _WORD.findall(other), strict=True)
    return {old.start(): new for old, new in words if old[0] != new}
