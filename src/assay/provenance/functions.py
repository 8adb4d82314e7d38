"""A file → the pieces of it that become documents: the whole, and its functions.

Python is parsed by its own parser; Java, C, C++, JavaScript and Go by tree-sitter, which reads on after an error. A
function inside another is part of the outer one's text. Other languages, and files that do not parse, stay whole.
"""

import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any, Literal

from tree_sitter import Language, Node, Parser

from assay.code import Definition, python_definitions
from assay.errors import AssayError
from assay.provenance.document import Kind

Granularity = Literal["file", "function", "both"]


@dataclass(frozen=True, slots=True)
class Piece:
    """What becomes one document.

    Attributes:
        kind: "file" or "function".
        name: dotted name of the function within its file; None for a file.
        first_line: line of the file at which the text begins, from 1.
        text: of a function dedented, with one newline at the end; lines as in the file.
    """

    kind: Kind
    name: str | None
    first_line: int
    text: str


@dataclass(frozen=True, slots=True)
class Pieces:
    """The pieces of one file; `parsed` is False where its functions could not be told."""

    pieces: tuple[Piece, ...]
    parsed: bool


@dataclass(frozen=True, slots=True)
class _Rules:
    """Which nodes of a tree-sitter grammar are functions, which hold some, and where their names stand.

    Attributes:
        module: that holds the grammar.
        functions: node types of functions with a name of their own.
        holders: node types whose name is part of the names inside.
        assigned: node types that give a name to a function expression on their right.
        expressions: node types of function expressions.
        wrappers: node types that belong to the function that they hold, as `template <…>` does.
    """

    module: str
    functions: frozenset[str]
    holders: frozenset[str] = frozenset()
    assigned: frozenset[str] = frozenset()
    expressions: frozenset[str] = frozenset()
    wrappers: frozenset[str] = frozenset()


_RULES = {
    "java": _Rules(
        "tree_sitter_java",
        frozenset({"method_declaration", "constructor_declaration", "compact_constructor_declaration"}),
        frozenset(
            {"class_declaration", "interface_declaration", "enum_declaration", "record_declaration"}
            | {"annotation_type_declaration"}
        ),
    ),
    "c": _Rules("tree_sitter_c", frozenset({"function_definition"})),
    "cpp": _Rules(
        "tree_sitter_cpp",
        frozenset({"function_definition"}),
        frozenset({"namespace_definition", "class_specifier", "struct_specifier", "union_specifier"}),
        wrappers=frozenset({"template_declaration"}),
    ),
    "javascript": _Rules(
        "tree_sitter_javascript",
        frozenset({"function_declaration", "generator_function_declaration", "method_definition"}),
        frozenset({"class_declaration", "class"}),
        frozenset({"variable_declarator", "assignment_expression", "pair", "field_definition"}),
        frozenset({"arrow_function", "function_expression", "generator_function"}),
        frozenset({"lexical_declaration", "variable_declaration", "expression_statement", "export_statement"}),
    ),
    "go": _Rules("tree_sitter_go", frozenset({"function_declaration", "method_declaration"})),
}

LANGUAGES = frozenset({"python", *_RULES})
"""Languages that are split into functions."""

_NAME_FIELDS = ("name", "key", "left", "property")


def pieces(text: str, language: str | None, granularity: Granularity = "both") -> Pieces:
    """The pieces of one file, the whole first, functions in text order.

    A file that cannot be split gives itself under every granularity, so that nothing is lost. A file that is one
    function and blank lines gives that function alone: the same text twice would be one document without a name.

    Args:
        text: of the file.
        language: as `Sample.language` spells it, or None.
        granularity: "file", "function", or "both".
    """
    whole = Piece("file", None, 1, text)
    if granularity == "file":
        return Pieces((whole,), parsed=True)
    if language not in LANGUAGES:
        return Pieces((whole,), parsed=True)
    found = functions(text, language)
    if found is None:
        return Pieces((whole,), parsed=False)
    inside = tuple(Piece("function", one.name, one.first_line, one.text) for one in found)
    is_function = len(inside) == 1 and inside[0].text.strip("\n") == text.strip("\n")
    return Pieces(inside if is_function or (granularity == "function" and inside) else (whole, *inside), parsed=True)


