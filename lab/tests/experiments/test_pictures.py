"""Matrices, histograms and points are drawn on the page of a finding, and say what they show in words."""

import json
from functools import partial

import numpy as np
import pytest

from assay.reports import histogram
from assay_lab.experiments import Bench, Finding, experiment_named, finding_report
from assay_lab.experiments.describing import marked, write_finding
from assay_lab.experiments.finding import Picture
from assay_lab.experiments.matrix import MOST_CELLS, scatter, shaded_matrix
from assay_lab.stand_ins.home import MARKER

RANDOM = np.random.default_rng(0)
DRAWN = {
    "matrix": partial(shaded_matrix, RANDOM.random((120, 120))),
    "points": partial(scatter, {"people": RANDOM.random((9, 2)), "a model": RANDOM.random((5, 2))}, x="x", y="y"),
    "bars": partial(histogram, {"seen": RANDOM.normal(size=50)}, "change"),
}


def test_each_kind_of_picture_is_drawn_and_described(tmp_path):
    pictures = tuple(Picture(name, f"The {name}", f"Words of {name}.", draw) for name, draw in DRAWN.items())
    finding = Finding(name="a", title="A", tables=(), notes=(), seeds=(), pictures=pictures)
    page = write_finding(tmp_path, finding).read_text("utf-8")
    assert page.count("<svg") >= len(DRAWN)
    for name in DRAWN:
        assert f"Words of {name}." in page
    assert all(picture.title.startswith(MARKER) for picture in marked(finding).pictures)


def test_a_large_matrix_is_shown_by_the_means_of_blocks():
    values = np.zeros((2 * MOST_CELLS, 2 * MOST_CELLS))
    values[0, 0] = 4.0
    cells = shaded_matrix(values).data.values
    assert len(cells) == MOST_CELLS**2
    assert [cell["shade"] for cell in cells if cell["shade"]] == [1.0]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "drawn"), [("kds/figure-2", 3), ("kds/figure-7", 1)])
def test_matrices_and_histograms_of_the_kernel_divergence_are_drawn(name, drawn, tmp_path):
    rows = [{"text": f"def f_{at}(x):\n    return x * {at} + {at % 7}\n", "label": at % 2} for at in range(24)]
    table = tmp_path / "mine.jsonl"
    table.write_text("".join(json.dumps(row) + "\n" for row in rows))
    finding = experiment_named(name).run_on(Bench.of_scale("smoke", tmp_path, (0,), {"mine": table}))
    assert len(finding.pictures) == drawn
    assert "<svg" in write_finding(tmp_path / "page", finding).read_text("utf-8")


def test_residuals_of_both_regressions_are_drawn(tmp_path):
    finding = experiment_named("bugs/figure-10").run_on(Bench.of_scale("smoke", tmp_path, (0,)))
    assert len(finding_report(finding).figures) == 2
    assert [row.values[0] for row in finding.tables[0].rows] == [56, 56]
