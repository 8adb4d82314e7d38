"""The headline says what the numbers support, in words, and no more."""

import math
from dataclasses import replace

import numpy as np
import pytest

from assay.evaluation import BlindBaseline, DosePoint, Estimate, FlagRate, Ranking
from assay.evaluation.permutation_test import SetTest
from assay.leakage.description.blind import baseline_note, confounding_warning, leading_warning
from assay.leakage.description.statement import statement_of, sufficient_dose
from assay.leakage.results import Audit, Calibration, Distribution, ScoreSummary
from assay.types import Sample

NOTHING = Distribution(math.nan, math.nan, {})


def ranking(value: float, low: float, high: float, name: str = "mid_pit") -> Ranking:
    rates = {0.01: Estimate(0.12, 0.08, 0.17), 0.05: Estimate(0.41, 0.33, 0.5)}
    both = Estimate(value, low, high)
    ends = np.array([0.0, 1.0])
    return Ranking(name, 60, 40, 0, 0, 20, both, both, 0.6, rates, ends, ends)


def dose(amount: float, value: float, low: float, high: float) -> DosePoint:
    return DosePoint("mid_pit", amount, 30, 0, Estimate(0, 0, 0), Estimate(value, low, high), Estimate(0.2, 0.1, 0.3))


def blind_of(baseline: Ranking, *, separates: bool = False) -> BlindBaseline:
    return BlindBaseline(baseline, "bag of words", separates, (baseline,))


def audit(**results: object) -> Audit:
    summary = ScoreSummary("mid_pit", 100, 100, NOTHING, {}, **results)
    return Audit(
        kind="audit",
        model="some/model",
        benchmark="humaneval",
        samples=(Sample("a", "x"),),
        values={"mid_pit": np.zeros(1)},
        reasons={"mid_pit": (None,)},
        summaries=(summary,),
        primary="mid_pit",
        blind=blind_of(ranking(0.51, 0.45, 0.57, "bag of words")),
        blind_compares="members and non-members" if "ranking" in results else "this benchmark and the unseen text",
    )


def calibration(rate: float, low: float, high: float, p_value: float, discoveries: int = 14) -> Calibration:
    flags = FlagRate(10, 100, 0, 0.05, Estimate(rate, low, high), 0.05, p_value)
    q_values = np.where(np.arange(100) < discoveries, 0.01, 0.9)
    return Calibration("fresh.jsonl", 200, 0.05, np.linspace(0.01, 1, 100), q_values, flags, 0.3)


def plain(text: str) -> str:
    return text.replace("\u00a0", " ")


def test_an_interval_above_one_half_tells_members_apart():
    statement = statement_of(audit(ranking=ranking(0.83, 0.79, 0.87)))
    assert statement.text == "The members of humaneval can be distinguished from non-members, better than by chance."
    assert plain(statement.details[0]) == (
        "By Mid-PIT (mid_pit), a random member scores higher than a random non-member in 83 % of pairs "
        "(95 % interval 79 % to 87 %; chance is 50 %)."
    )


def test_an_interval_around_one_half_does_not():
    assert "cannot be distinguished" in statement_of(audit(ranking=ranking(0.52, 0.47, 0.57))).text


def test_an_interval_below_one_half_is_not_turned_around():
    statement = statement_of(audit(ranking=ranking(0.3, 0.25, 0.36)))
    assert "points the wrong way" in statement.text
    assert any("never flipped" in detail for detail in statement.details)


@pytest.mark.parametrize(
    "unknown", [ranking(0.9, math.nan, math.nan), ranking(math.nan, math.nan, math.nan)], ids=["interval", "value"]
)
def test_without_an_interval_or_a_value_there_is_no_verdict(unknown: Ranking):
    assert statement_of(audit(ranking=unknown)).text.startswith("Cannot tell")


FEW = Estimate(0.9, math.nan, math.nan, groups=(4, 5), reason="too few groups for an interval: 4 + 5")


