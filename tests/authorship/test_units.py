"""Pieces of code keep their place in the file."""

import pytest

from assay.authorship import added_units, line_range, units_of
from assay.errors import DataError

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


def test_added_lines_of_a_patch():
    (unit,) = added_units(PATCH)
    assert (unit.text, unit.path, unit.first_line, unit.language) == ("y = 2\nw = 4\n", "m.py", 2, "python")


@pytest.mark.parametrize("patch", ["", "no diff", PATCH.replace("+y", " y").replace("+w", " w")])
def test_a_patch_that_adds_nothing_is_refused(patch):
    with pytest.raises(DataError, match="no added lines"):
        added_units(patch)
