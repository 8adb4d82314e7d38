"""Scores over variants with names from each source: gray-box and black-box, in several languages."""

import numpy as np
import pytest

from assay.code import WORD_LISTS, SampledNames
from assay.leakage import Naturalness
from assay.models import open_model
from assay.scores import requests
from assay.scoring import Deterministic, plan, score_samples
from assay.types import Sample
from support.table_model import TableModel

TEXTS = {
    "python": """\
def total_price(prices):
    total = 0
    for price in prices:
        total += price
    return total
""",
    "java": """\
static int totalPrice(int[] prices) {
  int total = 0;
  for (int price : prices) {
    total += price;
  }
  return total;
}
""",
    "javascript": """\
function totalPrice(prices) {
  let total = 0;
  for (const price of prices) {
    total += price;
  }
  return total;
}
""",
}
SAMPLES = [Sample(language, text, language) for language, text in TEXTS.items()]


@pytest.fixture(scope="module")
def small():
    return open_model("builtin:small", device="cpu")


def rewriter(model, source, rename="one"):
    return Deterministic(names=SampledNames(model, 2) if source == "self" else WORD_LISTS[source], rename=rename)


@pytest.mark.parametrize("source", ["self", "synonyms"])
def test_a_real_model_scores_one_name_at_a_time_in_every_language(small, source):
    work = plan(requests("sr_names:n=4,sr_rank:n=4"), {"target": small}, rewriter=rewriter(small, source))
    values = score_samples(SAMPLES, work).values
    assert np.isfinite(values["sr_names:n=4"]).all()
    result = Naturalness.of(-values["sr_rank:n=4"], 4)
    assert (result.texts, result.variants) == (3, 4)
    assert 0 <= result.easier.value <= 1


@pytest.mark.slow
def test_black_box_scores_take_names_from_the_model_itself(small):
    scores = requests("sr_black:n=2:ngram=2,sr_black_rank:n=2:ngram=2")
    table = score_samples(SAMPLES[1:], plan(scores, {}, generator=small, rewriter=rewriter(small, "self", "all")))
    for column in table.values.values():
        assert np.isfinite(column).all()


@pytest.mark.parametrize("sample", SAMPLES, ids=TEXTS)
def test_a_repeated_text_is_repeated_behind_one_new_name_but_not_where_all_are_new(sample):
    model = TableModel.trained([sample.text], order=4)
    scores = requests("sr_black:n=2:ngram=4")
    gain = {
        rename: score_samples(
            [sample], plan(scores, {}, generator=model, rewriter=rewriter(model, "synonyms", rename))
        ).values["sr_black:n=2:ngram=4"][0]
        for rename in ("all", "one")
    }
    assert gain["one"] == 0
    assert gain["all"] > 0
