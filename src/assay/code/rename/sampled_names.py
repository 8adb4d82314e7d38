"""Names proposed in place: a causal model continues the text before the first use of each name.

A name from a word list is less natural than the one that an author chose for this place, so a model may prefer the
original without having seen it. A name that a model itself writes at this place is a fair rival.
"""

import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from assay.code.rename.engines import engine_of
from assay.code.rename.names import NameKind, Renamable
from assay.code.rename.pools import NamePool, ProposedPool, SynonymPool
from assay.types import Generator, Rejected

SAMPLES = 8
"""Continuations of each place."""
TOKENS = 6
"""Tokens of a continuation: enough for a name and the character that ends it."""
_NAME = re.compile(r"[^\W\d]\w*(?=\W)")


@dataclass(frozen=True, slots=True)
class SampledNames:
    """Names that a model writes at the first place of every name that may change; see `NameSource`.

    Attributes:
        generator: a model that continues text, at temperature 1.
        samples: continuations of each place; the most frequent names come first.
        seed: of the samples.
        fallback: fills up the names that get few proposals; None for the proposals alone.
    """

    generator: Generator
    samples: int = SAMPLES
    seed: int = 0
    fallback: NamePool | None = field(default_factory=SynonymPool)

    @property
    def name(self) -> str:
        """The model's name."""
        return f"names of {self.generator.name}"

    def pools(self, texts: Sequence[str], language: str, kinds: Collection[NameKind]) -> Sequence[NamePool]:
        """See `NameSource`.

        Raises:
            ModelError: the model cannot be run.
        """
        engine = engine_of(language)
        places = [
            (index, name.name, *_before(text, name))
            for index, text in enumerate(texts)
            for name in engine.analysis(text, ()).names
            if name.kind in kinds
        ]
        prompts = [prompt for *_, prompt, _ in places for _ in range(self.samples)]
        replies = iter(
            self.generator.generate(prompts, max_new_tokens=TOKENS, temperature=1.0, seed=self.seed) if prompts else ()
        )
        proposals: list[dict[str, tuple[str, ...]]] = [{} for _ in texts]
        for index, name, _, space in places:
            written = Counter(_written(next(replies), space) for _ in range(self.samples))
            proposals[index][name] = tuple(word for word, _ in written.most_common() if word and word != name)
        return [ProposedPool(of_text, self.fallback) for of_text in proposals]


def _written(reply: str | Rejected, space: str) -> str | None:
    """Return the name with which a continuation begins; None where it begins with something else or breaks off."""
    match = None if isinstance(reply, Rejected) else _NAME.match(reply.removeprefix(space))
    return match and match[0]


def _before(text: str, name: Renamable) -> tuple[str, str]:
    """Return the text before the first place of a name without its last space, and that space.

    Tokenizers join a space with the word behind it: a prompt that ends with it would have a token that the model has
    hardly seen before a word.
    """
    before = text[: name.places[0]]
    return (before[:-1], " ") if before.endswith(" ") else (before, "")