def test_without_an_interval_no_verdict_clears_or_condemns():
    """No interval never counts as passed: neither with labels, nor by dose, nor calibrated."""
    unbounded = replace(ranking(0.9, 0.8, 0.95), auroc=FEW)
    dosed = replace(dose(8, 0.9, 0.8, 0.95), auroc=FEW)
    held = calibration(0.06, 0.01, 0.1, 0.4)
    flagged = replace(held, flagged=replace(held.flagged, rate=replace(FEW, value=0.06)))
    for unclear in (audit(ranking=unbounded), audit(doses=(dosed,)), audit(calibration=flagged)):
        statement = statement_of(unclear)
        assert statement.text.startswith("Cannot tell")
        assert "too few groups for an interval: 4 + 5" in " ".join((statement.text, *statement.details))


def test_the_number_of_groups_stands_beside_the_interval():
    held = replace(ranking(0.83, 0.79, 0.87), auroc=Estimate(0.83, 0.79, 0.87, groups=(31, 28)))
    assert "95 % interval 79 % to 87 % over 31 + 28 groups;" in plain(statement_of(audit(ranking=held)).details[0])


def test_a_blind_baseline_of_few_groups_clears_nothing():
    few = replace(ranking(0.55, 0.5, 0.6), auroc=replace(FEW, value=0.55))
    blind = BlindBaseline(few, "bag of words", False, (few,))
    unclear = replace(audit(), blind=blind, blind_compares="members and non-members")
    assert "cannot be decided from so few groups" in baseline_note(unclear)


def test_doses_are_told_by_the_lowest_that_suffices():
    points = (dose(1, 0.53, 0.47, 0.59), dose(2, 0.58, 0.49, 0.66), dose(4, 0.71, 0.65, 0.77), dose(8, 0.9, 0.86, 0.94))
    statement = statement_of(audit(doses=points))
    assert statement.text == (
        "Texts that some/model saw 4 times or more can be distinguished from texts that it never saw, "
        "better than by chance."
    )
    assert plain(statement.details[0]) == (
        "By Mid-PIT (mid_pit), the score chosen before any value was looked at, a sample seen 4 times scores higher "
        "than a never-seen one in 71 % of pairs (95 % interval 65 % to 77 %; chance is 50 %); one seen 8 times does "
        "in 90 % (86 % to 94 %)."
    )
    assert plain(statement.details[1]).startswith("Seen twice, it does in 58 % (49 % to 66 %), which chance explains:")


def test_a_dose_suffices_only_if_every_larger_one_does():
    assert sufficient_dose([dose(1, 0.7, 0.6, 0.8), dose(2, 0.5, 0.4, 0.6), dose(4, 0.7, 0.6, 0.8)]) == 4
    assert sufficient_dose([dose(4, 0.7, 0.6, 0.8), dose(1, 0.7, 0.6, 0.8)]) == 1
    assert sufficient_dose([dose(1, 0.7, 0.6, 0.8), dose(2, 0.6, 0.5, 0.8)]) is None
    assert sufficient_dose([dose(1, 0.9, math.nan, math.nan)]) is None
    assert sufficient_dose([]) is None


def test_one_exposure_may_be_enough_and_all_may_be_too_few():
    assert statement_of(audit(doses=(dose(1, 0.7, 0.6, 0.8),))).text.startswith(
        "Texts that some/model saw even once can"
    )
    blind = statement_of(audit(doses=(dose(32, 0.5, 0.4, 0.6),)))
    assert blind.text.startswith("Not even texts that some/model saw 32 times can be distinguished")


def test_more_flags_than_chance_explains_are_familiar():
    statement = statement_of(audit(calibration=calibration(0.28, 0.22, 0.35, 0.0001)))
    assert plain(statement.text) == (
        "Contaminated: 28 % of humaneval is flagged as familiar to some/model, where 5 % is chance."
    )
    details = plain(" ".join(statement.details))
    assert "95 % interval of 22 % to 35 %" in details
    assert "in fewer than 1 case in 1,000" in details
    assert "No single sample is named" in details


