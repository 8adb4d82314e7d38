"""Test cases that a problem's statement shows: calls with the values they give, and input/output pairs of programs.

Read are doctests (`>>> f(1, 2)` with its value below), `f(1, 2) == 3` and its relatives (`=>`, `➞`, "returns", also
behind `assert`), "Input: nums = [1], k = 2" with "Output: 3" below, and what a program reads and prints under the
headings "Input" and "Output". They stand in docstrings, in assertions of the module, or around the code.
"""

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from assay.code.parse.python_source import Fragment, python_tree
from assay.code.test_cases.literals import Literal, closing, literal_at


@dataclass(frozen=True, slots=True)
class Problem:
    """A task and its solution.

    Attributes:
        text: what is rewritten: statement, code, or both.
        code: a Python program that solves it; in the text or not.
    """

    text: str
    code: str


@dataclass(frozen=True, slots=True)
class Example:
    """A test case that the text shows.

    Attributes:
        template: the expression to evaluate, cut at its literals; a single piece for a program's input.
        arguments: the literals, or the whole input, where the text has them.
        output: what the text says comes of it.
        as_set: the text says it as `set(output)`.
        is_program: the arguments are one standard input, the output is what the program prints.
    """

    template: tuple[str, ...]
    arguments: tuple[Literal, ...]
    output: Literal
    as_set: bool = False
    is_program: bool = False

    def expression(self, sources: Sequence[str]) -> str:
        """With these literals in place of its own."""
        if self.is_program:
            return sources[0]
        pairs = zip(self.template, (*sources, ""), strict=True)
        return "".join(part for pair in pairs for part in pair)

    def read(self, expression: str) -> tuple[Literal, ...] | None:
        """The literals of an expression that is this one but for them and for white space; None where it is not."""
        if self.is_program:
            return (Literal(expression, expression, 0),)
        found: list[Literal] = []
        place = 0
        for index, part in enumerate(self.template):
            spaced = re.compile(r"\s*" + r"\s*".join(map(re.escape, re.sub(r"\s", "", part))) + r"\s*")
            matched = spaced.match(expression, place)
            if matched is None:
                return None
            place = matched.end()
            if index < len(self.arguments):
                one = literal_at(expression, place)
                if one is None:
                    return None
                found.append(one)
                place = one.end
        return tuple(found) if place == len(expression) else None

    @property
    def source(self) -> str:
        """The expression as the text has it."""
        return self.expression([one.source for one in self.arguments])

    def said(self, output: str) -> str:
        """How the text says that this comes of it."""
        return f"set({output})" if self.as_set else output

    @property
    def value(self) -> object:
        """What the text says comes of it."""
        return set(self.output.value) if self.as_set else self.output.value  # type: ignore[call-overload]


@dataclass(frozen=True, slots=True)
class Callables:
    """What a solution offers to be called: name in the statement → expression that is called, parameters."""

    calls: dict[str, str]
    parameters: dict[str, tuple[str, ...]]

    @classmethod
    def of(cls, tree: ast.Module) -> "Callables":
        """Functions of the module, and methods of a class Solution, as on LeetCode."""
        calls, parameters = {}, {}
        for node in tree.body:
            if isinstance(node, ast.FunctionDef):
                calls[node.name] = node.name
                parameters[node.name] = _parameters(node)
            elif isinstance(node, ast.ClassDef) and node.name == "Solution":
                for one in node.body:
                    if isinstance(one, ast.FunctionDef) and not one.name.startswith("_"):
                        calls[one.name] = f"Solution().{one.name}"
                        parameters[one.name] = _parameters(one)[1:]
        return cls(calls, parameters)


def _parameters(node: ast.FunctionDef) -> tuple[str, ...]:
    return tuple(one.arg for one in (*node.args.posonlyargs, *node.args.args))


def examples_in(problem: Problem) -> tuple[Example, ...]:
    """The test cases of a problem in the order of its text.

    Raises:
        SyntaxError, ValueError, RecursionError, MemoryError: the solution is no Python, or nested too deeply.
    """
    callables = Callables.of(python_tree(problem.code))
    found: dict[int, Example] = {}
    for start, end, raw in prose(problem):
        region = problem.text[:end]
        for one in (*_calls(region, start, callables), *_named_inputs(region, start, callables)):
            if raw or "\\" not in region[_first(one) : one.output.end]:
                found.setdefault(one.output.start, one)
        if not callables.calls or not found:
            found.update((one.output.start, one) for one in _programs(region, start))
    kept: list[Example] = []
    for one in sorted(found.values(), key=_first):
        if one.arguments and (not kept or _first(one) >= kept[-1].output.end):
            kept.append(one)
    return tuple(kept)


