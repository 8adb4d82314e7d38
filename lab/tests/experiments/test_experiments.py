"""The papers' tables and figures, on runs small enough for a test."""

import html
import json
import math
import re
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pyarrow.parquet as pq
import pytest

from assay.errors import DataError
from assay.evaluation.estimate import Estimate
from assay.models import open_local
from assay.reports import render_markdown
from assay.reports.html import shaded
from assay.training.settings import TrainingSettings
from assay.types import Sample
from assay_lab.experiments.bench import Bench
from assay_lab.experiments.catalogue import all_experiments, experiment_named, experiments_named
from assay_lab.experiments.describing import finding_report, write_finding
from assay_lab.experiments.finding import Finding, ValueRow, ValueTable, joined, over_seeds
from assay_lab.experiments.papers import paper
from assay_lab.papers.srdetection import black_box
from assay_lab.papers.srdetection.case_study import NONE_FOUND
from assay_lab.papers.srdetection.detectors import in_paper
from assay_lab.papers.srdetection.sensitivity import by_variants
from assay_lab.reliability.honest_null import false_positive_rates
from assay_lab.testbed import evaluate
from assay_lab.testbed.configuration import Configuration, EvaluationSettings, GeneralTextSettings, PlantSettings, scale
from assay_lab.testbed.evaluate import STATISTICS
from assay_lab.testbed.plant import Planted

GRAY = ("loss", "mid_pit", "min_k_plus_plus", "sr_gray", "sr_gray:n=1", "sr_z", "lowercase")
BLACK = ("sr_black", "sr_black_rank", "ngram_generation", "dpdllm", "veil_probe")
OF_WRITING = ("srdetection/table-2", "srdetection/table-9", "srdetection/table-11")


def function(i):
    return (
        f"def scale_{i}(width_{i}, height_{i}, margin_{i}):\n"
        f"    area_{i} = width_{i} * height_{i} + {i}\n"
        f"    border_{i} = margin_{i} - area_{i} * {i * i}\n"
        f"    return area_{i}, border_{i}, {i} - margin_{i}\n"
    )


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    """Two seeds of one small configuration; members are shown often enough to be recognised."""
    folder = tmp_path_factory.mktemp("bench")
    rows = [{"id": f"f{i}", "text": function(i), "language": "python"} for i in range(90)]
    texts = folder / "functions.jsonl"
    texts.write_text("".join(json.dumps(row) + "\n" for row in rows))
    configuration = Configuration(
        name="tiny",
        data=PlantSettings(
            source=str(texts),
            language="language",
            members=10,
            calibration_members=4,
            calibration_nonmembers=24,
            unseen=6,
            near_duplicate=1.0,
        ),
        mix=GeneralTextSettings(ratio=1),
        training=TrainingSettings(method="full", rate=2e-3, batch=4, epochs=2, checkpoints=(1, 2), device="cpu"),
        judging=EvaluationSettings(
            detectors=GRAY, variants=3, settings={"veil_probe": {"layers": 2}}, resamples=30, device="cpu"
        ),
    )
    return Bench(folder / "out", (configuration,), (0, 1), scale="smoke")


@pytest.fixture(scope="module")
def written(bench):
    """The bench with detectors of generated text, their scores drawn: each epoch, members write more of themselves."""
    computed = evaluate._computed
    checkpoints = {seed: [] for seed in bench.seeds}

    def drawn(out, configuration, planted, *, detectors, models, **rest):
        if not configuration.name.endswith("-black"):
            return computed(out, configuration, planted, detectors=detectors, models=models, **rest)
        checkpoints[configuration.seed].append(models["target"].digest)
        epoch = len(checkpoints[configuration.seed]) - 1
        random = np.random.default_rng(configuration.seed)
        member = np.array([sample in planted.trained for sample in planted.samples])
        return {d.name: random.normal(size=len(member)) / 9 - 1 + epoch * member for d in detectors}

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(evaluate, "_computed", drawn)
        (configuration,) = bench.configurations
        judging = replace(configuration.judging, detectors=GRAY + BLACK)
        yield replace(bench, configurations=(replace(configuration, judging=judging),), _evaluated={})
    assert all(len(set(digests)) == len(digests) for digests in checkpoints.values()), "scored more than once"


def result(name, bench):
    """The finding of an experiment."""
    return experiment_named(name).run(bench)


def values(table):
    """Row → column → value."""
    return {row.name: dict(zip(table.columns, row.values, strict=True)) for row in table.rows}


ELSEWHERE = (
    "hst/",
    "kds/",
    "assay/reliability",
    "assay/kinds",
    "bugs/recall",
    "bugs/strata",
    "bugs/table-1",
    "bugs/table-3",
    "bugs/table-5",
    "bugs/table-6",
    "bugs/figure-",
)
"""Experiments with tests of their own: they train or search something else."""
TESTBED = [name for name in all_experiments() if not name.startswith(ELSEWHERE)]


