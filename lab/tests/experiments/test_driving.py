"""The idiom: an experiment is checked, finds its data, runs, writes its JSON, and its table is made from the JSON."""

import json
import os
import subprocess
import sys

import pytest

from assay.errors import DataError, SandboxUnavailable
from assay.reports import render_markdown
from assay_lab.experiments import FULL, SMOKE, WORK, Experiment, Result, all_experiments, all_measurements, drive
from assay_lab.experiments.driving import committed
from assay_lab.measuring import RESULTS

ROWS = [
    {"way": "a", "seconds": {"median": 2.0, "min": 1.5, "max": 2.5}, "auroc": {"value": 0.75, "low": 0.5, "high": 1.0}},
    {"way": "b", "seconds": {"median": 1234.5, "min": 1.0, "max": 2e4}, "auroc": {"value": float("nan"), "low": 0}},
]


def counting(scale, seed, data):
    """Two ways and their times."""
    (data[WORK] / "kept").write_text("while it runs")
    return Result(ROWS, [f"scale {scale}, seed {seed}"])


EXPERIMENT = Experiment(name="tests/counting", run=counting, scales={SMOKE: 1, FULL: 100}, columns=("way", "seconds"))


def shown(report):
    return render_markdown(report)


def test_a_result_is_written_with_all_that_is_needed_to_repeat_it(tmp_path):
    drive(EXPERIMENT, SMOKE, 3, {}, tmp_path / "new" / "out.json")
    content = json.loads((tmp_path / "new" / "out.json").read_text())
    assert content["experiment"] == "tests/counting"
    assert content["command"] == "assay lab run tests/counting --scale smoke --seed 3"
    assert (content["scale"], content["seed"]) == ("smoke", 3)
    assert content["machine"].keys() >= {"processor", "cores", "torch_threads", "python", "torch", "assay"}
    assert set(content) >= {"commit", "measured", "seconds_in_all"}
    assert content["results"][0] == ROWS[0]
    assert content["results"][1]["auroc"]["value"] is None, "NaN is no JSON"
    assert content["notes"] == ["scale 1, seed 3"]


def test_the_table_has_the_declared_columns_and_the_rows_of_the_file(tmp_path):
    report, missing = drive(EXPERIMENT, SMOKE, 0, {}, tmp_path / "out.json")
    assert missing == ""
    assert [column.title for column in report.tables[0].columns] == ["way", "seconds"]
    assert "| `a` | 2 (1.5–2.5) |" in shown(report)
    assert "| `b` | 1,234 (1–20,000) |" in shown(report)
    assert report.tables[0].title == "Two ways and their times."


def test_rows_of_parts_are_rows_of_the_table(tmp_path):
    def run(scale, seed, data):
        """Parts."""
        return Result([{"part": "power", "rows": [{"size": 5}, {"size": 10}]}, {"part": "none", "size": 1}])

    experiment = Experiment(name="tests/parts", run=run, scales={SMOKE: None}, columns=("part", "size"))
    report, _ = drive(experiment, SMOKE, 0, {}, tmp_path / "out.json")
    assert [row.cells for row in report.tables[0].rows] == [("power", "5"), ("power", "10"), ("none", "1")]


@pytest.mark.parametrize(
    ("scale", "data", "out", "words"),
    [
        ("paper", {}, "out.json", "received the scale paper, expected one of smoke, full"),
        (SMOKE, {"mbpp": "x"}, "out.json", "received the data mbpp, expected some of work"),
        (SMOKE, {}, None, "figures of the scale smoke are not kept"),
    ],
)
def test_settings_are_checked_before_anything_runs(tmp_path, scale, data, out, words):
    with pytest.raises(DataError, match=words):
        drive(EXPERIMENT, scale, 0, data, out and tmp_path / out)
    assert not list(tmp_path.iterdir())


def test_without_its_data_an_experiment_shows_the_committed_table_and_says_what_is_missing(monkeypatch, tmp_path):
    monkeypatch.setenv("ASSAY_SHARED", str(tmp_path))
    experiment = all_measurements()["provenance/licences"]
    report, missing = drive(experiment, FULL, 0, {})
    assert "packages (a folder of the archives that lab/lists/licence_draw_pypi" in missing
    assert "| readme | scancode |" in shown(report)


