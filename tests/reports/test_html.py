"""The page stands alone, is whole, and does nothing that a sample's text asks for."""

import re
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import altair as alt
import pytest

from assay.errors import DataError
from assay.leakage import describe_audit, describe_run, write_run
from assay.leakage.results import Audit
from assay.reports import Column, Report, Row, Table, render_html
from support.audits import page

Light = Callable[[Audit], Audit]
KINDS = ("demo", "unlabelled", "calibrated", "confounded", "without_blind", "single", "unscorable")
VOID = {"meta", "link", "input", "br", "hr", "img"}
EVIL = "</script><script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">"


@pytest.fixture(scope="module")
def pages(every_audit: dict[str, Audit], light: Light) -> dict[str, str]:
    return {kind: page(light(audit), {"command": ["assay", "demo"]}) for kind, audit in every_audit.items()}


class Structure(HTMLParser):
    """Elements in order, and whether every one that opens closes."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_every_element_that_opens_closes_and_no_id_comes_twice(kind: str, pages: dict[str, str]):
    structure = Structure(pages[kind])
    assert structure.open == []
    ids = [attributes["id"] for _, attributes in structure.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    referred = [
        reference
        for _, attributes in structure.elements
        for name in ("aria-labelledby", "aria-describedby")
        for reference in (attributes.get(name) or "").split()
    ]
    targets = [
        (a.get("href") or "")[1:]
        for tag, a in structure.elements
        if tag == "a" and (a.get("href") or "").startswith("#")
    ]
    assert set(referred) | set(targets) <= set(ids)


@pytest.mark.parametrize("kind", KINDS)
def test_headings_come_in_order(kind: str, pages: dict[str, str]):
    levels = [int(tag[1]) for tag, _ in Structure(pages[kind]).elements if re.fullmatch(r"h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_loaded_from_anywhere(kind: str, pages: dict[str, str]):
    for tag, attributes in Structure(pages[kind]).elements:
        if tag != "a":
            for name in ("src", "href", "srcset", "action", "data", "poster", "xlink:href"):
                assert not re.match(r"\s*(https?:)?//", attributes.get(name) or "")
    assert "@import" not in pages[kind]
    assert not re.search(r"url\(\s*['\"]?(https?:)?//", pages[kind])
    assert "default-src 'none'" in pages[kind]


@pytest.mark.slow
def test_the_warning_stands_above_the_headline(demo: Audit):
    text = render_html(replace(describe_audit(demo), warning="This comparison is confounded."))
    assert text.index("This comparison is confounded") < text.index('id="headline"')


def test_the_page_says_how_to_repeat_the_run(pages: dict[str, str]):
    assert "<code>assay demo</code>" in pages["demo"]


def test_a_method_note_has_its_formula_and_a_link_to_the_paper(pages: dict[str, str]):
    assert "mean ln max(u, 10⁻⁶)" in pages["demo"]
    assert 'href="https://arxiv.org/abs/2306.05540"' in pages["demo"]


def test_the_page_says_when_not_every_sample_has_a_heat_map(demo: Audit, light: Light):
    assert "40 of 300 samples have token shading" in page(light(replace(demo, tokens=demo.tokens[:40])))


def test_untrusted_words_stay_words(unlabelled: Audit, light: Light):
    samples = (replace(unlabelled.samples[0], id=EVIL, text=EVIL, group=EVIL), *unlabelled.samples[1:])
    reasons = {name: (EVIL, *column[1:]) for name, column in unlabelled.reasons.items()}
    text = page(
        light(replace(unlabelled, samples=samples, reasons=reasons, benchmark=EVIL, model=EVIL, notes=(EVIL,))),
        {"command": EVIL, EVIL: EVIL},
    )
    elements = Structure(text).elements
    assert [tag for tag, _ in elements].count("script") == 2
    assert "img" not in [tag for tag, _ in elements]
    assert not [name for _, attributes in elements for name in attributes if name.startswith("on")]


@pytest.mark.slow
def test_ten_thousand_samples_make_a_page_below_six_megabytes(page_of_many: str):
    assert len(page_of_many.encode()) < 6_000_000
    match = re.search(r"([\d,]+) of ([\d,]+) samples have token shading", page_of_many)
    assert match
    shaded, listed = (int(number.replace(",", "")) for number in match.groups())
    assert 500 < shaded < listed >= 10_000


@pytest.mark.slow
def test_a_report_is_drawn_from_a_run_folder_alone(demo: Audit, light: Light, tmp_path: Path):
    manifest = {"command": "assay demo", "seconds": 3.5}
    write_run(tmp_path, light(demo), manifest)
    assert render_html(describe_run(tmp_path)) == page(light(demo), manifest)


def test_a_missing_run_folder_gives_no_report(tmp_path: Path):
    with pytest.raises(DataError, match="not a run folder"):
        describe_run(tmp_path / "none")


def test_the_first_screen_has_the_statement_then_a_picture_and_the_main_figures_then_text(pages: dict[str, str]):
    page_text = pages["demo"]
    places = [page_text.index(part) for part in ('id="headline"', "<svg viewBox", 'class="facts"', 'class="detail"')]
    assert places == sorted(places)


def test_a_figure_that_cannot_be_drawn_costs_a_line(demo: Audit, light: Light):
    def broken() -> alt.Chart:
        raise RuntimeError("no engine")

    report = describe_audit(light(demo))
    figures = (replace(report.figures[0], chart=broken), *report.figures[1:])
    text = render_html(replace(report, figures=figures))
    assert text.count("could not be drawn: no engine") == 1
    assert text.count("<figure>") == len(figures)


def test_a_report_of_words_alone_is_a_whole_page():
    text = render_html(Report("Title", ""))
    assert Structure(text).open == []
    assert "<dialog" not in text


def test_a_section_with_one_table_of_its_title_has_one_heading():
    table = Table("pieces", "Scores", (Column("code", "name"),), (Row(("a.py",)),))
    page = render_html(Report("Code", "", tables=(table,)))
    assert re.findall(r"<h[23][^>]*>Scores<", page) == ['<h2 id="section-1-scores-heading">Scores<']
    assert 'aria-labelledby="section-1-scores-heading"' in page
    assert 'id="pieces-title"' not in page
