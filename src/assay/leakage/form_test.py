"""The test of a benchmark against unseen text of another form, by the scores of a second model.

Texts of another form score higher or lower for reasons of their own, and no number of unseen texts averages that out:
a form is one cluster. So the residual of a benchmark is judged against placebos, which are benchmarks of known truth
that the model saw nothing of, neither the texts nor others of their form. They ship as data (`placebos.json`), with
the command that made them: one set for a second model that knows nothing of the audited one (`builtin:control`), and
one for its parent, with which far less is left unexplained.

- *Familiar*: the lower end of the interval is above the margin, the upper 95 % prediction limit of the placebos.
- *No evidence*: a fifth of the benchmark, seen twice, would have left a larger residual, placebos allowed for.
- Else nothing is decided, and the answer says what would decide it.
"""

import json
import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
from scipy.special import stdtrit

from assay.evaluation import FormResidual, RegressedSide, form_residual
from assay.scores import headline_score
from assay.types import Float64Array, Sample

TESTED_SCORE = headline_score("gray").name
"""The only score with placebos. It is regressed on itself under the second model, and on the length of the text; more
scores of the second model made the placebos no narrower."""
LEAST_SUPPORTED = 0.8
"""Share of the benchmark that has to be of the kind of the unseen text."""
LIMIT_LEVEL = 0.95
"""Of every one-sided limit."""
LEAK, TIMES = 0.2, 2
"""The leak that "no evidence" rules out: this part of the benchmark, seen so often."""
SIMULATED = 4_000
"""Audits behind a printed power."""
ENOUGH_POWER = 0.8
MOST_GROUPS = 1_000


@dataclass(frozen=True, slots=True)
class Placebos:
    """Residuals of benchmarks that a model saw nothing of.

    Attributes:
        count, forms, models: number of residuals, and of forms and models behind them.
        median: of the residuals.
        above, below: root mean square distance of the residuals above the median from it, and of those below. They
            differ: a form that a model finds hard falls far below.
        freedom: degrees of freedom of the spread: forms - 1, as a model has the same bias for a form as another.
        effect: by which the leak of `LEAK`, seen `TIMES` times, raises a residual: lower quartile of those measured.
        error: standard error of a residual of `groups` groups of unseen text.
        groups: see `error`.
    """

    count: int
    forms: int
    models: int
    median: float
    above: float
    below: float
    freedom: float
    effect: float
    error: float
    groups: int

    @property
    def margin(self) -> float:
        """Upper 95 % prediction limit: a clean benchmark is above it in one of twenty cases."""
        return self.median + self._factor * self.above

    @property
    def floor(self) -> float:
        """Lower 95 % prediction limit."""
        return self.median - self._factor * self.below

    @property
    def _factor(self) -> float:
        # a further benchmark is predicted: beside its own scatter (1) stands the error of the placebos' centre (1 / n)
        return float(stdtrit(self.freedom, LIMIT_LEVEL)) * math.sqrt(1 + 1 / self.count)

    def hidden(self, residual: float, error: float) -> float:
        """Return the upper 95 % limit of what a leak may have added to a residual."""
        # what is without a leak may lie below the median, and a leak on top of it
        return residual - self.median + self._factor * math.hypot(self.below, error)


@dataclass(frozen=True, slots=True)
class FormTest:
    """The residual of a benchmark beside those of placebos.

    Attributes:
        residual: of the benchmark.
        model: the second model.
        is_parent: the audited model was trained from it.
        margin, floor: limits of the placebos.
        hidden: upper limit of what a leak may have added to the residual; NaN without an interval.
        effect: that of the leak that "no evidence" rules out.
        placebos: their number.
    """

    residual: FormResidual
    model: str
    is_parent: bool
    margin: float
    floor: float
    hidden: float
    effect: float
    placebos: int

    @property
    def is_familiar(self) -> bool:
        """True if the benchmark scores clearly higher than any benchmark would that the model saw nothing of."""
        return self.is_familiar_at(1 - LIMIT_LEVEL)

    def is_familiar_at(self, level: float) -> bool:
        """Return the same at another level of the error of the residual; the margin stays that of the placebos."""
        residual = self.residual
        # only the error of this residual changes with the level: the placebos are as many as before
        half = float(stdtrit(residual.freedom, 1 - level)) * residual.error
        return residual.estimate.value - half > self.margin

    @property
    def rules_out(self) -> bool:
        """True if the leak of `LEAK`, seen `TIMES` times, would have left a larger residual."""
        return self.hidden < self.effect

    @property
    def hidden_share(self) -> float:
        """Upper 95 % limit of the share of the benchmark that was seen `TIMES` times without showing; at most 1."""
        return min(1.0, max(0.0, LEAK * self.hidden / self.effect))

    @property
    def can_decide(self) -> bool:
        """True if more unseen text could decide: what the forms differ by alone is less than the effect."""
        return self.hidden - self.residual.estimate.value < self.effect or self.residual.estimate.value > self.margin


