"""What detectors are worth: thresholds and calibration know nothing of what is judged."""

import numpy as np
import pytest

from assay.errors import DataError
from assay.types import Sample
from assay_lab.testbed.configuration import Configuration, EvaluationSettings
from assay_lab.testbed.detectors import ComparedDetector
from assay_lab.testbed.evaluate import judged, passes_filter
from assay_lab.testbed.evaluation_result import Evaluation
from assay_lab.testbed.judge import cells
from assay_lab.testbed.plant import PARTS, Planted
from assay_lab.testbed.stored_scores import read_scores, write_scores

SIZES = {"member": 60, "nonmember": 60, "calibration-member": 40, "calibration-nonmember": 100, "unseen": 200}
DETECTORS = (ComparedDetector.of("mid_pit"), ComparedDetector.of("sr_gray"))


@pytest.fixture(scope="module")
def planted():
    samples = [
        Sample(f"{part}/{i}", f"def f{i}(): return {i}", "python", PARTS[part], f"{part}/{i // 2}", {"part": part})
        for part, size in SIZES.items()
        for i in range(size)
    ]
    return Planted(tuple(samples), {})


def part_of(planted):
    return np.array([sample.metadata["part"] for sample in planted.samples])


def values(planted, shift, seed=0):
    """Normal scores; those of texts that were trained on are higher by `shift`."""
    trained = np.array([sample.label == "member" for sample in planted.samples])
    return np.random.default_rng(seed).normal(size=len(trained)) + shift * trained


def cell_of(planted, column, detector=DETECTORS[0], kept=None):
    kept = np.ones(len(column), bool) if kept is None else kept
    arguments = {"epoch": 1, "view": "all", "kept": kept, "resamples": 50, "seed": 0}
    return next(iter(cells(planted, {detector.name: column}, [detector], **arguments)))


def test_what_is_judged_does_not_move_the_threshold(planted):
    column = values(planted, 1.5)
    before = cell_of(planted, column)
    judged_parts = np.isin(part_of(planted), ("member", "nonmember", "unseen"))
    after = cell_of(planted, np.where(judged_parts, column + 3, column))
    assert before.decided.threshold == after.decided.threshold
    assert before.decided.fitted_on == SIZES["calibration-member"] + SIZES["calibration-nonmember"]
    assert after.nulls[0].clean.rate.value > 0.9


def test_a_value_that_equals_that_of_the_rule_counts_only_if_ties_are_inclusive(planted):
    column = np.zeros(len(planted.samples))
    shares = []
    for ties in ("strict", "inclusive"):
        arguments = {"epoch": 1, "view": "all", "kept": np.ones(len(column), bool), "resamples": 5, "seed": 0}
        (cell,) = cells(planted, {"sr_gray": column}, [DETECTORS[1]], ties=ties, **arguments)
        shares.append(cell.rule_on_unseen.value)
    assert shares == [0.0, 1.0]


def test_the_calibration_split_does_not_enter_the_ranking(planted):
    column = values(planted, 1.5)
    fits = np.char.startswith(part_of(planted), "calibration")
    assert cell_of(planted, column).auroc == cell_of(planted, np.where(fits, -column, column)).auroc


def test_a_rule_of_the_paper_is_taken_as_it_is(planted):
    found = cell_of(planted, values(planted, 2.0), DETECTORS[1])
    assert found.decided.threshold == np.nextafter(0.0, np.inf)
    assert found.decided.fitted_on == 0
    clean = values(planted, 2.0)[np.isin(part_of(planted), ("nonmember", "unseen"))]
    assert found.rule_on_unseen.value == pytest.approx((clean > 0).mean())


def test_conformal_decisions_hold_their_level_where_nothing_leaked(planted):
    rates = [cell_of(planted, values(planted, 0.0, seed)).nulls[1].clean.rate.value for seed in range(40)]
    assert np.mean(rates) == pytest.approx(0.1, abs=0.02)


def test_a_detector_that_sees_everything_and_one_that_sees_nothing(planted):
    assert cell_of(planted, values(planted, 50.0)).decided.f1.value == 1
    assert cell_of(planted, values(planted, 0.0)).auroc.value == pytest.approx(0.5, abs=0.12)


def test_what_has_no_value_is_counted(planted):
    column = values(planted, 1.0)
    column[:6] = np.nan
    found = cell_of(planted, column)
    assert (found.members, found.unscorable) == (54, 6)
    assert found.coverage == pytest.approx(114 / 120)


def test_the_filter_keeps_what_some_variant_beats():
    base = {"sr_gray:n=3": np.array([1.0]), "sr_gray": np.array([-0.5, 0.0, 0.5, np.nan])}
    assert passes_filter(base).tolist() == [True, False, False, False]
    assert passes_filter({"mid_pit": np.zeros(3)}) is None


def test_views_are_all_and_filtered(planted):
    base = {"mid_pit": values(planted, 0.0), "sr_gray": values(planted, 0.0, 3)}
    later = {"mid_pit": values(planted, 1.0, 1), "sr_gray": values(planted, 1.0, 4)}
    configuration = Configuration(judging=EvaluationSettings(resamples=30))
    found = judged(configuration, planted, DETECTORS, {0: base, 1: later})
    assert isinstance(found, Evaluation)
    assert {(cell.epoch, cell.view) for cell in found.cells} == {(e, v) for e in (0, 1) for v in ("all", "filtered")}
    assert found.passed_filter["member"] < found.parts["member"]
    assert found.cell("sr_gray", 1).members == 60
    assert found.cell("nobody", 1) is None
    assert {(contest.candidate, contest.rival) for contest in found.contests} == {("mid_pit", "sr_gray")}


def test_scores_are_read_as_they_were_written(tmp_path):
    column = np.array([0.1, np.nan, -1e300])
    write_scores(tmp_path / "s.parquet", ["a", "b", "c"], {"mid_pit": column})
    found = read_scores(tmp_path / "s.parquet", ["a", "b", "c"])
    assert np.array_equal(found["mid_pit"], column, equal_nan=True)


def test_scores_of_other_texts_are_refused(tmp_path):
    write_scores(tmp_path / "s.parquet", ["a"], {"mid_pit": np.zeros(1)})
    with pytest.raises(DataError, match="other texts"):
        read_scores(tmp_path / "s.parquet", ["b"])


def test_a_detector_that_learned_says_from_how_many_labels_and_decides_at_0(planted):
    column = np.where(np.char.startswith(part_of(planted), "calibration"), np.nan, values(planted, 1.5))
    found = cell_of(planted, column, ComparedDetector.of("dpdllm"))
    assert (found.decided.threshold, found.decided.fitted_on) == (0, 140)
    assert found.nulls == ()
