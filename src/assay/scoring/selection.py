"""The scores that are requested, as settings: by name, and what they compare with."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import assay.scores as registry  # its names are imported when they are used: `--help` reads the settings alone
from assay.errors import ScoreError
from assay.settings import Setting, Settings

if TYPE_CHECKING:
    from assay.scores import ScoreDefinition

DETERMINISTIC = "deterministic"
"""Name of the engine that rewrites texts without a model."""

Tier = Literal["gray", "black"]
"""Access to a model: its token probabilities, or only the text that it generates."""

OWN_NAMES = "self"
"""Names of variants that the audited model proposes."""

MOST_VARIANTS = 1000
"""Rewritings of one sample: each costs a forward pass, and a function has only so many names."""


def check_variants(count: int, place: str = "") -> None:
    """Check the number of rewritings of one sample.

    Args:
        count: of rewritings.
        place: begins the line of the error.

    Raises:
        ScoreError: negative, or more than `MOST_VARIANTS`.
    """
    if not 0 <= count <= MOST_VARIANTS:
        raise ScoreError(f"{place}received {count:,} variants, expected 0 to {MOST_VARIANTS:,}")


@dataclass(frozen=True, slots=True)
class ScoreSelection(Settings):
    """The scores that are requested, and what they compare with."""

    PANEL: ClassVar[str] = "Scores"
    scores: Annotated[
        str | None,
        Setting(
            "Names of `assay score --list`, or the lists one-pass, black, all.",
            metavar="a,b:k=0.1,…",
            common=True,
            completes="scores",
            expects="names with commas between them: 'loss,min_k'",
        ),
    ] = None
    access: Annotated[
        Tier,
        Setting("gray: token probabilities; black: generated text.", common=True),
    ] = "gray"
    variants: Annotated[
        int,
        Setting(
            "Compare each sample with N rewritings under other names (black: 10).",
            metavar="N",
            least=0,
            common=True,
        ),
    ] = 0
    variant_engine: Annotated[
        str,
        Setting(
            "Engine of the rewritings, or a model that follows instructions (openai-chat:MODEL@URL).",
            metavar="deterministic|MODEL",
            completes="models",
        ),
    ] = DETERMINISTIC
    variant_kinds: Annotated[
        str,
        Setting(
            "What is rewritten: names, and the test cases that a statement shows (run in the sandbox, Python).",
            metavar="function,variable,tests",
        ),
    ] = "function,variable"
    names_from: Annotated[
        str | None,
        Setting(
            "Source of the new names. A model (`self` is the audited one) proposes names in place. Default: "
            "dictionary, where one name changes synonyms.",
            metavar="dictionary|synonyms|self|MODEL",
        ),
    ] = None
    rename: Annotated[
        Literal["all", "one"],
        Setting("Names that a rewriting changes: all, as SrDetection does, or one at a time."),
    ] = "all"
    reference: Annotated[
        str | None,
        Setting("Second model, for scores that compare two.", metavar="MODEL", completes="models"),
    ] = None
    frequencies: Annotated[
        Path | None,
        Setting("Token frequencies, for scores that need them (`assay frequencies`).", metavar="FILE"),
    ] = None

    @classmethod
    def named(cls, scores: "ScoreSelection | str | None") -> "ScoreSelection":
        """Return the selection of names with commas between them; a selection as it is."""
        if isinstance(scores, ScoreSelection):
            return scores
        return cls(scores)

    def specification(self) -> str:
        """Return the requested scores by name, and those that compare variants if there are any.

        Raises:
            ScoreError: a score does not exist, or needs the other access.
        """
        n, listed = self.variants, self.scores or "one-pass"
        if self.access == "black" and not self.scores:
            listed = ",".join(registry.default_scores("black"))
            # a black-box audit without a choice takes the headline's own number of rewritings
            n = n or registry.headline_score("black").variants()
        names = [listed]
        for score in registry.SCORES.values():
            if n and score.needs_variants and tier(score) == self.access:
                # without the parameter where it is the default, so that a column has one name however it was asked for
                names.append(score.name if score.defaults["n"] == n else f"{score.name}:n={n}")
        # a score that was added for the rewritings is no request of the user
        explicit = set(map(str.strip, listed.split(",")))
        for request in registry.requests(",".join(names)):
            check_variants(request.variants, f"score {request.name}: ")
            needed = tier(request.definition)
            if request.name in explicit and needed != self.access:
                raise ScoreError(f"score {request.name} needs --access {needed}, received --access {self.access}")
        return ",".join(names)

    def other_models(self) -> tuple[str, ...]:
        """Return the names of the models besides the audited one; an engine only where a score compares rewritings."""
        models = [self.reference]
        rewrites = any(request.variants for request in registry.requests(self.specification()))
        if rewrites and self.variant_engine != DETERMINISTIC:
            models.append(self.variant_engine)
        return tuple(filter(None, models))

    def for_control(self) -> "ScoreSelection":
        """Return the scores of a negative control: those of one model without a table, and those flagged `weights`."""
        if self.access == "black":
            return self
        names = [
            request.name
            for request in registry.requests(self.specification())
            if request.definition.access != "two models" and not request.definition.needs_frequencies
        ]
        listed = ",".join(dict.fromkeys([*names, *registry.flagged("weights")]))
        return replace(self, scores=listed, variants=0, reference=None, frequencies=None)


def tier(score: "ScoreDefinition") -> Tier:
    """Return the access that a score needs of a model, or of each of two."""
    return "black" if score.access == "black" else "gray"
