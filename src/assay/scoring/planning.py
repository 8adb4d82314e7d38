"""The plan: the union of what all requested scores need, checked before a model runs."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from operator import attrgetter

from assay.errors import MissingCapability, ScoreError
from assay.models import CachedLogProbScorer
from assay.scores import Cut, Deriver, FrequencyTable, ModelRole, ScoreDefinition, ScoreRequest, SuffixCut, View
from assay.scoring.rewriters import Deterministic, Rewriter
from assay.types import Generator, LogProbScorer, RankedLogProbs, TokenGenerator, gives

_MISSING: Mapping[ModelRole, str] = {
    "target": "needs the model's token probabilities (--access gray); received a model that only generates text",
    "reference": "needs a reference model: give one with --reference MODEL (builtin:control reads eight languages)",
    "tuned": "needs the model after fine-tuning on the data set; received none",
}


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything that will be run.

    Attributes:
        requests: the scores, in the order asked for.
        views: the plain view and every other that at least one score needs, once; none where only a generator is there.
        models: role → model, for the roles that the views name.
        frequencies: token-frequency table of the target's tokenizer, if one was given.
        generator: the target as a model that generates, for the scores that need no more.
        rewriter: makes the rewritings of each text.
        derivers: name of a derivation → what makes it.
    """

    requests: tuple[ScoreRequest, ...]
    views: tuple[View, ...]
    models: Mapping[ModelRole, LogProbScorer]
    frequencies: FrequencyTable | None
    generator: Generator | None = None
    rewriter: Rewriter = field(default_factory=Deterministic)
    derivers: Mapping[str, Deriver] = field(default_factory=dict)

    @property
    def target(self) -> LogProbScorer | Generator:
        """The audited model."""
        return self.models.get("target") or self.generator  # type: ignore[return-value]  # `plan` requires either

    @property
    def name(self) -> str:
        """Name of the target, as the user gave it."""
        return self.target.name

    @property
    def digests(self) -> Mapping[ModelRole, tuple[str, str]]:
        """Role → name and digest of the models that run."""
        digests: dict[ModelRole, tuple[str, str]] = {}
        if self.generator is not None:
            digests["target"] = self.generator.name, generator_digest(self.generator)
        for role in self.roles:
            digests[role] = self.models[role].name, self.models[role].digest
        return digests

    @property
    def roles(self) -> Collection[ModelRole]:
        """The roles that have to run, each once."""
        return dict.fromkeys(view.role for view in self.views)

    @property
    def variants(self) -> int:
        """Rewritings of each text that at least one score compares."""
        return max(map(attrgetter("variants"), self.requests), default=0)

    @property
    def scored_variants(self) -> int:
        """Rewritings of each text that have to be run for their statistics."""
        return max((request.variants for request in self.requests if request.cut is None), default=0)

    @property
    def derivations(self) -> Mapping[str, int]:
        """Name of a derivation → how many of each text at least one score compares."""
        counts: dict[str, int] = {}
        for request in self.requests:
            for derivation in request.definition.derivations.values():
                # scores that compare fewer take the first ones of the same derivations
                counts[derivation.name] = max(request.derived, counts.get(derivation.name, 0))
        return counts

    @property
    def cuts(self) -> Mapping[Cut, int]:
        """Cut → how many rewritings of each text are cut there as well."""
        cuts: dict[Cut, int] = {}
        for request in self.requests:
            if request.cut is not None:
                # rewritings in any number start with the same ones, so the largest number serves all
                cuts[request.cut] = max(request.variants, cuts.get(request.cut, 0))
        return cuts


def plan(
    requests: Sequence[ScoreRequest],
    models: Mapping[ModelRole, LogProbScorer],
    frequencies: FrequencyTable | None = None,
    *,
    generator: Generator | None = None,
    rewriter: Rewriter | None = None,
    derivers: Mapping[str, Deriver] | None = None,
) -> Plan:
    """Return the union of what the scores need.

    Args:
        requests: the scores.
        models: role → model.
        frequencies: token-frequency table.
        generator: the target as a model that generates.
        rewriter: makes rewritings; None for the deterministic engine.
        derivers: name of a derivation → what makes it.

    Raises:
        MissingCapability: a score needs a model in a role that is empty, derivations that nothing makes, a model that
            generates, or more than its model returns: ranks, entropies, a tokenizer.
        ScoreError: a score needs a token-frequency table, and there is none or only that of another tokenizer.
    """
    if "target" not in models and generator is None:
        raise MissingCapability("no model to audit: expected one in the role target, or one that generates text")
    # the union of the needs: a view that several scores share is run once
    # the plain view always: observers and counts look at it
    views = dict.fromkeys([View()] * ("target" in models))
    for request in requests:
        views |= dict.fromkeys(request.definition.views.values())
    check_models(requests, models, derivers or {})
    # everything is refused here, before hours of scoring end in an error
    for request in requests:
        _check_cut(request, generator)
        for view in request.definition.views.values():
            _check_statistics(request, models[view.role])
        if request.definition.needs_frequencies:
            _check_frequencies(request.name, models["target"], frequencies)
    if RankedLogProbs in map(attrgetter("definition.statistics"), requests):
        models = dict(zip(models, map(_requiring_ranks, models.values()), strict=True))
    return Plan(
        requests=tuple(requests),
        views=tuple(views),
        models=models,
        frequencies=frequencies,
        generator=generator,
        rewriter=rewriter or Deterministic(),
        derivers=derivers or {},
    )


