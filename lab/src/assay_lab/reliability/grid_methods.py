"""Methods of the reliability grid: each is one function from a drawn benchmark to a verdict.

To enter a method, write a function of a `GridDraw` that returns a `Verdict` and add it under `@grid_method`. A method
that has only a value and no rule is entered with `threshold_method`: its threshold is chosen on the choice half.
"""

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial

import numpy as np

from assay.evaluation import (
    MINIMUM_UNSEEN,
    SIGNIFICANCE,
    BlindBaseline,
    conformal_p_values,
    contaminated_share,
    flag_rate,
)
from assay.leakage import Compared, ControlScores, Evidence, UnseenTest, decide, form_test
from assay.leakage.detectors import half_of, projected, welch
from assay.scores import SCORES, headline_score, one_pass
from assay.types import Float64Array, Sample, Verdict
from assay_lab.reliability.planted_pools import CONTEXT_CHANGE
from assay_lab.reliability.tuned_methods import GATE, tuned_requests

RESAMPLES, PERMUTATIONS = 100, 199
ALPHA = 0.05
"""Level at which single texts are flagged."""
MARGINS = (0.05, 0.1, 0.15, 0.2)
"""Margins of "no evidence" that are compared on both halves of the seeds."""
ALLOWANCES = (0.0, 0.25, 0.35, 0.5, 0.67, 1.0)
"""Allowances for familiar projects, in standard deviations of the unseen text, that are compared on both halves."""
DECLARED = headline_score("gray").name
CODEC = "CoDeC"
AVERAGED = tuple(name for name in one_pass() if not SCORES[name].needs_frequencies)
"""Scores whose means over a benchmark are rivals."""


@dataclass(frozen=True, slots=True, eq=False)
class GridDraw:
    """A benchmark of known truth, drawn from a pool, with everything that was scored once.

    Attributes:
        scores: score → float64 [n], of the benchmark; `CONTEXT_CHANGE` among them.
        unseen: score → float64 [m], of the unseen text.
        groups: [n]; `unseen_groups` [m].
        control: values of the declared score under a model that saw neither, of both sides; NaN where it saw a text.
        blind: baseline that never sees the model, measured once on the pool.
        seed: of every random draw.
        samples: the benchmark, and the unseen text.
        tuned: method that fine-tunes, or runs the model many times → its value; empty where it was not run.
    """

    scores: Mapping[str, Float64Array]
    unseen: Mapping[str, Float64Array]
    groups: list[Hashable]
    unseen_groups: list[Hashable]
    control: tuple[Float64Array, Float64Array]
    blind: BlindBaseline | None
    seed: int
    samples: tuple[Sequence[Sample], Sequence[Sample]] = ((), ())
    tuned: Mapping[str, float] = field(default_factory=dict)


GridMethod = Callable[[GridDraw], Verdict]


@dataclass(frozen=True, slots=True)
class GridMethods:
    """The methods of the grid.

    Attributes:
        rules: name → a method that decides by itself.
        values: name → a value that needs a threshold; higher = more contaminated, NaN where there is none.
    """

    rules: dict[str, GridMethod] = field(default_factory=dict)
    values: dict[str, Callable[[GridDraw], float]] = field(default_factory=dict)


METHODS = GridMethods()


def grid_method(name: str) -> Callable[[GridMethod], GridMethod]:
    """Enter a method that decides by itself."""

    def enter(method: GridMethod) -> GridMethod:
        METHODS.rules[name] = method
        return method

    return enter


def threshold_method(name: str, value: Callable[[GridDraw], float]) -> None:
    """Enter a value; its threshold is the best on the choice half of the draws."""
    METHODS.values[name] = value


def called(significant: bool) -> Verdict:  # noqa: FBT001  a decision is its only input
    """Return the verdict of a method that cannot abstain."""
    return Verdict.CONTAMINATED if significant else Verdict.NO_EVIDENCE


def texts_of(draw: GridDraw) -> Compared:
    """Return the values of the declared score and the groups of a draw."""
    return Compared(
        values=draw.scores[DECLARED], unseen=draw.unseen[DECLARED], groups=draw.groups, unseen_groups=draw.unseen_groups
    )


@lru_cache(maxsize=1)
def evidence_on_draw(draw: GridDraw) -> Evidence:
    """Return all that `assay audit` measures for a verdict; computed once for all rules on a draw."""
    texts = texts_of(draw)
    test = UnseenTest(
        p_value=texts.p_value(permutations=PERMUTATIONS, seed=draw.seed),
        p_beyond=texts.p_beyond(permutations=PERMUTATIONS, seed=draw.seed),
        share=contaminated_share(
            texts.values,
            texts.unseen,
            groups=texts.groups,
            unseen_groups=texts.unseen_groups,
            resamples=RESAMPLES,
            seed=draw.seed,
            allowance=texts.allowance(),
        ),
        detectable={},
        superiority=texts.superiority(resamples=RESAMPLES, seed=draw.seed),
    )
    audited, groups = (texts.values, texts.unseen), (draw.groups, draw.unseen_groups)
    values, unseen = {DECLARED: draw.control[0]}, {DECLARED: draw.control[1]}
    # the control saw neither set: what it flags is the difference between the texts themselves
    saw_neither = ControlScores("control", values, unseen)
    form = None
    if draw.samples[0]:
        form = form_test(audited, (values, unseen), texts=draw.samples, groups=groups, model="control", parent=False)
    return Evidence(
        DECLARED,
        int((~np.isnan(draw.scores[DECLARED])).sum()),
        test=test,
        blind=draw.blind,
        control=saw_neither.flags(DECLARED, ALPHA, groups, audited=audited),
        form=form,
    )


