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
A type that is annotated with a `Derivation` asks for `n` derivations of the text, which a plug-in makes. Keyword-only
parameters are the score's own, with the paper's defaults. Nothing else has to be declared anywhere.
"""

import inspect
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Annotated, Any, Literal, TypeVar, Unpack, cast, get_args, get_type_hints

from assay.errors import ScoreError, Unscorable
from assay.scores.continuation import Continuation, Cut
from assay.scores.derivation import Derivation, Derived
from assay.scores.detector import Access, Detector, ScoreOptions
from assay.scores.frequency import FrequencyTable
from assay.scores.parameters import check_parameters, defaults_of
from assay.types import RankedLogProbs, Rejected, TokenLogProbs, TokenStatistics

TextForm = Literal["original", "lowercase"]
ModelRole = Literal["target", "reference", "tuned"]
"""The audited model, a second model, and the audited model after fine-tuning."""


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
Variants = Annotated[tuple[TokenLogProbs, ...], "variants"]
Continuations = Annotated[tuple[Continuation, ...], "continuations"]
VariantContinuations = Annotated[tuple[tuple[Continuation, ...], ...], "continuations of variants"]
Text = Annotated[str, "text"]
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
        derived: name of a derivation → what was made; `Rejected` where none could be made.
    """

    text: str
    views: Mapping[View, TokenLogProbs | Rejected]
    frequencies: FrequencyTable | None = None
    variants: tuple[TokenLogProbs | Rejected, ...] = ()
    no_variants: str | None = None
    continuations: Mapping[Cut, tuple[tuple[Continuation, ...] | Rejected, ...]] = field(default_factory=dict)
    derived: Mapping[str, Derived | Rejected] = field(default_factory=dict)


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
        derivations: parameter name → derivation it asks for; `n` is their number, 1 without such a parameter.
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
    derivations: Mapping[str, Derivation]
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
        # a rewriting is one more text to be read by the model
        return len(set(self.views.values())) + self.variants() + (1 + self.derived()) * len(self.derivations)

    def cut(self, **parameters: object) -> Cut | None:
        """Return where the score cuts a text for a model that continues it; None for any other score."""
        return self.cutting(**{**self.defaults, **parameters}) if self.cutting else None

    def variants(self, **parameters: object) -> int:
        """Return how many rewritings of each text the score compares."""
        return self._number(parameters) if self.needs_variants else 0

    def derived(self, **parameters: object) -> int:
        """Return how many derivations of each text the score compares."""
        return self._number(parameters) if self.derivations else 0

    def _number(self, parameters: Mapping[str, object]) -> int:
        return cast("int", {"n": 1, **self.defaults, **parameters}["n"])  # by the type of the parameter

    def needs(self) -> str:
        """Describe in words what has to be run or supplied."""
        parts = list(map(str, dict.fromkeys(self.views.values())))
        if parts:
            parts[0] += _DETAIL[self.statistics]
        if self.needs_frequencies:
            parts.append("token-frequency table")
        if self.cutting:
            parts.append("the target model's continuation at the cut of the text")
        if self.needs_variants:
            parts.append("n rewritings of the text under the target model")
        parts += map(attrgetter("needs"), self.derivations.values())
        return ", ".join(parts)

    def __call__(self, inputs: SampleInputs, **parameters: object) -> float:
        """Return the oriented value of one sample: higher = the positive label.

        Raises:
            ScoreError: a parameter has a value outside of its type.
            Unscorable: with the reason, when the sample has no value under this score.
        """
        check_parameters(self.name, self.function, parameters)
        # a score is a pure function of frozen inputs: nothing but them can change its value
        value = float(self.function(**self._arguments(inputs, parameters), **parameters))
        if not math.isfinite(value):
            raise Unscorable("value is not finite")
        return value

    def _arguments(self, inputs: SampleInputs, parameters: Mapping[str, object]) -> dict[str, object]:
        """Return what the function asks for by the types of its parameters."""
        # the same view under two names is run once: views are values, and the engine takes their union
        views = {name: accepted(inputs.views[view]) for name, view in self.views.items()}
        # the first token has no prediction, so one token has no statistics
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
        for name, derivation in self.derivations.items():
            arguments[name] = accepted(inputs.derived[derivation.name]).values[: self.derived(**parameters)]
        return arguments


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
        derivations: dict[str, Derivation] = {}
        statistics: type[TokenLogProbs] = TokenLogProbs
        for parameter in inspect.signature(function).parameters.values():
            hint: Any = hints.get(parameter.name)
            if parameter.kind is inspect.Parameter.KEYWORD_ONLY:
                continue
            # the types of the parameters are the whole declaration: what a score needs is read off its signature
            need = next(iter(getattr(hint, "__metadata__", ())), None)
            if isinstance(need, Derivation):
                derivations[parameter.name] = need
            elif isinstance(need, View):
                views[parameter.name] = need
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
    views: Mapping[str, View], derivations: Collection[Derivation], cut: Callable[..., Cut] | None
) -> Access:
    """Return the access that a score with these views and derivations, or with this cut, needs."""
    if cut:
        return "black"
    # a derivation without further models is made by the audited one
    if any(derivation.required for derivation in derivations):
        return "several models"
    return "two models" if {view.role for view in views.values()} - {"target"} else "gray"
