"""One report, five formats: every renderer shows the same values, and says what it leaves out."""

import csv
import io
import json
import math
import re
from dataclasses import replace

import pytest
from rich.console import Console

from assay.evaluation import Estimate, unknown
from assay.reports import (
    Annotation,
    Column,
    Fact,
    Missing,
    Report,
    Row,
    Table,
    markdown_table,
    print_report,
    print_summary,
    print_table,
    render_annotations,
    render_csv,
    render_json,
    render_latex,
    render_markdown,
)
from assay.reports.latex import escaped

AREA = Estimate(0.842, 0.801, 0.879)
SHARE = Estimate(0.412, 0.331, 0.502)
TABLE = Table(
    name="scores",
    title="How well each score separates",
    columns=(
        Column("score", "name"),
        Column("AUROC", "area"),
        Column("TPR", "share", note="n\u00a0=\u00a0120"),
        Column("p", "p_value"),
        Column("samples", "count"),
        Column("median", "number", optional=True),
    ),
    rows=(
        Row(("first_score", AREA, SHARE, 0.0004, 1234, -3.14159), "primary"),
        Row(("second", unknown(), Missing("too few groups"), 0.41, 12, math.nan)),
        Row(("lexical shape", AREA, SHARE, "–", 12, 1.0), "baseline"),
    ),
    caption=("Chance is .5.",),
)
REPORT = Report(
    title="Was it in the training data?",
    statement="No verdict.",
    tables=(TABLE,),
    notes=("One note.",),
    data={"value": math.nan, "estimate": AREA},
    warning="The texts differ.",
    details=("A detail.",),
    facts=(Fact("AUROC", ".842", "chance .5"),),
)


def printed(table: Table, width: int) -> str:
    console = Console(width=width)
    with console.capture() as capture:
        print_table(table, console)
    return capture.get()


def test_markdown_holds_every_cell_formatted_by_the_kind_of_its_column():
    rows = [line for line in markdown_table(TABLE).splitlines() if line.startswith("|")]
    assert rows[0] == "| score | AUROC | TPR (n\u00a0=\u00a0120) | p | samples | median |"
    assert rows[2] == "| **`first_score`** | .842 [.801, .879] | 41\u00a0% [33, 50] | < .001 | 1,234 | −3.142 |"
    assert rows[3] == "| `second` | – | – | .41 | 12 | – |"
    assert rows[4].startswith("| lexical shape |")


def test_a_missing_value_has_its_reason_in_the_caption():
    assert markdown_table(TABLE).splitlines()[-1] == "Chance is .5. –: too few groups."


def grouped(value: float, *groups: int) -> Estimate:
    return Estimate(value, value - 0.1, value + 0.1, groups=groups)


def of_columns(*rows: tuple[Estimate, ...]) -> str:
    columns = (Column("score", "name"), *(Column(f"c{i}", "area", note="n = 9") for i in range(len(rows[0]))))
    return markdown_table(Table("t", "T", columns, tuple(Row((f"s{i}", *row)) for i, row in enumerate(rows))))


def test_groups_that_are_the_same_in_a_table_stand_once_in_its_caption():
    text = of_columns((grouped(0.7, 31, 28), grouped(0.6, 31, 28)), (grouped(0.5, 31, 28), grouped(0.4, 31, 28)))
    assert text.count("31 + 28 groups") == 1
    assert text.endswith("Intervals: 31 + 28 groups.")
    assert ".700 [.600, .800]" in text


def test_groups_that_are_the_same_in_a_column_stand_in_its_heading():
    text = of_columns((grouped(0.7, 31, 28), grouped(0.6, 12, 28)), (grouped(0.5, 31, 28), grouped(0.4, 12, 28)))
    assert "| c0 (n = 9; 31 + 28 groups) | c1 (n = 9; 12 + 28 groups) |" in text
    assert ".700 [.600, .800]" in text


def test_groups_that_differ_within_a_column_stand_in_the_cells():
    text = of_columns((grouped(0.7, 31, 28),), (grouped(0.5, 30, 28),))
    assert "| `s0` | .700 [.600, .800; 31 + 28] |" in text
    assert "| `s1` | .500 [.400, .600; 30 + 28] |" in text


def test_why_there_is_no_interval_stands_once_where_it_is_the_same():
    missing = Estimate(0.7, math.nan, math.nan, reason="too few groups for an interval: 3 + 4")
    text = of_columns((missing,), (missing,))
    assert "| `s0` | .700 |" in text
    assert text.endswith("c0: too few groups for an interval: 3 + 4.")


def test_a_long_heading_is_cut_off_nowhere():
    column = Column("AUROC", "area", note="a note that is much longer than any value of the column")
    text = printed(Table("t", "T", (Column("score", "name"), column), (Row(("first_score", AREA)),)), 50)
    assert "first_score" in text
    assert "No room for intervals and sizes" in text


def test_many_different_reasons_are_counted():
    rows = tuple(Row((f"s{i}", *[Missing(f"reason {i}")] * 5)) for i in range(4))
    assert "–: no value, for 4 different reasons." in markdown_table(replace(TABLE, rows=rows))


@pytest.mark.parametrize("render", [render_markdown, render_latex])
def test_a_document_holds_title_warning_statement_details_and_notes(render):
    text = render(REPORT)
    for part in ("Was it in the training data?", "The texts differ.", "No verdict.", "A detail.", "One note."):
        assert part in text


