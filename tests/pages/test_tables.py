"""Tables hold the same figures wherever they are printed."""

from dataclasses import replace

import pytest
from rich.console import Console

from assay.leakage.results import Audit
from assay.pages.result_tables import (
    distribution_table,
    dose_table,
    flag_table,
    markdown_table,
    rich_table,
    score_table,
    tables,
)
from assay.pages.wording import percent, percent_with_interval


def printed(audit: Audit) -> str:
    console = Console(width=200, record=True, file=None, quiet=True)
    with console.capture() as capture:
        console.quiet = False
        for table in tables(audit):
            console.print(rich_table(table))
    return capture.get()


def test_the_score_declared_beforehand_stands_first_and_the_blind_baseline_last(demo: Audit):
    table = score_table(demo)
    assert table is not None
    assert [row.kind for row in table.rows] == ["primary", *["score"] * 6, "blind"]
    assert table.rows[0].name == demo.primary
    values = [row.estimate.value for row in table.rows[1:-1] if row.estimate]
    assert values == sorted(values, reverse=True)


def test_a_score_row_holds_auroc_tpr_coverage_and_n(demo: Audit):
    table = score_table(demo)
    assert table is not None
    assert [c.replace("\u00a0", " ") for c in table.columns] == [
        "AUROC", "TPR at 1 % FPR", "TPR at 5 % FPR", "coverage", "n",
    ]  # fmt: skip
    lrr = next(row for row in table.rows if row.name == "lrr")
    assert lrr.cells[0] == str(demo.summary("lrr").ranking.auroc)
    assert lrr.cells[3:] == ("99\u00a0%", "178 + 119")


def test_chance_stands_in_the_caption(demo: Audit):
    table = score_table(demo)
    assert table is not None
    assert any(sentence.startswith("Chance: .5 for AUROC, 1\u00a0% for TPR") for sentence in table.caption)


def test_a_baseline_of_other_classes_is_told_but_is_no_row_of_the_score_table(calibrated: Audit):
    assert score_table(calibrated) is None
    table = distribution_table(calibrated)
    assert all(row.kind != "blind" for row in table.rows)
    assert "this benchmark and the unseen text" in table.baseline


def test_the_dose_table_has_a_column_a_dose(demo: Audit):
    table = dose_table(demo)
    assert table is not None
    seen = [f"seen {dose}× (n\u00a0=\u00a030)" for dose in (1, 2, 4, 8, 16, 32)]
    assert table.columns == (*seen, "rank correlation")
    assert table.rows[0].cells[0] == str(demo.summary("mid_pit").doses[0].auroc)


def test_thresholds_set_beforehand_are_held_against_known_doses_never_seen_first(demo: Audit):
    table = flag_table(demo)
    held = demo.summary("mid_pit").calibration
    assert table is not None
    assert held is not None
    assert held.false_positives is not None
    assert table.columns[:3] == ("never seen (n\u00a0=\u00a0120)", "p", "seen 1× (n\u00a0=\u00a030)")
    assert table.rows[0].cells[0] == percent_with_interval(held.false_positives.rate)
    assert table.rows[0].cells[-1] == percent_with_interval(held.by_dose[32].rate)
    assert any(f"chance flags {percent(held.flagged.chance)}" in sentence for sentence in table.caption)


def test_without_known_truth_there_is_no_table_of_it(calibrated: Audit, without_blind: Audit):
    assert flag_table(calibrated) is None
    assert flag_table(without_blind) is None


@pytest.mark.parametrize("kind", ["demo", "calibrated", "unlabelled", "confounded"])
def test_a_terminal_of_80_columns_shows_every_value_whole(kind: str, every_audit):
    console = Console(width=80)
    for table in tables(every_audit[kind]):
        with console.capture() as capture:
            console.print(rich_table(table))
        text = capture.get()
        assert "…" not in text
        for row in table.rows:
            for column, cell in zip(table.columns, row.cells, strict=True):
                if column not in table.report_only:
                    assert cell.partition(" [")[0].replace(" + ", "+") in text


def test_calibrated_values_stand_beside_their_chance_level(calibrated: Audit):
    table = distribution_table(calibrated)
    held = calibrated.summary("mid_pit").calibration
    assert held is not None
    chance = f"{100 * held.flagged.chance:.1f}".removesuffix(".0")
    assert f"flagged (chance {chance}\u00a0%)" in table.columns
    assert "stand\u00a0out (q\u00a0≤\u00a00.05)" in table.columns
    assert f"{held.discoveries}" in table.rows[0].cells


def test_uncalibrated_values_come_with_the_sentence_that_they_give_no_verdict(unlabelled: Audit):
    assert any("no verdict" in sentence for sentence in distribution_table(unlabelled).caption)


def test_names_from_data_are_no_markup(unlabelled: Audit):
    summary = replace(unlabelled.summaries[0], score="[red]x[/red]")
    odd = replace(unlabelled, summaries=(summary,), primary="[red]x[/red]")
    assert "[red]x[/red]" in printed(odd)


def test_every_kind_of_audit_can_be_printed(every_audit: dict[str, Audit]):
    for audit in every_audit.values():
        text = printed(audit)
        assert audit.primary in text
        assert "nan" not in text


def test_markdown_holds_the_same_cells(demo: Audit):
    text = markdown_table(demo)
    table = score_table(demo)
    assert table is not None
    assert "| **`mid_pit`** | " + " | ".join(table.rows[0].cells) + " |" in text.splitlines()
    title, first, _ = text.split("\n\n", maxsplit=2)
    assert title == f"**{table.title}**"
    widths = {line.count("|") for line in first.splitlines()}
    assert widths == {len(table.columns) + 2}
