"""Verification that a Python text differs from another in names alone, from the two texts and nothing else.

1. Text: between the words the two are identical byte for byte; where words differ, a name became its new name.
2. Syntax: it parses, and its tree is the original's node for node; only identifiers differ, never an attribute, an
   import, a class or a literal (docstrings and quoted type hints follow the names).
3. Scopes: Python's own symbol tables are isomorphic: in every scope the same symbols, each local, free or global as
   before; names of the module correspond one to one.

From 2 and 3 follows that every name means the binding that it meant before. Python makes its symbol tables of the tree
and of nothing else, and it uses of names only which are equal. Where 2 has found names to change one to
one, each at all of its places, to names that the tree did not have, 3 follows; the tables are made for all other cases.
"""

import ast
import re
import symtable
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress, count, pairwise, starmap
from operator import ne
from typing import Any

from assay.code.parse.python_source import parameters_of, stars_of
from assay.code.rename.names import Pairs
from assay.python_parser import python_parser, python_tree

_WORDS = re.compile(r"([^\W\d]\w*+)")
_ASCII_WORDS = re.compile(r"([A-Za-z_][A-Za-z0-9_]*+)")  # finds the same words in a text in ASCII, twice as fast
_IDENTIFIERS = frozenset({"id", "arg", "name", "names", "rest"})
_FIXED = frozenset({ast.ClassDef, ast.alias, ast.Attribute, ast.ImportFrom})
_DECLARATIONS = frozenset({ast.Global, ast.Nonlocal})
_KNOWN = ("__", "super")  # so begin the names that symbol tables treat unlike others: they mangle them or look for them
_BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases")


@dataclass(frozen=True, slots=True)
class PythonVerifier:
    """An original, read once, with which many variants are compared.

    Attributes:
        between: the text between the words, before and behind them.
        words: the words.
        nodes: the tree in one row: node types, identifiers, and tuples for all that must not change.
        loose: indexes in `nodes` of strings that follow the names.
        names: how often each identifier stands in `nodes`, whether it may change there or not; see `_names`.
        tables: every scope with its symbols.
    """

    between: list[str]
    words: list[str]
    nodes: list[object]
    loose: frozenset[int]
    names: Mapping[str, int]
    tables: tuple["_Table", ...]

    @classmethod
    def of(cls, original: str) -> "PythonVerifier":
        """Read the original.

        Raises:
            SyntaxError, ValueError: it does not parse.
        """
        tree = python_tree(original)
        following = _strings_with_names(tree)
        nodes: list[object] = []
        loose: set[int] = set()
        _flatten(tree, row=nodes, following=following, loose=loose)
        words = _split(original)
        names = Counter(_names(nodes))
        return cls(
            between=words[::2],
            words=words[1::2],
            nodes=nodes,
            loose=frozenset(loose),
            names=names,
            tables=tuple(_tables(original)),
        )

    def difference(self, variant: str, renaming: Pairs) -> str | None:
        """Return what differs in a variant besides the renaming, or None.

        Args:
            variant: its text.
            renaming: pairs of an old and a new name.
        """
        return self._words_differ(variant, renaming) or self._trees_differ(variant, renaming)

    def _words_differ(self, variant: str, renaming: Pairs) -> str | None:
        split = _split(variant)
        if split[::2] != self.between:
            return "more than names changed in the text"
        # the pattern has one group, so a split alternates: text between words, word, text between words, …
        words = split[1::2]
        return _beyond(set(compress(zip(self.words, words, strict=True), map(ne, self.words, words))), renaming)

    def _trees_differ(self, variant: str, renaming: Pairs) -> str | None:
        nodes: list[object] = []
        try:
            _flatten(python_tree(variant), row=nodes, following=(), loose=set())
        except (SyntaxError, ValueError) as error:
            return f"does not parse: {error}"
        if len(nodes) != len(self.nodes):
            return "the syntax tree has another shape"
        # `compress` with `ne` finds the few places that differ without a Python loop over all nodes
        changed: Counter[tuple[str, str]] = Counter()
        for index in compress(count(), map(ne, self.nodes, nodes)):
            old, new = self.nodes[index], nodes[index]
            if type(old) is str and type(new) is str and (old, new) in renaming:
                changed[old, new] += self.nodes[index - 1] is not ast.keyword
            elif index not in self.loose:
                return f"the syntax tree has {new} for {old}"
        return None if self._one_to_one(changed) else self._scopes_differ(variant, renaming)

    def _one_to_one(self, changed: Mapping[tuple[str, str], int]) -> bool:
        """Return whether the tree has its names as before, except some that have become new ones everywhere."""
        # One to one, complete and fresh: no two names became one, every place of a name changed, and no new name was in
        # the tree before. Then the symbol tables must be isomorphic, and need not be made.
        return len({new for _old, new in changed}) == len(changed) and all(
            times == self.names[old]
            and new not in self.names
            and not old.startswith(_KNOWN)
            and not new.startswith(_KNOWN)
            for (old, new), times in changed.items()
        )

    def _scopes_differ(self, variant: str, renaming: Pairs) -> str | None:
        try:
            tables = tuple(_tables(variant))
        except (SyntaxError, ValueError) as error:
            return f"does not parse: {error}"
        return _tables_differ(self.tables, tables, renaming)


def _split(text: str) -> list[str]:
    return (_ASCII_WORDS if text.isascii() else _WORDS).split(text)


