"""GGUF files run by the real llama.cpp, beside the same files run by transformers."""

import re
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from test_gguf_file import FAMILIES, GEMMA, gemma_file, tokenizer

from assay.errors import MissingExtra, ModelError, install_command
from assay.models import gguf_file, gguf_note, gguf_of, llama_cpp_backend, open_model
from assay.types import TokenGenerator, TokenScorer
from assay_lab.gguf_export import export_gguf
from support.tiny_models import TEXTS, byte_tokenizer, tiny

pytest.importorskip("llama_cpp", reason="needs llama-cpp-python, which is compiled on installation")


@pytest.fixture
def file(tmp_path):
    return export_gguf(tiny("llama"), tokenizer(), tmp_path / "tiny.gguf")


@pytest.fixture
def model(file):
    return open_model(f"llama:{file}")


def statistics(model):
    return list(model.token_statistics(TEXTS))


@pytest.mark.parametrize(
    ("family", "off"),
    # llama.cpp looks GELU up in a table of half precision, which the last three use
    [("llama", 1e-4), ("llama-tied", 1e-4), ("qwen2", 1e-4), ("starcoder2", 2e-3), ("gpt-2", 2e-3), ("gemma3", 2e-3)],
)
def test_llama_cpp_agrees_with_transformers_on_unquantised_weights(tmp_path, family, off):
    """Equal weights: only the arithmetic differs, and the order of tokens that are equally likely but for that."""
    path = export_gguf(tiny(family, **FAMILIES[family]), tokenizer(), tmp_path / "tiny.gguf")
    ours, theirs = open_model(f"llama:{path}"), open_model(str(path))
    assert (ours.context, ours.vocabulary_size) == (theirs.context, theirs.vocabulary_size)
    for a, b in zip(statistics(ours), statistics(theirs), strict=True):
        assert a.token_ids.tolist() == b.token_ids.tolist()
        assert a.offsets.tolist() == b.offsets.tolist()
        for name in ("log_probs", "entropy", "variance", "top_log_probs"):
            np.testing.assert_allclose(getattr(a, name), getattr(b, name), rtol=10 * off, atol=off)
        assert (abs(a.ranks - b.ranks) <= 1).all()
        # the tail mass jumps where two tokens change places
        assert not len(a.tail_mass) or np.isclose(a.tail_mass, b.tail_mass, rtol=10 * off, atol=off).mean() > 0.9


def test_scaled_rotary_positions_are_read(tmp_path):
    """The scale that transformers does not read from a file, and refuses."""
    scaled = tiny("deepseek-coder")
    path = export_gguf(scaled, tokenizer(), tmp_path / "scaled.gguf")
    scaled.save_pretrained(tmp_path / "folder")
    tokenizer().save_pretrained(tmp_path / "folder")
    for a, b in zip(
        statistics(open_model(f"llama:{path}")), statistics(open_model(str(tmp_path / "folder"))), strict=True
    ):
        np.testing.assert_allclose(a.log_probs, b.log_probs, rtol=1e-3, atol=1e-4)


def test_the_model_gives_whole_distributions_and_shows_its_tokenizer(model):
    assert isinstance(model, TokenScorer)
    assert isinstance(model, TokenGenerator)


def test_longer_texts_are_read_in_windows_and_each_token_is_scored_once(file):
    text = "for i in range(10): total += i * weights[i]\n" * 5
    whole, part = open_model(f"llama:{file}"), open_model(f"llama:{file}", max_length=32, stride=8)
    other = open_model(str(file), max_length=32, stride=8)
    assert part.context == 32
    assert len(next(whole.token_statistics([text])).log_probs) == len(text) - 1
    ours, theirs = next(part.token_statistics([text])), next(other.token_statistics([text]))
    assert len(ours.log_probs) == len(text) - 1
    np.testing.assert_allclose(ours.log_probs, theirs.log_probs, rtol=1e-3, atol=1e-4)


def test_a_call_holds_few_logits_and_where_it_ends_changes_nothing(file, model, monkeypatch):
    """A vocabulary of a quarter of a million tokens leaves fewer tokens to a call."""
    expected = statistics(model)
    monkeypatch.setattr(llama_cpp_backend, "LOGITS", 7 * model.vocabulary_size)
    for ours, theirs in zip(statistics(open_model(f"llama:{file}")), expected, strict=True):
        np.testing.assert_allclose(ours.log_probs, theirs.log_probs, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("bos", "scored"), [("auto", 3), ("never", 3), ("always", 4)])
