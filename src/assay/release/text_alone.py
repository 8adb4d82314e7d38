"""The test for a model that gives text alone: does it write what the lot published?

The content of a task is a lot of its own: which set of examples, in which order, the published copy shows. The model
gets the published copy up to the first place where the contents differ, which is public, and continues it greedily.
The value of a content is the number of characters, from that place on, that it shares with the continuation. The lot
of the names is as good as fixed here; the lot of the content is independent of the prompt, so the test is exact.
"""

from collections.abc import Sequence
from itertools import takewhile
from operator import eq
from os.path import commonprefix

from assay.errors import MissingCapability
from assay.models import display_name
from assay.progress import progress_bar
from assay.types import Generator, LogProbScorer, Rejected

WRITTEN = 64
"""Tokens that a model writes behind each prompt."""
CHAT, FENCE = "openai-chat:", "```"
CONTINUE = "Continue this text exactly where it ends. Write only what follows.\n\n"
"""What a model that chats is told before each prompt."""


def characters_alike(model: Generator | LogProbScorer, contents: Sequence[Sequence[str]]) -> dict[str, float]:
    """Return how many characters each content shares with what a model writes where the contents begin to differ.

    Args:
        model: continues each prompt once, greedily.
        contents: texts of the contents of each task.

    Returns:
        Text → characters; texts of a task whose prompt the model rejects are absent.

    Raises:
        MissingCapability: the model does not generate text.
        ModelError: it cannot be run.
    """
    if not isinstance(model, Generator):
        raise MissingCapability(f"{display_name(model.name)} does not generate text: expected --access gray")
    prompts = list(map(commonprefix, contents))
    values: dict[str, float] = {}
    replies = model.generate([_request(model, prompt) for prompt in prompts], max_new_tokens=WRITTEN)
    with progress_bar(f"asking {display_name(model.name)}", shown=len(prompts) > 1) as progress:
        for done, (texts, prompt, reply) in enumerate(zip(contents, prompts, replies, strict=True), 1):
            if not isinstance(reply, Rejected):
                written = _continuation(model, prompt=prompt, reply=reply)
                for text in texts:
                    values[text] = float(sum(takewhile(bool, map(eq, text[len(prompt) :], written))))
            if progress:
                progress(done, len(prompts))
    return values


def _request(model: Generator, prompt: str) -> str:
    return CONTINUE + prompt if model.name.startswith(CHAT) else prompt


def _continuation(model: Generator, prompt: str, reply: str) -> str:
    """Return what a reply adds to a prompt; a model that chats may begin with a fence, and repeat the text before."""
    if not model.name.startswith(CHAT):
        return reply
    opening, _, rest = reply.partition("\n")
    if opening.startswith(FENCE):
        reply = rest
    # two lines, since the line that is to be continued may also stand in a later example
    repeated = "\n".join(prompt.split("\n")[-2:])
    if repeated in reply:
        return reply.partition(repeated)[2]
    # others repeat only the unfinished line, without its indentation
    return reply.removeprefix(repeated.rpartition("\n")[2].lstrip())
