"""Two texts that differ in layout, comments or docstrings alone have the same tokens."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.authorship import Kind, code_of


def words(text, language="python"):
    return [token.text for token in code_of(text, language).tokens]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("for (i, x) in y:\n\tpass", "for i, x in y:  # pairs\r\n    pass"),
        ("x = (1 + 2)\n", "x = 1 + 2;\n"),
        ('def f(a):\n    """Say so."""\n    return a', "def f(a):\n\n\n    return (a)"),
        ("'''Top.'''\nx = 1", "x=1"),
    ],
)
def test_layout_comments_docstrings_and_grouping_are_left_out(first, second):
    assert words(first) == words(second)


def test_brackets_of_calls_stay():
    assert words("f((a, b))") == ["f", "(", "a", ",", "b", ")"]
    assert words("f()") == ["f", "(", ")"]


def test_a_string_that_is_no_statement_stays():
    assert '"""x"""' in words('y = """x"""\nf(\n    "a"\n)')
    assert '"a"' in words('f(\n    "a"\n)')


def test_docstrings_are_counted():
    assert code_of('def f():\n    """Say so."""\n    pass\n', "python").docstrings == 1
    assert code_of("x = 1\n", "python").docstrings == 0


def test_a_docstring_is_recognised_without_line_ends():
    assert words('def f(a): """Say so.""" return a') == words("def f(a): return a")


def test_kinds_of_tokens():
    kinds = {token.text: token.kind for token in code_of('if x1 == 0.5: s = "a"', "python").tokens}
    assert kinds["if"] is Kind.RESERVED
    assert kinds["x1"] is Kind.NAME
    assert kinds["0.5"] is Kind.NUMBER
    assert kinds['"a"'] is Kind.LITERAL


def test_comments_of_c_are_left_out():
    assert words("int a; // one\n/* two */ int b;", "cpp") == ["int", "a", ";", "int", "b", ";"]


@pytest.mark.slow
@given(st.text(max_size=200), st.sampled_from(["python", "java", "cpp", None]))
def test_any_text_has_tokens_in_ascending_lines(text, language):
    lines = [token.line for token in code_of(text, language).tokens]
    assert lines == sorted(lines)
