"""Fitted detectors: they detect what can be detected, and judge no text that they were fitted on."""

import math
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
import torch

from assay.errors import DataError
from assay.scores import DETECTORS, detectors_of
from assay.types import Rejected, Sample
from assay_lab.methods import dpdllm, veil_probe
from assay_lab.methods.fitted import FittedDetector, fit_all
from assay_lab.methods.key_tokens import perturbed
from assay_lab.methods.labelled import NO_CONTINUATION, Completion, TrainingTexts, completions

FITTED = detectors_of(FittedDetector)
SMALL = {
    "dpdllm": dpdllm.DpdllmSettings(epochs=3, rate=1e-3, batch=8, device="cpu"),
    "veil_probe": veil_probe.VeilProbeSettings(
        layers=1, width=32, heads=2, feed_forward=64, epochs=2, rate=1e-3, batch=8, decoder="answer", device="cpu"
    ),
}
"""Less to compute than as published."""
APART = {name: replace(settings, texts="labelled half") for name, settings in SMALL.items()}
NAMES = ("apple", "river", "stone", "cloud", "table", "chair", "glass", "paper", "light", "house", "plant", "bread")


class Parrot:
    """A model that has learned some texts by heart and says the same of all others."""

    name = "parrot"

    def __init__(self, known):
        self.known = known

    def generate(self, prompts, **_):
        for prompt in prompts:
            text = next((entry for entry in self.known if entry.startswith(prompt)), None)
            yield text[len(prompt) :] if text else "\n# ? ? ? ? ? ? ? ? ? ? ? ? ? ? ? ?" * 9


