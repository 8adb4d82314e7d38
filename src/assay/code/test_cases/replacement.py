"""Variants by other test cases (τ_t): the same problem and solution, shown by other examples.

An example of the statement is replaced only where the solution, run in the sandbox, gives what the statement says; and
only by one whose output is what the solution gives. Nothing else in the text changes.
"""

import ast
import random
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

from assay.code.parse.python_source import python_tree
from assay.code.rename.variant_engine import Variant, VariantSet
from assay.code.test_cases.literals import Style, in_order
from assay.code.test_cases.mutation import mutated, mutated_input
from assay.code.test_cases.observing import Asked, Observed, observed
from assay.code.test_cases.statements import Example, Problem, examples_in


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
    tree = python_tree(code)
    tree.body = [one for one in tree.body if not isinstance(one, ast.Assert)]
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            node.value.value = ""
    return ast.dump(tree)


Inputs = Sequence[object]
"""New values for the arguments of one example; of a program: one text."""

NO_TESTS = "the text states no tests"
NO_PYTHON = "the solution does not parse as Python"
NOT_REPRODUCED = "the solution gives another output than the text states"
NO_INPUT = "no other input was found"
NOT_WRITABLE = "the new test cannot be written there"
_FACTOR = 2  # inputs proposed for each that is wanted
_ATTEMPTS = 12  # draws for each variant wanted before the inputs count as exhausted


@dataclass(frozen=True, slots=True)
class ReplacedTests(VariantSet):
    """The variants of one text that show other test cases. `kept` has the examples that stayed, and why.

    Attributes:
        tests: of each variant, the expressions and outputs that it shows instead; of a program: input and output.
        rejections: reason → how many proposed inputs did not count. `rejected` is their sum.
    """

    tests: tuple[tuple[tuple[str, str], ...], ...] = ()
    rejections: Mapping[str, int] = field(default_factory=dict)


def replaced_tests(problems: Sequence[Problem], n: int = 10, *, seed: int = 0) -> tuple[ReplacedTests, ...]:
    """At most n variants of each problem's text, each with every test case replaced that can be.

    New inputs are mutations of the old: types and sizes stay alike, see `assay.code.test_cases.mutation`.

    Args:
        problems: texts with their solutions in Python.
        n: variants of each.
        seed: of the draws.

    Raises:
        ValueError: n is below 1.
        SandboxUnavailable: this machine cannot run the solutions safely, see `run_python`.
    """
    drafts = [Draft.of(one, n) for one in problems]
    verify(drafts, [mutations(one, seed) for one in drafts])
    return tuple(one.result(one.rewritings(seed)) for one in drafts)


def mutations(draft: "Draft", seed: int) -> list[list[Inputs]]:
    """New inputs of each example: mutations of the old."""
    draw = random.Random(f"{seed}\n{draft.problem.text}")  # noqa: S311  reproducible, not secret
    return [
        [
            [mutated_input(one.arguments[0].source, draw)]
            if one.is_program
            else mutated([literal.value for literal in one.arguments], draw)
            for _ in range(draft.n * _FACTOR)
        ]
        for one in draft.examples
    ]


