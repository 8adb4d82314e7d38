"""Questions → answers: a model is asked each different question once, questions of one length together."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from assay.errors import MissingCapability
from assay.scoring.cutting import Question
from assay.types import GeneratedText, Generator, Prompt, Rejected, TokenGenerator

CHUNK = 256
"""Questions of one length that are asked at a time: enough for any batch; progress is reported in between."""


def ask(
    questions: Iterable[Question], model: Generator, *, progress: Callable[[int], None] = lambda _: None
) -> Mapping[Question, GeneratedText | Rejected]:
    """Return what the model generates behind each prompt, greedily.

    Args:
        questions: in any order; equal ones are asked once.
        model: the model.
        progress: called after every answer with the number of answers so far.

    Raises:
        ModelError: the model cannot be run.
    """
    by_length: defaultdict[tuple[bool, int], list[Question]] = defaultdict(list)
    for question in dict.fromkeys(questions):
        by_length[isinstance(question.prompt, tuple), question.max_new_tokens].append(question)
    answers: dict[Question, GeneratedText | Rejected] = {}
    for (_, max_new_tokens), alike in sorted(by_length.items()):
        for chunk in _chunks(alike):
            for question, answer in zip(chunk, _generated(chunk, model, max_new_tokens), strict=True):
                answers[question] = answer
                progress(len(answers))
    return answers


def _chunks(questions: Sequence[Question]) -> Iterator[Sequence[Question]]:
    # a chunk is extended by the prompts that continue its last one, because a model reads a common beginning once
    start = 0
    while start < len(questions):
        stop = min(start + CHUNK, len(questions))
        while stop < len(questions) and _begins_with(questions[stop].prompt, questions[stop - 1].prompt):
            stop += 1
        yield questions[start:stop]
        start = stop


def _begins_with(prompt: Prompt, beginning: Prompt) -> bool:
    return prompt[: len(beginning)] == beginning


def _generated(
    questions: Sequence[Question], model: Generator, max_new_tokens: int
) -> Iterator[GeneratedText | Rejected]:
    # questions of one length, whose prompts are all texts or all tokens
    texts = [question.prompt for question in questions if isinstance(question.prompt, str)]
    tokens = [question.prompt for question in questions if isinstance(question.prompt, tuple)]
    if texts:
        yield from model.generate(texts, max_new_tokens=max_new_tokens)
    if tokens:
        if not isinstance(model, TokenGenerator):
            raise MissingCapability(
                f"{model.name} takes no tokens as a prompt: expected a model that shows its tokenizer"
            )
        yield from model.continue_tokens(tokens, max_new_tokens=max_new_tokens)
