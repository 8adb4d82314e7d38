"""Test cases that a problem's statement shows: calls with the values they give, and input/output pairs of programs.

Read are doctests (`>>> f(1, 2)` with its value below), `f(1, 2) == 3` and its relatives (`=>`, `➞`, "returns", also
behind `assert`), "Input: nums = [1], k = 2" with "Output: 3" below, and what a program reads and prints under the
headings "Input" and "Output". They stand in docstrings, in assertions of the module, or around the code.
"""

import ast
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, repeat
from operator import attrgetter

from assay.code.parse.python_source import Fragment, docstring_of
from assay.code.test_cases.literals import Literal, closing, literal_at
from assay.python_parser import REFUSALS, python_tree


@dataclass(frozen=True, slots=True)
class Problem:
    """A task and its solution.

    Attributes:
        text: the text to rewrite: statement, code, or both.
        code: a Python program that solves it; in the text or not.
    """

    text: str
    code: str

    @property
    def program(self) -> tuple[str, int]:
        """The code without the line ends around it, and its offset in the text; -1 where the text does not have it."""
        code = self.code.strip("\n")
        return code, -1 if not code else self.text.find(code)


@dataclass(frozen=True, slots=True)
class Example:
    """A test case that the text shows.

    Attributes:
        template: the expression to evaluate, cut at its literals; a single piece for a program's input.
        arguments: the literals, or the whole input, where the text has them.
        output: the stated output.
        as_set: the text writes it as `set(output)`.
        is_program: the arguments are one standard input, the output is what the program prints.
    """

    template: tuple[str, ...]
    arguments: tuple[Literal, ...]
    output: Literal
    as_set: bool = False
    is_program: bool = False

    def expression(self, sources: Sequence[str]) -> str:
        """Return the expression with these literals in place of its own."""
        if self.is_program:
            return sources[0]
        return "".join(chain.from_iterable(zip(self.template, (*sources, ""), strict=True)))

    def read(self, expression: str) -> tuple[Literal, ...] | None:
        """Return the literals of an expression that is this one apart from them and from white space, or None."""
        if self.is_program:
            return (Literal(expression, expression, 0),)
        literals: list[Literal] = []
        place = 0
        for index, part in enumerate(self.template):
            spaced = re.compile(r"\s*" + r"\s*".join(map(re.escape, re.sub(r"\s", "", part))) + r"\s*")
            matched = spaced.match(expression, place)
            if matched is None:
                return None
            place = matched.end()
            if index < len(self.arguments):
                literal = literal_at(expression, place)
                if literal is None:
                    return None
                literals.append(literal)
                place = literal.end
        return tuple(literals) if place == len(expression) else None

    @property
    def source(self) -> str:
        """The expression as it is in the text."""
        return self.expression(list(map(attrgetter("source"), self.arguments)))

    def written_as(self, output: str) -> str:
        """Return an output as the text writes it."""
        return f"set({output})" if self.as_set else output

    @property
    def value(self) -> object:
        """The value that the text states as the output."""
        return set(self.output.value) if self.as_set else self.output.value  # type: ignore[call-overload]


@dataclass(frozen=True, slots=True)
class Callables:
    """The functions of a solution: name in the statement → expression to call, parameters."""

    calls: dict[str, str]
    parameters: dict[str, tuple[str, ...]]

    @classmethod
    def of(cls, tree: ast.Module) -> "Callables":
        """Collect the functions of the module, and methods of a class Solution, as on LeetCode."""
        calls, parameters = {}, {}
        for node in tree.body:
            if isinstance(node, ast.FunctionDef):
                calls[node.name], parameters[node.name] = node.name, _parameters(node)
            elif isinstance(node, ast.ClassDef) and node.name == "Solution":
                for method in node.body:
                    if isinstance(method, ast.FunctionDef) and not method.name.startswith("_"):
                        calls[method.name] = f"Solution().{method.name}"
                        parameters[method.name] = _parameters(method)[1:]
        return cls(calls, parameters)


def _parameters(node: ast.FunctionDef) -> tuple[str, ...]:
    return tuple(map(attrgetter("arg"), (*node.args.posonlyargs, *node.args.args)))


