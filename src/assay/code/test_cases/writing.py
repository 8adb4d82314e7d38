"""Other test cases by a language model (000, Table 8): it proposes the inputs and rewrites the problem.

Neither is believed. Outputs are what the solution gives in the sandbox; and a rewritten problem counts only where it
is, byte for byte, the text with the verified tests in place of the old ones. What does not count is counted by its
reason, and asked for again within a budget.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from assay.code.prompting import PLAIN, inputs_prompt, replacement_prompt, replies, string_in, strings_in
from assay.code.test_cases.replacement import Draft, Inputs, ReplacedTests, Replacement, verify
from assay.code.test_cases.statements import Example, Problem
from assay.types import Generator, Unread

ROUNDS = 3
_INPUTS = 20

NO_LIST = "the reply is no list of inputs"
OTHER_FORM = "a proposed input has another form"
OTHER_TYPE = "a proposed input has another type"
OTHER_TEXT = "the rewritten problem is not the text with these tests"


def written_tests(
    problems: Sequence[Problem],
    generator: Generator,
    n: int = 10,
    *,
    seed: int = 0,
    rounds: int = ROUNDS,
    temperature: float = 0.8,
    addition: str = PLAIN,
) -> tuple[ReplacedTests, ...]:
    """At most n variants of each problem's text with test cases that a model proposed, and rewritten by it.

    All problems are asked for at once, so that a server can be asked for many at a time.

    Args:
        problems: texts with their solutions in Python.
        generator: the model; one that follows instructions.
        n: variants of each.
        seed: of the first round; each further one has another.
        rounds: requests for each variant at most.
        temperature: of the model.
        addition: what follows the paper's words in the prompt.

    Raises:
        ValueError: n or rounds is below 1.
        ModelError: the model cannot be run.
        SandboxUnavailable: this machine cannot run the solutions safely, see `run_python`.
    """
    if rounds < 1:
        raise ValueError(f"received rounds = {rounds}, expected at least 1")
    drafts = [Draft.of(one, n) for one in problems]
    asked = [(draft, example) for draft in drafts for example in draft.examples]
    prompts = [
        (inputs_prompt(draft.problem.text, example.source), _INPUTS * len(example.source)) for draft, example in asked
    ]
    proposed = iter(replies(generator, prompts, temperature=temperature, seed=seed))
    verify(drafts, [[_inputs(next(proposed), example, draft) for example in draft.examples] for draft in drafts])
    pages = [_Pages(one, one.rewritings(seed), n * rounds) for one in drafts]
    turn = 0
    while lacking := [one for one in pages if one.turn_page()]:
        turn += 1
        prompts = [
            (replacement_prompt(one.draft.problem.text, one.tests, addition=addition), len(one.draft.problem.text))
            for one in lacking
        ]
        answers = replies(generator, prompts, temperature=temperature, seed=seed + turn)
        for one, reply in zip(lacking, answers, strict=True):
            one.read(reply)
    return tuple(one.draft.result(one.accepted) for one in pages)


@dataclass(slots=True)
class _Pages:
    """The rewritings of one text that a model has to write, one after another."""

    draft: Draft
    rewritings: Iterator[tuple[str, tuple[Replacement, ...]]]
    budget: int
    accepted: list[tuple[str, tuple[Replacement, ...]]] = field(default_factory=list)
    wanted: tuple[str, tuple[Replacement, ...]] | None = None

    def turn_page(self) -> bool:
        """Go on to the next rewriting; False where there is none, or nothing more to ask."""
        if len(self.accepted) == self.draft.n or not self.budget:
            return False
        self.wanted = self.wanted or next(self.rewritings, None)
        return self.wanted is not None

    @property
    def tests(self) -> list[tuple[str, str]]:
        """What the rewriting is to show, the examples that stay among it, in the order of the text."""
        return [one.test for one in self.wanted[1]] if self.wanted else []

    def read(self, reply: str | Unread) -> None:
        """Accept the rewriting where the reply is it; a text that the model does not take is not put to it again."""
        if isinstance(reply, Unread):
            self.budget = 0
            self.draft.rejections[reply.reason] += 1
            return
        self.budget -= 1
        if self.wanted and string_in(reply).rstrip("\n") == self.wanted[0].rstrip("\n"):
            self.accepted.append(self.wanted)
            self.wanted = None
        else:
            self.draft.rejections[OTHER_TEXT] += 1


def _inputs(reply: str | Unread, example: Example, draft: Draft) -> list[Inputs]:
    """The proposals of a reply that have the example's form and types."""
    if isinstance(reply, Unread):
        draft.rejections[reply.reason] += 1
        return []
    lines = strings_in(reply)
    if lines is None:
        draft.rejections[NO_LIST] += 1
        return []
    found: list[Inputs] = []
    for line in lines:
        new = example.read(line)
        if new is None:
            draft.rejections[OTHER_FORM] += 1
        elif any(type(a.value) is not type(b.value) for a, b in zip(new, example.arguments, strict=True)):
            draft.rejections[OTHER_TYPE] += 1
        else:
            found.append([one.value for one in new])
    return found
