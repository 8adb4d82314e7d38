"""Prompts to a model that writes, each with room for a reply of its own length."""

from collections import defaultdict
from collections.abc import Sequence

from assay.types import Generator, Unread

STEP = 512
"""Lengths of replies are rounded up to a multiple of this, so that prompts share batches."""
CHARACTERS_A_TOKEN = 2
"""Fewer than a token of code has, so that the reply has room."""


def replies(
    generator: Generator, prompts: Sequence[tuple[str, int]], *, temperature: float, seed: int
) -> list[str | Unread]:
    """What the model replies to each prompt.

    Prompts whose replies are of like length go together, so that a server is asked for many at a time, and a long text
    makes no request longer than its own.

    Args:
        generator: the model.
        prompts: each with the characters that its reply may have.
        temperature: of the model.
        seed: likewise.

    Raises:
        ModelError: the model cannot be run.
    """
    alike: defaultdict[int, list[int]] = defaultdict(list)
    for place, (_, characters) in enumerate(prompts):
        alike[STEP * max(1, -(-characters // (CHARACTERS_A_TOKEN * STEP)))].append(place)
    found: dict[int, str | Unread] = {}
    for tokens, places in sorted(alike.items()):
        some = [prompts[place][0] for place in places]
        answers = generator.generate(some, max_new_tokens=tokens, temperature=temperature, seed=seed)
        found.update(zip(places, answers, strict=True))
    return [found[place] for place in range(len(prompts))]
