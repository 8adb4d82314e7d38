import pytest
import torch

from assay.errors import ModelError
from assay.models import ModelSettings, generation
from assay.models.loading import Checkpoint
from assay.models.transformers_backend import TransformersModel
from assay.scoring import generator_digest
from support.tiny_models import CONTEXT, FAMILIES, byte_tokenizer, tiny

PROMPTS = [
    "def f(x):",
    "x",
    "for i in range(10):\n    total",
    "import",
    "naïve 例",
    "x",
    "class A:\n    def __init__(self, name):\n        self.name",
]


def opened(family="llama", template=None, model=None, **settings):
    model = tiny(family) if model is None else model
    return TransformersModel(Checkpoint("tiny", model, byte_tokenizer(template), ()), ModelSettings(**settings))


def text_of(ids):
    return byte_tokenizer().decode(ids, skip_special_tokens=True)


def likeliest(model, prompt, count):
    """Greedy decoding from its definition: the whole text through the model for each next token, no cache."""
    ids = byte_tokenizer()(prompt)["input_ids"]
    new = []
    with torch.inference_mode():
        for _ in range(count):
            token = int(model(torch.tensor([ids + new]), use_cache=False).logits[0, -1].argmax())
            if token == model.generation_config.eos_token_id:
                break
            new.append(token)
    return text_of(ids + new)[len(prompt) :]


@pytest.mark.parametrize("family", FAMILIES)
def test_a_batch_continues_as_the_definition_says(family):
    """Left padding and the key-value cache change nothing, and a prompt's neighbours do not either."""
    model = tiny(family)
    expected = [likeliest(model, prompt, 6) for prompt in PROMPTS]
    for batch_tokens in (1, 10**6):
        found = opened(model=model, batch_tokens=batch_tokens).generate(PROMPTS, max_new_tokens=6)
        assert list(found) == expected


def test_a_batch_of_generation_holds_more_rows_than_one_of_scoring_unless_a_size_is_set():
    model = opened()
    assert model.generation_budget.tokens > model.budget.tokens
    sized = opened(batch_tokens=77)
    assert (sized.budget.tokens, sized.generation_budget.tokens) == (77, 77)


def test_greedy_is_what_transformers_own_generate_gives():
    model = tiny("llama")
    ids = torch.tensor([byte_tokenizer()(PROMPTS[0])["input_ids"]])
    own = model.generate(ids, attention_mask=torch.ones_like(ids), do_sample=False, max_new_tokens=12, pad_token_id=2)
    expected = text_of(own[0].tolist())[len(PROMPTS[0]) :]
    assert next(opened(model=model).generate(PROMPTS[:1], max_new_tokens=12)) == expected


def test_a_checkpoints_preferences_do_not_bend_greedy_decoding():
    """Instruction-tuned checkpoints come with a repetition penalty and a temperature of their own."""
    model = tiny("llama")
    expected = list(opened(model=model).generate(PROMPTS, max_new_tokens=20))
    own = model.generation_config
    own.update(repetition_penalty=3.0, no_repeat_ngram_size=2, do_sample=True, temperature=0.7, top_k=5)
    assert list(opened(model=model).generate(PROMPTS, max_new_tokens=20)) == expected
    assert model.generation_config is own
    assert own.repetition_penalty == 3.0


def test_an_end_of_sequence_ends_the_continuation():
    model = tiny("llama")
    free = next(opened(model=model).generate(["def f(x):"], max_new_tokens=12))
    end = byte_tokenizer()(free)["input_ids"][3]
    model.generation_config.eos_token_id = [end, 1]
    found = next(opened(model=model).generate(["def f(x):"], max_new_tokens=12))
    assert free.startswith(found)
    assert byte_tokenizer()(found)["input_ids"] == byte_tokenizer()(free)["input_ids"][: len(found.encode())]
    assert len(found) < len(free)
    assert end not in byte_tokenizer()(found)["input_ids"]


def test_a_continuation_ends_before_the_first_of_the_stop_strings():
    free = list(opened().generate(PROMPTS, max_new_tokens=20, temperature=1.0))
    stops = [free[0][4:6], free[2][7:10]]
    found = list(opened().generate(PROMPTS, max_new_tokens=20, temperature=1.0, stop=stops))
    for text, whole in zip(found, free, strict=True):
        cuts = [place for place in map(whole.find, stops) if place >= 0]
        assert text == whole[: min(cuts, default=len(whole))]
    assert found != free


def test_a_batch_stops_when_all_its_rows_have(monkeypatch):
    """The stop string ends the work, not only the text."""
    steps = []
    noise = generation.GumbelNoise.__call__

    def counted(self, input_ids, scores):
        steps.append(1)
        return noise(self, input_ids, scores)

    monkeypatch.setattr(generation.GumbelNoise, "__call__", counted)
    free = next(opened().generate(["x"], max_new_tokens=30, temperature=1.0))
    steps.clear()
    list(opened().generate(["x"], max_new_tokens=30, temperature=1.0, stop=[free[2:5]]))
    assert len(steps) < 30


