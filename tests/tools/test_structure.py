"""The limits that keep the code easy to work in."""

import ast
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import statements  # noqa: E402  scripts beside the package
import structure  # noqa: E402


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
    [
        "loss.backward()",
        "os.replace(a, b)",
        "partial.replace(path)",
        '{"python": 1, "java": 2, "c": 3, "go": 4}',
        'compile(source, "<text>", "exec")',
    ],
)
def test_a_second_way_is_found(text):
    assert messages(structure.second_ways, module(text))
    assert not messages(structure.second_ways, module('re.compile("x")'), module("compile(x)", "python_parser.py"))


def test_code_is_counted_without_docstrings_comments_and_blank_lines(tmp_path):
    path = tmp_path / "module.py"
    path.write_text(
        '"""Doc."""\n\n# why\nx = (\n    1,\n)  # how\n\n\ndef f():\n    """Doc.\n\n    More.\n    """\n    return x\n'
    )
    text = path.read_text()
    assert statements.code_lines(text, ast.parse(text)) == 5
    assert statements.comment_lines(text) == 1


def test_a_circle_of_imports_is_found_once():
    graph = {"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}, "e": set()}
    assert structure.circles(graph) == [frozenset("abc")]


def counts_of(tmp_path, text):
    path = tmp_path / "module.py"
    path.write_text(text)
    return statements.density(path)


@pytest.mark.parametrize(
    ("text", "nested"),
    [
        ("x = [a for a in b]", 0),
        ("x = [a for b in c for a in b]", 1),
        ("x = [[a for a in b] for b in c]", 1),
        ("x = a if b else c", 0),
        ("x = a if b else c if d else e", 1),
        ("x = (a if b else c) + (d if e else f)", 0),
    ],
)
def test_nested_statements_are_found(tmp_path, text, nested):
    counts = counts_of(tmp_path, text)
    assert counts.nested_comprehensions + counts.nested_conditionals == nested


def test_branches_are_counted_as_radon_counts_them(tmp_path):
    text = "def f(a, b):\n    if a and b:\n        return [x for x in a if x]\n    return a or (b if a else 1)\n"
    assert counts_of(tmp_path, text).most_branches == 7


@pytest.mark.slow
def test_the_statements_keep_their_limits():
    assert list(statements.violations(ROOT)) == []


@pytest.mark.parametrize(
    ("decorator", "parameters", "calls"),
    [("", "a, b, c, d", 1), ("@compiled\n", "a, b, c, d", 0), ("", "*values", 0)],
)
def test_compiled_functions_and_those_of_any_number_of_values_need_no_keywords(tmp_path, decorator, parameters, calls):
    package = tmp_path / "package"
    package.mkdir()
    (package / "loops.py").write_text(f"{decorator}def summed({parameters}):\n    return 0\n")
    caller = package / "caller.py"
    caller.write_text("from package.loops import summed\n\nsummed(1, 2, 3, 4)\n")
    assert statements.density(caller).positional_calls == calls
