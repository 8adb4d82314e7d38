"""The plan: the union of what all requested scores need, checked before a model runs."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256

from assay.errors import MissingCapability, ScoreError
from assay.scores import Cut, FrequencyTable, Role, ScoreRequest, SuffixCut, View
from assay.scoring.rewriters import Deterministic, Rewriter
from assay.types import Generator, LogProbScorer, TokenGenerator, TokenScorer


@dataclass(frozen=True, slots=True)
class Plan:
    """What will be run.

    Attributes:
        requests: the scores, in the order asked for.
        views: the plain view and every other that at least one score needs, once; none where only a generator is there.
        models: role → model, for the roles that the views name.
        frequencies: token-frequency table of the target's tokenizer, if one was given.
        generator: the target as a model that writes, for the scores that need no more.
        rewriter: who makes the rewritings of each text.
    """

    requests: tuple[ScoreRequest, ...]
    views: tuple[View, ...]
    models: Mapping[Role, LogProbScorer]
    frequencies: FrequencyTable | None
    generator: Generator | None = None
    rewriter: Rewriter = field(default_factory=Deterministic)

    @property
    def name(self) -> str:
        """What the user called the target."""
        return self.models["target"].name if "target" in self.models else self.generator.name  # type: ignore[union-attr]  # `plan` insists on one

    @property
    def digests(self) -> Mapping[Role, tuple[str, str]]:
        """Role → name and digest of the models that run."""
        found: dict[Role, tuple[str, str]] = {}
        if self.generator is not None:
            found["target"] = self.generator.name, generator_digest(self.generator)
        return found | {role: (self.models[role].name, self.models[role].digest) for role in self.roles}

    @property
    def roles(self) -> Collection[Role]:
        """The roles that have to run, each once."""
        return dict.fromkeys(view.role for view in self.views)

    @property
    def variants(self) -> int:
        """Rewritings of each text that at least one score compares."""
        return max((one.variants for one in self.requests), default=0)

    @property
    def scored_variants(self) -> int:
        """Rewritings of each text that have to be run for their statistics."""
        return max((one.variants for one in self.requests if one.cut is None), default=0)

    @property
    def cuts(self) -> Mapping[Cut, int]:
        """Where texts are cut for the generator, and how many rewritings of each are cut there too."""
        found: dict[Cut, int] = {}
        for one in self.requests:
            if one.cut is not None:
                found[one.cut] = max(one.variants, found.get(one.cut, 0))
        return found


def plan(
    requests: Sequence[ScoreRequest],
    models: Mapping[Role, LogProbScorer],
    frequencies: FrequencyTable | None = None,
    *,
    generator: Generator | None = None,
    rewriter: Rewriter | None = None,
) -> Plan:
    """The union of what the scores need.

    Raises:
        MissingCapability: a score needs a model in a role that nobody plays, one that writes, or more than its model
            gives: ranks, entropies, a tokenizer.
        ScoreError: a score needs a token-frequency table and none, or one of another tokenizer, was given.
    """
    if "target" not in models and generator is None:
        raise MissingCapability("no model to audit: expected one in the role target, or one that writes")
    plain = [View()] if "target" in models else []
    views = dict.fromkeys([*plain, *(view for one in requests for view in one.definition.views.values())])
    for one in requests:
        check_cut(one, generator)
        for view in one.definition.views.values():
            if view.role not in models:
                raise MissingCapability(
                    f"score {one.name} needs a {view.role} model: give one with --{view.role} MODEL"
                    if view.role == "reference"
                    else f"score {one.name} needs the model's token probabilities (--access gray); only what it "
                    "writes is to be had"
                )
            check_statistics(one, models[view.role])
        if one.definition.needs_frequencies:
            check_frequencies(one.name, models["target"], frequencies)
    return Plan(tuple(requests), tuple(views), models, frequencies, generator, rewriter or Deterministic())


def check_cut(request: ScoreRequest, generator: Generator | None) -> None:
    """A score of what a model writes needs one that writes, and its tokenizer where it compares model tokens.

    Raises:
        MissingCapability: when it is not there.
    """
    if request.cut is None:
        return
    if generator is None:
        raise MissingCapability(f"score {request.name} needs what the model writes: ask with --access black")
    if (
        isinstance(request.cut, SuffixCut)
        and request.cut.units == "model"
        and not isinstance(generator, TokenGenerator)
    ):
        raise MissingCapability(
            f"score {request.name} compares model tokens, but {generator.name} does not show its tokenizer: "
            "expected units=lexical"
        )


def generator_digest(generator: Generator) -> str:
    """The generator's own digest; of its name where it has none, as behind an API whose weights nobody sees."""
    known = getattr(generator, "digest", None)
    return known if isinstance(known, str) else sha256(f"generator {generator.name}".encode()).hexdigest()


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
        MissingCapability: nobody sees the tokenizer, so that there can be no table.
        ScoreError: there is none, or it belongs to another.
    """
    if model.tokenizer_digest is None:
        raise MissingCapability(
            f"score {name} counts the token ids of a tokenizer, and {model.name} does not show its own: expected the "
            "model opened from its weights, or scores that need no token frequencies (`assay score --list`)"
        )
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
