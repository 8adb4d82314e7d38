"""The benchmark scripts run, and their JSON has what the tables are made from."""

import functools
import importlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "benchmarks"
SCRIPTS = sorted(path.stem for path in FOLDER.glob("bench_*.py"))


@pytest.fixture(scope="module")
def script():
    """A module of the benchmarks' folder, imported as its neighbours import each other."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(FOLDER)
        yield importlib.import_module


@pytest.fixture(scope="module")
def smoke(script, tmp_path_factory):
    """What a script writes when it is started with --smoke; each is started once."""

    @functools.cache
    def run(name):
        folder = tmp_path_factory.mktemp(name)
        threads = str(torch.get_num_threads())
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(sys, "argv", [name, "--smoke", "--out", str(folder), "--threads", threads])
            script(name).main()
        return json.loads((folder / f"{name.removeprefix('bench_')}.json").read_text("utf-8"))

    return run


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_writes_figures_that_its_tables_can_be_made_from(name, smoke, script):
    file = smoke(name)
    assert file["smoke"]
    assert file["machine"].keys() >= {"processor", "cores", "torch_threads", "device", "python", "torch"}
    tables = script("tables").TABLES
    made = [make(file) for stem, make in tables.values() if f"bench_{stem}" == name]
    assert made
    assert all("| ---" in table for table in made)


def test_peers_and_assay_give_the_same_values(smoke):
    (result,) = smoke("bench_peers")["results"]
    assert set(result["largest_relative_difference"]) == set(result["scores"])
    assert max(result["largest_relative_difference"].values()) < 1e-3


def test_the_page_is_what_the_tables_script_makes_of_the_committed_results(script):
    tables = script("tables")
    page = tables.PAGE.read_text("utf-8")
    assert page == tables.rendered(page, FOLDER / "results")


def test_the_page_of_the_testbed_is_what_its_script_makes_of_the_committed_results(script):
    results = script("testbed_results")
    assert results.PAGE.read_text("utf-8") == results.page()
    assert all(results.picture_of(title).exists() for title in results.DRAWN)


def test_the_case_study_is_what_its_script_makes_of_the_committed_results(script):
    real = script("real_model")
    assert real.PAGE.read_text("utf-8") == real.page()


def test_the_study_of_bugs_is_what_its_script_makes_of_the_committed_results(script):
    bugs = script("real_bugs")
    assert bugs.PAGE.read_text("utf-8") == bugs.page(json.loads(bugs.RESULT.read_text("utf-8")))


def test_every_table_stands_in_the_page_once(script):
    tables = script("tables")
    marked = [found[2] for found in tables.MARKED.finditer(tables.PAGE.read_text("utf-8"))]
    assert sorted(marked) == sorted([*tables.TABLES, "machine"])


def test_no_committed_result_is_a_smoke_run():
    assert not [path for path in (FOLDER / "results").glob("*.json") if json.loads(path.read_text("utf-8"))["smoke"]]


def test_every_script_stands_in_the_page():
    page = (ROOT / "docs" / "benchmarks.md").read_text("utf-8")
    assert not [name for name in SCRIPTS if f"`{name}.py`" not in page]


def test_a_ratio_is_taken_of_each_round(script):
    assert script("measuring").ratios([2.0, 9.0, 4.0], [1.0, 3.0, 1.0])["all"] == [2.0, 3.0, 4.0]


def test_ways_take_turns_in_rotating_order(script):
    calls = []
    ways = {name: lambda name=name: calls.append(name) for name in "abc"}
    seconds = script("measuring").interleaved(ways, 3, "cpu")
    assert "".join(calls) == "abc" + "abc" + "bca" + "cab"
    assert {name: len(found) for name, found in seconds.items()} == {"a": 3, "b": 3, "c": 3}


def test_a_cost_that_is_the_square_has_the_exponent_two(script):
    sizes = [100, 300, 1000]
    assert script("bench_growth").exponent(sizes, [size**2 / 7 for size in sizes]) == pytest.approx(2)


def test_memory_that_was_taken_and_given_back_counts():
    """In a process of its own: another one may hold free memory, which a new tensor then takes without growth."""
    code = (
        "import torch; from measuring import PeakMemory\n"
        "with PeakMemory('cpu') as peak: torch.ones(64 * 2**18)\nprint(peak.growth)"
    )
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(FOLDER), str(ROOT / "src")])}
    command = [sys.executable, "-c", code]
    shown = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert 60 < float(shown.stdout) < 100
