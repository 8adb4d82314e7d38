"""No public name of the package means two things."""

import ast
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import structure  # noqa: E402  a script beside the package


def module(path, text):
    return structure.Module(path, text, ast.parse(text))


def messages(*modules):
    return [str(violation) for violation in structure.one_meaning(list(modules))]


@pytest.mark.parametrize(
    "definition",
    [
        "class Row: pass",
        "Row = dict[str, int]",
        "Row: object = list[int]",
        "def rows(): pass",
        "async def rows(): pass",
    ],
)
def test_a_name_of_two_modules_is_reported_at_the_second(definition):
    name = "rows" if "rows" in definition else "Row"
    assert messages(module("scores/a.py", definition), module("testbed/b.py", f"\n{definition}")) == [
        f"src/assay/testbed/b.py:2: {name} is also defined in scores/a.py, expected a name of its own"
    ]


def test_a_class_and_an_alias_of_one_name_collide():
    assert messages(module("scores/a.py", "class Row: pass"), module("testbed/b.py", "Row = dict[str, int]"))


@pytest.mark.parametrize(
    "definition",
    [
        "class _Row: pass",
        "def _rows(): pass",
        "ROWS = 3",
        "rows = []",
        "Row = TypeVar('Row')",
        "P = ParamSpec('P')",
        "def audit(): pass",
        "def outer_{0}():\n    def rows(): pass",
        "class Outer{0}:\n    class Row: pass",
    ],
)
def test_private_names_constants_and_type_variables_may_repeat(definition):
    assert messages(*(module(f"scores/{name}.py", definition.format(name)) for name in "ab")) == []


@pytest.mark.parametrize("folder", ["cli", "leakage/detectors", "code/rename/grammars"])
def test_modules_of_one_protocol_share_names_of_functions_but_not_of_classes(folder):
    assert messages(module(f"{folder}/a.py", "def fit(): pass"), module(f"{folder}/b.py", "def fit(): pass")) == []
    assert messages(module(f"{folder}/a.py", "class Row: pass"), module(f"{folder}/b.py", "class Row: pass"))


def test_two_definitions_in_one_module_are_no_collision():
    assert messages(module("scores/a.py", "if x:\n    pass\ndef rows(): pass\ndef rows(): pass")) == []
