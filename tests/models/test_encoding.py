import numpy as np
import pytest

from assay.errors import ModelError
from assay.models.encoding import NO_OFFSET, TextEncoder
from support.tiny_models import byte_tokenizer

BOS, EOS = 0, 1
TEXT = "a é\n"


def ids(encoder, text=TEXT):
    return encoder.encode([text])[0].ids.tolist()


PLAIN = byte_tokenizer()(TEXT)["input_ids"]


def test_auto_adds_nothing_to_a_tokenizer_that_adds_nothing():
    encoded = TextEncoder(byte_tokenizer()).encode([TEXT])[0]
    assert encoded.ids.tolist() == PLAIN
    assert encoded.first == 1


def test_auto_keeps_the_bos_that_the_tokenizer_adds_and_scores_the_first_real_token():
    encoded = TextEncoder(byte_tokenizer("<s> $A")).encode([TEXT])[0]
    assert encoded.ids.tolist() == [BOS, *PLAIN]
    assert encoded.first == 1
    assert encoded.scored == len(PLAIN)


def test_an_eos_that_the_tokenizer_appends_is_no_part_of_the_text():
    assert ids(TextEncoder(byte_tokenizer("<s> $A </s>"))) == [BOS, *PLAIN]
    assert ids(TextEncoder(byte_tokenizer("$A </s>"))) == PLAIN


def test_two_tokens_before_a_text_are_context_only():
    encoded = TextEncoder(byte_tokenizer("<s> <pad> $A")).encode([TEXT])[0]
    assert encoded.first == 2
    assert encoded.scored == len(PLAIN)


def test_always_puts_bos_before_a_text_once():
    assert ids(TextEncoder(byte_tokenizer(), bos="always")) == [BOS, *PLAIN]
    assert ids(TextEncoder(byte_tokenizer("<s> $A"), bos="always")) == [BOS, *PLAIN]


def test_always_takes_eos_where_there_is_no_bos():
    tokenizer = byte_tokenizer()
    tokenizer.bos_token = None
    assert ids(TextEncoder(tokenizer, bos="always")) == [EOS, *PLAIN]


def test_always_needs_bos_or_eos():
    with pytest.raises(ModelError, match="neither a BOS nor an EOS"):
        TextEncoder(byte_tokenizer(specials=False), bos="always")


def test_never_drops_what_the_tokenizer_adds():
    assert ids(TextEncoder(byte_tokenizer("<s> $A"), bos="never")) == PLAIN


def test_an_unknown_bos_is_refused():
    with pytest.raises(ModelError, match="bos 'sometimes': expected one of auto, always, never"):
        TextEncoder(byte_tokenizer(), bos="sometimes")


def test_offsets_are_characters_of_the_text():
    encoded = TextEncoder(byte_tokenizer("<s> $A")).encode([TEXT])[0]
    assert encoded.offsets.tolist() == [[NO_OFFSET, NO_OFFSET], [0, 1], [1, 2], [2, 3], [2, 3], [3, 4]]


def test_a_slow_tokenizer_has_no_offsets(monkeypatch):
    tokenizer = byte_tokenizer()
    encoder = TextEncoder(tokenizer)
    monkeypatch.setattr(type(tokenizer), "is_fast", False)
    encoded = encoder.encode([TEXT])[0]
    assert encoded.ids.tolist() == PLAIN
    assert (encoded.offsets == NO_OFFSET).all()


def test_a_lone_surrogate_counts_as_one_replacement_character():
    encoder = TextEncoder(byte_tokenizer())
    assert ids(encoder, "a\ud800b") == ids(encoder, "a\ufffdb")


def test_an_empty_text_has_nothing_to_score():
    for template in (None, "<s> $A"):
        encoded = TextEncoder(byte_tokenizer(template)).encode([""])[0]
        assert encoded.scored == 0
        assert encoded.offsets.dtype == np.int32


def test_no_texts_give_no_sequences():
    assert TextEncoder(byte_tokenizer()).encode([]) == []


CHAT = (
    "{% for m in messages %}<s>{{ m['role'] }}:{{ m['content'] }}</s>{% endfor %}"
    "{% if add_generation_prompt %}<s>assistant:{% endif %}"
)


@pytest.mark.slow
def test_a_text_is_the_reply_in_the_chat_template():
    """The template's tokens come before the text, and none of them is scored."""
    tokenizer = byte_tokenizer("<s> $A")
    tokenizer.chat_template = CHAT
    encoded = TextEncoder(tokenizer, chat=True).encode([TEXT])[0]
    before = "user:Write code.", "assistant:"
    expected = [BOS, *tokenizer(before[0], add_special_tokens=False)["input_ids"], EOS, BOS]
    expected += tokenizer(before[1], add_special_tokens=False)["input_ids"]
    assert encoded.ids.tolist() == [*expected, *PLAIN]
    assert encoded.first == len(expected)


@pytest.mark.parametrize(
    ("template", "bos", "message"),
    [(None, "auto", "the tokenizer has no chat template"), (CHAT, "always", "has its own first tokens")],
)
def test_a_chat_template_that_cannot_be_used_is_refused(template, bos, message):
    tokenizer = byte_tokenizer()
    tokenizer.chat_template = template
    with pytest.raises(ModelError, match=message):
        TextEncoder(tokenizer, chat=True, bos=bos)