@pytest.mark.slow
@pytest.mark.parametrize("name", TESTBED)
def test_every_experiment_gives_whole_tables_and_a_page(name, bench, written, tmp_path):
    bench = written if name in OF_WRITING else bench
    more_runs = name in ("srdetection/table-10", "srdetection/figure-3", "srdetection/names")
    finding = result(name, replace(bench, seeds=(0,)) if more_runs else bench)
    assert finding.name == name
    assert finding.tables
    assert len({table.name for table in finding.tables}) == len(finding.tables)
    for table in finding.tables:
        assert table.rows
        assert all(len(row.values) == len(table.columns) for row in table.rows)
    page = write_finding(tmp_path / name, finding)
    assert page.read_text().startswith("<!doctype html>")
    content = json.loads((tmp_path / name / "finding.json").read_text())
    assert content["name"] == name
    assert [table["name"] for table in content["tables"]] == [table.name for table in finding.tables]
    assert (tmp_path / name / "finding.md").read_text() == render_markdown(finding_report(finding))


def test_black_box_runs_leave_the_clean_texts_out_and_are_smaller_on_the_shipped_model_alone():
    (small,), (large, _) = (tuple(map(black_box.judged_by_writing, scale(size))) for size in ("full", "paper"))
    assert (small.data.members, small.data.calibration_members, small.data.calibration_nonmembers) == (40, 20, 40)
    assert (large.data.members, large.data.unseen) == ("all", 0)
    assert (small.data.members // small.data.per_group, large.data.per_group) == (10, 1)


@pytest.mark.slow
def test_table_2_has_the_papers_three_detectors_at_their_papers_decision(written):
    finding = result("srdetection/table-2", written)
    rows = values(finding.table("macro-f1-filtered"))
    assert rows["VeilProbe"]["Qwen2.5-7B (paper), epoch 1"] == pytest.approx(0.4933)
    accuracy = values(finding.table("accuracy-filtered"))
    assert accuracy["SrDetection"]["tiny-black, epoch 2"].value == 1  # every member lies above 0, no other text does
    assert accuracy["DPDLLM"]["tiny-black, epoch 2"].value == 1
    assert finding.notes[-1].startswith("VeilProbe has other settings than its defaults")
    assert finding.notes[-1].endswith("layers 2 (6).")


@pytest.mark.slow
def test_table_9_has_what_was_held_out_beside_what_was_planted(written):
    finding = result("srdetection/table-9", written)
    assert values(finding.table("paper"))["StarCoder2-7B"]["MBPP"] == pytest.approx(0.0616)
    rows = values(finding.table("flagged"))
    for texts, share in (("planted", 1), ("held out", 0)):
        row = rows[f"{texts}, SrDetection's rule"]
        assert row["tiny-black, epoch 2"].value == share
        assert row["tiny-black, before training"].value == 0


@pytest.mark.slow
def test_table_9_scores_a_benchmark_once_and_reads_it_afterwards(written, tmp_path, monkeypatch):
    path = tmp_path / "one.jsonl"
    path.write_text(json.dumps({"id": "a", "text": function(7), "language": "python"}) + "\n")
    requested = []

    def scored(samples, work, **_):
        requested.append(work.requests[0].name)
        return SimpleNamespace(values={work.requests[0].name: np.array([0.5])})

    monkeypatch.setattr(black_box, "score_samples", scored)
    monkeypatch.setattr(black_box, "open_checkpoint", lambda *_: open_local("builtin:small", device="cpu"))
    bench = replace(written, seeds=(0,), data={"extra": path})
    for _ in range(2):
        rows = values(result("srdetection/table-9", bench).table("flagged"))
        assert rows["extra, SrDetection's rule"]["tiny-black, epoch 1"].value == 1
    assert requested == ["sr_black:n=3"] * 3
    path.write_text(json.dumps({"id": "a", "text": function(8), "language": "python"}) + "\n")
    result("srdetection/table-9", bench)
    assert len(requested) == 6, "scores of another text under the same id were reused"


@pytest.mark.slow
def test_figure_2_is_a_mean_over_seeds_and_takes_a_benchmark_beside_what_was_planted(bench, tmp_path, monkeypatch):
    path = tmp_path / "other.jsonl"
    rows = [{"id": f"o{i}", "text": function(200 + i), "language": "python"} for i in range(3)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    only_trained = replace(bench, data={"other": path}, _evaluated={})
    finding = result("srdetection/figure-2", only_trained)
    assert not only_trained._evaluated, "detectors that it does not show were judged"
    rows = values(finding.table("flagged"))
    assert "other 3 (3 with variants)" in finding.notes[1]
    for texts in ("planted", "held out", "other"):
        audits = [finding.audits[f"tiny-seed-{seed}-epoch-2-{texts.replace(' ', '-')}"] for seed in bench.seeds]
        shares = [np.mean(audit.values["sr_gray:n=3"] > 0) for audit in audits]
        assert rows[f"{texts}, SrDetection's rule"]["tiny, epoch 2"].value == pytest.approx(np.mean(shares))
    assert {sample.label for audit in finding.audits.values() for sample in audit.samples} == {None}
    assert not (bench.out / STATISTICS).exists()


@pytest.mark.slow
def test_table_11_says_how_many_variants_there_were(written):
    finding = result("srdetection/table-11", written)
    row = values(finding.tables[0])["1"]
    assert row["Qwen2.5-7B (paper), epoch 1"] == pytest.approx(0.5257)
    assert any(note.startswith("Only 3 variants") for note in finding.notes)


@pytest.mark.slow
def test_the_papers_value_stands_beside_ours(bench):
    text = render_markdown(finding_report(result("srdetection/table-1", bench)))
    row = next(line for line in text.splitlines() if line.startswith("| `SrDetection` |"))
    assert "75\u00a0%" in row
    assert "[" in row


@pytest.mark.slow
def test_runs_are_shared_and_run_once(bench):
    result("srdetection/table-1", bench)
    before = {path: path.stat().st_mtime_ns for path in (bench.out / "runs").glob("*/train/state.pt")}
    result("srdetection/table-3", replace(bench, _evaluated={}))
    assert before == {path: path.stat().st_mtime_ns for path in (bench.out / "runs").glob("*/train/state.pt")}


@pytest.mark.slow
def test_another_mix_has_the_same_members_and_the_same_base_scores(bench):
    result("srdetection/table-10", replace(bench, seeds=(0,)))
    runs = [bench.out / "runs" / f"tiny-mix-{ratio}-seed-0" for ratio in (1, 5)]
    for name in ("plant/members.jsonl", "scores/epoch-0.parquet"):
        assert (runs[0] / name).read_bytes() == (runs[1] / name).read_bytes()
    rows = [json.loads((run / "train" / "training.json").read_text()) for run in runs]
    assert rows[1]["general_tokens"] == 5 * rows[0]["general_tokens"]


@pytest.mark.slow
def test_other_names_are_judged_on_the_same_checkpoints_and_only_scores_over_variants_change(bench):
    finding = result("srdetection/names", replace(bench, seeds=(0,)))
    runs = [bench.out / "runs" / f"{name}-mix-1-seed-0" for name in ("tiny", "tiny-synonyms-all", "tiny-synonyms-one")]
    assert not (runs[2] / "train" / "state.pt").exists(), "trained again"
    for name in ("plant/members.jsonl", "train/inputs.json"):
        assert len({(run / name).read_bytes() for run in runs}) == 1
    scores = [pq.read_table(run / "scores" / "epoch-2.parquet") for run in runs]
    assert scores[0]["mid_pit"].equals(scores[2]["mid_pit"])
    assert len({str(table["sr_z:n=3"].to_pylist()) for table in scores}) == 3
    rows = values(finding.table("auroc"))
    assert {"sr_gray, dictionary, all", "sr_gray, synonyms, all", "sr_gray, synonyms, one"} <= set(rows)
    assert list(rows["sr_gray, synonyms, one"]) == ["tiny, epoch 1", "tiny, epoch 2"]
    assert "sr_gray, synonyms, one" in values(finding.table("rule-on-unseen"))


@pytest.mark.slow
def test_the_case_study_shows_every_letter_of_both_texts(bench):
    finding = result("srdetection/figure-4", bench)
    original, variant = finding.excerpts
    shown = "".join(shaded(original))
    assert html.unescape(re.sub(r"<[^>]*>", "", shown)) == original.text
    assert original.text != variant.text
    perplexity, easiest, hardest = (row.values[0] for row in finding.tables[0].rows)
    assert perplexity < easiest <= hardest


@pytest.mark.slow
def test_where_no_member_is_found_the_case_study_shows_the_nearest_and_says_so(bench):
    low = replace(
        bench.configurations[0], name="untrained", training=replace(bench.configurations[0].training, rate=1e-9)
    )
    finding = result("srdetection/table-4", replace(bench, configurations=(low,), seeds=(0,)))
    row = values(finding.tables[0])["SrDetection"]
    if row["found"] == "no":
        assert NONE_FOUND in finding.notes
    assert row["score"] is not None


def test_an_interval_over_seeds_is_students():
    """t(.975, 2) = 4.3027; the standard deviation of .7, .8, .9 is .1."""
    mean = over_seeds([Estimate(v, math.nan, math.nan) for v in (0.7, 0.8, 0.9)])
    assert mean.value == pytest.approx(0.8)
    assert mean.high - mean.value == pytest.approx(4.3027 * 0.1 / math.sqrt(3), rel=1e-4)


def test_one_seed_keeps_its_own_interval_and_none_has_none():
    estimate = Estimate(0.7, 0.6, 0.8)
    assert over_seeds([estimate, None]) == estimate
    assert over_seeds([None]) is None


@pytest.mark.parametrize("last", [1.0, 0.9999])
def test_seeds_that_agree_do_not_make_certain(last):
    """A perfect AUROC in each of three seeds has the uncertainty of a perfect AUROC, as has one that is nearly so."""
    mean = over_seeds([Estimate(1.0, 0.958, 1.0), Estimate(1.0, 0.96, 1.0), Estimate(last, 0.959, 1.0)], share=True)
    assert (mean.low, mean.high) == (pytest.approx(0.959), 1.0)


def test_seeds_that_agree_without_intervals_have_none():
    seeds = [Estimate(1.0, math.nan, math.nan, reason="too few groups")] * 2
    assert over_seeds(seeds).reason == "too few groups"


def test_conformal_rates_over_splits_hold_their_level():
    samples = tuple(Sample(str(i), "x", group=f"g{i // 3}", metadata={"part": "unseen"}) for i in range(600))
    random = np.random.default_rng(0)
    rates = [false_positive_rates(Planted(samples, {}), {"s": random.normal(size=600)}, seed)["s"] for seed in range(8)]
    assert np.mean(rates, axis=(0, 1)) == pytest.approx([0.05, 0.1], abs=0.015)


def leaves(node):
    """Every list of numbers in the values of a printed table."""
    return [node] if isinstance(node, list) else [leaf for child in node.values() for leaf in leaves(child)]


@pytest.mark.parametrize("name", sorted({name.partition("/")[0] for name in all_experiments()}))
def test_the_papers_tables_have_a_number_for_each_column(name):
    for table in paper(name).tables.values():
        assert all(len(row) == len(table.columns) for row in leaves(table.values))


def test_table_10_repeats_table_1_in_all_but_two_cells():
    source = paper("srdetection")
    mixes, epochs = source.tables["table-10"], source.tables["table-1"]
    pairs = [
        (mixes.value("macro-F1", model, name, column=5), epochs.value("macro-F1", model, name, column=1))
        for model in source.models
        for name in in_paper("gray")
    ]
    assert sum(a != b for a, b in pairs) == 2


def test_a_name_that_no_experiment_has_is_refused_with_those_there_are():
    with pytest.raises(DataError, match="srdetection/table-1"):
        experiment_named("table-99")


def test_a_paper_names_all_of_its_experiments_and_any_other_name_a_single_experiment():
    names = [each.full_name for each in experiments_named("bugs")]
    assert names == [name for name in all_experiments() if name.startswith("bugs/")]
    assert [each.full_name for each in experiments_named("bugs/strata")] == ["bugs/strata"]


def test_joined_findings_keep_their_tables_apart_and_print_a_common_note_once():
    table = ValueTable("sizes", "Sizes", "model", ("n",), (ValueRow("m", (1.0,)),), "number")
    findings = [
        Finding(name=f"bugs/{name}", title=name, tables=(table,), notes=("both", f"own {name}"), seeds=seeds)
        for name, seeds in (("table-1", ()), ("table-2", (0, 1)))
    ]
    whole = joined("bugs", "The paper", findings)
    assert [each.name for each in whole.tables] == ["table-1-sizes", "table-2-sizes"]
    assert whole.notes == ("both", "table-1: own table-1", "table-2: own table-2")
    assert whole.seeds == (0, 1)
    assert "table-2: Sizes" in render_markdown(finding_report(whole))


def test_experiments_are_sorted_by_paper_and_number():
    names = [name for name in all_experiments() if name.startswith("srdetection/table")]
    assert names == [f"srdetection/table-{n}" for n in ("1", "2", "3", "4", "5-6", "9", "10", "11")]


def test_an_epoch_that_a_run_leaves_out_shifts_no_value_of_the_paper():
    run = SimpleNamespace(epochs=(0, 2, 5), detectors=(), cells=(SimpleNamespace(view="all"),), cell=lambda *_: None)
    (table,) = by_variants("sr_gray", paper("srdetection").tables["table-3"], {"tiny": (run,)})
    row = values(table)["10"]
    assert [row[f"Qwen2.5-7B (paper), epoch {epoch}"] for epoch in (1, 3, 5)] == pytest.approx([0.7476, 0.885, 0.9047])
    assert (row["tiny, epoch 2"], row["tiny, epoch 5"]) == (None, None)
