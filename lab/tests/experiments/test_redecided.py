"""The rule of the verdict gives on the stored scores of the grid what the committed result says."""

import json

import numpy as np
import pytest

from assay.evaluation import BlindBaseline
from assay.types import Sample
from assay_lab.measuring import RESULTS
from assay_lab.reliability.grid_methods import DECLARED
from assay_lab.reliability.planted_pools import BASE, CONTROLS, CONVERGED, PlantedPool
from assay_lab.reliability.redecided import STORED, StoredPools, read, store
from assay_lab.reliability.reliability import blind_on_pool, cell_table, sources_of

COMMITTED = RESULTS / "dataset" / "redecided.json"
ROLES = {"member": 60, "sibling": 70, "clean": 60, "unseen": 60, "shifted": 50}
EVERY = 5
"""Every so many cells are decided again here; `assay lab run assay/redecided` decides all."""


@pytest.fixture(scope="module")
def tables():
    return {table["name"]: table for table in json.loads(COMMITTED.read_text("utf-8"))["tables"]}


@pytest.mark.slow
def test_every_fifth_cell_is_decided_as_the_committed_result_says(tables):
    rows = {row["name"]: row["values"] for row in tables["cells"]["rows"]}
    chosen = list(rows)[::EVERY]
    records = [record for path in STORED.glob("seed-*.parquet") for record in read(path).records(only=chosen)]
    cells = list(dict.fromkeys(record.cell for record in records))
    again = {row.name: list(row.values) for row in cell_table(records, cells).rows}
    assert again == {name: pytest.approx(rows[name]) for name in chosen}


def test_the_goals_are_reached_and_the_power_is_not_lower_than_it_was(tables):
    now = {row["name"]: row["values"][0] for row in tables["goals"]["rows"]}
    before = {row["name"]: row["values"][1] for row in tables["goals"]["rows"]}
    assert now["wrong"]["value"] <= 0.05
    assert now["false alarms"]["value"] <= 0.05
    power = "right at λ ≥ .2, n ≥ 164"
    assert now[power]["value"] >= min(0.8, before[power])


def pool(plant: str, roles: dict[str, int], shift: float) -> PlantedPool:
    random = np.random.default_rng(len(plant))
    samples = [
        Sample(f"{role} {at}", f"def {role}{at}(): return {at}", label=role, group=f"{role[:3]} project {at // 3}")
        for role, size in roles.items()
        for at in range(size)
    ]
    values = random.normal([shift * (sample.label == "member") for sample in samples])
    values[0] = np.nan
    return PlantedPool(plant, 4, tuple(samples), {DECLARED: values, "loss": -values})


@pytest.mark.slow
def test_stored_scores_give_the_same_verdicts_as_the_pools(tmp_path):
    library = {"member": 55, "unseen": 60, "clean": 60}
    own = {BASE: pool(BASE, ROLES, 0.0), CONTROLS[BASE]: pool(CONTROLS[BASE], ROLES, 0.0)}
    own |= {CONVERGED: pool(CONVERGED, library, 4.0), CONTROLS[CONVERGED]: pool(CONTROLS[CONVERGED], library, 0.0)}
    own |= {"LoRA": pool("LoRA", ROLES, 2.0)}
    blind = {(plant, kind): blind_on_pool(sources, 4) for plant, kind, sources in sources_of(own, 4)}
    blind["LoRA", "planted"] = BlindBaseline(None, None, False, (), "too few texts")
    whole = StoredPools(4, own, blind)
    store(whole, tmp_path)
    stored = read(tmp_path / "seed-4.parquet")
    assert all(sample.text == "" for each in stored.own.values() for sample in each.samples)
    pairs = list(zip(whole.records(1), stored.records(1), strict=True))
    assert len(pairs) > 10
    for first, second in pairs:
        assert (first.cell, first.verdicts, first.share) == (second.cell, second.verdicts, second.share)
