"""Derivations of texts: perturbed copies, revisions, descriptions of tasks, measured before a score sees them."""

from collections.abc import Sequence
from typing import Protocol

from assay.scores import Derived
from assay.types import Rejected, Sample


class Deriver(Protocol):
    """Makes the derivations of one kind for many samples at once."""

    @property
    def digest(self) -> str:
        """Hexadecimal digest of all that can change a derivation: models, prompts, settings."""

    def __call__(self, samples: Sequence[Sample], n: int) -> Sequence[Derived | Rejected]:
        """Return at most n derivations of each sample, or the reason why there are none.

        Args:
            samples: in any number; what one of them gets does not depend on the others.
            n: derivations of each.

        Raises:
            ModelError: a model cannot be run.
        """
