"""Variants by other test cases (τ_t): the same problem and solution, shown by other examples.

An example of the statement is replaced only where the solution, run in the sandbox, returns what the statement says;
and only by an example whose output the solution returns. Nothing else in the text changes.
"""

import ast
import random
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, compress, islice, repeat, starmap
from operator import attrgetter

from assay.code.parse.lexing import spliced
from assay.code.rename.variant_engine import Variant, VariantSet
from assay.code.test_cases.literals import Literal, Style, sorted_values
from assay.code.test_cases.mutation import mutated, mutated_input
from assay.code.test_cases.observing import Outcome, SolutionInputs, answers_to
from assay.code.test_cases.statements import Example, Problem, examples_in
from assay.python_parser import REFUSALS, python_tree


@dataclass(frozen=True, slots=True)
class Replacement:
    """A verified test: an example of the text, and the arguments and the output that replace its own."""

    example: Example
    arguments: tuple[str, ...]
    output: str

    @property
    def test(self) -> tuple[str, str]:
        """The expression, or the input of a program, and the output."""
        return self.example.expression(self.arguments), self.example.written_as(self.output)

    def edits(self) -> Iterator[tuple[int, int, str]]:
        """Yield the start and the end of each replaced stretch of the text, and its new text."""
        for argument, new in zip(self.example.arguments, self.arguments, strict=True):
            yield argument.start, argument.end, new
        yield self.example.output.start, self.example.output.end, self.output


def tests_of(chosen: Iterable[Replacement]) -> tuple[tuple[str, str], ...]:
    """Return the expressions and outputs of replacements; of a program: input and output."""
    return tuple(map(attrgetter("test"), chosen))


def _edits_of(chosen: Iterable[Replacement]) -> list[tuple[int, int, str]]:
    return list(chain.from_iterable(map(Replacement.edits, chosen)))


def shows(problem: Problem, text: str, chosen: Sequence[Replacement]) -> bool:
    """Return whether a text shows the chosen tests in place of the old ones, and is the same program otherwise."""
    # The text is read again as if nothing were known of it: its examples must be the chosen ones, and the program in it
    # must be the old one but for docstrings and assertions. So an edit that broke a string or a bracket is noticed.
    code, at = problem.program
    changed = problem.code
    if at >= 0:
        edits = _edits_of(chosen)
        changed = spliced(code, [(a - at, b - at, new) for a, b, new in edits if 0 <= a - at < len(code)])
    try:
        examples = examples_in(Problem(text, changed))
        if _without_tests(code) != _without_tests(changed.strip("\n")):
            return False
    except REFUSALS:
        return False
    shown = {example.source: example.written_as(example.output.source) for example in examples}
    return (at < 0 or changed in text) and shown.items() >= set(tests_of(chosen))


def _without_tests(code: str) -> str:
    """Return the program without docstrings and assertions of the module, where tests may be."""
    tree = python_tree(code)
    tree.body = [statement for statement in tree.body if not isinstance(statement, ast.Assert)]
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            node.value.value = ""
    # a dump has no positions, so a docstring of another length moves nothing
    return ast.dump(tree)


Inputs = Sequence[object]
"""New values for the arguments of one example; of a program: one text."""

NO_TESTS = "the text states no tests"
NO_PYTHON = "the solution does not parse as Python"
NOT_REPRODUCED = "the solution gives another output than the text states"
NO_INPUT = "no other input was found"
NOT_WRITABLE = "the new test cannot be written there"
_FACTOR = 2  # proposed inputs for each requested variant
_ATTEMPTS = 12  # draws for each requested variant before the inputs count as exhausted


@dataclass(frozen=True, slots=True)
class ReplacedTests(VariantSet):
    """The variants of one text that show other test cases. `kept` has the examples that stayed, and why.

    Attributes:
        tests: of each variant, the expressions and outputs that it shows; of a program: input and output.
        rejections: reason → number of rejected proposals. `rejected` is their sum.
    """

    tests: tuple[tuple[tuple[str, str], ...], ...] = ()
    rejections: Mapping[str, int] = field(default_factory=dict)


