"""Statements of a program in a form that the usual disguises do not change.

A statement is the bag of its tokens. Names of the author count by how often they occur, types and layout do not count,
`n++`, `n += 1` and `n = 1 + n` are equal, so are `a < b` and `b > a`, and a condition and its negation. The three parts
of a `for` are three statements, as they are beside a `while`; so is Python's `for … in range(…)`.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from hashlib import blake2b
from itertools import pairwise
from operator import itemgetter

from assay.languages import LANGUAGES, lexical_rules
from assay.retrieval import Source, find_regions, tokens

CodeToken = tuple[str, int, int]
"""Text of a token, and its start and stop in the text."""

IMPORTS = frozenset({"import", "from", "#include", "using", "package", "use", "require"})
CONDITIONS = frozenset({"if", "elif", "elsif", "while", "until", "unless", "switch", "match"})
DEFINITIONS = frozenset(
    {"def", "class", "struct", "interface", "enum", "fn", "func", "function", "fun", "trait", "impl"}
)
OPENING = frozenset({"else", "do", "try", "finally", "then", "begin", "async", "await", "pass", "end"})
MODIFIERS = frozenset(
    "public private protected static final const constexpr inline volatile register extern unsigned signed let var val "  # noqa: SIM905  words
    "mut auto override virtual abstract synchronized native readonly export default local my typedef".split()
)
TYPES = frozenset("int long short char float double bool boolean byte void string String size_t".split())  # noqa: SIM905
WORDS = {
    "and": "&", "&&": "&", "or": "&", "||": "&", ">": "<", "<=": "<", ">=": "<", "!=": "==", "is": "==", "<>": "==",
    "===": "==", "!==": "==", "->": ".", "::": ".", "?.": ".", "True": "true", "False": "false", "None": "null",
    "nullptr": "null", "NULL": "null", "nil": "null",
}  # fmt: skip
"""CodeToken → the token that stands for it: a comparison may be turned round, and a condition negated."""

SILENT = frozenset(["(", ")", "{", "}", ";", ":", ",", "]", "!", "not"])
_OPERATOR = re.compile(r"===|!==|<<=|>>=|\*\*=|//=|\+\+|--|[-+*/%&|^=!<>]=|&&|\|\||<<|>>|->|::|\?\.|\*\*|//|=>")
_WORD = re.compile(r"[^\W\d][\w$]*")
_NUMBER = re.compile(r"(\d+)(?:\.0*)?[lLuUfFdD]*")
BLOCKS = CONDITIONS | DEFINITIONS | {"for", "else", "try", "finally", "except", "with", "case"}
_UPDATE = re.compile(r"(\*\*|//|<<|>>|[-+*/%&|^])=")
_LINE_WITH_SEMICOLON = re.compile(r";[ \t]*(?://[^\r\n]*)?$", re.MULTILINE)
FEW_SEMICOLONS = 0.15
SHORT_NUMBER = 3
QUOTES = frozenset("\"'`")


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement.

    Attributes:
        code: of its normal form; equal codes are equal statements.
        shape: of that without numbers and repetitions; a list of cases has few shapes.
        form: of the tokens in their order, names by their places: equal forms have equal codes.
        names: that its author chose, once each, in order.
        start, stop: offsets in the text.
        size: tokens.
    """

    code: int
    shape: int
    form: int
    names: tuple[str, ...]
    start: int
    stop: int
    size: int


def tokens_of(text: str, language: str | None) -> list[CodeToken]:
    """Return the tokens outside comments, operators whole and directives with their sign."""
    source, rules = Source.of(text), lexical_rules(language)
    canonical = tokens(source, find_regions(source, rules), rules)
    assert canonical.stops is not None  # noqa: S101  tokens have them
    places = zip(canonical.starts.tolist(), canonical.stops.tolist(), strict=True)
    merged: list[CodeToken] = []
    for start, stop in places:
        word = text[start:stop]
        # the tokenizer cuts operators into signs: those that touch are joined as far as they make one
        if merged and merged[-1][2] == start and not (word[0].isalnum() or word[0] in "_\"'"):
            before, first, _ = merged[-1]
            if _OPERATOR.fullmatch(before + word):
                merged[-1] = (before + word, first, stop)
                continue
        elif merged and merged[-1][0] == "#":
            merged[-1] = ("#" + word, merged[-1][1], stop)
            continue
        merged.append((word, start, stop))
    return merged


def called_names(sequence: Sequence[CodeToken]) -> Iterator[str]:
    """Yield the names that are called, or follow a point: those of libraries are among them."""
    for (before, _, _), (after, _, _) in pairwise(sequence):
        if after == "(" and _WORD.fullmatch(before):
            yield before
        elif before in {".", "->", "::"} and _WORD.fullmatch(after):
            yield after


