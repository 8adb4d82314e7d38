"""A report whose names are attacks, in the formats that a terminal, a code host and LaTeX read."""

import io
import unicodedata

import pytest
from rich.console import Console

from assay.reports import Column, Fact, Report, Row, Table, print_report, render_html, render_latex, render_markdown

NAME = "a\n::error::b \x1b[2J \u202e| <img src=x onerror=y> [z](javascript:1) ##vso[c]"
TABLE = Table(
    name="scores",
    title=f"Of {NAME}",
    columns=(Column("score", "name"), Column("text", "text")),
    rows=(Row((NAME, NAME), "primary"), Row(("second", NAME))),
    caption=(f"About {NAME}.",),
)
REPORT = Report(
    title=NAME,
    statement=NAME,
    tables=(TABLE,),
    notes=(NAME,),
    data={},
    warning=NAME,
    details=(NAME,),
    facts=(Fact(NAME, NAME, NAME),),
)


def on_a_terminal(report):
    file = io.StringIO()
    print_report(report, Console(file=file, width=60))
    return file.getvalue()


@pytest.mark.parametrize("render", [on_a_terminal, render_markdown, render_latex])
def test_no_name_moves_the_terminal_or_commands_a_log(render):
    text = render(REPORT)
    assert not {unicodedata.category(character) for character in text.replace("\n", "")} & {"Cc", "Cs", "Zl", "Zp"}
    assert "\u202e" not in text
    assert not [command for command in ("::error", "##vso[") if command in text]


def test_a_page_holds_no_character_that_a_terminal_obeys():
    page = render_html(REPORT)
    assert not {unicodedata.category(character) for character in page} & {"Cs", "Zl", "Zp"}
    assert not [character for character in page if unicodedata.category(character) == "Cc" and character not in "\n\t"]
    assert "\u202e" not in page
    assert "\\u001b[2J" in page


def test_no_name_is_markup_in_markdown():
    text = render_markdown(REPORT)
    assert text.count("](javascript") == text.count(r"\](javascript") > 0
    assert text.count("<img") == text.count(r"\<img") > 0
