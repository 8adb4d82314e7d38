"""The models that a derivation is opened with."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from assay.scoring.opening import Opener
from assay.types import Generator, LogProbScorer


@dataclass(frozen=True, slots=True, kw_only=True)
class DerivationModels:
    """The argument of `assay.scores.Derivation.open`: the model that scores, and how further ones are opened.

    Attributes:
        target: computes the scores.
        target_name: of the target, as the user wrote it.
        names: role of a further model → its name.
        opener: of further models.
        generator: opens one that generates text, behind the cache; each name once.
    """

    target: LogProbScorer
    target_name: str
    names: Mapping[str, str]
    opener: Opener
    generator: Callable[[str], Generator]
