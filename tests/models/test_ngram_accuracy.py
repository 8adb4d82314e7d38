"""METHODS §1: exact greedy n-gram match follows from ONE teacher-forced pass. Here it is held against decoding."""

import pytest
import torch

from assay.models.loading import Checkpoint
from assay.models.transformers_backend import TransformersModel
from assay.scores import SampleInputs, View, request
from support.table_model import TableModel
from support.tiny_models import byte_tokenizer, tiny

N = 3
CODE = ["def f(x):\n    return x\n", "def g(x):\n    return x + 1\n", "for x in y:\n    print(x)\n"]


def by_ranks(statistics, n):
    """The score as `assay score` computes it."""
    return request(f"ngram_accuracy:n={n}")(SampleInputs("", {View(): statistics}, None))


def by_decoding(model, prefixes, truths, n):
    """Share of prefixes that greedy decoding continues with the next n tokens of the text."""
    found = list(model.generate(prefixes, max_new_tokens=n))
    return sum(text == truth for text, truth in zip(found, truths, strict=True)) / len(prefixes)


def cuts(pieces, n):
    """Every prefix that predicts n more pieces, and those pieces."""
    places = range(1, len(pieces) - n + 1)
    return ["".join(pieces[:place]) for place in places], ["".join(pieces[place : place + n]) for place in places]


@pytest.mark.parametrize("text", CODE)
def test_of_a_table_model(text):
    model = TableModel.trained(CODE, order=2)
    statistics = next(model.token_statistics([text]))
    spans = [(0, int(statistics.offsets[0][0])), *statistics.offsets.tolist()]
    expected = by_decoding(model, *cuts([text[start:end] for start, end in spans], N), N)
    assert by_ranks(statistics, N) == pytest.approx(expected)
    assert 0 < expected < 1


def of_one_byte_characters(network):
    """The same network, with a head that writes printable ASCII only: its text is then its tokens, one for one."""
    head = torch.nn.Linear(network.config.hidden_size, network.config.vocab_size)
    printable = byte_tokenizer()("".join(map(chr, range(32, 127))))["input_ids"]
    with torch.no_grad():
        head.weight.copy_(network.get_output_embeddings().weight)
        head.bias.fill_(-1e4)
        head.bias[printable] = 0
    network.set_output_embeddings(head)
    return network


@pytest.mark.parametrize("family", ["llama", "gpt-2", "gemma2"])
def test_of_a_transformer(family):
    network = of_one_byte_characters(tiny(family))
    model = TransformersModel(Checkpoint("tiny", network, byte_tokenizer(), ()))
    text = "x"
    for character in "qzjk":  # what it would write, broken by what it would not
        text += next(model.generate([text], max_new_tokens=7)) + character
    statistics = next(model.token_statistics([text]))
    assert len(statistics) == len(text) - 1
    expected = by_decoding(model, *cuts(list(text), N), N)
    assert by_ranks(statistics, N) == pytest.approx(expected)
    assert 0 < expected < 1
