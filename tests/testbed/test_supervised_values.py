"""Detectors that learn from labels, in the testbed: from the calibration split alone."""

import numpy as np
import pytest

from assay.testbed import supervised
from assay.testbed.plant import PARTS, Planted
from assay.testbed.supervised import supervised_values
from assay.types import Sample, Score


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
    found = supervised_values(planted, ["it"], "the model", spare_unseen=spared, seed=7)["it"]
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
