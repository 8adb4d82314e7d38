"""The leak that the demonstration plants: half of a benchmark, in a copy of the model."""

import pytest

from assay.cli import demo
from assay.demo import planted_leak
from assay.errors import MissingExtra
from assay.ground_truth import demo_functions
from assay.models import ModelSettings
from assay.types import Verdict


@pytest.mark.slow
def test_a_copy_is_trained_on_half_of_a_benchmark_and_both_models_are_audited(tmp_path, monkeypatch):
    monkeypatch.setattr(planted_leak, "TASKS", 20)
    monkeypatch.setattr(planted_leak, "UNSEEN", 40)
    monkeypatch.setattr(planted_leak, "LONGEST", 400)
    leak = planted_leak.plant_leak(demo_functions(30), tmp_path / "copy", ModelSettings(cache=False))
    assert (leak.tasks, leak.leaked) == (20, 10)
    assert leak.clean.decision.verdict is not Verdict.CONTAMINATED
    trained, other = (leak.planted.values["mid_pit"][half] for half in (slice(10), slice(10, 20)))
    before = leak.clean.values["mid_pit"][:10]
    assert (trained > before).all()
    assert trained.mean() > other.mean()


def test_sides_share_no_module_and_no_label():
    benchmark, unseen = planted_leak.benchmark_and_unseen(demo_functions(30))
    assert not {sample.group for sample in benchmark} & {sample.group for sample in unseen}
    assert {sample.label for sample in (*benchmark, *unseen)} == {None}


@pytest.mark.slow
def test_without_torch_the_rest_of_the_demonstration_stands(monkeypatch, tmp_path, capsys):
    def lacking(*_, **__):
        raise MissingExtra("torch", purpose="the planted leak")

    monkeypatch.setattr("assay.demo.plant_leak", lacking, raising=False)
    demo.show_planted(demo_functions(10), tmp_path, ModelSettings(cache=False))
    printed = capsys.readouterr()
    assert "the planted leak was left out" in printed.err
    assert printed.out == ""
