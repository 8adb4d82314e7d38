"""vLLM as it is documented, played by a small module of its shape: what it is asked, and what becomes of answers."""

import re
import sys
from dataclasses import dataclass, field
from types import ModuleType, SimpleNamespace

import pytest

from assay.errors import MissingExtra, ModelError, install_command
from assay.models import open_model
from assay.types import Generator, LogProbScorer, RankedLogProbs, Rejected, TokenScorer, gives
from support.table_model import TableModel
from support.tiny_models import byte_tokenizer

TEXTS = ["abc", "", "ba", "a"]


@dataclass
class SamplingParams:
    """Those of vLLM's fields that are used; another name is an error, as in vLLM."""

    max_tokens: int | None = 16
    temperature: float = 1.0
    top_p: float = 1.0
    stop: list[str] | None = None
    seed: int | None = None
    prompt_logprobs: int | None = None


@dataclass
class Logprob:
    logprob: float
    rank: int | None = None
    decoded_token: str | None = None


@dataclass
class LLM:
    """A table model under vLLM's names."""

    model: str
    max_model_len: int | None = None
    revision: str | None = None
    dtype: str = "auto"
    trust_remote_code: bool = False
    asked: list = field(default_factory=list)

    def __post_init__(self):
        if self.model == "nobody/nothing":
            raise OSError("nobody/nothing is not a local folder\nand is not a valid model identifier")
        self.table = TableModel.trained(["abcabd"], order=2, units="characters")

    def get_tokenizer(self):
        return byte_tokenizer()

    def generate(self, prompts, sampling_params, *, use_tqdm=True):
        assert not use_tqdm
        self.asked.append((prompts, sampling_params))
        return [self.output(prompt, asked) for prompt, asked in zip(prompts, sampling_params, strict=True)]

    def output(self, prompt, asked):
        if self.max_model_len and len(prompt) > self.max_model_len:
            raise ValueError(f"The decoder prompt (length {len(prompt)}) is longer than the maximum model length")
        ids = self.table.encode(prompt)
        (found,) = self.table.token_statistics([prompt])
        logprobs = None
        if asked.prompt_logprobs is not None:
            rows = zip(ids[1:], found.log_probs, found.ranks, strict=True)
            logprobs = [None, *({row: Logprob(float(l), int(r))} for row, l, r in rows)] if ids else []
        (text,) = self.table.generate([prompt], max_new_tokens=asked.max_tokens, seed=asked.seed or 0)
        return SimpleNamespace(
            prompt=prompt, prompt_token_ids=ids, prompt_logprobs=logprobs, outputs=[SimpleNamespace(text=text)]
        )


@pytest.fixture
def installed(monkeypatch):
    module = ModuleType("vllm")
    module.LLM, module.SamplingParams = LLM, SamplingParams
    monkeypatch.setitem(sys.modules, "vllm", module)


@pytest.fixture
def model(installed):
    return open_model("vllm:someone/model", dtype="bfloat16", max_length=50, revision="v1")


def test_without_the_package_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "vllm", None)
    with pytest.raises(MissingExtra, match=re.escape(f"needs the package 'vllm': {install_command('vllm')}")):
        open_model("vllm:someone/model")


def test_every_setting_reaches_vllm(model):
    opened = model._loaded
    assert (opened.model, opened.dtype, opened.max_model_len, opened.revision) == (
        "someone/model",
        "bfloat16",
        50,
        "v1",
    )


def test_settings_that_vllm_does_not_take_are_refused(installed):
    with pytest.raises(ModelError, match="vllm models take no device, stride"):
        open_model("vllm:someone/model", device="cuda:1", stride=4)


@pytest.mark.parametrize(("name", "words"), [("vllm:nobody/nothing", "cannot load it"), ("vllm:", "expected vllm:ID")])
def test_what_cannot_be_loaded_is_told_in_one_line(installed, name, words):
    with pytest.raises(ModelError, match=words) as told:
        open_model(name)
    assert "\n" not in str(told.value)


def test_it_gives_log_probabilities_and_text_and_no_distribution(model):
    assert isinstance(model, LogProbScorer)
    assert isinstance(model, Generator)
    assert not isinstance(model, TokenScorer)
    assert gives(model, RankedLogProbs)


def test_log_probabilities_are_those_of_the_tokens_that_stand_there(model):
    table = model._loaded.table
    for text, found in zip(TEXTS, model.token_log_probs(TEXTS), strict=True):
        (own,) = table.token_statistics([text])
        assert found.token_ids.tolist() == own.token_ids.tolist()
        assert found.log_probs == pytest.approx(own.log_probs)
        assert found.ranks.tolist() == own.ranks.tolist()


def test_a_missing_log_probability_is_told(model, monkeypatch):
    broken = SimpleNamespace(prompt_token_ids=[1, 2, 3], prompt_logprobs=[None, {2: Logprob(-1.0)}])
    monkeypatch.setattr(model._loaded, "output", lambda *_: broken)
    with pytest.raises(ModelError, match="1 log-probabilities for 3 tokens"):
        list(model.completed(["abc"]))


def test_a_text_beyond_the_context_is_unread_in_vllms_words_and_the_others_are_read(model):
    texts = [*TEXTS, "a" * 51, *TEXTS, "ab" * 40]
    found = list(model.token_log_probs(texts))
    refused = Rejected("refused by vLLM: The decoder prompt (length …) is longer than the maximum model length")
    assert [index for index, entry in enumerate(found) if entry == refused] == [4, 9]
    for entry, own in zip(
        (entry for entry in found if entry != refused), 2 * list(model.token_log_probs(TEXTS)), strict=True
    ):
        assert entry.log_probs.tolist() == own.log_probs.tolist()
    written = list(model.generate(["ab", "a" * 51], max_new_tokens=3))
    assert (len(written[0]), written[1]) == (3, refused)


def test_a_model_that_takes_nothing_ends_the_run(model, monkeypatch):
    def broken(*_):
        raise RuntimeError("CUDA out of memory")

    monkeypatch.setattr(model._loaded, "output", broken)
    with pytest.raises(ModelError, match=r"cannot run it \(CUDA out of memory\)"):
        list(model.completed(TEXTS))


def test_prompts_are_continued_each_with_a_seed_of_its_own(model):
    found = list(model.generate(["ab", "ab"], max_new_tokens=3, temperature=0.5, top_p=0.9, stop=["zz"], seed=2))
    assert [len(entry) for entry in found] == [3, 3]
    ((_, (first, second)),) = model._loaded.asked
    assert (first.temperature, first.top_p, first.stop, first.max_tokens) == (0.5, 0.9, ["zz"], 3)
    assert first.seed != second.seed


def test_the_digest_tells_settings_and_weights_apart(installed, tmp_path):
    one, other = (open_model("vllm:someone/model", dtype=dtype) for dtype in ("auto", "float16"))
    assert one.digest != other.digest
    assert one.tokenizer_digest == other.tokenizer_digest
    (tmp_path / "config.json").write_text("{}")
    before = open_model(f"vllm:{tmp_path}").digest
    (tmp_path / "config.json").write_text('{"a": 1}')
    assert open_model(f"vllm:{tmp_path}").digest != before
