"""Text of others in outputs: what reaches a terminal, a log, SARIF, Markdown, CSV and JSON."""

import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.escaping import (
    json_text,
    markdown_text,
    page_text,
    sarif_message,
    spreadsheet_cell,
    visible,
    web_address,
)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("src/a b.py", "src/a b.py"),
        ("Zoë Łukasz 山田", "Zoë Łukasz 山田"),
        ("a\x1b[2Jb", r"a\x1b[2Jb"),
        ("a\n::error::b", r"a\n\x3a:error::b"),
        ("a\r\tb\x07", r"a\r\tb\x07"),
        ("a\x85b\u2028c\x9b", r"a\x85b\u2028c\x9b"),
        ("user\u202egpj.exe", r"user\u202egpj.exe"),
        ("\udc80", r"\udc80"),
        ("##[error]a ##vso[task.b]", r"\x23#[error]a \x23#vso[task.b]"),
        ("std::vector<int>::size", "std::vector<int>::size"),
        ("क्\u200dष", "क्\u200dष"),
        ("ad\u200dmin\u200b", r"ad\u200dmin\u200b"),
        ("\u200b\u200d", r"\u200b\u200d"),
        ("a\u3164b\u2800\U000e0141", r"a\u3164b\u2800\U000e0141"),
    ],
)
def test_a_text_stays_on_its_line_and_runs_nothing(text, shown):
    assert visible(text) == shown


@given(st.text())
def test_nothing_is_left_that_a_terminal_obeys(text):
    shown = visible(text)
    assert not {unicodedata.category(character) for character in shown} & {"Cc", "Cs", "Zl", "Zp"}
    assert visible(shown) == shown
    assert len(shown.splitlines()) <= 1


@pytest.mark.slow
@given(
    st.recursive(
        st.text() | st.integers() | st.none(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
    )
)
def test_json_means_the_same_and_holds_nothing_raw(value):
    for indent, ensure_ascii in ((None, False), (1, True), (1, False)):
        text = json_text(value, indent=indent, ensure_ascii=ensure_ascii)
        assert json.loads(text) == value
        assert visible(text.replace("\n", "")) == text.replace("\n", "")


def test_a_page_shows_what_has_no_width_and_keeps_lines_scripts_and_emoji():
    assert page_text("<p>\nad\u200bmin\ufeff\tक्\u200dष</p>") == "<p>\nad\\u200bmin\\ufeff\tक्\u200dष</p>"
    assert json.loads(page_text('"\U000e0141\u200d\xad"')) == "\U000e0141\u200d\xad"


def test_a_command_in_json_is_broken_by_its_own_escape():
    assert json_text(["##[error]a"]) == '["\\u0023#[error]a"]'


@pytest.mark.parametrize("text", ["=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(1)", "\t=1", "\r=1", "＝1"])
def test_a_formula_is_a_text_in_a_spreadsheet(text):
    assert spreadsheet_cell(text) == f"'{text}"


@pytest.mark.parametrize("text", ["-1", "+3.5", "MBPP/12", "a=b", ""])
def test_other_cells_stay_as_they_are(text):
    assert spreadsheet_cell(text) == text


@pytest.mark.parametrize(
    ("text", "cell"),
    [
        ("a|b", r"a\|b"),
        ("<img src=x>", r"\<img src=x>"),
        ("[a](javascript:b)", r"[a\](javascript:b)"),
        ("![a](http://b/c.png)", r"\![a\](http://b/c.png)"),
        (".812 [.752, .874]", ".812 [.752, .874]"),
    ],
)
def test_a_markdown_text_has_no_markup_of_others(text, cell):
    assert markdown_text(text) == cell


def test_a_sarif_message_has_no_link_of_others():
    assert sarif_message("[a](javascript:b)\\") == r"\[a\](javascript:b)\\"


@pytest.mark.parametrize("address", ["https://example.org/a?b#c", "http://example.org"])
def test_a_web_address_is_linked(address):
    assert web_address(address) == address


@pytest.mark.parametrize(
    "address",
    ["javascript:alert(1)", "JaVaScRiPt:a", "data:text/html,a", "file:///etc/passwd", "//example.org", "/a", "a b",
     "https://a\n.org", "java\tscript:a", "http://[", "https://", "", None],
)  # fmt: skip
def test_nothing_else_is_linked(address):
    assert web_address(address) is None
