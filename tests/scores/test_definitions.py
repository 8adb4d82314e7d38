"""Facts that hold for every score in the table."""

import math

import numpy as np
import pytest

from assay.errors import ScoreError, Unscorable
from assay.scores import GENERATED, SCORES, Derived, FrequencyTable, SampleInputs, View, one_pass, request, requests
from assay.scores.continuation import Continuation
from assay.scores.definition import score
from assay.scoring.run import computed
from assay.types import Rejected
from support.exact import certain_statistics, exact_statistics, uniform_statistics

SELF_REFERENTIAL = {name for name in SCORES if name.startswith("sr_")}
ALL_CUTS = {found.cut() for found in SCORES.values() if found.cut()}
ALL_VIEWS = (View(), View(form="lowercase"), View(role="reference"))
ALL_KINDS = {each.name for entry in SCORES.values() for each in entry.derivations.values()}
DETECTORS = {name for name, entry in SCORES.items() if entry.positive == GENERATED}


def inputs(statistics, text="x = 1", vocabulary_size=64):
    table = FrequencyTable(np.arange(vocabulary_size), "0" * 64, "a test")
    variants = tuple(known(max(1, len(statistics)), seed=100 + i) for i in range(10))
    cuts = {cut: (written(statistics), *map(written, variants)) for cut in ALL_CUTS}
    derived = {kind: derivations(kind, variants, statistics) for kind in ALL_KINDS}
    return SampleInputs(text, dict.fromkeys(ALL_VIEWS, statistics), table, variants, None, cuts, derived)


def derivations(kind, copies, statistics):
    """Numbers where a score takes numbers, else statistics; none of an empty text."""
    if not len(statistics):
        return Rejected("fewer than 2 tokens")
    return Derived(tuple(np.linspace(0, 1, len(copies))) if kind == "revised" else copies)


def written(statistics):
    """What a model writes that knows these tokens: each that is its likeliest, and something else for the others."""
    truth = tuple(statistics.token_ids.tolist())
    wrote = tuple(token if rank == 1 else -1 for token, rank in zip(truth, statistics.ranks, strict=True))
    return (Continuation(truth, wrote),)


def known(n, seed=0, sharpness=0.0):
    """N tokens of a random model; the sharper, the better it knows them."""
    random = np.random.default_rng(seed)
    logits, ids = random.normal(size=(n, 64)), np.random.default_rng(7).integers(0, 64, n)
    logits[np.arange(n), ids] += sharpness
    return exact_statistics(logits, ids)


@pytest.mark.parametrize("name", SCORES)
class TestEveryScore:
    def test_a_text_without_scored_tokens_is_unscorable(self, name):
        with pytest.raises(Unscorable, match=r"fewer than \d (scored )?tokens"):
            SCORES[name](inputs(uniform_statistics(0, 64)))

    def test_an_ordinary_text_has_a_finite_value(self, name):
        assert math.isfinite(SCORES[name](inputs(known(40))))

    @pytest.mark.parametrize("statistics", [known(1), certain_statistics(1), certain_statistics(30), known(2)])
    def test_an_odd_text_has_a_finite_value_or_a_reason(self, name, statistics):
        found = computed("s", request(name), inputs(statistics))
        assert math.isnan(found.value) == bool(found.reason)

    def test_the_table_says_what_a_reader_wants_to_know(self, name):
        found = SCORES[name]
        assert found.title
        assert found.formula
        assert found.reference
        assert found.summary.endswith(".")
        assert found.needs()


@pytest.mark.parametrize(
    "name",
    sorted(
        set(SCORES)
        - {
            "entropy",
            "fast_detect_gpt",
            "lowercase",
            "reference",
            "wbc",
            "ez_mia",
            "lrr",
            "sr_shared",
            "ngram_generation",
        }
        - DETECTORS
    ),
)
def test_a_text_that_the_model_knows_scores_higher(name):
    """Directions are declared: higher = member. The excluded ones are no functions of l alone."""
    assert SCORES[name](inputs(known(200, sharpness=6.0))) > SCORES[name](inputs(known(200)))


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("lrr", "every rank is 1"),
        ("fast_detect_gpt", "saturated"),
        ("min_k_plus_plus", "saturated"),
        ("gap_k", "saturated"),
        ("lowercase", "NLL of the text is zero"),
    ],
)
def test_certainty_leaves_some_scores_without_a_value(name, reason):
    with pytest.raises(Unscorable, match=reason):
        SCORES[name](inputs(certain_statistics(30)))


