"""The figures of an audit: which there are, what they show, and what they say to readers who cannot see them."""

import re
from dataclasses import replace
from xml.etree import ElementTree as ET

import numpy as np
import pytest

from assay.leakage.description.figures import dose_figures, figures, histograms, p_value_figures, roc_figures
from assay.leakage.results import Audit
from assay.reports import Figure, area_with_interval, svg


@pytest.fixture(scope="module")
def drawings(demo: Audit, calibrated: Audit) -> list[str]:
    """Every kind of figure, drawn."""
    shown = replace(demo, values={"mid_pit": demo.values["mid_pit"]})
    kinds: list[Figure] = [*roc_figures(demo), *dose_figures(demo), *histograms(shown), *p_value_figures(calibrated)]
    return [svg(figure) for figure in kinds]


def test_a_drawing_is_well_formed_and_described_to_those_who_cannot_see_it(drawings: list[str]):
    for drawing in drawings:
        root = ET.fromstring(drawing)  # noqa: S314  our own drawing
        assert root.get("role") == "img"
        described = {node.get("id"): node.text for node in root if node.tag in {"title", "desc"}}
        assert list(described) == (root.get("aria-labelledby") or "").split()
        assert all(described.values())


def test_a_drawing_loads_nothing_and_takes_its_colours_from_the_page(drawings: list[str]):
    for drawing in drawings:
        assert "http" not in drawing
        painted = set(re.findall(r'(?:fill|stroke)="([^"]+)"', drawing)) - {"none", "transparent"}
        assert painted
        assert all(colour.startswith("var(--") for colour in painted)


@pytest.mark.slow
def test_ids_are_unique_over_the_figures_of_a_page(drawings: list[str]):
    ids = [name for drawing in drawings for name in re.findall(r'\bid="([^"]+)"', drawing)]
    assert len(ids) == len(set(ids))
    referred = {name for drawing in drawings for name in re.findall(r"url\(#([^)]+)\)", drawing)}
    assert referred <= set(ids)


def test_roc_shows_the_primary_score_three_others_the_blind_baseline_and_chance(demo: Audit):
    whole, low = map(svg, roc_figures(demo))
    labels = re.findall(r">([^<>]+)</text>", whole)
    for name in ("mid_pit", "bag of words (blind)", "chance"):
        assert name in labels
    assert len([score for score in demo.values if score in labels]) == 4
    assert "10%" in re.findall(r">([^<>]+)</text>", low)


def test_without_labels_there_is_no_roc_and_without_doses_no_figure_by_dose(unlabelled: Audit):
    assert roc_figures(unlabelled) == ()
    assert dose_figures(unlabelled) == ()
    assert p_value_figures(unlabelled) == ()


def test_the_first_figure_is_the_one_that_the_statement_is_about(every_audit: dict[str, Audit]):
    first = {kind: next((figure.name for figure in figures(audit)), None) for kind, audit in every_audit.items()}
    assert first == {
        "demo": "dose-auroc", "unlabelled": "histogram-0", "calibrated": "p-values", "confounded": "dose-auroc",
        "without_blind": "roc", "single": "histogram-0", "unscorable": None,
    }  # fmt: skip


def test_the_description_holds_the_figures(demo: Audit):
    area = area_with_interval(demo.summary("mid_pit").ranking.auroc)
    assert f"mid_pit AUROC {area}" in roc_figures(demo)[0].description


def test_the_figures_of_the_doses_are_those_of_the_table(demo: Audit):
    area, flagged = dose_figures(demo)
    for point in demo.summary("mid_pit").doses:
        assert f"seen {point.dose:g} times {area_with_interval(point.auroc)}" in area.description
    assert "never seen" in flagged.description


def test_a_score_without_values_has_no_histogram_and_a_single_value_has_one(single: Audit, unscorable: Audit):
    assert histograms(unscorable) == ()
    (figure,) = histograms(replace(single, values={"mid_pit": np.array([-1.25])}))
    assert "<svg" in svg(figure)


def test_the_primary_score_is_always_shown_and_the_others_are_choices(demo: Audit):
    first, *others = histograms(demo)
    assert (first.title, first.choice) == ("Values of mid_pit", "")
    assert [figure.choice for figure in others] == [name for name in demo.values if name != "mid_pit"]


def test_words_in_a_drawing_are_escaped(unlabelled: Audit):
    odd = replace(
        unlabelled,
        values={"<b>&x": unlabelled.values["mid_pit"]},
        summaries=(replace(unlabelled.summaries[0], score="<b>&x"),),
        primary="<b>&x",
    )
    (figure,) = histograms(odd)
    assert "<b>" not in svg(figure)
    ET.fromstring(svg(figure))  # noqa: S314  our own drawing
