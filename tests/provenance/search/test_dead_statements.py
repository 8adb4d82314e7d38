"""Statements without effect are left out of a function that is looked for once more."""

import pytest

from assay.provenance.search.dead_statements import without_dead_statements


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("def f(a):\n    z = 1\n    b = a\n    y = z + 1\n    pass\n    return b\n", [2, 4, 5]),
        ("int f(int a) {\n  int z = 3;\n  a++;\n  const long q = (z - 3) % 7;\n  0;\n  return a;\n}\n", [2, 4, 5]),
        ("function f(a) {\n  let z = 1;\n  var y = [2];\n  const x = 'one';\n  return a;\n}\n", [2, 3, 4]),
    ],
)
def test_assignments_that_nothing_reads_and_values_alone_are_left_out(text, lines):
    bare = without_dead_statements(text)
    left = [number for number, line in enumerate(bare.split("\n"), 1) if not line.strip()]
    assert [number for number in left if number <= text.count("\n")] == lines
    assert bare.count("\n") == text.count("\n")


@pytest.mark.parametrize(
    "text",
    [
        "def f(a):\n    z = 1\n    y = 2\n    return a\n",
        "def f(a):\n    x = a\n    y = x\n    z = y\n    return z\n",
        "def f(self):\n    self.x = 1\n    self.y = 2\n    self.z = 3\n",
        "def f(a):\n    x = g(\n        1)\n    y = g(\n        2)\n    z = g(\n        3)\n",
        "for (;;) {\n  return x == 1;\n  return y == 2;\n  return z == 3;\n}\n",
    ],
)
def test_what_may_have_an_effect_stays(text):
    assert without_dead_statements(text) is None
