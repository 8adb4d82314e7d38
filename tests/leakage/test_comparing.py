"""Runs side by side."""

from dataclasses import replace

import pytest

from assay.errors import DataError
from assay.evaluation import Estimate
from assay.leakage import compare, describe_comparison
from assay.leakage.comparing import ComparedRun
from assay.leakage.results import Audit
from assay.reports import Missing, Table, percent, percent_with_interval, render_markdown
from assay.types import Decision, Undecided, Verdict


def named(audit: Audit, model: str, benchmark: str) -> Audit:
    return replace(audit, model=model, benchmark=benchmark)


def comparison(audits: dict[str, Audit], figure: str) -> Table:
    (table,) = describe_comparison(compare(audits, figure), figure).tables
    return table


def test_models_stand_in_rows_and_benchmarks_in_columns_in_the_order_of_the_runs(demo: Audit):
    places = [("b", "two"), ("a", "one"), ("b", "one")]
    table = comparison({f"r{i}": named(demo, *place) for i, place in enumerate(places)}, "auroc")
    assert [column.title for column in table.columns] == ["model", "two", "one"]
    assert [row.cells[0] for row in table.rows] == ["b", "a"]
    assert table.rows[1].cells[1] == Missing("there is no such run")
    assert table.rows[0].cells[1] == demo.summary("mid_pit").ranking.auroc


def test_a_flag_rate_stands_with_its_interval_above_its_chance_level(calibrated: Audit):
    (run,) = runs = compare({"r": calibrated}, "flagged")
    calibration = calibrated.summary(calibrated.primary).calibration
    assert isinstance(run.value, Estimate)
    assert run.chance == calibration.flagged.chance
    text = render_markdown(describe_comparison(runs, "flagged"))
    assert percent_with_interval(calibration.flagged.rate, basis=False) in text
    assert f"Chance flags {percent(calibration.flagged.chance)}." in text


def test_a_run_whose_texts_give_themselves_away_is_marked(confounded: Audit, demo: Audit):
    table = comparison({"r": confounded, "s": named(demo, "m", "other")}, "auroc")
    assert table.rows[0].cells[1].endswith("†")
    assert table.rows[1].cells[2] == demo.summary("mid_pit").ranking.auroc
    assert table.caption[-1].startswith("†")


def test_a_figure_that_a_run_cannot_have_is_missing_with_its_reason(unlabelled: Audit):
    table = comparison({"r": unlabelled}, "auroc")
    assert table.rows[0].cells[1] == Missing("the run has none; auroc needs labels of both classes")


def test_the_score_can_be_chosen(demo: Audit):
    (run,) = compare({"r": demo}, "auroc", "lrr")
    assert (run.score, run.value) == ("lrr", demo.summary("lrr").ranking.auroc)


@pytest.mark.parametrize(
    ("runs", "figure", "score", "message"),
    [
        (["r"], "leak", None, "expected one of verdict, share"),
        (["r"], "auroc", "zlob", "r: score 'zlob' was not run"),
    ],
)
def test_a_wrong_comparison_gets_a_clear_line(demo: Audit, runs, figure, score, message):
    with pytest.raises(DataError, match=message):
        compare(dict.fromkeys(runs, demo), figure, score)


@pytest.mark.parametrize(
    ("verdicts", "words"),
    [
        (("familiar", "familiar"), "holds in all 2 runs"),
        (("familiar", "no evidence"), "does not hold: the runs say familiar and no evidence"),
        (("familiar", "cannot tell"), "is familiar in 1 of 2 runs; the others cannot tell"),
        (("cannot tell", "cannot tell"), "is open in all runs"),
    ],
)
def test_several_runs_of_one_pair_say_whether_the_verdict_holds(verdicts, words):
    runs = []
    for number, name in enumerate(verdicts):
        verdict = Verdict(name)
        reason = Undecided.TOO_FEW if verdict is Verdict.CANNOT_TELL else None
        decision = Decision(verdict, "so it is", reason)
        runs.append(ComparedRun(f"r{number}", "model", "tasks", "mid_pit", name, None, 100, decision))
    (table,) = describe_comparison(runs, "verdict").tables
    assert f"The verdict on tasks under model {words}." in table.caption
