"""The tables of an audit hold its figures, the score declared beforehand first."""

from dataclasses import replace

import pytest
from rich.console import Console

from assay.leakage import describe_audit
from assay.leakage.description.tables import distribution_table, dose_table, flag_table, score_table, tables
from assay.leakage.results import Audit
from assay.reports import Column, Row, Table, cell_text, percent, print_table, render_markdown


def texts(table: Table, row: Row) -> list[str]:
    return [cell_text(cell, column.kind) for cell, column in zip(row.cells, table.columns, strict=True)]


def headings(table: Table) -> list[str]:
    texts = [f"{column.title} ({column.note})" if column.note else column.title for column in table.columns]
    return [text.replace("\u00a0", " ") for text in texts]


def test_the_score_declared_beforehand_comes_first_and_the_blind_baseline_last(demo: Audit):
    table = score_table(demo)
    assert [row.kind for row in table.rows] == ["primary", *["plain"] * 6, "baseline"]
    assert table.rows[0].cells[0] == demo.primary
    values = [row.cells[1].value for row in table.rows[1:-1]]
    assert values == sorted(values, reverse=True)


def test_a_score_row_holds_auroc_tpr_coverage_and_n(demo: Audit):
    table = score_table(demo)
    assert headings(table) == ["score", "AUROC", "TPR at 1 % FPR", "TPR at 5 % FPR", "coverage", "n"]
    lrr = next(row for row in table.rows if row.cells[0] == "lrr")
    assert lrr.cells[1] == demo.summary("lrr").ranking.auroc
    assert texts(table, lrr)[4:] == ["99\u00a0%", "178 + 119"]


def test_chance_is_in_the_caption(demo: Audit):
    assert any(s.startswith("Chance: .5 for AUROC, 1\u00a0% for TPR") for s in score_table(demo).caption)


def test_a_baseline_of_other_classes_is_a_detail_but_no_row(calibrated: Audit):
    assert score_table(calibrated) is None
    assert all(row.kind != "baseline" for row in distribution_table(calibrated).rows)
    assert any("this benchmark and the unseen text" in sentence for sentence in describe_audit(calibrated).details)


def test_the_dose_table_has_a_column_for_each_dose(demo: Audit):
    table = dose_table(demo)
    assert headings(table) == ["score", *[f"seen {d}× (n = 30)" for d in (1, 2, 4, 8, 16, 32)], "rank correlation"]
    assert table.rows[0].cells[1] == demo.summary("mid_pit").doses[0].auroc


def test_thresholds_set_beforehand_are_compared_with_known_doses_never_seen_first(demo: Audit):
    table = flag_table(demo)
    calibration = demo.summary("mid_pit").calibration
    assert headings(table)[:4] == ["score", "never seen (n = 120)", "p", "seen 1× (n = 30)"]
    assert table.rows[0].cells[1] == calibration.false_positives.rate
    assert table.rows[0].cells[-1] == calibration.by_dose[32].rate
    assert any(f"chance flags {percent(calibration.flagged.chance)}" in sentence for sentence in table.caption)


def test_without_known_truth_there_is_no_table_of_it(calibrated: Audit, without_blind: Audit):
    assert flag_table(calibrated) is None
    assert flag_table(without_blind) is None


@pytest.mark.parametrize("kind", ["demo", "calibrated", "unlabelled", "confounded"])
def test_a_terminal_of_80_columns_shows_every_value_or_says_which_column_it_leaves_out(kind: str, every_audit):
    console = Console(width=80)
    for table in tables(every_audit[kind]):
        with console.capture() as capture:
            print_table(table, console)
        text = capture.get()
        assert "…" not in text
        assert all(len(line) <= 80 for line in text.splitlines())
        for row in table.rows:
            for column, cell in zip(table.columns, texts(table, row), strict=True):
                shown = cell.partition(" [")[0]
                if row.kind != "baseline" or column != table.columns[0]:  # long names are broken over lines
                    left_out = column.optional and column.title in text.partition("No room for")[2]
                    assert left_out or shown in text.partition("In brackets")[0]


def test_calibrated_values_stand_beside_their_chance_level(calibrated: Audit):
    table = distribution_table(calibrated)
    calibration = calibrated.summary("mid_pit").calibration
    assert Column("flagged", "share", note=f"chance {percent(calibration.flagged.chance)}") in table.columns
    assert "named (q ≤ 0.05)" not in headings(table)


def test_uncalibrated_values_come_with_the_sentence_that_they_give_no_verdict(unlabelled: Audit):
    assert any("no verdict" in sentence for sentence in distribution_table(unlabelled).caption)


def test_every_kind_of_audit_can_be_printed_and_names_are_no_markup(every_audit: dict[str, Audit]):
    for audit in every_audit.values():
        text = render_markdown(describe_audit(audit))
        assert f"`{audit.primary}`" in text
        assert "nan" not in text


def test_the_report_of_a_score_that_is_not_registered_has_no_method_for_it(unlabelled: Audit):
    name = "[red]x[/red]"
    report = describe_audit(
        replace(
            unlabelled,
            summaries=(replace(unlabelled.summaries[0], score=name),),
            primary=name,
            values={name: unlabelled.values["loss"]},
            reasons={name: unlabelled.reasons["loss"]},
        )
    )
    assert report.methods == ()
    assert name in render_markdown(report)
