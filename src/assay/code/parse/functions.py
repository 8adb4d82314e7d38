"""The functions of a file, in every language whose entry in the table of languages has a syntax.

Python is parsed by its own parser, the others by tree-sitter, which reads on after an error. A function inside another
is part of the outer function's text.
"""

import ast
import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from inspect import cleandoc
from operator import attrgetter
from typing import NamedTuple

import tree_sitter

from assay.code.parse.python_source import Fragment, parameters_of, stars_of
from assay.code.parse.trees import Unparsable, characters_before, raw_tree
from assay.garbage import garbage_collection_paused
from assay.languages import LANGUAGES, PYTHON_PARSER, FunctionSyntax, languages_with
from assay.python_parser import REFUSALS, python_tree

_COMMENT_MARK = re.compile(r"^[ \t]*+(?:/\*+!?|//[/!]?|\*(?!/)|#)?[ \t]?")
_KEYWORD = re.compile(r"\w+(?=\W*[({=]|$)")
_DECLARATORS_IN_PARENTHESES = frozenset({"parenthesized_declarator", "reference_declarator"})


class TextSpan(NamedTuple):
    """A stretch of a file's text: text[start:stop]."""

    start: int
    stop: int


@dataclass(frozen=True, slots=True)
class Function:
    """One function or method of a file.

    Attributes:
        name: dotted, with the classes, name spaces or modules around it.
        first_line: of the file, from 1; decorators, attributes and `template <…>` belong to the function.
        text: dedented source, with one newline at the end; lines as in the file.
        signature: from the function's own beginning to before its body, without decorators.
        documentation: the words of the docstring, or of the comments directly above the function, without their marks;
            None where there are none.
        documentation_span: of that docstring or those comments, marks included; None where there are none.
        span: of the whole function.
        body: of its body: in Python the statements behind the docstring, else the block with its braces, or the
            expression of an arrow function.
    """

    name: str
    first_line: int
    text: str
    signature: str
    documentation: str | None
    documentation_span: TextSpan | None
    span: TextSpan
    body: TextSpan


def functions_in(text: str, language: str) -> tuple[Function, ...]:
    """Return the functions of a file, in the order of its text.

    Args:
        text: of the file.
        language: by its name in the table of languages.

    Raises:
        Unparsable: the text does not follow the grammar, and no function can be recognised.
        ValueError: the language has no function syntax.
        AssayError: the grammar's package is not installed.
    """
    entry = LANGUAGES.get(language)
    if entry is None or not entry.syntax:
        expected = ", ".join(languages_with("functions"))
        raise ValueError(f"received the language {language!r}, expected one whose functions are known: {expected}")
    if entry.grammar == PYTHON_PARSER:
        return tuple(_python_functions(text))
    source = text.encode("utf-8", "surrogatepass")
    syntax = entry.syntax[0]
    root = raw_tree(source, syntax.grammar).root_node
    if root.has_error:  # a header of C that is C++, TypeScript with elements of JSX: a later syntax reads all of it
        for other in entry.syntax[1:]:
            try:
                other_root = raw_tree(source, other.grammar).root_node
            except Unparsable:
                continue
            if not other_root.has_error:
                syntax, root = other, other_root
                break
    functions = tuple(_TreeReader(text, source, syntax).functions(root))
    if root.has_error and not functions:
        raise Unparsable(f"does not parse as {entry.title}")
    return functions


# Python


def _python_functions(text: str) -> Iterator[Function]:
    try:
        with garbage_collection_paused():
            tree = python_tree(text)
    except REFUSALS as error:
        raise Unparsable(f"does not parse as Python: {error}") from error
    fragment = Fragment(text)
    for name, node in _python_definitions(tree.body, ""):
        first_line = min(map(attrgetter("lineno"), (node, *node.decorator_list)))
        line = fragment.starts[first_line - 1]
        stop = fragment.end(node)
        line_end = text.find("\n", stop)
        source = text[line:line_end] if line_end >= 0 else text[line:]
        start = line + len(source) - len(source.lstrip(" \t\f"))
        header = fragment.start(node)
        documentation, documentation_span = _leading_python_comment(text, fragment, first_line)
        documented = ast.get_docstring(node, clean=False) is not None
        if documented:
            documentation = ast.get_docstring(node)
            documentation_span = TextSpan(fragment.start(node.body[0]), fragment.end(node.body[0]))
        # lazily: only the start of the first statement behind the docstring is looked up
        starts = map(partial(_statement_start, text, fragment), node.body[documented:])
        body = TextSpan(next(starts, stop), stop)
        yield Function(
            name=name,
            first_line=first_line,
            text=textwrap.dedent(source).rstrip("\n") + "\n",
            signature=text[header : _colon(text, fragment, node) + 1],
            documentation=documentation,
            documentation_span=documentation_span,
            span=TextSpan(start, stop),
            body=body,
        )


_PythonFunction = ast.FunctionDef | ast.AsyncFunctionDef


