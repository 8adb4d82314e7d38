"""Requests to generators: the prompt of DECo's Figure 1, with room for a reply as long as the original."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import compress
from operator import not_

from assay.languages import LANGUAGES
from assay.types import Generator, Rejected, Sample, TokenGenerator
from assay_lab.columns import at_places
from assay_lab.rewrites.rules import RemovalRule

PROMPT = """\
I will give you a code snippet written in [LANG].
Please modify this code snippet while ensuring that the functionality
of the given code snippet is preserved.
Please make some changes to the code to avoid it being too similar to
the original.
The revised code snippet must be written in the same programming
language as the original.
Do not include any explanations about how you modified the code
snippet or add any arbitrary comments to the code snippet.
After modifying, prepend a prefix at the beginning of the revised
code snippet indicating its programming language.
For example, if the revised code snippet is written in [LANG], add
``` [LANG] ``` at the start.
The following code snippet is the one you need to modify.

[CODE]
"""
"""Figure 1: the prompt template."""

CHARACTERS_A_TOKEN = 2
"""Fewer than a token of code has, so that the reply has room."""

STEP = 128
"""Lengths of replies are rounded up to a multiple of this, so that prompts share batches."""

TEMPLATE_TOKENS = 48
"""Tokens that a chat template may put around a prompt."""


@dataclass(frozen=True, slots=True)
class RewritingRequest:
    """Decoding of the replies.

    Attributes:
        temperature: the paper does not state one; 1 is the default of OpenAI's API.
        top_p: nucleus.
        seed: of every sample.
    """

    temperature: float = 1.0
    top_p: float = 1.0
    seed: int = 0


def prompt_for(sample: Sample) -> str:
    """Return the prompt of Figure 1 for one text."""
    language = LANGUAGES[str(sample.language)].title
    # the code goes in last, so that a "[LANG]" within it stays as it is
    head, _, tail = PROMPT.replace("[LANG]", language).partition("[CODE]")
    return head + sample.text.strip("\n") + tail


def reply_tokens(text: str) -> int:
    """Return the tokens that the rewriting of a text may have."""
    return STEP * max(1, -(-len(text) // (CHARACTERS_A_TOKEN * STEP)))


def reply_batches(samples: Sequence[Sample]) -> dict[int, list[int]]:
    """Return most tokens of a reply → the places of the samples whose replies may have that many, shortest first."""
    alike: dict[int, list[int]] = {}
    for place, sample in enumerate(samples):
        alike.setdefault(reply_tokens(sample.text), []).append(place)
    return dict(sorted(alike.items()))


def rewritten_by(
    generator: Generator,
    samples: Sequence[Sample],
    request: RewritingRequest,
    progress: Callable[[int, int], None] | None = None,
) -> list[str | Rejected]:
    """Return the reply of a generator to each text, or why there is none.

    Args:
        generator: one that keeps its replies can be asked again after an interruption.
        samples: texts of people.
        request: decoding.
        progress: receives the number of replies and of texts.

    Raises:
        ModelError: the model cannot be run, or a limit of its cost is reached.
    """
    replies: dict[int, str | Rejected] = {}
    for tokens, places in reply_batches(samples).items():
        prompts = [prompt_for(samples[place]) for place in places]
        fits = _that_fit(generator, prompts, tokens)
        replies |= dict.fromkeys(compress(places, map(not_, fits)), Rejected(RemovalRule.TOO_LONG))
        # a model refuses a reply that is longer than its context, even where no prompt asks for one
        if not any(fits):
            continue
        answers = generator.generate(
            list(compress(prompts, fits)),
            max_new_tokens=tokens,
            temperature=request.temperature,
            top_p=request.top_p,
            seed=request.seed,
        )
        for place, reply in zip(compress(places, fits), answers, strict=True):
            replies[place] = reply
            if progress:
                progress(len(replies), len(samples))
    return at_places(replies, range(len(samples)))


def _that_fit(generator: Generator, prompts: Sequence[str], tokens: int) -> list[bool]:
    """Return for each prompt whether it and its reply fit into the context; a server says so itself, by refusing."""
    if not isinstance(generator, TokenGenerator):
        return [True] * len(prompts)
    room = generator.context - tokens - TEMPLATE_TOKENS
    return [len(read.ids) <= room for read in generator.tokens(prompts)]
