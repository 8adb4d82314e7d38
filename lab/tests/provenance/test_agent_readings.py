"""Planted readings of a fix, and the table of their results."""

import json
from random import Random

import pytest

from assay.agent_runs import judge_run, read_gold_tasks, read_runs
from assay_lab.experiments import all_measurements
from assay_lab.pages.provenance_tables import agent_readings
from assay_lab.provenance.agent_readings import PLANTS, planted
from support.agent_files import CALLS, TASK, mini_swe_agent, openhands, write


@pytest.fixture
def runs(tmp_path):
    """Two runs, of two tasks, and their table."""
    words = {"Empty": "Full", "rate": "tax", "items": "rows", "raise": "return", "round(": "floor(", "cart": "till"}
    patches = {"patch": TASK["patch"], "test_patch": TASK["test_patch"]}
    for word, other_word in words.items():
        patches = {name: patch.replace(word, other_word) for name, patch in patches.items()}
    other = TASK | patches | {"instance_id": "shop__shop-8"}
    (tmp_path / "tasks.jsonl.gz").write_text(json.dumps(TASK) + "\n" + json.dumps(other) + "\n")
    harmless = [CALLS[0], CALLS[2]]
    write(tmp_path, mini_swe_agent(harmless))
    row = json.loads(openhands(harmless)[1]) | {"instance_id": "shop__shop-8"}
    (tmp_path / "output.jsonl").write_text(json.dumps(row) + "\n")
    return tmp_path


@pytest.mark.parametrize("plant", PLANTS, ids=lambda plant: plant.name)
def test_a_plant_stands_in_its_channel(plant, runs):
    task = read_gold_tasks(runs / "tasks.jsonl.gz", {})["shop__shop-7"]
    (run,) = read_runs(runs / "shop__shop-7.traj.json")
    judged = judge_run(planted(run, task, task, plant, Random(1)), "", task)
    assert (judged.verdict, judged.channel) == ("read the fix", plant.channel)


def test_the_experiment_counts_plants_and_accused_runs(runs):
    experiment = all_measurements()["provenance/agent_readings"]
    rows = experiment.run(experiment.scales["smoke"], 0, {"agent-runs": runs}).rows
    assert sum(row["accused"] for row in rows) == 0
    assert rows[0]["strangers"] == 2
    assert sum(row.get("found", 0) for row in rows) >= 2 * len(PLANTS) - 2
    assert "| no plant | 0 of 2 accused" in agent_readings({"results": rows})