def examples_in(problem: Problem) -> tuple[Example, ...]:
    """Return the test cases of a problem in the order of its text.

    Raises:
        SyntaxError, ValueError, RecursionError, MemoryError: the solution is not Python, or nested too deeply.
    """
    callables = Callables.of(python_tree(problem.code))
    examples: dict[int, Example] = {}
    for start, end, raw in prose(problem):
        region = problem.text[:end]
        for example in (*_calls(region, start, callables), *_named_inputs(region, start, callables)):
            # where escapes are read twice, by Python and by the reader, the literal in the text is not the value
            if raw or "\\" not in region[_first(example) : example.output.end]:
                examples.setdefault(example.output.start, example)
        if not callables.calls or not examples:
            examples |= {example.output.start: example for example in _programs(region, start)}
    # several readings may match one place: the first in the text wins, and none may overlap it
    kept: list[Example] = []
    for example in sorted(examples.values(), key=_first):
        if example.arguments and (not kept or _first(example) >= kept[-1].output.end):
            kept.append(example)
    return tuple(kept)


def _first(example: Example) -> int:
    return min((literal.start for literal in example.arguments), default=example.output.start)


def prose(problem: Problem) -> Iterator[tuple[int, int, bool]]:
    """Yield stretches of the text that may show test cases, and whether a backslash there is literal.

    Of code: docstrings and the module's assertions. Of other text: everything that is not code.
    """
    text = problem.text
    if _is_program(text):
        yield from _in_code(text, 0)
        return
    code, at = problem.program
    if at < 0:
        yield 0, len(text), True
        return
    yield 0, at, True
    yield from _in_code(code, at)
    yield at + len(code), len(text), True


def _is_program(text: str) -> bool:
    """Return whether a text parses and has more than expressions and assertions; a problem may list just calls."""
    try:
        return any(not isinstance(statement, ast.Expr | ast.Assert) for statement in python_tree(text).body)
    except REFUSALS:
        return False


def _in_code(code: str, offset: int) -> Iterator[tuple[int, int, bool]]:
    fragment = Fragment(code)
    tree = python_tree(code)
    for statement in tree.body:
        if isinstance(statement, ast.Assert):
            yield fragment.start(statement) + offset, fragment.end(statement) + offset, True
    for node in ast.walk(tree):
        if docstring := docstring_of(node):
            start, end = fragment.start(docstring), fragment.end(docstring)
            if opening := re.match(r"([rRuU]?)('''|\"\"\"|'|\")", code[start:end]):
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
    # longer names first, as an alternation takes the first that fits
    names = "|".join(map(re.escape, sorted(callables.calls, key=len, reverse=True)))
    for match in re.compile(rf"(?<![\w.])({names})[ ]?\(").finditer(text, start):
        parsed_call = _literals(text, match.end() - 1)
        if parsed_call is None:
            continue
        arguments, after = parsed_call
        # prose opens brackets, too: a call over several lines counts behind a prompt alone
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
        # the template is the text between the literals: with others it is again a call as the statement writes it
        starts = (*map(attrgetter("start"), arguments), end)
        ends = (match.end(1), *map(attrgetter("end"), arguments))
        opening, *others = map(text.__getitem__, map(slice, ends, starts))
        template = (text[begin : match.start()] + called + opening, *others)
        yield Example(template, arguments=arguments, output=value[0], as_set=value[1])


def _literals(text: str, opening: int) -> tuple[tuple[Literal, ...], int] | None:
    """Return the arguments of a call whose arguments are literals, and the offset of its end; else None."""
    literals: list[Literal] = []
    place = opening + 1
    blank = re.compile(r"\s*(?:[^\W\d]\w*[ ]?=(?!=)[ ]?)?")
    while True:
        place = blank.match(text, place).end()  # type: ignore[union-attr]
        if text[place : place + 1] == ")":
            return tuple(literals), place + 1
        literal = literal_at(text, place)
        if literal is None:
            return None
        literals.append(literal)
        place = re.compile(r"\s*").match(text, literal.end).end()  # type: ignore[union-attr]
        if text[place : place + 1] == ",":
            place += 1
        elif text[place : place + 1] != ")":
            return None


