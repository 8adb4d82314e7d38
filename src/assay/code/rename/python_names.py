"""The names of a Python text that may change without changing its behaviour, with all their places.

A name is kept whenever something outside of the text might look for it: in doubt the rules keep it.
"""

import ast
import builtins
import re
from collections import defaultdict
from collections.abc import Collection, Mapping
from itertools import chain
from operator import attrgetter

from assay.code.rename.dynamic import dynamic_names, opaque_module, opaque_names
from assay.code.rename.mentions import Mentions
from assay.code.rename.names import Analysis, NameKind, renamables
from assay.code.rename.python_scopes import Call, FunctionNode, PythonScope, PythonSymbol, Scopes, last_word, scopes_of
from assay.python_parser import python_tree

_BUILTINS = frozenset(dir(builtins))
_CONVENTIONAL = frozenset({"self", "cls", "mcs", "mcls", "super"})  # the compiler itself looks for `super`
_IDENTIFIER = re.compile(r"[^\W\d]\w*")
_TRANSPARENT = frozenset(
    """staticmethod classmethod property setter getter deleter abstractmethod override final wraps lru_cache cache
    contextmanager asynccontextmanager overload""".split()  # noqa: SIM905  a word list
)
"""Decorators that look neither at the name of a function nor at those of its parameters."""
_OWN_BASES = frozenset({"object", "ABC", "Protocol", "Generic", "Enum", "Exception"})
_KEPT_BINDINGS = {"import": "imported", "class": "a class", "type parameter": "a type parameter"}


def python_analysis(text: str, *, keep: Collection[str] = ()) -> Analysis:
    """Find what can be renamed.

    Args:
        text: Python that parses on its own: a function, a script, a module.
        keep: names to leave alone.
    """
    words = frozenset(_IDENTIFIER.findall(text))
    try:
        tree = python_tree(text)
        scopes = scopes_of(text, tree)
    except (SyntaxError, ValueError) as error:
        return Analysis.refusal(text, words, f"does not parse as Python: {str(error).splitlines()[0]}")
    except (RecursionError, MemoryError):
        return Analysis.refusal(text, words, "nested too deeply to be read")
    if reason := dynamic_names(scopes):
        return Analysis.refusal(text, words, reason)
    return _Policy(scopes, frozenset(keep)).analysis(words)


