"""The mixed-effects model: the published coefficients follow from the published averages."""

import difflib
import json
from dataclasses import replace

import pytest

from assay.errors import DataError
from assay.models import builtin_folder
from assay.scan import ScanEvidence, ScanPlace, TaskEvidence, write_evidence
from assay_lab.bugs import Average, fit_mixed_model
from assay_lab.bugs.study import PAPER_STARTS
from assay_lab.experiments import Bench, finding_report
from assay_lab.papers.bugs.averages import averages, label_of, most_texts, sets_of
from assay_lab.papers.bugs.continuations import before_the_change, first_lines
from assay_lab.papers.bugs.figures import nll_figure, ratio_figure
from assay_lab.papers.bugs.regression import FAMILIES, MEASURES, regression_of, regression_table
from assay_lab.papers.bugs.tables import accuracy_table, benchmark_table, nll_table, stack_table


@pytest.mark.parametrize(
    ("measure", "effect", "value", "error", "digits"),
    [
        ("NLL", "intercept", 0.717, 0.102, 3),
        ("NLL", "parameters", -0.0016, 0.0007, 4),
        ("NLL", "training budget", -0.0140, 0.0046, 4),
        ("5-gram accuracy", "intercept", 0.477, 0.053, 3),
        ("5-gram accuracy", "parameters", 0.0010, 0.0004, 4),
        ("5-gram accuracy", "training budget", 0.0057, 0.0026, 4),
    ],
)
def test_table_4_follows_from_tables_2_5_and_6(measure, effect, value, error, digits):
    coefficient = regression_of(measure, FAMILIES).coefficients[effect]
    # one unit of the last digit: the averages are printed with two digits
    assert coefficient.value == pytest.approx(value, abs=10**-digits)
    assert coefficient.error == pytest.approx(error, abs=10**-digits)


def test_a_random_effect_for_each_model_turns_the_sign_of_the_budget():
    by_model = {model: model for model in FAMILIES}
    for measure in MEASURES:
        family, model = regression_of(measure, FAMILIES), regression_of(measure, by_model)
        assert family.coefficients["training budget"].value * model.coefficients["training budget"].value < 0


def test_the_table_says_what_turned_and_what_statsmodels_warned_of(tmp_path):
    finding = regression_table(Bench(tmp_path, (), ()))
    assert [table.name for table in finding.tables] == ["families", "models"]
    assert any("training budget on NLL" in note for note in finding.notes)
    assert any("boundary of the parameter space" in note for note in finding.notes)


def test_fitted_values_and_residuals_add_up_to_the_values():
    averages = [
        Average(1 + 0.1 * size + 0.5 * (dataset == "b"), size, tokens, dataset, tokenizer)
        for size, tokens, tokenizer in [(1, 2, "x"), (2, 1, "x"), (4, 5, "y"), (8, 3, "z")]
        for dataset in "abc"
    ]
    model = fit_mixed_model(averages)
    assert model.fitted + model.residuals == pytest.approx([average.value for average in averages])
    assert model.coefficients["parameters"].value == pytest.approx(0.1, abs=1e-3)


def test_too_few_models_are_refused_in_one_line():
    averages = [Average(0.5, size, 1.0, dataset, "t") for size in (1, 2) for dataset in "ab"]
    with pytest.raises(DataError, match="received 2 data sets and 2 models"):
        fit_mixed_model(averages)


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    """A bench of the smoke scale with three bugs in the layout of BugsInPy."""
    root = tmp_path_factory.mktemp("bugsinpy")
    for number in range(3):
        folder = root / "projects" / "tool" / "bugs" / str(number)
        folder.mkdir(parents=True)
        (folder / "bug.info").write_text('github_url="https://github.com/org/tool"\n')
        lines = [f" value_{at} = compute_{number}(first_{at}, {at + number})\n" for at in range(12)]
        change = [f"-result = value_{number} - 1\n", f"+result = value_{number} + 1\n"]
        patch = ["--- a/x.py\n", "+++ b/x.py\n", "@@ -1,13 +1,13 @@\n", *lines, *change]
        (folder / "bug_patch.txt").write_text("".join(patch))
    (root / "projects" / "tool" / "project.info").write_text('github_url="https://github.com/org/tool"\n')
    listed = root.parent / "list.txt"
    listed.write_text("org/tool\n")
    out = tmp_path_factory.mktemp("out")
    return Bench.of_scale("smoke", out, (0,), {"bugsinpy": root, "the-stack-v2.0": listed})


