"""What weighs nothing as evidence of a copy."""

import pytest

from assay.provenance.search.copies import _helpers

OWN = ["const own = 1;\n", "function work(a) {\n", "  return a + own;\n", "}\n"]


@pytest.mark.parametrize(
    "helper",
    [
        [
            "var __join = (this && this.__join) || (Object.create ? (function(a) {\n",
            "    a.b();\n",
            "}) : (function(a) {\n",
            "    a.c();\n",
            "}));\n",
        ],
        ["var __toESM = (a, b) => (b = a, __copyProps(\n", "  a,\n", "  b\n", "));\n"],
        ["var __defProp = Object.defineProperty;\n"],
        ["function _interopRequireDefault(a) { return a; }\n"],
        ["async function _asyncToGenerator(a) {\n", "  return a;\n", "}\n"],
    ],
)
def test_functions_that_compilers_write_into_a_file_are_left_out(helper):
    assert list(_helpers([*OWN, *helper, *OWN])) == [(4, 4 + len(helper))]
