"""The engine runs what is needed, once, and loses nothing."""

import math
from collections import Counter
from typing import Annotated

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.errors import MissingCapability, ScoreError
from assay.scores import FrequencyTable, LogProbs, ScoreRequest, View, requests, score
from assay.scoring import pairs_to_run, plan, score_samples, score_stream
from assay.scoring.views import rewritten
from assay.types import Sample, TokenLogProbs
from support.table_model import TableModel


def samples(*texts):
    return [Sample(id=f"s{i}", text=text) for i, text in enumerate(texts)]


def uniform(vocabulary_size=256):
    return TableModel.uniform(vocabulary_size)


def test_fifteen_scores_cost_one_pass_a_text():
    model = uniform()
    found = score_samples(
        samples("alpha", "beta"), plan(requests("loss,zlib,min_k,lrr,entropy,rank"), {"target": model})
    )
    assert Counter(model.scored) == {"alpha": 1, "beta": 1}
    assert set(found.values) == {"loss", "zlib", "min_k", "lrr", "entropy", "rank"}


def test_a_text_that_stands_twice_is_run_once_and_scored_twice():
    model = uniform()
    found = score_samples(samples("same", "other", "same"), plan(requests("zlib"), {"target": model}))
    assert Counter(model.scored) == {"same": 1, "other": 1}
    assert found.values["zlib"][0] == found.values["zlib"][2] != found.values["zlib"][1]


def test_a_view_that_equals_another_samples_text_is_run_once():
    model = uniform()
    score_samples(samples("ABC", "abc", "xyz"), plan(requests("lowercase"), {"target": model}))
    assert Counter(model.scored) == {"ABC": 1, "abc": 1, "xyz": 1}


@given(st.lists(st.text("aAbB", max_size=3), max_size=30), st.integers(1, 5))
def test_every_pair_runs_exactly_once_whatever_the_block(texts, block):
    model, wanted = uniform(), samples(*texts)
    todo = plan(requests("lowercase"), {"target": model})
    found = list(score_stream(wanted, todo, block=block))
    assert set(Counter(model.scored).values()) <= {1}
    assert len(model.scored) == len(pairs_to_run(wanted, todo))
    assert [entry.index for entry in found] == list(range(len(texts)))


@given(st.lists(st.text("aAbB", max_size=3), max_size=12), st.integers(1, 5))
def test_the_block_never_changes_a_value(texts, block):
    todo = plan(requests("loss,zlib,lowercase"), {"target": uniform()})
    small = [entry.scores for entry in score_stream(samples(*texts), todo, block=block)]
    assert repr(small) == repr([entry.scores for entry in score_stream(samples(*texts), todo)])


def test_two_models_see_each_text_once():
    target, other = uniform(), uniform(512)
    found = score_samples(samples("alpha", "beta"), plan(requests("reference"), {"target": target, "reference": other}))
    assert Counter(target.scored) == Counter(other.scored) == {"alpha": 1, "beta": 1}
    assert found.values["reference"] == pytest.approx(math.log(512) - math.log(256))


def test_what_cannot_be_scored_keeps_its_row_and_its_reason():
    found = score_samples(samples("", "alpha"), plan(requests("loss,zlib"), {"target": uniform()}))
    assert math.isnan(found.values["loss"][0])
    assert found.reasons["loss"] == ("fewer than 2 tokens", None)


def test_progress_ends_where_it_said_it_would():
    seen = []
    todo = plan(requests("loss"), {"target": uniform()})
    score_samples(samples("a1", "b2", "a1", "c3"), todo, progress=lambda *at: seen.append(at))
    assert seen[-1] == (3, 3)


def test_the_observer_sees_every_sample_with_its_own_statistics():
    seen = {}
    todo = plan(requests("loss"), {"target": uniform()})
    score_samples(samples("alpha", "b2", "alpha"), todo, observe=[lambda i, found: seen.update({i: len(found)})])
    assert seen[0] == seen[2] > seen[1]


