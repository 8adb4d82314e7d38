"""The first screen is short, whatever the case: the same words in terminal, page and statement."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from assay.evaluation import Estimate, Ranking
from assay.leakage import Audit, Evidence, NegativeControl, answer_of, decide, describe_audit, describe_statement
from assay.leakage.reasons import REASONS, VERDICTS, OpenReason
from assay.leakage.results import Calibration, Distribution, ScoreSummary
from assay.reports import render_html, render_markdown
from assay.types import Sample, Undecided, Verdict
from leakage.test_verdict import CASES, FEW, flags
from support.first_screen import broken_limits

NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
NOTHING = Distribution(0.0, 1.0, {0.05: 0.0, 0.5: 0.0, 0.95: 0.0})
LOW = NegativeControl("control", flags(Estimate(0.0, 0.0, 0.03), 1.0))


def audit(evidence: Evidence) -> Audit:
    """An audit with this evidence."""
    ranking = None
    if evidence.separation is not None:
        area, ends = evidence.separation, np.array([0.0, 1.0])
        rates = {0.01: area, 0.05: area}
        ranking = Ranking("mid_pit", 60, 40, 0, 0, 20, area, area, 0.6, rates, ends, ends)
    calibration = None
    if evidence.test is not None or evidence.flagged is not None:
        zeros, flagged = np.zeros(1), evidence.flagged or flags(Estimate(0.2, 0.1, 0.3), 0.3)
        calibration = Calibration("fresh", 200, 0.05, zeros, zeros, flagged, 0.3, control=evidence.control)
        calibration = replace(calibration, detectable=evidence.detectable)
    decision = decide(evidence, "words", "model")
    return Audit(
        kind="audit",
        model="model",
        benchmark="words",
        samples=(Sample("a", "x"),),
        values={evidence.score: np.zeros(1)},
        reasons={evidence.score: (None,)},
        summaries=(
            ScoreSummary(
                evidence.score, evidence.scored, 100, NOTHING, {}, decision,
                ranking=ranking, calibration=calibration, test=None if evidence.decides_by_form else evidence.test,
                form=evidence.form if evidence.decides_by_form else None, release=evidence.release,
            ),
        ),
        primary=evidence.score,
        blind=evidence.blind,
        blind_compares=evidence.compared,
    )  # fmt: skip


BELOW = Evidence("mid_pit", 9, separation=Estimate(0.3, 0.2, 0.4), blind=CASES[0][0].blind)
HIDDEN = Evidence("sr_black", 9, flagged=flags(Estimate(0.2, 0.1, 0.3), 0.4), blind=CASES[0][0].blind, control=LOW)
EVERY = [audit(case) for case in (*(case for case, _, _ in CASES), BELOW, HIDDEN)]


def test_the_cases_are_all_there_are():
    assert {subject.decision.verdict for subject in EVERY} == set(Verdict)
    assert {subject.decision.reason for subject in EVERY} == {None, *Undecided}
    assert set(VERDICTS) == set(Verdict)
    assert {row.name for row in REASONS} == set(Undecided)


@pytest.mark.parametrize("subject", EVERY)
def test_the_first_screen_is_short(subject: Audit):
    answer = answer_of(subject)
    assert list(broken_limits(answer)) == []
    assert len(answer.lines) == 4
    assert "nan" not in " ".join(answer.lines)


@pytest.mark.parametrize("row", REASONS)
def test_every_reason_and_next_step_keeps_within_the_limits(row: OpenReason):
    assert len(row.because.split()) <= 20
    assert not NUMBER.search(row.because)
    assert len(f"next: {row.next_step}") <= 100


def test_the_manual_has_the_words_of_every_reason_and_of_every_verdict():
    rows = [f"| {row.name} | {row.meaning} | {row.advice} |" for row in REASONS if row.meaning]
    reasons = "\n".join(["| reason | what it means | what to do |", "|---|---|---|", *rows])
    assert reasons in manual("dataset-verdicts.md")
    rows = [f"| {words.seen} | {words.may_say} |" for words in VERDICTS.values()]
    verdicts = "\n".join(["| you see | you may say |", "|---|---|", *rows])
    assert verdicts in manual("how-to/audit-a-model.md")


def manual(page: str) -> str:
    return (Path(__file__).resolve().parents[2] / "docs" / page).read_text("utf-8")


@pytest.mark.parametrize("subject", EVERY)
def test_terminal_page_and_statement_begin_alike(subject: Audit):
    answer = answer_of(subject)
    report, statement = describe_audit(subject), describe_statement([(subject, {})])
    assert report.answer == statement.answer == answer
    assert "nan" not in " ".join((*report.details, *statement.details))
    page, text = render_html(report), render_markdown(report)
    assert f"**{answer.verdict}**" in text
    assert answer.because in page


def test_a_share_stands_beside_a_verdict_alone():
    shares = {subject.decision.verdict: answer_of(subject).measured for subject in EVERY[:3]}
    assert shares[Verdict.FAMILIAR] == "Share that looks trained on: 50\u00a0% (0\u00a0% to 60\u00a0%)."
    assert "not stated" in shares[Verdict.CANNOT_TELL]


def test_a_benchmark_of_few_groups_is_not_sent_for_unseen_text():
    few = next(
        subject
        for subject, (case, _, _) in zip(EVERY, CASES, strict=False)
        if case.test and case.test.share.estimate is FEW
    )
    assert "group=NAME" in answer_of(few).next_step


def test_a_result_that_shows_is_not_said_to_show_nothing():
    """Texts too few to be shown alike are one reason, and a test that shows nothing is another."""
    unsure = next(subject for subject in EVERY if "too few to show that they are alike" in subject.decision.explanation)
    test = unsure.summaries[0].test
    for p_value in (0.001, 0.4):
        summary = replace(unsure.summaries[0], test=replace(test, p_value=p_value))
        because = answer_of(replace(unsure, summaries=(summary,))).because
        assert because.startswith("Nothing shows") == (p_value > 0.05)


def test_samples_of_one_value_are_not_sent_for_more_texts():
    tied = [subject for subject in EVERY if "share one value" in subject.decision.explanation]
    assert tied
    for subject in tied:
        assert "unseen" not in answer_of(subject).next_step


def test_no_answer_asks_for_text_of_the_same_form_that_it_has():
    for subject in (subject for subject in EVERY if subject.deciding.is_open):
        own = replace(subject, summaries=(replace(subject.summaries[0], same_form=True),))
        assert "only unseen text of the same form" not in " ".join(describe_audit(own).details)


def test_sentences_name_no_measure_without_its_meaning():
    for subject in EVERY:
        assert "AUROC" not in " ".join((*describe_audit(subject).details, *describe_statement([(subject, {})]).details))


def test_a_model_is_named_as_the_user_names_it():
    named = replace(EVERY[1], model="our model")
    assert "our model" in describe_audit(named).title


@pytest.mark.parametrize("subject", [subject for subject in EVERY if subject.deciding.is_open])
def test_an_open_answer_is_led_by_the_residual_or_by_no_figure(subject: Audit):
    lead = describe_audit(subject).lead
    assert lead is None or lead.name in ("residual", "roc")


def test_the_statement_and_the_next_step_agree_on_what_would_decide():
    for subject in (subject for subject in EVERY if subject.deciding.form is not None and subject.deciding.is_open):
        words, step = describe_statement([(subject, {})]).details[0], answer_of(subject).next_step
        assert ("a parent model" in words) == ("--parent" in step)
        with_parent = replace(subject.deciding.form, is_parent=True)
        again = replace(subject, summaries=(replace(subject.summaries[0], form=with_parent),))
        assert "--parent" not in answer_of(again).next_step
        assert "a parent model" not in describe_statement([(again, {})]).details[0]
