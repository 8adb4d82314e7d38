"""Plant, train, evaluate: in three commands, in one, and killed in between."""

import json
import re
import shutil
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from assay_lab.experiments import Finding, Reproduction, ValueTable, check_folder_of_experiments
from assay_lab.experiments.finding import ValueRow
from assay_lab.testbed.configuration import EvaluationSettings, PlantSettings, as_json, scale
from assay_lab.testbed.detectors import chosen
from assay_lab.testbed.evaluate import checkpoint_scores
from assay_lab.testbed.evaluation_file import read_evaluation
from assay_lab.testbed.plant import read_planted
from assay_lab.testbed.running import run

SIZES = PlantSettings(members=6, calibration_members=3, calibration_nonmembers=20, unseen=4)
QUICK = EvaluationSettings(detectors=("loss", "mid_pit", "sr_gray:n=2"), variants=2, resamples=30, device="cpu")


@pytest.fixture(scope="module")
def smoke(tmp_path_factory):
    """The smallest scale that ships, run once, all detectors; and what it found."""
    out = tmp_path_factory.mktemp("smoke")
    configuration = scale("smoke")[0]
    return out, configuration, run(out, configuration)


def refused(done, *words):
    assert done.code == 2, done.err
    (line,) = [line for line in done.err.splitlines() if line.startswith("assay: error: ")]
    for word in words:
        assert word in line, line


@pytest.mark.slow
def test_the_smoke_scale_runs_end_to_end(smoke):
    out, configuration, found = smoke
    assert found.epochs == (0, 1, 2)
    assert set(found.parts.values()) == {10, 4, 26}
    assert {cell.epoch for cell in found.cells if cell.detector == "reference"} == {1, 2}
    for name in ("configuration.json", "manifest.json", "plant/members.jsonl", "train/loss.jsonl", "train/epoch-2"):
        assert (out / name).exists(), name
    manifest = json.loads((out / "manifest.json").read_text())
    assert manifest["packages"]["torch"]
    assert set(manifest["checkpoints"]) == {"epoch 1", "epoch 2"}
    assert manifest["general_text"]["tokens"] == manifest["general_text"]["wanted_tokens"]
    assert configuration == scale("smoke")[0]


@pytest.mark.slow
def test_training_on_members_shows_on_members(smoke):
    _, _, found = smoke
    before, after = (found.cell("loss", epoch).auroc.value for epoch in (0, 2))
    assert after > 0.8
    assert after > before


@pytest.mark.slow
def test_a_run_goes_on_where_scores_are_missing(smoke, assay):
    """Nothing is trained again, and what is scored again has the same value."""
    out, _, found = smoke
    state = (out / "train" / "state.pt").stat().st_mtime_ns
    (out / "scores" / "epoch-1.parquet").unlink()
    config = out / "configuration.json"
    done = assay("lab", "testbed", "run", config, "--out", out)
    assert done.code == 0, done.err
    assert "AUROC by epochs" in done.out
    assert repr(read_evaluation(out)) == repr(found)  # NaN differs from itself
    assert (out / "train" / "state.pt").stat().st_mtime_ns == state
    assert "<svg" in (out / "report.html").read_text()
    assert "| `mid_pit` |" in (out / "tables.md").read_text()


@pytest.mark.slow
def test_a_run_that_was_killed_before_its_record_was_whole_completes_it(smoke, tmp_path):
    """Killed after the last checkpoint, before its last state and its digest; and before the versions were noted."""
    out, configuration, found = smoke
    killed = tmp_path / "killed"
    shutil.copytree(out, killed)
    (killed / "train" / "state.pt").unlink()
    manifest = json.loads((out / "manifest.json").read_text())
    noted_late = ("assay", "packages", "checkpoints", "general_text")
    (killed / "manifest.json").write_text(json.dumps({k: v for k, v in manifest.items() if k not in noted_late}))
    assert repr(run(killed, configuration)) == repr(found)
    completed = json.loads((killed / "manifest.json").read_text())
    assert {name: completed[name] for name in noted_late} == {name: manifest[name] for name in noted_late}
    assert (killed / "train" / "state.pt").exists()


@pytest.fixture
def mine(tmp_path):
    """A file of functions that share nothing."""
    rows = [
        {"id": f"p{i}", "text": f"def f{i}(a{i}, b{i}):\n    c{i} = a{i} * {i} + b{i}\n    return c{i} - {i * i}\n"}
        for i in range(60)
    ]
    path = tmp_path / "mine.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.mark.slow
