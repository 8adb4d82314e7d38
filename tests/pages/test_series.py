"""Lines over a number: the axis is that of the numbers."""

import math
import re

import pytest

from assay.evaluation.estimate import Estimate
from assay.pages.series import Series, by_factors, line_figure

WINDOWS = (7, 15, 30, 60, 120, 240, 480)


def picture(*places, names=("a", "b")):
    points = {float(x): Estimate(0.5 + i / 100, 0.4, 0.7) for i, x in enumerate(places)}
    return line_figure("name", "title", "caption", [Series(name, points) for name in names], x="x", y="y").svg


def ticks(svg):
    """The numbers under the horizontal axis, each with its place."""
    found = re.findall(r'text-anchor="middle" transform="translate\(([\d.]+),16\)"[^>]*>([^<]*)<', svg)
    return [(label, float(place)) for place, label in found]


@pytest.mark.parametrize(
    ("measured", "logarithmic"),
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
def test_numbers_that_grow_by_factors_over_a_decade_are_told_from_those_that_grow_by_steps(measured, logarithmic):
    assert by_factors(measured) is logarithmic


def test_windows_stand_each_at_its_tick_as_far_apart_as_their_factors():
    found = ticks(picture(*WINDOWS))
    assert [label for label, _ in found] == [str(one) for one in WINDOWS]
    (_, first), *_, (_, last) = found
    for (_, place), window in zip(found, WINDOWS, strict=True):
        assert (place - first) / (last - first) == pytest.approx(math.log(window / 7) / math.log(480 / 7), abs=0.01)


def test_large_numbers_are_shortened():
    assert [label for label, _ in ticks(picture(1_000, 10_000, 1_000_000))] == ["1k", "10k", "1M"]


def test_few_numbers_have_a_point_and_a_tick_each_and_many_do_not():
    assert [label for label, _ in ticks(picture(1, 3, 5))] == ["1", "3", "5"]
    assert [label for label, _ in ticks(picture(1, 5, 10))] == ["1", "5", "10"]
    assert [label for label, _ in ticks(picture(0.5, 1, 1.5))] == ["0.5", "1", "1.5"]
    assert picture(1, 3, 5).count("mark-symbol") > picture(*range(40)).count("mark-symbol")


@pytest.mark.parametrize("names", [("one",), ("one", "two")])
def test_every_line_has_a_width(names):
    svg = picture(1, 3, 5, names=names)
    assert "NaN" not in svg
    assert 'stroke-width="2.5"' in svg


def test_nothing_measured_is_an_empty_picture():
    nothing = {1.0: Estimate(math.nan, math.nan, math.nan)}
    assert "<svg" in line_figure("name", "title", "caption", [Series("a", nothing)], x="x", y="y").svg
