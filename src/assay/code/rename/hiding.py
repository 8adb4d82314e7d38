"""C with macros: the stretches of a text that are left out, so that the rest parses.

The preprocessor allows text that no grammar knows: `64 KB`, `FORCE_INLINE int f(void)`, `BEGIN_THREADS` without a
semicolon. Such a word is hidden, which means that spaces stand in its place when the text is parsed. The search goes
through the text in chunks, from one declaration to the next, and hides as little as it can: words first that look like
macros, then the statements or declarations in which an error is left, then the chunk.

The meaning of hidden words is unknown, so none of them may change anywhere: see `tree_names`.
"""

import bisect
import functools
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, product, starmap
from typing import NamedTuple

import tree_sitter

from assay.code.parse.trees import Tree, Unparsable, characters_before, raw_tree, syntax_tree
from assay.code.rename.bindings import NameRules

LARGEST = 1_000_000
"""Bytes of a text whose errors are looked into."""
LARGEST_CHUNK = 64_000
"""Bytes of a chunk in which single words are tried; of a larger one, what holds the error is hidden at once."""
WORK = 8_000_000
"""Bytes that are parsed for one text, all trials together."""
_ROUNDS = 24
_ERRORS, _BACK, _FORWARD = 4, 8, 3
"""Errors of one round whose surroundings are tried; words before and behind each."""

Stretch = tuple[int, int]
_Rank = tuple[int, bool, bool, int]
"""Of a trial: cost of the errors that are left, not a macro of the text, with its arguments, number of the word."""

_TOKEN = re.compile(
    rb"""(?P<skipped>//(?:[^\n\\]|\\.)*|/\*(?:.*?\*/|.*))
    |(?P<directive>^[ \t]*\#(?:[^\n\\/]|\\\r?\n|\\.|/\*.*?\*/|/)*)
    |(?P<literal>"(?:[^"\\\n]|\\.)*"?|'(?:[^'\\\n]|\\.)*'?)
    |(?P<word>[A-Za-z_\x80-\xff][\w\x80-\xff]*)
    |(?P<number>\.?\d(?:[\w.]|'(?=\w))*)
    |(?P<other>\S)""",
    re.DOTALL | re.MULTILINE | re.VERBOSE,
)
_DEFINED = re.compile(rb"^[ \t]*#[ \t]*define[ \t]+(\w+)", re.MULTILINE)
_LIKE_A_MACRO = re.compile(rb"[A-Z_][A-Z0-9_]+$|(?=\w*[A-Z])\w+_\w+$")
_OPENING, _CLOSING = frozenset({b"{", b"(", b"["}), frozenset({b"}", b")", b"]"})
_CONDITION = re.compile(rb"[ \t]*#[ \t]*(if|el|endif)")


class _Token(NamedTuple):
    """A token of the text, with its place."""

    kind: str
    text: bytes
    start: int
    end: int


class _Error(NamedTuple):
    """A node that is wrong or missing; of a missing node that is no child, the node that lacks it.

    Attributes:
        start: offset in the chunk.
        end: offset in the chunk.
        item: the innermost statement or declaration around it, or the chunk.
    """

    start: int
    end: int
    item: Stretch


def readable(text: str, rules: NameRules) -> Tree:
    """Return the tree of a text; stretches are hidden where the text does not parse and the rules allow it.

    Raises:
        Unparsable: it does not parse, and nothing that could be hidden changes that.
    """
    try:
        return syntax_tree(text, rules.language.grammar)
    except Unparsable as refusal:
        hidden = _hidden(text, rules.language.grammar, rules.lists) if rules.lists else ()
        if not hidden:
            raise
        tree = syntax_tree(text, rules.language.grammar, hidden)
        if not tree.root.children:
            raise refusal from None
        return tree


@functools.lru_cache(maxsize=8)
def _hidden(text: str, module: str, lists: frozenset[str]) -> tuple[Stretch, ...]:
    """Return the stretches to hide, in order and apart; none where hiding does not help."""
    try:
        code = text.encode()
    except UnicodeEncodeError:
        return ()
    if len(code) > LARGEST:
        return ()
    code += b"\n"
    search = _Search(code, module=module, lists=lists, defined=frozenset(_DEFINED.findall(code)))
    chunks = list(_chunks(search.tokens))
    stretches = list(chain.from_iterable(starmap(search.chunk, chunks)))
    # Two ways to join the chunks: with the conditions between them, which shows more structure, and without, which
    # always parses where each chunk does. The one that hides less is taken.
    ways = [search.items(0, len(code), stretches + between) for between in ([], _between(search.tokens, chunks))]
    merged = min(map(_merged, ways), key=_length)
    if not _length(merged) < len(code):
        return ()
    if text.isascii():
        return tuple(merged)
    offsets = characters_before(code)
    return tuple((offsets[start], offsets[end]) for start, end in merged)


