"""Sample-level scores: pure functions whose parameter types declare what has to be run.

    @score(title="Min-K%", formula="…", reference="…")
    def min_k(target: LogProbs, *, k: float = 0.2) -> float: ...

`target: LogProbs` asks for the log-probabilities of the sample under the audited model, `target: RankedTokens` for
these with ranks, `target: Statistics` for all statistics,
`lowercased: LowercasedLogProbs` for those of its lower-cased form, `reference: ReferenceLogProbs` for those of a second
model, `variants: Variants` for those of the first n semantics-preserving rewritings, n being a parameter of the score;
`text: Text` and `frequencies: FrequencyTable` ask for the text and for a token-frequency table.
`own: Continuations` asks a model that only generates text for its continuation at the cut of the text,
`variants: VariantContinuations` the same for the rewritings; `cut` sets the place.
`pair: PairStatistics` asks for the text under two models at once. `StyleCopies`, `SpanCopies`, `Restorations`,
`RevisionSimilarities` and `TaskStatistics` ask for `n` derivations of the text: copies that were perturbed, revisions
by a model, the text behind a description of its task. Keyword-only parameters are the score's own, with the paper's
defaults. Nothing else has to be declared anywhere.
"""

import inspect
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, TypeVar, Unpack, get_args, get_origin, get_type_hints

from assay.errors import ScoreError, Unscorable
from assay.scores.continuation import Continuation, Cut
from assay.scores.detector import Access, Detector, ScoreOptions
from assay.scores.frequency import FrequencyTable
from assay.scores.parameters import check_parameters, defaults_of
from assay.types import RankedLogProbs, Rejected, TokenLogProbs, TokenStatistics

TextForm = Literal["original", "lowercase"]
ModelRole = Literal["target", "reference", "tuned", "pair"]
"""The audited model, a second model, the audited model after fine-tuning, and an observer with a performer."""
DerivationKind = Literal["style", "spans", "restored", "revised", "task"]
"""What is derived from a text, and measured by models, before a score sees it.

- style: statistics of copies with random white space, under the target.
- spans: statistics of copies with spans that another model filled, under the target.
- restored: statistics of the text given each of its revisions, under a sequence-to-sequence model.
- revised: similarity of each revision to the text, -1 to 1.
- task: statistics of the code tokens behind a description of the task, under the target.
"""


@dataclass(frozen=True, slots=True)
class View:
    """One thing to be run: a form of the sample's text under a model in a role."""

    form: TextForm = "original"
    role: ModelRole = "target"

    def __str__(self) -> str:
        return f"{self.form} text under the {self.role} model"


Statistics = Annotated[TokenStatistics, View()]
RankedTokens = Annotated[RankedLogProbs, View()]
LogProbs = Annotated[TokenLogProbs, View()]
LowercasedLogProbs = Annotated[TokenLogProbs, View(form="lowercase")]
ReferenceLogProbs = Annotated[TokenLogProbs, View(role="reference")]
TunedLogProbs = Annotated[TokenLogProbs, View(role="tuned")]
Variants = Annotated[tuple[TokenLogProbs, ...], "variants"]
Continuations = Annotated[tuple[Continuation, ...], "continuations"]
VariantContinuations = Annotated[tuple[tuple[Continuation, ...], ...], "continuations of variants"]
Text = Annotated[str, "text"]
PairStatistics = Annotated[TokenStatistics, View(role="pair")]
"""Log-probabilities under the performer; entropy and variance are those of the performer's log-probabilities in the
expectation of the observer."""


@dataclass(frozen=True, slots=True)
class Derivation:
    """A request for derivations of one kind."""

    kind: DerivationKind


StyleCopies = Annotated[tuple[TokenStatistics, ...], Derivation("style")]
SpanCopies = Annotated[tuple[TokenStatistics, ...], Derivation("spans")]
Restorations = Annotated[tuple[TokenLogProbs, ...], Derivation("restored")]
RevisionSimilarities = Annotated[tuple[float, ...], Derivation("revised")]
TaskStatistics = Annotated[tuple[TokenStatistics, ...], Derivation("task")]


@dataclass(frozen=True, slots=True)
class Derived:
    """The derivations of one text.

    Attributes:
        values: statistics or numbers; as many as could be made.
        failures: reason → how often an attempt to make one failed.
    """

    values: tuple[object, ...]
    failures: Mapping[str, int] = field(default_factory=dict)


