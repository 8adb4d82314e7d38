"""A test case in place of another: written into the text, and read back from it."""

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from assay.code.parse.python_source import parsed
from assay.code.test_cases.examples import Example, Problem
from assay.code.test_cases.statements import examples_in


@dataclass(frozen=True, slots=True)
class Replacement:
    """A verified test: an example of the text, and what stands there instead."""

    example: Example
    arguments: tuple[str, ...]
    output: str

    @property
    def test(self) -> tuple[str, str]:
        """Expression, or input, and output."""
        return self.example.expression(self.arguments), self.example.said(self.output)

    def edits(self) -> Iterator[tuple[int, int, str]]:
        """Where in the text what is replaced by what."""
        for one, new in zip(self.example.arguments, self.arguments, strict=True):
            yield one.start, one.end, new
        yield self.example.output.start, self.example.output.end, self.output


def spliced(text: str, edits: Iterable[tuple[int, int, str]]) -> str:
    """The text with stretches replaced that do not overlap."""
    pieces, end = [], 0
    for start, stop, new in sorted(edits):
        pieces += [text[end:start], new]
        end = stop
    return "".join([*pieces, text[end:]])


def shows(problem: Problem, text: str, chosen: Sequence[Replacement]) -> bool:
    """Whether a text, read anew, shows the chosen tests in place of the old, and is the same program otherwise."""
    code = problem.code.strip("\n")
    at = problem.text.find(code) if code else -1
    edits = [edit for one in chosen for edit in one.edits()]
    shown = [one.test for one in chosen]
    inside = [(start - at, stop - at, new) for start, stop, new in edits if 0 <= start - at < len(code)]
    changed = spliced(code, inside) if at >= 0 else problem.code
    try:
        said = {one.source: one.said(one.output.source) for one in examples_in(Problem(text, changed))}
        if _without_tests(code) != _without_tests(changed.strip("\n")):
            return False
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return (at < 0 or changed in text) and all(said.get(expression) == output for expression, output in shown)


def _without_tests(code: str) -> str:
    """The program without docstrings and assertions of the module, where tests may stand."""
    tree = parsed(code)
    tree.body = [one for one in tree.body if not isinstance(one, ast.Assert)]
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            node.value.value = ""
    return ast.dump(tree)
