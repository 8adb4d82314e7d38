"""Charts are valid Vega-Lite, and their axes are those of the numbers."""

import math
import os
import re
import subprocess
import sys
from functools import partial

import altair as alt
import numpy as np
import pytest

from assay.evaluation import Estimate, unknown
from assay.reports import Axes, Curve, Figure, Series, histogram, line_chart, roc_chart, svg
from assay.reports.charts import grows_by_factors, histogram_edges, theme
from assay.reports.drawing import VEGA_LITE, drawing

WINDOWS = (7, 15, 30, 60, 120, 240, 480)
CURVE = Curve("score", np.linspace(0, 1, 50), np.linspace(0, 1, 50) ** 0.5)


def lines(*xs: float, names: tuple[str, ...] = ("a", "b")) -> list[Series]:
    points = {float(x): Estimate(0.5 + i / 100, 0.4, 0.7) for i, x in enumerate(xs)}
    return [Series(name, points) for name in names]


def figure(chart) -> Figure:
    return Figure("name", "The <title>", "The & numbers", chart)


def picture(*xs: float, names: tuple[str, ...] = ("a", "b")) -> str:
    return svg(figure(partial(line_chart, lines(*xs, names=names), Axes("x", "y"))))


def ticks(picture: str) -> list[tuple[str, float]]:
    """The labels under the horizontal axis, each with its place."""
    labels = re.findall(r'text-anchor="middle" transform="translate\(([\d.]+),16\)"[^>]*>([^<]*)<', picture)
    return [(label, float(place)) for place, label in labels]


@pytest.mark.parametrize(
    "chart",
    [
        partial(line_chart, lines(1, 3, 5), Axes("x", "y", chance=0.5)),
        partial(line_chart, lines(*range(1, 40)), Axes("x", "y", percent=True)),
        partial(line_chart, lines(0, 1, 4), Axes("x", "y", labels={0: "never", 1: "1", 4: "4"}, range=(0.3, 1))),
        partial(roc_chart, [CURVE], x="FPR", y="TPR"),
        partial(roc_chart, [CURVE, Curve("blind", CURVE.fpr, CURVE.fpr)], baseline="blind", x="f", y="t", limit=0.1),
        partial(histogram, {"a": np.arange(9.0), "b": np.arange(5.0)}, "value"),
        partial(histogram, {"p": np.linspace(0, 1, 99)}, "p", edges=np.linspace(0, 1, 21), level=0.05),
    ],
)
def test_every_chart_is_valid_vega_lite_and_can_be_drawn(chart):
    chart().to_dict(validate=True)
    drawn = svg(figure(chart))
    assert drawn.startswith("<svg ")
    assert "NaN" not in drawn


def test_the_drawing_library_knows_the_version_that_altair_writes():
    assert alt.SCHEMA_VERSION.startswith(f"v{VEGA_LITE}")


def test_a_picture_is_described_for_readers_who_cannot_see_it():
    drawn = picture(1, 3, 5)
    assert '<title id="name-title">The &lt;title&gt;</title>' in drawn
    assert '<desc id="name-description">The &amp; numbers</desc>' in drawn
    assert 'aria-labelledby="name-title name-description"' in drawn


def test_the_same_figure_is_the_same_picture():
    assert picture(1, 3, 5) == picture(1, 3, 5)


def test_colours_are_variables_of_the_page():
    colours = set(re.findall(r'(?:stroke|fill)="([^"]+)"', picture(1, 3, 5)))
    assert colours <= {"none", "transparent", *(colour for colour in colours if colour.startswith("var(--"))}


def test_a_chart_that_cannot_be_drawn_costs_one_line_and_not_the_report():
    def broken() -> alt.Chart:
        raise RuntimeError("no <engine>\nsecond line")

    assert str(drawing(figure(broken))) == (
        '<p class="small soft">This figure could not be drawn: no &lt;engine&gt;</p>'
    )


@pytest.mark.skipif(os.name != "posix", reason="no limits of the address space")
def test_a_limit_of_the_address_space_costs_the_pictures_and_not_the_process():
    program = (
        "import resource; resource.setrlimit(resource.RLIMIT_AS, (4 * 10**9,) * 2)\n"
        "from assay.reports import drawing; import sys\n"
        "print(drawing.drawing(None))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, "ulimit -v" in done.stdout) == (0, True), done.stderr


@pytest.mark.parametrize(
    ("numbers", "expected"),
    [
        (WINDOWS, True),
        ((1_000, 10_000, 100_000), True),
        ((1, 2, 3, 5, 10, 20), True),
        ((1, 3, 5), False),
        ((1, 11, 21, 31, 41), False),
        ((0, 1, 10, 100), False),
        ((-1, 10, 100), False),
        ((1, 1000), False),
        ((), False),
    ],
)
def test_numbers_that_grow_by_factors_over_a_decade_are_distinguished_from_those_that_grow_by_steps(numbers, expected):
    assert grows_by_factors(numbers) is expected


def test_on_a_logarithmic_axis_every_number_stands_at_its_tick():
    labels = ticks(picture(*WINDOWS))
    assert [label for label, _ in labels] == [str(window) for window in WINDOWS]
    (_, first), *_, (_, last) = labels
    for (_, place), window in zip(labels, WINDOWS, strict=True):
        assert (place - first) / (last - first) == pytest.approx(math.log(window / 7) / math.log(480 / 7), abs=0.01)


def test_large_numbers_are_shortened():
    assert [label for label, _ in ticks(picture(1_000, 10_000, 1_000_000))] == ["1k", "10k", "1M"]


def test_few_numbers_have_a_point_and_a_tick_each_and_many_do_not():
    assert [label for label, _ in ticks(picture(1, 3, 5))] == ["1", "3", "5"]
    assert [label for label, _ in ticks(picture(0.5, 1, 1.5))] == ["0.5", "1", "1.5"]
    assert picture(1, 3, 5).count("mark-symbol") > picture(*range(40)).count("mark-symbol")


@pytest.mark.parametrize("names", [("first",), ("first", "second")])
def test_every_line_has_a_width(names):
    assert 'stroke-width="2.5"' in picture(1, 3, 5, names=names)


def test_labelled_points_stand_at_even_distances():
    axes = Axes("doses", "AUROC", labels={0: "never", 1: "1", 32: "32"})
    labels = ticks(svg(figure(partial(line_chart, lines(0, 1, 32), axes))))
    assert [label for label, _ in labels] == ["never", "1", "32"]
    assert labels[1][1] - labels[0][1] == pytest.approx(labels[2][1] - labels[1][1], abs=1)


def test_nothing_measured_is_an_empty_picture():
    assert "<svg" in svg(figure(partial(line_chart, [Series("a", {1.0: unknown()})], Axes("x", "y"))))


def test_the_theme_is_the_pages():
    specification = theme(line_chart(lines(1, 3, 5), Axes("x", "y")))
    assert specification["config"]["background"] is None
    assert "title" not in specification


def test_bins_leave_out_the_outermost_values_and_exist_where_all_values_are_equal():
    edges = histogram_edges(np.append(np.linspace(0, 1, 1000), 1e6))
    assert edges[-1] < 2
    assert np.all(np.diff(histogram_edges(np.ones(5))) > 0)
