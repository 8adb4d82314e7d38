"""Continuations are asked for once, kept as they come, and never mistaken."""

import sqlite3

import pytest

from assay.models.cache import StatisticsCache
from assay.models.cached_models import cached_generator
from assay.models.generators import prompt_seeds
from assay.types import Generator, TokenGenerator
from support.table_model import TableModel


class Counting:
    """Writes the prompt backwards; breaks after `strength` prompts."""

    name = "counting"

    def __init__(self, strength=10**9):
        self.asked, self.strength = [], strength

    def generate(self, prompts, *, max_new_tokens, temperature=0.0, seed=0, **_):
        for prompt, own in zip(prompts, prompt_seeds(seed, prompts), strict=True):
            if len(self.asked) == self.strength:
                raise KeyboardInterrupt
            self.asked.append(prompt)
            yield prompt[::-1][:max_new_tokens] + (f" {own}" if temperature else "")


@pytest.fixture
def cache(tmp_path):
    with StatisticsCache(tmp_path / "c.sqlite") as opened:
        yield opened


def behind(model, cache, **settings):
    return cached_generator(model, cache, digest="a" * 64, **settings)


def test_what_was_written_is_not_asked_again(cache):
    model = Counting()
    first = list(behind(model, cache).generate(["ab", "cd", "ab"], max_new_tokens=5))
    assert first == ["ba", "dc", "ba"] == list(behind(model, cache).generate(["ab", "cd", "ab"], max_new_tokens=5))
    assert model.asked == ["ab", "cd"]


def test_another_length_is_another_question(cache):
    model = Counting()
    assert list(behind(model, cache).generate(["abc"], max_new_tokens=3)) == ["cba"]
    assert list(behind(model, cache).generate(["abc"], max_new_tokens=1)) == ["c"]


def sampled(model, cache, prompts, **settings):
    return list(behind(model, cache).generate(prompts, **{"max_new_tokens": 5, "temperature": 0.8, **settings}))


def test_samples_are_kept_as_they_were_drawn(cache):
    model = Counting()
    first = sampled(model, cache, ["ab", "cd", "ab"])
    assert len(set(first)) == 3
    assert sampled(model, cache, ["ab", "cd", "ab"]) == first == sampled(Counting(), cache, ["ab", "cd", "ab"])
    assert model.asked == ["ab", "cd", "ab"]


@pytest.mark.parametrize(
    "other", [{"temperature": 0.7}, {"seed": 1}, {"top_p": 0.9}, {"max_new_tokens": 4}, {"stop": ["x"]}]
)
def test_samples_drawn_in_another_way_are_other_samples(cache, other):
    model = Counting()
    sampled(model, cache, ["ab"])
    sampled(model, cache, ["ab"], **other)
    assert model.asked == ["ab", "ab"]


def test_one_more_sample_of_a_prompt_is_another_one(cache):
    one = sampled(Counting(), cache, ["ab"])
    two = sampled(Counting(), cache, ["ab", "ab"])
    assert two[0] == one[0] != two[1]


def test_a_killed_run_goes_on_where_it_was(cache):
    prompts = [f"{i:04d}" for i in range(100)]
    with pytest.raises(KeyboardInterrupt):
        list(behind(Counting(strength=70), cache).generate(prompts, max_new_tokens=4))
    model = Counting()
    assert list(behind(model, cache).generate(prompts, max_new_tokens=4)) == [prompt[::-1] for prompt in prompts]
    assert model.asked == prompts[70:]


def test_a_damaged_entry_is_asked_again(cache, tmp_path, caplog):
    list(behind(Counting(), cache).generate(["ab"], max_new_tokens=5))
    with sqlite3.connect(tmp_path / "c.sqlite") as raw:
        raw.execute("UPDATE statistics SET value = x'00000000'")
    raw.close()
    assert list(behind(Counting(), cache).generate(["ab"], max_new_tokens=5)) == ["ba"]
    assert "computed again" in caplog.text


def test_a_cache_that_fails_costs_no_answer(cache):
    told = []
    model = behind(Counting(), cache, on_problem=told.append)
    cache.close()
    assert list(model.generate(["ab"], max_new_tokens=5)) == ["ba"]
    assert len(told) == 1


def test_a_model_behind_the_cache_shows_its_tokenizer_exactly_where_it_has_one(cache):
    table = TableModel.trained(["a b c d"], order=2)
    kept = behind(table, cache)
    assert isinstance(kept, TokenGenerator)
    assert kept.tokens(["a b"])[0].ids == table.tokens(["a b"])[0].ids
    prompts = [table.tokens(["a "])[0].ids] * 2
    assert list(kept.continue_tokens(prompts, max_new_tokens=3)) == list(
        table.continue_tokens(prompts, max_new_tokens=3)
    )
    assert list(kept.continue_tokens(prompts, max_new_tokens=3)) == list(
        table.continue_tokens(prompts, max_new_tokens=3)
    )
    plain = behind(Counting(), cache)
    assert isinstance(plain, Generator)
    assert not isinstance(plain, TokenGenerator)
