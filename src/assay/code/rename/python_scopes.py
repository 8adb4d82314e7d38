"""The binding that each name of a Python text means, and the places of each name.

The rules are those of the language reference, "Naming and binding": function scopes nest, class scopes are not
seen from the functions within, a comprehension is a scope whose first iterable belongs outside, and `:=` binds outside.
"""

# ruff: noqa: N815  the methods have the names of the nodes that they visit

import ast
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Literal

from assay.code.parse.lexing import end_of
from assay.code.parse.python_source import (
    Fragment,
    below,
    children,
    expression_at,
    fields,
    parameters_of,
    stars_of,
)

PythonScopeKind = Literal["module", "function", "class", "comprehension", "type parameters"]
Binding = Literal["variable", "parameter", "star", "function", "class", "import", "type parameter"]
FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda

_GAP = r"(?:\s|\\\r?\n)"
_DEF = re.compile(rf"(?:async{_GAP}+)?def{_GAP}+")
# a comment is taken whole: split at each of its marks, a line of them would never end
_AS = re.compile(rf"(?:[\s)\\]|\#[^\r\n]*+)*as{_GAP}+")
_STARS = re.compile(rf"\*\*{_GAP}*")
_DEBUG = re.compile(r"[\s)]*=(?!=)")
_WORD = re.compile(r"[^\W\d]\w*")
_STRING = re.compile(r"""[uU]?('{3}|"{3}|'|")([^\\]*)\1\Z""", re.DOTALL)


@dataclass(slots=True, eq=False)
class PythonSymbol:
    """A name in the scope that owns it.

    Attributes:
        name: as it is written everywhere.
        scope: that binds it.
        bindings: how it is bound.
        places: offsets in the text where it stands.
        definitions: the functions that it names.
        escapes: it is used other than by calling it.
        hidden: it stands somewhere where its place is unknown, so it cannot be renamed.
        shown: an f-string prints its name.
    """

    name: str
    scope: "PythonScope"
    bindings: set[Binding] = field(default_factory=set)
    places: list[int] = field(default_factory=list)
    definitions: list[FunctionNode] = field(default_factory=list)
    times_bound: int = 0
    escapes: bool = False
    hidden: bool = False
    shown: bool = False

    def bound(self, binding: Binding, definition: FunctionNode | None) -> None:
        """Add a binding."""
        self.bindings.add(binding)
        self.times_bound += 1
        if definition is not None:
            self.definitions.append(definition)


@dataclass(slots=True, eq=False)
class PythonScope:
    """A stretch of text with its own names. `start` and `end` are offsets of the whole construct."""

    kind: PythonScopeKind
    parent: "PythonScope | None"
    node: ast.AST
    start: int
    end: int
    symbols: dict[str, PythonSymbol] = field(default_factory=dict)
    outer: dict[str, Literal["global", "nonlocal"]] = field(default_factory=dict)
    loads: set[str] = field(default_factory=set)
    children: list["PythonScope"] = field(default_factory=list)

    @property
    def module(self) -> "PythonScope":
        """Return the outermost scope."""
        return self if self.parent is None else self.parent.module

    def lookup(self, name: str) -> PythonSymbol | None:
        """Return the symbol that a name means in this scope; None for a name that nothing in the text binds."""
        declared = self.outer.get(name)
        if declared == "global":
            return self.module.symbols.get(name)
        if declared is None and name in self.symbols:
            return self.symbols[name]
        # outwards through the functions around: class scopes are skipped, as methods do not see the names of their
        # class; the module comes last, and `global` leads there from any depth
        above = self.parent
        while above is not None and above.parent is not None:
            if above.kind != "class":
                if above.outer.get(name) == "global":
                    break
                if name in above.symbols and name not in above.outer:
                    return above.symbols[name]
            above = above.parent
        return self.module.symbols.get(name)

    def walk(self) -> Iterator["PythonScope"]:
        """Yield this scope and all below it, in the order of the text."""
        yield self
        for child in self.children:
            yield from child.walk()


@dataclass(frozen=True, slots=True)
class Call:
    """A call with its keyword arguments: (name, offset or None). `spread` where it has ** among them."""

    scope: PythonScope
    callee: str | None
    keywords: tuple[tuple[str, int | None], ...]
    spread: bool


@dataclass(frozen=True, slots=True)
class Scopes:
    """All names of one text.

    Attributes:
        text: the text.
        tree: its syntax tree.
        nodes: all of the tree but for contexts and operators, level by level.
        module: the outermost scope.
        calls: with keyword arguments or **.
        functions: the scope inside of every definition.
        free: names that nothing binds, builtins for example.
        hints: quoted type hints that are read as code, by identity of their nodes.
    """

    text: str
    tree: ast.Module
    nodes: tuple[ast.AST, ...]
    module: PythonScope
    calls: tuple[Call, ...]
    functions: dict[FunctionNode, PythonScope]
    free: frozenset[str]
    hints: frozenset[int]