def test_an_interval_above_chance_is_not_enough_where_the_unseen_set_is_small():
    """The p-value decides, as it does for `--fail-on flagged.p<0.05`."""
    statement = statement_of(audit(calibration=calibration(0.14, 0.08, 0.22, 0.21)))
    assert statement.text.startswith("No evidence: 14")


def test_fewer_flags_than_chance_are_no_evidence():
    assert statement_of(audit(calibration=calibration(0.01, 0.0, 0.03, 0.9))).text.startswith("No evidence: 1")


def test_values_alone_give_no_verdict_but_advice():
    statement = statement_of(audit())
    assert statement.text.startswith("Cannot tell")
    assert "--unseen" in statement.details[-1]


@pytest.mark.parametrize("value", [-1e9, 0.0, 1e9])
def test_no_value_however_high_makes_an_uncalibrated_score_a_leak(value: float):
    subject = replace(audit(), values={"mid_pit": np.array([value])})
    assert statement_of(subject) == statement_of(audit())
    assert "leaked: yes" not in " ".join([statement_of(subject).text, *statement_of(subject).details]).lower()


def test_a_score_without_any_value_says_why(unscorable: Audit):
    statement = statement_of(unscorable)
    assert (
        statement.text
        == "Cannot tell (not measured): none of 5 samples of humaneval could be scored by Mid-PIT (mid_pit)."
    )
    assert statement.details[0] == "Most common reason: fewer than 2 tokens."


def test_unscorable_samples_are_counted_beside_the_verdict():
    subject = audit(ranking=ranking(0.83, 0.79, 0.87))
    summary = replace(subject.summaries[0], scored=97)
    assert (
        statement_of(replace(subject, summaries=(summary,)))
        .details[-1]
        .startswith("3 samples of 100 could not be scored")
    )


def test_known_non_members_check_the_calibration():
    checked = replace(
        calibration(0.28, 0.22, 0.35, 0.0001),
        false_positives=FlagRate(2, 40, 0, 0.05, Estimate(0.05, 0.02, 0.12), 0.05, 0.5),
    )
    subject = statement_of(audit(ranking=ranking(0.83, 0.79, 0.87), calibration=checked))
    assert (
        "A threshold set beforehand on 200 other unseen texts falsely flags 5 % (2 % to 12 %) of 40 non-members, where "
        "5 % is chance; as many or more would come up in 50 % of cases."
    ) in plain(" ".join(subject.details))


def test_what_the_threshold_finds_is_told_dose_by_dose():
    def rate(value: float) -> FlagRate:
        return FlagRate(2, 40, 0, 0.05, Estimate(value, 0.02, 0.12), 0.05, 0.5)

    by_dose = {0: rate(0.05), 1: rate(0.08), 2: rate(0.3), 16: rate(1.0)}
    rates = replace(calibration(0.28, 0.22, 0.35, 0.0001), false_positives=by_dose[0], by_dose=by_dose)
    subject = plain(" ".join(statement_of(audit(doses=(dose(1, 0.7, 0.6, 0.8),), calibration=rates)).details))
    assert "flags 8 % of those seen once, 30 % seen twice and 100 % seen 16 times, and falsely flags 5 %" in subject


def test_a_calibration_that_flags_too_many_known_non_members_is_said_not_to_hold():
    rates = FlagRate(12, 40, 0, 0.05, Estimate(0.3, 0.18, 0.45), 0.05, 0.0004)
    subject = statement_of(
        audit(
            ranking=ranking(0.83, 0.79, 0.87), calibration=replace(calibration(0.3, 0.2, 0.4, 0), false_positives=rates)
        )
    )
    assert "the calibration does not hold here" in subject.details[-1]


def test_a_baseline_that_separates_is_a_warning_and_marks_the_statement():
    blind = ranking(0.92, 0.88, 0.95, "bag of words")
    subject = replace(
        audit(ranking=ranking(0.83, 0.79, 0.87)),
        blind=BlindBaseline(blind, "bag of words", separates=True, all=(blind,)),
        blind_compares="members and non-members",
    )
    warning = confounding_warning(subject) or ""
    assert "separates members and non-members: AUROC .920 [.880, .950]" in warning
    assert "mid_pit reaches .830 [.790, .870]" in warning
    assert baseline_note(subject) is None
    assert leading_warning(subject) == warning
    assert any("warning above" in detail for detail in statement_of(subject).details)