def test_a_value_that_is_not_finite_is_unscorable():
    statistics = exact_statistics(np.array([[0.0, -2000.0], [0.0, 0.0]]), [1, 0])
    with pytest.raises(Unscorable, match="not finite"):
        SCORES["perplexity"](inputs(statistics, vocabulary_size=2))


def test_a_parameter_type_that_asks_for_nothing_known_is_refused():
    with pytest.raises(ScoreError, match="telepathy has type"):

        @score(title="", formula="", reference="")
        def wish(telepathy: int) -> float:
            """Wish."""
            return telepathy


class TestAskingForScores:
    def test_parameters_stand_behind_colons(self):
        (asked,) = requests("ngram_accuracy:n=7:starts=paper")
        assert asked.name == "ngram_accuracy:n=7:starts=paper"
        assert asked.parameters == {"n": 7, "starts": "paper"}

    def test_the_alias_of_the_paper_is_the_same_function(self):
        assert request("log_likelihood").definition is SCORES["loss"]
        assert request("log_likelihood").name == "log_likelihood"

    def test_a_score_asked_for_twice_counts_once(self):
        assert [request.name for request in requests(["loss", "zlib", "loss"])] == ["loss", "zlib"]

    def test_all_stands_for_every_score_of_membership(self):
        assert [request.name for request in requests("all")] == [name for name in SCORES if name not in DETECTORS]

    def test_one_pass_leaves_out_what_costs_a_second_one(self):
        several = {"lowercase", "reference", "wbc", "ez_mia"} | SELF_REFERENTIAL | {"ngram_generation"} | DETECTORS
        assert set(SCORES) - set(one_pass()) == several

    @pytest.mark.parametrize(
        ("spec", "message"),
        [
            ("mink_k", "did you mean min_k"),
            ("qqqq", "expected one of loss"),
            ("loss:k=3", "takes no parameters"),
            ("min_k:q=3", "takes k=0.2"),
            ("min_k:k", "takes k=0.2"),
            ("min_k:k=lots", "expected a value like 0.2"),
            (",", "no score was asked for"),
        ],
    )
    def test_a_wrong_wish_gets_one_clear_line(self, spec, message):
        with pytest.raises(ScoreError, match=message) as caught:
            requests(spec)
        assert "\n" not in str(caught.value)

    @pytest.mark.parametrize(
        ("spec", "message"),
        [
            ("min_k:k=0", "k is 0.0, expected above 0 and at most 1"),
            ("min_k:k=1.5", "k is 1.5, expected above 0 and at most 1"),
            ("min_k_plus_plus:k=nan", "k is nan, expected above 0"),
            ("gap_k:window=0", "window is 0, expected at least 1"),
            ("ngram_accuracy:starts=some", "starts is 'some', expected all or paper"),
            ("sr_mid_pit:nats=0", "nats is 0.0, expected above 0"),
        ],
    )
    def test_a_value_out_of_range_is_refused_before_anything_is_run(self, spec, message):
        with pytest.raises(ScoreError, match=message):
            request(spec)

    def test_a_value_out_of_range_is_refused_in_python_too(self):
        with pytest.raises(ScoreError, match="min_k: k is 5, expected above 0 and at most 1"):
            SCORES["min_k"](inputs(known(30)), k=5)

    @pytest.mark.parametrize("spec", [f"{name}:{key}=-1" for name, score in SCORES.items() for key in score.defaults])
    def test_no_parameter_of_a_score_takes_every_value(self, spec):
        with pytest.raises(ScoreError, match="expected"):
            request(spec)
