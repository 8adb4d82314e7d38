"""No answer advises what was given already, or what cannot decide, whatever was given."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product

from assay.datasets import Dataset
from assay.errors import AssayError
from assay.leakage import AuditedTexts, AuditSettings, RequestedAudit, UnseenScores
from assay.leakage.outlook import closed_ways, outlook_of
from assay.leakage.reasons import deciding_step
from assay.leakage.results import ScoreSummary
from assay.models import ModelSettings
from assay.scoring import Opener, ScoreSelection
from assay.types import Sample, Undecided
from leakage.test_answer import EVERY

TEXTS = {"nothing": None, "unseen": "--unseen", "same form": "--same-form", "scores": "--unseen"}


@dataclass(frozen=True)
class Given:
    """What a user gave with a benchmark."""

    texts: str
    language: str
    parent: str | None
    control: str | None
    access: str
    weights: str
    primary: str | None

    def closed(self) -> tuple[str, ...]:
        """Return the closed ways of this audit, by the code that opens it."""
        return closed_ways(self.request(), self.audited())

    def request(self) -> RequestedAudit:
        settings = AuditSettings(parent=self.parent, control=self.control, weights=self.weights, primary=self.primary)
        unseen, same_form = self.texts == "unseen", self.texts == "same form"
        settings.check(unseen=unseen, same_form=same_form, access=self.access)
        selection = ScoreSelection(access=self.access)
        return RequestedAudit("model", settings, selection, opener=Opener(ModelSettings()), same_form=same_form)

    def audited(self) -> AuditedTexts:
        def texts(count: int, words: str) -> Dataset:
            return Dataset.of(
                words, [Sample(f"{words}{i}", f"{words} {i}", self.language) for i in range(count)], source=words
            )

        fresh = texts(30, "new") if self.texts in ("unseen", "same form") else None
        scores = UnseenScores("file", "model", {}, {}) if self.texts == "scores" else None
        return AuditedTexts(texts(30, "old"), fresh, scores)

    def options(self) -> Iterator[str]:
        """Yield the options that no advice may name: given, or refused beside what was given."""
        if self.texts != "nothing":
            yield TEXTS[self.texts]
        if self.parent or self.access == "black" or self.weights != "none" or self.texts in ("same form", "scores"):
            yield "--parent"
        if self.parent or self.control == "other" or self.texts == "scores":
            yield "--control"
        if self.access == "gray":
            yield "--access gray"
        if self.primary is None:
            yield "--primary"
        if self.language == "java":
            yield "auto:"


def every_given() -> Iterator[Given]:
    for values in product(
        TEXTS,
        ("python", "java"),
        (None, "base"),
        (None, "none", "other"),
        ("gray", "black"),
        ("none", "length"),
        (None, "loss"),
    ):
        given = Given(*values)
        try:
            given.request()
        except AssayError:  # refused before anything is read
            continue
        yield given


GIVEN = list(every_given())


def is_reachable(summary: ScoreSummary, given: Given) -> bool:
    """Return True if an audit with what was given can end with this result."""
    if (summary.decision.reason is Undecided.NO_UNSEEN_TEXT) != (given.texts == "nothing"):
        return summary.separation is not None or summary.scored == 0
    if summary.decision.reason is Undecided.EASIER and given.texts == "same form":
        return False
    if summary.form is not None:
        has_residual = given.texts == "unseen" and given.access == "gray" and given.weights == "none"
        return has_residual and summary.form.is_parent == (given.parent is not None) and given.control != "none"
    return True


def test_no_advice_names_what_was_given_or_cannot_decide():
    for given in GIVEN:
        closed = given.closed()
        for subject in EVERY:
            summary = replace(subject.deciding, closed=closed, same_form=given.texts == "same form")
            if not summary.is_open or not is_reachable(summary, given):
                continue
            row = deciding_step(summary.decision.reason, summary)
            for option in given.options():
                assert option not in row.next_step, (given, row.because)
            assert row.next_step != "give ."
            assert row.decides
            assert ("--parent" in row.next_step) == ("a parent model" in row.decides)


def test_every_open_reason_is_reached():
    reached = set()
    for given, subject in product(GIVEN, EVERY):
        if subject.deciding.is_open and is_reachable(subject.deciding, given):
            reached.add(subject.decision.reason)
    assert reached == set(Undecided)


def test_the_first_lines_offer_no_way_that_is_refused_or_given():
    for given in GIVEN:
        if given.texts in ("nothing", "scores"):
            outlook = outlook_of(given.request(), given.audited())
            lines = [line for line in outlook.lines if not line.endswith("(given)")]
            for option in given.options():
                assert option not in " ".join((*lines, outlook.foregone or "")), given


def test_a_benchmark_of_five_tasks_is_not_sent_for_a_parent():
    given = Given("unseen", "python", None, None, access="gray", weights="none", primary=None)
    audited = given.audited()
    few = replace(audited, dataset=Dataset.of("few", audited.dataset.samples[:5], source="few"))
    assert "the benchmark is of 5 groups (5 texts), expected at least 10" in str(
        outlook_of(given.request(), few).foregone
    )
    assert "--parent" not in str(outlook_of(given.request(), few).foregone)
