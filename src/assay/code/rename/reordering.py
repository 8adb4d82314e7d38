"""Variants by another order: independent imports, methods and examples of a Python text change places.

Imports in a row are independent where each binds names of its own; methods in a row where none has a decorator or a
default that is computed; examples of a docstring where each is one expression with its output. Nothing else moves.
"""

import ast
import random
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from assay.code.parse.python_source import docstring_of
from assay.python_parser import REFUSALS, python_expression, python_tree

Lines = tuple[int, int]
"""First line and the line behind the last one, from 0."""
_ATTEMPTS = 8
_PROMPT = re.compile(r"[ \t]*>>> (?P<source>.*)")


def reordered(text: str, n: int, seed: int) -> tuple[str, ...]:
    """Return at most n verified texts with independent parts in another order, distinct from each other and the text.

    Args:
        text: a Python program.
        n: number of texts.
        seed: of the orders.
    """
    try:
        tree = python_tree(text)
    except REFUSALS:
        return ()
    lines = text.splitlines(keepends=True)
    runs = [run for run in (*_imports(tree), *_methods(tree), *_examples(tree, lines)) if len(run) > 1]
    if not runs or not text.isascii():
        return ()
    draw = random.Random(f"{seed}\n{text}")  # noqa: S311  reproducible, not secret
    runs.sort(key=lambda blocks: blocks[0], reverse=True)  # from the end, so that lines before a run keep their numbers
    texts: dict[str, None] = {}
    for _ in range(n * _ATTEMPTS):
        moved = lines
        for run in runs:
            moved = _moved(moved, run, draw.sample(range(len(run)), len(run)))
        other = "".join(moved)
        if other != text and other not in texts and _same_parts(tree, other):
            texts[other] = None
        if len(texts) == n:
            break
    return tuple(texts)


def _moved(lines: list[str], run: Sequence[Lines], order: Sequence[int]) -> list[str]:
    """Return the lines with the blocks of a run in another order; what stands between them stays."""
    result = lines[: run[0][0]]
    # the text from the end of a block to the start of the one behind it keeps its place
    for (_start, end), (following, _end), moved in zip(run, [*run[1:], (len(lines), 0)], order, strict=True):
        *block, closing = lines[slice(*run[moved])]
        result += [*block, closing.rstrip("\n") + "\n", *lines[end:following]]
    return result


def _blocks(nodes: Sequence[ast.stmt]) -> list[Lines]:
    return [(node.lineno - 1, node.end_lineno or node.lineno) for node in nodes]


def _runs(body: Sequence[ast.stmt], kinds: tuple[type[ast.stmt], ...]) -> Iterator[list[ast.stmt]]:
    for is_kind, group in groupby(body, lambda node: isinstance(node, kinds)):
        nodes = list(group)
        if is_kind and _distinct(node.lineno for node in nodes):
            yield nodes


def _distinct(values: Iterable[object]) -> bool:
    listed = list(values)
    return len(set(listed)) == len(listed)


def _imports(tree: ast.Module) -> Iterator[list[Lines]]:
    for nodes in _runs(tree.body, (ast.Import, ast.ImportFrom)):
        names = []
        for node in nodes:
            names += [alias.asname or alias.name.partition(".")[0] for alias in getattr(node, "names", ())]
            if getattr(node, "module", None) == "__future__":
                names.append("*")  # it has to stay first
        if "*" not in names and _distinct(names):
            yield _blocks(nodes)


def _methods(tree: ast.Module) -> Iterator[list[Lines]]:
    for owner in ast.walk(tree):
        for nodes in _runs(owner.body, (ast.FunctionDef,)) if isinstance(owner, ast.ClassDef) else ():
            methods = [node for node in nodes if isinstance(node, ast.FunctionDef)]
            if all(map(_is_plain, methods)) and _distinct(node.name for node in methods):
                yield _blocks(nodes)


def _is_plain(method: ast.FunctionDef) -> bool:
    defaults = filter(None, (*method.args.defaults, *method.args.kw_defaults))
    computes = method.decorator_list or method.returns
    return not computes and all(isinstance(value, ast.Constant) for value in defaults)


def _examples(tree: ast.Module, lines: Sequence[str]) -> Iterator[list[Lines]]:
    for node in ast.walk(tree):
        docstring = docstring_of(node)
        if docstring is None or isinstance(node, ast.AsyncFunctionDef):
            continue
        run: list[Lines] = []
        # the last line holds the closing quotes
        number, last = docstring.lineno - 1, (docstring.end_lineno or docstring.lineno) - 1
        while number < last:
            prompt = _PROMPT.match(lines[number])
            begin, number = number, number + 1
            if prompt is None:
                continue
            while number < last and lines[number].strip() and not lines[number].lstrip().startswith((">>>", "...")):
                number += 1
            # one that binds a name, or has no output: those around it may depend on it
            if number == begin + 1 or not _is_expression(prompt["source"]):
                run = []
                break
            run.append((begin, number))
        yield run


def _is_expression(source: str) -> bool:
    try:
        python_expression(source)
    except REFUSALS:
        return False
    return True


def _same_parts(tree: ast.Module, other: str) -> bool:
    """Return True if a text has the same parts as a program, whatever their order."""
    try:
        return _parts(tree) == _parts(python_tree(other))
    except (SyntaxError, ValueError):
        return False


def _parts(tree: ast.Module) -> object:
    parts: list[tuple[str, list[str], list[str]]] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            docstring = sorted((ast.get_docstring(node, clean=False) or "").splitlines())
            movable = (ast.FunctionDef,) if isinstance(node, ast.ClassDef) else ()
            parts.append((node.name, docstring, _dumps(node.body[bool(docstring) :], movable)))
        elif isinstance(node, ast.Import | ast.ImportFrom):
            parts.append((ast.dump(node), [], []))
    others = _dumps(tree.body, (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.ClassDef))
    return sorted(parts), others[bool(ast.get_docstring(tree)) :]


def _dumps(statements: Iterable[ast.stmt], movable: tuple[type[ast.stmt], ...]) -> list[str]:
    return [ast.dump(statement) for statement in statements if not isinstance(statement, movable)]
