"""A problem, and a test case that its statement shows: what is called with what, and what comes of it."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from assay.code.test_cases.literals import Literal, literal_at


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