class _Policy:
    """The rules, applied to the symbols of one text."""

    def __init__(self, scopes: Scopes, keep: frozenset[str]) -> None:
        self.scopes = scopes
        self.keep = keep
        constants = (node for node in scopes.nodes if isinstance(node, ast.Constant) and id(node) not in scopes.hints)
        texts = (node.value for node in constants if isinstance(node.value, str))
        self.strings = frozenset(filter(str.isidentifier, texts))
        self.opaque = opaque_module(scopes)
        self.names_matter = opaque_names(scopes)
        self.keyword_places: dict[PythonSymbol, list[int]] = defaultdict(list)
        self.unknown_keywords: set[str] = set()
        self.spread: set[PythonSymbol] = set()
        self.owners: dict[FunctionNode, PythonSymbol] = {}
        self.read_by_classes: set[str] = set()
        for scope in scopes.module.walk():
            for symbol in scope.symbols.values():
                self.owners |= dict.fromkeys(symbol.definitions, symbol)
            if scope.kind == "class":
                self.read_by_classes |= scope.symbols.keys() & scope.loads
        for call in scopes.calls:
            self.read(call)

    def analysis(self, words: frozenset[str]) -> Analysis:
        """Return the analysis; symbols of a name and kind change together, so their scopes stay apart as before."""
        kept: dict[str, str] = {}
        changing: dict[PythonSymbol, NameKind] = {}
        for scope in self.scopes.module.walk():
            for symbol in scope.symbols.values():
                reason = self.reason(symbol)
                if reason:
                    kept[symbol.name] = reason
                elif symbol.places:
                    changing[symbol] = "function" if "function" in symbol.bindings else "variable"
        # What changes gets a word that the text does not have, the same at all places: so it can capture no other name
        # and be captured by none, whatever the scopes between them are.
        places: dict[tuple[str, NameKind], set[int]] = defaultdict(set)
        for symbol, kind in changing.items():
            places[symbol.name, kind].update(symbol.places, self.keyword_places[symbol])
        for symbol, place in Mentions(self.scopes, changing).places():
            places[symbol.name, changing[symbol]].add(place)
        of_module = {(symbol.name, kind) for symbol, kind in changing.items() if symbol.scope.parent is None}
        return Analysis(self.scopes.text, names=renamables(places, of_module), kept=kept, words=words)

    # calls by keyword

    def read(self, call: Call) -> None:
        """Assign the keywords of a call to parameters if the callee is certain; else their parameters are unknown."""
        callee = call.callee and call.scope.lookup(call.callee)
        parameters: Mapping[str, PythonSymbol] = {}
        if callee and (inner := self.certain(callee)):
            parameters = inner.symbols
        if callee and call.spread:
            self.spread.add(callee)
        # `f(width=3)` uses the parameter's name outside of f. Where f can only mean one function of the text, the
        # keyword is one more place of the parameter; anywhere else every parameter of that name has to keep it.
        for name, place in call.keywords:
            parameter = parameters.get(name)
            if parameter is None or place is None or "parameter" not in parameter.bindings:
                self.unknown_keywords.add(name)
            elif not self.scopes.text.startswith(name, place):
                parameter.hidden = True
            else:
                self.keyword_places[parameter].append(place)

    def certain(self, symbol: PythonSymbol) -> PythonScope | None:
        """Return the scope of the function that a symbol names, where it can name no other."""
        if symbol.times_bound != 1 or len(symbol.definitions) != 1 or symbol.scope.kind == "class":
            return None
        definition = symbol.definitions[0]
        if _decorators(definition):
            return None
        return self.scopes.functions[definition]

    # reasons to keep a name

    def reason(self, symbol: PythonSymbol) -> str | None:  # noqa: PLR0911  a rule a line
        """Return why a symbol keeps its name, or None."""
        name, scope = symbol.name, symbol.scope
        if name in self.keep:
            return "to be kept"
        for binding, reason in _KEPT_BINDINGS.items():
            if binding in symbol.bindings:
                return reason
        if scope.kind == "class":
            return "an attribute of a class"
        if scope.kind == "type parameters":
            return "a type parameter"
        if name.startswith("__") or not name.strip("_") or name in _CONVENTIONAL:
            return "a name by convention"
        if symbol.hidden:
            return "stands where its place is unknown"
        if symbol.shown:
            return "an f-string prints the name"
        return self.of_module(symbol) or self.of_function(symbol) or self.of_parameter(symbol)

    def of_module(self, symbol: PythonSymbol) -> str | None:
        """Return why a name of the module is kept: it can be reached from outside of the text's own scopes."""
        if symbol.scope.parent is not None:
            return None
        if self.opaque:
            return self.opaque
        if symbol.name in _BUILTINS:
            return "a builtin of that name shows through"
        if symbol.name in self.strings:
            return "a string names it"
        if symbol.name in self.read_by_classes:
            return "the body of a class may read it under a name of its own"
        return None

    def of_function(self, symbol: PythonSymbol) -> str | None:
        """Return why the name of a function is kept: the program can see it."""
        if not symbol.definitions:
            return None
        if self.names_matter:
            return self.names_matter
        if symbol.name.startswith("test") and symbol.scope.parent is None:
            return "test runners look for it"
        if self.foreign_decorator(symbol):
            return "a decorator may look at the name"
        return None

    def of_parameter(self, symbol: PythonSymbol) -> str | None:
        """Return why the name of a parameter is kept: callers may pass it by keyword."""
        if not symbol.bindings & {"parameter", "star"}:
            return None
        definition = symbol.scope.node
        owner = self.owners.get(definition) if isinstance(definition, ast.FunctionDef | ast.AsyncFunctionDef) else None
        if owner and self.foreign_decorator(owner):
            return "a decorator may look at the parameters"
        if owner and owner.name.startswith("test"):
            return "test runners look for it"
        if "star" in symbol.bindings:
            return None
        if owner and owner.scope.kind == "class" and self.has_foreign_base(owner.scope):
            return "overrides a method that others may call by keyword"
        return self.by_keyword(symbol, owner)

    def by_keyword(self, parameter: PythonSymbol, owner: PythonSymbol | None) -> str | None:
        """Return why a parameter may be passed by keyword where no rule sees it, or None."""
        # closed: the text shows every call, because the function is only ever called by its one name, never passed on
        closed = owner is not None and self.certain(owner) is not None and not owner.escapes
        by_string = parameter.name in self.strings and (not closed or owner in self.spread)
        if by_string or (not closed and parameter.name in self.unknown_keywords):
            return "may be passed by keyword"
        return None

    def foreign_decorator(self, function: PythonSymbol) -> bool:
        """Return whether a decorator is neither defined in the text nor in the list of those that ignore names."""
        for decorator in chain.from_iterable(map(_decorators, function.definitions)):
            called = getattr(decorator, "func", decorator)
            last = last_word(called)
            # of `tools.retry(3)` the last word says what it does, the first whether the text defines it
            while isinstance(called, ast.Attribute):
                called = called.value
            root = isinstance(called, ast.Name) and function.scope.lookup(called.id)
            if last not in _TRANSPARENT and not (root and root.bindings <= {"function", "class", "parameter"}):
                return True
        return False

    def has_foreign_base(self, scope: PythonScope) -> bool:
        """Return whether a class inherits from a class that is not defined in the text."""
        node = scope.node
        for base in getattr(node, "bases", ()):
            named = base
            if isinstance(base, ast.Subscript):  # `Generic[T]`
                named = base.value
            symbol = isinstance(named, ast.Name) and scope.lookup(named.id)
            inner = symbol and symbol.bindings == {"class"}
            if not inner and last_word(named) not in _OWN_BASES:
                return True
        return False


def _decorators(definition: FunctionNode) -> list[ast.expr]:
    return getattr(definition, "decorator_list", [])  # a lambda has none


def keywords_of(text: str) -> frozenset[str]:
    """Return the names that a text passes by keyword: parameters of a sample that its tests call so must keep them.

    Raises:
        SyntaxError: the text does not parse.
    """
    names: set[str] = set()
    for node in ast.walk(python_tree(text)):
        if isinstance(node, ast.Call):
            names.update(filter(None, map(attrgetter("arg"), node.keywords)))
    return frozenset(names)
