"""Syntax trees without their leaves that say nothing: contexts (Load, Store) and operators are half of all nodes."""

import ast
from collections.abc import Iterator

_MARKS = frozenset({"ctx", "op", "ops"})


def children(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes directly below, in the order of the fields, but for contexts and operators."""
    for name in node._fields:
        if name in _MARKS:
            continue
        value = getattr(node, name)
        if isinstance(value, ast.AST):
            yield value
        elif value.__class__ is list:
            for one in value:
                if isinstance(one, ast.AST):
                    yield one


def below(tree: ast.AST) -> list[ast.AST]:
    """The tree's nodes but for contexts and operators, level by level as `ast.walk` gives them."""
    found = [tree]
    for node in found:  # grows as it is read
        if node.__class__ is not ast.Name and node.__class__ is not ast.Constant:
            found += children(node)
    return found