def normal_statements(
    text: str, language: str | None, sequence: Sequence[CodeToken], kept: frozenset[str]
) -> list[Statement]:
    """Return the statements of a text in its order.

    Args:
        text: source code.
        language: as in `SourceText.language`.
        sequence: its tokens.
        kept: names that are not the author's: they count as they are.
    """
    rules = LANGUAGES.get(language or "")
    normal = _Normal(kept, reserved=frozenset() if rules is None else rules.reserved)
    statements: list[Statement] = []
    for part in _cut(text, sequence, by_line=_ends_with_lines(text, language)):
        statements += normal.statements(part)
    return statements


def _ends_with_lines(text: str, language: str | None) -> bool:
    """Return True if the end of a line ends a statement: a text with few semicolons at the ends of its lines."""
    # a style without semicolons shows in the text, whatever its language is called
    return language == "python" or len(_LINE_WITH_SEMICOLON.findall(text)) < FEW_SEMICOLONS * len(text.splitlines())


DEEPER = {"(": 1, "[": 1, ")": -1, "]": -1}
"""Bracket → how much deeper the tokens behind it stand."""


@dataclass(slots=True)
class _Nesting:
    """How deep a token stands in brackets; the body of a lambda has statements, also inside those of a call."""

    depth: int = 0
    outer: list[int] = field(default_factory=list)

    def read(self, word: str) -> None:
        """Take the next token."""
        self.depth += DEEPER.get(word, 0)
        if word == "{":
            self.outer.append(self.depth)
            self.depth = 0
        # a bracket that nothing opened is passed over: students hand in what does not parse
        elif word == "}":
            self.depth = self.outer.pop() if self.outer else 0

    def ends(self, part: Sequence[CodeToken], *, by_line: bool) -> bool:
        """Return True if a statement or a head ends with its last token."""
        word = part[-1][0]
        if word in {"{", "}"}:
            return True
        if self.depth > 0:
            return False
        return (
            word == ";" or (word == ")" and _has_condition(part)) or (word == ":" and by_line and part[0][0] in BLOCKS)
        )


def _cut(text: str, sequence: Sequence[CodeToken], *, by_line: bool) -> Iterator[list[CodeToken]]:
    """Yield the tokens of each statement; the head of a condition, a loop or a definition is one of its own."""
    part: list[CodeToken] = []
    nesting = _Nesting()
    end = 0
    for token in sequence:
        between = text[end : token[1]]
        # in Python and its like a line ends a statement, unless a bracket is open or a backslash ends it
        if part and "\n" in between:
            is_continued = nesting.depth > 0 or text[end - 1 : end] == "\\"
            if part[0][0] == "#define" or (by_line and not is_continued):
                yield part
                part = []
        end = token[2]
        part.append(token)
        nesting.read(token[0])
        if nesting.ends(part, by_line=by_line):
            yield part
            part = []
    if part:
        yield part


def _has_condition(part: Sequence[CodeToken]) -> bool:
    at = 1 if part[0][0] in {"else", "}"} and len(part) > 1 else 0
    return part[at][0] in {"if", "while", "for", "switch"} and part[at + 1 : at + 2] != [] and part[at + 1][0] == "("