def test_json_is_the_data_with_null_for_nan():
    content = json.loads(render_json(REPORT), parse_constant=pytest.fail)
    estimate = {"value": 0.842, "low": 0.801, "high": 0.879, "level": 0.95, "groups": [], "reason": None}
    assert content == {"value": None, "estimate": estimate}


def test_a_wide_terminal_shows_the_table_whole():
    text = printed(TABLE, 120)
    assert ".842 [.801,.879]" in text
    assert "−3.142" in text
    assert "No room" not in text


@pytest.mark.parametrize("width", [78, 60, 50, 40, 30])
def test_no_value_but_an_optional_column_or_an_interval_is_left_out_and_the_caption_says_so(width):
    text = printed(TABLE, width)
    assert "…" not in text
    assert all(len(line) <= width for line in text.splitlines())
    for value in ("first_score", ".842", "41\u00a0%", "< .001", "1,234", ".41"):
        assert value in text
    flat = " ".join(text.split())
    assert ("−3.142" in text) != ("No room for median" in flat)
    assert (".879]" in text) != ("No room for intervals" in flat)


def test_a_table_too_wide_for_the_terminal_is_cut_into_several_with_the_names_in_each():
    columns = (Column("score", "name"), *(Column(f"epoch {i}", "area") for i in range(30)))
    rows = (Row(("first_score", *[i / 100 for i in range(30)])),)
    text = printed(Table("wide", "Wide", columns, rows), 80)
    assert text.count("first_score") > 1
    assert all(f".{i:02}0" in text for i in range(1, 30))
    assert all(len(line) <= 80 for line in text.splitlines())


def test_names_are_no_markup_of_the_terminal():
    assert "[red]x[/red]" in printed(replace(TABLE, rows=(Row(("[red]x[/red]", *TABLE.rows[0].cells[1:])),)), 100)


def test_the_terminal_prints_the_warning_before_the_statement():
    console = Console(width=100)
    with console.capture() as capture:
        print_report(REPORT, console)
    text = capture.get()
    places = [text.index(part) for part in ("The texts differ.", "No verdict.", "A detail.", "AUROC", "One note.")]
    assert places == sorted(places)


def test_latex_prints_every_special_sign():
    assert escaped("50 % of a_b & #1 {x} ~ ^ \\ $ < [1, 2]") == (
        r"50 \% of a\_b \& \#1 \{x\} \textasciitilde{} \textasciicircum{} \textbackslash{} \$ \textless{} {[}1, 2{]}"
    )


def test_a_latex_table_has_as_many_cells_in_every_row_as_columns():
    text = render_latex(REPORT)
    assert r"\begin{tabular}{lrrrrr}" in text
    rows = [line for line in text.splitlines() if line.endswith(r"\\")]
    assert len(rows) == 1 + len(TABLE.rows)
    assert {len(re.findall(r"(?<!\\)&", row)) for row in rows} == {5}
    for environment in ("table", "tabular", "itemize"):
        assert text.count(rf"\begin{{{environment}}}") == text.count(rf"\end{{{environment}}}") == 1


def test_csv_is_the_first_table_in_full_precision_with_the_ends_of_intervals():
    rows = list(csv.reader(io.StringIO(render_csv(REPORT))))
    assert rows[0] == [
        "score",
        "AUROC",
        "AUROC low",
        "AUROC high",
        "TPR",
        "TPR low",
        "TPR high",
        "p",
        "samples",
        "median",
    ]
    assert rows[1] == [
        "first_score",
        "0.842",
        "0.801",
        "0.879",
        "0.412",
        "0.331",
        "0.502",
        "0.0004",
        "1234",
        "-3.14159",
    ]
    assert rows[2][1:7] == [""] * 6


def test_csv_of_a_report_without_a_table_has_its_single_figures_in_one_row():
    data = {"file": "=a.npz", "tokens": 3, "share": math.nan, "names": ["a"]}
    assert render_csv(replace(REPORT, tables=(), data=data)) == "file,tokens,share\n'=a.npz,3,\n"
    assert render_csv(replace(REPORT, tables=(), data=[1])) == ""


def test_no_cell_of_the_csv_is_a_formula():
    table = replace(TABLE, rows=(Row(("=1+1", *TABLE.rows[0].cells[1:])),))
    assert "\n'=1+1," in render_csv(replace(REPORT, tables=(table,)))


def test_annotations_are_one_command_a_line_with_the_place():
    found = Annotation("50 % of it\n::error::x", "a b,c.py", 3, 7, "error")
    lines = render_annotations(replace(REPORT, annotations=(found,))).splitlines()
    assert [line.split(" ")[0] for line in lines] == ["::warning", "::notice", "::error"]
    assert "file=a b%2Cc.py,line=3,endLine=7::50 %25 of it\\n" in lines[2]
    assert lines[2].count("::error") == 1


def test_a_summary_has_the_answer_and_the_figures_and_no_table():
    console = Console(width=60, record=True)
    print_summary(REPORT, console)
    text = console.export_text()
    assert "No verdict." in text
    assert "AUROC: .842 (chance .5)" in text
    assert "1 table and 1 note more with -v" in text
    assert "first_score" not in text


@pytest.mark.parametrize("width", [200, 80, 60, 40])
def test_a_sum_keeps_its_spaces_at_every_width(width):
    rows = (Row(("a_score", AREA, "200 + 21")),)
    table = Table("n", "Sizes", (Column("score", "name"), Column("AUROC", "area"), Column("n", "count")), rows)
    assert "200 + 21" in printed(table, width)
