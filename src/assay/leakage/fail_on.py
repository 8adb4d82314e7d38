"""Rules for use in CI: `contaminated`, `familiar`, `flagged.p<0.05`, `SCORE.discoveries>0`, `coverage<0.9`.

A rule is [SCORE.]FIGURE[.low|.high|.p] then > or < and a number. Without a score it is about that of the headline.
`low` and `high` are the ends of the figure's interval, `p` is the p-value of the flagged share. `contaminated` holds
where that is the verdict, `familiar` where the verdict is "familiar" or "contaminated". A rule that the data cannot
decide has an obstacle, and never passes.
"""

import math
import operator
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from assay.errors import DataError, NothingToCompare, did_you_mean
from assay.evaluation import Estimate, FlagRate
from assay.leakage.naming import NO_NAMES, may_name
from assay.leakage.results import Audit, ScoreSummary
from assay.leakage.verdict import Obstacle
from assay.types import Undecided, Verdict

_OF_OTHER_FORM = Obstacle(
    Undecided.FORM,
    "The unseen text has another form than the benchmark, so what stands out against it says nothing: expected the "
    "rule `familiar`, or --same-form.",
    is_confound=True,
)
SIGNS: Mapping[str, Callable[[float, float], bool]] = MappingProxyType({"<": operator.lt, ">": operator.gt})
VERDICT, DISCOVERIES = "verdict", "discoveries"
FIRING: Mapping[str, tuple[Verdict, ...]] = MappingProxyType(
    {
        Verdict.FAMILIAR.value: (Verdict.FAMILIAR, Verdict.CONTAMINATED),
        Verdict.CONTAMINATED.value: (Verdict.CONTAMINATED,),
    }
)
"""Rule on the verdict → the verdicts at which it fires."""
_NOT_NAMING = Obstacle(Undecided.UNFIT_SCORE, f"{NO_NAMES[0].upper()}{NO_NAMES[1:]}.", is_confound=True)


@dataclass(frozen=True, slots=True)
class AuditFigure:
    """A figure of an audit that rules and comparisons use.

    Attributes:
        of: returns it; None where the run cannot have it.
        needs: input that it takes; "" for none.
        ends: parts of it that a rule may name.
        lacking: category of the obstacle where it is missing; None for a figure that describes and accuses nobody.
    """

    of: Callable[[ScoreSummary], FlagRate | Estimate | float | None]
    needs: str = ""
    ends: tuple[str, ...] = ()
    lacking: Undecided | None = None


UNSEEN = "known-unseen text (--unseen)"
FIGURES: Mapping[str, AuditFigure] = MappingProxyType(
    {
        "flagged": AuditFigure(
            lambda summary: summary.calibration.flagged if summary.calibration else None,
            needs=UNSEEN,
            ends=("low", "high", "p"),
            lacking=Undecided.NO_UNSEEN_TEXT,
        ),
        DISCOVERIES: AuditFigure(
            lambda summary: summary.calibration.discoveries if summary.calibration else None,
            needs=UNSEEN,
            lacking=Undecided.NO_UNSEEN_TEXT,
        ),
        "auroc": AuditFigure(
            lambda summary: summary.ranking.auroc if summary.ranking else None,
            needs="labels of both classes",
            ends=("low", "high"),
            lacking=Undecided.NOT_MEASURED,
        ),
        "coverage": AuditFigure(lambda summary: summary.scored / summary.total),
    }
)
# a limit that begins with "=" is refused: ">=" would silently be read as ">"
PATTERN = re.compile(
    rf"\s*(?:(?P<score>\S+)\.)?(?P<figure>{'|'.join(FIGURES)})(?:\.(?P<end>low|high|p))?"
    r"\s*(?P<sign>[<>])\s*(?P<limit>[^\s=]\S*)\s*"
)
VERDICT_PATTERN = re.compile(rf"\s*(?:(?P<score>\S+)\.)?(?P<verdict>{'|'.join(FIRING)})\s*")


