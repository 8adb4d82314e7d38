"""C with macros: the stretches of a text that are left out, so that the rest parses.

The preprocessor lets a file say what no grammar knows: `64 KB`, `FORCE_INLINE int f(void)`, `BEGIN_THREADS` without a
semicolon. Such a word is hidden, which means that spaces stand in its place when the text is parsed. The search goes
through the text in chunks, from one declaration to the next, and hides as little as it can: words first that look like
macros, then the statements or declarations in which an error is left, then the chunk.

What is hidden says nothing about the meaning of its words, so none of them may change anywhere: see `renaming`.
"""

import bisect
import functools
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import tree_sitter

from assay.code.parse.trees import Tree, Unparsable, characters_before, parsed, syntax
from assay.code.rename.grammar import Grammar

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
    """What stands in the text, and where."""

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


def readable(text: str, grammar: Grammar) -> Tree:
    """The tree of a text, of which stretches are hidden where the grammar allows that and it does not parse otherwise.

    Raises:
        Unparsable: it does not parse, and nothing that could be hidden changes that.
    """
    try:
        return parsed(text, grammar.language.grammar)
    except Unparsable as refusal:
        hidden = _hidden(text, grammar.language.grammar, grammar.lists) if grammar.lists else ()
        if not hidden:
            raise
        tree = parsed(text, grammar.language.grammar, hidden)
        if not tree.root.children:
            raise refusal from None
        return tree


@functools.lru_cache(maxsize=8)
def _hidden(text: str, module: str, lists: frozenset[str]) -> tuple[Stretch, ...]:
    """Stretches of a text, in order and apart; none where hiding does not help."""
    try:
        code = text.encode()
    except UnicodeEncodeError:
        return ()
    if len(code) > LARGEST:
        return ()
    code += b"\n"
    search = _Search(code, module, lists, frozenset(_DEFINED.findall(code)))
    chunks = list(_chunks(search.tokens))
    stretches = [one for start, end in chunks for one in search.chunk(start, end)]
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
        found = (_Token(str(one.lastgroup), one[0], one.start(), one.end()) for one in _TOKEN.finditer(self.code))
        self.tokens = [one for one in found if one.kind != "skipped"]
        self.starts = [one.start for one in self.tokens]

    def chunk(self, start: int, end: int) -> list[Stretch]:
        """What to hide of a chunk."""
        errors = self.errors(start, end, [])
        if not errors:
            return []
        macros: dict[bytes, bool] = {}
        if self.macros and end - start <= LARGEST_CHUNK:
            known = self.errors(start, end, self.occurrences(self.macros, start, end))
            if _cost(known) < _cost(errors):
                macros, errors = dict(self.macros), known
        for _round in range(_ROUNDS):
            if not errors or end - start > LARGEST_CHUNK:
                break
            trials = [
                (_cost(left), word not in self.defined, whole, number, word, left)
                for number, word in enumerate(self.candidates(errors, start, end, macros))
                for whole in (False, True)
                if (left := self.tried({**macros, word: whole}, start, end)) is not None
            ]
            best = min(trials, default=None, key=lambda trial: trial[:4])
            if best is None or best[0] >= _cost(errors):
                break
            macros[best[4]], errors = best[2], best[5]
        self.macros |= macros
        return self.items(start, end, self.occurrences(macros, start, end))

    def tried(self, macros: dict[bytes, bool], start: int, end: int) -> list[_Error] | None:
        """The errors of a chunk without these macros; None where no more may be parsed."""
        return self.errors(start, end, self.occurrences(macros, start, end)) if self.work > 0 else None

    def items(self, start: int, end: int, stretches: list[Stretch]) -> list[Stretch]:
        """The stretches of a chunk with the statements and declarations that hold what errors are left."""
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
        """The preprocessor lines of which a part is hidden: no line is read by halves."""
        first = max(0, bisect.bisect_right(self.starts, start) - 1)
        last = bisect.bisect_left(self.starts, end)
        around = self.tokens[first:last]
        return [(one.start, one.end) for one in around if one.kind == "directive" and one.end > start]

    def errors(self, start: int, end: int, stretches: Iterable[Stretch]) -> list[_Error]:
        """The nodes of a chunk that are wrong or missing, with these stretches hidden."""
        code = bytearray(self.code[start:end])
        for begin, stop in stretches:
            code[begin - start : stop - start] = re.sub(rb"[^\r\n]", b" ", code[begin - start : stop - start])
        self.work -= len(code)
        return _errors(syntax(bytes(code), self.module).root_node, self.lists)

    def candidates(self, errors: Sequence[_Error], start: int, end: int, hidden: dict[bytes, bool]) -> list[bytes]:
        """Words around the first errors that look like macros, in the order of the text."""
        found: dict[bytes, None] = {}
        for error in errors[:_ERRORS]:
            first = bisect.bisect_left(self.starts, start + error.start)
            last = bisect.bisect_left(self.starts, start + error.end)
            around = self.tokens[max(0, first - _BACK) : min(last, first + _BACK) + _FORWARD]
            found |= dict.fromkeys(
                one.text
                for one in around
                if one.kind == "word" and start <= one.start < end and one.text not in hidden
                if one.text in self.defined or _LIKE_A_MACRO.match(one.text)
            )
        return list(found)

    def occurrences(self, macros: dict[bytes, bool], start: int, end: int) -> list[Stretch]:
        """Where macros stand in a chunk, outside of preprocessor lines."""
        found = []
        first, last = bisect.bisect_left(self.starts, start), bisect.bisect_left(self.starts, end)
        for number in range(first, last):
            token = self.tokens[number]
            if token.kind == "word" and token.text in macros:
                stop = self.arguments_end(number, last) if macros[token.text] else token.end
                found.append((token.start, stop))
        return found

    def arguments_end(self, number: int, last: int) -> int:
        """The end of a word with the parentheses behind it."""
        depth = 0
        for token in self.tokens[number + 1 : last]:
            depth += (token.text == b"(") - (token.text == b")")
            if depth <= 0:
                return token.end if token.text == b")" else self.tokens[number].end
        return self.tokens[number].end


