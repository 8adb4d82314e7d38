"""Committed results are no tries; how times, ratios and memory are measured."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from assay_lab import measuring
from assay_lab.performance.growth import exponent

ROOT = Path(__file__).resolve().parents[3]
RESULTS = ROOT / "lab" / "results"


def test_no_committed_result_is_a_smoke_run():
    files = {path: json.loads(path.read_text("utf-8")) for path in RESULTS.rglob("*.json")}
    assert not [path for path, content in files.items() if content.get("smoke") or content.get("scale") == "smoke"]


def test_a_ratio_is_taken_of_each_round():
    assert measuring.ratios([2.0, 9.0, 4.0], [1.0, 3.0, 1.0])["all"] == [2.0, 3.0, 4.0]


def test_ways_take_turns_in_rotating_order():
    calls = []
    ways = {name: lambda name=name: calls.append(name) for name in "abc"}
    seconds = measuring.interleaved(ways, 3)
    assert "".join(calls) == "abc" + "abc" + "bca" + "cab"
    assert {name: len(found) for name, found in seconds.items()} == {"a": 3, "b": 3, "c": 3}


def test_a_cost_that_is_the_square_has_the_exponent_two():
    sizes = [100, 300, 1000]
    assert exponent(sizes, [size**2 / 7 for size in sizes]) == pytest.approx(2)


@pytest.mark.slow
def test_memory_that_was_taken_and_given_back_counts():
    """In a process of its own: another one may hold free memory, which a new tensor then takes without growth."""
    code = (
        "import torch; from assay_lab.measuring import PeakMemory\n"
        "with PeakMemory() as peak: torch.ones(64 * 2**18)\nprint(peak.growth)"
    )
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT / "lab" / "src"), str(ROOT / "src")])}
    command = [sys.executable, "-c", code]
    shown = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert 60 < float(shown.stdout) < 100