def _python_definitions(body: list[ast.stmt], prefix: str) -> Iterator[tuple[str, _PythonFunction]]:
    for statement in body:
        match statement:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                yield prefix + statement.name, statement
            case ast.ClassDef():
                yield from _python_definitions(statement.body, f"{prefix}{statement.name}.")
            case ast.If():
                yield from _python_definitions([*statement.body, *statement.orelse], prefix)
            case ast.Try():
                yield from _python_definitions(statement.body, prefix)
                for handler in statement.handlers:
                    yield from _python_definitions(handler.body, prefix)
                yield from _python_definitions(statement.orelse, prefix)


def _statement_start(text: str, fragment: Fragment, statement: ast.stmt) -> int:
    """Return where a statement starts, its decorators included; the syntax tree does not count those to it."""
    decorators: list[ast.expr] = getattr(statement, "decorator_list", [])
    if not decorators:
        return fragment.start(statement)
    # the node of a decorator begins behind its @, which may have space or a comment between
    return text.rindex("@", 0, fragment.start(decorators[0]))


def _colon(text: str, fragment: Fragment, node: _PythonFunction) -> int:
    """Return the offset of the colon behind a function's signature.

    Behind the last expression of a signature only brackets, commas, stars, slashes and comments stand before it.
    """
    arguments = node.args
    defaults = (*arguments.defaults, *arguments.kw_defaults)
    parameters = (*parameters_of(arguments), *stars_of(arguments), *getattr(node, "type_params", ()))
    parts = filter(None, (*parameters, *defaults, node.returns))
    # a colon inside a hint, a lambda or a string lies before the end of one of these parts
    at = max(map(fragment.end, parts), default=fragment.start(node))
    while text[at] != ":":
        if text[at] == "#":
            at = text.index("\n", at)
        at += 1
    return at


def _leading_python_comment(text: str, fragment: Fragment, first_line: int) -> tuple[str | None, TextSpan | None]:
    row = first_line - 1  # of the line above, from 1
    while row >= 1 and text[fragment.starts[row - 1] : fragment.starts[row]].lstrip().startswith("#"):
        row -= 1
    if row == first_line - 1:
        return None, None
    start, stop = fragment.starts[row], fragment.starts[first_line - 1]
    comment = text[start:stop]
    span = TextSpan(start + len(comment) - len(comment.lstrip()), start + len(comment.rstrip()))
    return _words_of_comment(comment), span


# languages that tree-sitter reads


class _Visit(NamedTuple):
    """A node to look at, with what its functions belong to.

    Attributes:
        node: the node.
        prefix: of the names inside.
        wrapper: the outermost node that belongs to the one function inside, or None.
        leading: comments and attributes directly before the node, or before the wrapper where there is one.
    """

    node: tree_sitter.Node
    prefix: str
    wrapper: tree_sitter.Node | None
    leading: list[tree_sitter.Node]