def test_unseen_text_of_another_kind_gives_no_verdict_however_much_is_flagged():
    blind = ranking(1.0, 0.98, 1.0, "bag of words")
    subject = replace(
        audit(calibration=calibration(0.96, 0.92, 0.98, 0.0001)),
        blind=BlindBaseline(blind, "bag of words", separates=True, all=(blind,)),
        blind_compares="this benchmark and the unseen text",
    )
    statement = statement_of(subject)
    assert statement.text == (
        "Cannot tell (not measured): humaneval and the unseen text may differ in more than training."
    )
    assert statement.details[0].startswith("A baseline that never sees the model separates this benchmark")
    assert "assay unseen build" in statement.details[1]
    assert leading_warning(subject) is None
    assert "stand out" not in " ".join((statement.text, *statement.details))


def test_a_baseline_that_does_not_separate_is_a_note():
    blind = ranking(0.52, 0.47, 0.57, "bag of words")
    subject = replace(
        audit(calibration=calibration(0.28, 0.22, 0.35, 0.0001)),
        blind=BlindBaseline(blind, "bag of words", separates=False, all=(blind,)),
        blind_compares="this benchmark and the unseen text",
    )
    assert confounding_warning(subject) is None
    assert "cannot separate this benchmark and the unseen text" in (baseline_note(subject) or "")


@pytest.mark.parametrize(
    ("blind", "sentence"),
    [
        (ranking(0.57, 0.51, 0.62), "non-members a little"),
        (ranking(0.64, 0.44, 0.79), "cannot be ruled out"),
        (ranking(0.41, 0.3, 0.52), "cannot separate"),
    ],
)
def test_a_baseline_short_of_a_warning_is_reported_as_good_as_it_is(blind: Ranking, sentence: str):
    beside = replace(
        audit(ranking=ranking(0.83, 0.79, 0.87)),
        blind=BlindBaseline(blind, "bag of words", separates=False, all=(blind,)),
        blind_compares="members and non-members",
    )
    assert sentence in (baseline_note(beside) or "")


def test_a_baseline_that_could_not_be_measured_says_why():
    subject = replace(audit(), blind=BlindBaseline(None, None, separates=False, all=(), reason="too few texts"))
    assert confounding_warning(subject) is None
    assert baseline_note(subject) == "No blind baseline: too few texts."


def test_every_kind_of_audit_has_a_statement(every_audit: dict[str, Audit]):
    for subject in every_audit.values():
        statement = statement_of(subject)
        assert statement.text.endswith(".")
        assert all(detail.endswith(".") for detail in statement.details)
        assert "nan" not in " ".join([statement.text, *statement.details])


def test_a_benchmark_is_judged_as_a_whole_too():
    whole = SetTest(0.0005, 0.61, 164, 164, 200, 31)
    rates = replace(calibration(0.08, 0.05, 0.13, 0.1), whole=whole)
    assert (
        "The set as a whole: a sample of it scores above an unseen text in 61 % of pairs (chance is 50 %); had nothing "
        "leaked, that much would come up"
    ) in plain(" ".join(statement_of(audit(calibration=rates)).details))


def test_unseen_text_without_groups_is_told_to_need_them():
    for groups, warned in ((200, True), (31, False)):
        rates = replace(calibration(0.08, 0.05, 0.13, 0.1), whole=SetTest(0.0005, 0.61, 164, 164, 200, groups))
        subject = plain(" ".join(statement_of(audit(calibration=rates)).details))
        assert ("where some are siblings" in subject) is warned


def test_too_few_groups_for_a_test_of_the_whole_are_told():
    rates = replace(calibration(0.08, 0.05, 0.13, 0.1), whole=SetTest(math.nan, 0.6, 100, 1, 200, 31))
    assert "no p-value, since that takes 5 groups on either side (100 samples of 1 group" in plain(
        " ".join(statement_of(audit(calibration=rates)).details)
    )
