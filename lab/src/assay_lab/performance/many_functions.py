"""As many functions as are asked for: of the standard library and every installed package, then mutated copies.

A mutated copy is made, not found: of a function in turn, with each of its names that is no keyword replaced everywhere
with probability 0.3, and one statement that stands on one line left out. So copies of one function share fingerprints
with it and with each other, more than the files of a real corpus do.
"""

import ast
import keyword
import random
import re
import sysconfig
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from assay.code import functions_in
from assay.ground_truth import library_paths, library_root

NAME = re.compile(r"\b[A-Za-z_]\w*\b")
RENAMED = 0.3
LEAST_CHARACTERS = 80
LETTERS = "abcdefghijklmnopqrstuvwxyz"


@dataclass(frozen=True, slots=True)
class Function:
    """A text, where it stands, and whether it is a mutated copy."""

    text: str
    name: str
    path: str
    line: int
    mutated: bool = False


def modules() -> Iterator[tuple[str, Path]]:
    """All modules of the standard library and of the packages installed, as path within either and path."""
    yield from ((path, library_root() / path) for path in library_paths(library_root()))
    packages = Path(sysconfig.get_paths()["purelib"])
    yield from ((path.relative_to(packages).as_posix(), path) for path in sorted(packages.rglob("*.py")))


def found() -> Iterator[Function]:
    """Every different function of at least 80 characters."""
    known = set()
    for name, path in modules():
        try:
            definitions = functions_in(path.read_text("utf-8"), "python")
        except (ValueError, OSError):
            continue
        for function in definitions:
            if len(function.text) >= LEAST_CHARACTERS and hash(function.text) not in known:
                known.add(hash(function.text))
                yield Function(function.text, name=function.name, path=name, line=function.first_line)


def functions(count: int, originals: list[Function], seed: int = 0) -> Iterator[Function]:
    """The first `count`: originals in random order, then copies of them in turn."""
    draw = random.Random(seed)  # noqa: S311  no secret
    order = draw.sample(originals, len(originals))
    yield from order[:count]
    droppable: dict[int, list[int]] = {}
    for number in range(len(order), count):
        which = number % len(order)
        original = order[which]
        # parsed once for all copies of a function
        if which not in droppable:
            droppable[which] = single_lines(original.text)
        text = mutated(original.text, droppable[which], draw)
        yield Function(text, name=original.name, path=f"copies/{number}/{original.path}", line=1, mutated=True)


def mutated(text: str, droppable: list[int], draw: random.Random) -> str:
    """A copy with other names and one statement fewer."""
    if droppable:
        lines = text.splitlines(keepends=True)
        del lines[draw.choice(droppable)]
        text = "".join(lines)
    names: dict[str, str] = {}

    def other(found: re.Match[str]) -> str:
        name = found[0]
        if name not in names:
            kept = keyword.iskeyword(name) or draw.random() >= RENAMED
            names[name] = name if kept else "".join(draw.choices(LETTERS, k=len(name)))
        return names[name]

    return NAME.sub(other, text)


def single_lines(text: str) -> list[int]:
    """Lines, from 0, that hold one statement whose block holds more."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            tree = ast.parse(text)
        except SyntaxError:
            return []
    lines = []
    for node in ast.walk(tree):
        for block in ("body", "orelse", "finalbody"):
            statements = getattr(node, block, None)
            if isinstance(statements, list) and len(statements) > 1:
                lines += [node.lineno - 1 for node in statements if node.lineno == node.end_lineno]
    return sorted(set(lines))