@dataclass(slots=True)
class _Search:
    """The search through one text.

    Attributes:
        code: the text in UTF-8.
        module: of the grammar.
        lists: kinds of nodes that hold statements or declarations.
        defined: words that the text defines as macros.
        macros: words that were hidden so far; true where their arguments are hidden with them.
        work: bytes that may still be parsed.
    """

    code: bytes
    module: str
    lists: frozenset[str]
    defined: frozenset[bytes]
    macros: dict[bytes, bool] = field(default_factory=dict)
    work: int = WORK
    tokens: list[_Token] = field(init=False)
    starts: list[int] = field(init=False)

    def __post_init__(self) -> None:
        self.tokens = []
        for match in _TOKEN.finditer(self.code):
            if match.lastgroup != "skipped":
                self.tokens.append(_Token(str(match.lastgroup), match[0], *match.span()))
        self.starts = [token.start for token in self.tokens]

    def chunk(self, start: int, end: int) -> list[Stretch]:
        """Return the stretches of a chunk to hide."""
        errors = self.errors(start, end, [])
        if not errors:
            return []
        macros: dict[bytes, bool] = {}
        # what was a macro in an earlier chunk mostly is one here: try all of them before searching anew
        if self.macros and end - start <= LARGEST_CHUNK:
            repeated = self.errors(start, end, self.occurrences(self.macros, start, end))
            if _cost(repeated) < _cost(errors):
                macros, errors = dict(self.macros), repeated
        for _round in range(_ROUNDS):
            if not errors or end - start > LARGEST_CHUNK:
                break
            # Greedy: of all words near the errors, hide the one that leaves the least text in error; of equal ones, a
            # macro that the text defines, a word without its arguments, and the first. Every trial is a whole parse, so
            # the budget `work` bounds the search.
            best: tuple[_Rank, bytes, list[_Error]] | None = None
            words = self.candidates(errors, start, end, hidden=macros)
            for (number, word), whole in product(enumerate(words), (False, True)):
                if self.work <= 0:
                    break
                left = self.errors(start, end, self.occurrences({**macros, word: whole}, start, end))
                rank = _cost(left), word not in self.defined, whole, number
                if best is None or rank < best[0]:
                    best = rank, word, left
            if best is None or best[0][0] >= _cost(errors):
                break
            (_, _, whole, _), word, errors = best
            macros[word] = whole
        self.macros |= macros
        return self.items(start, end, self.occurrences(macros, start, end))

    def items(self, start: int, end: int, stretches: list[Stretch]) -> list[Stretch]:
        """Return the stretches of a chunk with the statements and declarations that hold the remaining errors."""
        stretches = list(stretches)
        for _round in range(_ROUNDS):
            errors = self.errors(start, end, stretches)
            if not errors:
                return stretches
            before = _length(_merged(stretches))
            for error in errors:
                stretches.append((start + error.item[0], start + error.item[1]))
                stretches += self.directives(start + error.item[0], start + error.item[1])
            if _length(_merged(stretches)) == before or self.work <= 0:
                break
        return [(start, end)]

    def directives(self, start: int, end: int) -> list[Stretch]:
        """Return the preprocessor lines that are partly hidden: a line is read as a whole or not at all."""
        first = max(0, bisect.bisect_right(self.starts, start) - 1)
        last = bisect.bisect_left(self.starts, end)
        around = self.tokens[first:last]
        return [(token.start, token.end) for token in around if token.kind == "directive" and token.end > start]

    def errors(self, start: int, end: int, stretches: Iterable[Stretch]) -> list[_Error]:
        """Return the nodes of a chunk that are wrong or missing, with these stretches hidden."""
        code = bytearray(self.code[start:end])
        for begin, stop in stretches:
            # spaces of the same length keep every offset; line ends stay, because preprocessor lines end with them
            code[begin - start : stop - start] = re.sub(rb"[^\r\n]", b" ", code[begin - start : stop - start])
        self.work -= len(code)
        return _errors(raw_tree(bytes(code), self.module).root_node, self.lists)

    def candidates(self, errors: Sequence[_Error], start: int, end: int, *, hidden: dict[bytes, bool]) -> list[bytes]:
        """Return words around the first errors that look like macros, in the order of the text."""
        words: dict[bytes, None] = {}
        for error in errors[:_ERRORS]:
            first = bisect.bisect_left(self.starts, start + error.start)
            last = bisect.bisect_left(self.starts, start + error.end)
            around = self.tokens[max(0, first - _BACK) : min(last, first + _BACK) + _FORWARD]
            for token in around:
                is_new = token.kind == "word" and start <= token.start < end and token.text not in hidden
                if is_new and (token.text in self.defined or _LIKE_A_MACRO.match(token.text)):
                    words[token.text] = None
        return list(words)

    def occurrences(self, macros: dict[bytes, bool], start: int, end: int) -> list[Stretch]:
        """Return the places of macros in a chunk, outside of preprocessor lines."""
        places = []
        first, last = bisect.bisect_left(self.starts, start), bisect.bisect_left(self.starts, end)
        for number in range(first, last):
            token = self.tokens[number]
            if token.kind == "word" and token.text in macros:
                stop = self.arguments_end(number, last) if macros[token.text] else token.end
                places.append((token.start, stop))
        return places

    def arguments_end(self, number: int, last: int) -> int:
        """Return the end of a word with the parentheses behind it."""
        depth = 0
        for token in self.tokens[number + 1 : last]:
            depth += (token.text == b"(") - (token.text == b")")
            if depth <= 0:
                return token.end if token.text == b")" else self.tokens[number].end
        return self.tokens[number].end


