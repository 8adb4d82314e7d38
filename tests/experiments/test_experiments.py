"""The papers' tables and figures, on runs small enough for a test."""

import json
import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from assay.datasets import load
from assay.errors import DataError
from assay.evaluation.estimate import Estimate
from assay.experiments import paper_values
from assay.experiments.bench import Bench
from assay.experiments.describing import describe, finding_table, write_finding
from assay.experiments.finding import over_seeds
from assay.experiments.srdetection import benchmarks, black_box
from assay.experiments.srdetection.null import false_positive_rates
from assay.experiments.srdetection.sensitivity import by_variants
from assay.experiments.table import EXPERIMENTS, experiment
from assay.models import open_local
from assay.reports import markdown_table
from assay.reports.html import shaded
from assay.testbed.configuration import Configuration, Data, Judging, Mix, scale
from assay.testbed.detectors import chosen, with_variants
from assay.testbed.evaluate import SCORES, STATISTICS
from assay.testbed.plant import Planted
from assay.testbed.running import plant_in
from assay.testbed.stored_scores import write_scores
from assay.training.finetuning import TRAIN, checkpoint_folder
from assay.training.settings import TrainingSettings
from assay.types import Sample

DETECTORS = ("loss", "mid_pit", "min_k_plus_plus", "sr_gray", "sr_gray:n=1", "sr_z", "lowercase")


def function(i):
    return (
        f"def scale_{i}(width_{i}, height_{i}, margin_{i}):\n"
        f"    area_{i} = width_{i} * height_{i} + {i}\n"
        f"    border_{i} = margin_{i} - area_{i} * {i * i}\n"
        f"    return area_{i}, border_{i}, {i} - margin_{i}\n"
    )


@pytest.fixture(scope="module", autouse=True)
def _one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    """Two seeds of one small configuration; members are shown often enough to be told."""
    folder = tmp_path_factory.mktemp("bench")
    rows = [{"id": f"f{i}", "text": function(i), "language": "python"} for i in range(90)]
    texts = folder / "functions.jsonl"
    texts.write_text("".join(json.dumps(row) + "\n" for row in rows))
    configuration = Configuration(
        name="tiny",
        data=Data(
            source=str(texts),
            language="language",
            members=10,
            calibration_members=4,
            calibration_nonmembers=24,
            unseen=6,
            near_duplicate=1.0,
        ),
        mix=Mix(ratio=1),
        training=TrainingSettings(method="full", rate=2e-3, batch=4, epochs=2, checkpoints=(1, 2), device="cpu"),
        judging=Judging(detectors=DETECTORS, variants=3, resamples=30, device="cpu"),
    )
    return Bench(folder / "out", (configuration,), (0, 1))


@pytest.fixture(scope="module")
def written(bench):
    """The bench, and the scores of models that write, drawn from a seed: members write more of themselves later."""
    black = black_box.writing(bench)
    for seed in bench.seeds:
        configuration = black.configured(black.configurations[0], seed)
        folder = bench.folder(configuration)
        planted = plant_in(folder, configuration)
        random = np.random.default_rng(seed)
        member = np.array([one.metadata["part"] in ("member", "calibration-member") for one in planted.samples])
        names = [one.name for one in with_variants(chosen(black_box.detectors()), configuration.judging.variants)]
        for epoch in (0, 1, 2):
            if epoch:
                checkpoint_folder(folder / TRAIN, epoch).mkdir(parents=True)
            values = {name: random.normal(size=len(member)) / 9 - 1 + epoch * member for name in names}
            (folder / SCORES).mkdir(exist_ok=True)
            write_scores(folder / SCORES / f"epoch-{epoch}.parquet", [one.id for one in planted.samples], values)
    return bench


@pytest.mark.parametrize("name", EXPERIMENTS)
@pytest.mark.usefixtures("written")
def test_every_experiment_gives_a_whole_table(name, bench, tmp_path):
    dear = name in ("table-10", "figure-3")  # further runs
    found = EXPERIMENTS[name].function(replace(bench, seeds=(0,)) if dear else bench)
    assert found.name == name
    assert found.lines
    assert all(len(line.values) == len(found.columns) for line in found.lines)
    page = write_finding(tmp_path / name, found, {"command": ["assay"]})
    assert page.read_text().startswith("<!doctype html>")
    assert json.loads((tmp_path / name / "finding.json").read_text())["name"] == name
    assert markdown_table(finding_table(found)) in (tmp_path / name / "finding.md").read_text()