def last_word(expression: ast.expr) -> str | None:
    """Return `c` of `a.b.c` and of `c`; None of another expression."""
    return getattr(expression, "attr", None) or getattr(expression, "id", None)


@dataclass(frozen=True, slots=True)
class _Use:
    name: str
    scope: PythonScope
    place: int | None
    called: bool
    stored: bool
    shown: bool


def scopes_of(text: str, tree: ast.Module) -> Scopes:
    """Resolve every name of the text."""
    reader = _Reader(text, tree)
    reader.visit_body(tree.body)
    # Uses are resolved after the walk: a function may use, or declare nonlocal, a name that is bound further down.
    for scope, name, binding, definition in reader.nonlocals:
        owner = scope.lookup(name)
        if owner is not None:
            owner.bound(binding, definition)
    free = set()
    for use in reader.uses:
        symbol = use.scope.lookup(use.name)
        if symbol is None:
            free.add(use.name)
            continue
        if use.place is None or not text.startswith(use.name, use.place):  # Python normalises names, the text may not
            symbol.hidden = True
        else:
            symbol.places.append(use.place)
        symbol.shown |= use.shown
        symbol.escapes |= not (use.called or use.stored)
    return Scopes(
        text=text,
        tree=tree,
        nodes=tuple(below(tree)),
        module=reader.module,
        calls=tuple(reader.calls),
        functions=reader.functions,
        free=frozenset(free),
        hints=frozenset(reader.hints),
    )


