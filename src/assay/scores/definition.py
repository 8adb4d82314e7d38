"""What a score is: a pure function whose parameter types say what has to be run for it.

    @score(title="Min-K%", formula="…", reference="…")
    def min_k(target: LogProbs, *, k: float = 0.2) -> float: ...

`target: LogProbs` asks for the log-probabilities of the sample under the audited model,
`lowercased: LowercasedLogProbs` for those of its lower-cased form,
`reference: ReferenceLogProbs` for those of a second model, `variants: Variants` for those of the first n
semantics-preserving rewritings, n being a parameter of the score; `text: Text` and
`frequencies: FrequencyTable` ask for the text and for a token-frequency table. `own: Continuations` asks a model that
only writes for what it writes where the text is cut, `variants: VariantContinuations` the same of the rewritings;
`cut` says where that is. Keyword-only parameters are the score's own, with the paper's defaults. Nothing else has to be
said anywhere.
"""

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Literal, TypeVar, get_args, get_origin, get_type_hints

from assay.errors import ScoreError, Unscorable
from assay.scores.continuation import Continuation, Cut
from assay.scores.frequency import FrequencyTable
from assay.types import TokenLogProbs, TokenStatistics, Unread

Form = Literal["original", "lowercase"]
Role = Literal["target", "reference"]
Access = Literal["gray", "black", "two models"]
"""What has to be had of a model: its token probabilities, only what it writes, or those of two models."""


@dataclass(frozen=True, slots=True)
class View:
    """One thing to be run: a form of the sample's text under a model in a role."""

    form: Form = "original"
    role: Role = "target"

    def __str__(self) -> str:
        return f"{self.form} text under the {self.role} model"


