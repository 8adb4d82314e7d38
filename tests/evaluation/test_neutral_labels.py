"""Evaluation knows positives and negatives; which label is positive is the caller's."""

import ast
from pathlib import Path

import pytest

import assay.evaluation

MODULES = sorted(Path(assay.evaluation.__file__).parent.glob("*.py"))
LABELS = {"member", "nonmember", "human", "machine"}


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_no_module_of_evaluation_uses_a_label(path):
    tree = ast.walk(ast.parse(path.read_text("utf-8")))
    used = [node for node in tree if isinstance(node, ast.Name | ast.Constant | ast.alias)]
    names = {getattr(node, "id", getattr(node, "value", getattr(node, "name", None))) for node in used}
    assert not {name.lower() for name in names if isinstance(name, str)} & LABELS
