"""Runs side by side."""

from dataclasses import replace

import pytest

from assay.errors import DataError
from assay.evaluation.estimate import Estimate
from assay.leakage.results import Audit
from assay.pages.comparing import cells, comparison
from assay.pages.wording import auroc, percent_with_interval


def named(audit: Audit, model: str, benchmark: str) -> Audit:
    return replace(audit, model=model, benchmark=benchmark)


def test_models_stand_in_rows_and_benchmarks_in_columns_in_the_order_given(demo: Audit):
    places = [("b", "two"), ("a", "one"), ("b", "one")]
    table = comparison(cells({f"r{i}": named(demo, *place) for i, place in enumerate(places)}, "auroc"), "auroc")
    assert table.columns == ("two", "one")
    assert [row.name for row in table.rows] == ["b", "a"]
    assert table.rows[1].cells[0] == "–"
    assert table.rows[0].cells[0] == auroc(demo.summary("mid_pit").ranking.auroc)


def test_a_flag_rate_stands_with_its_interval_above_its_chance_level(calibrated: Audit):
    (cell,) = found = cells({"r": calibrated}, "flagged")
    held = calibrated.summary(calibrated.primary).calibration
    assert isinstance(cell.value, Estimate)
    assert cell.chance == held.flagged.chance
    table = comparison(found, "flagged")
    assert table.rows[0].cells == (percent_with_interval(held.flagged.rate),)
    assert any("Chance flags" in sentence for sentence in table.caption)


def test_a_run_whose_texts_give_themselves_away_is_marked(confounded: Audit, demo: Audit):
    table = comparison(cells({"r": confounded, "s": named(demo, "m", "other")}, "auroc"), "auroc")
    assert [cell.endswith("†") for cell in (table.rows[0].cells[0], table.rows[1].cells[1])] == [True, False]
    assert table.caption[-1].startswith("†")


def test_what_a_run_cannot_have_is_a_dash_and_the_caption_says_what_it_needs(unlabelled: Audit):
    table = comparison(cells({"r": unlabelled}, "auroc"), "auroc")
    assert table.rows[0].cells == ("–",)
    assert any("needs labels of both classes" in sentence for sentence in table.caption)


def test_the_score_can_be_named(demo: Audit):
    (cell,) = cells({"r": demo}, "auroc", "lrr")
    assert (cell.score, cell.value) == ("lrr", demo.summary("lrr").ranking.auroc)


@pytest.mark.parametrize(
    ("runs", "figure", "score", "message"),
    [
        (["r"], "leak", None, "expected one of flagged"),
        (["r"], "auroc", "zlob", "r: score 'zlob' was not run"),
        (["r", "s"], "auroc", None, "r and s are both of"),
    ],
)
def test_a_wrong_comparison_gets_one_clear_line(demo: Audit, runs, figure, score, message):
    with pytest.raises(DataError, match=message):
        cells(dict.fromkeys(runs, demo), figure, score)
