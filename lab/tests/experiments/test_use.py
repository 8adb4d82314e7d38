"""Nothing that a user gives is ignored, scales have the same names everywhere, and a finding says where it is from."""

import json
from pathlib import Path

import pyarrow as pa
import pytest

from assay.errors import DataError
from assay.models import builtin_folder
from assay_lab.cli.run import places_at
from assay_lab.experiments import Bench, Finding, all_experiments, check_scale, check_used, experiments_named, paper
from assay_lab.experiments.bench import label_of
from assay_lab.experiments.describing import origin_of, write_finding
from assay_lab.experiments.named_data import named_source
from assay_lab.experiments.papers import FAMILIES, hub_models_of
from assay_lab.experiments.scales import sizes_of
from assay_lab.papers.bugs import averages
from assay_lab.papers.deco import collections
from assay_lab.papers.hst import trial
from assay_lab.papers.kds import trials
from assay_lab.papers.planning import plan_report
from assay_lab.papers.srdetection import black_box
from assay_lab.reliability import kinds, pool_settings
from assay_lab.testbed import SCALES


def refused(name, *, data=None, models=(), scale="smoke", tmp_path=Path("runs")):
    """The line with which what a user gives is refused."""
    with pytest.raises(DataError) as caught:
        check_used(name, experiments_named(name), Bench.of_scale(scale, tmp_path, (0,), data, models=models))
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(
    ("name", "data", "models", "message"),
    [
        ("srdetection/table-1", {"mbpp": Path("m")}, (), "received --data mbpp, expected no data"),
        ("hst/retrieval", {"mbpp": Path("c")}, (), "received --data mbpp, expected corpus"),
        ("hst/retrieval", {}, ("a", "b"), "received 2 models (a, b), expected at most 1"),
        ("kds/table-1", {}, ("a",), "received 1 models (a), expected none"),
        ("deco/table-2", {}, ("a", "b"), "received 2 models (a, b), expected at most 1"),
        ("deco/table-3", {}, ("a", "b"), "received 2 models (a, b), expected at most 1"),
        ("bugs/table-3", {"bugsinpy": Path("b")}, ("a",), "received 1 models (a), expected none"),
        ("bugs/table-5", {"the-stack-v1.0": Path("b")}, (), "received --data the-stack-v1.0, expected defects4j or"),
        ("assay/kinds", {}, ("a",), "received 1 models (a), expected none"),
    ],
)
def test_data_and_models_without_use_are_refused_in_one_line(name, data, models, message):
    assert message in refused(name, data=data, models=models)


@pytest.mark.parametrize("name", ["kds/table-1", "deco/table-2", "bugs/table-5", "assay/kinds", "srdetection/table-4"])
def test_several_seeds_are_refused_where_one_is_run(name, tmp_path):
    with pytest.raises(DataError, match="received --seed 0,1, expected one seed"):
        check_used(name, experiments_named(name), Bench.of_scale("smoke", tmp_path, (0, 1)))
    check_used("bugs", experiments_named("bugs"), Bench.of_scale("smoke", tmp_path, (0, 1)))


def test_what_is_used_passes_and_each_experiment_of_a_paper_gets_its_own(tmp_path):
    data = {"bugsinpy": tmp_path, "the-stack-v1.0": tmp_path}
    bench = Bench.of_scale("smoke", tmp_path, (0,), data, models=("a", "b"))
    experiments = experiments_named("bugs")
    check_used("bugs", experiments, bench)
    own = {experiment.name: experiment.bench_of(bench) for experiment in experiments}
    assert set(own["table-5"].data) == {"bugsinpy"}
    assert set(own["table-3"].data) == set(data)
    assert [each.model for each in own["strata"].configurations] == ["a"]
    check_used("kds", experiments_named("kds"), Bench.of_scale("smoke", tmp_path, (0,), data, models=("a", "b")))


