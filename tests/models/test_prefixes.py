"""What prompts share is read once, and nothing that is written changes."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from transformers import MambaConfig, MambaForCausalLM

from assay.models import ModelSettings
from assay.models.loading import Checkpoint
from assay.models.prefixes import Prefixes, continues_from_cache, families_of, readings_of
from assay.models.transformers_backend import TransformersModel
from support.tiny_models import CONTEXT, FAMILIES, VOCABULARY, byte_tokenizer, tiny

TEXT = "def area(width, height):\n    return"
PROMPTS = [
    *(TEXT[:end] for end in (5, 9, 20, len(TEXT))),
    "def area(w, h):\n    return",
    "def volume(width, height):",
    TEXT[:9],
    "x",
    "import os",
]
"""Beginnings of one text, forks at two places, one prompt twice, strangers."""
WINDOWED = {"mistral", "gemma2", "gemma3", "starcoder2"}


def opened(family, **settings):
    return TransformersModel(Checkpoint("tiny", tiny(family), byte_tokenizer(), ()), ModelSettings(**settings))


def reading_whole(family, **settings):
    model = opened(family, **settings)
    model.shares_prefixes = False
    return model


def mamba():
    torch.manual_seed(1)
    config = MambaConfig(
        vocab_size=VOCABULARY, hidden_size=16, num_hidden_layers=2, state_size=4, initializer_range=0.3
    )
    return MambaForCausalLM(config).eval()


def positions_given(model, answers):
    """How many positions the model is given, padding aside, in passes over more than one token a row."""
    assert model.shares_prefixes
    given = []

    def count(_, __, settings):
        ids, mask = settings["input_ids"], settings.get("attention_mask")
        if ids.shape[1] > 1:
            given.append(ids.numel() if mask is None else int(mask[:, -ids.shape[1] :].sum()))

    hook = model.checkpoint.model.base_model.register_forward_pre_hook(count, with_kwargs=True)
    list(answers)
    hook.remove()
    return sum(given)


@pytest.mark.parametrize("family", FAMILIES)
def test_it_is_shared_wherever_no_layer_keeps_a_window(family):
    assert continues_from_cache(tiny(family)) == (family not in WINDOWED)


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("batch_tokens", [1, 130, 10**6])
def test_what_is_written_is_what_prompts_read_whole_give(family, batch_tokens):
    """Greedily and by sampling, a prompt a batch, a family torn apart, and all at once."""
    for settings in ({"max_new_tokens": 6}, {"max_new_tokens": 6, "temperature": 1.0, "top_p": 0.9, "seed": 4}):
        shared = opened(family, batch_tokens=batch_tokens).generate(PROMPTS, **settings)
        assert list(shared) == list(reading_whole(family).generate(PROMPTS, **settings))


def test_tokens_are_continued_as_texts_are():
    ids = [byte_tokenizer()(prompt)["input_ids"] for prompt in PROMPTS]
    expected = list(reading_whole("llama").continue_tokens(ids, max_new_tokens=7))
    assert list(opened("llama", batch_tokens=130).continue_tokens(ids, max_new_tokens=7)) == expected


def test_beginnings_of_one_text_cost_its_longest_alone():
    ids = [byte_tokenizer()(TEXT[:end])["input_ids"] for end in (5, 9, 20, len(TEXT))]
    for batch_tokens in (1, 10**6):
        model = opened("llama", batch_tokens=batch_tokens)
        assert positions_given(model, model.continue_tokens(ids, max_new_tokens=3)) <= len(TEXT)


def test_samples_of_one_prompt_read_it_once():
    model = opened("qwen2")
    assert positions_given(model, model.generate([TEXT] * 8, max_new_tokens=3, temperature=1.0)) < len(TEXT)


def test_prompts_without_a_common_beginning_take_no_pass_of_their_own():
    assert Prefixes(tiny("llama")).cache([[5, 6, 7], [8, 9], [3]]).get_seq_length() == 0


def test_one_path_is_kept_and_no_more():
    """Memory does not grow with the prompts that were answered."""
    prefixes, prompts = Prefixes(tiny("llama")), [[3, 4], [3, 4, 5], [3, 4, 5, 6, 7]]
    prefixes.keep(prefixes.cache(prompts), prompts)
    assert {states.shape[1] for pair in prefixes._layers for states in pair} == {4}


def test_a_model_with_a_state_in_place_of_positions_reads_every_prompt_whole():
    model = mamba()
    assert not continues_from_cache(model)
    found = TransformersModel(Checkpoint("mamba", model, byte_tokenizer(), ()), ModelSettings(max_length=CONTEXT))
    alone = [next(found.generate([prompt], max_new_tokens=4)) for prompt in PROMPTS[:4]]
    assert list(found.generate(PROMPTS[:4], max_new_tokens=4)) == alone


def test_a_model_whose_cached_states_are_not_its_own_is_found_out():
    model = tiny("llama")
    model.model.layers[0].self_attn.k_proj.register_forward_hook(
        lambda _, inputs, output: output * (1 + (inputs[0].shape[1] == 1))
    )
    assert not continues_from_cache(model)


SEQUENCES = st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=7), min_size=1, max_size=14)


@given(prompts=SEQUENCES, size=st.integers(1, 5))
def test_no_position_is_read_twice_whatever_the_batches(prompts, size):
    """As many as there are distinct beginnings: the nodes of the prompts' tree."""
    ordered = [prompts[row] for family in families_of(prompts) for row in family]
    path, read = [], 0
    for start in range(0, len(ordered), size):
        batch = ordered[start : start + size]
        read += sum(len(batch[entry.row]) - entry.start for entry in readings_of(batch, path))
        path = batch[-1]
    assert read == len({tuple(prompt[:end]) for prompt in prompts for end in range(1, len(prompt) + 1)})


@given(prompts=SEQUENCES)
def test_what_a_prompt_goes_on_from_is_read_before_it(prompts):
    readings = readings_of(prompts, [])
    by_row = {reading.row: reading for reading in readings}
    assert sorted(by_row) == list(range(len(prompts)))
    for reading in readings:
        if reading.source is not None:
            source = by_row[reading.source]
            assert source.turn < reading.turn
            assert prompts[source.row][: reading.start] == prompts[reading.row][: reading.start]


def test_what_forks_at_one_place_is_read_in_one_pass():
    """However many there are: the first of them, then all others at once."""
    assert sorted(entry.turn for entry in readings_of([[7, 8, end, end] for end in range(6)], [])) == [0, 1, 1, 1, 1, 1]


@given(prompts=SEQUENCES)
def test_every_prompt_is_in_one_family(prompts):
    assert sorted(row for family in families_of(prompts) for row in family) == list(range(len(prompts)))
