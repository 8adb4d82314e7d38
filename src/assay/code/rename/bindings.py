"""Names of a text in any language that tree-sitter reads: the rules of a language, and the bindings that follow.

A language has one value of `NameRules`, in a module of `assay.code.rename.grammars` and its table `rules.toml`.
`Bindings` applies the rules to a syntax tree: which scopes there are, which names each scope binds, and what every use
of a name means.
"""

import bisect
import tomllib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import repeat
from operator import attrgetter
from pathlib import Path
from typing import Any, Literal

from assay.code.parse.trees import WORD, Node, Tree
from assay.languages import LANGUAGES, Language

Role = Literal[
    "function", "variable", "parameter", "method",
    "field", "type", "template parameter", "constant", "import", "macro", "prototype", "extern", "export",
]  # fmt: skip
ScopeKind = Literal["file", "function", "block", "class", "template"]
BindingTarget = Literal["here", "outer", "function", "file"]
_DECLARING: frozenset[ScopeKind] = frozenset({"file", "function", "block", "class"})
"""Kinds of scopes that hold what a template declares; the template's own holds its parameters alone."""

KEPT: Mapping[Role, str] = {
    "method": "a method",
    "field": "a field",
    "type": "a type",
    "template parameter": "a template parameter",
    "constant": "a constant of an enumeration",
    "import": "imported",
    "macro": "a macro",
    "prototype": "defined elsewhere",
    "extern": "defined elsewhere",
    "export": "exported",
}
"""Roles whose names are kept, with the reason. A language may allow some of its methods to be renamed."""

VALUE, METHOD = "value", "method"
Key = tuple[str, str]
"""The name space (VALUE or METHOD) and the name."""


@dataclass(frozen=True, slots=True)
class Bound:
    """A name that a node binds.

    Attributes:
        node: the leaf where the name stands; for an import whose name is part of a path, the node of the path.
        role: what the name stands for.
        target: the scope that the name belongs to: the innermost, the one around a definition, the function's, the
            file's.
        since: offset from which on the name can be used in a block; by default from the node's own end on.
        name: the name, where it is not what the node covers.
    """

    node: Node
    role: Role
    target: BindingTarget = "here"
    since: int | None = None
    name: str | None = None


Binder = Callable[[Node], Iterable[Bound]]


def bind_all(
    leaves: Iterable[Node], role: Role, target: BindingTarget = "here", *, since: int | None = None
) -> list[Bound]:
    """Return the bindings of leaves that all stand for the same."""
    return [Bound(leaf, role=role, target=target, since=since) for leaf in leaves]


@dataclass(frozen=True, slots=True)
class NameRules:
    """The rules for names of one language. Places are written "kind" or "kind.field" after tree-sitter's node types.

    Attributes:
        language: the entry of the table of languages.
        leaves: kinds of leaves that can stand for a value.
        scopes: by the kind of a node, the scope that it opens.
        binders: by the kind of a node, the names that it binds.
        elsewhere: "parent.field" of leaves that stand for no value: members, labels, keys.
        frozen: places whose words are kept everywhere, with the reason: preprocessor lines, keys of objects.
        comments: kinds of comments.
        strings: kinds of the contents of strings.
        directive: pattern of the beginning of comments that tools read.
        methods: whether a leaf names a method, where methods have a name space of their own: that of the whole text.
        ordered: in a block, a name can be used only after its declaration.
        opens: whether a node of a kind in `scopes` really opens a scope.
        conventional: reason → pattern of names that something outside of the text looks for.
        inherits: whether a class may have members that are not in the text.
        refusal: the reason why nothing of a text may be renamed, or None.
        kept: names or methods ("name()") that are kept for reasons of this language alone, with the reason.
        lists: kinds of nodes that hold statements or declarations, for languages whose texts may hide some of them from
            the grammar; see `hiding`.
        alias: a line of code that gives the meaning of {new} to {old}; "" where the language has no such line.
    """

    language: Language
    leaves: frozenset[str]
    scopes: Mapping[str, ScopeKind]
    binders: Mapping[str, Binder]
    elsewhere: frozenset[str]
    comments: frozenset[str]
    strings: frozenset[str]
    directive: str
    methods: Callable[[Node], bool] | None = None
    frozen: Mapping[str, str] = field(default_factory=dict)
    ordered: bool = True
    opens: Callable[[Node], bool] = lambda _node: True
    conventional: Mapping[str, str] = field(default_factory=dict)
    inherits: Callable[[Tree, Node], bool] = lambda _tree, _node: False
    refusal: Callable[[Tree], str | None] = lambda _tree: None
    kept: "Callable[[Bindings], Mapping[str, str]]" = lambda _bindings: {}
    lists: frozenset[str] = frozenset()
    alias: str = ""

    @property
    def keywords(self) -> frozenset[str]:
        """Words that are never names; where the tree takes one for a name, it has misread the text."""
        return self.language.reserved


