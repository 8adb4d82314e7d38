"""The sentences below the first screen say what the numbers support, and no more."""

from dataclasses import replace

import numpy as np
import pytest

from assay.evaluation import BlindBaseline, DosePoint, Estimate, FlagRate, Ranking
from assay.leakage.description.blind import baseline_sentence
from assay.leakage.description.details import bound_sentence, details_of, sufficient_dose
from assay.leakage.results import Audit, Calibration, Distribution, ScoreSummary
from assay.types import Sample
from support.audits import OPEN, decided

NOTHING = Distribution(0.0, 1.0, {})


def ranking(value: float, low: float, high: float, name: str = "mid_pit") -> Ranking:
    rates = {0.01: Estimate(0.12, 0.08, 0.17), 0.05: Estimate(0.41, 0.33, 0.5)}
    both = Estimate(value, low, high)
    ends = np.array([0.0, 1.0])
    return Ranking(name, 60, 40, 0, 0, 20, both, both, 0.6, rates, ends, ends)


def dose(amount: float, value: float, low: float, high: float) -> DosePoint:
    return DosePoint("mid_pit", amount, 30, 0, Estimate(0, 0, 0), Estimate(value, low, high), Estimate(0.2, 0.1, 0.3))


def audit(baseline: Ranking | None = None, *, separates: bool = False, **results: object) -> Audit:
    summary = ScoreSummary("mid_pit", 100, 100, NOTHING, {}, OPEN, **results)
    blind = baseline or ranking(0.51, 0.45, 0.57, "bag of words")
    return decided(
        Audit(
            kind="audit",
            model="some/model",
            benchmark="humaneval",
            samples=(Sample("a", "x"),),
            values={"mid_pit": np.zeros(1)},
            reasons={"mid_pit": (None,)},
            summaries=(summary,),
            primary="mid_pit",
            blind=BlindBaseline(blind, "bag of words", separates, (blind,)),
            blind_compares="members and non-members" if "ranking" in results else "this benchmark and the unseen text",
        )
    )


def calibration(rate: float, low: float, high: float, p_value: float, discoveries: int = 14) -> Calibration:
    flags = FlagRate(10, 100, 0, 0.05, Estimate(rate, low, high), 0.05, p_value)
    q_values = np.where(np.arange(100) < discoveries, 0.01, 0.9)
    return Calibration("fresh.jsonl", 200, 0.05, np.linspace(0.01, 1, 100), q_values, flags, 0.3)


def words(subject: Audit) -> str:
    return " ".join(details_of(subject)).replace("\u00a0", " ")


def test_how_well_members_can_be_told_apart_is_stated_in_pairs():
    subject = words(audit(ranking=ranking(0.83, 0.79, 0.87)))
    assert (
        "By mid_pit, a seen sample of humaneval ranks above one that was never seen in 83 % of pairs "
        "(95 % interval 79 % to 87 %; chance is 50 %)."
    ) in subject
    assert "never flipped" in words(audit(ranking=ranking(0.3, 0.25, 0.36)))


def test_doses_are_told_by_the_lowest_that_suffices():
    points = (dose(1, 0.53, 0.47, 0.59), dose(2, 0.58, 0.49, 0.66), dose(4, 0.71, 0.65, 0.77), dose(8, 0.9, 0.86, 0.94))
    subject = words(audit(doses=points))
    assert "Texts that some/model saw 4 times or more can be distinguished from texts that it never saw" in subject
    assert "a sample seen 4 times ranks higher in 71 % of pairs (95 % interval 65 % to 77 %; chance is 50 %)" in subject
    assert "saw even once can" in words(audit(doses=(dose(1, 0.7, 0.6, 0.8),)))
    assert "Not even texts that some/model saw 32 times can" in words(audit(doses=(dose(32, 0.5, 0.4, 0.6),)))


def test_a_dose_suffices_only_if_every_larger_one_does():
    assert sufficient_dose([dose(1, 0.7, 0.6, 0.8), dose(2, 0.5, 0.4, 0.6), dose(4, 0.7, 0.6, 0.8)]) == 4
    assert sufficient_dose([dose(4, 0.7, 0.6, 0.8), dose(1, 0.7, 0.6, 0.8)]) == 1
    assert sufficient_dose([dose(1, 0.7, 0.6, 0.8), dose(2, 0.6, 0.5, 0.8)]) is None
    assert sufficient_dose([dose(1, 0.9, float("nan"), float("nan"))]) is None
    assert sufficient_dose([]) is None


