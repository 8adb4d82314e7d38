"""Derivations: what is made of a text, and measured by models, before a score compares the text with it.

A plug-in whose score needs more than statistics of the text declares a derivation, and asks for it by the type of a
parameter. The engine makes as many of each text as the scores compare at most, and each derivation once for all scores.

    COPIES = Derivation("copies", needs="n copies …", missing="needs a writer …", open=make, required=("writer",))

    @score(title=…)
    def gain(target: LogProbs, copies: Annotated[tuple[TokenLogProbs, ...], COPIES], *, n: Count = 10) -> float: ...
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from assay.types import Rejected, Sample


@dataclass(frozen=True, slots=True)
class Derived:
    """The derivations of one text.

    Attributes:
        values: statistics or numbers; as many as could be made.
        failures: reason → how often an attempt to make one failed.
    """

    values: tuple[object, ...]
    failures: Mapping[str, int] = field(default_factory=dict)


class Deriver(Protocol):
    """Makes the derivations of one kind for many samples at once."""

    @property
    def digest(self) -> str:
        """Hexadecimal digest of all that can change a derivation: models, prompts, settings."""
        ...

    def __call__(self, samples: Sequence[Sample], n: int) -> Sequence[Derived | Rejected]:
        """Return at most n derivations of each sample, or the reason why there are none.

        Args:
            samples: in any number; what one of them gets does not depend on the others.
            n: derivations of each.

        Raises:
            ModelError: a model cannot be run.
        """
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Derivation:
    """A kind of derivation.

    Attributes:
        name: scores whose derivations have one name share them.
        needs: what has to be run, in words, for the list of scores.
        missing: what is missing where nothing makes it, in words that follow "score NAME".
        open: `assay.scoring.DerivationModels` → what makes them.
        required: roles of further models that a user has to name.
        optional: roles of further models that a user may name.
        check: role → model, before anything is loaded; raises an AssayError if one of them will not do.
    """

    name: str
    needs: str
    missing: str
    open: Callable[..., Deriver]
    required: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    check: Callable[[Mapping[str, str]], None] = lambda _: None

    @property
    def roles(self) -> tuple[str, ...]:
        """The roles of further models."""
        return (*self.required, *self.optional)