def test_shared_data_are_found_by_name(monkeypatch, tmp_path):
    (tmp_path / "data" / "mbpp").mkdir(parents=True)
    monkeypatch.setenv("ASSAY_SHARED", str(tmp_path))
    received = {}

    def run(scale, seed, data):
        """Nothing."""
        received.update(data)
        return Result([])

    experiment = Experiment(name="tests/shared", run=run, scales={SMOKE: None}, needs={"mbpp": "get it"})
    assert drive(experiment, SMOKE, 0, {}, tmp_path / "out.json")[1] == ""
    assert received["mbpp"] == tmp_path / "data" / "mbpp"


def test_an_experiment_that_needs_the_sandbox_is_not_run_without_it(tmp_path):
    def run(scale, seed, data):
        """Runs code of others."""
        raise SandboxUnavailable("bubblewrap is not installed")

    experiment = Experiment(name="tests/sandbox", run=run, scales={SMOKE: None})
    _, missing = drive(experiment, SMOKE, 0, {}, tmp_path / "out.json")
    assert missing == "not run, it needs the sandbox: bubblewrap is not installed"


@pytest.mark.parametrize("name", all_measurements())
def test_every_experiment_says_what_it_measures_and_has_a_table_of_its_committed_result(name):
    experiment = all_measurements()[name]
    assert experiment.title
    assert not set(experiment.needs) & set(experiment.takes)
    if (RESULTS / experiment.result_path).exists():
        table = committed(experiment).tables[0]
        assert table.rows
        assert any(row.cells[0] for row in table.rows)
        assert any(any(row.cells[1:]) for row in table.rows), "no other declared column is in the file"


def test_every_result_has_one_experiment():
    paths = [experiment.result_path for experiment in all_measurements().values()]
    assert len(set(paths)) == len(paths)


def test_experiments_are_listed_family_by_family(assay):
    names = [row["name"] for row in json.loads(assay("lab", "list", "--json").out)]
    assert set(names) == {*all_measurements(), *all_experiments()}
    shown = assay("lab", "list").out
    assert shown.index("assay/honest-null") < shown.index("hst/retrieval") < shown.index("srdetection/table-1")
    assert "SrDetection (Li et al.)" in shown


def test_a_run_on_the_command_line_writes_the_file_and_shows_the_table(assay, tmp_path):
    done = assay("lab", "run", "statistics/flagged_share", "--scale", "smoke", "--out", tmp_path / "out.json")
    assert done.code == 0, done.err
    assert "How often is a clean benchmark accused" in done.out
    assert json.loads((tmp_path / "out.json").read_text())["results"][0]["studies"] == 5


def test_missing_data_are_an_error_of_one_line_below_the_committed_table(assay):
    done = assay("lab", "run", "control/control_sizes")
    assert done.code == 2
    assert "builtin:control" in done.out
    assert "control/control_sizes: not run, its data are missing: models (" in done.err


def test_one_that_fails_does_not_stop_the_others(assay, monkeypatch):
    def run(scale, seed, data):
        """Fails."""
        raise ValueError("on purpose")

    fails = Experiment(name="tests/fails", run=run, scales={SMOKE: None})
    named = {each.name: each for each in (fails, EXPERIMENT)}
    monkeypatch.setattr("assay_lab.experiments.all_measurements", lambda: named)
    monkeypatch.setattr("assay_lab.experiments.all_experiments", dict)
    done = assay("lab", "run", "--all")
    assert done.code == 2
    assert "tests/fails: failed: ValueError: on purpose" in done.err
    assert "tests/counting: 0." in done.err
    assert "1 of 2 experiments failed: tests/fails" in done.err


@pytest.mark.parametrize(
    "words",
    [
        ["tests/counting"],
        ["--scale", "full"],
        ["--model", "builtin:small"],
        ["--plan"],
        ["--out", "a.json"],
        ["--seed", "0,1"],
        ["--data", "unknown=a"],
    ],
)
def test_all_refuses_what_it_has_no_use_for(assay, words):
    done = assay("lab", "run", "--all", *words)
    assert (done.code, done.out) == (2, "")
    assert "--all: received" in done.err


@pytest.mark.slow
def test_the_list_needs_no_optional_package():
    hidden = ("gguf", "pandas", "statsmodels", "datasets", "inspect_ai", "lm_eval", "ray", "qdrant_client", "llama_cpp")
    program = (
        f"import sys; sys.modules |= dict.fromkeys({hidden!r}); "
        "from assay_lab.experiments import all_experiments, all_measurements; "
        "print(len(all_experiments()) + len(all_measurements()))"
    )
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    arguments = [sys.executable, "-c", program]
    done = subprocess.run(arguments, capture_output=True, text=True, check=False, env=environment)
    assert (done.returncode, done.stderr) == (0, "")
    assert int(done.stdout) == len(all_experiments()) + len(all_measurements())