def _chunks(tokens: Sequence[_Token]) -> Iterator[Stretch]:
    """Yield the declarations of a file: it is cut behind `;`, and behind the body of a function.

    Conditions of the preprocessor between declarations, `extern "C" {`, `namespace x {` and their ends belong to none.
    """
    pending: list[_Token] = []
    depth, level = 0, 0
    is_body = False
    depths: list[int] = []  # of brackets, where each open condition began
    for token in tokens:
        # `level` is the number of open conditions where the declaration began: it may end only where as many are open
        if not pending:
            level = len(depths)
        if token.kind == "directive":
            if condition := _CONDITION.match(token.text):
                depth = _depth_behind(condition[1], depth, depths)
                level = min(level, len(depths))
            continue
        pending.append(token)
        turn = (token.text in _OPENING) - (token.text in _CLOSING)
        if depth == 0 and token.text == b"{":
            is_body = pending[-2:][0].text == b")"
            # what is between these brackets is cut as if it stood at the top of the file
            if _holds_declarations(pending):
                pending.clear()
                turn = 0
        depth += turn
        if depth < 0:
            depth = 0
            pending.clear()
        elif depth == 0 and len(depths) == level and (token.text == b";" or (token.text == b"}" and is_body)):
            yield pending[0].start, token.end
            pending.clear()
    if pending:
        yield pending[0].start, pending[-1].end


def _holds_declarations(head: Sequence[_Token]) -> bool:
    """Return whether the bracket at the end opens `extern "C" {` or a name space."""
    return any(token.kind == "literal" for token in head[-2:]) or any(token.text == b"namespace" for token in head)


def _between(tokens: Sequence[_Token], chunks: Sequence[Stretch]) -> list[Stretch]:
    """Return the conditions and the brackets around declarations that stand between the chunks.

    Without them the text parses where every chunk does; with them it shows more of its structure.
    """
    ends = [end for _start, end in chunks]
    stretches = []
    for token in tokens:
        number = bisect.bisect_right(ends, token.start)
        inside = number < len(chunks) and chunks[number][0] <= token.start
        if not inside and (token.kind != "directive" or _CONDITION.match(token.text)):
            stretches.append((token.start, token.end))
    return stretches


def _depth_behind(condition: bytes, depth: int, depths: list[int]) -> int:
    """Return the depth of brackets behind a condition; every branch begins at the depth of the first branch."""
    if condition == b"if":
        depths.append(depth)
    elif depths and condition == b"el":
        return depths[-1]
    elif depths:
        depths.pop()
    return depth


def _errors(root: tree_sitter.Node, lists: frozenset[str]) -> list[_Error]:
    """Return the errors of a tree, in order; from the root down, as the parent of a deep node overflows the stack."""
    errors = []
    waiting = [(root, (root.start_byte, root.end_byte))]
    while waiting:
        node, item = waiting.pop()
        if not node.has_error and not node.is_missing:
            continue
        inner = [child for child in reversed(node.children) if child.has_error or child.is_missing]
        if node.is_error or not inner:
            errors.append(_Error(node.start_byte, node.end_byte, item))
        else:
            are_items = node.type in lists
            for child in inner:
                own = are_items and child.end_byte > child.start_byte
                waiting.append((child, (child.start_byte, child.end_byte) if own else item))
    return errors


def _cost(errors: Sequence[_Error]) -> int:
    return sum(1 + error.end - error.start for error in errors)


def _length(stretches: Iterable[Stretch]) -> int:
    return sum(end - start for start, end in stretches)


def _merged(stretches: Iterable[Stretch]) -> list[Stretch]:
    """Return the same places as stretches in order that do not touch."""
    merged: list[Stretch] = []
    for start, end in sorted(stretches):
        if merged and start <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(end, merged[-1][1])
        elif start < end:
            merged.append((start, end))
    return merged
