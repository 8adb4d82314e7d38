"""The words of a task that a document repeats, whatever its code.

A passage is five words of prose in a row. Prose is what has no digits and no characters of code between its words;
licence notices do not count, because thousands of files share them. The statements of different tasks of one benchmark
share a template, but seldom half of their passages.
"""

import re

PASSAGE = 5
"""Words in a row."""

LEAST_PASSAGES = 20
"""Passages that two texts must share: one sentence alone occurs in many tasks."""

LEAST_SHARE = 0.5
"""Share of a task's passages that a document must have."""

Passages = frozenset[tuple[str, ...]]

_COMMENTS = re.compile(r"/\*.*?\*/|(?:^[ \t+-]*(?:#|//)[^\n]*\n?)+", re.DOTALL | re.MULTILINE)
_NOTICE = re.compile(
    r"copyright|licen[cs]ed under|spdx-licen[cs]e|redistribut|permission is hereby|under the terms of", re.IGNORECASE
)
_MARKS = re.compile(r"//|[*`#'\"]")
_CODE = re.compile(r"[(){}\[\];=<>+\-/|&%^!~@$\\_\d]")
_WORD = re.compile(r"[^\W\d_]+")


def without_notices(text: str) -> str:
    """Return a text without the comments that state a licence or a copyright."""
    return _COMMENTS.sub(lambda comment: "" if _NOTICE.search(comment[0]) else comment[0], text)


def passages(text: str) -> Passages:
    """Return the passages of a text, in lower case."""
    prose = _CODE.split(_MARKS.sub("", without_notices(text)).lower())
    runs: set[tuple[str, ...]] = set()
    for words in map(_WORD.findall, prose):
        # the words, and the same ones shifted by 1, 2, … : each row of them is a run
        runs.update(zip(*(words[start:] for start in range(PASSAGE)), strict=False))
    return frozenset(runs)


def same_wording(task: Passages, document: Passages) -> bool:
    """Return whether a document repeats the words of a task."""
    return len(task & document) >= max(LEAST_PASSAGES, LEAST_SHARE * len(task))
