"""Syntax trees of tree-sitter as plain nodes with offsets into the text."""

import functools
import importlib
import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import tree_sitter

from assay.code.parse.lexing import spliced
from assay.errors import AssayError

DEEPEST = 2000
"""Levels of a tree at most; text that is nested deeper was not written by a person, and is refused."""


@dataclass(slots=True, eq=False)
class Node:
    """A node; it covers text[start:end].

    Attributes:
        kind: as the grammar calls it; of keywords and punctuation, their text.
        role: the field of its parent that it fills, or "".
        start: offset of its first character.
        end: offset behind its last character.
        parent: the node around it; None for the root.
        children: in order.
    """

    kind: str
    role: str
    start: int
    end: int
    parent: "Node | None"
    children: list["Node"] = field(default_factory=list)

    @property
    def parent_kind(self) -> str:
        """The kind of the node around it; "" for the root."""
        return self.parent.kind if self.parent else ""

    def child(self, role: str) -> "Node | None":
        """Return the first child in a field."""
        return next((child for child in self.children if child.role == role), None)

    def fill(self, role: str) -> list["Node"]:
        """Return all children in a field."""
        return [child for child in self.children if child.role == role]

    def of_kind(self, *kinds: str) -> list["Node"]:
        """Return all children of these kinds."""
        return [child for child in self.children if child.kind in kinds]

    def walk(self) -> Iterator["Node"]:
        """Yield this node and all below it, in the order of the text."""
        waiting = [self]
        while waiting:
            node = waiting.pop()
            yield node
            waiting.extend(reversed(node.children))

    def around(self) -> Iterator["Node"]:
        """Yield the nodes around it, innermost first."""
        node = self.parent
        while node is not None:
            yield node
            node = node.parent


@dataclass(frozen=True, slots=True)
class Tree:
    """A text that parses.

    Attributes:
        text: the text.
        root: its tree.
        shape: the tree's named nodes and their fields in one line, without what they cover.
        hidden: stretches that were left out; see `hiding`.
    """

    text: str
    root: Node
    shape: str
    hidden: tuple[tuple[int, int], ...] = ()

    def of(self, node: Node) -> str:
        """Return the text that a node covers."""
        return self.text[node.start : node.end]

    def part(self, node: Node, role: str) -> str:
        """Return the text of the first child in a field; of the node where there is none."""
        return self.of(node.child(role) or node)

    @property
    def hidden_text(self) -> str:
        """The text that was left out, a line for each stretch."""
        return "\n".join(self.text[start:end] for start, end in self.hidden)


WORD = re.compile(r"[^\W\d]\w*")

_CONTINUATION = 0b1000_0000
"""The upper two bits of the bytes of a character in UTF-8 that are not its first."""


class Unparsable(ValueError):  # noqa: N818  the name says what the text is
    """The text does not follow the grammar; the message says where."""


def syntax_tree(text: str, grammar: str, hidden: Sequence[tuple[int, int]] = ()) -> Tree:
    """Return the tree of a text.

    Args:
        text: the text.
        grammar: module and function of a tree-sitter grammar, for example "tree_sitter_java:language".
        hidden: stretches in whose place spaces are parsed, in order.

    Raises:
        Unparsable: some of it does not parse, or it is nested too deeply.
    """
    try:
        encoded = _without(text, hidden).encode()
    except UnicodeEncodeError as error:
        raise Unparsable("no valid Unicode") from error
    encoded = encoded.removesuffix(b"\n") + b"\n"  # where Go and the preprocessor want their lines to end
    tree = raw_tree(encoded, grammar)
    if tree.root_node.has_error:
        raise Unparsable(f"line {_first_error(tree.root_node)}")
    # tree-sitter counts bytes; in ASCII they are the characters
    offsets = None if text.isascii() else characters_before(encoded)
    return Tree(text, root=_nodes(tree, offsets), shape=str(tree.root_node), hidden=tuple(hidden))


LEAST_STEPS, BYTES_A_STEP = 2000, 10
"""Reports of progress that a parse may make: some number, and one for so many bytes. Code makes one in a hundred."""

_CHUNK = 1 << 16


def raw_tree(encoded: bytes, grammar: str) -> tree_sitter.Tree:
    """Return the tree of tree-sitter, errors included.

    Raises:
        Unparsable: the parser recovers from errors without an end. A page of a manual, read as TSX, took gigabytes.
    """
    steps = itertools.count(1)
    most = LEAST_STEPS + len(encoded) // BYTES_A_STEP
    try:
        return tree_sitter.Parser(loaded(grammar)).parse(
            lambda offset, _: encoded[offset : offset + _CHUNK], progress_callback=lambda *_: next(steps) > most
        )
    except ValueError as error:
        raise Unparsable("too many errors to recover from") from error


def _without(text: str, hidden: Sequence[tuple[int, int]]) -> str:
    return spliced(text, ((start, stop, re.sub(r"[^\r\n]", " ", text[start:stop])) for start, stop in hidden))


@functools.cache
def loaded(grammar: str) -> tree_sitter.Language:
    """Load a grammar, named as in the table of languages.

    Raises:
        AssayError: its package is not installed.
    """
    module, _, function = grammar.partition(":")
    try:
        return tree_sitter.Language(getattr(importlib.import_module(module), function)())
    except ImportError as fault:
        package = module.replace("_", "-")
        raise AssayError(
            f"the grammar package {package} is not installed ({fault}), expected `pip install {package}`"
        ) from fault


def _nodes(tree: tree_sitter.Tree, offsets: list[int] | None) -> Node:
    # A cursor moves to a child, a sibling or the parent, so the walk needs no recursion: a deep tree would overflow the
    # stack. The loop goes down first, then to the side, and climbs until there is a sibling.
    cursor = tree.walk()
    root = node = _node(cursor, None, offsets)
    depth = 0
    while True:
        if cursor.goto_first_child():
            depth += 1
            if depth > DEEPEST:
                raise Unparsable("nested too deeply to be read")
            parent = node
        else:
            while not cursor.goto_next_sibling():
                if not cursor.goto_parent():
                    return root
                depth -= 1
                node = node.parent or root
            parent = node.parent or root
        node = _node(cursor, parent, offsets)
        parent.children.append(node)


def _node(cursor: tree_sitter.TreeCursor, parent: Node | None, offsets: list[int] | None) -> Node:
    at = cursor.node
    if at is None:
        raise Unparsable("a tree without nodes")
    start, end = at.start_byte, at.end_byte
    if offsets:
        start, end = offsets[start], offsets[end]
    return Node(at.type, role=cursor.field_name or "", start=start, end=end, parent=parent)


def _first_error(root: tree_sitter.Node) -> int:
    """Return the line, counted from 1, of the first node that is wrong or missing.

    A missing node without text, such as the name in `#include<>`, can be left out of the list of children. Then it is
    the line of the innermost node that has an error.
    """
    node: tree_sitter.Node | None = root
    while node is not None and not (node.is_error or node.is_missing):
        root, node = node, next((child for child in node.children if child.has_error or child.is_missing), None)
    return (node or root).start_point[0] + 1


def characters_before(encoded: bytes) -> list[int]:
    """Return for every byte of UTF-8, and the end, the number of characters that start before it."""
    counts, count = [], 0
    for byte in encoded:
        counts.append(count)
        # every character has exactly one byte that does not begin with the bits 10
        count += byte & 0b1100_0000 != _CONTINUATION
    return [*counts, count]
