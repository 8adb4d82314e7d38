"""Where comments, and the parameter lists and examples of docstrings, speak of a name."""

import ast
import re
from collections.abc import Collection, Iterator

from assay.code.parse.python_source import Fragment, parsed
from assay.code.parse.tokens import comments
from assay.code.rename.dynamic import reads_docstrings
from assay.code.rename.prose import mentioned
from assay.code.rename.python_scopes import Scope, Scoped, Symbol

_WORD = re.compile(r"(?<![\w.])[^\W\d]\w*")
_DIRECTIVE = re.compile(
    r"#\s*(?:!|-\*-|type:|noqa|nosec|pragma|pylint|mypy|pyright|fmt:|isort|ruff|flake8|yapf|(?:en)?coding[:=])"
)
_LISTED = (
    re.compile(
        r"^[ \t]*(?:[-*+•][ \t]+)?[`*]*(\w+)[`*]*[ \t]*(?:\([^()\n]*(?:\([^()\n]*\)[^()\n]*)*\))?[ \t]*:(?!:)",
        re.MULTILINE,
    ),
    re.compile(r"^[ \t]*(\w+)[ \t]*(?:,[ \t]*\w+[ \t]*)+:(?!:)", re.MULTILINE),
    re.compile(
        r"[:@](?:param|parameter|arg|argument|type|keyword|key|kwarg|var|vartype)[ \t]+"
        r"(?:[\w.\[\], ]+?[ \t]+)?(\w+)[ \t]*:"
    ),
)
_EXAMPLE = re.compile(r"^[ \t]*(?:>>>[ ](?P<doctest>.*)|(?P<assertion>assert\b.*))$", re.MULTILINE)


class Mentions:
    """Finds mentions of the symbols that change."""

    def __init__(self, found: Scoped, changing: Collection[Symbol]) -> None:
        self.found = found
        self.changing = changing
        self.names = frozenset(one.name for one in changing)
        self.at = Fragment(found.text)

    def places(self) -> Iterator[tuple[Symbol, int]]:
        """Every mention: which symbol, and the offset where its name stands."""
        yield from self.of_comments()
        if not reads_docstrings(self.found):
            for scope in self.found.module.walk():
                yield from self.of_docstring(scope)

    def of_comments(self) -> Iterator[tuple[Symbol, int]]:
        """Words of comments that are names of the scope around them."""
        text = self.found.text
        for comment in comments(text):
            if _DIRECTIVE.match(comment.text):
                continue
            for word in mentioned(text, comment.start, comment.start + len(comment.text), self.names):
                symbol = _scope_at(self.found.module, comment.start).lookup(word[0]) or self.only(word[0])
                if symbol in self.changing and symbol:
                    yield symbol, word.start()

    def only(self, name: str) -> Symbol | None:
        """The symbol of a name that means something only further in, where there is one alone."""
        found = [one for one in self.changing if one.name == name]
        return found[0] if len(found) == 1 else None

    def of_docstring(self, scope: Scope) -> Iterator[tuple[Symbol, int]]:
        """Parameters in lists of parameters, and names of the module in examples, which are code."""
        body = getattr(scope.node, "body", None)
        if not isinstance(body, list) or not body or not isinstance(body[0], ast.Expr):
            return
        docstring = body[0].value
        if not isinstance(docstring, ast.Constant) or not isinstance(docstring.value, str):
            return
        start, end = self.at.start(docstring), self.at.end(docstring)
        described = next((one for one in scope.children if getattr(one.node, "name", "") == "__init__"), scope)
        for pattern in _LISTED:
            for listed in pattern.finditer(self.found.text, start, end):
                for word in _WORD.finditer(
                    self.found.text, listed.start(1), listed.end() if "," in listed[0] else listed.end(1)
                ):
                    symbol = described.symbols.get(word[0])
                    if symbol in self.changing and symbol and symbol.bindings & {"parameter", "star"}:
                        yield symbol, word.start()
        for example in _EXAMPLE.finditer(self.found.text, start, end):
            yield from self.of_example(example[example.lastgroup or 0], example.start(example.lastgroup or 0))

    def of_example(self, source: str, start: int) -> Iterator[tuple[Symbol, int]]:
        """Functions of the module in one line of an example, with the keywords they are called by."""
        if source.isascii() and self.names.isdisjoint(_WORD.findall(source)):
            return
        try:
            tree = parsed(source)
        except (SyntaxError, ValueError):
            return
        at = Fragment(source, start)
        for one in ast.walk(tree):
            if isinstance(one, ast.Name):
                symbol = self.found.module.symbols.get(one.id)
                if symbol in self.changing and symbol and symbol.definitions:
                    yield symbol, at.start(one)
            elif isinstance(one, ast.Call) and isinstance(one.func, ast.Name):
                function = self.found.module.symbols.get(one.func.id)
                inner = self.found.functions[function.definitions[0]] if function and function.definitions else None
                for given in one.keywords:
                    symbol = inner.symbols.get(given.arg) if inner and given.arg else None
                    if symbol in self.changing and symbol:
                        yield symbol, at.start(given)


def _scope_at(scope: Scope, place: int) -> Scope:
    """The innermost scope around an offset."""
    for child in scope.children:
        if child.start <= place < child.end:
            return _scope_at(child, place)
    return scope
