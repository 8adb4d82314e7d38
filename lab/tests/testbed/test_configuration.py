"""A configuration says all or is refused."""

import json
from dataclasses import replace

import pytest

from assay.errors import DataError
from assay.scores import DETECTORS
from assay_lab.testbed.configuration import (
    SCALES,
    Configuration,
    as_json,
    configuration_from,
    configured,
    read_configuration,
    scale,
)


@pytest.mark.parametrize("name", SCALES)
def test_every_scale_ships_and_reads(name):
    assert all(found.name for found in scale(name))


def test_the_papers_scale_has_the_papers_setting():
    """LoRA at 1e-4, batch 32, epochs 1, 3 and 5, one part of code to five of text (appendix A.2)."""
    found = scale("paper")
    assert {entry.model for entry in found} == {"Qwen/Qwen2.5-7B", "meta-llama/Llama-3.1-8B"}
    for entry in found:
        training = entry.training
        assert (training.method, training.rate, training.batch) == ("lora", 1e-4, 32)
        assert training.checkpoints == (1, 3, 5)
        assert entry.mix.ratio == 5
        assert entry.data.filter


def test_the_papers_scale_fits_detectors_as_published_and_the_others_have_a_smaller_network():
    published = DETECTORS["veil_probe"].settings
    assert all(entry.judging.settings == {} for entry in scale("paper"))
    for name in ("smoke", "full"):
        (found,) = scale(name)
        settings = configured(DETECTORS["veil_probe"], found.judging.settings["veil_probe"])
        assert settings.layers < published.layers
        same = ("texts", "prompt", "answers", "temperature", "decoder", "perturbation", "key_share", "proxy")
        assert all(getattr(settings, key) == getattr(published, key) for key in same)


def test_what_is_written_is_read_again(tmp_path):
    given = replace(scale("full")[0], seed=7)
    assert given.judging.settings
    (tmp_path / "c.json").write_text(as_json(given))
    assert read_configuration(tmp_path / "c.json") == given
    assert hash(read_configuration(tmp_path / "c.json")) == hash(given)


def test_a_file_of_yours_is_a_scale(tmp_path):
    """So that every experiment can be made on another model."""
    (tmp_path / "mine.toml").write_text('name = "mine"\n')
    assert [entry.name for entry in scale(str(tmp_path / "mine.toml"))] == ["mine"]
    with pytest.raises(DataError, match="or a configuration file"):
        scale("huge")


def test_toml_and_defaults_meet(tmp_path):
    (tmp_path / "c.toml").write_text('name = "mine"\n[data]\nmembers = 30\n[training]\nrate = 1\n')
    found = read_configuration(tmp_path / "c.toml")
    assert (found.name, found.data.members, found.training.rate) == ("mine", 30, 1.0)
    assert found.judging == Configuration().judging


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"data": {"memmbers": 3}}, "data.memmbers"),
        ({"data": {"members": "many"}}, "data.members = 'many'"),
        ({"data": {"members": 0}}, "expected at least 1"),
        ({"data": {"calibration_nonmembers": 5}}, "expected at least 20"),
        ({"training": {"method": "qlora"}}, "training.method = 'qlora'"),
        ({"training": {"checkpoints": [3, 1]}}, "expected rising epochs"),
        ({"training": {"checkpoints": [1, 9]}}, "expected rising epochs from 1 to 5"),
        ({"training": {"rate": 0}}, "training.rate"),
        ({"mix": {"ratio": -1}}, "mix.ratio"),
        (
            {"judging": {"settings": {"loss": {}}}},
            "judging.settings.loss: expected a fitted detector (dpdllm, veil_probe",
        ),
        ({"judging": {"settings": {"nonsense": {}}}}, "judging.settings.nonsense: expected a fitted detector"),
        (
            {"judging": {"settings": {"dpdllm": {"epoch": 3}}}},
            "'epoch' is no setting of dpdllm, which takes",
        ),
        ({"judging": {"settings": {"dpdllm": {"epochs": "three"}}}}, "epochs of dpdllm is 'three'"),
        ({"judging": {"settings": {"veil_probe": {"decoder": "nothing"}}}}, "decoder of veil_probe is 'nothing'"),
        ([], "the file"),
    ],
)
def test_a_mistake_is_named(values, words):
    with pytest.raises(DataError) as refused:
        configuration_from(values, "c.toml")
    assert str(refused.value).startswith("c.toml: ")
    assert words in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_file_that_is_none_is_refused(tmp_path):
    with pytest.raises(DataError, match="cannot be read"):
        read_configuration(tmp_path / "absent.toml")
    (tmp_path / "bad.toml").write_text("[")
    with pytest.raises(DataError, match="TOML"):
        read_configuration(tmp_path / "bad.toml")


def test_a_scale_that_is_none_is_refused():
    with pytest.raises(DataError, match="smoke, full, paper"):
        scale("huge")


def test_json_spells_every_default_out():
    assert json.loads(as_json(Configuration()))["training"]["rank"] == 16
