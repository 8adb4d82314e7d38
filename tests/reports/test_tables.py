"""Tables hold the same figures wherever they are printed."""

from dataclasses import replace

from rich.console import Console

from assay.leakage.results import Audit
from assay.reports.tables import distribution_table, dose_table, markdown_table, rich_table, score_table, tables


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
    assert table.columns == ("seen 1×", "seen 2×", "seen 4×", "seen 8×", "seen 16×", "seen 32×", "rank correlation")
    assert table.rows[0].cells[0] == str(demo.summary("mid_pit").doses[0].auroc)


def test_calibrated_values_stand_beside_their_chance_level(calibrated: Audit):
    table = distribution_table(calibrated)
    held = calibrated.summary("mid_pit").calibration
    assert held is not None
    chance = f"{100 * held.flagged.chance:.1f}".removesuffix(".0")
    assert f"flagged (chance {chance}\u00a0%)" in table.columns
    assert "stand out (q ≤ 0.05)" in table.columns
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
    widths = {line.count("|") for line in text.split("\n\n", maxsplit=1)[0].splitlines()}
    assert widths == {len(table.columns) + 2}
