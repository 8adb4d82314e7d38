"""The reliability grid: its pools, its draws and its table, on pools of known scores."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from assay.errors import DataError
from assay.evaluation import ContaminatedShare, Estimate
from assay.types import Sample, Verdict
from assay_lab.experiments.bench import Bench
from assay_lab.reliability import planted_pools, reliability
from assay_lab.reliability.grid_methods import AVERAGED, DECLARED, METHODS, VARIANTS
from assay_lab.reliability.planted_pools import (
    BASE,
    CONTEXT_CHANGE,
    CONTROLS,
    CONVERGED,
    PlantedPool,
    TextSource,
    next_roles,
    pools,
    split,
)
from assay_lab.reliability.pool_settings import OTHER_SCALES, SCALES, PoolSettings, pool_settings_of
from assay_lab.reliability.reliability import (
    COVERED,
    PLANTED,
    SIBLINGS,
    GridCell,
    GridRecord,
    Sources,
    best_threshold_of,
    covered_pool,
    drawn,
    outcome,
)
from assay_lab.reliability.tuned_methods import GATE, tuned_requests, tuned_values

SIZES = {"member": 90, "clean": 180, "sibling": 60, "unseen": 90, "shifted": 60}


def pool(plant: str, shift: float, seed: int = 0) -> PlantedPool:
    random = np.random.default_rng([seed, round(10 * shift)])
    samples, columns = [], []
    for role, size in SIZES.items():
        words = random.choice(("alpha", "beta", "gamma", "delta"), (size, 9))
        samples += [Sample(f"{role}{i}", " ".join(words[i]), label=role, group=f"{role}{i // 2}") for i in range(size)]
        columns.append(random.normal(shift * (role == "member"), 1, size))
    values = np.concatenate(columns)
    names = (*AVERAGED, CONTEXT_CHANGE)
    scores = {name: values + 0.1 * random.normal(size=len(values)) for name in names} | {DECLARED: values}
    scores[CONTEXT_CHANGE] = -scores[CONTEXT_CHANGE]
    return PlantedPool(plant, seed, tuple(samples), scores)


@pytest.fixture
def bench(monkeypatch, tmp_path):
    def made_up(_: Bench, seed: int, **_options: bool) -> dict[str, PlantedPool]:
        base, control = pool(BASE, 0.0, seed), pool("control", 0.0, seed + 7)
        return {
            **dict.fromkeys(CONTROLS.values(), control),
            BASE: base,
            CONVERGED: pool(CONVERGED, 4.0, seed),
            "constant rate": replace(pool("constant rate", 3.0, seed), samples=base.samples),
        }

    monkeypatch.setattr(reliability, "pools", made_up)
    monkeypatch.setattr(reliability, "pool_settings_of", lambda _: PoolSettings(draws=2))
    monkeypatch.setattr(reliability, "SIZES", (50, 164))
    names = [request.name for request in tuned_requests()]
    monkeypatch.setattr(reliability, "tuned_values", lambda *_, **__: {GATE: 1.0} | dict.fromkeys(names, 0.5))
    return Bench(tmp_path, (), (0, 1), scale="smoke")


@pytest.mark.slow
def test_the_grid_states_right_wrong_and_open_for_every_method(bench):
    finding = reliability.reliability(bench)
    table = finding.table("all")
    assert {row.name for row in table.rows} == {*METHODS.rules, *METHODS.values} - VARIANTS
    for row in table.rows:
        assert sum(value.value for value in row.values) == pytest.approx(1)
    strong = {row.name: row.values for row in finding.table("measurable").rows}
    assert strong["assay"][0].value >= 0.5  # of eight benchmarks
    assert strong["assay"][1].value <= 0.125  # at most one of them
    clean = {row.name: row.values for row in finding.table("clean").rows}
    assert clean["assay"][1].value < 0.3
    assert finding.seeds == (0, 1)
    assert finding.notes[0] == "Planted model: builtin:small."
    found = [[value.value for value in row.values] for row in finding.table("allowances").rows]
    assert found[0][1] >= found[-1][1]  # a larger allowance finds fewer leaks
    assert all(false_alarms <= 0.2 for false_alarms, *_ in found)  # siblings score like unseen text in these pools


@pytest.mark.slow
def test_pools_that_are_too_small_are_refused_in_one_line(bench, monkeypatch):
    monkeypatch.setattr(reliability, "SIZES", (5000,))
    with pytest.raises(DataError, match="no benchmark of 5000 texts can be drawn"):
        reliability.reliability(bench)


@pytest.mark.parametrize("settings", [SCALES["smoke"], OTHER_SCALES["smoke"]])
def test_a_benchmark_can_be_drawn_at_the_smallest_scale(settings):
    texts = [Sample(f"{role}{i}", "", label=role) for role, size in settings.sizes.items() for i in range(size)]
    smallest = PlantedPool(BASE, 0, tuple(texts))
    assert list(reliability.grid_cells(BASE, PLANTED, Sources(smallest, smallest, "clean", (smallest, smallest))))


@pytest.mark.slow
def test_methods_that_fine_tune_run_on_few_draws(bench):
    finding = reliability.reliability(bench)
    widths = {row.name: row.values[2].high - row.values[2].low for row in finding.table("all").rows}
    own = {request.detector.title for request in tuned_requests()}
    assert own
    assert min(widths[name] for name in own) > 2 * widths["permutation test alone"]  # neither of them ever abstains


@pytest.mark.slow
def test_values_of_a_draw_are_computed_once(tmp_path):
    samples = [Sample(str(i), f"def f{i}(x):\n    return x + {i}\n" * 3) for i in range(20)]
    values = tuned_values("builtin:small", samples[:10], samples[10:], tmp_path)
    assert values.keys() == {GATE, *(request.name for request in tuned_requests())}
    (path,) = tmp_path.iterdir()
    changed = dict.fromkeys(values, 7.0)
    path.write_text(json.dumps(changed))
    assert tuned_values("builtin:small", samples[:10], samples[10:], tmp_path) == changed


def test_a_benchmark_of_a_cell_has_its_share_of_members():
    own, control = pool("constant rate", 5.0), pool(BASE, 0.0)
    draw = drawn(GridCell("constant rate", "planted", 50, 0.2), Sources(own, own, "clean", (control, control), None), 3)
    assert len(draw.groups) == 50
    assert (draw.scores[DECLARED] > 2.5).sum() == pytest.approx(10, abs=2)
    assert len(draw.unseen_groups) == SIZES["unseen"]
    assert [len(side) for side in draw.control] == [50, SIZES["unseen"]]
    again = drawn(
        GridCell("constant rate", "planted", 50, 0.2), Sources(own, own, "clean", (control, control), None), 3
    )
    np.testing.assert_array_equal(draw.scores[DECLARED], again.scores[DECLARED])


def test_half_of_the_siblings_calibrate_where_the_unseen_text_is_of_the_same_projects():
    own = pool("constant rate", 5.0)
    project = {sample.id: f"p{at % 20}" for at, sample in enumerate(own.samples) if sample.label == "sibling"}
    members = {sample.id: f"p{at % 40}" for at, sample in enumerate(own.samples) if sample.label == "member"}
    groups = project | members
    own = replace(own, samples=tuple(replace(s, group=groups.get(s.id, s.group)) for s in own.samples))
    covered = covered_pool(own, 0)
    by_role = {role: covered.places(role) for role in ("member", "sibling", "unseen")}
    assert len(by_role["unseen"]) == SIZES["sibling"] // 2
    of_role = {role: {own.samples[at].group for at in places} for role, places in by_role.items()}
    assert of_role["sibling"] <= of_role["unseen"]
    assert of_role["member"] <= of_role["unseen"]
    assert {own.samples[at].label for at in by_role["unseen"]} == {"sibling"}
    draw = drawn(GridCell("constant rate", COVERED, 20, 0.5), Sources(covered, covered, "sibling", (own, own), None), 1)
    assert set(draw.groups) <= set(draw.unseen_groups)


def record(value: float, share: float, verdict: Verdict = Verdict.CANNOT_TELL) -> GridRecord:
    nothing = ContaminatedShare(Estimate(0.0, 0.0, 1.0), Estimate(0.1, 0.0, 0.2), 50, 50, "storey")
    return GridRecord(GridCell("x", "planted", 50, share), True, {"m": verdict}, {"v": value}, nothing)


def test_the_threshold_of_a_value_is_the_best_on_the_choice_half():
    records = [record(value, 0.0) for value in (0.1, 0.2, 0.3)] + [record(value, 0.5) for value in (0.8, 0.9)]
    assert 0.3 <= best_threshold_of(records, "v") < 0.8


@pytest.mark.parametrize(
    ("verdict", "share", "result"),
    [
        (Verdict.CONTAMINATED, 0.1, "right"),
        (Verdict.CONTAMINATED, 0.0, "wrong"),
        (Verdict.NO_EVIDENCE, 0.0, "right"),
        (Verdict.NO_EVIDENCE, 0.05, "wrong"),
        (Verdict.CANNOT_TELL, 0.0, "open"),
    ],
)
def test_a_verdict_is_right_wrong_or_open(verdict, share, result):
    assert outcome(record(0.0, share, verdict), "m") == result


def test_projects_are_split_before_texts_and_siblings_come_from_projects_of_members():
    settings = PoolSettings(members=8, siblings=4, clean=8, unseen=6, shifted=4, per_project=2, fresh=False)
    samples = split(settings, TextSource("builtin:small"), 0)
    groups = {
        role: {sample.group for sample in samples if sample.label == role} for role in ("member", "clean", "unseen")
    }
    assert not groups["member"] & groups["clean"]
    assert not groups["clean"] & groups["unseen"]
    assert {s.group for s in samples if s.label == "sibling"} <= groups["member"]
    assert next_roles({"unseen": [], "clean": []}, settings) == ("unseen",)


def test_a_scale_without_pools_is_refused(tmp_path):
    with pytest.raises(DataError, match="expected one of smoke, full, paper"):
        pools(Bench(tmp_path, (), (0,), scale="large"), 0)


def test_texts_of_other_settings_are_not_reused(tmp_path):
    path = tmp_path / "texts.json"
    settings = PoolSettings(members=4, siblings=2, clean=4, unseen=4, shifted=2, per_project=2, fresh=False)
    source = TextSource("builtin:small")
    first = planted_pools.stored_texts(path, settings, source, 0)
    assert planted_pools.stored_texts(path, settings, source, 0) == first
    with pytest.raises(DataError, match="texts of other settings"):
        planted_pools.stored_texts(Path(path), settings, source, 1)


@pytest.mark.slow
def test_a_model_that_was_not_trained_further_has_clean_cells_alone(bench):
    cells = {record.cell for record in reliability.records_of(bench, 0, chooses=True)}
    of_base = {cell for cell in cells if cell.plant == BASE}
    assert {cell.n for cell in of_base} == {50, 164}
    assert {cell.share for cell in of_base} == {0.0}
    assert PLANTED in {cell.kind for cell in of_base}
    assert SIBLINGS not in {cell.kind for cell in of_base}


def packages(folder: Path) -> Path:
    """Two source folders; the second has a near-copy of the function of the first and one of its own."""
    area = "def area(lake):\n    outline = lake.outline()\n    return sum(edge.length for edge in outline)\n"
    flow = "def flow(stream, width):\n    depth = stream.depth_at(width)\n    return depth * width * 7\n"
    files = {"lakes": area, "rivers": f"{area.replace('length', 'size')}\n\n{flow}"}
    for name, code in files.items():
        (folder / name).mkdir(parents=True)
        (folder / name / "code.py").write_text(f"# {'water ' * 40}\n{code}", "utf-8")
    return folder


def test_texts_of_another_model_are_those_of_the_folder_without_copies(tmp_path, monkeypatch):
    monkeypatch.setattr(planted_pools, "drawable_functions", lambda: pytest.fail("installed packages are older"))
    monkeypatch.setattr("assay_lab.testbed.sources.training_texts", lambda _: [])
    functions = TextSource("model.gguf", packages(tmp_path)).functions()
    assert [(sample.group, sample.text[4:8]) for sample in functions] == [("lakes", "area"), ("rivers", "flow")]


def test_a_package_that_is_installed_too_counts_once(tmp_path, monkeypatch):
    installed = (Sample("lakes:a", "def other(x):\n    return x\n", "python", group="lakes"),)
    monkeypatch.setattr(planted_pools, "drawable_functions", lambda: installed)
    monkeypatch.setattr("assay_lab.testbed.sources.training_texts", lambda _: [])
    functions = TextSource("builtin:small", packages(tmp_path)).functions()
    assert [sample.group for sample in functions] == ["lakes", "rivers"]


@pytest.mark.slow
def test_functions_of_a_folder_are_of_the_language_of_most_packages(tmp_path, monkeypatch):
    monkeypatch.setattr("assay_lab.testbed.sources.training_texts", lambda _: [])
    for name, noun in {"ponds": "pond", "bays": "bay", "reefs": "coral"}.items():
        body = "".join(f"function {noun}{i}(depth) {{ return depth.{noun}{i} * {i + 3}; }}\n\n" for i in range(8))
        (tmp_path / name).mkdir()
        (tmp_path / name / "index.js").write_text(f"// {'water ' * 40}\n{body}", "utf-8")
    packages(tmp_path)
    functions = TextSource("builtin:control", tmp_path).functions()
    assert {(sample.group, sample.language) for sample in functions} == {
        (name, "javascript") for name in ("ponds", "bays", "reefs")
    }
    with pytest.raises(DataError, match=r"functions in javascript; builtin:small reads Python"):
        TextSource("builtin:small", tmp_path).functions()


def test_shifted_texts_of_a_folder_take_the_place_of_the_standard_library(tmp_path, monkeypatch):
    texts = {
        name: tuple(
            Sample(f"{name}{i}", f"def {name}(x):\n    return x + {i}\n" * 7, "python", group=f"{name}{i % 9}")
            for i in range(90)
        )
        for name in ("new", "old")
    }
    monkeypatch.setattr(planted_pools, "functions_in_folder", lambda folder: texts[folder.name])
    settings = PoolSettings(members=8, siblings=4, clean=8, unseen=6, shifted=20, per_project=4)
    samples = split(settings, TextSource("model.gguf", tmp_path / "new", tmp_path / "old"), 0)
    by_role = {role: [s for s in samples if s.label == role] for role in ("member", "clean", "unseen", "shifted")}
    assert len(by_role["shifted"]) == 20
    assert {str(sample.group)[:3] for sample in by_role["shifted"]} == {"old"}
    assert {str(s.group)[:3] for role in ("member", "clean", "unseen") for s in by_role[role]} == {"new"}


def test_another_model_needs_packages_that_it_was_not_trained_on(tmp_path):
    with pytest.raises(DataError, match="packages that the model was not trained on"):
        pool_settings_of(Bench(tmp_path, (), (0,), scale="full", models=("model.gguf",)))
    with pytest.raises(DataError, match="expected one model"):
        pool_settings_of(Bench(tmp_path, (), (0,), scale="full", models=("a.gguf", "b.gguf")))
    with pytest.raises(DataError, match="expected sources=DIR or shifted=DIR"):
        pool_settings_of(Bench(tmp_path, (), (0,), {"humaneval": tmp_path}, scale="full"))
    bench = Bench(tmp_path, (), (0,), {"sources": tmp_path}, scale="full", models=("model.gguf",))
    assert pool_settings_of(bench) == replace(OTHER_SCALES["full"], tuned=0)
    with pytest.raises(DataError, match=r"sources=.*nowhere: no such folder"):
        pool_settings_of(replace(bench, data={"sources": tmp_path / "nowhere"}))
    both = {"sources": tmp_path, "shifted": tmp_path}
    assert pool_settings_of(replace(bench, data=both)).shifted == OTHER_SCALES["full"].members
    assert pool_settings_of(replace(bench, data=both, models=("builtin:control",))).sizes["clean"] == 500
    smoke = replace(bench, data=both, models=("builtin:control",), scale="smoke")
    assert pool_settings_of(smoke).fresh  # else the folder would have no part in it


def test_a_folder_of_packages_makes_larger_pools(tmp_path):
    sizes = pool_settings_of(Bench(tmp_path, (), (0,), {"sources": tmp_path}, scale="full")).sizes
    assert sizes["clean"] == 500
    assert min(sizes["member"], sizes["sibling"], sizes["shifted"]) >= 164
