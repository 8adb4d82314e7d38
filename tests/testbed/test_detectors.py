"""The table of detectors: every score is in it, and what is asked for by name is found."""

import pytest

from assay.errors import ScoreError
from assay.scores.registry import SCORES
from assay.testbed.detectors import DETECTORS, chosen, with_variants


def test_every_score_of_token_probabilities_is_a_detector():
    known = {one.request.definition.name for one in DETECTORS.values()}
    assert {name for name, found in SCORES.items() if found.views} <= known


def test_only_the_papers_own_detector_has_a_rule():
    assert {one.request.definition.name for one in DETECTORS.values() if one.rule is not None} == {
        "sr_gray",
        "sr_black",
    }


def test_without_names_all_that_read_probabilities_are_chosen_and_with_names_those():
    assert chosen([]) == tuple(one for one in DETECTORS.values() if one.access != "black")
    assert [one.name for one in chosen(["zlib", "mid_pit", "zlib"])] == ["zlib", "mid_pit"]


def test_any_score_can_be_a_detector():
    (found,) = chosen(["min_k:k=0.4"])
    assert (found.access, found.rule) == ("gray", None)
    assert chosen(["reference"])[0].access == "two models"


def test_black_names_all_that_need_only_what_the_model_writes():
    assert [one.name for one in chosen(["black", "sr_black"])] == ["sr_black", "sr_black_rank", "ngram_generation"]
    assert chosen(["ngram_generation:n=3"])[0].access == "black"


def test_a_detector_that_is_none_is_refused():
    with pytest.raises(ScoreError, match="no score is called"):
        chosen(["nonsense"])


def test_fewer_variants_cut_the_series_short():
    names = [one.name for one in with_variants(chosen(["sr_gray", "sr_gray:n=1", "sr_gray:n=5", "sr_z"]), 3)]
    assert names == ["sr_gray:n=3", "sr_gray:n=1", "sr_z:n=3"]
