"""Variants by another order: independent imports, methods and examples of a Python text change places.

Imports in a row are independent where each binds names of its own; methods in a row where none has a decorator or a
default that is computed; examples of a docstring where each is one expression with its output. Nothing else moves.
"""

import ast
import random
import re
from collections.abc import Iterator, Sequence
from itertools import groupby

from assay.code.parse.python_source import python_tree

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
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ()
    lines = text.splitlines(keepends=True)
    runs = [run for run in (*_imports(tree), *_methods(tree), *_examples(tree, lines)) if len(run) > 1]
    if not runs or not text.isascii():
        return ()
    draw = random.Random(f"{seed}\n{text}")  # noqa: S311  reproducible, not secret
    texts: dict[str, None] = {}
    for _ in range(n * _ATTEMPTS):
        moved = list(lines)
        # from the end, so that lines before a run keep their numbers
        for run in sorted(runs, key=lambda blocks: blocks[0], reverse=True):
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
    for place, (_, end) in enumerate(run):
        first, last = run[order[place]]
        block = lines[first:last]
        result += [*block[:-1], block[-1].rstrip("\n") + "\n"] if block else []
        following = run[place + 1][0] if place + 1 < len(run) else len(lines)
        result += lines[end:following]
    return result


def _blocks(nodes: Sequence[ast.stmt]) -> list[Lines]:
    return [(node.lineno - 1, node.end_lineno or node.lineno) for node in nodes]


def _runs(body: Sequence[ast.stmt], kinds: tuple[type[ast.stmt], ...]) -> Iterator[list[ast.stmt]]:
    for is_kind, group in groupby(body, lambda node: isinstance(node, kinds)):
        nodes = list(group)
        ends = [node.lineno for node in nodes]
        if is_kind and len(set(ends)) == len(ends):
            yield nodes


def _imports(tree: ast.Module) -> Iterator[list[Lines]]:
    for nodes in _runs(tree.body, (ast.Import, ast.ImportFrom)):
        imports = [node for node in nodes if isinstance(node, ast.Import | ast.ImportFrom)]
        names = [(alias.asname or alias.name.partition(".")[0]) for node in imports for alias in node.names]
        future = any(getattr(node, "module", None) == "__future__" for node in nodes)
        if not future and "*" not in names and len(set(names)) == len(names):
            yield _blocks(nodes)


def _methods(tree: ast.Module) -> Iterator[list[Lines]]:
    for owner in ast.walk(tree):
        for nodes in _runs(owner.body, (ast.FunctionDef,)) if isinstance(owner, ast.ClassDef) else ():
            methods = [node for node in nodes if isinstance(node, ast.FunctionDef)]
            defaults = [value for node in methods for value in (*node.args.defaults, *node.args.kw_defaults)]
            is_plain = all(value is None or isinstance(value, ast.Constant) for value in defaults)
            is_plain &= not any(node.decorator_list or node.returns for node in methods)
            if is_plain and len({node.name for node in methods}) == len(methods):
                yield _blocks(nodes)


def _examples(tree: ast.Module, lines: Sequence[str]) -> Iterator[list[Lines]]:
    for node in ast.walk(tree):
        body = node.body if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Module) else []
        docstring = body[0] if body and isinstance(body[0], ast.Expr) else None
        if docstring is None or not isinstance(docstring.value, ast.Constant) or type(docstring.value.value) is not str:
            continue
        run: list[Lines] = []
        # the last line holds the closing quotes
        number, last = docstring.lineno - 1, (docstring.end_lineno or docstring.lineno) - 1
        while number < last:
            prompt = _PROMPT.match(lines[number])
            end = number + 1
            while end < last and lines[end].strip() and not lines[end].lstrip().startswith((">>>", "...")):
                end += 1
            if prompt and end > number + 1 and _is_expression(prompt["source"]):
                run.append((number, end))
            elif prompt:  # one that binds a name, or has no output: those around it may depend on it
                run = []
                break
            number = end if prompt else number + 1
        yield run


def _is_expression(source: str) -> bool:
    try:
        ast.parse(source, mode="eval")
    except (SyntaxError, ValueError):
        return False
    return True


def _same_parts(tree: ast.Module, other: str) -> bool:
    """Return True if a text has the same parts as a program, whatever their order."""
    try:
        return _parts(tree) == _parts(python_tree(other))
    except (SyntaxError, ValueError):
        return False


def _parts(tree: ast.Module) -> object:
    parts = []
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            body = node.body
            docstring = sorted((ast.get_docstring(node, clean=False) or "").splitlines())
            begin = 1 if docstring else 0
            parts.append((node.name, docstring, [ast.dump(statement) for statement in body[begin:]]))
        elif isinstance(node, ast.ClassDef):
            docstring = sorted((ast.get_docstring(node, clean=False) or "").splitlines())
            kept = [
                statement for statement in node.body[bool(docstring) :] if not isinstance(statement, ast.FunctionDef)
            ]
            parts.append((node.name, docstring, [ast.dump(statement) for statement in kept]))
        elif isinstance(node, ast.Import | ast.ImportFrom):
            parts.append((ast.dump(node), [], []))
    others = [
        ast.dump(node)
        for node in tree.body
        if not isinstance(node, ast.Import | ast.ImportFrom | ast.FunctionDef | ast.ClassDef)
    ]
    return sorted(parts), others if not ast.get_docstring(tree) else others[1:]