def test_averages_stand_above_those_of_the_paper_and_are_computed_once(bench):
    finding = nll_table(bench)
    table = finding.table("averages")
    at = table.columns.index("BugsInPy")
    assert table.rows[0].values[at].value > 0
    assert [value for place, value in enumerate(table.rows[0].values) if place != at] == [None] * 6
    assert dict(zip(table.columns, table.rows[1].values, strict=True))["BugsInPy"] == 0.38
    assert any("No data was named" in note and "Defects4J" in note for note in finding.notes)
    stored = set((bench.out / "bug-averages").iterdir())
    again = accuracy_table(bench)
    assert set((bench.out / "bug-averages").iterdir()) == stored != set()
    assert 0 <= again.table("averages").rows[0].values[at].value <= 1


def test_ratios_are_heat_maps_of_ours_and_the_papers(bench):
    finding = ratio_figure(bench)
    assert [matrix.values["BugsInPy", "BugsInPy"] for matrix in finding.heat_maps] == [1.0] * 4
    assert finding.heat_maps[1].values["Defects4J", "new Java repositories"] == pytest.approx(0.85 / 0.15)
    assert len(finding_report(finding).figures) == 4


def test_a_figure_by_set_draws_ours_beside_models_of_the_paper(bench):
    finding = nll_figure(bench)
    (chart,) = finding.charts
    assert [len(line.points) for line in chart.series] == [1, 7, 7, 7]
    assert finding.table("values").rows[1].values[0] == 0.15


def test_a_figure_by_set_shows_two_models_of_the_bench_and_fewer_of_the_paper(bench):
    # the second name means the same model, so nothing but the name is new
    again = str(builtin_folder("small"))
    two = Bench.of_scale("smoke", bench.out, (0,), bench.data, models=("builtin:small", again))
    (chart,) = nll_figure(two).charts
    assert [line.name for line in chart.series[:2]] == ["builtin:small", builtin_folder("small").name]
    assert [line.name.endswith("(paper)") for line in chart.series] == [False, False, True, True]
    assert chart.series[0].points == chart.series[1].points


def test_a_model_in_place_of_that_of_the_scale_has_run_folders_of_its_own(tmp_path):
    models = ("builtin:small", "elsewhere/model.gguf", "other/model.gguf", "other/model.gguf")
    bench = Bench.of_scale("smoke", tmp_path, (0,), models=models)
    assert [each.model for each in bench.configurations] == list(models[:3])
    names = [each.name for each in bench.configurations]
    assert names[0] == "smoke"
    assert len(set(names)) == 3
    assert all(name.startswith("smoke-model.gguf-") for name in names[1:])
    assert label_of(models[1]) == "model.gguf"


