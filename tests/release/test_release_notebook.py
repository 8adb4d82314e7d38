"""The notebook docs/release.ipynb runs, and finds the model that was trained on the release, not the other one."""

import ast
import json
from pathlib import Path
from typing import Any

import pytest

NOTEBOOK = Path(__file__).parents[2] / "docs" / "release.ipynb"


def code_cells() -> list[dict[str, Any]]:
    return [cell for cell in json.loads(NOTEBOOK.read_text("utf-8"))["cells"] if cell["cell_type"] == "code"]


@pytest.mark.slow
def test_every_cell_runs_and_the_trained_model_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    names: dict[str, Any] = {}
    for cell in code_cells():
        tree = ast.parse("".join(cell["source"]))
        last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, str(NOTEBOOK), "exec"), names)  # noqa: S102  our own notebook
        if isinstance(last, ast.Expr):
            shown = eval(compile(ast.Expression(last.value), str(NOTEBOOK), "eval"), names)  # noqa: S307  the same
            assert shown is None or "<iframe" in shown._repr_html_()
    assert names["result"].strongest.names.p_value < 1e-3
    assert names["result"].strongest.memorised >= 4
    assert names["placebo"].strongest.names.p_value > 1e-3


def test_the_notebook_holds_no_output() -> None:
    assert not [cell for cell in code_cells() if cell["outputs"]]