def test_three_commands_do_what_one_does(assay, mine):
    sizes = ("--members", 6, "--calibration-members", 3, "--calibration-nonmembers", 20, "--unseen", 4)
    done = assay("lab", "testbed", "plant", "mine.jsonl", "--language", "python", "--out", "run", *sizes)
    assert done.code == 0, done.err
    assert re.search(r"member +6 +6", done.out)
    how = ("--method", "full", "--rate", "1e-3", "--epochs", 1, "--batch", 4, "--device", "cpu")
    done = assay("lab", "testbed", "train", "run", *how)
    assert done.code == 0, done.err
    assert "checkpoints after epochs 1" in done.out
    done = assay("lab", "testbed", "evaluate", "run", "--detectors", "loss,mid_pit", "--device", "cpu", "--json")
    assert done.code == 0, done.err
    found = json.loads(done.out)
    assert {cell["detector"] for cell in found["cells"]} == {"loss", "mid_pit"}
    refused(assay("lab", "testbed", "train", "run", "--rate", "1"), "trained with other settings")


@pytest.fixture
def planted_run(assay, mine):
    """A run of few texts, planted."""
    sizes = ("--members", 6, "--calibration-members", 3, "--calibration-nonmembers", 20, "--unseen", 4)
    done = assay("lab", "testbed", "plant", "mine.jsonl", "--language", "python", "--out", "run", *sizes)
    assert done.code == 0, done.err
    return mine.parent / "run"


def train_at(assay, rate):
    how = ("--method", "full", "--rate", rate, "--epochs", 1, "--batch", 4, "--device", "cpu")
    done = assay("lab", "testbed", "train", "run", *how)
    assert done.code == 0, done.err


def auroc_of_loss(assay):
    done = assay("lab", "testbed", "evaluate", "run", "--detectors", "loss", "--device", "cpu", "--json")
    assert done.code == 0, done.err
    return {cell["epoch"]: cell["auroc"]["value"] for cell in json.loads(done.out)["cells"]}


@pytest.mark.slow
def test_scores_of_another_checkpoint_are_never_reused(assay, planted_run):
    """Train, evaluate, remove the training as the program advises, train at another rate, evaluate."""
    train_at(assay, "1e-2")
    strong = auroc_of_loss(assay)
    assert strong[1] > strong[0]
    shutil.rmtree(planted_run / "train")
    train_at(assay, "1e-9")
    weak = auroc_of_loss(assay)
    assert weak[1] == pytest.approx(weak[0], abs=0.01)
    assert weak[0] == strong[0]


@pytest.mark.slow
def test_checkpoints_of_other_texts_or_another_base_model_are_refused(assay, planted_run):
    train_at(assay, "1e-3")
    texts = planted_run / "plant" / "texts.parquet"
    table = pq.read_table(texts)
    rows = table.to_pylist()
    rows[0]["text"] += "# changed\n"
    pq.write_table(pa.Table.from_pylist(rows).replace_schema_metadata(table.schema.metadata), texts)
    for command in ("train", "evaluate"):
        refused(assay("lab", "testbed", command, "run"), "different in texts_sha256")
    (planted_run / "train" / "inputs.json").unlink()
    refused(assay("lab", "testbed", "train", "run"), "earlier version")


def test_a_source_that_changed_after_it_was_planted_is_refused(assay, planted_run, mine):
    mine.write_text(mine.read_text().replace("c3", "d3"))
    config = planted_run / "configuration.json"
    refused(assay("lab", "testbed", "run", config, "--out", planted_run), "planted before its source")


@pytest.mark.slow
def test_a_mix_that_differs_from_the_trained_one_is_refused(assay, planted_run):
    train_at(assay, "1e-3")
    refused(assay("lab", "testbed", "train", "run", "--ratio", "1"), "trained with other settings")


@pytest.mark.slow
def test_several_seeds_have_a_folder_each(assay, tmp_path, mine):
    small = scale("smoke")[0]
    quick = replace(
        small,
        data=replace(SIZES, source=str(mine), language="python"),
        mix=replace(small.mix, ratio=0),
        judging=QUICK,
        training=replace(small.training, epochs=1, checkpoints=(1,)),
    )
    (tmp_path / "quick.json").write_text(as_json(quick))
    done = assay("lab", "testbed", "run", "quick.json", "--seed", "3,4", "--out", "both")
    assert done.code == 0, done.err
    lists = [(tmp_path / "both" / f"seed-{seed}" / "plant" / "members.jsonl").read_text() for seed in (3, 4)]
    assert lists[0] != lists[1]