def test_flags_stand_beside_chance():
    subject = words(audit(calibration=calibration(0.28, 0.22, 0.35, 0.0001)))
    assert "Flagged one by one: 28 % of the samples (22 % to 35 %), where 5 % is chance" in subject
    assert "No single sample is named" in subject
    assert "Compared with 200 unseen texts from fresh.jsonl." in subject


def test_values_alone_are_described():
    assert "cannot say whether it leaked, however high the scores are" in words(audit())


def test_unscorable_samples_are_counted():
    subject = audit(ranking=ranking(0.83, 0.79, 0.87))
    fewer = replace(subject, summaries=(replace(subject.summaries[0], scored=97),))
    assert details_of(fewer)[-1].startswith("3 samples of 100 could not be scored")


def test_known_non_members_check_the_calibration():
    checked = replace(
        calibration(0.28, 0.22, 0.35, 0.0001),
        false_positives=FlagRate(2, 40, 0, 0.05, Estimate(0.05, 0.02, 0.12), 0.05, 0.5),
    )
    subject = words(audit(ranking=ranking(0.83, 0.79, 0.87), calibration=checked))
    assert "falsely flags 5 % (2 % to 12 %) of 40 non-members, where 5 % is chance." in subject
    rates = FlagRate(12, 40, 0, 0.05, Estimate(0.3, 0.18, 0.45), 0.05, 0.0004)
    broken = replace(calibration(0.3, 0.2, 0.4, 0), false_positives=rates)
    assert "the calibration does not hold here" in words(audit(ranking=ranking(0.83, 0.79, 0.87), calibration=broken))


def test_what_the_threshold_finds_is_told_dose_by_dose():
    def rate(value: float) -> FlagRate:
        return FlagRate(2, 40, 0, 0.05, Estimate(value, 0.02, 0.12), 0.05, 0.5)

    by_dose = {0: rate(0.05), 1: rate(0.08), 2: rate(0.3), 16: rate(1.0)}
    rates = replace(calibration(0.28, 0.22, 0.35, 0.0001), false_positives=by_dose[0], by_dose=by_dose)
    subject = words(audit(doses=(dose(1, 0.7, 0.6, 0.8),), calibration=rates))
    assert "flags 8 % of those seen once, 30 % seen twice and 100 % seen 16 times, and falsely flags 5 %" in subject


@pytest.mark.parametrize(
    ("blind", "separates", "sentence"),
    [
        (ranking(0.92, 0.88, 0.95), True, "rightly in 92 % of pairs (95 % interval 88 % to 95 %; chance is 50 %)"),
        (ranking(0.57, 0.51, 0.62), False, "separates a little"),
        (ranking(0.64, 0.44, 0.79), False, "cannot be ruled out"),
        (ranking(0.55, float("nan"), float("nan")), False, "too few to be sure"),
        (ranking(0.41, 0.3, 0.52), False, "cannot separate"),
    ],
)
def test_the_baseline_is_reported_as_good_as_it_is(blind: Ranking, separates, sentence: str):
    beside = audit(blind, separates=separates, ranking=ranking(0.83, 0.79, 0.87))
    assert sentence in baseline_sentence(beside).replace("\xa0", " ")
    assert baseline_sentence(beside) in details_of(beside)


def test_a_baseline_that_could_not_be_measured_says_why():
    subject = replace(audit(), blind=BlindBaseline(None, None, separates=False, all=(), reason="too few texts"))
    assert baseline_sentence(subject) == "No blind baseline: too few texts."


def test_every_kind_of_audit_has_its_sentences(every_audit: dict[str, Audit]):
    for subject in every_audit.values():
        assert all(detail.endswith(".") for detail in details_of(subject))
        assert "nan" not in words(subject)


@pytest.mark.parametrize(
    ("bound", "words"), [(0.0, "Fewer than 1 %"), (0.004, "Fewer than 1 %"), (0.07, "At most 7 %")]
)
def test_a_bound_of_a_sample_never_says_that_no_text_was_seen(bound, words):
    assert bound_sentence(bound).replace("\xa0", " ").startswith(f"{words} of the texts")