class _Reader(ast.NodeVisitor):
    """One walk through the tree that collects scopes, bindings and uses."""

    def __init__(self, text: str, tree: ast.Module) -> None:
        self.text = text
        self.at = Fragment(text)
        self.module = self.scope = PythonScope("module", parent=None, node=tree, start=0, end=len(text))
        self.uses: list[_Use] = []
        self.calls: list[Call] = []
        self.functions: dict[FunctionNode, PythonScope] = {}
        self.nonlocals: list[tuple[PythonScope, str, Binding, FunctionNode | None]] = []
        self.hints: set[int] = set()
        self.shown = False
        self.declares = "global" in text or "nonlocal" in text

    # what binds and what uses

    def bind(
        self, name: str, binding: Binding, scope: PythonScope | None = None, definition: FunctionNode | None = None
    ) -> None:
        """Add a binding of the name to the scope, or to the scope that `global` or `nonlocal` declares."""
        scope = scope or self.scope
        declared = scope.outer.get(name)
        if declared == "nonlocal":  # the function around may bind the name only after this
            self.nonlocals.append((scope, name, binding, definition))
            return
        owner = scope.module if declared == "global" else scope
        owner.symbols.setdefault(name, PythonSymbol(name, owner)).bound(binding, definition)

    def use(
        self,
        name: str,
        place: int | None,
        *,
        scope: PythonScope | None = None,
        called: bool = False,
        stored: bool = False,
    ) -> None:
        """Add a use of the name."""
        scope = scope or self.scope
        self.uses.append(_Use(name, scope, place, called=called, stored=stored, shown=self.shown))

    def store(
        self, name: str, place: int | None, binding: Binding = "variable", definition: FunctionNode | None = None
    ) -> None:
        """Add a binding of the name, and its use, at the same place."""
        self.bind(name, binding, definition=definition)
        self.use(name, place, stored=True)

    @contextmanager
    def inside(self, kind: PythonScopeKind, node: ast.AST, start: int, end: int) -> Iterator[PythonScope]:
        """Open a scope, and close it behind the block."""
        around = self.scope
        self.scope = PythonScope(kind, parent=around, node=node, start=start, end=end)
        around.children.append(self.scope)
        yield self.scope
        self.scope = around

    def visit_all(self, nodes: Iterable[ast.AST | None]) -> None:
        """Visit the nodes that are not None."""
        for node in nodes:
            if node is not None:
                self.visit(node)

    def visit_body(self, body: list[ast.stmt]) -> None:
        """Visit the statements of a scope.

        Declarations hold for the whole scope, wherever in it they are: they are read first.
        """
        for statement in _own_statements(body) if self.declares else ():
            if isinstance(statement, ast.Global):
                self.scope.outer.update(dict.fromkeys(statement.names, "global"))
            elif isinstance(statement, ast.Nonlocal):
                self.scope.outer.update(dict.fromkeys(statement.names, "nonlocal"))
        self.visit_all(body)

    def generic_visit(self, node: ast.AST) -> None:
        """Visit the nodes below."""
        for child in children(node):
            self.visit(child)

    # names

    def visit_Constant(self, node: ast.Constant) -> None:
        """Do nothing: a constant neither binds nor uses a name."""

    def visit_Name(self, node: ast.Name) -> None:
        place = self.at.start(node)
        if isinstance(node.ctx, ast.Load):
            self.scope.loads.add(node.id)
            self.use(node.id, place)
        else:
            self.store(node.id, place)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        if isinstance(node.target, ast.Name):
            self.scope.loads.add(node.target.id)
        self.generic_visit(node)

    def visit_NamedExpr(self, node: ast.NamedExpr) -> None:
        # `:=` in a comprehension binds in the function around it (PEP 572), the only way out of a comprehension
        owner = self.scope
        while owner.kind == "comprehension" and owner.parent is not None:
            owner = owner.parent
        self.bind(node.target.id, "variable", owner)
        self.use(node.target.id, self.at.start(node.target), scope=owner, stored=True)
        self.visit(node.value)

    def visit_Global(self, node: ast.Global | ast.Nonlocal) -> None:
        # the tree has the declared names without their places
        words = _WORD.finditer(self.text, self.at.start(node), self.at.end(node))
        next(words)
        for name, word in zip(node.names, words, strict=True):
            self.use(name, word.start(), stored=True)

    visit_Nonlocal = visit_Global

    def visit_Import(self, node: ast.Import | ast.ImportFrom) -> None:
        for alias in node.names:
            self.bind(alias.asname or alias.name.split(".")[0], "import")

    visit_ImportFrom = visit_Import

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> None:
        # the tree has the name behind `as` without its place: it is found in the text behind the type, past brackets
        if node.type is not None:
            self.visit(node.type)
            if node.name is not None:
                self.store(node.name, end_of(_AS, self.text, self.at.end(node.type)))
        self.visit_all(node.body)

    def visit_MatchAs(self, node: ast.MatchAs | ast.MatchStar) -> None:
        self.generic_visit(node)
        # a capture ends with its name, so the end of the pattern tells where the name begins
        if node.name is not None:
            self.store(node.name, self.at.end(node) - len(node.name))

    visit_MatchStar = visit_MatchAs

    def visit_MatchMapping(self, node: ast.MatchMapping) -> None:
        self.generic_visit(node)
        if node.rest is not None:
            stars = _STARS.finditer(self.text, self.at.start(node), self.at.end(node))
            self.store(node.rest, max(map(re.Match.end, stars), default=None))

    # calls

    def visit_Call(self, node: ast.Call) -> None:
        callee = getattr(node.func, "id", None)
        if isinstance(node.func, ast.Name):
            self.scope.loads.add(node.func.id)
            self.use(node.func.id, self.at.start(node.func), called=True)
        else:
            self.visit(node.func)
        self.visit_all(node.args)
        self.keywords(node.keywords, callee)

    def keywords(self, arguments: list[ast.keyword], callee: str | None) -> None:
        """Add the keyword arguments of a call or of a class statement."""
        named = tuple((argument.arg, self.at.start(argument)) for argument in arguments if argument.arg is not None)
        if arguments:
            self.calls.append(Call(self.scope, callee, named, spread=len(named) < len(arguments)))
        self.visit_all(map(attrgetter("value"), arguments))

    # scopes

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        self.visit_all(node.decorator_list)
        start = self.at.start(node)
        self.store(node.name, place=end_of(_DEF, self.text, start), binding="function", definition=node)
        # `def f[T]` puts a scope between the function and its surroundings: hints see T, decorators do not
        with self.type_parameters(node):
            self.visit_all([*node.args.defaults, *node.args.kw_defaults])
            for parameter in (*parameters_of(node.args), *stars_of(node.args)):
                self.annotation(parameter.annotation)
            self.annotation(node.returns)
            # everything above belongs to the scope around: decorators, defaults and hints are evaluated there
            with self.function(node):
                self.visit_body(node.body)

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_Lambda(self, node: ast.Lambda) -> None:
        self.visit_all([*node.args.defaults, *node.args.kw_defaults])
        with self.function(node):
            self.visit(node.body)

    @contextmanager
    def function(self, node: FunctionNode) -> Iterator[None]:
        """Open the scope of a function with its parameters, and close it behind the block."""
        with self.inside("function", node=node, start=self.at.start(node), end=self.at.end(node)) as inner:
            self.functions[node] = inner
            for parameter in parameters_of(node.args):
                self.store(parameter.arg, self.at.start(parameter), "parameter")
            for parameter in stars_of(node.args):
                self.store(parameter.arg, self.at.start(parameter), "star")
            yield

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self.visit_all(node.decorator_list)
        self.bind(node.name, "class")
        with self.type_parameters(node):
            self.visit_all(node.bases)
            self.keywords(node.keywords, None)
            with self.inside("class", node=node, start=self.at.start(node), end=self.at.end(node)):
                self.visit_body(node.body)

    @contextmanager
    def type_parameters(self, node: ast.AST) -> Iterator[None]:
        """Open the scope of `def f[T]`, `class C[T]` or `type A[T]` (Python 3.12) where there is one."""
        parameters = getattr(node, "type_params", [])
        if not parameters:
            yield
            return
        with self.inside("type parameters", node=node, start=self.scope.start, end=self.scope.end):
            for parameter in parameters:
                self.bind(parameter.name, "type parameter")
                self.visit_all([getattr(parameter, "bound", None), getattr(parameter, "default_value", None)])
            yield

    def visit_TypeAlias(self, node: ast.AST) -> None:
        self.bind(node.name.id, "class")  # type: ignore[attr-defined]
        with self.type_parameters(node):
            self.visit(node.value)  # type: ignore[attr-defined]

    def comprehension(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp) -> None:
        """Visit a comprehension: its first iterable belongs to the scope around, all else to its own scope."""
        # Python evaluates the first iterable before it enters the comprehension; a class body shows the difference
        first, *rest = node.generators
        self.visit(first.iter)
        with self.inside("comprehension", node=node, start=self.at.start(node), end=self.at.end(node)):
            self.visit_all([first.target, *first.ifs])
            for generator in rest:
                self.visit_all([generator.iter, generator.target, *generator.ifs])
            self.visit_all([node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt])

    visit_ListComp = visit_SetComp = visit_GeneratorExp = visit_DictComp = comprehension

    # strings that hold code

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        if sys.version_info >= (3, 12):
            for part in _formatted(node):
                self.field(part.value, self.at, self.shows(part.value))
            return
        # Before 3.12 the tree gives no true places inside an f-string. The fields are found in the text and parsed
        # again, and an expression counts only where that gives the same tree; the names of any other one cannot be
        # renamed.
        formatted = list(_formatted(node))
        places = list(fields(self.text, self.at.start(node), self.at.end(node)))
        for index, part in enumerate(formatted):
            place = places[index] if len(places) == len(formatted) else None
            inner = place and expression_at(self.text, place.start, place.end)
            if not place or not inner or ast.dump(inner[0]) != ast.dump(part.value):
                self.hide(part.value)
            else:
                self.field(*inner, place.shown)

    def shows(self, value: ast.expr) -> bool:
        """Return whether `=` follows the expression in its field, so that the f-string prints the expression itself."""
        return _DEBUG.match(self.text, self.at.end(value)) is not None

    def field(self, value: ast.expr, at: Fragment, shown: bool) -> None:  # noqa: FBT001
        """Visit the expression of a replacement field."""
        around, shown_around = self.at, self.shown
        self.at, self.shown = at, shown or shown_around
        self.visit(value)
        self.at, self.shown = around, shown_around

    def hide(self, value: ast.AST) -> None:
        """Add uses of names whose places are unknown."""
        for node in ast.walk(value):
            if isinstance(node, ast.Name):
                self.use(node.id, None)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        self.visit(node.target)
        self.annotation(node.annotation)
        if node.value is not None:
            self.visit(node.value)

    def annotation(self, node: ast.expr | None) -> None:
        """Visit a type hint: a string in it is code too, except strings of Literal and metadata of Annotated."""
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            self.quoted(node, node.value)
        elif isinstance(node, ast.Subscript):
            self.visit(node.value)
            generic = last_word(node.value)
            inner = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
            types = {"Literal": 0, "Annotated": 1}.get(str(generic), len(inner))
            for element in inner[:types]:
                self.annotation(element)
            self.visit_all(inner[types:])
        elif isinstance(node, ast.BinOp | ast.List | ast.Tuple):
            for part in ast.iter_child_nodes(node):
                if isinstance(part, ast.expr):
                    self.annotation(part)
        elif node is not None:
            self.visit(node)

    def quoted(self, node: ast.Constant, value: str) -> None:
        """Visit a type hint in quotes."""
        start, end = self.at.start(node), self.at.end(node)
        literal = _STRING.match(self.text[start:end])
        inner = literal and expression_at(self.text, start + literal.start(2), start + literal.end(2))
        if inner:
            self.hints.add(id(node))
            around, self.at = self.at, inner[1]
            self.annotation(inner[0])
            self.at = around
        else:
            for word in _WORD.findall(value):
                self.use(word, None)


def _own_statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the statements of a scope, also those within its blocks, without those of inner scopes."""
    waiting: list[ast.AST] = list(reversed(body))
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.stmt):
            yield node
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.expr):
            waiting += reversed(list(ast.iter_child_nodes(node)))


def _formatted(node: ast.JoinedStr) -> Iterator[ast.FormattedValue]:
    for value in node.values:
        if isinstance(value, ast.FormattedValue):
            yield value
            if isinstance(value.format_spec, ast.JoinedStr):
                yield from _formatted(value.format_spec)
