"""Files are split into documents: the whole file and its functions."""

import pytest

from assay.corpora.texts import SourceText, parts_of, pieces


@pytest.mark.parametrize("text", ["def f(:\n", "x = \0\n", "(" * 100_000])
def test_python_that_does_not_parse_stays_whole(text):
    found = pieces(text, "python")
    assert not found.parsed
    assert [piece.kind for piece in found.pieces] == ["file"]


def test_tree_sitter_reads_on_after_an_error():
    found = pieces("int f() { return 1; }\n#define X(\nint int int ((\nint g() { return 2; }\n", "c")
    assert found.parsed
    assert "f" in {piece.name for piece in found.pieces}


@pytest.mark.parametrize(
    ("granularity", "kinds"), [("file", ["file"]), ("function", ["function"]), ("both", ["file", "function"])]
)
def test_granularity(granularity, kinds):
    assert [piece.kind for piece in pieces("x = 1\n\ndef f():\n    return 1\n", "python", granularity).pieces] == kinds


@pytest.mark.parametrize("around", ["{}", "\n\n{}\n", "{}\n\n"])
@pytest.mark.parametrize(
    ("text", "language"), [("def f():\n    return 1\n", "python"), ("int f(void) { return 1; }\n", "c")]
)
def test_a_file_that_is_one_function_is_one_document_with_its_name(text, language, around):
    file = around.format(text)
    (piece,) = pieces(file, language).pieces
    assert (piece.kind, piece.name, piece.text) == ("function", "f", text)
    assert file.splitlines()[piece.first_line - 1] == text.splitlines()[0]
    assert [piece.kind for piece in pieces(file, language, "file").pieces] == ["file"]


def test_a_file_that_says_more_than_its_one_function_stays_whole_beside_it():
    assert [piece.kind for piece in pieces("# f\ndef f():\n    return 1\n", "python").pieces] == ["file", "function"]


@pytest.mark.parametrize(("text", "language"), [("x = 1\n", "python"), ("function f() end", "lua"), ("a b", None)])
def test_a_file_without_functions_stays_whole_under_every_granularity(text, language):
    """Nothing is lost by asking for functions."""
    assert [piece.text for piece in pieces(text, language, "function").pieces] == [text]


@pytest.mark.parametrize(
    ("language", "imports"),
    [
        ("python", "import os\nfrom a.b import (\n    c,\n    d,\n)\nfrom . import e\n"),
        ("java", "package a.b;\nimport java.util.List;\nimport static c.D.*;\n"),
        ("c", "#include <stdio.h>\n#  include 'a.h'\n"),
        ("javascript", "import {\n  a,\n  b,\n} from 'c';\nexport * from 'd';\nconst { e } = require('f');\n"),
        ("go", 'package a\nimport (\n\t"fmt"\n\tb "c"\n)\n'),
        ("rust", "use a::{b, c::d};\npub use e::F;\n"),
    ],
)
def test_a_remainder_has_no_imports_and_keeps_its_lines(language, imports):
    heads = {"python": "def f():\n    return 1\n", "go": "func f() {\n}\n", "rust": "fn f() {\n}\n"}
    function = heads.get(language, "function f() {\n}\n" if language == "javascript" else "int f() {\n}\n")
    kept = {"c": "int use = 3;\n", "rust": "const USE: i32 = 3;\n"}.get(language, "package = 3\nuse = imports\n")
    text = imports + kept + 2 * function
    (remainder,) = (part for part in parts_of(SourceText("a", text, language)) if part.kind == "remainder")
    assert remainder.text.split() == kept.split()
    assert remainder.text.count("\n") == text.count("\n")