def function(i):
    a, b, c = NAMES[i % 12], NAMES[(i * 7 + 3) % 12], NAMES[(i // 12 + 5 * i) % 12]
    return (
        f"def {a}_of_{b}({c}_list, start={i}):\n    {a}_total = start\n    for {b}_one in {c}_list:\n"
        f"        {a}_total += {b}_one * {i}\n    return {a}_total, {c}_list, start\n"
    )


def test_a_fitted_detector_decides_at_zero_from_labels_and_waits_for_no_library():
    assert {entry.name for entry in DETECTORS.values() if entry.kind == "fitted"} == {"dpdllm", "veil_probe"}
    assert {(entry.access, entry.rule) for entry in FITTED.values()} == {("labelled", 0.0)}
    code = (
        "import sys; from assay.scores import DETECTORS; assert 'veil_probe' in dict(DETECTORS); "
        "print([m for m in sys.modules if m in ('torch', 'transformers', 'sklearn')])"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "[]"


@pytest.fixture(scope="module")
def texts():
    """48 functions, half of which the model knows by heart; four in a group."""
    return [Sample(f"f{i}", function(i), "python", group=f"g{i // 4}") for i in range(48)]


@pytest.fixture(scope="module")
def parrot(texts):
    return Parrot([sample.text for i, sample in enumerate(texts) if i % 2])


@pytest.fixture(scope="module", params=sorted(FITTED))
def fitted(request, texts, parrot):
    """Each detector, fitted on the first 32; the others are known without their labels."""
    name, labels = request.param, [bool(i % 2) for i in range(32)]
    return FITTED[name](texts[:32], labels, parrot, unlabelled=texts[32:], settings=SMALL[name])


@pytest.mark.slow
def test_members_are_told_apart_on_texts_of_other_groups(fitted, texts):
    found = [score.value for score in fitted.scores(texts[32:])]
    assert min(found[1::2]) > max(found[::2])
    assert min(found[1::2]) > 0 > max(found[::2])


@pytest.mark.slow
def test_it_says_how_many_labels_it_used(fitted):
    assert fitted.labels == 32


@pytest.mark.slow
def test_a_text_that_taught_it_is_refused_and_so_is_its_group(fitted, texts):
    with pytest.raises(DataError, match=r"1 of 17 samples \(first 'f3'\)"):
        fitted.scores([*texts[32:], texts[3]])
    with pytest.raises(DataError, match="share a group with the labelled"):
        fitted.scores([Sample("new", "x = 1\ny = 2\n", group="g2")])


@pytest.mark.slow
def test_a_text_that_was_not_known_at_fitting_is_refused(fitted):
    with pytest.raises(DataError, match=r"1 of 1 samples \(first 'new'\) are unknown to the"):
        fitted.scores([Sample("new", "x = 1\ny = 2\n")])


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(FITTED))
def test_a_text_too_short_to_be_cut_is_not_scored(name, texts, parrot):
    """With the language model of the detector tuned on labelled texts alone, any other text may be judged."""
    fitted = FITTED[name](texts[:32], [bool(i % 2) for i in range(32)], parrot, settings=APART[name])
    (score,) = fitted.scores([Sample("short", "x", "python")])
    assert math.isnan(score.value)
    assert score.reason


@pytest.mark.slow
def test_the_same_seed_gives_the_same_values(texts, parrot):
    labels = [bool(i % 2) for i in range(32)]
    state = torch.random.get_rng_state()
    settings = APART["veil_probe"]
    first, second = (
        veil_probe.fit(texts[:32], labels, parrot, settings=settings, seed=3).scores(texts[32:]) for _ in range(2)
    )
    assert first == second
    assert torch.equal(torch.random.get_rng_state(), state)


@pytest.mark.slow
@pytest.mark.parametrize("texts_of", ["all", "labelled half"])
def test_the_reference_is_tuned_on_all_texts_or_on_half_of_the_labelled_ones(texts_of, texts, parrot, monkeypatch):
    tuned = []
    monkeypatch.setattr(dpdllm, "memorise", lambda _, texts, *__, **___: tuned.extend(texts))
    dpdllm.tuned_reference.cache_clear()
    settings = replace(SMALL["dpdllm"], texts=texts_of)
    labels = [bool(i % 2) for i in range(32)]
    fitted = dpdllm.fit(texts[:32], labels, parrot, unlabelled=texts[32:], settings=settings)
    first, _ = fitted.labelled.halves()
    expected = texts if texts_of == "all" else [texts[i] for i in first]
    assert tuned == [text.text for text in expected]
    dpdllm.fit(texts[:32], labels, Parrot([]), unlabelled=texts[32:], settings=settings)
    assert len(tuned) == len(expected), "the reference does not depend on the audited model"
    dpdllm.tuned_reference.cache_clear()


def test_memorised_texts_are_likelier(texts):
    from assay.models import open_local

    model = open_local("builtin:small", dtype="float32", device="cpu")
    memorised = [text.text for text in texts[:8]]
    before = np.mean([statistics.log_probs.mean() for statistics in model.token_statistics(memorised)])
    dpdllm.memorise(model, memorised, SMALL["dpdllm"], seed=0)
    after = np.mean([statistics.log_probs.mean() for statistics in model.token_statistics(memorised)])
    assert after > before + 0.1


@pytest.mark.slow
def test_the_mapping_learns(texts, parrot):
    settings, losses = replace(SMALL["veil_probe"], epochs=4, batch=4), []
    mapping = veil_probe.open_mapping(settings, seed=0)
    pairs = veil_probe.answered([text.text[:40] for text in texts[:16]], parrot, settings, answers=1, seed=0)
    veil_probe.learn(mapping, pairs, settings, seed=0, progress=lambda record, _: losses.append(record["loss"]))
    assert len(losses) == 16
    assert sum(losses[-4:]) < sum(losses[:4])


def test_the_published_mapping_has_the_size_of_the_paper():
    mapping = veil_probe.open_mapping(replace(veil_probe.PUBLISHED, device="cpu"), seed=0)
    for config in (mapping.model.config.encoder, mapping.model.config.decoder):
        assert (config.num_hidden_layers, config.hidden_size, config.num_attention_heads) == (6, 512, 8)
        assert config.intermediate_size == 2048
    state = veil_probe.states(mapping, Completion("def f(x):", ""), veil_probe.PUBLISHED)
    assert state.shape == (2 * 7 * 512,)


def test_each_prompt_gets_three_answers(parrot):
    prompts = ["def a", "def b"]
    pairs = veil_probe.answered(prompts, parrot, veil_probe.PUBLISHED, answers=3, seed=0)
    assert [pair.prompt for pair in pairs] == ["def a"] * 3 + ["def b"] * 3


def test_key_tokens_are_replaced_and_nothing_else(texts):
    from assay.models import open_local

    proxy = open_local("builtin:small", dtype="float32", device="cpu")
    written = [text.text for text in texts[:3]]
    changed = perturbed(written, proxy, share=0.1, seed=0)
    assert changed == perturbed(written, proxy, share=0.1, seed=0)
    for before, after in zip(written, changed, strict=True):
        assert after != before
        assert [c for c in after if not c.isalnum() and c != "_"] == [c for c in before if not c.isalnum() and c != "_"]
    assert perturbed(["", "1 + 2"], proxy, share=0.1, seed=0) == [None, None]


def test_halves_share_no_group_and_have_both_classes(texts):
    labelled = TrainingTexts(tuple(texts), tuple(bool(i % 2) for i in range(48)), 0)
    first, second = labelled.halves()
    assert sorted(first + second) == list(range(48))
    assert not {texts[i].group for i in first} & {texts[i].group for i in second}
    for half in (first, second):
        assert {labelled.labels[i] for i in half} == {True, False}


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
    with pytest.raises(DataError, match="0 of 4 labelled texts have features"):
        FITTED[name](short, [True, False] * 4, parrot, settings=APART[name])


def test_one_group_cannot_be_halved():
    labelled = TrainingTexts(tuple(Sample(str(i), "x", group="a") for i in range(8)), (True, False) * 4, 0)
    with pytest.raises(DataError, match="1 groups of labelled texts cannot be cut"):
        labelled.halves()


def test_why_nothing_stands_behind_a_beginning_is_known():
    class Picky:
        name = "picky"

        def generate(self, prompts, **_):
            yield from (Rejected("too long") if prompt.startswith("def f") else "pass" for prompt in prompts)

    refused, written, nothing = completions(["def f(x):\n    return x\n", "def g(x):\n    return x\n", "x"], Picky())
    assert (refused.answer, refused.reason) == ("", "too long")
    assert (written.answer, written.reason) == ("pass", None)
    assert (nothing.answer, nothing.reason) == ("", NO_CONTINUATION)
