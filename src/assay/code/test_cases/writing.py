"""Other test cases by a language model (000, Table 8): it proposes the inputs and rewrites the problem.

Neither is trusted. Outputs come from the solution in the sandbox; and a rewritten problem counts only where it is, byte
for byte, the text with the verified tests in place of the old ones. Rejected replies are counted by their reasons, and
new ones requested within a budget.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import repeat
from operator import attrgetter

from assay.code.prompting import PLAIN, inputs_prompt, replacement_prompt, replies, string_in, strings_in
from assay.code.test_cases.literals import Literal
from assay.code.test_cases.replacement import Draft, Inputs, ReplacedTests, Replacement, tests_of, verify
from assay.code.test_cases.statements import Example, Problem
from assay.types import Generator, Rejected

ROUNDS = 3
_INPUTS = 20

NO_LIST = "the reply is not a list of inputs"
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
    """Return at most n variants of each problem's text with test cases that a model proposed, and rewritten by it.

    Each round sends one prompt for every problem, so that a server can answer many at a time.

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
    drafts = list(map(Draft.of, problems, repeat(n)))
    prompts = []
    for draft in drafts:
        sources = map(attrgetter("source"), draft.examples)
        prompts += [(inputs_prompt(draft.problem.text, source), _INPUTS * len(source)) for source in sources]
    # the model only proposes: what counts is what the solution answers in the sandbox
    proposed = iter(replies(generator, prompts, temperature=temperature, seed=seed))
    verify(drafts, list(map(_proposals, drafts, repeat(proposed))))
    pages = [_Pages(draft, draft.rewritings(seed), n * rounds) for draft in drafts]
    turn = 0
    while lacking := list(filter(_Pages.turn_page, pages)):
        turn += 1
        prompts = [page.prompt(addition) for page in lacking]
        answers = replies(generator, prompts, temperature=temperature, seed=seed + turn)
        # a rejected reply leaves the same rewriting pending: it is asked again with another seed
        for page, reply in zip(lacking, answers, strict=True):
            page.read(reply)
    return tuple(page.draft.result(page.accepted) for page in pages)


@dataclass(slots=True)
class _Pages:
    """The rewritings of one text that a model has to write, in turn."""

    draft: Draft
    rewritings: Iterator[tuple[str, tuple[Replacement, ...]]]
    budget: int
    accepted: list[tuple[str, tuple[Replacement, ...]]] = field(default_factory=list)
    pending: tuple[str, tuple[Replacement, ...]] | None = None

    def turn_page(self) -> bool:
        """Go on to the next rewriting; return False where there is none, or the budget is spent."""
        if len(self.accepted) == self.draft.n or not self.budget:
            return False
        self.pending = self.pending or next(self.rewritings, None)
        return self.pending is not None

    @property
    def tests(self) -> list[tuple[str, str]]:
        """The tests that the rewriting has to show, in the order of the text."""
        return list(tests_of(self.pending[1])) if self.pending else []

    def prompt(self, addition: str) -> tuple[str, int]:
        """Return the request for the rewriting, and how many characters the reply may have."""
        text = self.draft.problem.text
        return replacement_prompt(text, self.tests, addition=addition), len(text)

    def read(self, reply: str | Rejected) -> None:
        """Accept a reply that is the rewriting; a text that the model refuses is not sent to it again."""
        if isinstance(reply, Rejected):
            self.budget = 0
            self.draft.rejections[reply.reason] += 1
            return
        self.budget -= 1
        # models drop the last line end or add one, and it is no part of any test
        if self.pending and string_in(reply).rstrip("\n") == self.pending[0].rstrip("\n"):
            self.accepted.append(self.pending)
            self.pending = None
        else:
            self.draft.rejections[OTHER_TEXT] += 1


def _proposals(draft: Draft, answers: Iterator[str | Rejected]) -> list[list[Inputs]]:
    return [_inputs(next(answers), example, draft) for example in draft.examples]


def _inputs(reply: str | Rejected, example: Example, draft: Draft) -> list[Inputs]:
    """Return the proposals of a reply that have the example's form and types."""
    if isinstance(reply, Rejected):
        draft.rejections[reply.reason] += 1
        return []
    lines = strings_in(reply)
    if lines is None:
        draft.rejections[NO_LIST] += 1
    inputs: list[Inputs] = []
    for line in lines or ():
        new = example.read(line)
        if new is None:
            draft.rejections[OTHER_FORM] += 1
        elif _types(new) != _types(example.arguments):
            draft.rejections[OTHER_TYPE] += 1
        else:
            inputs.append(list(map(attrgetter("value"), new)))
    return inputs


def _types(literals: Sequence[Literal]) -> list[type]:
    return list(map(type, map(attrgetter("value"), literals)))