def _chunks(tokens: Sequence[_Token]) -> Iterator[Stretch]:
    """From one declaration of the file to the next: cut behind `;`, and behind the body of a function.

    Conditions of the preprocessor between declarations, `extern "C" {`, `namespace x {` and their ends belong to none.
    """
    pending: list[_Token] = []
    depth, level = 0, 0
    is_body = False
    depths: list[int] = []  # of brackets, where each open condition began
    for token in tokens:
        if token.kind == "directive":
            if condition := _CONDITION.match(token.text):
                depth = _depth_behind(condition[1], depth, depths)
                level = min(level, len(depths)) if pending else len(depths)
            continue
        pending.append(token)
        turn = (token.text in _OPENING) - (token.text in _CLOSING)
        if depth == 0 and token.text == b"{":
            is_body = pending[-2:][0].text == b")"
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
        level = level if pending else len(depths)
    if pending:
        yield pending[0].start, pending[-1].end


def _holds_declarations(head: Sequence[_Token]) -> bool:
    """Whether the bracket at the end opens `extern "C" {` or a name space."""
    return any(one.kind == "literal" for one in head[-2:]) or any(one.text == b"namespace" for one in head)


def _between(tokens: Sequence[_Token], chunks: Sequence[Stretch]) -> list[Stretch]:
    """What stands between the chunks, but for macros and inclusions: conditions, and brackets around declarations.

    Without them the text parses where every chunk does. With them a text says more of its structure.
    """
    ends = [end for _start, end in chunks]
    found = []
    for token in tokens:
        number = bisect.bisect_right(ends, token.start)
        inside = number < len(chunks) and chunks[number][0] <= token.start
        if not inside and (token.kind != "directive" or _CONDITION.match(token.text)):
            found.append((token.start, token.end))
    return found


def _depth_behind(condition: bytes, depth: int, depths: list[int]) -> int:
    """The depth of brackets behind a condition; each branch begins at the depth at which the first one began."""
    if condition == b"if":
        depths.append(depth)
    elif depths and condition == b"el":
        return depths[-1]
    elif depths:
        depths.pop()
    return depth


def _errors(root: tree_sitter.Node, lists: frozenset[str]) -> list[_Error]:
    """The errors of a tree, in order; from the root down: to ask a deep node for its parent overflows the stack."""
    found = []
    waiting = [(root, (root.start_byte, root.end_byte))]
    while waiting:
        node, item = waiting.pop()
        if not node.has_error and not node.is_missing:
            continue
        inner = [one for one in reversed(node.children) if one.has_error or one.is_missing]
        if node.is_error or not inner:
            found.append(_Error(node.start_byte, node.end_byte, item))
        else:
            are_items = node.type in lists
            for one in inner:
                own = are_items and one.end_byte > one.start_byte
                waiting.append((one, (one.start_byte, one.end_byte) if own else item))
    return found


def _cost(errors: Sequence[_Error]) -> int:
    return sum(1 + one.end - one.start for one in errors)


def _length(stretches: Iterable[Stretch]) -> int:
    return sum(end - start for start, end in stretches)


def _merged(stretches: Iterable[Stretch]) -> list[Stretch]:
    """The same places as stretches in order that do not touch."""
    merged: list[Stretch] = []
    for start, end in sorted(stretches):
        if merged and start <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(end, merged[-1][1])
        elif start < end:
            merged.append((start, end))
    return merged