def test_a_score_without_its_second_model_says_how_to_give_one():
    with pytest.raises(MissingCapability, match="--reference MODEL"):
        plan(requests("reference"), {"target": uniform()})


def test_dc_pdd_without_a_table_says_how_to_make_one():
    with pytest.raises(ScoreError, match="assay frequencies"):
        plan(requests("dc_pdd"), {"target": uniform()})


def test_a_table_of_another_tokenizer_is_refused():
    model = uniform()
    table = FrequencyTable.count([], vocabulary_size=256, tokenizer_digest="other", source="elsewhere")
    with pytest.raises(ScoreError, match="belongs to tokenizer other"):
        plan(requests("dc_pdd"), {"target": model}, table)


PYTHON = """\
def total_of(numbers, start=0):
    total = start
    for one in numbers:
        total += one
    return total
"""


def test_every_rewriting_runs_once_and_no_text_that_has_none_is_lost():
    model = uniform()
    wanted = [
        Sample("a", PYTHON),
        Sample("b", "fn main() {}", language="rust"),
        Sample("c", "no program ("),
        Sample("d", PYTHON, language="python"),
    ]
    found = score_samples(wanted, plan(requests("sr_gray:n=3,sr_z:n=4,loss"), {"target": model}))
    made = rewritten(wanted[0], 4).texts
    assert len(made) == 4
    assert Counter(model.scored) == Counter({PYTHON, wanted[1].text, wanted[2].text, *made})
    assert found.reasons["sr_gray:n=3"] == (None, "no rewriting of rust", "no variants: does not parse as Python", None)
    assert not any(found.reasons["loss"])


def test_a_rewriting_is_scored_as_its_text_alone_would_be():
    model = TableModel.trained([PYTHON], order=2)
    found = score_samples([Sample("a", PYTHON)], plan(requests("sr_gray:n=3"), {"target": model})).values["sr_gray:n=3"]
    texts = [PYTHON, *rewritten(Sample("a", PYTHON), 3).texts]
    alone = score_samples(samples(*texts), plan(requests("perplexity"), {"target": model})).values["perplexity"]
    assert found[0] == pytest.approx((-alone[1:]).min() + alone[0])


@pytest.mark.slow
@given(st.integers(1, 40))
def test_the_block_changes_no_value_of_a_comparison_with_rewritings(block):
    texts = [PYTHON.replace("total_of", f"total_of_{i}") for i in range(4)]
    todo = plan(requests("sr_gray:n=2,loss"), {"target": TableModel.trained([PYTHON], order=2)})
    small, large = (
        [entry.scores for entry in score_stream(samples(*texts), todo, block=size)] for size in (block, 1024)
    )
    assert small == large


def test_progress_ends_where_the_work_ends():
    told = []
    todo = plan(requests("sr_gray:n=2"), {"target": uniform()})
    score_samples(samples(PYTHON, "no program (", "x"), todo, progress=lambda done, total: told.append((done, total)))
    assert told[-1][0] == told[-1][1]
    assert all(done <= total for done, total in told)


def test_a_score_of_the_tuned_model_reads_it_beside_the_target():
    @score(title="Gain", formula="mean l_tuned - mean l", reference="a test")
    def gain(target: LogProbs, tuned: Annotated[TokenLogProbs, View(role="tuned")]) -> float:
        """Gain of the mean log-probability."""
        return float(tuned.log_probs.mean() - target.log_probs.mean())

    request = ScoreRequest("gain", gain, {})
    models = {"target": uniform(), "tuned": TableModel.trained(["alpha beta alpha"])}
    table = score_samples(samples("alpha beta alpha"), plan([request], models))
    assert table.values["gain"][0] > 0
    with pytest.raises(MissingCapability, match="score gain needs the model after fine-tuning"):
        plan([request], {"target": uniform()})
