"""The models beside the surrogate that detectors of generated code need, and a plan that has them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from assay.authorship.perturbing import (
    CausalFiller,
    CopyStatistics,
    SentinelFiller,
    SpanPerturbation,
    StylePerturbation,
)
from assay.authorship.revising import ConditionedStatistics, EncodedRevisions, RestoredStatistics, Reviser
from assay.authorship.settings import ScoreModels
from assay.errors import MissingCapability
from assay.models import check_follows_instructions, is_remote, open_builtin_scorer, open_local, open_model
from assay.models import open_seq2seq as open_restorer
from assay.retrieval import open_encoder
from assay.scores import SCORES, DerivationKind, ModelRole, ScoreDefinition, ScoreRequest
from assay.scoring import Deriver, Plan, check_models, frequencies_for, plan
from assay.scoring.opening import Opener
from assay.types import Generator, LogProbScorer, TokenScorer

NEEDED_FOR: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "observer": frozenset({"pair"}),
        "performer": frozenset({"pair"}),
        "filler": frozenset({"spans"}),
        "reviser": frozenset({"restored", "revised", "task"}),
        "restorer": frozenset({"restored"}),
        "encoder": frozenset({"revised"}),
    }
)
"""Model beside the surrogate → roles of models and kinds of derivations that it serves."""


def unused_models(requests: Sequence[ScoreRequest]) -> dict[str, str]:
    """Return model → why it has no effect on these scores, for those that have none."""
    needed = needs_of(request.definition for request in requests)
    return {
        name: f"no requested score needs it; expected --scores with {_listed(serves)}"
        for name, serves in NEEDED_FOR.items()
        if not serves & needed
    }


def needs_of(definitions: Iterable[ScoreDefinition]) -> frozenset[str]:
    """Return the roles of models and the kinds of derivations of scores."""
    return frozenset(
        need
        for definition in definitions
        for need in (*(view.role for view in definition.views.values()), *definition.derivations.values())
    )


def _listed(serves: frozenset[str]) -> str:
    names = [score.name for score in SCORES.values() if serves & needs_of([score])]
    return " or ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))


@dataclass(frozen=True, slots=True)
class DetectorModels(ScoreModels):
    """The models beside the surrogate, which can be checked and opened."""

    def check(self, requests: Sequence[ScoreRequest], opener: Opener) -> None:
        """Check that the scores have their models, and that these can exist and, where they must, follow instructions.

        Raises:
            AssayError: a score has no model, there is no such model, or it is known to follow no instructions.
        """
        roles: set[ModelRole] = {"target", *(("pair",) if self.observer is not None else ())}
        kinds: set[DerivationKind] = {"style"}
        if self.filler is not None:
            kinds.add("spans")
        if self.reviser is not None:
            kinds |= {"revised", "task", *(("restored",) if self.restorer is not None else ())}
        check_models(requests, roles, kinds)
        others = opener.of_other_model()
        others.check(self.observer, self.performer, self.filler, self.reviser, self.restorer)
        if self.reviser is not None:
            check_follows_instructions(self.reviser)

    def plan(
        self, requests: Sequence[ScoreRequest], surrogate: str, opener: Opener, *, window: int | None = None
    ) -> Plan:
        """Open the models that the scores need, each once, and say what will be run.

        Args:
            requests: the scores.
            surrogate: name of the model that they are computed with.
            opener: opens models.
            window: tokens that the surrogate reads at once, where the settings of the opener name no `max_length`.

        Raises:
            AssayError: a model cannot be opened, cannot give what a score needs, or is not named.
        """
        settings = replace(opener.settings, max_length=opener.settings.max_length or window)
        own = replace(opener, settings=settings)
        light = open_builtin_scorer(surrogate, settings)
        target = own.cached_scorer(light) if light is not None else own.scorer(surrogate)
        models: dict[ModelRole, LogProbScorer] = {"target": target}
        roles = {view.role for request in requests for view in request.definition.views.values()}
        if "pair" in roles and self.observer is not None:
            models["pair"] = self._pair(surrogate, opener)
        kinds = {kind for request in requests for kind in request.definition.derivations.values()}
        return plan(requests, models, frequencies_for(target, None), derivers=self._derivers(kinds, target, opener))

    def _derivers(
        self, kinds: set[DerivationKind], target: LogProbScorer, opener: Opener
    ) -> Mapping[DerivationKind, Deriver]:
        """Return what makes the derivations of these kinds, as far as the models for it are named."""
        others = opener.of_other_model()
        derivers: dict[DerivationKind, Deriver] = {}
        if kinds & {"style", "spans", "task"} and not isinstance(target, TokenScorer):
            raise MissingCapability(
                f"{target.name} gives log-probabilities alone: expected a model opened from weights"
            )
        if isinstance(target, TokenScorer):
            if "style" in kinds:
                derivers["style"] = CopyStatistics(StylePerturbation(), target)
            if "spans" in kinds and self.filler is not None:
                derivers["spans"] = CopyStatistics(SpanPerturbation(_filler(self.filler, others)), target)
        if self.reviser is None or not kinds & {"restored", "revised", "task"}:
            return derivers
        reviser = Reviser(others.generator(self.reviser))
        if "revised" in kinds:
            derivers["revised"] = EncodedRevisions(reviser, open_encoder(self.encoder))
        if "restored" in kinds and self.restorer is not None:
            derivers["restored"] = RestoredStatistics(reviser, open_restorer(self.restorer, others.settings))
        if "task" in kinds and isinstance(target, TokenScorer):
            derivers["task"] = ConditionedStatistics(reviser.describing(), target)
        return derivers

    def _pair(self, surrogate: str, opener: Opener) -> LogProbScorer:
        """Open observer and performer.

        Raises:
            MissingCapability: one of them has no weights here.
            ModelError: a model cannot be opened, or their tokenizers differ.
        """
        names = (self.observer or surrogate, self.performer or surrogate)
        for name in names:
            if is_remote(name):
                raise MissingCapability(f"{name} shows no distributions: expected two models opened from their weights")
        from assay.models import ModelPair  # noqa: PLC0415  it imports transformers, which the default does not wait for

        observer, performer = (open_local(name, opener.of_other_model().settings) for name in names)
        return opener.cached_scorer(ModelPair(observer, performer, opener.of_other_model().settings))


def _filler(name: str, opener: Opener) -> SentinelFiller | CausalFiller:
    """Open a filler: the kind of model decides how it is asked."""
    from assay.models import Seq2SeqModel  # noqa: PLC0415  as in _pair

    model: Generator = open_model(name, opener.settings)
    kind = SentinelFiller if isinstance(model, Seq2SeqModel) else CausalFiller
    return kind(opener.cached_generator(model))