def field_binder(
    role: Role, field_name: str = "name", target: BindingTarget = "here", *, kind: str = "", behind: bool = False
) -> Binder:
    """Return a binder of what stands in a field of a node.

    Args:
        role: what the names stand for.
        field_name: of the node.
        target: the scope that the names belong to.
        kind: of the leaves that are names; "" for every one.
        behind: the names can be used from the end of the node on, not from their own.
    """

    def binder(node: Node) -> Iterable[Bound]:
        leaves = [child for child in node.fill(field_name) if kind in {"", child.kind}]
        return bind_all(leaves, role, target, since=node.end if behind else None)

    return binder


_TABLE: Mapping[str, Mapping[str, Any]] = tomllib.loads(
    Path(__file__).with_name("grammars").joinpath("rules.toml").read_text("utf-8")
)


def name_rules(language: str, binders: Mapping[str, Binder], **functions: Any) -> NameRules:  # noqa: ANN401  any field
    """Return the rules of a language: its entry in `rules.toml`, and those that are functions.

    Args:
        language: the name.
        binders: beside those of the table.
        functions: further fields of `NameRules`.
    """
    values = _words_and_tables(language)
    values["binders"] |= binders
    return NameRules(language=LANGUAGES[language], **values, **functions)


def _words_and_tables(language: str) -> dict[str, Any]:
    entry = dict(_TABLE[language])
    # C++ is C and more: a language may begin with the rules of another one, and add to its tables
    values = _words_and_tables(entry.pop("like")) if "like" in entry else {}
    for key, value in entry.items():
        if key in {"scopes", "frozen"}:
            by_kind = values.setdefault(key, {})
            for meaning, kinds in value.items():
                by_kind |= dict.fromkeys(kinds.split(), meaning)
        elif key == "binders":
            binders = values.setdefault(key, {})
            binders |= {kind: field_binder(**arguments) for kind, arguments in value.items()}
        elif key in {"leaves", "elsewhere", "comments", "strings", "lists"}:
            values[key] = frozenset(value.split())
        else:
            values[key] = value
    return values


