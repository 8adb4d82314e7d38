"""Perturbed copies: white space alone is inserted, spans are filled, failures are counted, texts are independent."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.types import Rejected, Sample
from assay_lab.methods.perturbing import (
    MISSING,
    REFUSED,
    UNCHANGED,
    CausalFiller,
    CopyStatistics,
    SentinelFiller,
    SpanPerturbation,
    StylePerturbation,
    fills_in,
    perturbed_style,
    sentinel_prompts,
)
from support.table_model import TableModel

LINES = [f"x{i} = f(a, b) + {i}\n" for i in range(9)]
USUAL = "".join(LINES)
WORDS = " ".join(f"w{i}" for i in range(40))


class Scripted:
    """A generator with an answer for each prompt."""

    name = "scripted"

    def __init__(self, answer):
        self.answer = answer
        self.calls = []

    def generate(self, prompts, **settings):
        self.calls.append((list(prompts), settings))
        yield from map(self.answer, prompts)


def sentinels(word="new"):
    """Fill every sentinel of a prompt with one word."""

    def answer(prompt):
        count = prompt.count("<extra_id_")
        return "".join(f"<extra_id_{i}> {word} " for i in range(count)) + f"<extra_id_{count}>"

    return Scripted(answer)


@pytest.fixture
def model():
    return TableModel.trained([USUAL * 4], order=2, units="characters")


@given(st.text(alphabet="ab \n\t(", max_size=80), st.integers(0, 99))
def test_only_white_space_is_inserted(text, seed):
    copy = perturbed_style(text, StylePerturbation(), np.random.default_rng(seed))
    assert "".join(copy.split()) == "".join(text.split())
    assert len(copy) >= len(text)


def test_a_text_without_a_place_for_white_space_has_a_reason():
    (copies,) = StylePerturbation()(["abc"], 4)
    assert copies.texts == ()
    assert "no perturbed copy differs" in copies.reason
    assert copies.failures == {"copies that equal the text": 4}


@pytest.mark.parametrize("perturb", [StylePerturbation(), SpanPerturbation(SentinelFiller(sentinels()))])
def test_the_copies_of_a_text_do_not_depend_on_the_other_texts(perturb):
    alone = perturb([USUAL], 5)[0]
    assert perturb([WORDS, USUAL, "x"], 5)[1] == alone
    assert len(alone.texts) == 5
    assert USUAL not in alone.texts


def test_every_copy_of_every_text_is_scored_in_one_call_and_equal_ones_once(model):
    derive = CopyStatistics(StylePerturbation(), model)
    first, second = derive([Sample("a", USUAL), Sample("b", USUAL)], 5)
    assert [len(row) for row in first.values] == [len(row) for row in second.values]
    assert len(model.scored) == len(set(model.scored)) == len(first.values)


def test_a_text_without_copies_is_rejected_with_the_reason(model):
    (row,) = CopyStatistics(StylePerturbation(), model)([Sample("a", "abc")], 2)
    assert row == Rejected("no place for white space: no perturbed copy differs")


def test_all_spans_of_all_texts_are_filled_in_one_call():
    filler = sentinels()
    copies = SpanPerturbation(SentinelFiller(filler))([WORDS, USUAL], 3)
    assert [len(group.texts) for group in copies] == [3, 3]
    assert len(filler.calls) == 1
    assert filler.calls[0][1]["temperature"] == 1.0
    # .3 x 40 words / (2 + 2) = 3 spans of two words, each replaced by one word
    assert all(copy.split().count("new") == 3 and len(copy.split()) == 37 for copy in copies[0].texts)


def test_white_space_outside_the_spans_stays():
    text = "def f(a):\n\treturn  a + 1\n\n\nx = f(2)  # two\n"
    (group,) = SpanPerturbation(SentinelFiller(sentinels()))([text], 2)
    assert all(copy.endswith("\n") and "\n" in copy for copy in group.texts)


def test_spans_keep_their_distance():
    masked = SpanPerturbation(SentinelFiller(sentinels()), share=1.0)
    mask = masked.masked(WORDS, np.random.default_rng(0))
    gaps = [later[0] - earlier[1] for earlier, later in zip(mask.spans, mask.spans[1:], strict=False)]
    assert len(mask.spans) > 5
    assert min(gaps) >= len(" w1 ")  # at least one whole word


def test_a_long_text_is_filled_section_by_section():
    text = " ".join(f"w{i}" for i in range(450))
    mask = SpanPerturbation(SentinelFiller(sentinels())).masked(text, np.random.default_rng(0))
    prompts = sentinel_prompts(mask)
    assert len(prompts) == 3
    assert sum(len(spans) for spans, _ in prompts) == len(mask.spans)
    (group,) = SpanPerturbation(SentinelFiller(sentinels()))([text], 1)
    assert group.texts[0].split().count("new") == len(mask.spans)


@pytest.mark.parametrize(
    ("reply", "fills"),
    [
        ("<extra_id_0> a b <extra_id_1> c <extra_id_2> d", ("a b", "c")),
        ("<pad> <extra_id_1> c <extra_id_0> a <extra_id_2>", ("a", "c")),
        ("<extra_id_0> a <extra_id_1> c", None),  # nothing says where the last fill ends
        ("<extra_id_0> <extra_id_1> c <extra_id_2>", None),
        ("prose", None),
    ],
)
def test_fills_stand_between_sentinels(reply, fills):
    assert fills_in(reply, 2) == fills


def test_failed_fills_are_counted_and_drawn_again():
    replies = iter(["prose", "<extra_id_0> new <extra_id_1> new <extra_id_2> new <extra_id_3>"] * 3)
    filler = Scripted(lambda _: next(replies))
    (group,) = SpanPerturbation(SentinelFiller(filler))([WORDS], 1)
    assert len(group.texts) == 1
    assert group.failures == {MISSING: 1}
    assert len(filler.calls) == 2
    assert filler.calls[0][1]["seed"] != filler.calls[1][1]["seed"]


@pytest.mark.parametrize(
    ("answer", "failure"), [(lambda _: "prose", MISSING), (lambda _: Rejected("too long"), REFUSED)]
)
def test_a_filler_that_always_fails_gives_no_copy_but_a_reason(answer, failure):
    (group,) = SpanPerturbation(SentinelFiller(Scripted(answer)), rounds=2)([WORDS], 3)
    assert group.texts == ()
    assert group.failures == {failure: 6}
    assert group.reason == "every fill failed: no perturbed copy"


def test_a_copy_that_equals_the_text_is_a_failure():
    mask = SpanPerturbation(SentinelFiller(sentinels()))
    filler = CausalFiller(Scripted(lambda prompt: WORDS[len(prompt) :]), context=10**6)
    (group,) = SpanPerturbation(filler, rounds=1)([WORDS], 2)
    assert group.failures == {UNCHANGED: 2}
    assert mask(["a b"], 1)[0].reason == "at most 2 words: nothing to mask"


def test_a_causal_filler_sees_what_stands_before_a_span():
    filler = Scripted(lambda _: " two words more")
    (group,) = SpanPerturbation(CausalFiller(filler, context=8))([WORDS], 2)
    prompts, _ = filler.calls[0]
    assert len(prompts) == 6
    assert all(len(prompt) <= 8 and (prompt == "\n" or prompt in WORDS) for prompt in prompts)
    assert all(copy.split().count("words") == 3 for copy in group.texts)
    assert not any("more" in copy for copy in group.texts)


def test_a_causal_filler_that_stops_early_fails():
    (group,) = SpanPerturbation(CausalFiller(Scripted(lambda _: "one")), rounds=1)([WORDS], 2)
    assert group.failures == {MISSING: 2}


def test_digests_tell_fillers_and_settings_apart():
    digests = {
        SpanPerturbation(SentinelFiller(sentinels())).digest,
        SpanPerturbation(CausalFiller(sentinels())).digest,
        SpanPerturbation(CausalFiller(sentinels(), words=1)).digest,
        SpanPerturbation(SentinelFiller(sentinels()), seed=1).digest,
        StylePerturbation().digest,
    }
    assert len(digests) == 5
