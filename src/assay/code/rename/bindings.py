"""Scopes of a text, the names bound in them, and what every use of a name means."""

import bisect
from collections.abc import Iterator
from dataclasses import dataclass, field

from assay.code.parse.trees import WORD, Node, Tree
from assay.code.rename.grammar import Bound, Grammar, Role, ScopeKind

VALUE, METHOD = "value", "method"
Key = tuple[str, str]
"""The name space, and the name."""


@dataclass(slots=True, eq=False)
class Symbol:
    """What a name means in one scope.

    Attributes:
        name: the name.
        space: VALUE or METHOD.
        scope: where it is bound.
        bound: every binding.
        places: offsets of its bindings and uses.
        inherited: it is used from within a class that may have inherited a member of that name.
    """

    name: str
    space: str
    scope: "Scope"
    bound: list[Bound] = field(default_factory=list)
    places: list[int] = field(default_factory=list)
    uses: list[Node] = field(default_factory=list)
    inherited: bool = False

    @property
    def roles(self) -> set[Role]:
        """All that it is bound as."""
        return {one.role for one in self.bound}

    @property
    def since(self) -> int:
        """From where on it can be used, where order counts."""
        return min(one.node.end if one.since is None else one.since for one in self.bound)


@dataclass(slots=True, eq=False)
class Scope:
    """A stretch of text with names of its own."""

    kind: ScopeKind
    node: Node
    parent: "Scope | None"
    inherits: bool = False
    symbols: dict[Key, Symbol] = field(default_factory=dict)
    children: list["Scope"] = field(default_factory=list)

    def at(self, place: int) -> "Scope":
        """The innermost scope around an offset."""
        scope, inner = self, self
        while inner.node.start <= place < inner.node.end:
            scope = inner
            before = bisect.bisect_right(scope.children, place, key=lambda one: one.node.start) - 1
            if before < 0:
                break
            inner = scope.children[before]
        return scope


class Bindings:
    """All names of one text.

    Attributes:
        tree: the text.
        grammar: of its language.
        root: the scope of the file.
        symbols: all of them, in order of their first binding.
        leaves: every leaf that stands for a value or a method, in order, with its symbol; None: bound outside the text.
        nodes: all nodes, in order.
        misread: stretches of the text are hidden, or a macro made the grammar take a keyword for a name.
    """

    def __init__(self, tree: Tree, grammar: Grammar) -> None:
        self.tree = tree
        self.grammar = grammar
        self.root = Scope("file", tree.root, None)
        self.symbols: list[Symbol] = []
        self.nodes: list[Node] = []
        self.leaves: list[tuple[Node, Symbol | None]] = []
        found, bound_at = self.declared()
        for node, scope, space in found:  # once all is declared: names may be used before
            symbol = bound_at.get(id(node)) or self.meaning(node, scope, space)
            if symbol is not None:
                symbol.places.append(node.start)
                if id(node) not in bound_at:
                    symbol.uses.append(node)
            self.leaves.append((node, symbol))
        self.misread = bool(tree.hidden) or any(one.name in grammar.keywords for one in self.symbols)

    def declared(self) -> tuple[list[tuple[Node, Scope, str]], dict[int, Symbol]]:
        """Leaves with the scope and the name space that they stand in; and what leaves bind, by their identity."""
        grammar = self.grammar
        found: list[tuple[Node, Scope, str]] = []
        bound_at: dict[int, Symbol] = {}
        waiting: list[tuple[Node, Scope]] = [(self.tree.root, self.root)]
        while waiting:
            node, scope = waiting.pop()
            self.nodes.append(node)
            kind = grammar.scope(node)
            if kind:
                scope = self.inner(kind, node, scope)
            binder = grammar.binders.get(node.kind)
            for bound in binder(node) if binder else ():
                symbol = self.bind(bound, scope, opened=kind is not None)
                if bound.name is None:
                    bound_at[id(bound.node)] = symbol
            if node.kind in grammar.leaves and node.parent is not None:
                if grammar.methods and grammar.methods(node):
                    found.append((node, scope, METHOD))
                elif f"{node.parent.kind}.{node.role}" not in grammar.elsewhere or id(node) in bound_at:
                    found.append((node, scope, VALUE))
            waiting += [(one, scope) for one in reversed(node.children)]
        return found, bound_at

    def inner(self, kind: ScopeKind, node: Node, around: Scope) -> Scope:
        """A new scope."""
        scope = Scope(kind, node, around, self.grammar.inherits(self.tree, node))
        around.children.append(scope)
        return scope

    def bind(self, bound: Bound, scope: Scope, *, opened: bool) -> Symbol:
        """Enters a name into the scope that it belongs to."""
        name = bound.name or self.tree.of(bound.node)
        space = METHOD if bound.role == "method" and self.grammar.methods else VALUE
        if bound.target == "file" or space == METHOD:
            scope = self.root
        elif bound.target != "here":
            if opened and scope.parent:
                scope = scope.parent
            if bound.target == "function":
                scope = next((one for one in outward(scope) if one.kind in {"function", "file"}), scope)
        if bound.role != "template parameter":
            scope = next((one for one in outward(scope) if one.kind != "template"), scope)
        symbol = scope.symbols.get((space, name))
        if symbol is None:
            symbol = scope.symbols[space, name] = Symbol(name, space, scope)
            self.symbols.append(symbol)
        symbol.bound.append(bound)
        return symbol

    def meaning(self, node: Node, scope: Scope, space: str) -> Symbol | None:
        """What a use means: the innermost binding that can be seen from there."""
        name = self.tree.of(node)
        if space == METHOD:
            return self.root.symbols.get((METHOD, name))
        return self.lookup(name, scope, node.start)

    def lookup(self, name: str, scope: Scope, place: int) -> Symbol | None:
        """The symbol of a value's name at an offset."""
        through = False
        for one in outward(scope):
            symbol = one.symbols.get((VALUE, name))
            unordered = one.kind in {"file", "class", "template"} or not self.grammar.ordered
            if symbol and (unordered or symbol.since <= place):
                symbol.inherited = symbol.inherited or through
                return symbol
            through = through or one.inherits
        return None

    def free(self) -> set[str]:
        """Names of values that the text uses and does not bind; of what is hidden, all words."""
        methods = self.grammar.methods
        return {*WORD.findall(self.tree.hidden_text)} | {
            self.tree.of(node) for node, symbol in self.leaves if symbol is None and not (methods and methods(node))
        }

    def structure(self) -> list[str | int]:
        """What every leaf means, without names: the number of its symbol in order of appearance; free names as such."""
        numbers: dict[int, int] = {}
        return [
            self.tree.of(node) if symbol is None else numbers.setdefault(id(symbol), len(numbers))
            for node, symbol in self.leaves
        ]


def outward(scope: Scope) -> Iterator[Scope]:
    """A scope and those around it, innermost first."""
    one: Scope | None = scope
    while one is not None:
        yield one
        one = one.parent
