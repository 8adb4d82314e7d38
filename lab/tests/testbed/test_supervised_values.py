"""Detectors that learn from labels, in the testbed: from the calibration split alone."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from assay.scores import detectors_of
from assay.types import Sample, Score
from assay_lab.methods.fitted import FittedDetector
from assay_lab.testbed import supervised
from assay_lab.testbed.configuration import Configuration, EvaluationSettings
from assay_lab.testbed.detectors import ComparedDetector
from assay_lab.testbed.evaluate import origins_of
from assay_lab.testbed.plant import PARTS, Planted
from assay_lab.testbed.supervised import settings_notes, supervised_values

FITTED = detectors_of(FittedDetector)


class Remembering:
    """A detector that keeps what it was given."""

    def __init__(self, samples, labels, generator, *, unlabelled, seed):
        self.unlabelled = [sample.id for sample in unlabelled]
        self.given = [(entry.id, label) for entry, label in zip(samples, labels, strict=True)]
        self.generator, self.seed = generator, seed
        self.judged = []

    def scores(self, samples):
        self.judged += [sample.id for sample in samples]
        return [Score(sample.id, "it", float(len(sample.text))) for sample in samples]


@pytest.fixture
def planted():
    samples = [
        Sample(f"{part}/{i}", "x" * (i + 1), None, PARTS[part], None, {"part": part})
        for part in PARTS
        for i in range(2)
    ]
    return Planted(tuple(samples), {})


@pytest.mark.parametrize("spared", [True, False])
def test_only_the_calibration_split_teaches_and_all_others_are_judged(planted, monkeypatch, spared):
    made = []
    detectors = {"it": lambda *a, **k: made.append(Remembering(*a, **k)) or made[0]}
    monkeypatch.setattr(supervised, "detectors_of", lambda _: detectors)
    judging = EvaluationSettings(unseen_one_pass=spared)
    found = supervised_values(planted, ["it"], "the model", judging, seed=7)["it"]
    assert made[0].given == [
        ("calibration-member/0", True),
        ("calibration-member/1", True),
        ("calibration-nonmember/0", False),
        ("calibration-nonmember/1", False),
    ]
    assert (made[0].generator, made[0].seed) == ("the model", 7)
    assert made[0].unlabelled == made[0].judged
    for sample, value in zip(planted.samples, found, strict=True):
        taught = sample.id.startswith("calibration") or (spared and sample.id.startswith("unseen"))
        assert np.isnan(value) if taught else value == len(sample.text)


CHANGED = EvaluationSettings(settings={"dpdllm": {"epochs": 2, "batch": 4}, "veil_probe": {}})


def test_a_detector_is_fitted_with_the_settings_of_the_configuration(planted, monkeypatch):
    fits = {}

    def fit(entry, *texts, settings=None, **rest):
        fits[entry.name] = settings
        return Remembering(*texts, **rest)

    monkeypatch.setattr(FittedDetector, "__call__", fit)
    supervised_values(planted, list(FITTED), "the model", CHANGED, seed=7)
    assert fits == {"dpdllm": replace(FITTED["dpdllm"].settings, epochs=2), "veil_probe": None}


def test_settings_other_than_the_defaults_are_named_beside_them():
    (note,) = settings_notes(CHANGED, FITTED)
    assert note.startswith("DPDLLM has other settings than its defaults")
    assert note.endswith(": epochs 2 (15).")
    assert settings_notes(EvaluationSettings(), FITTED) == []


def test_values_are_bound_to_the_settings_of_their_detector(planted):
    detectors = [ComparedDetector.of(name) for name in ("loss", *FITTED)]
    models = {"target": SimpleNamespace(digest="model")}
    table = SimpleNamespace(tokenizer_digest="tokenizer", counts=np.zeros(2))
    first, second = (
        origins_of(detectors, Configuration(judging=judging), planted, models, table)
        for judging in (EvaluationSettings(), CHANGED)
    )
    assert {name for name in first if first[name] != second[name]} == {"dpdllm"}
