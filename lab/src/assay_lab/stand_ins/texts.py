"""Texts of stand-ins: functions and prose of this Python's standard library, and invented code of other languages."""

import ast
import random
from collections.abc import Iterator
from functools import cache
from itertools import islice
from string import Template

from assay.ground_truth import library_root
from assay_lab.papers.hst.corpus import installed_functions

LENGTHS = (250, 900)
"""Characters of a function: long enough for local names, short enough for a rehearsal."""
WORDS = [
    "amount",
    "batch",
    "bound",
    "budget",
    "cell",
    "count",
    "delay",
    "depth",
    "edge",
    "entry",
    "field",
    "first",
    "frame",
    "gain",
    "group",
    "hash",
    "height",
    "index",
    "item",
    "key",
    "label",
    "last",
    "level",
    "limit",
    "line",
    "mark",
    "mean",
    "node",
    "offset",
    "order",
    "part",
    "place",
    "queue",
    "rank",
    "rate",
    "ratio",
    "row",
    "score",
    "shape",
    "side",
    "size",
    "slot",
    "span",
    "stack",
    "step",
    "sum",
    "table",
    "text",
    "total",
    "value",
    "weight",
    "width",
    "window",
]
CLIKE = Template(
    """${head} {
    ${int} $a = $n, $b = 0;
    for (${int} $c = $low; $c < $high; $c += $step) {
        if ($c % $mod == $rest) {
            $a = $a $first $c;
        } else {
            $b = $b $second ($a - $c);
        }
    }
    // $words
    return $a $third $b;
}
"""
)
PYTHON = Template(
    """def $name($items):
    # $words
    $a, $b = $n, 0
    for $c in range($low, $high, $step):
        if $c % $mod == $rest:
            $a = $a $first $c
        else:
            $b = $b $second ($a - $c)
    return $a $third $b
"""
)
HEADS = {
    "c": "int $name(int $items)",
    "cpp": "auto $name(const std::vector<int>& $items) -> int",
    "java": "public static int $name(int[] $items)",
}
LANGUAGES = (*HEADS, "python")


@cache
def functions(count: int) -> tuple[str, ...]:
    """Return functions of the standard library of `LENGTHS`, by path."""
    texts = (document.text for document in installed_functions())
    return tuple(islice((text for text in texts if LENGTHS[0] <= len(text) <= LENGTHS[1]), count))


@cache
def prose() -> tuple[str, ...]:
    """Return the words of docstrings of the standard library, some tens of thousands."""
    words: list[str] = []
    for path in sorted(library_root().glob("[a-t]*.py")):
        words += (ast.get_docstring(ast.parse(path.read_text("utf-8"))) or "").split()
    return tuple(words)


def passages(words: int, count: int) -> Iterator[str]:
    """Yield pieces of prose of so many words."""
    whole = prose()
    for at in range(count):
        start = (at * (words + 7)) % (len(whole) - words)
        yield " ".join(whole[start : start + words])


def invented(language: str, task: int, author: int) -> str:
    """Return a function for a task; each author writes it with names and numbers of its own.

    Args:
        language: one of `LANGUAGES`.
        task: number of the task.
        author: number of the author.
    """
    draw = random.Random(f"{language} {task} {author}")  # noqa: S311  a draw that can be repeated, no secret
    names = draw.sample(WORDS, 8)
    values = dict(zip(("name", "items", "a", "b", "c"), names, strict=False))
    values["name"] = f"{WORDS[task % len(WORDS)]}_{names[0]}_{task}"
    values["words"] = " ".join(draw.sample(WORDS, 4))
    values |= {key: str(draw.randint(2, 99)) for key in ("n", "low", "high", "step", "mod", "rest")}
    values |= {key: draw.choice("+-*^|&") for key in ("first", "second", "third")}
    if language == "python":
        return PYTHON.substitute(values)
    head = Template(HEADS[language]).substitute(values)
    return CLIKE.substitute(values, head=head, int="int")
