"""The words of every verdict, and of every reason why there is none: for terminal, page, statement and manual.

The first screens of terminal, page and statement say `because` and `next_step`; tables and the sentence of a statement
name the category; the manual has the rest (docs/dataset-verdicts.md and docs/how-to/audit-a-model.md).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from assay.evaluation import GROUPS_FOR_INTERVAL
from assay.leakage.form_test import FormTest, groups_needed
from assay.leakage.results import NegativeControl, ScoreSummary
from assay.reports import number_of
from assay.types import Undecided, Verdict


@dataclass(frozen=True, slots=True)
class VerdictWords:
    """A verdict in words.

    Attributes:
        title: first line of the first screen.
        because: the reason without figures; "" where it depends on the case.
        next_step: what to do with the answer; "" where it depends on the case.
        sentence: to be quoted, with the fields `benchmark`, `model` and `reason`.
        manual: condition beside the verdict, and what a user may say.
    """

    title: str
    because: str
    next_step: str
    sentence: str
    manual: tuple[str, str]


VERDICTS: Mapping[Verdict, VerdictWords] = {
    Verdict.FAMILIAR: VerdictWords(
        title="Familiar",
        because="This benchmark, or text of its form, was in the training data.",
        next_step="give --same-form DATA, unseen tasks of the same form, to tell the benchmark from its form.",
        sentence="{benchmark}, or text of its form, was probably in the training data of {model}.",
        manual=("", "the benchmark, or text of its form, was probably in the training data"),
    ),
    Verdict.CONTAMINATED: VerdictWords(
        title="Contaminated",
        because="The model knows this benchmark better than unseen text of the same form.",
        next_step="split the results of an evaluation by this run: `assay annotate RESULTS --audit RUN`.",
        sentence="{benchmark}, or a part of it, was probably in the training data of {model}.",
        manual=(
            " (with `--same-form`)",
            "the benchmark, or a part of it, was probably in the training data; the named tasks",
        ),
    ),
    Verdict.NO_EVIDENCE: VerdictWords(
        title="No evidence",
        because="The model knows these texts no better than text that it has certainly not seen.",
        next_step="more unseen texts would narrow the interval.",
        sentence="We found no evidence that {benchmark} was in the training data of {model}.",
        manual=("", "at most the printed share was seen 4 times or more; not that nothing was seen"),
    ),
    Verdict.CANNOT_TELL: VerdictWords(
        title="Cannot tell yet",
        because="",
        next_step="",
        sentence="We cannot tell whether {benchmark} was in the training data of {model} ({reason}).",
        manual=("", "nothing, for the printed reason; the last line says what would decide it"),
    ),
}


def _always(_: ScoreSummary) -> bool:
    return True


def _is_unscored(summary: ScoreSummary) -> bool:
    return not summary.scored


def _has_few_samples(summary: ScoreSummary) -> bool:
    """Return True if the benchmark itself has too few groups for an interval."""
    groups = summary.test.share.estimate.groups if summary.test is not None else ()
    return bool(groups) and groups[0] < GROUPS_FOR_INTERVAL


def _has_interval(summary: ScoreSummary) -> bool:
    return summary.test is not None and summary.test.share.estimate.has_interval


def _control(summary: ScoreSummary) -> NegativeControl | None:
    return summary.calibration.control if summary.calibration else None


def _control_is_below(summary: ScoreSummary) -> bool:
    control = _control(summary)
    return control is not None and control.is_below_chance


def _control_is_unclear(summary: ScoreSummary) -> bool:
    control = _control(summary)
    return control is not None and not control.flagged.rate.low > control.flagged.chance


@dataclass(frozen=True, slots=True)
class OpenReason:
    """Why there is no verdict, in words.

    Attributes:
        category: as tables and statements name it.
        because: the reason, a sentence of at most twenty words without a number.
        next_step: what would decide it.
        manual: what it means and what to do, in Markdown; () for a case that the manual does not set apart.
        holds: of this case; rows of one category are tried in their order.
    """

    category: Undecided
    because: str
    next_step: str
    manual: tuple[()] | tuple[str, str] = ()
    holds: Callable[[ScoreSummary], bool] = _always


TOO_FEW = "There are too few independent texts for a verdict."
MORE_TEXTS = "give more unseen texts, of more projects."
MORE_ALIKE = "give unseen text more like the benchmark: `assay unseen build … --like BENCHMARK`."
PARENT_OR_FORM = "give --parent MODEL, or unseen tasks of the same form with --same-form."
DOUBT = (
    (
        "the texts that are compared may differ for a reason other than training, and neither the blind baseline nor the "
        "[control](#the-negative-control) removes the doubt"
    ),
    "unseen text that is more like the benchmark, more texts, or a control that reads the language better",
)

REASONS: tuple[OpenReason, ...] = (
    OpenReason(
        Undecided.NO_UNSEEN_TEXT,
        because="There is no text to compare with that the model has certainly not seen.",
        next_step="make unseen text with `assay unseen build REPOSITORY… --like BENCHMARK`, give --unseen.",
        manual=("there is nothing to compare with", "give `--unseen`"),
    ),
    OpenReason(
        Undecided.NOT_MEASURED,
        because="No sample of the benchmark could be scored.",
        next_step="read in the table why no sample has a value.",
        manual=("no sample has a value", "read in the table why"),
        holds=_is_unscored,
    ),
    OpenReason(
        Undecided.UNFIT_SCORE,
        because="The chosen score measures how predictable a text is, and carries no verdict.",
        next_step="leave out --primary, or choose a score that may carry a verdict (`assay score --list`).",
        manual=("the named score measures first how predictable a text is", "leave the score out"),
    ),
    OpenReason(
        Undecided.TOO_FEW,
        because=TOO_FEW,
        next_step="give the groups of the samples (--columns group=NAME), or a benchmark of more tasks.",
        manual=(
            "fewer than ten groups on a side; or of flags, no leak would have been detected",
            "more texts of more groups, on the side that is small",
        ),
        holds=_has_few_samples,
    ),
    OpenReason(
        Undecided.NOT_MEASURED,
        because="The texts that are compared may differ, and nothing shows what that does to the scores.",
        next_step="give unseen text more like the benchmark, or --control MODEL that saw neither.",
        manual=DOUBT,
    ),
    OpenReason(
        Undecided.CONTROL_NOT_FLAT,
        because="A model that never saw the benchmark knows the unseen text better, which hides a leak.",
        next_step=MORE_ALIKE,
        holds=_control_is_below,
    ),
    OpenReason(
        Undecided.CONTROL_NOT_FLAT,
        because="Nothing shows whether the texts differ for a reason other than training.",
        next_step=MORE_ALIKE,
        holds=_control_is_unclear,
    ),
    OpenReason(
        Undecided.CONTROL_NOT_FLAT,
        because="A model that never saw the benchmark reacts to the difference between the texts, too.",
        next_step=MORE_ALIKE,
        manual=DOUBT,
    ),
    OpenReason(
        Undecided.FAMILIAR_PROJECTS,
        because="Training on other texts of the same projects would explain the result as well.",
        next_step="give unseen text of the same projects, with the same groups.",
        manual=(
            (
                "the benchmark scores higher than unseen text that is alike, but not by more than the "
                "[allowance](#an-allowance-for-familiar-projects)"
            ),
            "unseen text of the same projects",
        ),
    ),
    OpenReason(
        Undecided.EASIER,
        because="The unseen text is easier for the model than the benchmark, which would hide a leak.",
        next_step=PARENT_OR_FORM,
        manual=(
            "the benchmark scores clearly below the unseen text, which would hide a leak",
            "a parent model, or text of the same form",
        ),
    ),
    OpenReason(
        Undecided.OUTSIDE,
        because="Too much of the benchmark is unlike all unseen text.",
        next_step=MORE_ALIKE,
        manual=(
            (
                "more than a fifth of the benchmark is unlike all unseen text, or the nearest unseen texts contradict "
                "the result"
            ),
            "unseen text that is more like the benchmark",
        ),
    ),
    OpenReason(
        Undecided.FORM,
        because="The benchmark and the unseen text differ in form by more than a leak would show.",
        next_step=PARENT_OR_FORM,
        manual=(
            "forms differ by more than a leak of a fifth raises the scores, so no number of such texts decides",
            "a parent model, or text of the same form",
        ),
    ),
    OpenReason(
        Undecided.TOO_FEW,
        because="Nothing shows, but there are too few independent texts to rule out a leak.",
        next_step=MORE_TEXTS,
        manual=(
            (
                "nothing shows, but a leak could be hidden: more than 15 % of the texts seen 4 times or more, or a "
                "fifth seen twice"
            ),
            "more unseen texts, of more projects; the answer says how many",
        ),
        holds=_has_interval,
    ),
    OpenReason(Undecided.TOO_FEW, because=TOO_FEW, next_step=MORE_TEXTS),
)
"""In the order of the obstacles, see `assay.leakage.verdict`."""


def open_reason(category: Undecided, summary: ScoreSummary) -> OpenReason:
    """Return the words for the reason why a score gives no verdict."""
    return next(row for row in REASONS if row.category is category and row.holds(summary))


def groups_step(form: FormTest) -> str:
    """Return how much more unseen text of another form would decide."""
    needed, present = groups_needed(parent=form.is_parent), form.residual.estimate.groups[1]
    if needed is None or needed <= present:
        return PARENT_OR_FORM
    return f"give unseen text of {number_of(needed - present, 'more project')}."