@cache
def placebos(*, parent: bool) -> Placebos:
    """Return the placebos that ship with the package."""
    return Placebos(**{name: _shipped(parent=parent)[name] for name in Placebos.__slots__})


def placebo_residuals(*, parent: bool) -> Float64Array:
    """Return the residuals of the placebos, float64 [placebos], without those that are unlike their unseen text."""
    rows = _shipped(parent=parent)["residuals"]
    return np.array([row["residual"] for row in rows if row["supported"] >= LEAST_SUPPORTED])


def _shipped(*, parent: bool) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(files("assay.leakage").joinpath("placebos.json").read_text("utf-8"))
    own: dict[str, Any] = content["parent" if parent else "control"]
    return own


def form_test(
    scores: tuple[Float64Array, Float64Array],
    second: tuple[Mapping[str, Float64Array], Mapping[str, Float64Array]],
    texts: tuple[Sequence[Sample], Sequence[Sample]],
    groups: tuple[Sequence[Hashable], Sequence[Hashable]],
    model: str,
    *,
    parent: bool,
) -> FormTest | None:
    """Return the test; None where the second model lacks a score.

    Args:
        scores: `TESTED_SCORE` of the benchmark and of the unseen text under the audited model.
        second: score → values of both under the second model.
        texts: both.
        groups: of both.
        model: name of the second model.
        parent: the audited model was trained from it.
    """
    if any(TESTED_SCORE not in side for side in second):
        return None
    residual = form_residual(*map(RegressedSide, scores, map(known_of, second, texts), groups))
    shipped = placebos(parent=parent)
    return FormTest(
        residual=residual,
        model=model,
        is_parent=parent,
        margin=shipped.margin,
        floor=shipped.floor,
        hidden=shipped.hidden(residual.estimate.value, residual.error),
        effect=shipped.effect,
        placebos=shipped.count,
    )


def known_of(scores: Mapping[str, Float64Array], samples: Sequence[Sample]) -> Float64Array:
    """Return float64 [n, 2]: what is known of each text without the audited model."""
    return np.column_stack([scores[TESTED_SCORE], np.log1p([len(sample.text) for sample in samples])])


def power(groups: int, share: float = LEAK, *, parent: bool, seed: int = 0) -> float:
    """Return how often a leak is called familiar by the rule, in simulated audits.

    Each draws the residual of a clean form as the placebos vary, the effect of the leak in proportion to its share,
    and an error of as many groups of unseen text, and is decided as a real one is.

    Args:
        groups: of unseen text.
        share: of the benchmark, seen `TIMES` times.
        parent: the second model is the parent.
        seed: of the draws.
    """
    shipped, random = placebos(parent=parent), np.random.default_rng(seed)
    # the variance of a mean over groups falls with their number; that of the form does not
    error = shipped.error * math.sqrt(shipped.groups / groups)
    draws = random.standard_t(shipped.freedom, SIMULATED)
    # the two halves of the placebos differ in width, so each draw is scaled by that of its side
    clean = shipped.median + np.where(draws > 0, shipped.above, shipped.below) * draws
    residuals = clean + shipped.effect * share / LEAK + error * random.standard_normal(SIMULATED)
    half = float(stdtrit(max(2.0, groups - 1), LIMIT_LEVEL)) * error
    return float((residuals - half > shipped.margin).mean())


def groups_needed(*, parent: bool) -> int | None:
    """Return the groups of unseen text at which the leak is found with enough power; None where no number is enough."""
    if power(MOST_GROUPS, parent=parent) < ENOUGH_POWER:
        return None
    low, high = 20, MOST_GROUPS
    # the power rises with the number of groups, so the least number is found by bisection
    while low < high:
        middle = (low + high) // 2
        if power(middle, parent=parent) >= ENOUGH_POWER:
            high = middle
        else:
            low = middle + 1
    return low