@dataclass(frozen=True, slots=True)
class _Normal:
    """Normal forms of statements.

    Attributes:
        kept: names that count as they are.
        reserved: words of the language.
    """

    kept: frozenset[str]
    reserved: frozenset[str]

    def statements(self, part: Sequence[CodeToken]) -> Iterator[Statement]:
        """Yield the statements in a part of a text: none, one, or the three of a loop."""
        opens = part[-1][0] == "{"
        part = _trimmed(part)
        if not part or part[0][0] in IMPORTS:
            return
        head = part[0][0]
        if head == "for":
            yield from self._loop(part[1:])
        elif head in CONDITIONS:
            yield from self._statement("?", part[1:])
        elif head in DEFINITIONS or (opens and part[-1][0] == ")"):
            yield from self._statement("def", part[1:])
        else:
            for piece in _split(part, ",") if _is_assignment(part) else [part]:
                yield from self._statement("", _untyped(piece, self.reserved))

    def _loop(self, part: Sequence[CodeToken]) -> Iterator[Statement]:
        inner = part[1:-1] if part and (part[0][0], part[-1][0]) == ("(", ")") else part
        pieces = _split(inner, ";")
        if len(pieces) == 3:  # noqa: PLR2004  start, condition, step
            for piece in _split(pieces[0], ","):
                yield from self._statement("", _untyped(piece, self.reserved))
            yield from self._statement("?", pieces[1])
            for piece in _split(pieces[2], ","):
                yield from self._statement("", piece)
            return
        words = [word for word, _, _ in inner]
        if words[1:4] == ["in", "range", "("] and words[-1] == ")":
            yield from self._range(inner)
        else:
            yield from self._statement("each", inner)

    def _range(self, part: Sequence[CodeToken]) -> Iterator[Statement]:
        """Yield start, condition and step of Python's loop over a range."""
        name, (_, start, stop) = part[0], part[1]
        bounds = _split(part[4:-1], ",")
        first = bounds[0] if len(bounds) > 1 else [("0", start, stop)]
        step = bounds[2] if len(bounds) > 2 else [("1", start, stop)]  # noqa: PLR2004  range(first, last, step)
        yield from self._statement("", [name, ("=", start, stop), *first])
        yield from self._statement("?", [name, ("<", start, stop), *bounds[min(1, len(bounds) - 1)]])
        yield from self._statement("", [name, ("+=", start, stop), *step])

    def _places(self, words: Sequence[str], names: Counter[str]) -> Iterator[str]:
        """Yield words as they stand, names by their first place."""
        numbers = dict[str, str]()
        # renaming all names alike leaves these places as they are
        for word in words:
            yield numbers.setdefault(word, f"_{len(numbers)}") if word in names else word

    def _is_silent(self, word: str) -> bool:
        return word in SILENT or (word in MODIFIERS and word in self.reserved)

    def _statement(self, kind: str, part: Sequence[CodeToken]) -> Iterator[Statement]:
        if not part:
            return
        bag, numbers, names = list[str](), list[str](), Counter[str]()
        words = list(map(itemgetter(0), part))
        for word, is_call in _expanded(words):
            if self._is_silent(word):
                continue
            if word in WORDS:
                bag.append(WORDS[word])
            elif word[-1] in QUOTES:
                bag.append('"')
            elif number := _NUMBER.fullmatch(word):
                numbers.append(number[1][:SHORT_NUMBER])
            elif not _WORD.fullmatch(word) or word in self.reserved or (is_call and word in self.kept):
                bag.append(word)
            else:
                names[word] += 1
        if len(bag) + len(numbers) + len(names) < 2 and kind != "?":  # noqa: PLR2004  a declaration, a lone word
            return
        # sorted: `a < b` and `b > a` are one bag, and so are the terms of a sum in another order
        shape = " ".join([kind, *sorted(set(bag))])
        bag = sorted(bag + numbers)
        # names count by how often each occurs: a new name changes nothing, another structure does
        times = "".join(map(str, sorted(names.values())))
        yield Statement(
            code=_hash(" ".join([kind, times, *bag])),
            shape=_hash(shape),
            form=_hash(" ".join([kind, *self._places(words, names)])),
            names=tuple(names),
            start=part[0][1],
            stop=part[-1][2],
            size=len(part),
        )


def _trimmed(part: Sequence[CodeToken]) -> Sequence[CodeToken]:
    first, last = 0, len(part)
    while first < last and part[first][0] in OPENING:
        first += 1
    while last > first and part[last - 1][0] in {";", "{", "}", ":"}:
        last -= 1
    return part[first:last]


def _split(part: Sequence[CodeToken], mark: str) -> list[Sequence[CodeToken]]:
    """Return the pieces between the marks that stand outside of brackets."""
    # a comma inside of a call separates arguments, not statements
    pieces, depth, first = [], 0, 0
    for at, (word, _, _) in enumerate(part):
        depth += (word in {"(", "[", "{"}) - (word in {")", "]", "}"})
        if word == mark and depth == 0:
            pieces.append(part[first:at])
            first = at + 1
    return [*pieces, part[first:]]


def _is_assignment(part: Sequence[CodeToken]) -> bool:
    words = [word for word, _, _ in part]
    return "," in words and "=" in words and words.index("=") < words.index(",")


def _untyped(part: Sequence[CodeToken], reserved: frozenset[str]) -> Sequence[CodeToken]:
    """Return a statement without the type that a declaration begins with."""
    at = depth = 0
    last = -1  # word that could be the name
    for at, (word, _, _) in enumerate(part):
        depth += (word == "<") - (word == ">") - 2 * (word == ">>")
        if depth > 0 or word in {"<", ">", ">>", "[", "]", "*", "&", ".", "::", ":", "?", "&&"}:
            continue
        if not _WORD.fullmatch(word) or (word in reserved and word not in MODIFIERS | TYPES):
            break
        last = at
    else:
        at = len(part)
    # two words beside one another are a type and a name; `a * b` alone is none, and nobody writes it as a statement
    if last > 0 and (at == len(part) or part[at][0] in {"=", "(", "{", "["}) and part[last - 1][0] not in {".", "::"}:
        return part[last:]
    return part


def _expanded(words: Sequence[str]) -> list[tuple[str, bool]]:
    """Return words, and for each whether it is called or an attribute; `n += 1` and `n++` are `n = n + 1`."""
    wide: list[str] = []
    for at, word in enumerate(words):
        # `i++` and `++i`: the name stands before or behind
        if word in {"++", "--"}:
            target = words[at - 1] if at and _WORD.fullmatch(words[at - 1]) else words[min(at + 1, len(words) - 1)]
            wide += ["=", target, word[0], "1"]
        elif update := _UPDATE.fullmatch(word):
            wide += ["=", *words[:at], update[1]]
        else:
            wide.append(word)
    marked = []
    for at, word in enumerate(wide):
        is_call = wide[at + 1 : at + 2] == ["("] or (at > 0 and wide[at - 1] in {".", "->", "::"})
        marked.append((word, is_call))
    return marked


@cache
def _hash(key: str) -> int:
    return int.from_bytes(blake2b(key.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")