@grid_method("assay")
def product(draw: GridDraw) -> Verdict:
    """Decide as `assay audit` does."""
    return decide(evidence_on_draw(draw), "set", "model").verdict


def with_margin(margin: float) -> GridMethod:
    """Return the rule of `assay audit` with another margin of "no evidence"."""
    return lambda draw: decide(evidence_on_draw(draw), "set", "model", margin=margin).verdict


def with_allowance(familiarity: float) -> GridMethod:
    """Return the rule of `assay audit` with another allowance for familiar projects."""

    def method(draw: GridDraw) -> Verdict:
        evidence = evidence_on_draw(draw)
        # of a test that is not significant the allowance has no part in the verdict
        if evidence.test is not None and evidence.test.p_value <= SIGNIFICANCE:
            beyond = texts_of(draw).p_beyond(familiarity, permutations=PERMUTATIONS, seed=draw.seed)
            evidence = replace(evidence, test=replace(evidence.test, p_beyond=beyond))
        return decide(evidence, "set", "model").verdict

    return method


def variant(name: str, value: float) -> str:
    """Return the name of the rule of `assay audit` with another value of a constant."""
    return f"assay, {name} {value:g}"


for _margin in MARGINS:
    METHODS.rules[variant("margin", _margin)] = with_margin(_margin)
for _familiarity in ALLOWANCES:
    METHODS.rules[variant("allowance", _familiarity)] = with_allowance(_familiarity)
VARIANTS = frozenset([*map(partial(variant, "margin"), MARGINS), *map(partial(variant, "allowance"), ALLOWANCES)])
"""Rules that are compared with each other, and are no methods of their own."""


@grid_method("permutation test alone")
def permutation_alone(draw: GridDraw) -> Verdict:
    """Decide by the p-value of the permutation test, without conditions."""
    test = evidence_on_draw(draw).test
    return called(test is not None and test.p_value <= 0.05)  # noqa: PLR2004


@grid_method("flagged share alone")
def flagged_alone(draw: GridDraw) -> Verdict:
    """Decide by the p-value of the number of samples flagged at 5 %, the sample-level rate of `assay audit`."""
    unseen = draw.unseen[DECLARED]
    if (~np.isnan(unseen)).sum() < MINIMUM_UNSEEN:
        return Verdict.CANNOT_TELL
    p_values = conformal_p_values(draw.scores[DECLARED], unseen)
    # under the null a text is flagged at 5 %; the test asks whether more of them are
    return called(flag_rate(p_values, groups=draw.groups, unseen=len(unseen)).p_value <= 0.05)  # noqa: PLR2004


@grid_method("LLM Dataset Inference")
def dataset_inference(draw: GridDraw) -> Verdict:
    """Decide by the authors' rule, p < .1, on the scores of one pass."""
    names = list(filter(draw.scores.__contains__, one_pass()))
    features = np.column_stack([np.concatenate([draw.scores[name], draw.unseen[name]]) for name in names])
    suspect = np.arange(len(features)) < len(draw.groups)
    # the weights are learned on one half and tested on the other (LLM Dataset Inference, arXiv:2406.06443)
    fitted = half_of(suspect, draw.seed)
    values, rest = projected(features, suspect, fitted), ~fitted
    return called(welch(values[suspect & rest], values[~suspect & rest]) < 0.1)  # noqa: PLR2004


def mean_difference(name: str) -> Callable[[GridDraw], float]:
    """Return the mean of a score, minus that of the unseen text."""

    def value(draw: GridDraw) -> float:
        return float(np.nanmean(draw.scores[name]) - np.nanmean(draw.unseen[name]))

    return value


def lowered_share(draw: GridDraw) -> float:
    """Return the share of samples that a sample in front makes less likely (CoDeC)."""
    changes = draw.scores.get(CONTEXT_CHANGE, np.empty(0))
    measured = changes[~np.isnan(changes)]
    if not len(measured):
        return math.nan
    return float((measured < 0).mean())


def tuned_value(name: str, *, gated: bool = False) -> Callable[[GridDraw], float]:
    """Return the value of a method that is run on a fraction of the draws; with `gated` only where the gate is open."""

    def value(draw: GridDraw) -> float:
        if gated and not draw.tuned.get(GATE):
            return math.nan
        return draw.tuned.get(name, math.nan)

    return value


for _name in AVERAGED:
    threshold_method(f"mean of {_name}", mean_difference(_name))
threshold_method(CODEC, lowered_share)
for _request in tuned_requests():
    threshold_method(_request.detector.title, tuned_value(_request.name))
    if any("embeddings" in work.name for work in _request.work):
        threshold_method(f"{_request.detector.title}, gate open", tuned_value(_request.name, gated=True))