def _first(one: Example) -> int:
    return min(literal.start for literal in one.arguments) if one.arguments else one.output.start


def prose(problem: Problem) -> Iterator[tuple[int, int, bool]]:
    """Stretches of the text that may show test cases, and whether a backslash there is one, as outside of strings.

    Of code: docstrings and the module's assertions. Of other text: all that is no code.
    """
    text = problem.text
    if _is_program(text):
        yield from _in_code(text, 0)
    else:
        code = problem.code.strip("\n")
        at = text.find(code) if code else -1
        if at < 0:
            yield 0, len(text), True
            return
        yield 0, at, True
        yield from _in_code(code, at)
        yield at + len(code), len(text), True


def _is_program(text: str) -> bool:
    """It parses, and has more than expressions and assertions: a list of calls is a statement's too."""
    try:
        return any(not isinstance(one, ast.Expr | ast.Assert) for one in python_tree(text).body)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False


def _in_code(code: str, offset: int) -> Iterator[tuple[int, int, bool]]:
    fragment = Fragment(code)
    tree = python_tree(code)
    for statement in tree.body:
        if isinstance(statement, ast.Assert):
            yield fragment.start(statement) + offset, fragment.end(statement) + offset, True
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            first = node.body[0] if node.body else None
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and type(first.value.value) is str:
                start, end = fragment.start(first.value), fragment.end(first.value)
                opening = re.match(r"([rRuU]?)('''|\"\"\"|'|\")", code[start:end])
                if opening:
                    inner = start + opening.end() + offset
                    yield inner, end - len(opening[2]) + offset, opening[1] in {"r", "R"}


# calls

_SEPARATOR = re.compile(
    r"[ \t]*(?:(?:#|//)[ \t]*(?=[=r]))?(?:===?>?|=+>|-+>|[➞→➡⇒]|(?:should |will |would )?returns?\b:?|"
    r"should (?:be|equal)\b|=)[ \t]*"
)
_BELOW = re.compile(r"[ \t]*(?:#[^\n]*)?\n[ \t]*")
_GOES_ON = re.compile(r"[ \t]*(?:[-+*/%=<>&|^](?!>)|(?:if|and|or|in|is|for)\b(?= *[\w(\[]))")
_SET = re.compile(r"set\(\s*(?=[\[(])")
_PROMPT = re.compile(r"(?:^|\n)[ \t]*(>>>|assert)[ \t]+(?:[\w.]+\([ \t]*)*$")


def _calls(text: str, start: int, callables: Callables) -> Iterator[Example]:
    if not callables.calls:
        return
    names = "|".join(map(re.escape, sorted(callables.calls, key=len, reverse=True)))
    for match in re.compile(rf"(?<![\w.])({names})[ ]?\(").finditer(text, start):
        found = _literals(text, match.end() - 1)
        if found is None:
            continue
        arguments, after = found
        if "\n" in text[match.start() : after] and not _PROMPT.search(text, start, match.start()):
            continue
        prompt = _PROMPT.search(text, max(start, text.rfind("\n", start, match.start())), match.start())
        begin, end = match.start(), after
        if prompt and (inside := re.search(r"[\w.]+\(", text[prompt.start(1) : begin + 1])):
            begin = prompt.start(1) + inside.start()
            end = closing(text, prompt.start(1) + inside.end() - 1) or after
        value = _value(text, end, below=prompt is not None and prompt[1] == ">>>")
        if value is None:
            continue
        called = callables.calls[match[1]]
        head = text[begin : match.start()] + called + text[match.end(1) : arguments[0].start if arguments else after]
        between = [text[one.end : two.start] for one, two in pairwise(arguments)]
        last = text[arguments[-1].end : end] if arguments else ""
        yield Example((head, *between, last), arguments, *value)