def replaced_tests(problems: Sequence[Problem], n: int = 10, *, seed: int = 0) -> tuple[ReplacedTests, ...]:
    """Return at most n variants of each problem's text, each with every test case replaced that can be.

    New inputs are mutations of the old: types and sizes stay alike, see `assay.code.test_cases.mutation`.

    Args:
        problems: texts with their solutions in Python.
        n: variants of each.
        seed: of the draws.

    Raises:
        ValueError: n is below 1.
        SandboxUnavailable: this machine cannot run the solutions safely, see `run_python`.
    """
    drafts = list(map(Draft.of, problems, repeat(n)))
    verify(drafts, map(mutations, drafts, repeat(seed)))
    return tuple(draft.result(draft.rewritings(seed)) for draft in drafts)


def mutations(draft: "Draft", seed: int) -> Iterator[list[Inputs]]:
    """Yield new inputs of each example: mutations of the old ones."""
    draw = random.Random(f"{seed}\n{draft.problem.text}")  # noqa: S311  reproducible, not secret
    for example in draft.examples:
        values = list(map(attrgetter("value"), example.arguments))
        inputs: list[Inputs] = []
        while len(inputs) < draft.n * _FACTOR:
            inputs.append([mutated_input(example.source, draw)] if example.is_program else mutated(values, draw))
        yield inputs