def test_sampling_repeats_with_its_seed_whatever_the_batch():
    settings = {"max_new_tokens": 10, "temperature": 0.8, "top_p": 0.9}
    first = list(opened(batch_tokens=10**6).generate(PROMPTS, seed=3, **settings))
    assert first == list(opened(batch_tokens=1).generate(PROMPTS, seed=3, **settings))
    assert first == list(opened(batch_tokens=1).generate(PROMPTS[:4], seed=3, **settings)) + first[4:]
    assert first != list(opened().generate(PROMPTS, seed=4, **settings))
    assert first[1] != first[5], "one prompt asked twice is two samples"


def test_samples_follow_the_models_distribution():
    """4000 draws of one distribution: each count within five standard deviations of what it should be."""
    p = torch.tensor([0.5, 0.3, 0.15, 0.04, 0.01])
    noise = generation.GumbelNoise(range(4000))
    drawn = noise(torch.zeros(4000, 1, dtype=torch.int64), p.log().expand(4000, -1)).argmax(-1)
    counts = torch.bincount(drawn, minlength=5)
    assert ((counts - 4000 * p).abs() <= 5 * (4000 * p * (1 - p)).sqrt()).all()


def test_a_small_top_p_is_greedy():
    greedy = list(opened().generate(PROMPTS, max_new_tokens=8))
    assert list(opened().generate(PROMPTS, max_new_tokens=8, temperature=1.0, top_p=1e-6)) == greedy


def test_a_prompt_too_long_keeps_its_end():
    long = "".join(chr(97 + index % 26) for index in range(3 * CONTEXT))
    kept = long[-(CONTEXT - 10) :]
    assert list(opened().generate([long, "x"], max_new_tokens=10)) == list(
        opened().generate([kept, "x"], max_new_tokens=10)
    )


def test_a_prompt_too_long_keeps_its_bos():
    long = "abcdefghij" * 20
    kept = long[-(CONTEXT - 10 - 1) :]
    found = list(opened(template="<s> $A").generate([long], max_new_tokens=10))
    assert found == list(opened(template="<s> $A").generate([kept], max_new_tokens=10))


def test_an_empty_prompt_begins_with_a_bos():
    assert list(opened().generate([""], max_new_tokens=5)) == list(
        opened(template="<s> $A").generate([""], max_new_tokens=5)
    )


def test_no_prompts_give_no_texts():
    assert list(opened().generate([], max_new_tokens=5)) == []


def test_prompts_of_several_buffers_come_in_order(monkeypatch):
    expected = list(opened().generate(PROMPTS, max_new_tokens=4, temperature=1.0))
    monkeypatch.setattr(generation, "BUFFER_PROMPTS", 2)
    assert list(opened().generate(PROMPTS, max_new_tokens=4, temperature=1.0)) == expected


def test_out_of_memory_halves_the_batch_and_changes_no_continuation(monkeypatch):
    expected = list(opened().generate(PROMPTS, max_new_tokens=6))
    model = opened(batch_tokens=10**6)
    own, rows = model.checkpoint.model.generate, []

    def starved(ids, **settings):
        rows.append(len(ids))
        if len(ids) > 2:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return own(ids, **settings)

    monkeypatch.setattr(model.checkpoint.model, "generate", starved)
    assert list(model.generate(PROMPTS, max_new_tokens=6)) == expected
    assert rows[:2] == [7, 3]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"max_new_tokens": 0}, "max_new_tokens 0: expected at least 1"),
        ({"temperature": -1.0}, r"temperature -1.0: expected 0 \(greedy\) or more"),
        ({"temperature": float("nan")}, "temperature nan"),
        ({"top_p": 0.0}, r"top_p 0.0: expected a number in \(0, 1\]"),
        ({"top_p": 1.5}, "top_p 1.5"),
        ({"stop": [""]}, "an empty stop string would stop everywhere"),
        ({"max_new_tokens": CONTEXT}, f"with a context of {CONTEXT}: expected at most {CONTEXT - 1}, so that a prompt"),
    ],
)
def test_a_setting_out_of_its_range_is_refused(change, message):
    with pytest.raises(ModelError, match=message):
        list(opened().generate(["x"], **({"max_new_tokens": 4} | change)))


def test_other_end_tokens_are_another_digest():
    """They stand in generation_config.json: continuations that were kept before it changed do not count any more."""
    model = tiny("llama")
    before = opened(model=model)
    digest = before.generation_digest
    model.generation_config.eos_token_id = [3, 4]
    after = opened(model=model)
    assert after.digest == before.digest
    assert generator_digest(after) == after.generation_digest != digest