@dataclass(slots=True, eq=False)
class Symbol:
    """A name with its meaning in one scope.

    Attributes:
        name: the name.
        space: VALUE or METHOD.
        scope: the scope that binds it.
        bound: every binding.
        places: offsets of its bindings and uses.
        uses: the leaves of its uses.
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
    def key(self) -> Key:
        """The name space and the name."""
        return self.space, self.name

    @property
    def seen_outside(self) -> bool:
        """It is a method or a name of the file, which code outside of the text may use."""
        return self.space == METHOD or self.scope.kind == "file"

    @property
    def roles(self) -> set[Role]:
        """Everything that the name is bound as."""
        return set(map(attrgetter("role"), self.bound))

    @property
    def since(self) -> int:
        """Offset from which on it can be used, where order counts."""
        return min(bound.since or bound.node.end for bound in self.bound)


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
        """Return the innermost scope around an offset."""
        scope, inner = self, self
        # the children of a scope are apart and in order, so one binary search a level finds the way down
        while inner.node.start <= place < inner.node.end:
            scope = inner
            before = bisect.bisect_right(scope.children, place, key=lambda child: child.node.start) - 1
            if before < 0:
                break
            inner = scope.children[before]
        return scope

    def nearest(self, kinds: Collection[ScopeKind]) -> "Scope":
        """Return the innermost scope of these kinds from this one outwards; there has to be one."""
        return next(scope for scope in self.outward() if scope.kind in kinds)

    def outward(self) -> Iterator["Scope"]:
        """Yield this scope and those around it, innermost first."""
        scope: Scope | None = self
        while scope is not None:
            yield scope
            scope = scope.parent


class Bindings:
    """All names of one text.

    Attributes:
        tree: the text.
        rules: for names in its language.
        root: the scope of the file.
        symbols: all of them, in order of their first binding.
        leaves: every leaf that stands for a value or a method, in order, with its symbol; None: bound outside the text.
        nodes: all nodes, in order.
        misread: stretches of the text are hidden, or a macro made the grammar take a keyword for a name.
    """

    def __init__(self, tree: Tree, rules: NameRules) -> None:
        self.tree = tree
        self.rules = rules
        self.root = Scope("file", tree.root, None)
        self.symbols: list[Symbol] = []
        self.nodes: list[Node] = []
        self.leaves: list[tuple[Node, Symbol | None]] = []
        leaves, bound_at = self._declared()
        for node, scope, space in leaves:  # after all declarations: names may be used before they are declared
            symbol = bound_at.get(id(node)) or self._meaning(node, scope, space)
            if symbol is not None:
                symbol.places.append(node.start)
                if id(node) not in bound_at:
                    symbol.uses.append(node)
            self.leaves.append((node, symbol))
        self.misread = bool(tree.hidden) or not rules.keywords.isdisjoint(map(attrgetter("name"), self.symbols))

    def _declared(self) -> tuple[list[tuple[Node, Scope, str]], dict[int, Symbol]]:
        """Return the leaves with their scopes and name spaces, and the symbols that leaves bind, by identity."""
        rules = self.rules
        leaves: list[tuple[Node, Scope, str]] = []
        bound_at: dict[int, Symbol] = {}
        # a stack of our own, since the tree of a generated file is deeper than the stack of Python
        waiting: list[tuple[Node, Scope]] = [(self.tree.root, self.root)]
        while waiting:
            node, scope = waiting.pop()
            self.nodes.append(node)
            kind = rules.scopes.get(node.kind)
            if kind and rules.opens(node):
                scope = self._inner(kind, node, scope)
            binder = rules.binders.get(node.kind)
            for bound in binder(node) if binder else ():
                symbol = self._bind(bound, scope, opened=kind is not None)
                if bound.name is None:
                    bound_at[id(bound.node)] = symbol
            if node.kind in rules.leaves and node.parent is not None:
                if rules.methods and rules.methods(node):
                    leaves.append((node, scope, METHOD))
                elif f"{node.parent.kind}.{node.role}" not in rules.elsewhere or id(node) in bound_at:
                    leaves.append((node, scope, VALUE))
            waiting += zip(reversed(node.children), repeat(scope))
        return leaves, bound_at

    def _inner(self, kind: ScopeKind, node: Node, around: Scope) -> Scope:
        scope = Scope(kind, node=node, parent=around, inherits=self.rules.inherits(self.tree, node))
        around.children.append(scope)
        return scope

    def _bind(self, bound: Bound, scope: Scope, *, opened: bool) -> Symbol:
        """Enter a name into the scope that it belongs to."""
        name = bound.name or self.tree.of(bound.node)
        space = METHOD if bound.role == "method" and self.rules.methods else VALUE
        if bound.target == "file" or space == METHOD:
            scope = self.root
        elif bound.target != "here":
            # a definition that opens a scope has its own name in the scope around: step out first
            if opened and scope.parent:
                scope = scope.parent
            if bound.target == "function":
                scope = scope.nearest({"function", "file"})
        # `template <class T> int f()` declares f around the template, whose scope holds T alone
        if bound.role != "template parameter":
            scope = scope.nearest(_DECLARING)
        # one symbol for a name of a scope, however often it is bound there
        symbol = scope.symbols.get((space, name))
        if symbol is None:
            symbol = scope.symbols[space, name] = Symbol(name, space, scope)
            self.symbols.append(symbol)
        symbol.bound.append(bound)
        return symbol

    def _meaning(self, node: Node, scope: Scope, space: str) -> Symbol | None:
        """Return the symbol of a use: the innermost binding that can be seen from there."""
        name = self.tree.of(node)
        if space == METHOD:
            return self.root.symbols.get((METHOD, name))
        return self.lookup(name, scope, node.start)

    def lookup(self, name: str, scope: Scope, place: int) -> Symbol | None:
        """Return the symbol of a value's name at an offset."""
        through = False  # a class that may inherit members lies between the use and the binding
        for around in scope.outward():
            symbol = around.symbols.get((VALUE, name))
            unordered = around.kind in {"file", "class", "template"} or not self.rules.ordered
            if symbol and (unordered or symbol.since <= place):
                symbol.inherited = symbol.inherited or through
                return symbol
            through = through or around.inherits
        return None

    def free(self) -> set[str]:
        """Return the names of values that the text uses and does not bind; of what is hidden, all words."""
        names = set(WORD.findall(self.tree.hidden_text))
        methods = self.rules.methods
        for node, symbol in self.leaves:
            if symbol is None and not (methods and methods(node)):
                names.add(self.tree.of(node))
        return names

    def words(self, kinds: Collection[str]) -> set[str]:
        """Return the texts of all nodes of some kinds."""
        return {self.tree.of(node) for node in self.nodes if node.kind in kinds}

    def spans(self, kinds: Collection[str]) -> list[tuple[int, int]]:
        """Return where the nodes of some kinds start and end, in order."""
        return sorted((node.start, node.end) for node in self.nodes if node.kind in kinds)

    def names_of(self, role: Role) -> list[str]:
        """Return the names that are bound as something, in order."""
        return [symbol.name for symbol in self.symbols if role in symbol.roles]

    def structure(self) -> list[str | int]:
        """Return the meaning of every leaf without names.

        A leaf is the number of its symbol in order of appearance; a free name stands as such. Two texts that differ in
        names alone have equal structures exactly where every name means the same binding.
        """
        # Numbering symbols by first appearance is a normal form: two texts have the same numbers exactly where a map,
        # one to one, carries the symbols of one to those of the other. Equal lists prove that nothing was captured.
        numbers: dict[int, int] = {}
        return [
            self.tree.of(node) if symbol is None else numbers.setdefault(id(symbol), len(numbers))
            for node, symbol in self.leaves
        ]
