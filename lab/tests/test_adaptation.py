"""Algorithm 1, by its properties."""

import re
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay_lab.clones import adapt

WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
PLAIN = "total = 0\nfor value in values:\n    total = total + value\n    print(total, value)\nreturn total\n"

words = st.sampled_from(["value", "total", "_rows", "a", "of", "the", "item2", "return", "Value", "größe"])
texts = st.lists(st.one_of(words, st.sampled_from([" ", "\n", "(", ")", ".", "2", "=", '"'])), max_size=80).map("".join)
seeds = st.integers(0, 10**6)


@given(texts, seeds)
def test_only_frequent_words_of_more_than_three_characters_are_replaced(text, seed):
    counts = Counter(WORD.findall(text))
    replaced = adapt(text, seed=seed, probability=1.0).replacements
    assert set(replaced) == {word for word, count in counts.items() if len(word) > 3 and count > 2}


@given(texts, seeds)
def test_a_new_word_is_of_letters_as_long_as_the_old_one_in_no_text_and_used_once(text, seed):
    replaced = adapt(text, seed=seed, probability=0.7).replacements
    assert all(re.fullmatch("[A-Za-z]+", new) and len(new) == len(old) for old, new in replaced.items())
    assert len(set(replaced.values())) == len(replaced)
    assert not set(replaced.values()) & set(WORD.findall(text))


@given(texts, seeds)
def test_the_words_taken_back_give_the_text_again(text, seed):
    adapted = adapt(text, seed=seed, probability=0.5)
    back = {new: old for old, new in adapted.replacements.items()}
    assert WORD.sub(lambda found: back.get(found[0], found[0]), adapted.text) == text


@given(texts, seeds)
def test_no_replaced_word_is_left(text, seed):
    adapted = adapt(text, seed=seed)
    assert not set(adapted.replacements) & set(WORD.findall(adapted.text))


@given(texts, seeds)
def test_the_seed_gives_the_same_text_again(text, seed):
    assert adapt(text, seed=seed) == adapt(text, seed=seed)


def test_a_spared_word_stays():
    adapted = adapt(PLAIN, seed=1, probability=1.0, spare={"total"})
    assert "total" not in adapted.replacements
    assert "value" in adapted.replacements


def test_about_a_fifth_of_the_words_are_replaced():
    """400 independent words at .2: between 40 and 120 but for one chance in millions."""
    text = " ".join(f"word{n} " * 3 for n in range(400))
    assert 40 < len(adapt(text, seed=3).replacements) < 120


@pytest.mark.parametrize("probability", [-0.1, 1.1])
def test_a_probability_outside_0_and_1_is_refused(probability):
    with pytest.raises(ValueError, match="expected 0 to 1"):
        adapt(PLAIN, seed=1, probability=probability)