DERIVATION_NEEDS: Mapping[DerivationKind, str] = {
    "style": "n copies of the text with random white space under the target model",
    "spans": "n copies of the text with filled spans under the target model (a filler)",
    "restored": "the text given its revision under a sequence-to-sequence model (a reviser and a restorer)",
    "revised": "n revisions of the text (a reviser) and an encoder",
    "task": "the text behind a description of its task (a reviser) under the target model",
}
_DETAIL = {TokenLogProbs: "", RankedLogProbs: " (with ranks)", TokenStatistics: " (full distribution)"}
_Reply = TypeVar("_Reply")


@dataclass(frozen=True, slots=True)
class SampleInputs:
    """All inputs that a score of one sample may use.

    Attributes:
        text: of the sample.
        views: what the models returned for each view; `Rejected` where a model rejected the text.
        frequencies: the token-frequency table, if there is one.
        variants: as many rewritings as could be generated.
        no_variants: the reason where those are too few.
        continuations: cut → those of the text itself, then those of each rewriting; a text too short to be cut has
            none.
        derived: kind → derivations; `Rejected` where none could be made.
    """

    text: str
    views: Mapping[View, TokenLogProbs | Rejected]
    frequencies: FrequencyTable | None = None
    variants: tuple[TokenLogProbs | Rejected, ...] = ()
    no_variants: str | None = None
    continuations: Mapping[Cut, tuple[tuple[Continuation, ...] | Rejected, ...]] = field(default_factory=dict)
    derived: Mapping[DerivationKind, Derived | Rejected] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreDefinition(Detector):
    """A sample-level score.

    Attributes:
        function: the pure function; the first line of its documentation is `summary`.
        views: parameter name → view it asks for.
        statistics: the least that a model has to give: log-probabilities alone, these with ranks, or all statistics.
        needs_text: True if the function takes the text.
        needs_frequencies: True if the function takes a token-frequency table.
        needs_variants: True if the function takes rewritings of the text; `n` is their number.
        derivations: parameter name → kind of derivation it asks for; `n` is their number.
        cutting: for a score of generated text: parameters → where the text is cut; else None.
        defaults: hyper-parameter → the paper's default.
        counts: description → function of the target's statistics that counts something worth reporting.
    """

    kind = "sample"
    function: Callable[..., float]
    views: Mapping[str, View]
    statistics: type[TokenLogProbs]
    needs_text: bool
    needs_frequencies: bool
    needs_variants: bool
    derivations: Mapping[str, DerivationKind]
    cutting: Callable[..., Cut] | None
    defaults: Mapping[str, object]
    counts: Mapping[str, Callable[[TokenStatistics], int]] = field(default_factory=dict)

    @property
    def summary(self) -> str:
        """The first line of the function's documentation."""
        return inspect.getdoc(self.function).splitlines()[0]  # type: ignore[union-attr]  # `score` requires it

    @property
    def passes(self) -> int:
        """Forward passes per sample that this score alone would cost; 0 where the model generates text instead.

        To make derivations counts as one pass more, whatever another model does for it.
        """
        if self.cutting:
            return 0
        views = sum(2 if view.role == "pair" else 1 for view in set(self.views.values()))
        return views + self.variants() + (1 + self.derived()) * len(self.derivations)

    def cut(self, **parameters: object) -> Cut | None:
        """Return where the score cuts a text for a model that continues it; None for any other score."""
        return self.cutting(**{**self.defaults, **parameters}) if self.cutting else None

    def variants(self, **parameters: object) -> int:
        """Return how many rewritings of each text the score compares."""
        return int(str(parameters.get("n", self.defaults["n"]))) if self.needs_variants else 0

    def derived(self, **parameters: object) -> int:
        """Return how many derivations of each text the score compares."""
        return int(str(parameters.get("n", self.defaults["n"]))) if self.derivations else 0

    def needs(self) -> str:
        """Describe in words what has to be run or supplied."""
        parts = [str(view) for view in dict.fromkeys(self.views.values())]
        if parts:
            parts[0] += _DETAIL[self.statistics]
        if self.needs_frequencies:
            parts.append("token-frequency table")
        if self.cutting:
            parts.append("the target model's continuation at the cut of the text")
        if self.needs_variants:
            parts.append("n rewritings of the text under the target model")
        parts += [DERIVATION_NEEDS[kind] for kind in self.derivations.values()]
        return ", ".join(parts)

    def __call__(self, inputs: SampleInputs, **parameters: object) -> float:
        """Return the oriented value of one sample: higher = the positive label.

        Raises:
            ScoreError: a parameter has a value outside of its type.
            Unscorable: with the reason, when the sample has no value under this score.
        """
        check_parameters(self.name, self.function, parameters)
        # the same view under two names is run once: views are values, and the engine takes their union
        views = {name: accepted(inputs.views[view]) for name, view in self.views.items()}
        if not all(map(len, views.values())):
            raise Unscorable("fewer than 2 tokens")
        arguments: dict[str, object] = {**views}
        if self.needs_text:
            arguments["text"] = inputs.text
        if self.needs_frequencies:
            arguments["frequencies"] = inputs.frequencies
        variants: Sequence[object] = inputs.variants
        if cut := self.cut(**parameters):
            own, *variants = inputs.continuations[cut]
            arguments["own"] = accepted(own)
        if self.needs_variants:
            n = self.variants(**parameters)
            if inputs.no_variants and len(variants) < n:
                raise Unscorable(inputs.no_variants)
            arguments["variants"] = tuple(accepted(variant, "a variant: ") for variant in variants[:n])
        for name, kind in self.derivations.items():
            arguments[name] = accepted(inputs.derived[kind]).values[: self.derived(**parameters)]
        # a score is a pure function of frozen inputs: nothing but them can change its value
        value = float(self.function(**arguments, **parameters))
        if not math.isfinite(value):
            raise Unscorable("value is not finite")
        return value