@pytest.mark.slow
def test_a_folder_of_another_run_is_refused(assay, smoke, tmp_path):
    out, configuration, _ = smoke
    (tmp_path / "other.json").write_text(as_json(replace(configuration, seed=9)))
    refused(assay("lab", "testbed", "run", "other.json", "--out", out), "another configuration")


@pytest.mark.parametrize(
    "command",
    [
        ("testbed", "plant"),
        ("testbed", "run", "c.json"),
        ("testbed", "run", "c.json", "--seed", "0,1"),
        ("run", "kds/table-1"),
    ],
)
def test_a_folder_with_files_of_others_is_refused(assay, tmp_path, command):
    (tmp_path / "c.json").write_text(as_json(scale("smoke")[0]))
    (tmp_path / "mine" / ".hidden").mkdir(parents=True)
    (tmp_path / "mine" / "notes.txt").write_text("")
    refused(assay("lab", *command, "-o", "mine"), "mine holds other files", f"assay lab {command[0]}")
    assert len(list((tmp_path / "mine").iterdir())) == 2


@pytest.mark.parametrize("name", ["runs/smoke", "pools/seed-0", "continuations.sqlite", "hst/retrieval", ".DS_Store"])
def test_a_folder_of_experiments_is_continued(tmp_path, name):
    (tmp_path / name).mkdir(parents=True)
    check_folder_of_experiments(tmp_path)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("run", "absent.toml"), ("absent.toml", "cannot be read")),
        (("run", "absent"), ("absent", "cannot be read")),
        (("train", "nowhere"), ("nowhere", "assay lab testbed plant")),
        (("evaluate", "nowhere"), ("nowhere", "assay lab testbed plant")),
        (("plant", "--members", "0", "--out", "x"), ("data.members = 0",)),
        (("plant", "no-such-set", "--out", "x"), ("no-such-set",)),
    ],
)
def test_bad_input_is_told_in_one_line(assay, arguments, words):
    refused(assay("lab", "testbed", *arguments), *words)


@pytest.mark.slow
def test_detectors_that_only_read_what_the_model_writes(smoke, tmp_path):
    """They are added to a run that has been scored, whose other values stay."""
    out, configuration, _ = smoke
    shutil.copytree(out, tmp_path / "run")
    before = pq.read_table(out / "scores" / "epoch-2.parquet")
    planted = read_planted(out / "plant")
    asked = chosen(["loss", "ngram_generation"])
    found = checkpoint_scores(tmp_path / "run", configuration, planted, asked, epoch=2)
    assert found["loss"].tolist() == before.column("loss").to_pylist()
    part = np.array([sample.metadata["part"] for sample in planted.samples])
    assert not np.isnan(found["ngram_generation"][part == "member"]).any()
    assert found["ngram_generation"][part == "member"].mean() > found["ngram_generation"][part == "nonmember"].mean()


def test_a_paper_runs_all_of_its_experiments_and_writes_a_page_of_all(assay, tmp_path, monkeypatch):
    """An experiment that makes its own texts does not get the data of the others."""
    received = {}

    def run_of(name):
        def experiment(bench):
            """One number."""
            received[name] = (tuple(bench.data), [each.model for each in bench.configurations])
            table = ValueTable("number", "A number", "row", ("n",), (ValueRow(name, (1.0,)),), "number")
            return Finding(name=f"bugs/{name}", title=name, tables=(table,), notes=(), seeds=())

        return experiment

    fakes = [
        Reproduction("bugs", "table-1", run_of("table-1"), takes=("bugsinpy",)),
        Reproduction("bugs", "own", run_of("own"), makes_texts=True),
    ]
    monkeypatch.setattr("assay_lab.experiments.catalogue.all_experiments", lambda: {e.full_name: e for e in fakes})
    options = ("--scale", "smoke", "--data", "bugsinpy=x", "--model", "some/model", "--out", "runs")
    done = assay("lab", "run", "bugs", *options)
    assert done.code == 0, done.err
    assert received == {"table-1": (("bugsinpy",), ["some/model"]), "own": ((), ["some/model"])}
    assert "table-1: A number" in done.out
    for place in ("bugs", "bugs/table-1", "bugs/own"):
        assert (tmp_path / "runs" / place / "finding.html").is_file()
