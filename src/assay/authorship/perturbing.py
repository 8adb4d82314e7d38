"""Perturbed copies of texts, and what a model thinks of them.

DetectGPT and NPR compare a text with copies whose spans another model filled (`filling`), DetectCodeGPT (Shi et al.
2025, arXiv:2401.06461) with copies that have random white space: people put white space where they please, a model
where it is most likely. All copies of all texts are scored in one call.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from typing import Protocol

import numpy as np

from assay.models import combined
from assay.scores import Derived
from assay.types import Rejected, Sample, TokenScorer

UNCHANGED = "no place for white space: no perturbed copy differs"
_SPACE = re.compile(r"(?<=\S) (?=\S)")


@dataclass(frozen=True, slots=True)
class Copies:
    """The perturbed copies of one text.

    Attributes:
        texts: each differs from the text.
        failures: reason → attempts that gave no copy.
        reason: why there is no copy; None where there is one.
    """

    texts: tuple[str, ...]
    failures: Mapping[str, int] = field(default_factory=dict)
    reason: str | None = None


class Perturber(Protocol):
    """Makes perturbed copies of texts."""

    @property
    def digest(self) -> str:
        """Hexadecimal digest of all that can change a copy."""
        ...

    def __call__(self, texts: Sequence[str], n: int) -> Sequence[Copies]:
        """Return at most n copies of each text; what a text gets does not depend on the others."""
        ...


@dataclass(frozen=True, slots=True)
class CopyStatistics:
    """The deriver of perturbed copies: their statistics under the target.

    Attributes:
        perturb: makes the copies.
        target: the surrogate that scores them.
    """

    perturb: Perturber
    target: TokenScorer

    @property
    def digest(self) -> str:
        """Of the perturbation and of the target."""
        return combined([self.perturb.digest, self.target.digest])

    def __call__(self, samples: Sequence[Sample], n: int) -> Sequence[Derived | Rejected]:
        """See `assay.scoring.Deriver`; equal copies are scored once."""
        groups = self.perturb([sample.text for sample in samples], n)
        distinct = list(dict.fromkeys(text for group in groups for text in group.texts))
        scored = dict(zip(distinct, self.target.token_statistics(distinct), strict=True))
        return [
            Rejected(group.reason) if group.reason else Derived(tuple(map(scored.get, group.texts)), group.failures)
            for group in groups
        ]


def draws_of(text: str, seed: int) -> np.random.Generator:
    """Return the random stream of a text: the same for the same text, whatever else is perturbed."""
    # seeded by the text itself: a copy does not change when other texts are perturbed beside it
    key = int.from_bytes(sha256(text.encode("utf-8", "surrogatepass")).digest()[:8])
    return np.random.default_rng([seed, key])


@dataclass(frozen=True, slots=True)
class StylePerturbation:
    """Random white space, with the values of DetectCodeGPT.

    Attributes:
        share: of the places in a text at which white space is inserted.
        spaces: mean of the Poisson distribution of the spaces at a place.
        line_ends: mean of the Poisson distribution of the line ends at a place.
        seed: of all draws.
    """

    share: float = 0.5
    spaces: float = 3.0
    line_ends: float = 2.0
    seed: int = 0

    @property
    def digest(self) -> str:
        """Of the settings."""
        return combined(["style", asdict(self)])

    def __call__(self, texts: Sequence[str], n: int) -> Sequence[Copies]:
        """See `Perturber`; a copy that equals its text counts as a failure."""
        return [self._copies(text, n) for text in texts]

    def _copies(self, text: str, n: int) -> Copies:
        draw = draws_of(text, self.seed)
        copies = [perturbed_style(text, self, draw) for _ in range(n)]
        kept = tuple(copy for copy in copies if copy != text)
        unchanged = Counter({"copies that equal the text": len(copies) - len(kept)})
        return Copies(kept, +unchanged, None if kept else UNCHANGED)


def perturbed_style(text: str, settings: StylePerturbation, draw: np.random.Generator) -> str:
    """Return a text with white space inserted at random: spaces within lines, or empty lines, by the toss of a coin.

    Spaces go where one space separates two visible characters, so indentation and tokens stay.
    """
    if draw.random() < 0.5:  # noqa: PLR2004  a coin
        places = [match.start() for match in _SPACE.finditer(text)]
        mark, mean = " ", settings.spaces
    else:
        places = [match.start() for match in re.finditer(r"\n", text)]
        mark, mean = "\n", settings.line_ends
    if not places:
        return text
    chosen = draw.choice(places, max(1, int(settings.share * len(places))), replace=False)
    pieces, end = [], 0
    for place in sorted(chosen.tolist()):
        pieces += [text[end:place], mark * int(draw.poisson(mean))]
        end = place
    return "".join([*pieces, text[end:]])
