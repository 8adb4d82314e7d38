"""Mentions of a name in comments, and in the parameter lists and examples of docstrings."""

# ruff: noqa: SIM905  a list of words reads best as words

import ast
import re
from collections.abc import Collection, Iterable, Iterator
from operator import attrgetter

from assay.code.parse.lexing import python_comments
from assay.code.parse.python_source import Fragment, docstring_of
from assay.code.rename.dynamic import reads_docstrings
from assay.code.rename.python_scopes import PythonScope, PythonSymbol, Scopes
from assay.python_parser import python_tree

_WORD_OF_COMMENT = re.compile(r"(?<![\w.$])[^\W\d]\w*")
ENGLISH = frozenset(
    (
        "a am an and any are as at be but by can do each for from get go had has have he her him his how i if "
        "in is it its let may me more my new no not now of off old on one only or other our out over own same "
        "set she so some such than that the then there they this time to two under up us use was way we well "
        "were what when where which who will with yes you "
    ).split()
)
"""Words of comments that are names only where they stand like code."""
_CODE = frozenset("`'\"([{=<>+*/%")
_MARKER = re.compile(r"(?:^\s*\*|/\*[*!]?|//[/!]?<?)$")
"""The start of a comment, or of a line of it."""
_TAG = re.compile(r"[@\\]param(?:\[\w+(?:,\w+)*\])?[ \t]+(?:\{[^{}\n]*\}[ \t]*)?$")


def mentioned(text: str, start: int, end: int, names: Collection[str]) -> Iterator[re.Match[str]]:
    """Yield words of a comment that are one of the names.

    A word that is plain English too counts only where it stands like code: a[i], a = 1, `a`, a(b), @param a.

    Args:
        text: all of it.
        start: of the comment.
        end: of the comment.
        names: to look for.
    """
    for word in _WORD_OF_COMMENT.finditer(text, start, end):
        if word[0] in names and (word[0].lower() not in ENGLISH or _like_code(text, word)):
            yield word


_NEAR = 200
"""Characters of the line on each side of a word that are looked at: a file can be one line."""


def _like_code(text: str, word: re.Match[str]) -> bool:
    # a minified file is one line: a whole line around each of its words would take quadratic time
    near = max(0, word.start() - _NEAR)
    start = max(near, text.rfind("\n", near, word.start()) + 1)
    before = text[start : word.start()].rstrip(" \t")
    after = text[word.end() : word.end() + _NEAR].partition("\n")[0].lstrip(" \t")
    if before[-1:] in _CODE and not _MARKER.search(before):
        return True
    if after[:1] in _CODE and not after.startswith("*/"):
        return True
    return _TAG.search(text[start : word.start()]) is not None


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
    """The mentions of the symbols that change, in one text."""

    def __init__(self, scopes: Scopes, changing: Collection[PythonSymbol]) -> None:
        self.scopes = scopes
        self.changing = changing
        self.names = frozenset(map(attrgetter("name"), changing))
        self.at = Fragment(scopes.text)

    def places(self) -> Iterator[tuple[PythonSymbol, int]]:
        """Yield every mention: the symbol, and the offset of its name."""
        yield from self.of_comments()
        if not reads_docstrings(self.scopes):
            for scope in self.scopes.module.walk():
                yield from self.of_docstring(scope)

    def of_comments(self) -> Iterator[tuple[PythonSymbol, int]]:
        """Yield words of comments that are names of the scope around them."""
        text = self.scopes.text
        for comment in python_comments(text):
            if _DIRECTIVE.match(comment.text):
                continue
            for word in mentioned(text, start=comment.start, end=comment.start + len(comment.text), names=self.names):
                # a comment means what code at its place would mean
                symbol = _scope_at(self.scopes.module, comment.start).lookup(word[0]) or self.only(word[0])
                if symbol in self.changing and symbol:
                    yield symbol, word.start()

    def only(self, name: str) -> PythonSymbol | None:
        """Return the symbol of a name that is bound only in inner scopes, where there is a single one."""
        same_name = [symbol for symbol in self.changing if symbol.name == name]
        return same_name[0] if len(same_name) == 1 else None

    def of_docstring(self, scope: PythonScope) -> Iterator[tuple[PythonSymbol, int]]:
        """Yield parameters in lists of parameters, and names of the module in examples, which are code."""
        docstring = docstring_of(scope.node)
        if docstring is None:
            return
        start, end = self.at.start(docstring), self.at.end(docstring)
        # the docstring of a class describes the parameters of its __init__
        described = next((child for child in scope.children if getattr(child.node, "name", "") == "__init__"), scope)
        for pattern in _LISTED:
            for listed in pattern.finditer(self.scopes.text, start, end):
                stop = listed.end() if "," in listed[0] else listed.end(1)
                for word in _WORD.finditer(self.scopes.text, listed.start(1), stop):
                    symbol = described.symbols.get(word[0])
                    if symbol in self.changing and symbol and symbol.bindings & {"parameter", "star"}:
                        yield symbol, word.start()
        for example in _EXAMPLE.finditer(self.scopes.text, start, end):
            yield from self.of_example(example[example.lastgroup or 0], example.start(example.lastgroup or 0))

    def of_example(self, source: str, start: int) -> Iterator[tuple[PythonSymbol, int]]:
        """Yield functions of the module in one line of an example, with the keywords they are called by."""
        # most examples name nothing that changes, and a look at the words is cheaper than the parser
        if source.isascii() and self.names.isdisjoint(_WORD.findall(source)):
            return
        try:
            tree = python_tree(source)
        except (SyntaxError, ValueError):
            return
        at = Fragment(source, start)
        for node in ast.walk(tree):
            if isinstance(node, ast.Name):
                symbol = self.scopes.module.symbols.get(node.id)
                if symbol in self.changing and symbol and symbol.definitions:
                    yield symbol, at.start(node)
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                function = self.scopes.module.symbols.get(node.func.id)
                if function and function.definitions:
                    inner = self.scopes.functions[function.definitions[0]]
                    yield from self.keywords(node.keywords, inner=inner, at=at)

    def keywords(
        self, arguments: Iterable[ast.keyword], inner: PythonScope, at: Fragment
    ) -> Iterator[tuple[PythonSymbol, int]]:
        """Yield parameters of a function that a call of it passes by keyword."""
        for argument in arguments:
            symbol = inner.symbols.get(argument.arg or "")
            if symbol in self.changing and symbol:
                yield symbol, at.start(argument)


def _scope_at(scope: PythonScope, place: int) -> PythonScope:
    """Return the innermost scope around an offset."""
    for child in scope.children:
        if child.start <= place < child.end:
            return _scope_at(child, place)
    return scope
