"""The limits that keep the code easy to work in."""

import ast
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import structure  # noqa: E402  a script beside the package


def module(text, path="scores/example.py"):
    return structure.Module(path, text, ast.parse(text))


def messages(check, *modules):
    return [str(violation) for violation in check(list(modules))]


def test_a_generic_name_is_found_outside_a_short_comprehension():
    assert messages(structure.wording, module("found = 1"))
    assert messages(structure.wording, module("def f(one):\n    pass"))
    assert not messages(structure.wording, module("total = sum(one for one in [1])"))


def test_a_question_word_is_found():
    assert messages(structure.wording, module('"""What this is."""'))
    assert not messages(structure.wording, module('"""Whatever it takes."""'))


def test_deep_imports_are_counted():
    sources = [module("from assay.models.open import x\n" * 41), module("", "models/open.py")]
    assert len(messages(structure.deep_imports, *sources)) == 41
    assert not messages(structure.deep_imports, module("from assay.models.open import x"), module("", "models/open.py"))


def test_a_ninth_parameter_is_found_outside_the_command_line():
    text = "def f(a, b, c, d, e, f, *, g, h, i): pass"
    assert messages(structure.parameters, module(text))
    assert not messages(structure.parameters, module(text, "cli/example.py"))


@pytest.mark.parametrize(
    "text",
    ["loss.backward()", "os.replace(a, b)", "partial.replace(path)", '{"python": 1, "java": 2, "c": 3, "go": 4}'],
)
def test_a_second_way_is_found(text):
    assert messages(structure.second_ways, module(text))


def test_code_is_counted_without_docstrings_comments_and_blank_lines(tmp_path):
    path = tmp_path / "module.py"
    path.write_text(
        '"""Doc."""\n\n# why\nx = (\n    1,\n)  # how\n\n\ndef f():\n    """Doc.\n\n    More.\n    """\n    return x\n'
    )
    assert structure.code_lines(path) == 5


def test_a_circle_of_imports_is_found_once():
    graph = {"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}, "e": set()}
    assert structure.circles(graph) == [frozenset("abc")]
