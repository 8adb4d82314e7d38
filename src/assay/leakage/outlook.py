"""Ways to settle whether a model saw a benchmark, and the power of an audit, both before a model is run."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from assay.evaluation import FEWEST_GROUPS, GROUPS_FOR_INTERVAL, BlindBaseline, blind_baseline
from assay.leakage.form_test import LEAK, TESTED_SCORE, power
from assay.leakage.inputs import DecisionSettings, Draws
from assay.leakage.texts import AuditedTexts, groups_of, may_be_python, naming_arguments, unseen_command
from assay.leakage.verdict import texts_differ
from assay.progress import inform
from assay.reports import number_of, percent
from assay.types import Sample, texts_of

if TYPE_CHECKING:
    from assay.leakage.opening import RequestedAudit

WAYS = (
    ("the training data", "`assay scan CORPUS… --for {looked_for}`", ""),
    ("a randomised release of the benchmark", "--release SECRET", "release"),
    ("the model that it was trained from, if older than the benchmark", "--parent MODEL", "parent"),
    ("tasks of the same form that were kept private", "--same-form DATA", "same form"),
    ("other text that it has not seen", "--unseen DATA{auto}", "unseen"),
)
"""What settles the question, the surest first: in words, how it is given, and its name among what is given."""
BY_LIST = ", or --unseen auto:DATE (its release) --download"
NO_VERDICT = (
    "there will be no verdict, because there is no text to compare with that the model has certainly not seen: "
    "expected --unseen DATA (`{command}` makes it), {parent}or --describe to see the scores alone"
)
WITH_PARENT = "for a benchmark in a form of its own with --parent MODEL too, "


@dataclass(frozen=True, slots=True, eq=False)
class Outlook:
    """The possible results of an audit.

    Attributes:
        lines: what would settle the question, and how often this audit finds a leak, one sentence each.
        foregone: why the question will stay open unless a leak is large; None where it may be decided.
        blind: baseline that never sees the model; None where nothing is compared with unseen text.
    """

    lines: tuple[str, ...] = ()
    foregone: str | None = None
    blind: BlindBaseline | None = None

    def report(self) -> None:
        """Print the lines on standard error."""
        for line in self.lines:
            inform(line)


def outlook_of(request: "RequestedAudit", texts: AuditedTexts) -> Outlook:
    """Return what an audit of these texts can decide."""
    settings, same_form = request.settings, request.same_form
    # labels decide, so no other way is missing
    if texts.has_both_classes:
        return Outlook()
    lines = tuple(_ways(request, texts))
    if texts.fresh is None:
        return Outlook(lines, _nothing_to_compare(request, texts))
    blind = compared_blindly(texts.dataset.samples, texts.unseen, DecisionSettings(seed=settings.seed).draws)
    # the same question that the verdict asks later, so that no audit begins that it would leave open
    by_form = not same_form and (settings.parent is not None or texts_differ(blind))
    if by_form and request.score == TESTED_SCORE and settings.parent is not None:
        lines = (*lines, _power(texts))
    if settings.release is not None:  # its test needs no unseen text
        return Outlook(lines, blind=blind)
    foregone = _too_few_groups(texts, by_form=by_form)
    # said in place of the groups of unseen text, as more would not decide; with few tasks no parent would either
    enough = texts.groups >= GROUPS_FOR_INTERVAL
    if by_form and enough and settings.parent is None and not _has_other_test(request):
        foregone = _form_undecided(request, texts, blind)
    return Outlook(lines, foregone and f"{texts.dataset.name}: {foregone}", blind)


def _nothing_to_compare(request: "RequestedAudit", texts: AuditedTexts) -> str | None:
    if texts.calibration is not None or request.settings.release is not None:
        return None
    parent = "" if "parent" in closed_ways(request, texts) else WITH_PARENT
    return f"{texts.dataset.name}: {NO_VERDICT.format(command=unseen_command(texts.dataset), parent=parent)}"


def compared_blindly(benchmark: Sequence[Sample], unseen: Sequence[Sample], draws: Draws) -> BlindBaseline:
    """Return how well the texts alone tell a benchmark from unseen text."""
    both = [*benchmark, *unseen]
    return blind_baseline(texts_of(both), [True] * len(benchmark) + [False] * len(unseen), groups_of(both), **draws)


def closed_ways(request: "RequestedAudit", texts: AuditedTexts) -> tuple[str, ...]:
    """Return the names of the ways to decide that an audit has taken already, or that it cannot take."""
    settings, is_gray = request.settings, request.selection.access != "black"
    from_file = texts.calibration is not None
    has_unseen = from_file or texts.fresh is not None
    # a residual needs token probabilities of texts, and is for text of another form without weights
    has_residual = is_gray and not from_file and not request.same_form and settings.weights == "none"
    closed = {
        "parent": settings.parent is not None or not has_residual,
        "control": settings.parent is not None or settings.control not in (None, "none") or from_file,
        "same form": request.same_form,
        "unseen": has_unseen,
        "auto": has_unseen or not may_be_python(texts.dataset),
        "gray": is_gray,
        "declared score": settings.primary is None,
    }
    return tuple(name for name, is_closed in closed.items() if is_closed)


def _ways(request: "RequestedAudit", texts: AuditedTexts) -> Iterator[str]:
    yield f"what would settle whether {texts.dataset.name} was trained on, the surest first:"
    settings, closed, auto = request.settings, closed_ways(request, texts), ""
    followed = {
        "release": settings.release is not None,
        "parent": settings.parent is not None,
        "same form": request.same_form,
        "unseen": "unseen" in closed and not request.same_form,
    }
    if may_be_python(texts.dataset):
        auto = BY_LIST
    looked_for = "=".join(naming_arguments(texts.dataset))
    for words, how, name in WAYS:
        is_given = followed.get(name, False)
        if is_given or name not in closed:
            yield f"- {words}: {how.format(looked_for=looked_for, auto=auto)}{' (given)' * is_given}"


def _power(texts: AuditedTexts) -> str:
    """Return how often the residual finds a leak with the parent."""
    groups = texts.unseen_groups
    chance = percent(power(max(2, groups), parent=True))
    return (
        f"with the parent and {number_of(groups, 'group')} of unseen text, a leak of {percent(LEAK)} of the tasks, "
        f"seen twice, is found in {chance} of cases"
    )


def _has_other_test(request: "RequestedAudit") -> bool:
    """Return True where something else than the residual may decide although the texts differ."""
    settings = request.settings
    if settings.allow_confounded or settings.weights != "none":
        return True
    return request.score != TESTED_SCORE and request.selection.access != "black"


def _form_undecided(request: "RequestedAudit", texts: AuditedTexts, blind: BlindBaseline) -> str:
    shown = "nothing shows that the texts are alike"
    if blind.ranking is not None:
        pairs = percent(blind.ranking.auroc.value)
        shown = f"the texts alone tell the benchmark from the unseen text (in {pairs} of pairs; half is chance)"
    # a residual is of token probabilities, and so is its power
    if request.selection.access == "black":
        return (
            f"no leak could be ruled out: {shown}, and for generated text no second model takes that difference off. "
            "Expected --same-form DATA, --access gray with --parent MODEL, or --describe, which looks for a leak all "
            "the same"
        )
    # an error between groups takes two of them
    groups = max(2, texts.unseen_groups)
    small, whole = (percent(power(groups, share, parent=False)) for share in (LEAK, 1.0))
    return (
        f"no leak could be ruled out: {shown}, and no parent model takes that difference off. A leak would be found "
        f"in {small} of cases where {percent(LEAK)} of the tasks were seen twice, and in {whole} where all were; more "
        f"unseen text changes little. Expected --parent MODEL (then {percent(power(groups, parent=True))}), "
        "--same-form DATA, or --describe, which looks for a leak all the same"
    )


def _too_few_groups(texts: AuditedTexts, *, by_form: bool) -> str | None:
    # the variance by group of a regression is reliable from more groups on than that of a mean
    needed, why = GROUPS_FOR_INTERVAL, ""
    if by_form:
        needed, why = FEWEST_GROUPS, " where forms may differ"
    sides = (
        ("benchmark", texts.dataset.samples, GROUPS_FOR_INTERVAL, "", "audit more of it"),
        ("unseen text", texts.unseen, needed, why, "add text of other projects"),
    )
    for side, samples, least, condition, advice in sides:
        count = len(set(groups_of(samples)))
        if count >= least:
            continue
        present = f"the {side} is of {number_of(count, 'group')} ({number_of(len(samples), 'text')})"
        # texts enough, but of few origins: the column of groups may be another one than the reader thinks
        other = ", or name another column of groups (--columns group=NAME)" if side == "benchmark" else ""
        way = advice + other * (len(samples) >= least)
        return f"there will be no verdict: {present}, expected at least {least}{condition}; {way}"
    return None