Statistics = Annotated[TokenStatistics, View()]
LogProbs = Annotated[TokenLogProbs, View()]
LowercasedLogProbs = Annotated[TokenLogProbs, View(form="lowercase")]
ReferenceLogProbs = Annotated[TokenLogProbs, View(role="reference")]
Variants = Annotated[tuple[TokenLogProbs, ...], "variants"]
Continuations = Annotated[tuple[Continuation, ...], "continuations"]
VariantContinuations = Annotated[tuple[tuple[Continuation, ...], ...], "continuations of variants"]
Text = Annotated[str, "text"]

Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class Inputs:
    """All that a score may ask for, of one sample.

    `variants` holds as many rewritings as could be made; `no_variants` says why where there are too few.
    `continuations` has for every cut those of the text itself, then those of each rewriting; a text too short to be
    cut has none. `Unread` stands for what the model did not take.
    """

    text: str
    views: Mapping[View, TokenLogProbs | Unread]
    frequencies: FrequencyTable | None = None
    variants: tuple[TokenLogProbs | Unread, ...] = ()
    no_variants: str | None = None
    continuations: Mapping[Cut, tuple[tuple[Continuation, ...] | Unread, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ScoreDefinition:
    """A registered score.

    Attributes:
        name: public name.
        title: what the field calls it.
        formula: one line, in the notation of the documentation.
        reference: where it was published.
        function: the pure function; its first line of documentation is `summary`.
        views: parameter name → view it asks for.
        needs_full_statistics: whether log-probabilities alone are too little (ranks, entropy …).
        needs_text: whether the function takes the text.
        needs_frequencies: whether the function takes a token-frequency table.
        needs_variants: whether the function takes rewritings of the text; then `n` says how many.
        cutting: for a score of what a model writes: parameters → where the text is cut; else None.
        rule: the value above which the paper itself calls a sample leaked; None where it names none.
        defaults: hyper-parameter → the paper's default.
        counts: words → function of the target's statistics that counts something worth reporting.
    """

    name: str
    title: str
    formula: str
    reference: str
    function: Callable[..., float]
    views: Mapping[str, View]
    needs_full_statistics: bool
    needs_text: bool
    needs_frequencies: bool
    needs_variants: bool
    cutting: Callable[..., Cut] | None
    defaults: Mapping[str, object]
    counts: Mapping[str, Callable[[TokenStatistics], int]] = field(default_factory=dict)
    rule: float | None = None

    @property
    def summary(self) -> str:
        """The first line of the function's documentation."""
        return inspect.getdoc(self.function).splitlines()[0]  # type: ignore[union-attr]  # `score` insists on one

    @property
    def access(self) -> Access:
        """The access that the score needs."""
        if self.cutting:
            return "black"
        return "two models" if any(view.role == "reference" for view in self.views.values()) else "gray"

    @property
    def passes(self) -> int:
        """Forward passes per sample that this score alone would cost; 0 where the model writes instead."""
        return 0 if self.cutting else len(set(self.views.values())) + self.variants()

    def cut(self, **parameters: object) -> Cut | None:
        """Where the score cuts a text for a model that writes on; None where it needs none.

        Raises:
            ScoreError: a parameter out of its range.
        """
        return self.cutting(**{**self.defaults, **parameters}) if self.cutting else None

    def variants(self, **parameters: object) -> int:
        """How many rewritings of each text the score compares."""
        return int(str(parameters.get("n", self.defaults["n"]))) if self.needs_variants else 0

    def needs(self) -> str:
        """What has to be run or given, in words."""
        parts = [str(view) for view in dict.fromkeys(self.views.values())]
        if self.needs_full_statistics:
            parts[0] += " (full distribution)"
        if self.needs_frequencies:
            parts.append("token-frequency table")
        if self.cutting:
            parts.append("what the target model writes where the text is cut")
        if self.needs_variants:
            parts.append("n rewritings of the text under the target model")
        return ", ".join(parts)

    def __call__(self, inputs: Inputs, **parameters: object) -> float:
        """The oriented value of one sample: higher = member.

        Raises:
            Unscorable: with the reason, when the sample has no value under this score.
        """
        views = {name: read(inputs.views[view]) for name, view in self.views.items()}
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
            arguments["own"] = read(own)
        if self.needs_variants:
            wanted = self.variants(**parameters)
            if inputs.no_variants and len(variants) < wanted:
                raise Unscorable(inputs.no_variants)
            arguments["variants"] = tuple(read(one, "a variant: ") for one in variants[:wanted])
        value = float(self.function(**arguments, **parameters))
        if not math.isfinite(value):
            raise Unscorable("value is not finite")
        return value


def read(answer: Answer | Unread, whose: str = "") -> Answer:
    """What the model said.

    Raises:
        Unscorable: it did not take the text, and says why; `whose` text it was stands before that.
    """
    if isinstance(answer, Unread):
        raise Unscorable(whose + answer.reason)
    return answer


def score(
    *,
    title: str,
    formula: str,
    reference: str,
    counts: Mapping[str, Callable[[TokenStatistics], int]] | None = None,
    rule: float | None = None,
    cut: Callable[..., Cut] | None = None,
) -> Callable[[Callable[..., float]], ScoreDefinition]:
    """Make a pure function a score; its parameter types declare what it needs.

    Raises:
        ScoreError: when a parameter's type says nothing about what is needed.
    """

    def define(function: Callable[..., float]) -> ScoreDefinition:
        hints = get_type_hints(function, include_extras=True)
        views: dict[str, View] = {}
        defaults: dict[str, object] = {}
        full = False
        for parameter in inspect.signature(function).parameters.values():
            hint = hints[parameter.name]
            if parameter.kind is inspect.Parameter.KEYWORD_ONLY:
                defaults[parameter.name] = parameter.default
            elif get_origin(hint) is Annotated and isinstance(hint.__metadata__[0], View):
                views[parameter.name] = hint.__metadata__[0]
                full = full or get_args(hint)[0] is TokenStatistics
            elif hint not in (Text, FrequencyTable, Variants, Continuations, VariantContinuations):
                raise ScoreError(
                    f"score {function.__name__}: parameter {parameter.name} has type {hint}, no known need"
                )
        return ScoreDefinition(
            name=function.__name__,
            title=title,
            formula=formula,
            reference=reference,
            function=function,
            views=views,
            needs_full_statistics=full,
            needs_text=Text in hints.values(),
            needs_frequencies=FrequencyTable in hints.values(),
            needs_variants=not {Variants, VariantContinuations}.isdisjoint(hints.values()),
            cutting=cut,
            defaults=defaults,
            counts=dict(counts or {}),
            rule=rule,
        )

    return define
