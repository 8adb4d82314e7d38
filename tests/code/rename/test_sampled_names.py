"""Names that a model writes in place."""

from assay.code import SampledNames, analysis, variants
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
