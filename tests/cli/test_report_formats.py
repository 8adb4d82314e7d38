"""`assay report` prints one report in every format."""

import json

import pytest

from assay.leakage import write_run


@pytest.fixture
def run(demo, light, tmp_path):
    return write_run(tmp_path / "run", light(demo), {"command": ["assay", "demo"]})


@pytest.mark.slow
def test_every_format_holds_the_headline_figures(assay, run):
    for option in ("markdown", "latex", "table"):
        done = assay("report", run, "--format", option, "-v")
        assert done.code == 0, done.err
        assert "Contaminated" in done.out
        assert ".731" in done.out
    assert (run / "report.html").is_file()


def test_latex_is_a_table_with_rules(assay, run):
    text = assay("report", run, "--format", "latex").out
    assert r"\toprule" in text
    assert r"\texttt{mid\_pit}" in text


def test_json_is_the_summary_of_the_folder(assay, run):
    done = assay("report", run, "--json")
    assert json.loads(done.out) == json.loads((run / "summary.json").read_text("utf-8"))


def test_a_comparison_has_the_same_formats(assay, run):
    assert "| model |" in assay("report", run, "--figure", "auroc", "--format", "markdown").out
    assert r"\begin{tabular}{lr}" in assay("report", run, "--figure", "auroc", "--format", "latex").out
    (compared,) = json.loads(assay("report", run, "--figure", "auroc", "--json").out)
    assert (compared["figure"], compared["score"], compared["chance"]) == ("auroc", "mid_pit", 0.5)


def test_two_formats_at_once_are_refused_in_a_line(assay, run):
    done = assay("report", run, "--json", "--format", "latex")
    assert done.code == 2
    assert "both --json and --format latex were given" in done.err
