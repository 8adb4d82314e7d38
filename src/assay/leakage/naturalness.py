"""Naturalness of new names: the place of an original among its variants, on texts that the model has not seen.

If new names were as natural as the old ones, an original that was never seen would be as likely the easiest as the
third or the last, and half of its variants would be easier. A model that prefers the original names flags text that
it never saw.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Self

import numpy as np

from assay.evaluation import Estimate, grouped_mean, grouped_share
from assay.reports import number_of, percent, percent_interval
from assay.scoring import Plan
from assay.types import Float64Array

EVEN = 0.5
"""Share of variants that are easier than the original where its place is uniform."""


@dataclass(frozen=True, slots=True)
class Naturalness:
    """The place of unseen originals among their n variants.

    Attributes:
        easier: mean share of variants that the model finds at least as easy as the original; 1/2 where new names are as
            natural as the old ones.
        easiest: share of originals that are easier than all their variants; 1 / (n + 1) where names are as natural.
        variants: n.
        texts: number of originals.
    """

    easier: Estimate
    easiest: Estimate
    variants: int
    texts: int

    @property
    def distance(self) -> float:
        """Return the distance of the mean place from that of a uniform one, in [-1/2, 1/2]; above 0: less natural."""
        return EVEN - self.easier.value

    @property
    def chance(self) -> float:
        """Return the share of originals that would be easier than all their variants by chance."""
        return 1 / (self.variants + 1)

    @classmethod
    def of(cls, ranks: Float64Array, variants: int, groups: Sequence[Hashable] | None = None) -> Self:
        """Measure naturalness.

        Args:
            ranks: [texts], rank p-values (1 + number of variants at least as easy) / (n + 1); NaN where there is none.
            variants: n.
            groups: [texts], texts of one group are not independent.
        """
        scored = ~np.isnan(ranks)
        kept = groups and list(compress(groups, scored))
        # a rank p-value is (1 + count) / (n + 1); rounding undoes what the division lost
        easier = np.rint(ranks[scored] * (variants + 1)) - 1
        return cls(
            easier=grouped_mean(easier / variants, kept),
            easiest=grouped_share(easier == 0, kept),
            variants=variants,
            texts=int(scored.sum()),
        )

    def sentence(self, score: str) -> str:
        """Return the measurement in words."""
        share = percent(self.easier.value)
        if self.easier.has_interval:
            share += f" ({percent_interval(self.easier)})"
        return (
            f"{score}: on {number_of(self.texts, 'unseen text')}, {share} of the "
            f"variants are at least as easy as the original, where names as natural as the old ones give "
            f"{percent(EVEN)}; {percent(self.easiest.value)} of the originals are easier than all their "
            f"{self.variants} variants, where {percent(self.chance)} is chance."
        )


def naturalness_notes(
    plan: Plan, unseen: Mapping[str, Float64Array], groups: Sequence[Hashable] | None
) -> tuple[str, ...]:
    """Return a sentence for each score of the audit that is a rank among variants.

    Args:
        plan: the scores.
        unseen: values of the unseen texts by score.
        groups: of the unseen texts.
    """
    return tuple(
        # scores are oriented, so a rank p-value stands in them with its sign turned
        Naturalness.of(-unseen[request.name], request.variants, groups).sentence(request.name)
        for request in plan.requests
        if "rank" in request.definition.flags and request.name in unseen
    )
