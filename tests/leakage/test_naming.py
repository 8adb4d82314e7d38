"""Single samples are named against unseen text of the same form, with q-values, and never against other text."""

from dataclasses import replace

import numpy as np
import pytest

from assay.annotation import TaskResult, split_by_audit
from assay.evaluation import BlindBaseline, Estimate, Ranking, benjamini_hochberg, flag_rate
from assay.leakage import Audit, describe_audit, named_samples, rule
from assay.leakage.describing import facts, sample_list
from assay.leakage.description.details import details_of
from assay.leakage.description.tables import distribution_table, named_table
from assay.leakage.results import Calibration, Distribution, ScoreSummary
from assay.leakage.run_folder import read_run, summary_of, write_run
from assay.reports import render_markdown
from assay.types import Decision, ReleaseEvidence, Sample, Undecided, Verdict
from support.audits import OPEN, decided

TASKS, UNSEEN = 60, 400
AREA = Estimate(0.51, 0.45, 0.57)
RANKING = Ranking("bag of words", 60, 400, 0, 0, 60, AREA, AREA, 0.6, {0.05: AREA}, np.zeros(2), np.ones(2))


def calibration(leaked: int, unseen: int = UNSEEN) -> Calibration:
    """The first `leaked` tasks score above all unseen texts, the others like them."""
    p_values = np.r_[np.full(leaked, 1 / (unseen + 1)), np.linspace(0.06, 1, TASKS - leaked)]
    flags = flag_rate(p_values, 0.05, unseen=unseen)
    return Calibration("fresh", unseen, 0.05, p_values, benjamini_hochberg(p_values), flags, 0.3)


def audit(
    primary: str = "mid_pit", *, separates: bool = False, same_form: bool = True, **calibrations: Calibration | None
) -> Audit:
    nothing = Distribution(0.0, 1.0, {0.05: -1.0, 0.5: 0.0, 0.95: 1.0})
    values = {name: np.linspace(2, -2, TASKS) for name in calibrations}
    return decided(
        Audit(
            kind="audit",
            model="some/model",
            benchmark="humaneval",
            samples=tuple(Sample(f"task/{i}", f"text {i}") for i in range(TASKS)),
            values=values,
            reasons=dict.fromkeys(values, (None,) * TASKS),
            summaries=tuple(
                ScoreSummary(name, TASKS, TASKS, nothing, {}, OPEN, calibration=own)
                for name, own in calibrations.items()
            ),
            primary=primary,
            blind=BlindBaseline(RANKING, "bag of words", separates, (RANKING,)),
            blind_compares="this benchmark and the unseen text",
        ),
        same_form=same_form,
    )


FAMILIAR = audit(mid_pit=calibration(40), sr_ratio=calibration(20), same_form=False)
NAMED = audit(mid_pit=calibration(40), sr_mid_pit=calibration(30), sr_ratio=calibration(20))


def test_against_text_of_another_form_no_sample_is_named_however_many_are_flagged():
    named = named_samples(FAMILIAR)
    assert (named.score, named.samples) == (None, ())
    assert "finds its other samples familiar too" in named.reason
    assert "No single sample is named" in " ".join(details_of(FAMILIAR))
    assert named_table(FAMILIAR) is None
    assert "q-value" not in [column.title for column in sample_list(FAMILIAR).columns]
    summary = summary_of(FAMILIAR)
    assert "discoveries" not in summary["summaries"][0]["calibration"]
    assert summary["named"]["samples"] == []


def test_the_score_that_is_declared_for_it_names_samples_and_else_that_of_the_headline():
    named = named_samples(NAMED)
    assert named.score == "sr_ratio"
    assert [sample.sample_id for sample in named.samples] == [f"task/{i}" for i in range(20)]
    assert all(sample.q_value <= 0.05 for sample in named.samples)
    assert named_samples(replace(NAMED, primary="sr_mid_pit")).score == "sr_ratio"
    headline = audit(mid_pit=calibration(40))
    assert (named_samples(headline).score, len(named_samples(headline).samples)) == ("mid_pit", 40)