def test_keys_of_a_file_that_an_experiment_does_not_read_are_refused(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text('models = ["a", "b"]\n[kds]\nn = 50\nshares = [0.0, 1.0]\n')
    bench = Bench.of_scale(str(path), tmp_path, (0,), {"wikimia": tmp_path})
    check_used("kds", experiments_named("kds"), bench)
    assert [each.model for each in bench.configurations] == ["a", "b"]
    sizes = trials.settings_of(bench)
    assert (sizes.n, sizes.shares, sizes.subsets) == (50, (0.0, 1.0), 5)
    assert "received kds, which srdetection/table-1 does not use" in refused("srdetection/table-1", scale=str(path))
    path.write_text("[training]\nrate = 1e-3\n")
    assert "received training, which bugs/table-5 does not use" in refused("bugs/table-5", scale=str(path))
    check_used("srdetection", experiments_named("srdetection"), Bench.of_scale(str(path), tmp_path, (0,)))


@pytest.mark.parametrize(
    ("name", "table", "message"),
    [
        ("bugs/table-5", "[bugs]\ntrained = 3", "received bugs.trained, which bugs/table-5 does not use"),
        ("bugs/strata", "[bugs]\ntexts = 3", "does not use; expected calibrating, fresh, judged, trained"),
        ("bugs/table-2", "[bugs]\ntexts = 3", "expected no table of it"),
        ("kds/figure-2", "[kds]\nsubsets = 3", "received kds.subsets, which kds/figure-2 does not use"),
        ("deco/table-3", "[deco.roles]\nfiller = 'a'", "received deco.roles, which deco/table-3 does not use"),
    ],
)
def test_sizes_that_an_experiment_does_not_read_are_refused(name, table, message, tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(table)
    assert message in refused(name, scale=str(path))
    paper_name = name.partition("/")[0]
    check_used(paper_name, experiments_named(paper_name), Bench.of_scale(str(path), tmp_path, (0,)))


def test_detectors_of_a_file_are_run_or_refused_before_anything_is_trained(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text('[judging]\ndetectors = ["min_k"]\n')
    assert "judging.detectors min_k; expected some that read generated" in refused("srdetection", scale=str(path))
    check_used(
        "srdetection/table-1", experiments_named("srdetection/table-1"), Bench.of_scale(str(path), tmp_path, (0,))
    )
    path.write_text('[judging]\ndetectors = ["veil_probe"]\n')
    assert "expected some that read token prob" in refused("srdetection/table-1", scale=str(path))
    judging = black_box.writing(Bench.of_scale(str(path), tmp_path, (0,))).configurations[0].judging
    assert "veil_probe" in judging.detectors
    assert not {"black", "dpdllm"} & set(judging.detectors)


def test_a_role_that_no_paper_has_is_refused_before_anything_runs(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text('[deco.roles]\nreader = "a"\n')
    assert "deco.roles.reader: no such role; expected some of observer" in refused("deco/table-2", scale=str(path))


def test_a_table_of_a_file_sizes_planted_bugs(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text("[bugs]\ntrained = 4\nfresh = false\n")
    sizes = sizes_of(Bench.of_scale(str(path), tmp_path, (0,)), "bugs", averages.SCALES)
    assert (sizes.trained, sizes.judged, sizes.fresh) == (4, 500, False)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[bugs]\nlimit = 3", "mine.toml: bugs.limit: no such key; expected some of texts, controls, starts"),
        ('[bugs]\nstarts = "some"', "mine.toml: bugs.starts = 'some'"),
        ("bugs = 3", "bugs = 3: expected a table"),
        ("models = 3", "models = 3: expected a list of models"),
    ],
)
def test_a_wrong_key_of_a_paper_is_one_line(text, message, tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(text)
    with pytest.raises(DataError) as caught:
        sizes_of(Bench.of_scale(str(path), tmp_path, (0,)), "bugs", averages.SCALES)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("family", "scales", "text", "message"),
    [
        ("kds", trials.SCALES, "n = 1", "mine.toml: kds.n = 1: input should be greater than or equal to 2"),
        ("kds", trials.SCALES, "shares = [0.5, 2]", "kds.shares.1 = 2: input should be less than or equal to 1"),
        ("deco", collections.SCALES, "copies = 1", "deco.copies = 1: input should be greater than or equal to 2"),
        ("hst", trial.SIZES, "windows = []", "hst.windows = []: tuple should have at least 1 item"),
        ("bugs", averages.SCALES, "texts = 0", "bugs.texts = 0: input should be greater than or equal to 1"),
    ],
)
def test_a_size_that_measures_nothing_is_refused(family, scales, text, message, tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(f"[{family}]\n{text}\n")
    with pytest.raises(DataError) as caught:
        sizes_of(Bench.of_scale(str(path), tmp_path, (0,)), family, scales)
    assert message in str(caught.value)


def test_scales_have_the_same_names_everywhere_and_others_are_refused_with_the_list():
    for of_family in (averages, collections, trial, trials, kinds, pool_settings):
        assert tuple(getattr(of_family, "SCALES", None) or of_family.SIZES) == SCALES
    with pytest.raises(DataError, match="scale 'small': expected one of smoke, full, paper, or a configuration file"):
        check_scale("small")


def test_each_paper_has_models_of_its_own(tmp_path):
    lists = {family: hub_models_of(family) for family in FAMILIES}
    assert len(lists["bugs"]) == 9
    assert len(set(lists.values())) == len(FAMILIES)
    for family, models in lists.items():
        bench = Bench.of_scale("paper", tmp_path, (0,), paper=family)
        assert tuple(each.model for each in bench.configurations) == models
        report = plan_report(family, experiments_named(family), bench)
        assert set(models) <= {row.cells[0] for row in report.tables[0].rows}
    assert set(paper("bugs").hub_models) == set(paper("bugs").tables["table-5"].values)
    by_name = {row.cells[0]: row.cells[1] for row in report.tables[0].rows}
    assert by_name["meta-llama/Llama-3.1-70B"] == "70"


@pytest.mark.parametrize("name", [name for name in all_experiments() if "/figure" not in name])
def test_every_experiment_has_a_plan(name, tmp_path):
    experiments = experiments_named(name)
    report = plan_report(name, experiments, Bench.of_scale("full", tmp_path, (0, 1), paper=experiments[0].paper))
    assert any(table.name == "models" for table in report.tables) or "It runs no model." in report.statement


def rows_of_plan(name, bench):
    tables = [table for table in plan_report(name, experiments_named(name), bench).tables if table.name == "models"]
    return {row.cells[0]: row.cells[1:] for table in tables for row in table.rows}


def test_a_plan_names_the_models_that_an_experiment_runs(tmp_path):
    hst = Bench.of_scale("paper", tmp_path, (0,), paper="hst")
    assert list(rows_of_plan("hst/judge", hst)) == ["Qwen/Qwen2.5-7B-Instruct"]
    assert list(rows_of_plan("hst/source-tracker", hst)) == ["microsoft/unixcoder-base"]
    assert len(rows_of_plan("bugs/strata", Bench.of_scale("paper", tmp_path, (0,), paper="bugs"))) == 1
    kds = Bench.of_scale("paper", tmp_path, (0,), paper="kds")
    assert len(rows_of_plan("kds/table-1", kds)) == 1
    assert len(rows_of_plan("kds/table-7", kds)) == 3
    assert not rows_of_plan("kds/table-9", kds)


@pytest.mark.parametrize("name", ["mine.jsonl", "mine.jsonl.gz", "mine.jsonl.zst"])
def test_a_plan_counts_the_tasks_of_a_file_and_the_weights_of_a_model(tmp_path, name):
    tasks = tmp_path / name
    with pa.output_stream(tasks, compression="detect") as file:
        file.write(b'{"text": "a"}\n\n{"text": "b"}\n')
    model = builtin_folder("small")
    bench = Bench.of_scale("paper", tmp_path, (0,), {"humaneval": tasks}, models=(str(model),))
    ((size, _, _, passes, *_),) = rows_of_plan("srdetection/figure-2", bench).values()
    assert passes == "22"
    assert size == "0.00256"


def test_a_plan_refuses_tasks_that_a_run_cannot_read(tmp_path):
    tasks = tmp_path / "mine.jsonl.zip"
    tasks.write_bytes(b"PK\x03\x04\n and more")
    bench = Bench.of_scale("paper", tmp_path, (0,), {"humaneval": tasks})
    with pytest.raises(DataError, match="a zip archive"):
        rows_of_plan("srdetection/figure-2", bench)


def test_a_local_path_of_a_model_is_in_no_finding(tmp_path):
    model = tmp_path / "my-model"
    model.mkdir()
    bench = Bench.of_scale("smoke", tmp_path, (0,), models=(str(model),))
    assert origin_of("kds/table-1", bench)["models"] == ["my-model"]
    assert label_of("Qwen/Qwen2.5-7B") == "Qwen/Qwen2.5-7B"


def test_two_models_of_one_name_are_refused(tmp_path):
    models = [str(tmp_path / name / "epoch-1") for name in "ab"]
    for model in models:
        Path(model).mkdir(parents=True)
    assert "received two models called epoch-1" in refused("srdetection/table-1", models=models)
    bench = Bench.of_scale("smoke", tmp_path, (0,), models=models[:1] * 2)
    check_used("srdetection/table-1", experiments_named("srdetection/table-1"), bench)


def test_data_are_paths_benchmarks_or_data_sets_of_the_hub(tmp_path):
    assert places_at(["wikimia", "hf:a/b", "x=hf:c/d"]) == {
        "wikimia": Path("wikimia"),
        "b": Path("hf:a/b"),
        "x": Path("hf:c/d"),
    }
    assert named_source("mine", Path("wikimia"))[0] == "wikimia"
    assert named_source("x", Path("hf:c/d"), label="label")[0] == "hf:c/d"
    assert named_source("wikimia", tmp_path)[1].data == tmp_path
    assert named_source("mine", tmp_path / "t.jsonl", label="label")[1].label == "label"
    for options in (["nothing"], ["a="], ["a=b", "a=c"]):
        with pytest.raises(DataError):
            places_at(options)


def test_the_json_of_a_finding_says_where_it_is_from(tmp_path):
    finding = Finding(name="kds/table-1", title="t", tables=(), notes=(), seeds=(0,))
    bench = Bench.of_scale("smoke", tmp_path, (0, 1), {"wikimia": tmp_path / "w.jsonl"}, models=("a/b",))
    write_finding(tmp_path / "f", finding, bench)
    content = json.loads((tmp_path / "f" / "finding.json").read_text())
    assert {"commit", "measured", "machine", "models", "scale"} <= content.keys()
    assert {"torch", "transformers", "assay", "processor"} <= content["machine"].keys()
    assert content["command"] == (
        "assay lab run kds/table-1 --scale smoke --seed 0,1 --data wikimia=w.jsonl --model a/b"
    )