@dataclass(slots=True)
class Draft:
    """A problem while its test cases are being replaced.

    Attributes:
        problem: the text and its solution.
        n: number of requested variants.
        examples: the test cases of the text; after `verify` those that can be replaced.
        refused: why there can be no variant.
        candidates: of each example, verified replacements.
        kept: examples that stay, and why.
        rejections: reason → number of rejected inputs and texts.
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
        """Read the examples of a problem.

        Raises:
            ValueError: n is below 1.
        """
        if n < 1:
            raise ValueError(f"received n = {n}, expected at least 1 variant")
        try:
            examples = examples_in(problem)
        except REFUSALS:
            return cls(problem, n, refused=NO_PYTHON)
        if not examples:
            return cls(problem, n, refused=NO_TESTS)
        # a solution answers calls or standard inputs: what comes first in the text decides
        return cls(problem, n, tuple(example for example in examples if example.is_program == examples[0].is_program))

    def question(self, proposals: Iterable[Sequence[Inputs]]) -> SolutionInputs:
        """Return the stated inputs and the new ones as a question to the solution, each new input once."""
        stated = list(map(attrgetter("source"), self.examples))
        questions = list(stated)
        for example, few in zip(self.examples, proposals, strict=True):
            proposed = []
            # mutations repeat each other and the stated input: each is asked once
            for sources in dict.fromkeys(map(partial(_sources, example), few)):
                expression = example.expression(sources)
                if expression not in stated:
                    proposed.append(sources)
                    questions.append(expression)
            self._proposed.append(proposed)
        return SolutionInputs(self.problem.code, tuple(questions), self.examples[0].is_program)

    def verify(self, answers: Sequence[Outcome]) -> None:
        """Keep the examples and replacements that the solution confirms."""
        stated, new_answers = answers[: len(self.examples)], iter(answers[len(self.examples) :])
        # the statement is evidence about the solution: where both disagree, neither is trusted, and the example stays
        holding = list(map(_gives, self.examples, stated))
        kinds = set(map(_kind, map(attrgetter("value"), compress(stated, holding))))
        examples = []
        for example, holds, answer, few in zip(self.examples, holding, stated, self._proposed, strict=True):
            answered = list(zip(few, islice(new_answers, len(few)), strict=True))
            if not holds:
                self.kept[example.source] = answer.reason or NOT_REPRODUCED
                continue
            verified = []
            for sources, new_answer in answered:
                if replacement := self._replacement(example, sources, new_answer, kinds=kinds):
                    verified.append(replacement)
            if verified:
                examples.append(example)
                self.candidates.append(verified)
            else:
                self.kept[example.source] = NO_INPUT
        self.examples = tuple(examples)
        if not examples:
            self.refused = Counter(self.kept.values()).most_common(1)[0][0]

    def _replacement(
        self, example: Example, sources: tuple[str, ...], answer: Outcome, *, kinds: set[type]
    ) -> Replacement | None:
        output = None if answer.reason else _output(example, answer.value, kinds)
        if output is None:
            self.rejections[answer.reason or NOT_WRITABLE] += 1
            return None
        return Replacement(example, sources, output)

    def rewritings(self, seed: int) -> Iterator[tuple[str, tuple[Replacement, ...]]]:
        """Yield at most n distinct texts with their replacements, each read again and confirmed to show just those."""
        draw = random.Random(f"{seed}\n{self.problem.text}")  # noqa: S311  reproducible, not secret
        seen = {self.problem.text}
        for _attempt in range(self.n * _ATTEMPTS * bool(self.examples)):
            chosen = _drawn(self.candidates, draw)
            if chosen is None:
                continue
            text = spliced(self.problem.text, _edits_of(chosen))
            # different draws may write the same text; only distinct ones are variants
            if text in seen:
                continue
            seen.add(text)
            if not shows(self.problem, text, chosen):
                self.rejections[NOT_WRITABLE] += 1
                continue
            yield text, chosen
            # `seen` has the original as well
            if len(seen) - 1 - self.rejections[NOT_WRITABLE] >= self.n:
                return

    def result(self, rewritings: Iterable[tuple[str, tuple[Replacement, ...]]]) -> ReplacedTests:
        """Return the result with these texts as variants."""
        accepted = list(islice(rewritings, self.n))
        reason = self.refused
        if reason is None and len(accepted) < self.n:
            shown = f"the text shows {len(self.examples)} tests that can be replaced"
            reason = f"only {len(accepted)} distinct variants: {shown}"
        return ReplacedTests(
            original=self.problem.text,
            variants=tuple(Variant(text, functions={}, variables={}, aliases={}) for text, _ in accepted),
            reason=reason,
            kept=self.kept,
            rejected=self.rejections.total(),
            tests=tuple(tests_of(chosen) for _, chosen in accepted),
            rejections=dict(self.rejections),
        )


def verify(drafts: Iterable[Draft], proposals: Iterable[Iterable[Sequence[Inputs]]]) -> None:
    """Run the solutions on stated and proposed inputs, and keep in each draft what they confirm.

    Args:
        drafts: problems with their examples.
        proposals: of each draft, of each example: inputs.

    Raises:
        SandboxUnavailable: see `replaced_tests`.
    """
    pending = [(draft, inputs) for draft, inputs in zip(drafts, proposals, strict=True) if draft.examples]
    answers = answers_to(list(starmap(Draft.question, pending)))
    for (draft, _), of_draft in zip(pending, answers, strict=True):
        draft.verify(of_draft)


def _drawn(candidates: Sequence[Sequence[Replacement]], draw: random.Random) -> tuple[Replacement, ...] | None:
    """Return a replacement of each example, no test twice; None where no unused replacement was left for one."""
    drawn: dict[str, Replacement] = {}
    for few in candidates:
        left = [replacement for replacement in few if replacement.test[0] not in drawn]
        if not left:
            return None
        chosen = draw.choice(left)
        drawn[chosen.test[0]] = chosen
    return tuple(drawn.values())


def _sources(example: Example, inputs: Inputs) -> tuple[str, ...]:
    """Return the new arguments, written in the style of the old ones."""
    if example.is_program:
        return tuple(map(str, inputs))
    return tuple(map(_in_style, example.arguments, inputs))


def _in_style(old: Literal, new: object) -> str:
    if new == old.value and type(new) is type(old.value):
        return old.source
    return Style.of([old.source]).written(new)


def _gives(example: Example, answer: Outcome) -> bool:
    """Return whether the output of the solution is the stated one."""
    if answer.reason:
        return False
    if example.is_program:
        # word by word, as judges of contests compare: statements wrap and indent what is printed
        return str(answer.value).split() == str(example.value).split()
    return bool(answer.value == example.value)


def _kind(value: object) -> type:
    # type and not isinstance: a truth value is an int to Python, and no number to a test
    return float if type(value) is int else type(value)


def _output(example: Example, value: object, kinds: set[type]) -> str | None:
    """Return a new output in the style of the old one; None where it cannot be written so, or has another type."""
    if example.is_program:
        printed = str(value).rstrip()
        # an empty line would end the output where the text is read again, see `_PAIR`
        return printed if printed.strip() and not re.search(r"\n[ \t]*\n", printed) else None
    if _kind(value) not in kinds:
        return None
    style = Style.of(list(map(attrgetter("source"), (example.output, *example.arguments))))
    if not example.as_set:
        return style.written(value)
    if not isinstance(value, set) or not value:
        return None
    listed = sorted_values(value)
    return style.written(tuple(listed) if isinstance(example.output.value, tuple) else listed)
