"""What weighs nothing as evidence of a copy."""

import pytest

from assay.corpora import Document, Origin, SourceText
from assay.provenance import CodeIndex, trace_file
from assay.provenance.search.copies import _IN_A_DOCUMENT, _IN_A_TEXT, _helpers

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
    assert list(_helpers([*OWN, *helper, *OWN], _IN_A_TEXT)) == [(4, 4 + len(helper))]


def test_a_bundler_may_rename_a_helper_of_a_document_alone():
    helper = ["function Tabs_ownKeys(a) {\n", "  return a;\n", "}\n", "function Tabs_extends(a) { return a; }\n"]
    assert list(_helpers(helper, _IN_A_DOCUMENT)) == [(0, 3), (3, 4)]
    assert not list(_helpers(helper, _IN_A_TEXT))


BODY = """(left, right) {
  const rows = new Map();
  for (const [place, value] of left.entries()) {
    const former = rows.get(value.shape) ?? right.fallback(place);
    if (former.weight > value.weight && !former.locked) rows.set(value.shape, former.merge(value, place));
    else rows.set(value.shape, right.choose(former, value).shifted(-place));
  }
  return [...rows.values()].filter((row) => row.parts.some((part) => part.size * 2 < right.limit));
}
"""


@pytest.mark.parametrize(("source", "is_copy"), [("blend", True), ("_extends", False), ("Tabs_extends", False)])
def test_a_copy_that_takes_the_name_of_a_helper_is_one_and_a_helper_on_both_sides_is_none(tmp_path, source, is_copy):
    text = f"const before = 1;\n\nfunction {source}{BODY}"
    with CodeIndex.create(tmp_path / "index") as index:
        index.add([Document(text, "javascript", "file", None, (Origin("gnu", "a.js", licence="GPL-3.0-only"),))])
        index.commit()
        traced = trace_file(
            SourceText("b.js", f"function _extends{BODY}\nexport const after = 2;\n", "javascript"), index
        )
    assert any(finding.is_copy for finding in traced.findings) is is_copy