@dataclass(slots=True)
class Draft:
    """One problem on its way to other test cases.

    Attributes:
        problem: the text and its solution.
        n: variants wanted.
        examples: the test cases of the text; after `verify` those that can be replaced.
        refused: why there can be no variant.
        candidates: of each example, verified replacements.
        kept: examples that stay, and why.
        rejections: reason → how many inputs and texts did not count.
    """

    problem: Problem
    n: int
    examples: tuple[Example, ...] = ()
    refused: str | None = None
    candidates: list[list[Replacement]] = field(default_factory=list)
    kept: dict[str, str] = field(default_factory=dict)
    rejections: Counter[str] = field(default_factory=Counter)
    _proposed: list[list[tuple[str, ...]]] = field(default_factory=list)

    @classmethod
    def of(cls, problem: Problem, n: int) -> "Draft":
        """The examples of a problem.

        Raises:
            ValueError: n is below 1.
        """
        if n < 1:
            raise ValueError(f"received n = {n}, expected at least 1 variant")
        try:
            found = examples_in(problem)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return cls(problem, n, refused=NO_PYTHON)
        chosen = tuple(one for one in found if one.is_program == found[0].is_program)
        return cls(problem, n, chosen, None if chosen else NO_TESTS)

    def question(self, proposals: Sequence[Sequence[Inputs]]) -> Asked:
        """The stated inputs and the new ones, each new one once."""
        stated = [one.source for one in self.examples]
        for example, few in zip(self.examples, proposals, strict=True):
            new = dict.fromkeys(_sources(example, inputs) for inputs in few)
            self._proposed.append([one for one in new if example.expression(one) not in stated])
        asked = [
            example.expression(one) for example, new in zip(self.examples, self._proposed, strict=True) for one in new
        ]
        return Asked(self.problem.code, (*stated, *asked), self.examples[0].is_program)

    def verify(self, answers: Sequence[Observed]) -> None:
        """Keep what the solution has confirmed."""
        stated, given = answers[: len(self.examples)], iter(answers[len(self.examples) :])
        holding = [_gives(one, answer) for one, answer in zip(self.examples, stated, strict=True)]
        kinds = {_kind(answer.value) for answer, holds in zip(stated, holding, strict=True) if holds}
        examples = []
        for example, holds, answer, few in zip(self.examples, holding, stated, self._proposed, strict=True):
            answered = [(sources, next(given)) for sources in few]
            if not holds:
                self.kept[example.source] = answer.reason or NOT_REPRODUCED
                continue
            new = [found for sources, said in answered if (found := self._replacement(example, sources, said, kinds))]
            if new:
                examples.append(example)
                self.candidates.append(new)
            else:
                self.kept[example.source] = NO_INPUT
        self.examples = tuple(examples)
        if not examples:
            self.refused = Counter(self.kept.values()).most_common(1)[0][0]

    def _replacement(
        self, example: Example, sources: tuple[str, ...], said: Observed, kinds: set[type]
    ) -> Replacement | None:
        output = None if said.reason else _output(example, said.value, kinds)
        if output is None:
            self.rejections[said.reason or NOT_WRITABLE] += 1
            return None
        return Replacement(example, sources, output)

    def rewritings(self, seed: int) -> Iterator[tuple[str, tuple[Replacement, ...]]]:
        """At most n distinct texts with what they show instead, each read back and found to say just that."""
        draw = random.Random(f"{seed}\n{self.problem.text}")  # noqa: S311  reproducible, not secret
        seen = {self.problem.text}
        for _attempt in range(self.n * _ATTEMPTS if self.examples else 0):
            chosen = _drawn(self.candidates, draw)
            if chosen is None:
                continue
            text = spliced(self.problem.text, [edit for one in chosen for edit in one.edits()])
            if text in seen:
                continue
            seen.add(text)
            if not shows(self.problem, text, chosen):
                self.rejections[NOT_WRITABLE] += 1
                continue
            yield text, chosen
            if len(seen) - 1 - self.rejections[NOT_WRITABLE] >= self.n:
                return

    def result(self, rewritings: Iterable[tuple[str, tuple[Replacement, ...]]]) -> ReplacedTests:
        """With these texts as its variants."""
        made = list(islice(rewritings, self.n))
        reason = self.refused
        if reason is None and len(made) < self.n:
            reason = f"only {len(made)} distinct variants: the text shows {len(self.examples)} tests that can be others"
        return ReplacedTests(
            self.problem.text,
            tuple(Variant(text, {}, {}, {}) for text, _ in made),
            reason,
            self.kept,
            sum(self.rejections.values()),
            tuple(tuple(one.test for one in chosen) for _, chosen in made),
            dict(self.rejections),
        )


def verify(drafts: Sequence[Draft], proposals: Sequence[Sequence[Sequence[Inputs]]]) -> None:
    """Run the solutions on stated and proposed inputs, and let each draft keep what holds.

    Args:
        drafts: problems with their examples.
        proposals: of each draft, of each example: inputs.

    Raises:
        SandboxUnavailable: see `replaced_tests`.
    """
    asking = [(one, few) for one, few in zip(drafts, proposals, strict=True) if one.examples]
    answers = observed([one.question(few) for one, few in asking])
    for (one, _), found in zip(asking, answers, strict=True):
        one.verify(found)


def _drawn(candidates: Sequence[Sequence[Replacement]], draw: random.Random) -> tuple[Replacement, ...] | None:
    """One replacement of each example, no test twice; None where the draw came to an end before the last."""
    drawn: dict[str, Replacement] = {}
    for few in candidates:
        left = [one for one in few if one.test[0] not in drawn]
        if not left:
            return None
        chosen = draw.choice(left)
        drawn[chosen.test[0]] = chosen
    return tuple(drawn.values())


def _sources(example: Example, inputs: Inputs) -> tuple[str, ...]:
    """New arguments, in the manner of the old."""
    if example.is_program:
        return tuple(map(str, inputs))
    return tuple(
        old.source if new == old.value and type(new) is type(old.value) else Style.of([old.source]).written(new)
        for old, new in zip(example.arguments, inputs, strict=True)
    )


def _gives(example: Example, answer: Observed) -> bool:
    """Whether what the solution gave is what the text says."""
    if answer.reason:
        return False
    if example.is_program:
        return str(answer.value).split() == str(example.value).split()
    return bool(answer.value == example.value)


def _kind(value: object) -> type:
    return float if type(value) is int else type(value)


def _output(example: Example, value: object, kinds: set[type]) -> str | None:
    """How the text says a new output, in the manner of the old; None where it cannot, or its type is another."""
    if example.is_program:
        said = str(value).rstrip()
        return said if said.strip() and not re.search(r"\n[ \t]*\n", said) else None
    if _kind(value) not in kinds:
        return None
    style = Style.of([example.output.source, *(one.source for one in example.arguments)])
    if not example.as_set:
        return style.written(value)
    if not isinstance(value, set) or not value:
        return None
    return style.written(tuple(in_order(value)) if isinstance(example.output.value, tuple) else in_order(value))
