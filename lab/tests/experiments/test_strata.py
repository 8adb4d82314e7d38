"""Planted exposure of bugs: pairs are dealt, trained on and told apart."""

import ast
import json
from dataclasses import replace

import numpy as np
import pytest

from assay.errors import DataError
from assay.types import Sample
from assay_lab.bugs.pairs import SamplePair
from assay_lab.experiments import Bench, finding_report
from assay_lab.papers.bugs import strata as module
from assay_lab.papers.bugs.strata import BOTH, BUG, FIX, NEITHER, StrataValues, recovered, with_small_change


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("def f(x):\n    return x + y\n", "def f(x):\n    return x - y\n"),
        ("def f(x):\n    return x is True\n", "def f(x):\n    return x is False\n"),
        ("def f(x):\n    return x\n", None),
        ("def f(x=0): return x + 1", None),
    ],
)
def test_a_bug_is_one_changed_operator_or_constant_behind_the_first_line(before, after):
    assert with_small_change(before) == after
    assert after is None or ast.dump(ast.parse(after)) != ast.dump(ast.parse(before))


def test_a_model_that_gained_on_the_trained_sides_alone_is_read_without_error():
    sides = np.repeat([[0, 0], [0, 1], [1, 0], [1, 1]], 30, axis=0)
    names = np.repeat([NEITHER, BUG, FIX, BOTH], 30)
    sample = [Sample(str(at), "x", group=str(at)) for at in range(120)]
    pairs = tuple(SamplePair(each, each) for each in sample)
    before = np.random.default_rng(0).normal(scale=9, size=(120, 2))
    noise = np.random.default_rng(1).normal(scale=0.01, size=(120, 2))
    run = StrataValues(pairs, names, np.zeros(120, np.bool_), before, before + sides + noise)
    areas = {name: columns["gain over the reference"].value for name, columns in recovered(run).items()}
    assert areas == pytest.approx(dict.fromkeys(areas, 1.0))
    assert abs(recovered(run)["fix against bug"]["without reference"].value - 0.5) < 0.2


@pytest.mark.slow
def test_the_smoke_scale_runs_end_to_end(tmp_path, monkeypatch):
    monkeypatch.setitem(module.SCALES, "smoke", replace(module.SCALES["smoke"], trained=3, calibrating=20, judged=4))
    table = tmp_path / "pairs.jsonl"
    rows = []
    for at in range(33):
        head = f"def total_{at}(values, start):\n    result = start\n"
        text = head + f"    for value in values:\n        result += value * {at}\n"
        rows.append({"id": str(at), "fixed": text + "    return result\n", "buggy": text + "    return start\n"})
    table.write_text("".join(json.dumps(row) + "\n" for row in rows))
    finding = module.strata(Bench.of_scale("smoke", tmp_path, (0,), {str(table): table}))
    assert [row.name for row in finding.table("preference").rows] == [NEITHER, BUG, FIX, BOTH]
    assert next(row.name for row in finding.table("recovery").rows) == "fix against bug"
    assert len(finding.table("alarms").rows) == 2
    assert len(finding_report(finding).tables) == 3


def test_too_few_pairs_are_one_clear_line(tmp_path):
    table = tmp_path / "pairs.jsonl"
    table.write_text(
        '{"id": "a", "fixed": "def f(x):\\n    return x + 1\\n", "buggy": "def f(x):\\n    return x\\n"}\n'
    )
    with pytest.raises(DataError, match="0 different programs of 100 to 1200 characters; expected at least 54"):
        module.strata(Bench.of_scale("smoke", tmp_path, (0,), {str(table): table}))
