"""The plan: the union of what all requested scores need, checked before a model runs."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from assay.errors import MissingCapability, ScoreError
from assay.scores.definition import Role, View
from assay.scores.frequency import FrequencyTable
from assay.scores.registry import ScoreRequest
from assay.scoring.rewriters import Deterministic, Rewriter
from assay.types import LogProbScorer, TokenScorer


@dataclass(frozen=True, slots=True)
class Plan:
    """What will be run.

    Attributes:
        requests: the scores, in the order asked for.
        views: the plain view and every other that at least one score needs, once.
        models: role → model, for the roles that the views name.
        frequencies: token-frequency table of the target's tokenizer, if one was given.
        rewriter: who makes the rewritings of each text.
    """

    requests: tuple[ScoreRequest, ...]
    views: tuple[View, ...]
    models: Mapping[Role, LogProbScorer]
    frequencies: FrequencyTable | None
    rewriter: Rewriter = field(default_factory=Deterministic)

    @property
    def roles(self) -> Collection[Role]:
        """The roles that have to run, each once."""
        return dict.fromkeys(view.role for view in self.views)

    @property
    def variants(self) -> int:
        """Rewritings of each text that at least one score compares."""
        return max((one.variants for one in self.requests), default=0)


def plan(
    requests: Sequence[ScoreRequest],
    models: Mapping[Role, LogProbScorer],
    frequencies: FrequencyTable | None = None,
    *,
    rewriter: Rewriter | None = None,
) -> Plan:
    """The union of what the scores need.

    Raises:
        MissingCapability: a score needs a model in a role that nobody plays, or more than its model gives.
        ScoreError: a score needs a token-frequency table and none, or one of another tokenizer, was given.
    """
    views = dict.fromkeys([View(), *(view for one in requests for view in one.definition.views.values())])
    for one in requests:
        for view in one.definition.views.values():
            if view.role not in models:
                raise MissingCapability(
                    f"score {one.name} needs a {view.role} model: give one with --{view.role} MODEL"
                )
            check_statistics(one, models[view.role])
        if one.definition.needs_frequencies:
            check_frequencies(one.name, models["target"], frequencies)
    return Plan(tuple(requests), tuple(views), models, frequencies, rewriter or Deterministic())


def check_statistics(request: ScoreRequest, model: LogProbScorer) -> None:
    """A score of whole distributions needs a model that gives them.

    Raises:
        MissingCapability: it gives log-probabilities alone.
    """
    if request.definition.needs_full_statistics and not isinstance(model, TokenScorer):
        raise MissingCapability(
            f"score {request.name} needs ranks or entropies; {model.name} gives log-probabilities alone: expected "
            "scores that need no more (`assay score --list`), or the model opened from its weights"
        )


def check_frequencies(name: str, model: LogProbScorer, frequencies: FrequencyTable | None) -> None:
    """A table must be there and must belong to the model's tokenizer.

    Raises:
        ScoreError: when it does not.
    """
    if frequencies is None:
        raise ScoreError(
            f"score {name} needs token frequencies for the tokenizer of {model.name}: make them with "
            f"`assay frequencies build {model.name} CORPUS -o FILE` and give --frequencies FILE"
        )
    if frequencies.tokenizer_digest != model.tokenizer_digest:
        raise ScoreError(
            f"the token-frequency table ({frequencies.source}) belongs to tokenizer "
            f"{frequencies.tokenizer_digest[:12]}, expected {model.tokenizer_digest[:12]}, that of {model.name}"
        )
