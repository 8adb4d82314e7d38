"""A data set is its samples, a digest of what they say, and what the reader should know."""

import pytest

from assay import load
from assay.datasets import Dataset
from assay.errors import DataError
from assay.types import Sample


def of(*samples: Sample) -> Dataset:
    return Dataset.of("set", samples, source="here")


def test_the_digest_follows_ids_texts_and_labels_only():
    base = of(Sample("a", "x", label="member")).digest
    assert of(Sample("a", "x", "python", "member", "g", {"k": 1})).digest == base
    assert len({base, of(Sample("b", "x", label="member")).digest, of(Sample("a", "y", label="member")).digest,
                of(Sample("a", "x")).digest}) == 4  # fmt: skip


def test_the_digest_keeps_neighbouring_fields_apart():
    assert of(Sample("ab", "c")).digest != of(Sample("a", "bc")).digest


def test_the_digest_is_stable_between_versions():
    """Manifests and caches of older runs refer to it."""
    expected = "c9f07440410aa12e41d8f92f76dbee00868efaee324b5463d4026448cc7cd975"
    assert of(Sample("a", "x = 'é'\n", label="member")).digest == expected


def test_members_and_nonmembers_are_told_apart():
    dataset = of(Sample("a", "x", label="member"), Sample("b", "y", label="nonmember"), Sample("c", "z"))
    assert ([s.id for s in dataset.members], [s.id for s in dataset.nonmembers]) == (["a"], ["b"])


@pytest.mark.parametrize("labels", [["member"], ["nonmember"], [None], ["human", "gpt"]])
def test_one_class_alone_is_not_labelled(labels):
    assert not of(*(Sample(str(k), "x", label=label) for k, label in enumerate(labels))).labelled


def test_no_samples_are_refused():
    with pytest.raises(DataError, match="here: no samples for set"):
        of()


def test_an_id_twice_is_refused():
    with pytest.raises(DataError, match="the first: 'a'"):
        of(Sample("a", "x"), Sample("b", "y"), Sample("a", "z"))


def test_a_lone_surrogate_becomes_a_replacement_character_and_is_noted(written):
    dataset = load(written(b'{"text": "a\\ud800b"}\n{"text": "\\ud83d\\ude00"}\n'))
    assert [sample.text for sample in dataset.samples] == ["a\ufffdb", "\U0001f600"]
    assert dataset.notes == ("lone surrogates became U+FFFD in 1 sample",)
