"""Figures are self-contained drawings that carry their own description."""

import re
from dataclasses import replace
from xml.etree import ElementTree as ET

import numpy as np
import pytest

from assay.leakage.results import Audit
from assay.pages import figures


@pytest.fixture(scope="module")
def drawn(demo: Audit, calibrated: Audit) -> list[figures.Figure]:
    """Every kind of figure."""
    shown = replace(demo, values={"mid_pit": demo.values["mid_pit"]})
    found = [*figures.roc(demo), *figures.dose_response(demo), *figures.histograms(shown).values()]
    p_values = figures.p_values(calibrated)
    assert p_values is not None
    return [*found, p_values]


def test_a_drawing_is_well_formed_and_told_to_those_who_cannot_see_it(drawn: list[figures.Figure]):
    for figure in drawn:
        root = ET.fromstring(figure.svg)  # noqa: S314  our own drawing
        assert root.get("role") == "img"
        told = {node.get("id"): node.text for node in root if node.tag in {"title", "desc"}}
        assert list(told) == (root.get("aria-labelledby") or "").split()
        assert all(told.values())


def test_a_drawing_loads_nothing_and_takes_its_colours_from_the_page(drawn: list[figures.Figure]):
    for figure in drawn:
        assert "http" not in figure.svg
        painted = set(re.findall(r'(?:fill|stroke)="([^"]+)"', figure.svg)) - {"none", "transparent"}
        assert painted
        assert all(colour.startswith("var(--") for colour in painted)


def test_ids_are_unique_over_the_figures_of_a_page(drawn: list[figures.Figure]):
    ids = [found for figure in drawn for found in re.findall(r'\bid="([^"]+)"', figure.svg)]
    assert len(ids) == len(set(ids))
    referred = {found for figure in drawn for found in re.findall(r"url\(#([^)]+)\)", figure.svg)}
    assert referred <= set(ids)


def test_roc_shows_the_primary_score_three_others_the_blind_baseline_and_chance(demo: Audit):
    whole, low = figures.roc(demo)
    labels = re.findall(r">([^<>]+)</text>", whole.svg)
    for name in ("mid_pit", "bag of words (blind)", "chance"):
        assert name in labels
    assert len([score for score in demo.values if score in labels]) == 4
    assert "10%" in re.findall(r">([^<>]+)</text>", low.svg)


def test_without_labels_there_is_no_roc_and_without_doses_no_dose_response(unlabelled: Audit):
    assert figures.roc(unlabelled) == ()
    assert figures.dose_response(unlabelled) == ()
    assert figures.p_values(unlabelled) is None


def test_the_description_holds_the_figures(demo: Audit):
    found = demo.summary("mid_pit").ranking
    assert found is not None
    assert f"mid_pit AUROC {found.auroc}" in figures.roc(demo)[0].description


def test_a_score_without_values_has_no_histogram_and_one_value_has_one(single: Audit, unscorable: Audit):
    assert figures.histograms(unscorable) == {}
    one = replace(single, values={"mid_pit": np.array([-1.25])})
    assert list(figures.histograms(one)) == ["mid_pit"]


def test_words_in_a_drawing_are_escaped(unlabelled: Audit):
    odd = replace(
        unlabelled,
        values={"<b>&x": unlabelled.values["mid_pit"]},
        summaries=(replace(unlabelled.summaries[0], score="<b>&x"),),
        primary="<b>&x",
    )
    figure = figures.histograms(odd)["<b>&x"]
    assert "<b>" not in figure.svg
    ET.fromstring(figure.svg)  # noqa: S314  our own drawing
