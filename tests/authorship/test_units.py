"""Pieces of code keep their place in the file."""

import pytest

from assay.authorship.context import by_scores_in_context, near_lines
from assay.authorship.detecting import by_scores
from assay.authorship.units import (
    LONGEST_TEXT,
    CodeUnit,
    PatchedText,
    added_units,
    code_in_context,
    files_below,
    line_range,
    units_of,
)
from assay.errors import DataError
from assay.models import open_model
from assay.scores import requests
from assay.scoring import plan

TEXT = "import os\n\ndef f(a):\n    return a\n\ndef g(b):\n    return b\n"
PATCH = """diff --git a/m.py b/m.py
--- a/m.py
+++ b/m.py
@@ -1,3 +1,5 @@
 x = 1
+y = 2
 z = 3
+w = 4
 v = 5
"""


def test_functions_with_their_lines():
    units = list(units_of("m.py", TEXT, "python", "function"))
    assert [(unit.name, unit.first_line) for unit in units] == [("f", 3), ("g", 6)]


@pytest.mark.parametrize(("text", "language"), [("x = 1\n", "python"), ("def (", "python"), ("x", None)])
def test_a_file_without_functions_is_one_piece(text, language):
    assert [unit.text for unit in units_of("m.py", text, language, "function")] == [text]


def test_lines_of_a_file():
    unit = line_range("m.py", TEXT, "python", "3-4")
    assert unit.text == "def f(a):\n    return a\n"
    assert unit.first_line == 3


@pytest.mark.parametrize("lines", ["0-1", "3-2", "1-99", "x", "3"])
def test_wrong_lines_are_refused(lines):
    with pytest.raises(DataError, match="FIRST-LAST"):
        line_range("m.py", TEXT, "python", lines)


def test_added_lines_stand_in_the_patched_file_where_it_is_there(tmp_path):
    file = "a = 0\nx = 1\ny = 2\nz = 3\nw = 4\nv = 5\nlast = 6\n"
    patch = PATCH.replace("@@ -1,3 +1,5 @@", "@@ -2,3 +2,5 @@")
    (tmp_path / "m.py").write_text(file)
    for root, text in ((tmp_path, file), (tmp_path / "elsewhere", "x = 1\ny = 2\nz = 3\nw = 4\nv = 5\n")):
        (unit,) = added_units(patch, [files_below(root)])
        assert (unit.text, unit.first_line) == ("y = 2\nw = 4\n", 3)
        assert unit.surroundings.text == text
        assert "".join(text[start:stop] for start, stop in unit.surroundings.spans) == unit.text
        assert [line for _, line in unit.surroundings.lines] == [3, 5]
    (tmp_path / "m.py").write_text(file.replace("z = 3", "z = 4"))
    (unit,) = added_units(patch, [files_below(tmp_path)])
    assert unit.surroundings.text.startswith("x = 1")
    (unit,) = added_units(patch.replace("/m.py", "/../m.py"), [files_below(tmp_path / "elsewhere")])
    assert unit.surroundings.text.startswith("x = 1")


@pytest.mark.parametrize("name", ["loop", "a\0b", "n" * 5000, "../" * 3000, "folder"])
def test_a_name_in_a_patch_that_is_the_path_of_no_file_has_no_text(tmp_path, name):
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "folder").mkdir()
    assert files_below(tmp_path)(name) is None


def test_an_added_line_inside_a_docstring_is_no_code(tmp_path):
    (tmp_path / "m.py").write_text('def f():\n    """Return 1.\n\n    y = 2\n    """\n    return 1\n')
    patch = """--- a/m.py
+++ b/m.py
@@ -1,4 +1,6 @@
 def f():
     \"\"\"Return 1.
+
+    y = 2
     \"\"\"
-    return 0
+    return 1
"""
    (unit,) = added_units(patch, [files_below(tmp_path)])
    code = code_in_context(unit)
    assert [token.text for token in code.tokens] == ["return", "1"]
    assert code.tokens[0].line + unit.first_line - 1 == 6


LINE = "    total = values[0] * weights[0] + values[1]\n"


@pytest.fixture(scope="module")
def copied_line():
    """A patch that adds a copy of the line before it."""
    return added_units(f"--- a/m.py\n+++ b/m.py\n@@ -1,2 +1,3 @@\n def f(values, weights):\n {LINE}+{LINE}")[0]


def test_added_lines_are_scored_given_the_lines_before_them(copied_line):
    """The same line is likelier behind a copy of itself; a piece that is no patch is scored alone."""
    work = plan(requests("loss,entropy"), {"target": open_model("builtin:small")})
    plain = CodeUnit("m.py", LINE, "python")
    scored = by_scores_in_context([plain, copied_line], work)
    assert scored.values[1] > scored.values[0] + 0.5
    assert scored.scores["entropy"][0] != scored.scores["entropy"][1]
    assert scored.values[0] == by_scores_in_context([plain], work).values[0]


def test_each_line_has_its_own_value_and_brackets_have_none(copied_line):
    work = plan(requests("loss"), {"target": open_model("builtin:small")})
    file = CodeUnit("m.py", f"x = [\n]\n{LINE}{LINE}", "python", first_line=10)
    lines, of_patch = by_scores_in_context([file, copied_line], work).lines
    assert [line for line, _ in lines] == [13, 12]  # the copy is likelier than the line that it copies
    assert [line for line, _ in of_patch] == [3]
    assert by_scores([copied_line], work).lines[0][0][0] == 3  # judged alone it keeps its place in the file


def test_added_lines_cost_one_pass_and_one_progress(copied_line):
    texts, steps = [], []
    model = open_model("builtin:small")
    completed = model.completed
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(model, "completed", lambda batch: texts.extend(batch) or completed(batch))
        by_scores_in_context(
            [CodeUnit("m.py", LINE, "python"), copied_line],
            plan(requests("loss,entropy"), {"target": model}),
            lambda done, total: steps.append((done, total)),
        )
    assert texts == [LINE, copied_line.surroundings.text]
    assert steps == [(1, 2), (2, 2)]


def test_added_lines_that_are_too_long_are_not_run():
    added = f"+{'x' * (LONGEST_TEXT + 1)}\n"
    (unit,) = added_units(f"--- /dev/null\n+++ b/m.py\n@@ -0,0 +1,1 @@\n{added}")
    scored = by_scores_in_context([unit], plan(requests("loss"), {"target": open_model("builtin:small")}))
    assert scored.reasons["loss"] == ("longer than 200,000 characters",)


def test_added_lines_of_a_patch():
    (unit,) = added_units(PATCH)
    assert (unit.text, unit.path, unit.first_line, unit.language) == ("y = 2\nw = 4\n", "m.py", 2, "python")


@pytest.mark.parametrize("patch", ["", "no diff", PATCH.replace("+y", " y").replace("+w", " w")])
def test_a_patch_that_adds_nothing_is_refused(patch):
    with pytest.raises(DataError, match="no added lines"):
        added_units(patch)


def test_lines_far_before_a_piece_are_not_read():
    lines = [f"x{number} = {number}" for number in range(100)]
    whole = PatchedText("\n".join(lines), ((41, 41), (100, 100)))
    near = near_lines(whole, characters=20)
    assert near.text == "\n".join([*lines[38:41], *lines[97:]])
    assert near.lines == ((3, 41), (6, 100))
    assert [near.text[start:stop].strip() for start, stop in near.spans] == ["x40 = 40", "x99 = 99"]
    assert near_lines(whole) == whole
    assert near_lines(PatchedText("a\nb\n", ((2, 2),))) == PatchedText("a\nb\n", ((2, 2),))