@dataclass(frozen=True, slots=True)
class Rule:
    """A condition under which a run counts as a finding.

    Attributes:
        text: as the user wrote it.
        score: by name; None for that of the headline.
        figure: a name of `FIGURES`, or a verdict of `FIRING`.
        end: part of the figure: "low", "high" or "p"; None for its value.
        sign: "<" or ">"; "" for a verdict.
        limit: the number; NaN for a verdict.
    """

    text: str
    score: str | None
    figure: str
    end: str | None = None
    sign: str = ""
    limit: float = math.nan

    def obstacle(self, audit: Audit, *, allow_confounded: bool = False) -> Obstacle | None:
        """Return why the audit cannot decide this rule; None where it can.

        Args:
            audit: what was measured and decided.
            allow_confounded: let a score name single samples although the unseen text has another form.

        Raises:
            DataError: the rule names a score that was not run.
        """
        summary = self._summary(audit)
        if self.figure not in FIRING:
            figure = FIGURES[self.figure]
            # a figure that accuses nobody needs nothing to compare with
            if figure.lacking is None:
                return None
            if figure.of(summary) is None:
                return _lacking(self.figure, figure)
            if math.isnan(self.value(audit)):
                return Obstacle(Undecided.TOO_FEW, f"{self.figure} cannot be judged: {self._reason(summary)}.")
        decision = summary.decision
        # an open verdict makes no rule pass: what is not known is not clean
        if decision.reason is not None:
            return Obstacle(decision.reason, decision.explanation)
        # where the residual decides, the forms differ, and flags count that difference too
        if self.figure in ("flagged", DISCOVERIES) and summary.form is not None and not allow_confounded:
            return _OF_OTHER_FORM
        names = self.figure == DISCOVERIES and not allow_confounded
        return _NOT_NAMING if names and not may_name(summary) else None

    def is_strict(self, audit: Audit) -> bool:
        """Return True if the rule is decided although nothing is set aside (--allow-confounded)."""
        return self.obstacle(audit) is None and self._summary(audit).decision.set_aside is None

    def obstacle_without_unseen(self) -> Obstacle | None:
        """Return why the rule cannot be decided without known-unseen text, whatever the model gives; None if it can."""
        figure = FIGURES.get(self.figure)
        if figure is None or figure.lacking is not Undecided.NO_UNSEEN_TEXT:
            return None  # a verdict may also rest on labels
        return _lacking(self.figure, figure)

    def uncompared(self, explanation: str) -> Obstacle:
        """Return why the rule cannot be decided where an audit ended because there is nothing to compare with."""
        return Obstacle(Undecided.NO_UNSEEN_TEXT, explanation)

    def check_score(self, names: Sequence[str]) -> None:
        """Check that the score of the rule is among those that will be run.

        Raises:
            DataError: it is not.
        """
        if self.score is not None and self.score not in names:
            raise DataError(
                f"--fail-on {self.text!r}: score {self.score!r} was not requested; expected {', '.join(names)}"
                f"{did_you_mean(self.score, names)}"
            )

    def measured(self, audit: Audit) -> str:
        """Return the value that the rule is decided by, for people. Raises as `fires`."""
        if self.figure in FIRING:
            return self._summary(audit).decision.verdict
        return f"{self.value(audit):.3g}"

    def fires(self, audit: Audit) -> bool:
        """Return True if the condition holds.

        Raises:
            DataError: the audit lacks what the figure is made of; `obstacle` says so beforehand.
        """
        if self.figure in FIRING:
            return self._summary(audit).decision.verdict in FIRING[self.figure]
        return SIGNS[self.sign](self.value(audit), self.limit)

    def value(self, audit: Audit) -> float:
        """Return the figure of the rule; NaN where it has no value. Raises as `fires`."""
        figure = FIGURES[self.figure]
        measured = figure.of(self._summary(audit))
        if measured is None:
            raise DataError(f"--fail-on {self.text!r}: {self.figure} needs {figure.needs}; this run has none")
        if isinstance(measured, FlagRate):
            # a p-value belongs to the count of flags, which the share alone does not keep
            if self.end == "p":
                return measured.p_value
            measured = measured.rate
        if isinstance(measured, Estimate):
            return float(getattr(measured, self.end or "value"))
        return float(measured)

    def _summary(self, audit: Audit) -> ScoreSummary:
        score = self.score or audit.primary
        if score not in audit.values:
            raise DataError(f"--fail-on {self.text!r}: score {score!r} was not run; expected {', '.join(audit.values)}")
        return audit.summary(score)

    def _reason(self, summary: ScoreSummary) -> str:
        measured = FIGURES[self.figure].of(summary)
        if isinstance(measured, FlagRate):
            measured = measured.rate
        reason = isinstance(measured, Estimate) and measured.reason
        return reason or "not measured on this data"


class UndecidedRulesError(NothingToCompare):
    """Rules that nothing can decide, whatever the model gives.

    Attributes:
        obstacles: rule → why.
    """

    def __init__(self, obstacles: Mapping[Rule, Obstacle]) -> None:
        super().__init__("; ".join(f"{rule.text}: {obstacle.explanation}" for rule, obstacle in obstacles.items()))
        self.obstacles = obstacles


def _lacking(name: str, figure: AuditFigure) -> Obstacle:
    return Obstacle(figure.lacking or Undecided.NOT_MEASURED, f"{name} needs {figure.needs}; this run has none.")


def rule(text: str) -> Rule:
    """Read a rule.

    Raises:
        DataError: it is not a rule.
    """
    verdict = VERDICT_PATTERN.fullmatch(text)
    if verdict is not None:
        return Rule(text.strip(), score=verdict["score"], figure=verdict["verdict"])
    match = PATTERN.fullmatch(text)
    if match is None:
        raise DataError(
            f"--fail-on {text!r}: expected {' or '.join(FIRING)}, or a rule such as flagged.p<0.05: [SCORE.]FIGURE, < "
            f"or >, and a number, with FIGURE one of {', '.join(FIGURES)}"
        )
    figure, end = match["figure"], match["end"]
    if end and end not in FIGURES[figure].ends:
        ends = ", ".join(f"{figure}.{name}" for name in FIGURES[figure].ends) or f"{figure} alone"
        raise DataError(f"--fail-on {text!r}: {figure} has no .{end}; expected {ends}")
    try:
        limit = float(match["limit"])
    except ValueError:
        raise DataError(f"--fail-on {text!r}: {match['limit']!r} is not a number") from None
    return Rule(text.strip(), score=match["score"], figure=figure, end=end, sign=match["sign"], limit=limit)


def rules_of(texts: Iterable[str], scores: Sequence[str], *, compares: bool) -> list[Rule]:
    """Read the rules of an audit, before anything runs.

    Args:
        texts: of the rules.
        scores: that will be run.
        compares: there will be something to compare with.

    Raises:
        DataError: one is not a rule, or names another score.
        UndecidedRulesError: one needs unseen text, and there will be none.
    """
    rules = list(map(rule, texts))
    obstacles = {}
    for each in rules:
        each.check_score(scores)
        obstacle = each.obstacle_without_unseen()
        if obstacle is not None:
            obstacles[each] = obstacle
    # refused before a model is opened, as no run could decide them
    if obstacles and not compares:
        raise UndecidedRulesError(obstacles)
    return rules
