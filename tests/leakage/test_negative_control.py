"""The negative control: what a model that never saw the benchmark flags, and what its scores are good for."""

import random
from dataclasses import replace

import numpy as np
import pytest

from assay import leakage
from assay.errors import AssayError, DataError
from assay.leakage import ComparisonData, Control, DecisionSettings
from assay.leakage.negative_control import control_scores
from assay.scores import flagged, requests
from assay.scoring import plan
from assay.types import Sample
from support.table_model import TableModel

WORDS = [f"w{i}" for i in range(300)]
FEW_RESAMPLES = DecisionSettings(resamples=100)


def text(seed: int, words: int = 30) -> str:
    return " ".join(random.Random(f"text {seed}").choices(WORDS, k=words))


def samples(first: int, count: int) -> list[Sample]:
    return [Sample(f"s{i}", text(i), group=f"g{i // 2}") for i in range(first, first + count)]


SEEN, FRESH = samples(0, 60), samples(200, 120)


@pytest.fixture(scope="module")
def target():
    model = TableModel.trained([*(sample.text for sample in SEEN), *WORDS], order=3)
    return plan(requests("loss,mid_pit"), {"target": model})


@pytest.fixture(scope="module")
def control():
    model = TableModel.trained([*(text(i) for i in range(1000, 1060)), *WORDS], order=3)
    return plan(requests(",".join(flagged("weights"))), {"target": model})


def audit(target, control, **settings):
    return leakage.audit(
        SEEN,
        target,
        benchmark="words",
        comparison=ComparisonData(unseen=FRESH, control=control),
        decision=replace(FEW_RESAMPLES, **settings),
    )


def test_the_control_flags_few_where_the_audited_model_flags_what_it_saw(target, control):
    calibration = audit(target, Control(control)).summary("loss").calibration
    assert calibration.flagged.rate.low > 0.5
    assert calibration.control.flagged.rate.low <= calibration.control.flagged.chance
    assert calibration.control.flagged.samples == len(SEEN)


def test_without_a_control_there_is_no_share_of_it(target):
    assert audit(target, None).summary("loss").calibration.control is None


def test_texts_that_the_control_was_trained_on_are_left_out_and_counted(target, control):
    refused = {sample.text for sample in [*SEEN[:10], *FRESH[:3]]}
    result = audit(target, Control(control, lambda texts: np.array([text in refused for text in texts])))
    assert result.summary("loss").calibration.control.flagged.samples == len(SEEN) - 10
    assert any("trained on 13 of the 180 texts (10 of the benchmark, 3 unseen)" in note for note in result.notes)


def test_a_control_that_saw_the_whole_benchmark_gives_no_share(target, control):
    result = audit(target, Control(control, lambda texts: np.ones(len(texts), np.bool_)))
    assert result.summary("loss").calibration.control is None


@pytest.mark.slow
def test_weights_of_texts_of_one_kind_change_little(target, control):
    plain = audit(target, Control(control)).summary("loss").calibration
    weighted = audit(target, Control(control), weights="control").summary("loss").calibration
    assert weighted.flagged.rate.value == pytest.approx(plain.flagged.rate.value, abs=0.1)
    assert np.isnan(weighted.threshold)


def test_weights_need_a_control(target):
    with pytest.raises(DataError, match="expected --control MODEL"):
        audit(target, None, weights="control")


def test_weights_by_length_need_no_control_and_say_what_they_did(target):
    result = audit(target, None, weights="length")
    assert any(
        note.startswith("P-values are weighted by length: the 120 unseen texts count as") for note in result.notes
    )


def test_unseen_text_of_another_length_is_refused_by_its_weight(target):
    """Nothing is decided where only a few unseen texts are as long as those of the benchmark."""
    short = [Sample(f"u{i}", text(300 + i, 5 if i % 30 else 30)) for i in range(120)]
    with pytest.raises(AssayError, match=r"the 120 unseen texts count as .* expected at least 20"):
        leakage.audit(
            SEEN,
            target,
            benchmark="words",
            comparison=ComparisonData(unseen=short),
            decision=replace(FEW_RESAMPLES, weights="length"),
        )


def test_samples_without_unseen_text_of_their_length_are_refused(target):
    """The unseen texts are many, but all shorter than nearly all samples."""
    shorter = [Sample(f"u{i}", text(300 + i, 5 + i % 24)) for i in range(120)]
    with pytest.raises(AssayError, match="only 0 % of the samples could be flagged at all"):
        leakage.audit(
            SEEN,
            target,
            benchmark="words",
            comparison=ComparisonData(unseen=shorter),
            decision=replace(FEW_RESAMPLES, weights="length"),
        )


def test_a_score_that_the_control_lacks_has_no_share(control):
    measured = control_scores(Control(control), SEEN, FRESH)
    assert measured.flags("reference", 0.05, (range(len(SEEN)), range(len(FRESH)))) is None