def functions(text: str, language: str) -> list[Definition] | None:
    """The functions of a text in a language of `LANGUAGES`, in text order; None where it does not parse."""
    if language == "python":
        try:
            return list(python_definitions(text))
        except (SyntaxError, ValueError, RecursionError, MemoryError):  # all four are what the parser says
            return None
    source = text.encode("utf-8", "surrogatepass")
    root = _parser(language).parse(source).root_node
    if language == "c" and root.has_error:  # a header or source in C++ that its name does not tell
        other = _parser("cpp").parse(source).root_node
        if not other.has_error:
            language, root = "cpp", other
    found = list(_functions(root, _RULES[language], source))
    return None if root.has_error and not found else found


def _functions(root: Node, rules: _Rules, source: bytes) -> Iterator[Definition]:
    # without recursion: a file of others may be nested deeper than our stack
    waiting: list[tuple[Node, str, Node | None]] = [(root, "", None)]
    while waiting:
        node, prefix, outer = waiting.pop()
        if _is_function(node, rules):
            yield _definition(outer or node, prefix + _name(node, source), source)
        else:
            if node.type in rules.holders and (name := _name(node, source)):
                prefix = f"{prefix}{name}."
            if node.type in rules.wrappers:
                # `const a = …` belongs to its one function; of several, each has its own text
                alone = (
                    sum(child.type in rules.assigned or child.type in rules.functions for child in node.children) <= 1
                )
                outer = (outer or node) if alone else None
            else:
                outer = None
            waiting.extend((child, prefix, outer) for child in reversed(node.named_children))


def _is_function(node: Node, rules: _Rules) -> bool:
    if node.type in rules.functions:
        return node.child_by_field_name("body") is not None
    if node.type not in rules.assigned:
        return False
    value = node.child_by_field_name("value") or node.child_by_field_name("right")
    return value is not None and value.type in rules.expressions


def _definition(node: Node, name: str, source: bytes) -> Definition:
    line_start = source.rfind(b"\n", 0, node.start_byte) + 1
    # a first line that begins with the function keeps its indentation, so that all lines lose the same
    start = line_start if not source[line_start : node.start_byte].strip() else node.start_byte
    text = source[start : node.end_byte].decode("utf-8", "surrogatepass")
    return Definition(name, node.start_point[0] + 1, textwrap.dedent(text).rstrip("\n") + "\n")


def _name(node: Node, source: bytes) -> str:
    """The name that a node declares; of a C declarator the innermost, of a Go method with its receiver's type."""
    named = next((one for field in _NAME_FIELDS if (one := node.child_by_field_name(field))), None)
    if named is None:
        named = node.child_by_field_name("declarator")
        while named is not None and (inner := _inner_declarator(named)):
            named = inner
    name = _text(named, source) if named else ""
    if (receiver := node.child_by_field_name("receiver")) and (kind := _first(receiver, "type_identifier")):
        name = f"{_text(kind, source)}.{name}"
    return ".".join(name.replace("::", ".").strip("'\"`").split())


def _inner_declarator(node: Node) -> Node | None:
    """What a pointer, function, array or bracketed declarator declares."""
    if node.type in {"parenthesized_declarator", "reference_declarator"}:
        return node.named_children[-1] if node.named_children else None
    return node.child_by_field_name("declarator")


def _first(node: Node, kind: str) -> Node | None:
    waiting = [node]
    while waiting:
        one = waiting.pop()
        if one.type == kind:
            return one
        waiting.extend(reversed(one.named_children))
    return None


def _text(node: Node, source: bytes) -> str:
    return source[node.start_byte : node.end_byte].decode("utf-8", "replace")


@cache
def _parser(language: str) -> Parser:
    try:
        grammar: Any = import_module(_RULES[language].module)
    except ImportError as fault:
        raise AssayError(f"the tree-sitter grammar of {language} is not installed ({fault})") from fault
    return Parser(Language(grammar.language()))