def _requiring_ranks(model: LogProbScorer) -> LogProbScorer:
    if isinstance(model, CachedLogProbScorer):
        return model.requiring_ranks()
    return model


def check_models(requests: Sequence[ScoreRequest], roles: Collection[ModelRole], derivations: Collection[str]) -> None:
    """Check that scores have the models that they need; no model is opened for that.

    Args:
        requests: the scores.
        roles: in which there is a model.
        derivations: names of those that something makes.

    Raises:
        MissingCapability: a score needs another role, or another derivation.
    """
    for request in requests:
        for view in request.definition.views.values():
            if view.role not in roles:
                raise MissingCapability(f"score {request.name} {_MISSING[view.role]}")
        for derivation in request.definition.derivations.values():
            if derivation.name not in derivations:
                raise MissingCapability(f"score {request.name} {derivation.missing}")


def _check_cut(request: ScoreRequest, generator: Generator | None) -> None:
    """Check that a score of generated text has a model that generates, and its tokenizer where it compares tokens.

    Raises:
        MissingCapability: it has not.
    """
    if request.cut is None:
        return
    if generator is None:
        raise MissingCapability(f"score {request.name} needs generated text: ask with --access black")
    if (
        isinstance(request.cut, SuffixCut)
        and request.cut.units == "model"
        and not isinstance(generator, TokenGenerator)
    ):
        raise MissingCapability(
            f"score {request.name} compares model tokens, but {generator.name} does not show its tokenizer: "
            "expected units=lexical"
        )


def statistics_in_words(score: ScoreDefinition) -> str:
    """Return what a score needs beyond log-probabilities."""
    if score.statistics is RankedLogProbs:
        return "ranks"
    return "whole distributions"


def generator_digest(generator: Generator) -> str:
    """Return the digest of all that continuations depend on; of the name where there is none, as behind an API."""
    # what a model generates may depend on more than what it scores, such as its chat template
    digest = getattr(generator, "generation_digest", getattr(generator, "digest", None))
    if isinstance(digest, str):
        return digest
    return sha256(f"generator {generator.name}".encode()).hexdigest()


def _check_statistics(request: ScoreRequest, model: LogProbScorer) -> None:
    """Check that a score of ranks or of whole distributions has a model that returns them.

    Raises:
        MissingCapability: the model returns less.
    """
    if not gives(model, request.definition.statistics):
        raise MissingCapability(
            f"score {request.name} needs {statistics_in_words(request.definition)}, which {model.name} does not give: "
            "expected scores that need less (`assay score --list`), or the model opened from its weights"
        )


def _check_frequencies(name: str, model: LogProbScorer, frequencies: FrequencyTable | None) -> None:
    """Check that there is a table, and that it belongs to the model's tokenizer.

    Raises:
        MissingCapability: the model does not show its tokenizer, so that there can be no table.
        ScoreError: there is no table, or it belongs to another tokenizer.
    """
    if model.tokenizer_digest is None:
        raise MissingCapability(
            f"score {name} counts the token ids of a tokenizer, and {model.name} does not show its own: expected the "
            "model opened from its weights, or scores that need no tokenizer (`assay score --list`)"
        )
    if frequencies is None:
        raise ScoreError(
            f"score {name} needs token frequencies for the tokenizer of {model.name}: make them with "
            f"`assay frequencies {model.name} CORPUS -o FILE` and give --frequencies FILE"
        )
    if frequencies.tokenizer_digest != model.tokenizer_digest:
        raise ScoreError(
            f"the token-frequency table ({frequencies.source}) belongs to tokenizer "
            f"{frequencies.tokenizer_digest[:12]}, expected {model.tokenizer_digest[:12]}, that of {model.name}"
        )