def test_black_box_runs_leave_the_clean_texts_out_and_are_smaller_on_the_shipped_model_alone(bench):
    (small,), (paper, _) = (tuple(map(black_box.judged_by_writing, scale(size))) for size in ("small", "paper"))
    assert (small.data.members, small.data.calibration_members, small.data.calibration_nonmembers) == (40, 20, 40)
    assert (paper.data.members, paper.data.unseen) == (2196, 0)
    assert EXPERIMENTS["table-9"].first_run(bench).name == "tiny-black-mix-1-seed-0"
    assert EXPERIMENTS["table-1"].first_run(bench).name == "tiny-mix-1-seed-0"


def test_table_2_has_the_papers_three_detectors_at_their_papers_decision(written):
    lines = {line.name: line.values for line in EXPERIMENTS["table-2"].function(written).lines}
    assert lines["epoch 1 · VeilProbe"][:2] == pytest.approx((0.5104, 0.5156))
    assert lines["epoch 2 · SrDetection"][2].value == 1  # every member lies above 0, no other text does
    assert lines["epoch 2 · DPDLLM"][2].value == 1


def test_table_9_has_what_was_held_out_beside_what_was_planted(written):
    found = EXPERIMENTS["table-9"].function(written)
    lines = {line.name: line.values for line in found.lines}
    assert found.columns[3:5] == ("planted, SrDetection's rule", "held out, SrDetection's rule")
    assert lines["StarCoder2-7B (paper)"][:3] == pytest.approx((0.0793, 0.0616, 0.3503))
    assert [one.value for one in lines["tiny-black · epoch 2"][3:5]] == [1, 0]
    assert [one.value for one in lines["tiny-black · before training"][3:5]] == [0, 0]


def test_table_9_asks_a_given_benchmark_once_and_reads_it_afterwards(written, tmp_path, monkeypatch):
    path = tmp_path / "one.jsonl"
    path.write_text(json.dumps({"id": "a", "text": function(7), "language": "python"}) + "\n")
    asked = []

    def scored(samples, todo, **_):
        asked.append(todo.requests[0].name)
        return SimpleNamespace(values={todo.requests[0].name: np.array([0.5])})

    monkeypatch.setattr(black_box, "score_samples", scored)
    monkeypatch.setattr(black_box, "load", lambda _, data: load(str(data), language="language"))
    monkeypatch.setattr(black_box, "open_checkpoint", lambda *_: open_local("builtin:small", device="cpu"))
    one = replace(written, seeds=(0,), data={"extra": path})
    for _ in range(2):
        lines = {line.name: line.values for line in EXPERIMENTS["table-9"].function(one).lines}
        assert lines["tiny-black · epoch 1"][-1].value == 1
    assert asked == ["sr_black:n=3"] * 3


