"""Rules for use in CI: `flagged.low>0.05`, `SCORE.discoveries>0`, `coverage<0.9`.

A rule is [SCORE.]FIGURE[.low|.high] then > or < and a number. Without a score it is about that of the headline.
`low` and `high` are the ends of the figure's interval: `flagged.low>0.05` holds only where the whole interval is above
.05. Where the data give no interval, such a rule is an error and never passes.
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


def _flagged(summary: ScoreSummary) -> Estimate | None:
    return summary.calibration.flagged.rate if summary.calibration else None


def _discoveries(summary: ScoreSummary) -> float | None:
    return summary.calibration.discoveries if summary.calibration else None


def _auroc(summary: ScoreSummary) -> Estimate | None:
    return summary.ranking.auroc if summary.ranking else None


def _coverage(summary: ScoreSummary) -> float:
    return summary.scored / summary.total


FIGURES: Mapping[str, tuple[Callable[[ScoreSummary], Estimate | float | None], str]] = MappingProxyType(
    {
        "flagged": (_flagged, "known-unseen text (--unseen)"),
        "discoveries": (_discoveries, "known-unseen text (--unseen)"),
        "auroc": (_auroc, "labels of both classes"),
        "coverage": (_coverage, ""),
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
        """Return True if the condition holds.

        Raises:
            DataError: the audit lacks what the figure is made of.
        """
        return SIGNS[self.sign](self.value(audit), self.limit)

    def value(self, audit: Audit) -> float:
        """Return the figure of the rule; raises as `fires`."""
        score = self.score or audit.primary
        if score not in audit.values:
            raise DataError(f"--fail-on {self.text!r}: score {score!r} was not run; expected {', '.join(audit.values)}")
        figure, needs = FIGURES[self.figure]
        measured = figure(audit.summary(score))
        if measured is None:
            raise DataError(f"--fail-on {self.text!r}: {self.figure} needs {needs}; this run has none")
        if not isinstance(measured, Estimate):
            if self.end:
                raise DataError(f"--fail-on {self.text!r}: {self.figure} has no interval, so no .{self.end}")
            return float(measured)
        value = float(getattr(measured, self.end or "value"))
        if math.isnan(value):
            reason = measured.reason or "not measured on this data"
            raise DataError(f"--fail-on {self.text!r}: {self.figure} cannot be judged: {reason}")
        return value


def rule(text: str) -> Rule:
    """Read a rule.

    Raises:
        DataError: it is not a rule.
    """
    match = PATTERN.fullmatch(text)
    if match is None:
        raise DataError(f"--fail-on {text!r}: expected [SCORE.]FIGURE>NUMBER with FIGURE one of {', '.join(FIGURES)}")
    try:
        limit = float(match["limit"])
    except ValueError:
        raise DataError(f"--fail-on {text!r}: {match['limit']!r} is not a number") from None
    return Rule(text.strip(), match["score"], match["figure"], match["end"], match["sign"], limit)
