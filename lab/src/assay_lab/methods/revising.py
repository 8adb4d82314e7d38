"""Revisions of code by a model, and descriptions of its task: what BARTScore, rewriting similarity and ATC compare.

The prompts are ours. A reply without what was asked for is counted as a failure. Replies are cached by the generator.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from itertools import chain, islice
from typing import TYPE_CHECKING

import numpy as np

from assay.models import combined
from assay.scores import Derived
from assay.scoring import generator_digest
from assay.types import Encoder, Generator, Rejected, Sample, TokenScorer, TokenStatistics

if TYPE_CHECKING:
    from assay_lab.methods.seq2seq import Seq2SeqModel

REVISE = """\
Here is some code in {language}:

```
{code}
```

First say in one sentence what it does. Then write a revised version of it that does the same, in {language}, as one \
code block between ``` marks and without explanations."""

DESCRIBE = """\
Here is some code in {language}:

```
{code}
```

Write in one line the task that a language model would have to be given to write code like this. Put the task between \
<task> and </task>."""

CONDITION = "# {task}\n\n"
"""Ours: a comment before the code; the published code uses the chat template of its model."""

_BLOCK = re.compile(r"```[^\n`]*\n(.*?)(?:```|\Z)", re.DOTALL)
_TASK = re.compile(r"<task>(.*?)(?:</task>|\Z)", re.DOTALL)

NO_CODE = "replies without a code block"
NO_TASK = "replies without a task"
REFUSED = "prompts that the reviser refused"
EMPTY = "texts without code"


def code_block(reply: str) -> str | None:
    """Return the longest code block of a reply; None if it has none."""
    blocks = [block for block in _BLOCK.findall(reply) if block.strip()]
    # a model may quote a line of the code before it gives the whole
    return max(blocks, key=len).rstrip() if blocks else None


def task_line(reply: str) -> str | None:
    """Return the task of a reply in one line; None if it has none."""
    tasks = [" ".join(task.split()) for task in _TASK.findall(reply)]
    return next(filter(None, tasks), None)


@dataclass(frozen=True, slots=True)
class Reviser:
    """A model that follows instructions.

    Attributes:
        model: generates text.
        prompt: with places for {language} and {code}.
        read: reply → what was asked for; None if it is not there.
        failure: words for a reply that has it not.
        tokens: generated at most.
        temperature: of sampling.
        top_p: nucleus of sampling.
        seed: of all draws.
    """

    model: Generator
    prompt: str = REVISE
    read: Callable[[str], str | None] = code_block
    failure: str = NO_CODE
    tokens: int = 512
    temperature: float = 0.7
    top_p: float = 0.95
    seed: int = 0

    @property
    def digest(self) -> str:
        """Of the model, the prompt and the settings."""
        settings = [self.prompt, self.tokens, self.temperature, self.top_p, self.seed]
        return combined(["reviser", generator_digest(self.model), settings])

    def describing(self) -> "Reviser":
        """Return the same model with the prompt that asks for the task of code."""
        return replace(self, prompt=DESCRIBE, read=task_line, failure=NO_TASK, tokens=96)

    def __call__(self, samples: Sequence[Sample], n: int) -> list[tuple[list[str], Mapping[str, int]]]:
        """Return at most n replies for each sample, as they are read, and the failures; all prompts are one call."""
        prompts: list[str] = []
        for sample in samples:
            if sample.text.strip():
                prompts += [self.prompt.format(language=sample.language or "the same language", code=sample.text)] * n
        replies = self.model.generate(
            prompts, max_new_tokens=self.tokens, temperature=self.temperature, top_p=self.top_p, seed=self.seed
        )
        rows: list[tuple[list[str], Mapping[str, int]]] = []
        for sample in samples:
            rows.append(self._read(islice(replies, n)) if sample.text.strip() else ([], {EMPTY: 1}))
        return rows

    def _read(self, replies: Iterable[str | Rejected]) -> tuple[list[str], Mapping[str, int]]:
        results, failures = [], Counter[str]()
        for reply in replies:
            if isinstance(reply, Rejected):
                failures[REFUSED] += 1
            elif (result := self.read(reply)) is None:
                failures[self.failure] += 1
            else:
                results.append(result)
        return results, failures


def derived_or_rejected(values: Sequence[object], failures: Mapping[str, int]) -> Derived | Rejected:
    """Return derivations; where there are none, why."""
    if values:
        return Derived(tuple(values), failures)
    return Rejected(f"no revision: {', '.join(failures) or 'nothing was asked for'}")


