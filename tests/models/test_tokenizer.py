import numpy as np
import pytest

from assay.errors import ModelError
from assay.models import loading, open_model
from assay.models.loading import open_tokenizer
from support.tiny_models import TEXTS, byte_tokenizer


@pytest.fixture
def folder(tmp_path):
    """A folder with a tokenizer and nothing else."""
    byte_tokenizer("<s> $A </s>").save_pretrained(tmp_path)
    return tmp_path


def test_token_ids_are_those_of_the_text_without_special_tokens(folder):
    found = list(open_tokenizer(str(folder)).token_ids(TEXTS))
    assert [ids.tolist() for ids in found] == [byte_tokenizer()(text)["input_ids"] for text in TEXTS]
    assert {ids.dtype for ids in found} == {np.dtype(np.int32)}


def test_texts_are_taken_as_they_come(folder, monkeypatch):
    """A corpus does not fit into memory: no more than a batch is read ahead."""
    monkeypatch.setattr(loading, "BATCH", 2)
    read = []

    def corpus():
        for text in TEXTS:
            read.append(text)
            yield text

    found = open_tokenizer(str(folder)).token_ids(corpus())
    next(found)
    assert read == TEXTS[:2]
    assert 1 + len(list(found)) == len(TEXTS)


def test_no_texts_have_no_tokens(folder):
    assert list(open_tokenizer(str(folder)).token_ids([])) == []


def test_it_is_the_models_own_tokenizer(save):
    folder = save(tokenizer=byte_tokenizer("<s> $A"))
    assert open_tokenizer(str(folder)).digest == open_model(str(folder)).tokenizer_digest


def test_every_token_id_is_below_the_vocabularys_size(tmp_path):
    own = byte_tokenizer()
    own.add_tokens(["größe"])
    own.save_pretrained(tmp_path)
    found = open_tokenizer(str(tmp_path))
    assert found.vocabulary_size == 260
    assert max(next(found.token_ids(["größe"]))) == 259


def test_a_folder_is_read_without_a_network(folder, no_network, monkeypatch):
    own, asked = loading.AutoTokenizer.from_pretrained, []
    monkeypatch.setattr(
        loading.AutoTokenizer,
        "from_pretrained",
        lambda name, **settings: asked.append(settings["local_files_only"]) or own(name, **settings),
    )
    list(open_tokenizer(str(folder), revision="main").token_ids(TEXTS))
    assert asked == [True]
    assert no_network == []


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("{folder}/nothing", "no model folder '{folder}/nothing': expected a folder"),
        ("{folder}/tokenizer.json", "is a file: expected a model folder or a hub id"),
        ("", "no model folder ''"),
        ("builtin:no-such", "no built-in model 'no-such': expected one of"),
        ("openai:gpt", "gives neither weights nor a tokenizer"),
    ],
)
def test_what_is_no_tokenizer_is_one_line(folder, name, message):
    with pytest.raises(ModelError) as caught:
        open_tokenizer(name.format(folder=folder))
    assert message.format(folder=folder) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_folder_without_a_tokenizer_is_one_line(tmp_path):
    with pytest.raises(ModelError, match=r"no tokenizer files: expected tokenizer\.json"):
        open_tokenizer(str(tmp_path))


def test_a_hub_id_is_asked_for_at_its_revision(monkeypatch):
    asked = []

    def refuse(name, **settings):
        asked.append((name, settings["revision"], settings["local_files_only"], settings["trust_remote_code"]))
        raise OSError("not here")

    monkeypatch.setattr(loading.AutoTokenizer, "from_pretrained", refuse)
    with pytest.raises(ModelError, match=r"^someone/some-model cannot be loaded: not here$"):
        open_tokenizer("someone/some-model", revision="v1.0")
    assert asked == [("someone/some-model", "v1.0", False, False)]
