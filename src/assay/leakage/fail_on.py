"""Rules for use in CI: `flagged.low>0.05`, `SCORE.discoveries>0`, `coverage<0.9`.

A rule is [SCORE.]FIGURE[.low|.high] then > or < and a number. Without a score it speaks of the headline's. `low` and
`high` are the ends of the figure's interval: `flagged.low>0.05` fires only where the whole interval lies above.
"""

import math
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from assay.errors import DataError
from assay.evaluation import Estimate
from assay.leakage.results import Audit, ScoreSummary

SIGNS: Mapping[str, Callable[[float, float], bool]] = MappingProxyType({"<": operator.lt, ">": operator.gt})


def flagged(summary: ScoreSummary) -> Estimate | None:
    """Share of samples with p ≤ alpha."""
    return summary.calibration.flagged.rate if summary.calibration else None


def discoveries(summary: ScoreSummary) -> float | None:
    """Number of samples with q ≤ alpha."""
    return summary.calibration.discoveries if summary.calibration else None


def auroc(summary: ScoreSummary) -> Estimate | None:
    """Members against nonmembers."""
    return summary.ranking.auroc if summary.ranking else None


def coverage(summary: ScoreSummary) -> float:
    """Share of samples with a value."""
    return summary.scored / summary.total


FIGURES: Mapping[str, tuple[Callable[[ScoreSummary], Estimate | float | None], str]] = MappingProxyType(
    {
        "flagged": (flagged, "known-unseen text (--unseen)"),
        "discoveries": (discoveries, "known-unseen text (--unseen)"),
        "auroc": (auroc, "labels of both classes"),
        "coverage": (coverage, ""),
    }
)
PATTERN = re.compile(
    rf"\s*(?:(?P<score>\S+)\.)?(?P<figure>{'|'.join(FIGURES)})(?:\.(?P<end>low|high))?"
    r"\s*(?P<sign>[<>])\s*(?P<limit>\S+)\s*"
)


@dataclass(frozen=True, slots=True)
class Rule:
    """One condition under which a run counts as a finding."""

    text: str
    score: str | None
    figure: str
    end: str | None
    sign: str
    limit: float

    def fires(self, audit: Audit) -> bool:
        """Whether the condition holds.

        Raises:
            DataError: the audit lacks what the figure is made of.
        """
        return SIGNS[self.sign](self.value(audit), self.limit)

    def value(self, audit: Audit) -> float:
        """The figure that the rule looks at; raises as `fires`."""
        score = self.score or audit.primary
        if score not in audit.values:
            raise DataError(f"--fail-on {self.text!r}: score {score!r} was not run; expected {', '.join(audit.values)}")
        figure, needs = FIGURES[self.figure]
        found = figure(audit.summary(score))
        if found is None:
            raise DataError(f"--fail-on {self.text!r}: {self.figure} needs {needs}; this run has none")
        if self.end and not isinstance(found, Estimate):
            raise DataError(f"--fail-on {self.text!r}: {self.figure} has no interval, so no .{self.end}")
        value = getattr(found, self.end or "value") if isinstance(found, Estimate) else found
        if math.isnan(value):
            raise DataError(f"--fail-on {self.text!r}: {self.figure} could not be measured on this data")
        return float(value)


def rule(text: str) -> Rule:
    """Read a rule.

    Raises:
        DataError: it is none.
    """
    found = PATTERN.fullmatch(text)
    if found is None:
        raise DataError(f"--fail-on {text!r}: expected [SCORE.]FIGURE>NUMBER with FIGURE one of {', '.join(FIGURES)}")
    try:
        limit = float(found["limit"])
    except ValueError:
        raise DataError(f"--fail-on {text!r}: {found['limit']!r} is no number") from None
    return Rule(text.strip(), found["score"], found["figure"], found["end"], found["sign"], limit)