def test_a_beginning_of_sequence_token_is_put_before_a_text_where_asked_for(file, bos, scored):
    ours, theirs = (next(open_model(name, bos=bos).token_statistics(["text"])) for name in (f"llama:{file}", str(file)))
    assert len(ours.log_probs) == len(theirs.log_probs) == scored
    np.testing.assert_allclose(ours.log_probs, theirs.log_probs, rtol=1e-3, atol=1e-4)


def test_a_tokenizer_that_adds_bos_does_so_here_too(tmp_path):
    path = export_gguf(tiny("llama"), byte_tokenizer("<s> $A", merges=(("q", "q"),)), tmp_path / "bos.gguf")
    ours, theirs = open_model(f"llama:{path}"), open_model(str(path))
    assert ours.prefix == theirs.encoder.prefix == (0,)


def test_greedy_continuations_are_those_of_transformers(file, model):
    prompts = ["def f(x):", "import "]
    # bytes that are no text are dropped by llama-cpp-python, and become U+FFFD in transformers
    theirs = [text.replace("\ufffd", "") for text in open_model(str(file)).generate(prompts, max_new_tokens=5)]
    assert list(model.generate(prompts, max_new_tokens=5)) == theirs
    tokens = [text.ids for text in model.tokens(prompts)]
    expected = list(open_model(str(file)).continue_tokens(tokens, max_new_tokens=5))
    assert list(model.continue_tokens(tokens, max_new_tokens=5)) == expected


def test_what_is_sampled_depends_on_seed_and_prompt_and_not_on_the_neighbours(model):
    def sampled(prompts, seed=1):
        return list(model.generate(prompts, max_new_tokens=8, temperature=1.0, seed=seed))

    first, second = sampled(["def f", "import"])
    assert sampled(["import"]) == [second]
    assert sampled(["def f", "def f"])[0] == first != sampled(["def f", "def f"])[1]
    assert sampled(["def f"], seed=2) != [first]


def test_a_prompt_too_long_keeps_its_end(model):
    assert len(next(model.generate(["x" * 500], max_new_tokens=4))) >= 0
    with pytest.raises(ModelError, match="max_new_tokens 64 with a context of 64: expected at most 63"):
        list(model.generate(["x"], max_new_tokens=64))


def test_report_and_digest_name_the_file(file, model, tmp_path):
    assert gguf_of(model).path == file
    assert "quantisation F32" in gguf_note(model)
    renamed = file.rename(tmp_path / "other.gguf")
    assert open_model(f"llama:{renamed}").digest == model.digest
    assert open_model(f"llama:{renamed}", max_length=32).digest != model.digest


def refusal(name, **settings):
    with pytest.raises(ModelError) as caught:
        open_model(name, **settings)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_what_is_no_gguf_file_is_refused(tmp_path):
    assert refusal("llama:model") == "model 'llama:model': expected llama:PATH.gguf or llama:hub-id:FILE.gguf"
    assert "no file" in refusal("llama:no.gguf")
    assert "no dtype" in refusal("llama:no.gguf", dtype="bfloat16")


def test_an_architecture_that_llama_cpp_does_not_know_is_refused(tmp_path):
    path = export_gguf(tiny("llama"), tokenizer(), tmp_path / "tiny.gguf")
    path.write_bytes(path.read_bytes().replace(b"llama", b"glama"))
    assert "llama.cpp cannot load it" in refusal(f"llama:{path}")


def test_a_context_beyond_the_models_own_is_refused(file):
    assert "max_length 65: expected 2 to 64" in refusal(f"llama:{file}", max_length=65)


def test_the_extra_is_named_where_the_package_is_missing(file, monkeypatch):
    monkeypatch.setattr("assay.errors.find_spec", lambda name: None if name == "llama_cpp" else object())
    with pytest.raises(MissingExtra, match=re.escape(install_command("llama"))):
        open_model(f"llama:{file}")


@pytest.mark.skipif(find_spec(GEMMA) is None, reason=f"needs the package {GEMMA} with its 253 MB of weights")
def test_a_real_model_has_nearly_the_scores_that_transformers_gives(tmp_path, capfd):
    """llama.cpp rounds activations of quantised weights; the text is longer than the sliding window of 512 tokens."""
    path = gemma_file(tmp_path)
    text = Path(gguf_file.__file__).read_text("utf-8")[:3000]
    ours, theirs = (next(open_model(name).token_statistics([text])) for name in (f"llama:{path}", str(path)))
    assert len(ours.token_ids) > 512
    assert ours.token_ids.tolist() == theirs.token_ids.tolist()
    assert ours.offsets.tolist() == theirs.offsets.tolist()
    assert abs(ours.log_probs.mean() - theirs.log_probs.mean()) < 0.03
    assert np.abs(ours.log_probs - theirs.log_probs).mean() < 0.15
    assert capfd.readouterr() == ("", "")
