"""The power that a release states is the one that the laboratory measured."""

import json

from assay.release import measured_power, text_power
from assay.release.power import FEWER_COPIES, PRETRAINED
from assay_lab.measuring import RESULTS


def test_the_rows_that_ship_are_those_of_the_experiment():
    cells: dict[tuple[str, int, int, int, int], dict[bool, float]] = {}
    # the scale `full`, and that of synonyms where it was measured
    for path in (RESULTS / "release").glob("power*.json"):
        results = json.loads(path.read_text("utf-8"))["results"]
        most = max(row["copies"] for row in results)
        for row in results:
            if row["copies"] == most:
                names = row.get("names", "unrelated words")
                key = (names, row["tasks"], row["tasks"] + row["others"], row["dose"], row["lots"])
                cells.setdefault(key, {})[row["parent"]] = row["evidence p ≤ 0.01"]["value"]
    shipped = {
        (row.names, row.seen, row.published, row.times, row.lots): {False: row.alone, True: row.with_parent}
        for row in measured_power()
    }
    assert shipped == cells


def test_the_rows_of_text_alone_are_those_of_the_experiment():
    results = json.loads((RESULTS / "release" / "black_box.json").read_text("utf-8"))["results"]
    cells = {
        (row["exposures"], row["lots"]): row["p ≤ 0.05"]["value"]
        for row in results
        if row["asked for"] == "written alike"
    }
    assert {(row.times, row.lots): row.share for row in text_power()} == cells


def test_what_fewer_copies_cost_is_of_the_experiment():
    results = json.loads((RESULTS / "release" / "power.json").read_text("utf-8"))["results"]
    of_cell = {
        row["copies"]: row["z evidence"]
        for row in results
        if (row["dose"], row["tasks"], row["others"], row["parent"]) == (1, 40, 0, False)
    }
    assert f"z is {of_cell[5]:.1f}, not {of_cell[10]:.1f}, with 40 tasks" in FEWER_COPIES


def test_what_a_pretrained_model_shows_is_of_the_experiment():
    results = json.loads((RESULTS / "release" / "pretrained.json").read_text("utf-8"))["results"]
    of_cell = {}
    for row in results:
        if (row["names"], row["tasks"], row["others"]) == ("close synonyms", 40, 120):
            of_cell[row["method"], row["parent"]] = round(row["evidence p ≤ 0.01"]["value"] * row["lots"])
    full = f"in {of_cell['full', True]} of 10 releases with the parent and in {of_cell['full', False]} without it"
    assert full in PRETRAINED
    assert PRETRAINED.endswith(f"with LoRA in {of_cell['lora', True]} and in none (docs/results/release.md).")
    assert of_cell["lora", False] == 0
