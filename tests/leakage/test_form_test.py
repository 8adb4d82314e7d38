"""The residual beside placebos: what ships, and the power that follows from the rule."""

import json
from importlib.resources import files

import numpy as np
import pytest

from assay.leakage.form_test import LEAK, form_test, groups_needed, placebos, power
from assay.types import Sample


@pytest.mark.parametrize("parent", [False, True])
def test_the_figures_of_the_placebos_follow_from_the_residuals_that_ship_with_them(parent):
    content = json.loads(files("assay.leakage").joinpath("placebos.json").read_text("utf-8"))
    own, shipped = content["parent" if parent else "control"], placebos(parent=parent)
    values = np.array([entry["residual"] for entry in own["residuals"] if entry["supported"] >= 0.8])
    median = np.median(values)
    assert shipped.count == len(values) >= 20
    assert shipped.median == pytest.approx(median, abs=0.002)
    assert shipped.above == pytest.approx(np.sqrt(np.square(values - median)[values > median].mean()), abs=0.005)
    assert shipped.below == pytest.approx(np.sqrt(np.square(values - median)[values < median].mean()), abs=0.005)
    assert shipped.forms == len({entry["form"] for entry in own["residuals"] if entry["supported"] >= 0.8})
    assert np.mean(values > shipped.margin) <= 0.06
    assert shipped.floor < shipped.median < shipped.margin


def test_power_rises_with_the_leak_and_with_the_groups_and_a_parent_finds_more():
    by_share = [power(35, share, parent=True) for share in (0.0, 0.1, 0.2, 0.5)]
    assert by_share == sorted(by_share)
    assert by_share[0] < 0.08
    assert power(200, parent=True) > power(20, parent=True)
    assert power(35, parent=True) > power(35, parent=False)


def test_the_groups_that_are_needed_are_those_at_which_the_power_is_enough():
    needed = groups_needed(parent=True)
    assert power(needed, parent=True) >= 0.8
    assert groups_needed(parent=False) is None  # forms differ by too much


def test_what_a_leak_may_hide_is_stated_as_a_share():
    random = np.random.default_rng(0)
    second = random.normal(-1, 0.2, 160)
    texts = [Sample(str(at), "x" * 300, group=str(at // 4)) for at in range(160)]
    groups = [sample.group for sample in texts]
    scores = second + random.normal(0, 0.1, 160)
    test = form_test(
        (scores, scores),
        ({"mid_pit": second}, {"mid_pit": second}),
        (texts, texts),
        (groups, groups),
        "second",
        parent=True,
    )
    assert test.residual.estimate.value == pytest.approx(0, abs=1e-6)
    assert test.hidden_share == pytest.approx(LEAK * test.hidden / test.effect)
    assert not test.is_familiar
    assert form_test((scores, scores), ({}, {}), (texts, texts), (groups, groups), "second", parent=True) is None
