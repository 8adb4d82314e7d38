"""Names that a model writes in place."""

import pytest

from assay.code import WORD_LISTS, SampledNames, analysis, variants
from assay.types import Rejected

TEXT = "def total(prices):\n    result = 0\n    for price in prices:\n        result += price\n    return result\n"
KINDS = ("function", "variable")


class Continues:
    """A model that continues each prompt by a rule, and keeps the prompts."""

    name = "continues"

    def __init__(self, rule):
        self.rule = rule
        self.prompts = []

    def generate(self, prompts, *, temperature, **_):
        assert temperature == 1
        for prompt in prompts:
            self.prompts.append(prompt)
            yield self.rule(prompt)


def pool_of(rule, samples=2, text=TEXT):
    model = Continues(rule)
    (pool,) = SampledNames(model, samples, fallback=None).pools([text], "python", KINDS)
    return pool, model


def test_a_model_continues_the_text_before_the_first_place_of_each_name():
    _, model = pool_of(lambda _: "x = 1")
    before = {TEXT[: name.places[0]].removesuffix(" ") for name in analysis(TEXT).names}
    assert set(model.prompts) == before
    assert "def" in before
    assert len(model.prompts) == 2 * len(before)


def test_whole_names_other_than_the_original_are_proposals():
    replies = {"def": " total(", "def total(": "costs)", f"{TEXT[:23]}    ": "result ="}
    pool, _ = pool_of(lambda prompt: replies.get(prompt, " item in"))
    assert pool.proposals["total"] == ()
    assert pool.proposals["prices"] == ("costs",)
    assert pool.proposals["price"] == ("item",)


def test_a_continuation_that_is_no_name_proposes_nothing():
    for reply in ("(", "unfinished", "", "\n", "3x ", Rejected("too long")):
        pool, _ = pool_of(lambda _, reply=reply: reply)
        assert not any(pool.proposals.values())


def test_names_of_a_model_make_verified_variants():
    model = Continues(lambda prompt: " item in" if prompt.endswith("for") else "amount = ")
    (pool,) = SampledNames(model).pools([TEXT], "python", KINDS)
    result = variants(TEXT, 4, pool=pool)
    assert len(result.variants) == 4
    assert result.rejected == 0


def test_no_name_to_replace_asks_nothing():
    _, model = pool_of(lambda _: "x", text="print(1)\n")
    assert model.prompts == []


BRACES = {
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


@pytest.mark.parametrize("language", BRACES)
@pytest.mark.parametrize("source", [SampledNames(Continues(lambda _: " amount = ")), WORD_LISTS["synonyms"]])
def test_other_languages_change_one_name_at_a_time_in_verified_variants(language, source):
    text = BRACES[language]
    (pool,) = source.pools([text], language, KINDS)
    result = variants(text, 8, language=language, pool=pool, rename="one")
    changed = [variant.functions | variant.variables for variant in result.variants]
    assert (len(changed), result.rejected) == (8, 0)
    assert all(len(names) == 1 for names in changed)
    assert {name for names in changed for name in names} == {"totalPrice", "prices", "total", "price"}


@pytest.mark.parametrize("language", BRACES)
def test_a_model_is_asked_for_the_names_of_other_languages_in_place(language):
    model = Continues(lambda prompt: " cost :" if prompt.endswith(("(int", "(const")) else "(")
    (pool,) = SampledNames(model, 2, fallback=None).pools([BRACES[language]], language, KINDS)
    assert pool.proposals["price"] == ("cost",)
    assert pool.proposals["prices"] == ()
