"""From replies to code, and placeholders for addresses and numbers."""

import ast

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from assay_lab.rewrites.anonymising import anonymised
from assay_lab.rewrites.cleaning import by_printed_expressions, clean_reply, normalised
from assay_lab.rewrites.rules import RemovalRule

CODE = "def f(c):\n    return c\n"
LINES = st.lists(st.text(st.characters(codec="ascii", exclude_characters="`~\r\n"), max_size=20), max_size=8)


@pytest.mark.parametrize(
    "reply",
    [
        CODE,
        f"```python\n{CODE}```",
        f"```py\n{CODE}```\n",
        f"``` Python ```\n{CODE}",
        f"``` python ```\n```python\n{CODE}```",
        f"python\n{CODE}",
        f"Python:\n{CODE}",
        f"```python\n{CODE}",
        f"{CODE}```",
        f"~~~\n{CODE}~~~",
        f"Here is the code:\n\n```python\n{CODE}```\nI renamed a variable.",
        f"```python\r\n{CODE}```".replace("\n", "\r\n"),
        f"\n\n{CODE}\n\n",
    ],
)
def test_fences_and_the_name_of_the_language_are_taken_off(reply):
    assert clean_reply(reply, "python").text == CODE


@pytest.mark.parametrize(
    ("reply", "rule"),
    [
        ("", RemovalRule.EMPTY),
        (" \n\t\n", RemovalRule.EMPTY),
        ("```python\n```", RemovalRule.EMPTY),
        ("python\n", RemovalRule.EMPTY),
        ("C# code:\n```java\nclass A {}\n```", RemovalRule.ANOTHER_LANGUAGE),
        (f"``` C++ ```\n{CODE}", RemovalRule.ANOTHER_LANGUAGE),
        (f"```python\n{CODE}```\nor\n```python\n{CODE}```", RemovalRule.SEVERAL_BLOCKS),
        (f"Here it is:\n```python\n{CODE}", RemovalRule.BROKEN_FENCE),
    ],
)
def test_replies_without_clear_code_are_removed(reply, rule):
    assert clean_reply(reply, "python").fault == rule


@given(LINES)
def test_code_comes_back_unchanged_from_a_fence(lines):
    code = normalised("\n".join(lines))
    clean = clean_reply(f"```python\n{code}```", "python")
    assert clean.text == code if code.strip() else clean.fault == RemovalRule.EMPTY


@given(st.text())
def test_any_reply_gives_code_in_one_form_or_a_rule(reply):
    clean = clean_reply(reply, "python")
    assert (clean.fault is None) == bool(clean.text.strip())
    assert normalised(clean.text) == clean.text
    assert "\r" not in clean.text


@given(LINES)
def test_cleaning_twice_changes_nothing_more(lines):
    code = "x = 0\n" + "\n".join(lines)
    once = clean_reply(code, "python").text
    assert clean_reply(once, "python").text == once


def test_the_printed_expressions_remove_every_c():
    """Figure 9: `c|C` has neither an anchor nor a line end."""
    assert by_printed_expressions("```c\nint count(char c);\n```", "c") == "\nint ount(har );\n"
    assert clean_reply("```python\nimport os\n```", "python", "paper").text == "import os\n"


@pytest.mark.parametrize(
    ("text", "language", "expected"),
    [
        ('x = "https://a.org/b?c=d#e"\n', "python", 'x = "[URL]"\n'),
        ("# see https://a.org/b.\n", "python", "# see [URL].\n"),
        ("# (www.a.org/b)\n", "python", "# ([URL])\n"),
        ("// mail me@a.org, now\n", "c", "// mail [EMAIL], now\n"),
        ("/* call (555) 123-4567 */\n", "c", "/* call [PHONE NUMBER] */\n"),
        ('x = "+1 555-123-4567"\n', "python", 'x = "[PHONE NUMBER]"\n'),
        ("# 555-123-4567(555) 123-4567\n", "python", "# [PHONE NUMBER][PHONE NUMBER]\n"),
        ("y = a@b.T\n", "python", "y = a@b.T\n"),
        ("n = 555 - 123 - 4567\n", "python", "n = 555 - 123 - 4567\n"),
        ('t = "1577836800 2019-12-31 127.0.0.1 1.234.5678.9"\n', "python", None),
        ('u = f"https://{host}/x"\n', "python", None),
        ('u = "http://%s/x\\n"\n', "python", 'u = "[URL]\\n"\n'),
    ],
)
def test_addresses_and_numbers_are_replaced(text, language, expected):
    assert anonymised(text, language) == (text if expected is None else expected)


PARTS = ["https://", "http://", "www.", "a.org", "me@", "@", ".", "555-123-4567", "(555) 123-4567", "+1 ", "\\", "# "]
PARTS += list(" \n\"'x=()[]{},1-/")
PIECES = st.lists(
    st.sampled_from(PARTS),
    max_size=25,
).map("".join)


@example("# 555-123-4567(555) 123-4567", "python")
@example("# +1 555-123-4567+1 555-123-4567(555) 123-4567", "python")
@given(PIECES, st.sampled_from(["python", "c", "java"]))
def test_replacing_twice_changes_nothing_more(text, language):
    once = anonymised(text, language)
    assert anonymised(once, language) == once


@given(PIECES)
def test_code_that_parses_still_does(text):
    literal = f"# {text!r}\nx = {text!r}\n"
    ast.parse(anonymised(literal, "python"))


@given(st.text(st.characters(codec="ascii", exclude_characters=":@."), max_size=60))
def test_text_without_an_address_or_a_number_stays(text):
    if not any(character.isdigit() for character in text):
        assert anonymised(text, "python") == text


def test_the_printed_expressions_hardly_match():
    """Figure 10: the expression of addresses needs two closing braces."""
    text = '# https://a.org/b me@a.org\nx = "call 555-123-4567"\n'
    assert anonymised(text, "python", "paper") == text.replace("me@a.org", "[EMAIL]")
    assert anonymised("http:// }}", "python", "paper") == "http:// }}"
    assert anonymised("https://a}}}", "python", "paper") == "[URL]"