class _TreeReader:
    """Reads the functions of one text off its syntax tree."""

    def __init__(self, text: str, source: bytes, syntax: FunctionSyntax) -> None:
        self.source = source
        self.syntax = syntax
        # the characters before each byte, where a character may take several bytes
        self._characters = None if text.isascii() else characters_before(source)

    def functions(self, root: tree_sitter.Node) -> Iterator[Function]:
        """Yield the functions below a node, in the order of the text."""
        # without recursion: a file may be nested deeper than Python's stack
        waiting = [_Visit(root, prefix="", wrapper=None, leading=[])]
        while waiting:
            node, prefix, wrapper, leading = waiting.pop()
            if self._is_function(node):
                yield self._function(node, outer=wrapper or node, leading=leading, prefix=prefix)
                continue
            if node.type in self.syntax.holders and (name := self._name(node)):
                prefix = f"{prefix}{name}."
            wrapper = (wrapper or node) if self._wraps_one_function(node) else None
            waiting.extend(reversed(self._below(node, prefix=prefix, wrapper=wrapper, leading=leading)))

    def _wraps_one_function(self, node: tree_sitter.Node) -> bool:
        """`const a = …` belongs to its one function; of several, each has its own text."""
        named = self.syntax.assigned | self.syntax.functions
        return node.type in self.syntax.wrappers and sum(child.type in named for child in node.children) <= 1

    def _below(
        self, node: tree_sitter.Node, prefix: str, wrapper: tree_sitter.Node | None, leading: list[tree_sitter.Node]
    ) -> "list[_Visit]":
        """Return the visits to the children of a node, each with the comments and attributes directly before it."""
        visits: list[_Visit] = []
        before: list[tree_sitter.Node] = []
        for child in node.named_children:
            if "comment" in child.type or child.type in self.syntax.attached:
                before.append(child)
            else:
                visits.append(_Visit(child, prefix=prefix, wrapper=wrapper, leading=leading if wrapper else before))
                before = []
        return visits

    def _is_function(self, node: tree_sitter.Node) -> bool:
        if node.type in self.syntax.functions:
            return self._body(node) is not None
        # `const f = () => …`: the name stands at the assignment, the code at its right side
        if node.type not in self.syntax.assigned:
            return False
        value = _assigned(node)
        return value is not None and value.type in self.syntax.expressions

    def _body(self, node: tree_sitter.Node) -> tree_sitter.Node | None:
        body = node.child_by_field_name("body")
        return body or next((child for child in node.named_children if child.type in self.syntax.bodies), None)

    def _function(
        self, node: tree_sitter.Node, outer: tree_sitter.Node, leading: list[tree_sitter.Node], prefix: str
    ) -> Function:
        first = outer
        comments = list(leading)
        while comments and comments[-1].type in self.syntax.attached:
            first = comments.pop()
        line_start = self.source.rfind(b"\n", 0, first.start_byte) + 1
        # a first line that begins with the function keeps its indentation, so that all lines lose the same
        indented = not self.source[line_start : first.start_byte].strip()
        text = self._text(line_start if indented else first.start_byte, outer.end_byte)
        body = self._body(node) or _value_body(node) or node
        documentation, documentation_span = self._documentation(comments, first.start_point[0])
        return Function(
            name=prefix + self._name(node),
            first_line=first.start_point[0] + 1,
            text=textwrap.dedent(text).rstrip("\n") + "\n",
            signature=self._text(outer.start_byte, body.start_byte).rstrip(),
            documentation=documentation,
            documentation_span=documentation_span,
            span=self._span(first.start_byte, outer.end_byte),
            body=self._span(body.start_byte, body.end_byte),
        )

    def _documentation(self, before: list[tree_sitter.Node], row: int) -> tuple[str | None, TextSpan | None]:
        """Return the words and the span of the comments that end on the line above `row`, or above one another."""
        comments: list[tree_sitter.Node] = []
        for comment in reversed(before):
            # the grammar of Rust counts the line end to a comment
            last_row = comment.end_point[0] - (comment.end_point[1] == 0)
            line_start = self.source.rfind(b"\n", 0, comment.start_byte) + 1
            follows_code = self.source[line_start : comment.start_byte].strip()
            if "comment" not in comment.type or last_row + 1 < row or follows_code:
                break
            comments.append(comment)
            row = comment.start_point[0]
        if not comments:
            return None, None
        start, stop = comments[-1].start_byte, comments[0].end_byte
        text = self._text(start, stop)
        return _words_of_comment(text), self._span(start, start + len(self.source[start:stop].rstrip()))

    def _name(self, node: tree_sitter.Node) -> str:
        """Return the name that a node declares.

        Of a declarator in C it is the innermost; a method in Go has the type of its receiver before it.
        """
        named = next(filter(None, map(node.child_by_field_name, self.syntax.names)), None)
        if named is None:
            named = node.child_by_field_name("declarator")
            while named is not None and (inner := _inner_declarator(named)):
                named = inner
        elif named == node.child_by_field_name("type"):  # `impl Pair<T>` in Rust: without the arguments
            named = _first(named, "type_identifier") or named
        name = self._text(named.start_byte, named.end_byte) if named else ""
        if not name and node.type in self.syntax.functions:  # a constructor or accessor is named by its keyword
            name = _KEYWORD.findall(self._text(node.start_byte, node.end_byte))[0]
        if (receiver := node.child_by_field_name("receiver")) and (kind := _first(receiver, "type_identifier")):
            name = f"{self._text(kind.start_byte, kind.end_byte)}.{name}"
        return ".".join(name.replace("::", ".").strip("'\"`").split())

    def _text(self, start: int, stop: int) -> str:
        return self.source[start:stop].decode("utf-8", "surrogatepass")

    def _span(self, start: int, stop: int) -> TextSpan:
        if self._characters is None:
            return TextSpan(start, stop)
        return TextSpan(self._characters[start], self._characters[stop])


def _assigned(node: tree_sitter.Node) -> tree_sitter.Node | None:
    return node.child_by_field_name("value") or node.child_by_field_name("right")


def _value_body(node: tree_sitter.Node) -> tree_sitter.Node | None:
    value = _assigned(node)
    return value and value.child_by_field_name("body")


def _inner_declarator(node: tree_sitter.Node) -> tree_sitter.Node | None:
    """Return what a pointer, function, array or bracketed declarator declares."""
    if node.type in _DECLARATORS_IN_PARENTHESES:
        return next(reversed(node.named_children), None)
    return node.child_by_field_name("declarator")


def _first(root: tree_sitter.Node, kind: str) -> tree_sitter.Node | None:
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if node.type == kind:
            return node
        waiting.extend(reversed(node.named_children))
    return None


def _words_of_comment(comment: str) -> str:
    """Return a comment without its marks: `//`, `///`, `/** … */`, `*` and `#` at the beginning of lines."""
    return cleandoc("\n".join(map(_words_of_comment_line, comment.splitlines()))).strip()


def _words_of_comment_line(line: str) -> str:
    words = _COMMENT_MARK.sub("", line.rstrip(" \t"), count=1)
    # in steps, since one pattern for all takes the cube of a line of blanks
    if words.endswith("*/"):
        return words[:-1].rstrip("*").rstrip(" \t")
    return words
