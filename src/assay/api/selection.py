"""From the scores that are requested to a plan: which can be computed with the access, models and tables at hand."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from assay.api.opening import DETERMINISTIC, Opener
from assay.errors import MissingCapability, ScoreError
from assay.models import CachedScorer, builtin_folder
from assay.scores import (
    SCORES,
    FrequencyTable,
    ScoreDefinition,
    ScoreRequest,
    default_scores,
    flagged,
    headline_score,
    requests,
)
from assay.scoring import Plan, Rewriter, plan
from assay.types import Generator, LogProbScorer, RankedLogProbs, gives

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
class ScoreSelection:
    """The scores that are requested, and what they compare with.

    Attributes:
        scores: names with commas between them, parameters behind colons, or a list (`one-pass`, `black`, `all`);
            None for the default list of the access.
        access: "gray" for token probabilities, "black" for a model that only generates text.
        variants: rewritings of each sample for the scores that compare with them; 0 for none with gray access, and
            for the paper's number with black access.
        variant_engine: "deterministic", or a model that follows instructions.
        variant_kinds: what a rewriting changes: function, variable, tests.
        names_from: source of new names, for the deterministic engine: "dictionary", "synonyms", "self" for the audited
            model, or a model that continues text; a model proposes names in place. None for synonyms where one name
            changes, else the dictionary.
        rename: for the deterministic engine, "all" names in each rewriting, as SrDetection does, or "one" in each.
        reference: second model, for scores of two models.
        frequencies: table of token frequencies, for scores that need it.
    """

    scores: str | None = None
    access: Tier = "gray"
    variants: int = 0
    variant_engine: str = DETERMINISTIC
    variant_kinds: str = "function,variable"
    names_from: str | None = None
    rename: Literal["all", "one"] = "all"
    reference: str | None = None
    frequencies: Path | None = None

    def specification(self) -> str:
        """Return the requested scores by name, and those that compare variants if there are any.

        Raises:
            ScoreError: a score does not exist, or needs the other access.
        """
        if not isinstance(self.scores, str | None):
            raise ScoreError(f"scores: received {self.scores!r}; expected names with commas between them: 'loss,min_k'")
        by_default = self.access == "black" and not self.scores and not self.variants
        n = headline_score("black").variants() if by_default else self.variants
        listed = self.scores or ("one-pass" if self.access == "gray" else ",".join(default_scores(self.access)))
        compared = [s for s in SCORES.values() if n and s.needs_variants and tier(s) == self.access]
        names = [listed, *(f"{s.name}:n={n}" if s.defaults["n"] != n else s.name for s in compared)]
        explicit = {spec.strip() for spec in listed.split(",")}
        for request in requests(",".join(names)):
            check_variants(request.variants, f"score {request.name}: ")
            needed = tier(request.definition)
            if request.name in explicit and needed != self.access:
                raise ScoreError(f"score {request.name} needs --access {needed}, received --access {self.access}")
        return ",".join(names)

    def other_models(self) -> tuple[str, ...]:
        """Return the names of the models besides the audited one; an engine only where a score compares rewritings."""
        rewrites = any(request.variants for request in requests(self.specification()))
        engine = self.variant_engine if rewrites and self.variant_engine != DETERMINISTIC else None
        return tuple(name for name in (self.reference, engine) if name is not None)

    def plan(self, model: str, opener: Opener) -> tuple[Plan, tuple[str, ...]]:
        """Open the models and say what will be run on them.

        Returns:
            The plan, and a note for each score of a list that was left out.

        Raises:
            AssayError: a model cannot be opened, or cannot give what a score needs.
        """
        names = self.specification()
        chosen_scores = requests(names)

        def rewriter(names_from: str | Generator | None) -> Rewriter:
            return opener.rewriter(self.variant_engine, self.variant_kinds, chosen_scores, names_from, self.rename)

        # before a large model is loaded: a kind of rewriting may be misspelt, or the engine may not be there
        ready = None if self.names_from == OWN_NAMES else rewriter(self.names_from)
        if self.access == "black":
            if self.reference is not None:
                raise ScoreError("--reference needs the token probabilities of both models: expected --access gray")
            chosen, notes = self._computable(names, None, None)
            generator = opener.generator(model)
            return plan(chosen, {}, generator=generator, rewriter=ready or rewriter(generator)), notes
        named = None if self.frequencies is None else FrequencyTable.load(self.frequencies)
        models = opener.roles(model, self.reference)
        table = frequencies_for(models["target"], named)
        chosen, notes = self._computable(names, models["target"], table)
        return plan(chosen, models, table, rewriter=ready or rewriter(_generator_of(models["target"]))), notes

    def for_control(self) -> "ScoreSelection":
        """Return the scores of a negative control: those of one model without a table, and those flagged `weights`."""
        if self.access == "black":
            return self
        names = [
            request.name
            for request in requests(self.specification())
            if request.definition.access != "two models" and not request.definition.needs_frequencies
        ]
        listed = ",".join(dict.fromkeys([*names, *flagged("weights")]))
        return replace(self, scores=listed, variants=0, reference=None, frequencies=None)

    def _computable(
        self, names: str, target: LogProbScorer | None, table: FrequencyTable | None
    ) -> tuple[tuple[ScoreRequest, ...], tuple[str, ...]]:
        """Return the scores that can be computed, and a note for each other score of a list.

        A score that is requested by its own name stays, so that the plan can say what it lacks.
        """
        explicit = {spec.strip() for spec in names.split(",")}
        chosen, notes = [], []
        for request in requests(names):
            missing = self._missing(request.definition, target, table)
            if missing is None or (request.name in explicit and tier(request.definition) == self.access):
                chosen.append(request)
            else:
                notes.append(f"{request.name} was left out: {missing}.")
        return tuple(chosen), tuple(notes)

    def _missing(
        self, score: ScoreDefinition, target: LogProbScorer | None, table: FrequencyTable | None
    ) -> str | None:
        """Return why a score cannot be computed, None if it can."""
        if tier(score) != self.access:
            return f"it needs --access {tier(score)}"
        if target is not None and not gives(target, score.statistics):
            return f"the model gives no {'ranks' if score.statistics is RankedLogProbs else 'whole distributions'}"
        if score.needs_frequencies and target is not None and target.tokenizer_digest is None:
            return "the model does not show its tokenizer"
        if score.needs_frequencies and table is None:
            return "it needs token frequencies for this tokenizer (--frequencies)"
        if score.access == "two models" and self.reference is None:
            return "it needs a second model (--reference)"
        return None


def _generator_of(scorer: LogProbScorer) -> Generator:
    """Return the audited model as one that generates, without loading it a second time.

    Raises:
        MissingCapability: it does not generate text.
    """
    model = scorer.scorer if isinstance(scorer, CachedScorer) else scorer
    if not isinstance(model, Generator):
        raise MissingCapability(f"{scorer.name} does not generate text: expected another source than --names-from self")
    return model


def tier(score: ScoreDefinition) -> Tier:
    """Return the access that a score needs of a model, or of each of two."""
    return "black" if score.access == "black" else "gray"


def frequencies_for(scorer: LogProbScorer, named: FrequencyTable | None) -> FrequencyTable | None:
    """Return the table that the user named; without one, the shipped table if it belongs to the model's tokenizer."""
    if named is not None:
        return named
    shipped = FrequencyTable.load(builtin_folder("small") / "frequencies.npz")
    return shipped if shipped.tokenizer_digest == scorer.tokenizer_digest else None
