"""Every membership detector of the registry separates texts known by heart from texts never seen.

The plant is as strong as it can be while the model still knows other code: `builtin:small`, trained on 20 functions
until it knows them by heart. 12 of them are judged with 12 that it never saw; 16 others carry labels.
"""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from assay.models import ModelSettings, load_checkpoint, open_local
from assay.scores import DETECTORS
from assay.training import TrainingSettings, member_rows, tune
from assay.types import MEMBER
from assay_lab.methods import dpdllm, veil_probe
from assay_lab.testbed.configuration import Configuration, EvaluationSettings, PlantSettings
from assay_lab.testbed.detectors import sample_detectors
from assay_lab.testbed.evaluate import frequencies, values_of
from assay_lab.testbed.plant import plant
from assay_lab.testbed.sources import never_seen_functions
from assay_lab.testbed.supervised import FITTED_ON

DATA = PlantSettings(members=12, calibration_members=8, calibration_nonmembers=8, unseen=0, characters=(200, 450))
BY_HEART = TrainingSettings(method="full", rate=5e-4, batch=4, epochs=20)
BOUND = 0.75
"""Least AUROC of every detector."""
RECALL, FALSE_ALARMS = 0.9, 0.6
"""Of a rule that a paper states, where the value itself is on the scale of each text's perplexity (SrDetection)."""
SMALL = {
    "dpdllm": dpdllm.DpdllmSettings(epochs=5, rate=2e-3, batch=8, device="cpu"),
    "veil_probe": replace(
        veil_probe.PUBLISHED, layers=2, width=64, heads=2, feed_forward=128, rate=1e-3, batch=8, answer_tokens=16
    ),
}
"""Less to compute than as published."""
OF_ERRORS = {"ez_mia"}
"""Scores of the tokens that a model predicts wrongly: a text that it knows by heart has none."""
AT_CHANCE = pytest.mark.xfail(
    strict=True, reason="VeilProbe as published reads the prompts alone, which do not differ between the classes"
)
FITTED = [name for name, entry in DETECTORS.items() if entry.kind == "fitted"]


@pytest.fixture(scope="module")
def planted():
    return plant(never_seen_functions(), DATA, seed=0)


@pytest.fixture(scope="module")
def models(planted, tmp_path_factory):
    """The audited model, and the one before its training."""
    base, folder = load_checkpoint("builtin:small", ModelSettings(device="cpu")), tmp_path_factory.mktemp("by_heart")
    rows = member_rows(base.tokenizer, [sample.text for sample in planted.trained], context=512)
    tune(base.model, rows, BY_HEART, seed=0).save_pretrained(folder)
    base.tokenizer.save_pretrained(folder)
    return {
        "target": open_local(str(folder), device="cpu"),
        "reference": open_local("builtin:small", device="cpu"),
    }


def judged(planted):
    """The texts without those whose labels a fitted detector may use, which no test here judges."""
    return replace(planted, samples=tuple(s for s in planted.samples if s.metadata["part"] not in FITTED_ON))


def detects(values, members, *, rule=None):
    """True if values separate members from non-members, by their order or by the paper's own rule."""
    scored = ~np.isnan(values)
    assert scored.mean() > 0.75
    values, members = values[scored], members[scored]
    if roc_auc_score(members, values) >= BOUND:
        return True
    return (
        rule is not None
        and (values[members] > rule).mean() >= RECALL
        and (values[~members] > rule).mean() <= FALSE_ALARMS
    )


@pytest.mark.slow
def test_every_score_separates_members(planted, models, tmp_path):
    detectors = [
        each
        for name, each in sample_detectors().items()
        if each.access != "labelled" and name in DETECTORS and name not in OF_ERRORS
    ]
    assert {each.access for each in detectors} == {"gray", "black", "two models"}
    table = frequencies(tmp_path, Configuration())
    texts = judged(planted)
    values = values_of(texts, detectors, models, table, EvaluationSettings(), generator=models["target"])
    members = np.array([sample.label == MEMBER for sample in texts.samples])
    blind = [each.name for each in detectors if not detects(values[each.name], members, rule=each.rule)]
    assert blind == []


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=AT_CHANCE) if name == "veil_probe" else name for name in FITTED]
)
def test_every_fitted_detector_separates_members(name, planted, models):
    labelled = [sample for sample in planted.samples if sample.metadata["part"] in FITTED_ON]
    samples = judged(planted).samples
    fitted = DETECTORS[name](
        labelled,
        [sample.label == MEMBER for sample in labelled],
        models["target"],
        unlabelled=samples,
        settings=SMALL[name],
    )
    assert fitted.labels == 16
    values = np.array([score.value for score in fitted.scores(samples)])
    assert detects(values, np.array([sample.label == MEMBER for sample in samples]))
