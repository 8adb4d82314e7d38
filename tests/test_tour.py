"""The notebook of docs/tour.ipynb runs from a fresh install, and its results show themselves."""

import ast
import json
from pathlib import Path
from typing import Any

import pytest

NOTEBOOK = Path(__file__).parents[1] / "docs" / "tour.ipynb"


def cells() -> list[str]:
    return ["".join(cell["source"]) for cell in json.loads(NOTEBOOK.read_text("utf-8"))["cells"] if is_code(cell)]


def is_code(cell: dict[str, object]) -> bool:
    return cell["cell_type"] == "code"


@pytest.mark.slow
def test_every_cell_runs_and_every_result_is_a_page_or_a_value(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    names: dict[str, Any] = {}
    pages = 0
    for source in cells():
        tree = ast.parse(source)
        last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, str(NOTEBOOK), "exec"), names)  # noqa: S102  our own notebook
        if isinstance(last, ast.Expr):
            shown = eval(compile(ast.Expression(last.value), str(NOTEBOOK), "eval"), names)  # noqa: S307  the same
            pages += hasattr(shown, "_repr_html_") and "<iframe" in shown._repr_html_()
    assert pages == 4
    assert str(names["result"]).startswith("<Audit: Familiar")
    assert names["trace"].matches


def test_the_notebook_holds_no_output() -> None:
    assert not [cell for cell in json.loads(NOTEBOOK.read_text("utf-8"))["cells"] if is_code(cell) and cell["outputs"]]
