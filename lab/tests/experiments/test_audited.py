"""Models × benchmarks without training: model by model, continued where it stopped, and none is left out silently."""

import json

import pytest

from assay.errors import DataError, ModelError
from assay_lab.experiments import Bench, experiment_named, paper
from assay_lab.experiments.papers import all_hub_ids
from assay_lab.papers.srdetection import audited
from assay_lab.stand_ins.models import architecture_of


@pytest.fixture
def benchmark(tmp_path):
    rows = []
    for at in range(3):
        text = (
            f"def total_{at}(values, start):\n    result = start\n    for value in values:\n        result += value\n"
        )
        rows.append({"id": str(at), "text": text + f"    return result * {at}\n", "language": "python"})
    path = tmp_path / "extra.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.mark.slow
@pytest.mark.parametrize("name", ["srdetection/figure-2", "srdetection/table-9"])
def test_a_model_that_cannot_be_opened_is_named_and_the_others_are_kept(name, benchmark, tmp_path, monkeypatch):
    models = ("builtin:nothing", "builtin:small")
    bench = Bench.of_scale("paper", tmp_path / "out", (0,), {"extra": benchmark}, models=models)
    finding = experiment_named(name).run_on(bench)
    (row,) = finding.table("flagged").rows
    assert row.name == "builtin:small"
    assert 0 <= row.values[0].value <= 1
    assert any(note.startswith("builtin:nothing was not audited: ") for note in finding.notes)
    assert ("builtin:small", "extra") in finding.heat_maps[0].values

    def refuse(model, **_):
        raise ModelError(f"{model} was opened again")

    monkeypatch.setattr(audited, "open_local", refuse)
    again = experiment_named(name).run_on(bench)
    assert again.table("flagged").rows == finding.table("flagged").rows
    with pytest.raises(DataError, match="no model could be audited; builtin:nothing was not audited"):
        experiment_named(name).run_on(
            Bench.of_scale("paper", tmp_path / "new", (0,), {"extra": benchmark}, models=models)
        )


def test_there_are_fifteen_models_of_known_architecture_the_papers_own_first():
    models = paper("srdetection").audited
    assert len(models) == 15
    assert list(models)[:6] == list(paper("srdetection").tables["table-9"].values)
    assert all(map(architecture_of, all_hub_ids()))
