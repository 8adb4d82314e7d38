"""Is this text that one, but for names? Asked of the texts alone, whatever made them.

1. Text: between the words the two are identical byte for byte; where words differ, a name became its new name.
2. Syntax: it parses, and its tree is the original's node for node; only identifiers differ, never an attribute, an
   import, a class or a literal (docstrings and quoted type hints follow the names).
3. Scopes: Python's own symbol tables are isomorphic: in every scope the same symbols, each local, free or global as
   before; names of the module correspond one to one.

From 2 and 3 follows that every name means the binding that it meant before.
"""

import ast
import re
import symtable
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from assay.code.positions import parsed

_WORDS = re.compile(r"([^\W\d]\w*)")
_IDENTIFIERS = frozenset({"id", "arg", "name", "names", "rest"})
_FIXED = frozenset({ast.ClassDef, ast.alias, ast.Attribute, ast.ImportFrom})
_DECLARATIONS = frozenset({ast.Global, ast.Nonlocal})
Pairs = frozenset[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Verifier:
    """Holds what is needed of the original, so that many variants can be held against it.

    Attributes:
        words: text between words and words, alternating.
        nodes: the tree in one row: node types, identifiers, and tuples for all that must not change.
        loose: indexes in `nodes` of strings that follow the names.
        tables: every scope with its symbols.
    """

    words: tuple[str, ...]
    nodes: tuple[object, ...]
    loose: frozenset[int]
    tables: tuple["_Table", ...]

    @classmethod
    def of(cls, original: str) -> "Verifier":
        """Reads the original.

        Raises:
            SyntaxError, ValueError: it does not parse.
        """
        tree = parsed(original)
        following = _strings_with_names(tree)
        nodes: list[object] = []
        loose: set[int] = set()
        _flatten(tree, nodes, following, loose)
        return cls(tuple(_WORDS.split(original)), tuple(nodes), frozenset(loose), tuple(_tables(original)))

    def difference(self, variant: str, renaming: Pairs) -> str | None:
        """What is wrong with a variant, or None.

        Args:
            variant: its text.
            renaming: pairs of an old and a new name.
        """
        return self._words_differ(variant, renaming) or self._trees_differ(variant, renaming)

    def _words_differ(self, variant: str, renaming: Pairs) -> str | None:
        words = tuple(_WORDS.split(variant))
        if words[::2] != self.words[::2]:
            return "more than names changed in the text"
        changed = {(old, new) for old, new in zip(self.words[1::2], words[1::2], strict=True) if old != new}
        return _beyond(changed, renaming)

    def _trees_differ(self, variant: str, renaming: Pairs) -> str | None:
        nodes: list[object] = []
        try:
            _flatten(parsed(variant), nodes, (), set())
            tables = tuple(_tables(variant))
        except (SyntaxError, ValueError) as error:
            return f"does not parse: {error}"
        if len(nodes) != len(self.nodes):
            return "the syntax tree has another shape"
        for index, (old, new) in enumerate(zip(self.nodes, nodes, strict=True)):
            if old != new and not (type(old) is str and (old, new) in renaming) and index not in self.loose:
                return f"the syntax tree has {new} for {old}"
        return _tables_differ(self.tables, tables, renaming)


def _beyond(changed: set[tuple[str, str]], renaming: Pairs) -> str | None:
    wrong = changed - renaming
    return f"{min(wrong)[0]} became {min(wrong)[1]}" if wrong else None


# syntax


def _flatten(tree: ast.AST, row: list[object], following: frozenset[int] | tuple[()], loose: set[int]) -> None:
    """Writes the tree into one row from which it could be built again; what must not change stands in tuples."""
    note = row.append
    waiting: list[ast.AST | None] = [tree]
    while waiting:
        node = waiting.pop()
        if node is None:  # a key of {**a}, a default that a parameter does not have
            note(None)
            continue
        kind = node.__class__
        note(kind)
        if kind is ast.Name:  # names and constants are most of a tree: each has a path of its own
            note(node.id)  # type: ignore[attr-defined]
            note(node.ctx.__class__)  # type: ignore[attr-defined]
            continue
        if kind is ast.Constant:
            value = node.value  # type: ignore[attr-defined]
            if following and id(node) in following:
                loose.add(len(row))
            note((value.__class__, value))
            continue
        for name in kind._fields:
            value = getattr(node, name, None)
            if isinstance(value, ast.AST):
                note(True)  # a child follows, as against None
                waiting.append(value)
            elif value.__class__ is not list:
                note(value if name in _IDENTIFIERS and kind not in _FIXED else (name, value))
            elif value and isinstance(value[0], str):
                row.extend(value if kind in _DECLARATIONS else [(name, *value)])
            else:
                note(len(value))
                waiting.extend(value)


def _strings_with_names(tree: ast.AST) -> frozenset[int]:
    """Docstrings and quoted type hints, by identity of their nodes."""
    return frozenset(map(id, _following(tree)))


def _following(tree: ast.AST) -> Iterator[ast.AST]:
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list) and body and isinstance(body[0], ast.Expr):
            yield body[0].value
        for hint in (getattr(node, "annotation", None), getattr(node, "returns", None)):
            if hint is not None:
                yield from ast.walk(hint)


# scopes


@dataclass(frozen=True, slots=True)
class _Table:
    kind: str
    name: str
    symbols: Mapping[str, tuple[bool, ...]]
    outward: frozenset[str]  # names that are the module's


def _tables(text: str) -> Iterator[_Table]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
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
        yield _Table(str(table.get_type()), table.get_name(), symbols, frozenset(outward))
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
            now = (
                name
                if name in variant.symbols
                else next((one for one in successors.get(name, ()) if one in variant.symbols), None)
            )
            if now is None or variant.symbols[now] != flags:
                return f"{name} is another kind of symbol in the scope {original.name}"
            if name in original.outward and outward.setdefault(name, now) != now:
                return f"{name} of the module became {outward[name]} and {now}"
    if len(set(outward.values())) < len(outward):
        return "two names of the module became one"
    return None
