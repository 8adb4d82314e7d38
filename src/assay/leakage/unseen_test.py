"""The test of a benchmark against unseen text: p-values, the share that looks trained on, and the power of the test.

Texts of a project look familiar to a model that was trained on other texts of it. So the permutation test is made
twice: on the scores as they are, and after an allowance for that is taken off the scores of the benchmark.
"""

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from assay.evaluation import (
    PERMUTATIONS,
    RESAMPLES,
    TOP,
    ContaminatedShare,
    Effect,
    Estimate,
    contaminated_share,
    detectable_share,
    rank_score,
    robust_spread,
    set_test,
)
from assay.types import Float64Array

TIMES_SEEN: Mapping[int, Effect] = {
    1: Effect(0.625, 0.175),
    2: Effect(0.753, 0.375),
    4: Effect(0.886, 0.717),
    8: Effect(0.990, 0.975),
}
"""By `mid_pit` under `builtin:small`: 120 functions of each number against 700 of other numbers never seen. Other
models remember more or less of a text that they saw as often."""
FAMILIARITY = 0.5
"""Allowance for texts that were not trained on, of projects of which other texts were: so many standard deviations of
the unseen text higher may they score. The smallest of six values with at most 5 % of the benchmarks of such texts
called familiar, on the seeds of the reliability grid that chose (docs/results/verdicts.md)."""
BEYOND_FAMILIARITY: Mapping[int, Effect] = {
    1: Effect(0.481, 0.075),
    2: Effect(0.639, 0.233),
    4: Effect(0.814, 0.542),
    8: Effect(0.973, 0.917),
}
"""As `TIMES_SEEN`, after the allowance is taken off the scores of the functions that were seen."""
COVERED = 0.9
"""Part of a benchmark of whose groups there is unseen text, from which on no allowance is made: that text has become
familiar as well."""
BOUND_AT = 4
"""Times seen of the sentence on the upper bound."""


@dataclass(frozen=True, slots=True)
class UnseenTest:
    """A benchmark against unseen text, by one score.

    Attributes:
        p_value: of the permutation test by group; NaN where it could not be made.
        p_beyond: the same after the allowance for familiar projects; NaN where none is made.
        share: that looks trained on.
        detectable: times seen → the smallest share of such texts that the test reveals with 80 % power; infinite where
            none does.
        superiority: probability that a sample scores above an unseen text, with its interval; None where it was not
            measured.
    """

    p_value: float
    p_beyond: float
    share: ContaminatedShare
    detectable: Mapping[int, float]
    superiority: Estimate | None = None

    def upper_bound(self, times: int = BOUND_AT) -> float:
        """Return the upper 95 % bound on the share of texts that were seen so often or more; NaN without one."""
        return self.share.upper_at(TIMES_SEEN[times].top)


@dataclass(frozen=True, slots=True, eq=False)
class Compared:
    """Values of one score and the groups behind them, of a benchmark and of unseen text."""

    values: Float64Array
    unseen: Float64Array
    groups: Sequence[Hashable]
    unseen_groups: Sequence[Hashable]
    same_form: bool = False

    @property
    def is_covered(self) -> bool:
        """True if there is unseen text of the form, or of the groups of nearly all samples."""
        if self.same_form:
            return True
        # groups are compared by value, so both sides have to name their projects alike
        with_unseen_text = set(self.unseen_groups)
        return sum(group in with_unseen_text for group in self.groups) >= COVERED * len(self.groups)

    def allowance(self, familiarity: float = FAMILIARITY) -> float:
        """Return by how many units of the score texts of trained-on projects may be higher.

        0 if the unseen text is of the same groups.

        Args:
            familiarity: the same in standard deviations of the unseen text.
        """
        # text of the same projects is as familiar as the benchmark is, so nothing has to be allowed for
        if self.is_covered:
            return 0.0
        # a robust spread: a few texts that leaked into the unseen text would widen a plain one, and hide the leak
        return familiarity * robust_spread(self.unseen)

    def p_value(self, less: float = 0.0, *, permutations: int = PERMUTATIONS, seed: int = 0) -> float:
        """Return the p-value of the permutation test after so much is taken off the scores of the benchmark."""
        test = set_test(
            self.values - less,
            self.unseen,
            groups=self.groups,
            unseen_groups=self.unseen_groups,
            top=TOP,
            permutations=permutations,
            seed=seed,
        )
        return test.p_value

    def p_beyond(self, familiarity: float = FAMILIARITY, *, permutations: int = PERMUTATIONS, seed: int = 0) -> float:
        """Return the p-value after the allowance is taken off; NaN where none is made."""
        less = self.allowance(familiarity)
        if not less:
            return math.nan
        return self.p_value(less, permutations=permutations, seed=seed)

    def superiority(self, *, resamples: int = RESAMPLES, seed: int = 0) -> Estimate:
        """Return the probability that a sample scores above an unseen text."""
        both = np.concatenate([self.values, self.unseen])
        # the AUROC of benchmark against unseen text is this probability (Mann and Whitney 1947), ties counted as a half
        is_own, groups = np.arange(len(both)) < len(self.values), [*self.groups, *self.unseen_groups]
        return rank_score("", both, is_own, groups=groups, resamples=resamples, seed=seed).auroc

    def detectable(self) -> dict[int, float]:
        """Return times seen → the smallest share of such texts that the test reveals."""
        # an allowance is taken off leaked texts as well, which leaves them less to show
        effects = BEYOND_FAMILIARITY if self.allowance() else TIMES_SEEN
        return {times: self.smallest_share(effect) for times, effect in effects.items()}

    def smallest_share(self, effect: Effect) -> float:
        """Return the smallest share of texts of an effect that the test reveals; infinite where none does."""
        return detectable_share(self.groups, self.unseen, self.unseen_groups, effect=effect, allowance=self.allowance())

    def test(self, *, seed: int = 0) -> UnseenTest:
        """Return the test of the benchmark, with the share and the power."""
        share = contaminated_share(
            self.values,
            self.unseen,
            groups=self.groups,
            unseen_groups=self.unseen_groups,
            seed=seed,
            allowance=self.allowance(),
        )
        return UnseenTest(
            p_value=self.p_value(seed=seed),
            p_beyond=self.p_beyond(seed=seed),
            share=share,
            detectable=self.detectable(),
            superiority=self.superiority(seed=seed),
        )
