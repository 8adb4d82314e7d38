"""A run folder gives back what was written, and says in one line what is wrong with it."""

import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from assay.errors import DataError
from assay.leakage import read_run, write_run
from assay.leakage.results import Audit
from assay.types import Sample

MANIFEST = {
    "command": ["assay", "demo"],
    "seconds": 1.5,
    "missing": float("nan"),
    "models": {"target": {"digest": "9b"}},
}


def same(a: object, b: object) -> bool:
    """Equal in every part, NaN being equal to NaN, arrays in type too."""
    if is_dataclass(a) and not isinstance(a, type):
        return type(a) is type(b) and all(same(getattr(a, f.name), getattr(b, f.name)) for f in fields(a))
    if isinstance(a, np.ndarray):
        return isinstance(b, np.ndarray) and a.dtype == b.dtype and np.array_equal(a, b, equal_nan=True)
    if isinstance(a, Mapping):
        return isinstance(b, Mapping) and list(a) == list(b) and all(same(a[k], b[k]) for k in a)
    if isinstance(a, tuple):
        return isinstance(b, tuple) and len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, float) and np.isnan(a):
        return isinstance(b, float) and np.isnan(b)
    return a == b


KINDS = ("demo", "unlabelled", "calibrated", "confounded", "without_blind", "single", "unscorable")


@pytest.mark.parametrize("kind", KINDS)
def test_reading_gives_back_exactly_what_was_written(kind: str, every_audit: dict[str, Audit], tmp_path: Path):
    audit, manifest = read_run(write_run(tmp_path / "run", every_audit[kind], MANIFEST))
    # summaries may come in another order of mapping keys, since JSON is written with sorted ones
    assert same(audit, every_audit[kind])
    assert manifest == {**MANIFEST, "missing": None}


def test_text_that_is_no_valid_unicode_survives(single: Audit, tmp_path: Path):
    odd = replace(single, samples=(Sample("a", "x = '\ud800'\x00 é 𝄞", metadata={"k": [1, None]}),), tokens=())
    audit, _ = read_run(write_run(tmp_path, odd, {}))
    assert audit.samples == odd.samples


def test_an_unscorable_sample_is_a_null_with_its_reason(demo: Audit, tmp_path: Path):
    write_run(tmp_path, demo, {})
    rows = pq.read_table(tmp_path / "scores.parquet").to_pylist()
    assert len(rows) == len(demo.samples) * len(demo.values)
    missing = [row for row in rows if row["value"] is None]
    assert [(r["sample_id"], r["score"]) for r in missing] == [(demo.samples[i].id, "lrr") for i in (3, 150, 260)]
    assert {r["reason"] for r in missing} == {"every token is the model's first choice"}


def test_a_decision_is_positive_exactly_where_the_value_reaches_the_threshold(calibrated: Audit, tmp_path: Path):
    write_run(tmp_path, calibrated, {})
    rows = [r for r in pq.read_table(tmp_path / "decisions.parquet").to_pylist() if r["name"] == "mid_pit"]
    assert len(rows) == len(calibrated.samples)
    assert any(r["positive"] for r in rows)
    assert all(r["positive"] == (r["p_value"] <= 0.05) for r in rows)
    assert all(r["value"] >= r["threshold"] for r in rows if r["positive"])


def test_without_calibration_the_decisions_are_an_empty_table(unlabelled: Audit, tmp_path: Path):
    write_run(tmp_path, unlabelled, {})
    table = pq.read_table(tmp_path / "decisions.parquet")
    assert table.num_rows == 0
    assert table.column_names == ["sample_id", "name", "positive", "value", "threshold", "p_value", "q_value"]


def test_the_summary_is_strict_json_of_schema_3(demo: Audit, tmp_path: Path):
    write_run(tmp_path, demo, {})
    text = (tmp_path / "summary.json").read_text("utf-8")
    summary = json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))
    assert summary["schema"] == 3
    assert list(summary) == sorted(summary)


def test_writing_again_replaces_the_run_and_leaves_nothing_behind(demo: Audit, single: Audit, tmp_path: Path):
    write_run(tmp_path, demo, {})
    before = sorted(p.name for p in tmp_path.iterdir())
    write_run(tmp_path, single, {})
    assert sorted(p.name for p in tmp_path.iterdir()) == before
    assert len(read_run(tmp_path)[0].samples) == 1


def _truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-20])


@pytest.mark.parametrize(
    "name",
    ["manifest.json", "summary.json", "samples.parquet", "scores.parquet", "decisions.parquet", "tokens.parquet"],
)
@pytest.mark.parametrize("harm", [Path.unlink, _truncate], ids=["missing", "truncated"])
def test_a_broken_file_is_named_in_one_line(name: str, harm, single: Audit, tmp_path: Path):
    write_run(tmp_path, single, {"command": "assay audit a b"})
    harm(tmp_path / name)
    with pytest.raises(DataError, match=name) as raised:
        read_run(tmp_path)
    assert "\n" not in str(raised.value)


def test_a_folder_that_is_none_is_reported(tmp_path: Path):
    with pytest.raises(DataError, match="not a run folder"):
        read_run(tmp_path / "nowhere")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"schema": 7}, "schema 7, expected 3"),
        ({"summaries": [{"score": "loss"}]}, "not a whole run folder"),
        ({"kind": "party"}, "not a whole run folder"),
        ({"model": 3}, "int where str is expected"),
    ],
)
def test_a_summary_of_another_shape_is_reported(change: dict[str, object], message: str, single: Audit, tmp_path: Path):
    write_run(tmp_path, single, {})
    path = tmp_path / "summary.json"
    path.write_text(json.dumps(json.loads(path.read_text("utf-8")) | change), "utf-8")
    with pytest.raises(DataError, match=message) as raised:
        read_run(tmp_path)
    assert "\n" not in str(raised.value)


def test_tables_that_contradict_each_other_are_reported(single: Audit, demo: Audit, tmp_path: Path):
    write_run(tmp_path / "a", single, {})
    write_run(tmp_path / "b", demo, {})
    (tmp_path / "b" / "samples.parquet").replace(tmp_path / "a" / "samples.parquet")
    with pytest.raises(DataError, match="300 samples"):
        read_run(tmp_path / "a")


def test_a_folder_that_cannot_be_made_is_reported(single: Audit, tmp_path: Path):
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match="cannot write the run folder"):
        write_run(tmp_path / "file" / "run", single, {})
