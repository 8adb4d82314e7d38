"""SrDetection's black-box scores and the n-gram accuracy by generation, by hand."""

import pytest

from assay.errors import ScoreError, Unscorable
from assay.scores import SampleInputs, request
from assay.scores.continuation import Continuation
from assay.scores.generation_scores import n_gram_overlap

TRUTH = tuple("abcdefghij")  # four 7-grams


def wrote(text, truth=TRUTH):
    return (Continuation(tuple(truth), tuple(text)),)


def value(spec, own, *variants, reason=None):
    asked = request(spec)
    return asked(SampleInputs("", {}, None, (), reason, {asked.cut: (own, *variants)}))


def test_overlap_is_the_share_of_the_true_n_grams_that_were_written():
    assert n_gram_overlap(*wrote("abcdefghij"), n=7) == 1
    assert n_gram_overlap(*wrote("abcdefgh"), n=7) == 2 / 4
    assert n_gram_overlap(*wrote("xxbcdefghxx"), n=7) == 1 / 4
    assert n_gram_overlap(*wrote(""), n=7) == 0


def test_an_n_gram_counts_once_however_often_it_stands_there():
    assert n_gram_overlap(*wrote("aa", "aaaaaaaaab"), n=2) == 1 / 2


def test_sr_black_is_the_distance_to_the_best_variant():
    assert value("sr_black:n=2", wrote("abcdefghij"), wrote("abcdefgh"), wrote("")) == pytest.approx(1 / 2)


def test_nothing_written_of_anything_is_a_tie_and_no_leak_under_the_strict_rule():
    assert value("sr_black:n=2", wrote("x"), wrote("x"), wrote("x")) == request("sr_black").definition.rule


def test_the_rank_p_value_counts_variants_that_do_as_well():
    written = wrote("abcdefgh")
    assert value("sr_black_rank:n=3", written, written, wrote(TRUTH), wrote("")) == -3 / 4
    assert value("sr_black_rank:n=3", wrote(TRUTH), written, written, written) == -1 / 4


@pytest.mark.parametrize("name", ["sr_black", "sr_black_rank"])
class TestBoth:
    def test_a_suffix_of_fewer_than_n_tokens_is_a_reason(self, name):
        with pytest.raises(Unscorable, match="a suffix of fewer than 7 tokens"):
            value(f"{name}:n=1", wrote("abc", "abcdef"), wrote(TRUTH))

    def test_too_few_variants_are_a_reason_and_the_engines_comes_first(self, name):
        with pytest.raises(Unscorable, match="fewer than 10 distinct variants"):
            value(name, wrote(TRUTH), wrote(TRUTH))
        with pytest.raises(Unscorable, match="no rewriting of java"):
            value(name, wrote(TRUTH), reason="no rewriting of java")

    @pytest.mark.parametrize("setting", ["n=0", "ngram=0", "prefix=1", "prefix=0", "at=word", "units=bytes"])
    def test_a_parameter_out_of_range_is_an_error_not_a_value(self, name, setting):
        with pytest.raises(ScoreError, match="expected"):
            value(f"{name}:{setting}", wrote(TRUTH), *[wrote(TRUTH)] * 10)


def test_ngram_generation_is_the_share_of_starts_written_exactly():
    def run(text):
        return Continuation(tuple("abcde"), tuple(text))

    assert value("ngram_generation", (run("abcde"), run("abcdx"), run("abc"), run("abcdef"))) == 2 / 4


def test_a_text_too_short_for_one_run_is_a_reason():
    with pytest.raises(Unscorable, match="fewer than 5 scored tokens"):
        value("ngram_generation", ())
