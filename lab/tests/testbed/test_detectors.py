"""The table of detectors: every score is in it, and what is asked for by name is found."""

import pytest

from assay.errors import DataError, ScoreError
from assay.scores import SCORES, detectors_of
from assay.types import MEMBER
from assay_lab.methods.fitted import FittedDetector
from assay_lab.testbed.detectors import (
    BASELINES,
    CONTENDERS,
    FILTER,
    IN_FIGURES,
    PRESETS,
    chosen,
    sample_detectors,
    with_variants,
)


def test_every_score_of_membership_is_a_detector():
    names = {
        detector.request.definition.name for detector in sample_detectors().values() if detector.access != "labelled"
    }
    assert names == {name for name, entry in SCORES.items() if entry.positive == MEMBER}


def test_every_detector_that_learns_from_labels_is_in_the_table():
    assert {detector.name for detector in sample_detectors().values() if detector.access == "labelled"} == set(
        detectors_of(FittedDetector)
    )


def test_only_the_papers_own_detectors_have_a_rule_and_those_that_learn_one():
    ruled = {detector.name.split(":")[0] for detector in sample_detectors().values() if detector.rule is not None}
    assert ruled == {"sr_gray", "sr_black", *detectors_of(FittedDetector)}


def test_without_names_all_that_read_probabilities_are_chosen_and_with_names_those():
    assert chosen([]) == tuple(
        detector for detector in sample_detectors().values() if detector.access in ("gray", "two models")
    )
    assert [detector.name for detector in chosen(["zlib", "mid_pit", "zlib"])] == ["zlib", "mid_pit"]


def test_presets_baselines_and_contenders_are_in_the_table():
    names = {f"{name}:{parameters}" for name, presets in PRESETS.items() for parameters in presets}
    assert {*names, *BASELINES, *CONTENDERS, *IN_FIGURES, FILTER} <= set(sample_detectors())


def test_any_score_can_be_a_detector():
    (found,) = chosen(["min_k:k=0.4"])
    assert (found.access, found.rule) == ("gray", None)
    assert chosen(["reference"])[0].access == "two models"


def test_black_names_all_that_need_only_what_the_model_writes():
    assert [detector.name for detector in with_variants(chosen(["black", "sr_black"]), 10)] == [
        "sr_black",
        "sr_black_rank",
        "ngram_generation",
        "dpdllm",
        "veil_probe",
    ]
    assert chosen(["ngram_generation:n=3"])[0].access == "black"


def test_a_detector_that_is_none_is_refused():
    with pytest.raises(ScoreError, match="no score is called"):
        chosen(["nonsense"])


def test_a_detector_of_whole_datasets_is_refused():
    with pytest.raises(DataError, match="judges whole datasets"):
        chosen(["permutation_test"])


def test_fewer_variants_cut_the_series_short():
    names = [detector.name for detector in with_variants(chosen(["sr_gray", "sr_gray:n=1", "sr_gray:n=5", "sr_z"]), 3)]
    assert names == ["sr_gray:n=3", "sr_gray:n=1", "sr_z:n=3"]