def test_figure_2_is_a_mean_over_seeds_and_takes_a_benchmark_beside_what_was_planted(bench, tmp_path, monkeypatch):
    path = tmp_path / "other.jsonl"
    rows = [{"id": f"o{i}", "text": function(200 + i), "language": "python"} for i in range(3)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    monkeypatch.setattr(benchmarks, "load", lambda _, data: load(str(data), language="language"))
    only_trained = replace(bench, data={"other": path}, _known={})
    found = EXPERIMENTS["figure-2"].function(only_trained)
    assert not only_trained._known, "detectors that it does not show were judged"
    lines = {line.name: line.values for line in found.lines}
    assert found.columns[4] == "other, SrDetection's rule"
    assert "other 3 (3 with variants)" in found.notes[1]
    for place, name in enumerate(("planted", "held-out", "other")):
        rates = [
            np.mean(found.audits[f"tiny-seed-{seed}-epoch-2-{name}"].values["sr_gray:n=3"] > 0) for seed in bench.seeds
        ]
        assert lines["tiny · epoch 2"][2 * place].value == pytest.approx(np.mean(rates))
    assert {sample.label for one in found.audits.values() for sample in one.samples} == {None}
    assert not (bench.out / STATISTICS).exists()


def test_table_11_says_how_many_variants_there_were(written):
    found = EXPERIMENTS["table-11"].function(written)
    assert found.lines[0].values[:2] == pytest.approx((0.5257, 0.5096))
    assert any(note.startswith("Only 3 variants") for note in found.notes)


def test_the_papers_value_stands_beside_ours(bench):
    table = markdown_table(finding_table(EXPERIMENTS["table-1"].function(bench)))
    (row,) = [line for line in table.splitlines() if line.startswith("| `epoch 1 · SrDetection` |")]
    assert "75\u00a0%" in row
    assert "[" in row


def test_runs_are_shared_and_run_once(bench):
    EXPERIMENTS["table-1"].function(bench)
    before = {path: path.stat().st_mtime_ns for path in (bench.out / "runs").glob("*/train/state.pt")}
    EXPERIMENTS["table-3"].function(replace(bench, _known={}))
    assert before == {path: path.stat().st_mtime_ns for path in (bench.out / "runs").glob("*/train/state.pt")}


def test_another_mix_has_the_same_members_and_the_same_base_scores(bench):
    EXPERIMENTS["table-10"].function(replace(bench, seeds=(0,)))
    runs = [bench.out / "runs" / f"tiny-mix-{ratio}-seed-0" for ratio in (1, 5)]
    for name in ("plant/members.jsonl", "scores/epoch-0.parquet"):
        assert (runs[0] / name).read_bytes() == (runs[1] / name).read_bytes()
    rows = [json.loads((run / "train" / "training.json").read_text()) for run in runs]
    assert rows[1]["general_tokens"] == 5 * rows[0]["general_tokens"]


def test_the_case_study_shows_every_letter_of_both_texts(bench):
    finding = EXPERIMENTS["figure-4"].function(bench)
    case = finding.case
    shown = "".join(shaded(describe(finding).excerpts[0]))
    import html
    import re

    assert html.unescape(re.sub(r"<[^>]*>", "", shown)) == case.original.text
    assert case.original.text != case.variant.text
    assert case.perplexity[0] < case.perplexity[2] <= case.perplexity[3]


def test_an_interval_over_seeds_is_students():
    """t(.975, 2) = 4.3027; the standard deviation of .7, .8, .9 is .1."""
    found = over_seeds([Estimate(v, math.nan, math.nan) for v in (0.7, 0.8, 0.9)])
    assert found.value == pytest.approx(0.8)
    assert found.high - found.value == pytest.approx(4.3027 * 0.1 / math.sqrt(3), rel=1e-4)


def test_one_seed_keeps_its_own_interval_and_none_has_none():
    one = Estimate(0.7, 0.6, 0.8)
    assert over_seeds([one, None]) == one
    assert over_seeds([None]) is None


def test_seeds_that_agree_exactly_do_not_make_certain():
    """None of forty in each of three seeds is not none of all."""
    seeds = [Estimate(0.0, 0.0, high) for high in (0.088, 0.09, 0.08)]
    assert over_seeds(seeds, share=True) == Estimate(0.0, 0.0, 0.09)


def test_conformal_rates_over_splits_hold_their_level():
    samples = tuple(Sample(str(i), "x", group=f"g{i // 3}", metadata={"part": "unseen"}) for i in range(600))
    random = np.random.default_rng(0)
    found = [false_positive_rates(Planted(samples, {}), {"s": random.normal(size=600)}, seed)["s"] for seed in range(8)]
    assert np.mean(found, axis=(0, 1)) == pytest.approx([0.05, 0.1], abs=0.015)


def test_the_papers_tables_are_whole():
    for table in (paper_values.TABLE_1, paper_values.TABLE_2):
        assert all(len(cell) == 2 and len(cell[0]) == 4 for rows in table.values() for cell in rows.values())
    assert {n: len(models[0]) for n, models in paper_values.TABLE_3.items()} == {1: 3, 3: 3, 5: 3, 10: 3}


def test_table_10_repeats_table_1_in_all_but_two_cells():
    pairs = [
        (paper_values.TABLE_10[5][name][model], cells[model][3])
        for name, cells in paper_values.TABLE_1[1].items()
        for model in (0, 1)
    ]
    assert sum(a != b for a, b in pairs) == 2


def test_an_experiment_that_is_none_is_refused_with_those_there_are():
    with pytest.raises(DataError, match="table-1"):
        experiment("table-99")


def test_an_epoch_that_a_run_leaves_out_shifts_no_value_of_the_paper():
    runs = {"tiny": (SimpleNamespace(epochs=(0, 2, 5), cells=()),)}
    lines = {line.name: line.values for line in by_variants("sr_gray", paper_values.TABLE_3, runs)}
    qwen, llama = paper_values.TABLE_3[10]
    assert lines["10 variants · epoch 5"][:2] == (qwen[2] / 100, llama[2] / 100)
    assert lines["10 variants · epoch 2"][:2] == (None, None)