def accepted(reply: _Reply | Rejected, prefix: str = "") -> _Reply:
    """Return what a model returned for a text.

    Raises:
        Unscorable: the model rejected the text; `prefix` and the reason are the message.
    """
    if isinstance(reply, Rejected):
        raise Unscorable(prefix + reply.reason)
    return reply


def score(
    *,
    counts: Mapping[str, Callable[[TokenStatistics], int]] | None = None,
    cut: Callable[..., Cut] | None = None,
    **options: Unpack[ScoreOptions],
) -> Callable[[Callable[..., float]], ScoreDefinition]:
    """Make a pure function a score; its parameter types declare what it needs.

    Args:
        counts: see `ScoreDefinition`.
        cut: `ScoreDefinition.cutting`.
        options: further fields of `Detector`: title, formula, reference, positive, flags, rule, aliases.

    Raises:
        ScoreError: a parameter's type is not one of the inputs of scores, or the function has no documentation.
    """

    def define(function: Callable[..., float]) -> ScoreDefinition:
        name = function.__name__
        if not inspect.getdoc(function):
            raise ScoreError(f"score {name} has no docstring; expected one line that says what it measures")
        hints = get_type_hints(function, include_extras=True)
        views: dict[str, View] = {}
        derivations: dict[str, DerivationKind] = {}
        statistics: type[TokenLogProbs] = TokenLogProbs
        for parameter in inspect.signature(function).parameters.values():
            hint: Any = hints.get(parameter.name)
            if parameter.kind is inspect.Parameter.KEYWORD_ONLY:
                continue
            # the types of the parameters are the whole declaration: what a score needs is read off its signature
            if get_origin(hint) is Annotated and isinstance(hint.__metadata__[0], Derivation):
                derivations[parameter.name] = hint.__metadata__[0].kind
            elif get_origin(hint) is Annotated and isinstance(hint.__metadata__[0], View):
                views[parameter.name] = hint.__metadata__[0]
                # of several views the most demanding one counts: each class derives from those that hold less
                statistics = max(statistics, get_args(hint)[0], key=lambda kind: len(kind.__mro__))
            elif hint not in (Text, FrequencyTable, Variants, Continuations, VariantContinuations):
                raise ScoreError(
                    f"score {name}: parameter {parameter.name} has type {hint}, expected one such as LogProbs"
                )
        return ScoreDefinition(
            name=name,
            access=needed_access(views, derivations.values(), cut),
            function=function,
            views=views,
            statistics=statistics,
            needs_text=Text in hints.values(),
            needs_frequencies=FrequencyTable in hints.values(),
            needs_variants=not {Variants, VariantContinuations}.isdisjoint(hints.values()),
            derivations=derivations,
            cutting=cut,
            defaults=defaults_of(function),
            counts=dict(counts or {}),
            **options,
        )

    return define


def needed_access(
    views: Mapping[str, View], derivations: Collection[DerivationKind], cut: Callable[..., Cut] | None
) -> Access:
    """Return the access that a score with these views and derivations, or with this cut, needs."""
    if cut:
        return "black"
    roles = {view.role for view in views.values()}
    if "pair" in roles or not set(derivations) <= {"style"}:
        return "several models"
    return "two models" if roles - {"target"} else "gray"