def _literals(text: str, opening: int) -> tuple[tuple[Literal, ...], int] | None:
    """The arguments of a call whose arguments are literals, and where it ends."""
    found: list[Literal] = []
    place = opening + 1
    blank = re.compile(r"\s*(?:[^\W\d]\w*[ ]?=(?!=)[ ]?)?")
    while True:
        place = blank.match(text, place).end()  # type: ignore[union-attr]
        if text[place : place + 1] == ")":
            return tuple(found), place + 1
        one = literal_at(text, place)
        if one is None:
            return None
        found.append(one)
        place = re.compile(r"\s*").match(text, one.end).end()  # type: ignore[union-attr]
        if text[place : place + 1] == ",":
            place += 1
        elif text[place : place + 1] != ")":
            return None


def _value(text: str, end: int, *, below: bool) -> tuple[Literal, bool] | None:
    """What stands behind a call as its value, and whether as a set of it."""
    separator = _SEPARATOR.match(text, end)
    line_below = _BELOW.match(text, end) if below and not separator else None
    if separator is None and line_below is None:
        return None
    place = (separator or line_below).end()  # type: ignore[union-attr]
    as_set = _SET.match(text, place)
    found = literal_at(text, as_set.end() if as_set else place)
    if found is None:
        return None
    if as_set:
        after = re.compile(r"\s*\)").match(text, found.end)
        return (found, True) if after else None
    rest = text[found.end :].partition("\n")[0]
    if rest.strip() if line_below else _GOES_ON.match(rest):
        return None
    return found, False


# named inputs, "For s = 'ab' the output should be 2." among them

_INPUT = re.compile(r"(?:^|\n)[ \t]*(?:\**Input\**[ \t]*:\**[ \t]*|For[ ])(?=\S)")
_OUTPUT = re.compile(
    r"\s*\n[ \t]*\**Output\**[ \t]*:\**[ \t]*|,?[ ]+the (?:output|result) (?:should|would|will) be[ ]+"
)
_NAMED = re.compile(r"([^\W\d]\w*)[ \t]*=[ \t]*")


def _named_inputs(text: str, start: int, callables: Callables) -> Iterator[Example]:
    if len(callables.calls) != 1:
        return
    ((name, called),) = callables.calls.items()
    for match in _INPUT.finditer(text, start):
        found = _inputs(text, match.end())
        if found is None:
            continue
        names, arguments, place = found
        heading = _OUTPUT.match(text, place)
        output = literal_at(text, heading.end()) if heading else None
        if output is None or text[output.end :].partition("\n")[0].strip(" \t\r."):
            continue
        parameters = callables.parameters[name]
        if all(names) and set(names) <= set(parameters):
            heads = [f"{one}=" for one in names]
        elif len(arguments) == len(parameters):
            heads = [""] * len(arguments)
        else:
            continue
        parts = [(", " if index else f"{called}(") + head for index, head in enumerate(heads)]
        yield Example((*parts, ")"), arguments, output)


def _inputs(text: str, place: int) -> tuple[list[str], tuple[Literal, ...], int] | None:
    """Names ("" where there is none) and literals in a row, and where they end."""
    names: list[str] = []
    found: list[Literal] = []
    while True:
        named = _NAMED.match(text, place)
        one = literal_at(text, named.end() if named else place)
        if one is None:
            return None
        names.append(named[1] if named else "")
        found.append(one)
        comma = re.compile(r"[ \t]*,[ \t]*").match(text, one.end)
        if comma is None:
            return names, tuple(found), one.end
        place = comma.end()


# programs

_PAIR = re.compile(
    r"(?:^|\n)[ \t]*(?:Sample |Example )?Input[ \t]*\d*:?[ \t]*\n+(?P<input>\S[^\0]*?)\n\s*\n?"
    r"[ \t]*(?:Sample |Example )?Output[ \t]*\d*:?[ \t]*\n+(?P<output>\S[^\0]*?)"
    r"(?=\s*\Z|\n[ \t]*\n|\n[ \t]*-{3,}|\n[ \t]*(?:Sample |Example )?Input)"
)


def _programs(text: str, start: int) -> Iterator[Example]:
    for match in _PAIR.finditer(text, start):
        given, printed = match["input"], match["output"]
        if not re.search(r"-{3,}|\n[ \t]*\n", given):
            arguments = (Literal(given, given, match.start("input")),)
            yield Example(("", ""), arguments, Literal(printed, printed, match.start("output")), is_program=True)