def _beyond(changed: set[tuple[str, str]], renaming: Pairs) -> str | None:
    wrong = changed - renaming
    # the first one by name, so that the message does not depend on the order of a set
    return next(starmap("{} became {}".format, sorted(wrong)), None)


# syntax


def _flatten(tree: ast.AST, row: list[object], following: frozenset[int] | tuple[()], loose: set[int]) -> None:
    """Append the tree to a row from which it could be built again; what must not change is in tuples."""
    waiting: list[Any] = [tree]
    while waiting:
        node = waiting.pop()
        kind = node.__class__
        if kind is ast.Name:  # these four are most of a tree: each has a path of its own
            row += (kind, node.id, node.ctx.__class__)
        elif kind is ast.Constant:
            if following and id(node) in following:
                loose.add(len(row) + 1)
            value = node.value
            row += (kind, (value.__class__, value))
        elif kind is ast.Attribute:
            row += (kind, ("attr", node.attr), node.ctx.__class__)
            waiting.append(node.value)
        elif kind is ast.Call:
            row += (kind, len(node.args), len(node.keywords))
            waiting.append(node.func)
            waiting += node.args
            waiting += node.keywords
        elif node is None:  # a key of {**a}, a default that a parameter does not have
            row.append(None)
        else:
            _flatten_fields(node, kind=kind, row=row, waiting=waiting)


def _flatten_fields(node: ast.AST, kind: type[ast.AST], row: list[object], waiting: list[Any]) -> None:
    row.append(kind)
    values = vars(node)
    for name in kind._fields:
        value = values.get(name)
        if isinstance(value, ast.AST):
            row.append(True)  # a child follows, as against None
            waiting.append(value)
        elif value.__class__ is not list:
            row.append(value if name in _IDENTIFIERS and kind not in _FIXED else (name, value))
        elif value and isinstance(value[0], str):
            row.extend(value if kind in _DECLARATIONS else [(name, *value)])
        else:
            row.append(len(value))
            waiting += value


def _names(nodes: Sequence[object]) -> Iterator[str]:
    """Yield the identifiers of a tree; those that imports and classes bind are in tuples, (field, name).

    Keywords of calls are left out: no symbol table has them.
    """
    for before, item in pairwise(nodes):
        if type(item) is str and before is not ast.keyword:
            yield item
        elif type(item) is tuple and item[0] in {"name", "asname"} and item[1]:
            yield item[1].partition(".")[0]


def _strings_with_names(tree: ast.AST) -> frozenset[int]:
    """Return docstrings and quoted type hints, by identity of their nodes."""
    return frozenset(map(id, _following(tree)))


def _following(tree: ast.AST) -> Iterator[ast.AST]:
    waiting: list[Any] = [tree]
    while waiting:  # statements alone: no expression has either
        node = waiting.pop()
        body = getattr(node, "body", None)
        if body and isinstance(body[0], ast.Expr):
            yield body[0].value
        for hint in _hints(node):
            yield from ast.walk(hint)
        for name in _BLOCKS:
            waiting += getattr(node, name, ())


def _hints(node: ast.AST) -> Iterator[ast.expr]:
    if isinstance(node, ast.AnnAssign):
        yield node.annotation
    elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        for parameter in (*parameters_of(node.args), *stars_of(node.args)):
            if parameter.annotation is not None:
                yield parameter.annotation
        if node.returns is not None:
            yield node.returns


# scopes


@dataclass(frozen=True, slots=True)
class _Table:
    kind: str
    name: str
    symbols: Mapping[str, tuple[bool, ...]]
    outward: frozenset[str]  # names that are the module's


def _tables(text: str) -> Iterator[_Table]:
    with python_parser():
        waiting = [symtable.symtable(text, "variant", "exec")]
    while waiting:
        table = waiting.pop()
        symbols = {}
        outward = []
        top = table.get_type() == "module"
        for symbol in table.get_symbols():
            name, declared, local = symbol.get_name(), symbol.is_declared_global(), symbol.is_local()
            # up to Python 3.12 symtable takes a function named `top` for the module: there local means global too
            is_global = symbol.is_global() and (declared or not local or top)
            # what else a symbol is, assigned or a parameter for example, the syntax tree has said
            symbols[name] = (is_global, local and not declared, symbol.is_free())
            if is_global or top:
                outward.append(name)
        yield _Table(str(table.get_type()), name=table.get_name(), symbols=symbols, outward=frozenset(outward))
        waiting += table.get_children()


def _tables_differ(old: tuple[_Table, ...], new: tuple[_Table, ...], renaming: Pairs) -> str | None:
    if len(old) != len(new):
        return "there is another number of scopes"
    outward: dict[str, str] = {}
    successors: dict[str, list[str]] = {}
    for before, after in renaming:
        successors.setdefault(before, []).append(after)
    for original, variant in zip(old, new, strict=True):
        if original.kind != variant.kind or len(original.symbols) != len(variant.symbols):
            return f"the scope {original.name} has other symbols"
        for name, flags in original.symbols.items():
            now = next(filter(variant.symbols.__contains__, (name, *successors.get(name, ()))), None)
            if now is None or variant.symbols[now] != flags:
                return f"{name} is another kind of symbol in the scope {original.name}"
            if name in original.outward and outward.setdefault(name, now) != now:
                return f"{name} of the module became {outward[name]} and {now}"
    if len(set(outward.values())) < len(outward):
        return "two names of the module became one"
    return None