def _value(text: str, end: int, *, below: bool) -> tuple[Literal, bool] | None:
    """Return the value stated behind a call, and whether the text writes it as `set(value)`; None without one."""
    separator = _SEPARATOR.match(text, end)
    line_below = below and not separator and _BELOW.match(text, end)
    mark = separator or line_below
    if not mark:
        return None
    as_set = _SET.match(text, mark.end())
    value = literal_at(text, (as_set or mark).end())
    if value is None:
        return None
    if as_set:
        after = re.compile(r"\s*\)").match(text, value.end)
        return (value, True) if after else None
    rest = text[value.end :].partition("\n")[0]
    # `f(1) == 2 + g(1)` states no literal value: the expression goes on behind what looks like one
    if (line_below and rest.strip()) or _GOES_ON.match(rest):
        return None
    return value, False


# named inputs, also "For s = 'ab' the output should be 2."

_INPUT = re.compile(r"(?:^|\n)[ \t]*(?:\**Input\**[ \t]*:\**[ \t]*|For[ ])(?=\S)")
_OUTPUT = re.compile(
    r"\s*\n[ \t]*\**Output\**[ \t]*:\**[ \t]*|,?[ ]+the (?:output|result) (?:should|would|will) be[ ]+"
)
_NAMED = re.compile(r"(?:([^\W\d]\w*)[ \t]*=[ \t]*)?")


def _named_inputs(text: str, start: int, callables: Callables) -> Iterator[Example]:
    # inputs by name do not say which function they are for
    if len(callables.calls) != 1:
        return
    ((name, called),) = callables.calls.items()
    for match in _INPUT.finditer(text, start):
        parsed_inputs = _inputs(text, match.end())
        if parsed_inputs is None:
            continue
        names, arguments, place = parsed_inputs
        heading = _OUTPUT.match(text, place)
        output = heading and literal_at(text, heading.end())
        if output is None or text[output.end :].partition("\n")[0].strip(" \t\r."):
            continue
        parameters = callables.parameters[name]
        if set(names) <= set(parameters):
            heads: Iterable[str] = map("{}=".format, names)
        # a statement may call parameters otherwise than the code does: then their order counts
        elif len(arguments) == len(parameters):
            heads = repeat("", len(arguments))
        else:
            continue
        template = map("".join, zip((f"{called}(", *repeat(", ", len(names) - 1)), heads, strict=True))
        yield Example((*template, ")"), arguments, output)


def _inputs(text: str, place: int) -> tuple[list[str], tuple[Literal, ...], int] | None:
    """Return the names ("" where there is none) and literals in a row, and the offset of their end; else None."""
    names: list[str] = []
    literals: list[Literal] = []
    while True:
        named = _NAMED.match(text, place)
        literal = named and literal_at(text, named.end())
        if named is None or literal is None:
            return None
        names.append(named[1] or "")
        literals.append(literal)
        comma = re.compile(r"[ \t]*,[ \t]*").match(text, literal.end)
        if comma is None:
            return names, tuple(literals), literal.end
        place = comma.end()


# programs

_PAIR = re.compile(
    r"(?:^|\n)[ \t]*(?:Sample |Example )?Input[ \t]*\d*:?[ \t]*\n+(?P<input>\S[^\0]*?)\n\s*\n?"
    r"[ \t]*(?:Sample |Example )?Output[ \t]*\d*:?[ \t]*\n+(?P<output>\S[^\0]*?)"
    r"(?=\s*\Z|\n[ \t]*\n|\n[ \t]*-{3,}|\n[ \t]*(?:Sample |Example )?Input)"
)


def _programs(text: str, start: int) -> Iterator[Example]:
    for match in _PAIR.finditer(text, start):
        stated_input, printed = match["input"], match["output"]
        if not re.search(r"-{3,}|\n[ \t]*\n", stated_input):
            arguments = (Literal(stated_input, stated_input, match.start("input")),)
            yield Example(("", ""), arguments, Literal(printed, printed, match.start("output")), is_program=True)
