"""Files are cut into functions whose names, lines and texts are those of the file."""

import ast
import textwrap

import pytest

from assay.provenance.functions import functions, pieces

CASES = {
    "python": (
        "class A:\n    @p\n    def f(self):\n        def g(): ...\n\n    async def h(self): ...\n",
        {"A.f": 2, "A.h": 6},
    ),
    "java": (
        (
            "class A {\n  A() { }\n  int f() { return 1; }\n  static class B { void g() {} }\n  abstract int h();\n}\n"
            "record R(int x) { R { } }\n"
        ),
        {"A.A": 2, "A.f": 3, "A.B.g": 4, "R.R": 7},
    ),
    "c": (
        "int g(int);\nstatic char *f(int a)\n{\n  return 0;\n}\nint (*h(void))(int) { return 0; }\n",
        {"f": 2, "h": 6},
    ),
    "cpp": (
        (
            "namespace a {\nclass B {\n public:\n  int f() { return 1; }\n  int later();\n};\n"
            "template <typename T>\nT g(T x) { return x; }\n}\nint a::B::later() { return 2; }\n"
        ),
        {"a.B.f": 4, "a.g": 7, "a.B.later": 10},
    ),
    "javascript": (
        (
            "export function a() { function inner() {} }\nconst b = async (x) => x;\nexports.c = function () {};\n"
            "class D {\n  m() {}\n  static n = () => 2;\n}\n(function () {\n  function e() {}\n})();\n"
            "const o = { 'p': () => 1, q() {} };\nlet u = () => 1, v = () => 2;\n"
        ),
        {"a": 1, "b": 2, "exports.c": 3, "D.m": 5, "D.n": 6, "e": 9, "p": 11, "q": 11, "u": 12, "v": 12},
    ),
    "go": (
        "package a\n\nfunc (s *Server[T]) Run() error {\n\treturn nil\n}\n\nfunc Main() {\n\tfunc() {}()\n}\n",
        {"Server.Run": 3, "Main": 7},
    ),
}


@pytest.mark.parametrize("language", CASES)
def test_names_and_first_lines(language):
    text, expected = CASES[language]
    assert {one.name: one.first_line for one in functions(text, language)} == expected


@pytest.mark.parametrize("language", CASES)
def test_a_functions_lines_are_the_files(language):
    text, _ = CASES[language]
    for one in functions(text, language):
        lines = text.split("\n")[one.first_line - 1 :]
        found = one.text.rstrip("\n").split("\n")
        assert all(part.strip() in line for part, line in zip(found, lines, strict=False))


def test_what_belongs_to_a_function_stands_in_its_text():
    text, _ = CASES["cpp"]
    assert next(one.text for one in functions(text, "cpp") if one.name == "a.g").startswith("template <typename T>\n")
    text, _ = CASES["javascript"]
    assert functions(text, "javascript")[0].text.startswith("export function a()")


def test_methods_are_dedented_so_that_equal_ones_are_one_document():
    method = "    def f(self):\n        return 1\n"
    (one,) = functions("class A:\n" + method, "python")
    assert one.text == textwrap.dedent(method)
    assert ast.parse(one.text)


@pytest.mark.parametrize("text", ["def f(:\n", "x = \0\n", "(" * 100_000])
def test_python_that_does_not_parse_stays_whole(text):
    found = pieces(text, "python")
    assert not found.parsed
    assert [one.kind for one in found.pieces] == ["file"]


def test_tree_sitter_reads_on_after_an_error():
    found = pieces("int f() { return 1; }\n#define X(\nint int int ((\nint g() { return 2; }\n", "c")
    assert found.parsed
    assert "f" in {one.name for one in found.pieces}


def test_a_header_in_cpp_is_read_as_that():
    (one,) = functions("class A { public: int f() { return 1; } };\n", "c")
    assert one.name == "A.f"


@pytest.mark.parametrize(
    ("granularity", "kinds"), [("file", ["file"]), ("function", ["function"]), ("both", ["file", "function"])]
)
def test_granularity(granularity, kinds):
    assert [one.kind for one in pieces("x = 1\n\ndef f():\n    return 1\n", "python", granularity).pieces] == kinds


@pytest.mark.parametrize("around", ["{}", "\n\n{}\n", "{}\n\n"])
@pytest.mark.parametrize(
    ("text", "language"), [("def f():\n    return 1\n", "python"), ("int f(void) { return 1; }\n", "c")]
)
def test_a_file_that_is_one_function_is_one_document_with_its_name(text, language, around):
    file = around.format(text)
    (one,) = pieces(file, language).pieces
    assert (one.kind, one.name, one.text) == ("function", "f", text)
    assert file.splitlines()[one.first_line - 1] == text.splitlines()[0]
    assert [one.kind for one in pieces(file, language, "file").pieces] == ["file"]


def test_a_file_that_says_more_than_its_one_function_stays_whole_beside_it():
    assert [one.kind for one in pieces("# f\ndef f():\n    return 1\n", "python").pieces] == ["file", "function"]


@pytest.mark.parametrize(("text", "language"), [("x = 1\n", "python"), ("fn f() {}", "rust"), ("a b", None)])
def test_a_file_without_functions_stays_whole_under_every_granularity(text, language):
    """Nothing is lost by asking for functions."""
    assert [one.text for one in pieces(text, language, "function").pieces] == [text]


def test_nesting_deeper_than_our_stack():
    assert functions("function f() {}\n" + "[" * 20_000 + "]" * 20_000, "javascript")[0].name == "f"


def test_what_is_not_ascii_keeps_its_place():
    (one,) = functions("// ä\U0001f600\nfunction ü() { return 'ß'; }\n", "javascript")
    assert (one.name, one.first_line, one.text) == ("ü", 2, "function ü() { return 'ß'; }\n")
