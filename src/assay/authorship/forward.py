"""A check that looks forward: newer code of the same people, judged by their older code.

A threshold that holds on code of the same years need not hold on that of later ones. So the older half of a history
calibrates and the newer half is judged: its flagged share is the false-positive rate that is announced. Where it
exceeds the nominal share, the level is lowered until it does not; where no level does that, style cannot be judged.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import ceil, floor
from operator import attrgetter

import numpy as np
from scipy.special import betaln

from assay.evaluation import design_effect, grouped_share
from assay.types import BooleanArray, Float64Array

NOMINAL = 0.05
FEWEST_NEWER = 45
"""Newer pieces of a project and language below which nothing is concluded."""


@dataclass(frozen=True, slots=True)
class ForwardCheck:
    """Newer pieces of one project and language, judged by the older ones of all projects.

    Attributes:
        project: its name.
        language: of the pieces.
        newer: pieces that were judged.
        at_nominal: of these, flagged by the nominal bound alone.
        flagged: of these, flagged at `level`, too.
        level: p-value that a piece must not exceed to be called unusual; None where the style changes too much.
        low: lower end of the 95 % interval of the flagged share, over files; None for too few files.
        high: its upper end.
        effect: design effect of the flags over files.
    """

    project: str
    language: str
    newer: int
    at_nominal: int
    flagged: int
    level: float | None
    low: float | None
    high: float | None
    effect: float

    @property
    def is_possible(self) -> bool:
        """False for figures that no check finds; a file may state them."""
        shares = (0.0 if self.low is None else self.low, 1.0 if self.high is None else self.high)
        counts = 0 <= self.flagged <= self.at_nominal <= self.newer >= FEWEST_NEWER
        level = self.level is None or 0 < self.level <= NOMINAL
        return counts and level and 0 <= shares[0] <= shares[1] <= 1 <= self.effect < np.inf


@dataclass(frozen=True, slots=True)
class NewerPieces:
    """Newer pieces of one project and language.

    Attributes:
        project: its name.
        language: of the pieces.
        p_values: float64 [n], among the older pieces.
        cuts: float64 [n], p-value up to which the whole reference calls such a piece unusual.
        files: of each piece.
    """

    project: str
    language: str
    p_values: Float64Array
    cuts: Float64Array
    files: Sequence[str]

    def flagged(self, level: float) -> BooleanArray:
        """Return True for each piece that is unusual at a level, bool [n]."""
        return np.asarray(self.p_values <= np.minimum(self.cuts, level), np.bool_)

    @property
    def level(self) -> float | None:
        """The highest level, at most the nominal one, that flags at most the nominal share; None where none does."""
        hits, allowed = self.flagged(NOMINAL), floor(NOMINAL * len(self.p_values))
        if hits.sum() <= allowed:
            return NOMINAL
        # just below the first p-value that is one too many; equal p-values fall together, so none of them is flagged
        level = float(np.nextafter(np.sort(self.p_values[hits])[allowed], 0))
        return level if level >= self.p_values.min() else None


def forward_checks(parts: Iterable[NewerPieces]) -> tuple[ForwardCheck, ...]:
    """Return one check per project and language; all projects share the lowest level of the language."""
    large = [part for part in parts if len(part.p_values) >= FEWEST_NEWER]
    checks = []
    for part in large:
        levels = [other.level for other in large if other.language == part.language]
        level = None if None in levels else min(level for level in levels if level is not None)
        # where one project of a language has no level, style tells nothing in this language
        hits = part.flagged(level or 0.0)
        share = grouped_share(hits, part.files)
        codes = np.unique(np.array(part.files, object).astype(str), return_inverse=True)[1]
        effect = design_effect(hits, codes)
        if not hits.any() or np.isnan(effect):
            # nothing shows how flags cluster, so a file counts as one piece: the effect of clusters of unequal size
            # with an intraclass correlation of 1 (Kish 1965), Σ n² / Σ n
            effect = float((np.bincount(codes) ** 2).sum() / len(codes))
        low, high = (share.low, share.high) if share.has_interval else (None, None)
        checks.append(
            ForwardCheck(
                project=part.project,
                language=part.language,
                newer=len(hits),
                at_nominal=int(part.flagged(NOMINAL).sum()),
                flagged=int(hits.sum()),
                level=level,
                low=low,
                high=high,
                effect=float(effect),
            )
        )
    return tuple(checks)


def expected_flags(checks: Sequence[ForwardCheck], pieces: int) -> tuple[int, int, int]:
    """Return how many of so many human pieces are flagged: the expectation and the 95 % predictive interval.

    The share has the posterior of the checks under Jeffreys' prior; files count as often as their design effect allows.
    """
    effect = max(map(attrgetter("effect"), checks))
    flagged = sum(map(attrgetter("flagged"), checks)) / effect
    newer = sum(map(attrgetter("newer"), checks)) / effect
    # all is counted in independent pieces, and multiplied by the effect at the end
    n, a, b = max(1, ceil(pieces / effect)), flagged + 0.5, newer - flagged + 0.5
    count = np.arange(n + 1)
    # the beta-binomial distribution: C(n, k) B(k + a, n - k + b) / B(a, b)
    law = np.exp(betaln(count + a, n - count + b) - betaln(a, b) - betaln(n - count + 1, count + 1)) / (n + 1)
    low, high = (float(np.searchsorted(law.cumsum(), tail)) * effect for tail in (0.025, 0.975))
    return round(pieces * flagged / newer), floor(low), min(pieces, ceil(high))
