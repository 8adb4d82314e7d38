"""Questions → answers: each different one is put to the model once, those of one length together."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from assay.errors import MissingCapability
from assay.scoring.cutting import Answer, Prompt, Question
from assay.types import Generator, TokenGenerator, Unread

CHUNK = 256
"""Questions of one length that are put at a time: enough for any batch; progress is told in between."""


def answers(
    questions: Iterable[Question], model: Generator, *, told: Callable[[int], None] = lambda _: None
) -> Mapping[Question, Answer | Unread]:
    """What the model writes behind each prompt, greedily.

    Args:
        questions: in any order; one that stands twice is put once.
        model: the model.
        told: called after every answer with the number of them so far.

    Raises:
        ModelError: the model cannot be run.
    """
    alike: defaultdict[tuple[bool, int], list[Question]] = defaultdict(list)
    for one in dict.fromkeys(questions):
        alike[isinstance(one.prompt, tuple), one.max_new_tokens].append(one)
    found: dict[Question, Answer | Unread] = {}
    for (_, max_new_tokens), some in sorted(alike.items()):
        for chunk in chunks(some):
            for question, answer in zip(chunk, written(chunk, model, max_new_tokens), strict=True):
                found[question] = answer
                told(len(found))
    return found


def chunks(questions: Sequence[Question]) -> Iterator[Sequence[Question]]:
    """`CHUNK` of them at a time, and those that go on where the last one ends: what they share is read once."""
    start = 0
    while start < len(questions):
        stop = min(start + CHUNK, len(questions))
        while stop < len(questions) and goes_on(questions[stop - 1].prompt, questions[stop].prompt):
            stop += 1
        yield questions[start:stop]
        start = stop


def goes_on(one: Prompt, other: Prompt) -> bool:
    """Whether the second prompt begins with the first."""
    return other[: len(one)] == one


def written(questions: Sequence[Question], model: Generator, max_new_tokens: int) -> Iterator[Answer | Unread]:
    """Answers to questions of one length, in their order; all prompts are texts, or all are tokens."""
    texts = [one.prompt for one in questions if isinstance(one.prompt, str)]
    tokens = [one.prompt for one in questions if isinstance(one.prompt, tuple)]
    if texts:
        yield from model.generate(texts, max_new_tokens=max_new_tokens)
    if tokens:
        if not isinstance(model, TokenGenerator):
            raise MissingCapability(
                f"{model.name} takes no tokens as a prompt: expected a model that shows its tokenizer"
            )
        yield from model.continue_tokens(tokens, max_new_tokens=max_new_tokens)
