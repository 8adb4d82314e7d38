"""Agreement with the published implementations, through the real backend and the real engine."""

import json

import pytest

from assay.models import open_model
from assay.scores import requests
from assay.scoring import plan, score_samples
from assay.types import Sample

TOLERANCE = 1e-4


@pytest.fixture(scope="module")
def scored(golden):
    samples = [
        Sample(**json.loads(line)) for line in (golden / "samples.jsonl").read_text("utf-8").splitlines() if line
    ]
    models = {
        role: open_model(str(golden / folder)) for role, folder in (("target", "model"), ("reference", "reference"))
    }
    wanted = requests("all")
    table = score_samples(
        samples,
        plan([entry for entry in wanted if entry.name != "dc_pdd" and entry.definition.access != "black"], models),
    )
    return {sample.id: {name: table.values[name][i] for name in table.values} for i, sample in enumerate(samples)}


@pytest.fixture(scope="module")
def expected(golden):
    return json.loads((golden / "expected.json").read_text("utf-8"))


@pytest.mark.parametrize(
    "name",
    [
        "loss",
        "perplexity",
        "zlib",
        "min_k",
        "min_k_plus_plus",
        "ngram_accuracy",
        "rank",
        "log_rank",
        "entropy",
        "lrr",
        "mid_pit",
        "gap_k",
        "fast_detect_gpt",
        "lowercase",
        "reference",
    ],
)
def test_a_score_agrees_with_its_published_implementation(scored, expected, name):
    compared = {sample: values[name] for sample, values in expected.items() if name in values}
    assert compared
    assert {sample: scored[sample][name] for sample in compared} == pytest.approx(compared, rel=TOLERANCE)