def test_a_configuration_file_bounds_the_texts_of_a_set(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text("[bugs]\ntexts = 7\n")
    assert most_texts(Bench.of_scale(str(path), tmp_path, (0,))) == 7
    with pytest.raises(DataError, match="scale 'huge': expected one of smoke, full, paper"):
        most_texts(replace(Bench.of_scale("smoke", tmp_path, (0,)), scale="huge"))


def test_table_4_is_fitted_on_measured_averages_and_says_what_it_lacks(bench, tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text('[bugs]\ntexts = 3\nstarts = "paper"\n[bugs.tokens]\n"builtin:small" = 0.001\n')
    data = {"bugsinpy": bench.data["bugsinpy"]}
    models = ("builtin:small", str(builtin_folder("small")))
    finding = regression_table(Bench.of_scale(str(path), bench.out, (0,), data, models=models))
    (row,) = finding.table("training").rows
    assert row.name == "builtin:small"
    assert row.values[0] == pytest.approx(0.0026, abs=0.0002)
    assert row.values[1] == 0.001
    assert any("its training tokens are not known" in note for note in finding.notes)
    assert any("NLL: no regression, received 1 data sets and 1 models" in note for note in finding.notes)
    assert PAPER_STARTS in finding.notes


def test_the_starts_of_the_paper_are_measured_under_the_name_of_the_measure(bench, tmp_path):
    (found, notes) = averages(bench)
    path = tmp_path / "mine.toml"
    path.write_text('[bugs]\ntexts = 3\nstarts = "paper"\n')
    data = {"bugsinpy": bench.data["bugsinpy"]}
    (few, more) = averages(Bench.of_scale(str(path), bench.out, (0,), data))
    assert PAPER_STARTS not in notes
    assert PAPER_STARTS in more
    (ours,), (theirs,) = found["builtin:small"].values(), few["builtin:small"].values()
    assert ours.averages["NLL"].value == pytest.approx(theirs.averages["NLL"].value)
    assert ours.averages["5-gram accuracy"].value != theirs.averages["5-gram accuracy"].value


def test_repositories_are_counted_in_the_list_that_was_given(bench):
    finding = stack_table(bench)
    row = {row.name: row.values for row in finding.table("repositories").rows}["BugsInPy"]
    assert row[:3] == (None, 1.0, None)
    assert row[3] == pytest.approx(0.941)


def test_data_of_another_name_and_no_data_are_one_clear_line(bench):
    for data, message in (
        ({"humaneval": bench.out}, "--data humaneval: expected one of"),
        ({}, "no benchmark was given"),
    ):
        with pytest.raises(DataError, match=message):
            nll_table(Bench.of_scale("smoke", bench.out, (0,), data))


def old_and_new(folder):
    """A benchmark of two bugs, four new files of which two are alike, and one older file that a new one copies."""
    bugs = "\n".join(json.dumps(row) for row in (bug(0), bug(1)))
    (folder / "bugs.jsonl").write_text(bugs)
    texts = [distinct(0), distinct(1), distinct(1) + "# copied\n", distinct(2)]
    for name, own in (("new-python", texts), ("old-python", [distinct(0)])):
        rows = [json.dumps({"id": str(at), "text": text}) for at, text in enumerate(own)]
        (folder / f"{name}.jsonl").write_text("\n".join(rows))
    return {
        "bugsinpy": folder / "bugs.jsonl",
        **{name: folder / f"{name}.jsonl" for name in ("new-python", "old-python")},
    }


def distinct(at):
    return "\n".join(f"def function_{at}_{i}(value_{at}):\n    return value_{at} * {at * 100 + i}\n" for i in range(9))


def bug(at):
    head = f"def total_{at}(values, start):\n    result = start\n    for value in values:\n"
    lines = (
        f"        result += value * {at} + 1\n        result -= value\n        start += result * 2\n    return result\n"
    )
    buggy = head + lines.replace("+= value", "-= value", 1).replace("-= value\n", "*= value\n", 1)
    sides = (buggy.splitlines(keepends=True), (head + lines).splitlines(keepends=True))
    patch = "".join(difflib.unified_diff(*sides, "a/total.py", "b/total.py"))
    return {"project": "black", "bug": at, "patch": patch}


def test_copies_of_older_files_are_left_out_of_the_new_ones_and_counted(tmp_path):
    data = old_and_new(tmp_path)
    bench = Bench.of_scale("smoke", tmp_path, (0,), data)
    sets, notes = sets_of(bench)
    assert [len(each.samples) for each in sets[1:]] == [2]
    assert any(
        "new-python: 2 of 4 files; 2 left out as copies of one another or of old-python" in note for note in notes
    )
    del data["new-python"]
    with pytest.raises(DataError, match="--data old-python: expected it beside new-python"):
        sets_of(replace(bench, data=data))


def test_table_1_counts_the_texts_at_hand(tmp_path):
    bench = Bench.of_scale("smoke", tmp_path, (0,), old_and_new(tmp_path))
    rows = {row.name: row.values for row in benchmark_table(bench).tables[0].rows}
    assert rows["BugsInPy"][0] == 2
    assert rows["BugsInPy"][3:] == (2020, 493, 1253, 80)
    assert rows["new Python repositories"][-1] is None


def test_bugs_that_a_scan_found_stand_beside_the_lists(tmp_path):
    found = ScanPlace("patch", "word for word", 1.0, "a.py", None, 1, 2, "x", "x")
    tasks = [TaskEvidence("bugsinpy", "0", "found", (found,)), TaskEvidence("bugsinpy", "1", "not found")]
    tasks.append(TaskEvidence("bugsinpy", "2", "too short to tell"))
    write_evidence(tmp_path / "evidence.jsonl", ScanEvidence(tuple(tasks), compared=9))
    data = old_and_new(tmp_path)
    bench = Bench.of_scale(
        "smoke", tmp_path, (0,), {"bugsinpy": data["bugsinpy"], "evidence": tmp_path / "evidence.jsonl"}
    )
    rows = {row.name: row.values for row in stack_table(bench).table("scanned").rows}
    assert rows["BugsInPy"] == (0.5, 2, 1)
    assert rows["Defects4J"] == (None, 0, 0)


def test_continuations_show_the_fix_beside_what_the_model_wrote(tmp_path):
    bench = Bench.of_scale("smoke", tmp_path, (0,), {"bugsinpy": old_and_new(tmp_path)["bugsinpy"]})
    for figure in (first_lines, before_the_change):
        finding = figure(bench)
        (row,) = finding.table("continued").rows
        assert row.name == "builtin:small, BugsInPy"
        if row.values[0]:
            assert 0 <= row.values[1].value <= 1
            assert finding.table("examples").rows[0].values[0].strip()