@dataclass(frozen=True, slots=True)
class RestoredStatistics:
    """The deriver of BARTScore: statistics of each text given its revisions.

    Attributes:
        reviser: revises the texts.
        restorer: an encoder-decoder model.
    """

    reviser: Reviser
    restorer: "Seq2SeqModel"

    @property
    def digest(self) -> str:
        """Of both models."""
        return combined([self.reviser.digest, self.restorer.digest])

    def __call__(self, samples: Sequence[Sample], n: int) -> Sequence[Derived | Rejected]:
        """See `assay.scores.Deriver`."""
        replies = self.reviser(samples, n)
        revisions: list[str] = []
        texts: list[str] = []
        for sample, (own, _) in zip(samples, replies, strict=True):
            revisions += own
            texts += [sample.text] * len(own)
        scored = iter(self.restorer.conditional(revisions, texts))
        return [derived_or_rejected(list(islice(scored, len(own))), failures) for own, failures in replies]


@dataclass(frozen=True, slots=True)
class EncodedRevisions:
    """The deriver of rewriting similarity: cosine of each revision with the text, comments left out of both.

    Attributes:
        reviser: revises the texts.
        encoder: its vectors have length 1.
    """

    reviser: Reviser
    encoder: Encoder

    @property
    def digest(self) -> str:
        """Of reviser and encoder."""
        return combined([self.reviser.digest, self.encoder.digest])

    def __call__(self, samples: Sequence[Sample], n: int) -> Sequence[Derived | Rejected]:
        """See `assay.scores.Deriver`; every text is encoded once."""
        replies = self.reviser(samples, n)
        groups = [
            list(map(partial(without_remarks, language=sample.language), (sample.text, *own)))
            for sample, (own, _) in zip(samples, replies, strict=True)
        ]
        # equal revisions are common: each distinct text is encoded once
        distinct = list(dict.fromkeys(chain.from_iterable(groups)))
        vectors = dict(zip(distinct, self.encoder.encode(distinct), strict=True)) if distinct else {}
        rows = []
        for (text, *revisions), (_, failures) in zip(groups, replies, strict=True):
            similarities = [float(np.dot(vectors[text], vectors[revision])) for revision in revisions]
            rows.append(derived_or_rejected(similarities, failures))
        return rows


@dataclass(frozen=True, slots=True)
class ConditionedStatistics:
    """The deriver of ATC: statistics of the code tokens behind a description of the task.

    Attributes:
        describer: writes the task of a text.
        target: the surrogate.
    """

    describer: Reviser
    target: TokenScorer

    @property
    def digest(self) -> str:
        """Of both models and of the words between task and code."""
        return combined([self.describer.digest, self.target.digest, CONDITION])

    def __call__(self, samples: Sequence[Sample], n: int) -> Sequence[Derived | Rejected]:
        """See `assay.scores.Deriver`; all tasks of all texts are scored in one call."""
        replies = self.describer(samples, n)
        prefixes: list[list[str]] = []
        texts: list[str] = []
        for sample, (tasks, _) in zip(samples, replies, strict=True):
            prefixes.append([CONDITION.format(task=task) for task in tasks])
            texts += [prefix + sample.text for prefix in prefixes[-1]]
        scored = iter(self.target.token_statistics(texts))
        results: list[Derived | Rejected] = []
        for sample, own, (_, failures) in zip(samples, prefixes, replies, strict=True):
            statistics = list(conditioned(sample, own, scored))
            if any(row is None for row in statistics):
                results.append(Rejected("the tokenizer does not show where its tokens stand"))
            else:
                results.append(derived_or_rejected(statistics, failures))
        return results


def conditioned(
    sample: Sample, prefixes: Sequence[str], scored: Iterator[TokenStatistics]
) -> Iterator[TokenStatistics | None]:
    """Yield the statistics of the tokens of code, outside comments and docstrings, behind each prefix.

    None where the tokenizer does not say where its tokens stand.
    """
    from assay.authorship import comment_spans, docstring_spans  # noqa: PLC0415  compiles; a list of scores does not

    spans = comment_spans(sample.text, sample.language) + docstring_spans(sample.text, sample.language)
    for prefix in prefixes:
        statistics = next(scored)
        starts, stops = statistics.offsets[:, 0], statistics.offsets[:, 1]
        # -1 says that a token stands nowhere in the text
        if len(statistics) and (starts < 0).all():
            yield None
            continue
        kept = starts >= len(prefix)
        for first, last in spans:
            # tokens inside a comment or docstring say what the code is for, which the task said already
            kept &= (starts < first + len(prefix)) | (stops > last + len(prefix))
        yield selected(statistics, kept)


def selected(statistics: TokenStatistics, kept: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> TokenStatistics:
    """Return the statistics of some tokens."""
    return TokenStatistics(**{each.name: getattr(statistics, each.name)[kept] for each in fields(statistics)})


def without_remarks(text: str, language: str | None) -> str:
    """Return code without comments and blank lines; the text itself where nothing else is left."""
    from assay.authorship import comment_spans, without_spans  # noqa: PLC0415  as above

    return without_spans(text, comment_spans(text, language)) or text
