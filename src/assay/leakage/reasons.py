"""The words of every verdict, and of every reason why there is none: `reasons.toml`, one row each."""

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files

from assay.evaluation import GROUPS_FOR_INTERVAL, SIGNIFICANCE
from assay.leakage.form_test import LEAST_SUPPORTED, TESTED_SCORE, groups_needed
from assay.leakage.results import NegativeControl, ScoreSummary
from assay.reports import number_of
from assay.types import Undecided, Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class VerdictWords:
    """A verdict in words.

    Attributes:
        name: of the verdict.
        title: first line of the first screen.
        because: the reason without figures, a sentence of at most twenty words; "" where it depends on the case.
        next_step: what to do with the answer; "" where it depends on the case.
        sentence: to be quoted, with the fields `benchmark`, `model`, `because` and `decides`.
        seen: what a user sees, in the manual.
        may_say: what a user may say of it, in the manual.
    """

    name: str
    title: str
    because: str
    next_step: str
    sentence: str
    seen: str
    may_say: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenReason:
    """Why there is no verdict, in words.

    Attributes:
        name: of the category.
        because: the reason, a sentence of at most twenty words without a number.
        next_step: what would decide it, for the user; "" where `ways` do.
        decides: the same as a noun, before "would decide it".
        ways: names of `WAYS` that would decide it, of which an audit may have taken some.
        case: a name of `CASES` in which the row holds.
        meaning: in the manual; "" for a case that the manual does not set apart.
        advice: in the manual.
    """

    name: str
    because: str
    next_step: str = ""
    decides: str = ""
    ways: Sequence[str] = ()
    case: str = "any"
    meaning: str = ""
    advice: str = ""


def _has_few_samples(summary: ScoreSummary) -> bool:
    """Return True if the benchmark itself has too few groups for an interval."""
    groups = summary.test.share.estimate.groups if summary.test is not None else ()
    return bool(groups) and groups[0] < GROUPS_FOR_INTERVAL


def _is_tied(summary: ScoreSummary) -> bool:
    """Return True if most samples have one value, on which nothing can stand out."""
    calibration = summary.calibration
    if calibration is None or calibration.detectable is None or summary.test is not None:
        return False
    return 2 * calibration.detectable.tied > calibration.detectable.samples


def _shows_nothing(summary: ScoreSummary) -> bool:
    """Return True if a test was made that is not significant."""
    test = summary.test
    return test is not None and test.share.estimate.has_interval and test.p_value > SIGNIFICANCE


def _is_below_chance(control: NegativeControl | None) -> bool:
    return control is not None and control.is_below_chance


def _is_unclear(control: NegativeControl | None) -> bool:
    return control is not None and not control.flagged.rate.low > control.flagged.chance


CASES: Mapping[str, Callable[[ScoreSummary], bool]] = {
    "any": lambda _: True,
    "nothing scored": lambda summary: not summary.scored,
    "labels": lambda summary: summary.ranking is not None,
    "primary": lambda summary: "declared score" not in summary.closed,
    "ties of token probabilities": lambda summary: _is_tied(summary) and "gray" in summary.closed,
    "ties": _is_tied,
    "few samples": _has_few_samples,
    "same form": lambda summary: summary.same_form,
    "nothing shows": _shows_nothing,
    "residual": lambda summary: summary.form is not None and summary.form.residual.estimate.has_interval,
    "neighbours": lambda summary: summary.form is not None and summary.form.residual.supported >= LEAST_SUPPORTED,
    "control below chance": lambda summary: _is_below_chance(summary.control),
    "control unclear": lambda summary: _is_unclear(summary.control),
}
WORDS = tomllib.loads(files("assay.leakage").joinpath("reasons.toml").read_text("utf-8"))
VERDICTS: Mapping[Verdict, VerdictWords] = {Verdict(row["name"]): VerdictWords(**row) for row in WORDS["verdict"]}
WAYS: Mapping[str, Mapping[str, str]] = {row["name"]: row for row in WORDS["way"]}
REASONS = tuple(OpenReason(**row) for row in WORDS["reason"])


def open_reason(category: Undecided, summary: ScoreSummary) -> OpenReason:
    """Return the words for the reason why a score gives no verdict: the first row of the category that holds."""
    # special rows stand before general ones
    return next(row for row in REASONS if row.name == category and CASES[row.case](summary))


def deciding_step(category: Undecided, summary: ScoreSummary) -> OpenReason:
    """Return the words for what would decide an open case: as of its reason, unless more text of that kind cannot."""
    row, form = open_reason(category, summary), summary.form
    if form is not None and category is Undecided.TOO_FEW:
        needed, present = groups_needed(parent=form.is_parent), form.residual.estimate.groups[1]
        # with enough groups already it is not their number that keeps the case open
        if needed is not None and needed > present:
            projects = number_of(needed - present, "more project")
            return replace(row, next_step=f"give unseen text of {projects}.", decides=f"unseen text of {projects}")
        row = open_reason(Undecided.FORM, summary)
    if not row.ways:
        return row
    steps, nouns = [], []
    for name in row.ways:
        if not _is_closed(name, summary):
            steps.append(WAYS[name]["step"])
            nouns.append(WAYS[name]["decides"])
    decides = ", or ".join(dict.fromkeys(nouns))
    # it goes on inside a sentence
    if ", or " in decides:
        decides += ","
    return replace(row, next_step=f"give {', or '.join(steps)}.", decides=decides)


def _is_closed(way: str, summary: ScoreSummary) -> bool:
    """Return True if a way was taken already, or cannot decide by this score."""
    if way == "parent" and (summary.score != TESTED_SCORE or (summary.form is not None and summary.form.is_parent)):
        return True
    return way in summary.closed
