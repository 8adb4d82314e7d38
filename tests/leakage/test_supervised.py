"""Detectors that learn from labels: they find what is there to be found, and judge nothing that taught them."""

import math

import numpy as np
import pytest
import torch

from assay.errors import DataError
from assay.leakage.detectors import dpdllm, veil_probe
from assay.leakage.labelled import NO_CONTINUATION, TrainingTexts, completions
from assay.leakage.supervised import fit_all
from assay.scores import FittedDetector, detectors_of
from assay.types import Sample, Unread

FITTED = detectors_of(FittedDetector)
NAMES = ("apple", "river", "stone", "cloud", "table", "chair", "glass", "paper", "light", "house", "plant", "bread")


class Parrot:
    """A model that has learned some texts by heart and says the same of all others."""

    name = "parrot"

    def __init__(self, known):
        self.known = known

    def generate(self, prompts, **_):
        for prompt in prompts:
            text = next((one for one in self.known if one.startswith(prompt)), None)
            yield text[len(prompt) :] if text else "\n# ? ? ? ? ? ? ? ? ? ? ? ? ? ? ? ?" * 9


def function(i):
    a, b, c = NAMES[i % 12], NAMES[(i * 7 + 3) % 12], NAMES[(i // 12 + 5 * i) % 12]
    return (
        f"def {a}_of_{b}({c}_list, start={i}):\n    {a}_total = start\n    for {b}_one in {c}_list:\n"
        f"        {a}_total += {b}_one * {i}\n    return {a}_total, {c}_list, start\n"
    )


@pytest.fixture(scope="module", autouse=True)
def _one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def texts():
    """48 functions, half of which the model knows by heart; four in a group."""
    return [Sample(f"f{i}", function(i), "python", group=f"g{i // 4}") for i in range(48)]


@pytest.fixture(scope="module")
def parrot(texts):
    return Parrot([one.text for i, one in enumerate(texts) if i % 2])


@pytest.fixture(scope="module", params=sorted(FITTED))
def fitted(request, texts, parrot):
    """Each detector, fitted on the first 32."""
    return FITTED[request.param](texts[:32], [bool(i % 2) for i in range(32)], parrot, epochs=2)


def test_members_are_told_apart_on_texts_of_other_groups(fitted, texts):
    found = [one.value for one in fitted.scores(texts[32:])]
    assert min(found[1::2]) > max(found[::2])
    assert min(found[1::2]) > 0 > max(found[::2])


def test_it_says_how_many_labels_it_used(fitted):
    assert fitted.labels == 32


def test_a_text_that_taught_it_is_refused_and_so_is_its_group(fitted, texts):
    with pytest.raises(DataError, match=r"1 of 17 samples \(first 'f3'\)"):
        fitted.scores([*texts[32:], texts[3]])
    with pytest.raises(DataError, match="that the detector was fitted on"):
        fitted.scores([Sample("new", "x = 1\ny = 2\n", group="g2")])


def test_a_text_too_short_to_be_cut_is_not_scored(fitted):
    (found,) = fitted.scores([Sample("short", "x", "python")])
    assert math.isnan(found.value)
    assert found.reason


def test_the_same_seed_gives_the_same_values(texts, parrot):
    labels = [bool(i % 2) for i in range(32)]
    state = torch.random.get_rng_state()
    one, other = (veil_probe.fit(texts[:32], labels, parrot, epochs=1, seed=3).scores(texts[32:]) for _ in range(2))
    assert one == other
    assert torch.equal(torch.random.get_rng_state(), state)


def test_the_reference_reads_only_its_half(texts, parrot, monkeypatch):
    """Neither a text to be judged nor one that the classifier learns from trains the reference."""
    seen = []
    monkeypatch.setattr(dpdllm, "read", lambda _, read, **__: seen.extend(read))
    fitted = dpdllm.fit(texts[:32], [bool(i % 2) for i in range(32)], parrot)
    fitted.scores(texts[32:])
    first, _ = fitted.taught.halves()
    assert seen == [texts[i].text for i in first]


def test_reading_makes_texts_likelier(texts):
    from assay.models import open_local

    model = open_local("builtin:small", dtype="float32", device="cpu")
    written = [one.text for one in texts[:8]]
    before = np.mean([one.log_probs.mean() for one in model.token_statistics(written)])
    dpdllm.read(model, written, epochs=2, rate=1e-3, batch=4, seed=0)
    assert np.mean([one.log_probs.mean() for one in model.token_statistics(written)]) > before + 0.1


def test_the_mapping_learns(texts, parrot):
    mapping = veil_probe.open_mapping(None)
    losses = veil_probe.learn(
        mapping, completions([one.text for one in texts[:16]], parrot), epochs=4, rate=1e-3, batch=4, seed=0
    )
    assert losses == sorted(losses, reverse=True)


def test_halves_share_no_group_and_have_both_classes(texts):
    taught = TrainingTexts(tuple(texts), tuple(bool(i % 2) for i in range(48)), 0)
    first, second = taught.halves()
    assert sorted(first + second) == list(range(48))
    assert not {texts[i].group for i in first} & {texts[i].group for i in second}
    for half in (first, second):
        assert {taught.labels[i] for i in half} == {True, False}


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        ([True] * 8, "8 labelled members and 0 non-members: expected at least 4"),
        ([True], "8 samples and 1 labels"),
    ],
)
def test_labels_that_do_not_do_are_refused(texts, labels, words):
    with pytest.raises(DataError, match=words):
        TrainingTexts(tuple(texts[:8]), tuple(labels), 0)


def test_texts_without_labels_teach_nothing(texts, parrot):
    with pytest.raises(DataError, match="none of 48 texts to learn from is labelled"):
        fit_all(texts, parrot)


@pytest.mark.parametrize("name", sorted(FITTED))
def test_texts_too_short_to_be_cut_teach_nothing(name, parrot):
    short = [Sample(str(i), f"x{i}", "python") for i in range(8)]
    with pytest.raises(DataError, match="0 of 4 labelled texts can be used to fit the classifier"):
        FITTED[name](short, [True, False] * 4, parrot, epochs=1)


def test_one_group_cannot_be_halved():
    taught = TrainingTexts(tuple(Sample(str(i), "x", group="a") for i in range(8)), (True, False) * 4, 0)
    with pytest.raises(DataError, match="1 groups of labelled texts cannot be cut"):
        taught.halves()


def test_why_nothing_stands_behind_a_beginning_is_known():
    class Picky:
        name = "picky"

        def generate(self, prompts, **_):
            yield from (Unread("too long") if one.startswith("def f") else "pass" for one in prompts)

    refused, written, nothing = completions(["def f(x):\n    return x\n", "def g(x):\n    return x\n", "x"], Picky())
    assert (refused.written, refused.reason) == ("", "too long")
    assert (written.written, written.reason) == ("pass", None)
    assert (nothing.written, nothing.reason) == ("", NO_CONTINUATION)