def test_terminal_report_and_json_name_the_same_samples(tmp_path):
    assert "sr_ratio names 20 of 60" in " ".join(details_of(NAMED))
    assert ("Single samples named", "20") in [(fact.name, fact.value) for fact in facts(NAMED)]
    ids = [row.cells[0] for row in named_table(NAMED).rows]
    assert ids == [entry["sample_id"] for entry in summary_of(NAMED)["named"]["samples"]]
    counts = {entry["score"]: entry["calibration"].get("discoveries") for entry in summary_of(NAMED)["summaries"]}
    assert counts == {"mid_pit": 40, "sr_mid_pit": 30, "sr_ratio": 20}
    titles = [column.title for column in sample_list(NAMED).columns]
    assert {"p-value", "q-value", "p-value of sr_ratio", "q-value of sr_ratio"} <= set(titles)
    assert "task/19" in render_markdown(describe_audit(NAMED))
    stored, _ = read_run(write_run(tmp_path / "run", NAMED, {}))
    assert named_samples(stored) == named_samples(NAMED)


def test_a_lot_that_is_no_proof_names_nothing():
    (first, *others) = NAMED.summaries
    for valid, score in ((True, "the lot"), (False, "sr_ratio")):
        lot = ReleaseEvidence(1e-6, 1e-5, {"task/1": 0.01}, 12, 40, valid=valid, has_beacon=True)
        found = replace(NAMED, summaries=(replace(first, release=lot), *others))
        assert named_samples(found).score == score


def test_the_table_of_scores_counts_named_samples():
    table = distribution_table(NAMED)
    place = [column.title for column in table.columns].index("named")
    cells = {row.cells[0]: row.cells[place] for row in table.rows}
    assert cells == {"mid_pit": 40, "sr_ratio": 20, "sr_mid_pit": 30}


def test_with_too_few_unseen_texts_the_report_says_how_many_it_would_take():
    few = audit(sr_ratio=calibration(10, unseen=28), primary="sr_ratio")
    (summary,) = few.summaries
    few = replace(few, summaries=(replace(summary, decision=Decision(Verdict.CONTAMINATED, "so it is")),))
    named = named_samples(few)
    assert named.samples == ()
    assert named.reason.replace("\N{NO-BREAK SPACE}", " ") == (
        "the smallest q-value is .207. 10 samples of 60 score above all 28 unseen texts; to name as many takes at "
        "least 119 unseen texts"
    )
    assert benjamini_hochberg(np.r_[np.full(10, 1 / 120), np.ones(50)])[0] == pytest.approx(0.05)


@pytest.mark.parametrize(
    ("case", "words"),
    [
        (audit(sr_ratio=None, primary="sr_ratio"), "--same-form"),
        (audit(sr_ratio=calibration(30), primary="sr_ratio", separates=True), "--same-form"),
        (audit(sr_ratio=calibration(0), primary="sr_ratio"), "--same-form"),
    ],
)
def test_where_no_sample_is_named_there_is_a_reason(case, words):
    assert named_samples(case).samples == ()
    assert words in named_samples(case).reason


def test_a_rule_on_discoveries_is_decided_against_text_of_the_same_form_alone():
    assert rule("discoveries>0").obstacle(FAMILIAR).reason is Undecided.UNFIT_SCORE
    assert rule("discoveries>0").obstacle(FAMILIAR, allow_confounded=True) is None
    assert rule("discoveries>0").obstacle(NAMED) is None
    assert rule("sr_ratio.discoveries>19").obstacle(NAMED) is None
    assert rule("sr_ratio.discoveries>19").fires(NAMED)


def test_a_split_of_tasks_rests_on_the_named_ones_and_else_on_the_order():
    tasks = [TaskResult(f"task/{i}", f"text {i}") for i in range(TASKS)]
    split = split_by_audit(NAMED, tasks)
    assert split.basis == "q-values"
    assert sum(status == "contaminated" for status in split.statuses.values()) == 20
    assert split_by_audit(FAMILIAR, tasks).basis == "order"
