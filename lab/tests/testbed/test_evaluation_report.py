"""The report of a controlled experiment: the tables hold its figures, and missing ones say why they are missing."""

import json
from dataclasses import replace

import pytest

from assay.evaluation import Estimate, FlagRate
from assay.reports import Missing, cell_text, render_html, render_json, render_markdown
from assay_lab.evaluation.differences import Difference
from assay_lab.testbed import describe_evaluation, read_evaluation, write_evaluation
from assay_lab.testbed.evaluation_result import Blind, Contest, Decided, DetectorResult, Evaluation, Null

SHARE = Estimate(0.6, 0.5, 0.7)
RATE = FlagRate(5, 100, 0, 0.05, Estimate(0.05, 0.02, 0.11), 0.05, 0.5)


def cell(detector: str, epoch: int, area: float) -> DetectorResult:
    decided = Decided(0.25, 40 if detector == "loss" else 0, SHARE, SHARE, SHARE, SHARE) if epoch else None
    nulls = (Null(0.05, 60, RATE, RATE),) if detector == "loss" else ()
    rates = {0.01: SHARE, 0.05: SHARE}
    return DetectorResult(detector, epoch, "all", 50, 48, 2, Estimate(area, area - 0.05, area + 0.05), rates, decided,
                None if detector == "loss" else SHARE, nulls)  # fmt: skip


@pytest.fixture(scope="module")
def evaluation() -> Evaluation:
    cells = [cell("loss", 0, 0.5), cell("sr_gray", 0, 0.51), cell("loss", 2, 0.7), cell("sr_gray", 2, 0.8)]
    difference = Difference(Estimate(0.1, 0.02, 0.18), 0.03, 98)
    return Evaluation(
        name="tiny",
        model="builtin:small",
        seed=3,
        parts={"member": 50, "held-out": 50},
        passed_filter={"member": 40},
        cells=tuple(cells),
        contests=(Contest("sr_gray", "loss", 2, "all", difference),),
        blind=(Blind("all", "bag of words", Estimate(0.52, 0.47, 0.57), separates=False),),
        notes=("A note.",),
    )


def rows(evaluation: Evaluation, name: str) -> dict[str, list[str]]:
    """Row name → the texts of its cells."""
    table = next(table for table in describe_evaluation(evaluation).tables if table.name == name)
    kinds = [column.kind for column in table.columns]
    return {row.cells[0]: [cell_text(c, k) for c, k in zip(row.cells, kinds, strict=True)][1:] for row in table.rows}


def test_the_statement_names_the_best_detector_after_the_last_epoch_with_its_interval(evaluation):
    statement = describe_evaluation(evaluation).statement
    assert statement == (
        "After 2 epochs of training sr_gray has the highest AUROC of 2 detectors: .800 [.750, .850] "
        "(chance .5; picked after the fact, which flatters it)."
    )


def test_the_first_table_has_every_detector_on_every_checkpoint_and_the_blind_baseline_last(evaluation):
    assert rows(evaluation, "auroc-all") == {
        "loss": [".500 [.450, .550]", ".700 [.650, .750]"],
        "sr_gray": [".510 [.460, .560]", ".800 [.750, .850]"],
        "bag of words (never sees the model)": [".520 [.470, .570]"] * 2,
    }


def test_a_threshold_of_the_paper_is_named_as_that_and_a_fitted_one_is_a_number(evaluation):
    shown = rows(evaluation, "epoch-2-all")
    assert (shown["loss"][4], shown["sr_gray"][4]) == ("0.25", "its paper's rule")
    assert shown["loss"][-2:] == ["98\u00a0%", "50 + 48"]


def test_false_positives_that_were_not_measured_are_missing_with_the_reason(evaluation):
    table = next(table for table in describe_evaluation(evaluation).tables if table.name == "null-all")
    loss, sr = (row.cells[1:] for row in table.rows)
    assert loss == (RATE.rate, RATE.rate, Missing("its paper states no rule"), Missing("its paper states no rule"))
    assert sr == (Missing("too few texts calibrate"),) * 2 + (SHARE, SHARE)


def test_differences_are_shown_where_the_two_were_compared(evaluation):
    assert rows(evaluation, "contests-all") == {"sr_gray − loss": ["–", ".100 [.020, .180]"]}


def test_a_confounded_split_is_a_warning(evaluation):
    assert describe_evaluation(evaluation).warning == ""
    odd = replace(evaluation, blind=(replace(evaluation.blind[0], separates=True),))
    assert "bag of words: AUROC .520 [.470, .570]" in describe_evaluation(odd).warning


def test_the_json_is_the_file_and_the_file_gives_back_the_numbers(evaluation, tmp_path):
    path = write_evaluation(tmp_path, evaluation)
    assert json.loads(path.read_text("utf-8")) == json.loads(render_json(describe_evaluation(evaluation)))
    assert read_evaluation(tmp_path) == evaluation


def test_every_format_holds_the_same_cells(evaluation):
    losses = [{"epoch": i / 10, "loss": 3 - i / 10} for i in range(20)]
    report = describe_evaluation(evaluation, {"command": ["assay", "lab", "testbed", "run"]}, losses)
    page = render_html(report)
    for text in (page, render_markdown(report)):
        assert "its paper's rule" in text.replace("&#39;", "'")
        assert ".800" in text
    assert "Loss during training" in page
    assert "could not be drawn" not in page
