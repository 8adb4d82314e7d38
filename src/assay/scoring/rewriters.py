"""Who rewrites samples: our own engine, or a language model."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from assay.code import VariantSet, written_variants
from assay.scoring.views import Rewritten, in_words, rewritten
from assay.types import Generator, Sample


class Rewriter(Protocol):
    """Makes rewritings of samples."""

    @property
    def name(self) -> str:
        """What tells its rewritings from another's."""
        ...

    def __call__(self, samples: Sequence[Sample], n: int) -> Sequence[Rewritten]:
        """At most n verified rewritings of each sample."""
        ...


@dataclass(frozen=True, slots=True)
class Deterministic:
    """Our own engine: the same rewritings every time, in every language that it knows."""

    name: str = "deterministic"

    def __call__(self, samples: Sequence[Sample], n: int) -> Sequence[Rewritten]:
        """See `Rewriter`."""
        return [rewritten(sample, n) for sample in samples]


@dataclass(frozen=True, slots=True)
class Written:
    """A language model, asked in the words of SrDetection (000, Table 7), for Python.

    Attributes:
        generator: the model.
        seed: of its first round of replies.
        rejections: reason → how many of its versions and replies did not count so far.
    """

    generator: Generator
    seed: int = 0
    rejections: Counter[str] = field(default_factory=Counter)

    @property
    def name(self) -> str:
        """The model's."""
        return self.generator.name

    def __call__(self, samples: Sequence[Sample], n: int) -> Sequence[Rewritten]:
        """See `Rewriter`; equal texts are asked for once.

        Raises:
            ModelError: the model cannot be run.
        """
        texts = list(dict.fromkeys(one.text for one in samples if one.language in (None, "python")))
        found: dict[str, VariantSet] = {}
        for text, made in zip(texts, written_variants(texts, self.generator, n, seed=self.seed), strict=True):
            found[text] = made
            self.rejections.update(made.rejections)
        return [
            in_words(found[one.text], n)
            if one.language in (None, "python")
            else Rewritten((), f"no rewriting of {one.language} by a model")
            for one in samples
        ]
