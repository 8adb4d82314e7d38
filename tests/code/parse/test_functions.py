"""Functions of a file: names, lines, texts, signatures, documentation and bodies are those of the file."""

import ast
import textwrap

import pytest

from assay.code import Unparsable, functions_in, languages_of_text, parses
from assay.languages import languages_with

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
    "typescript": (
        (
            "export abstract class A<T> {\n  @logged()\n  run(x: T): void { }\n  abstract later(): void;\n"
            "  size = (): number => 1;\n}\nfunction f(x: string): void;\nfunction f(x: any) { }\n"
            "namespace N {\n  export const g = async <T,>(x: T) => x;\n}\ninterface I { m(): void }\n"
        ),
        {"A.run": 2, "A.size": 5, "f": 8, "N.g": 10},
    ),
    "rust": (
        (
            "impl<T> fmt::Display for Pair<T> {\n    #[inline]\n    fn fmt(&self) -> Result { ok() }\n}\n"
            'trait Shape {\n    fn area(&self) -> f64;\n    fn name(&self) -> &str { "shape" }\n}\n'
            "mod tests {\n    fn works() { fn inner() {} }\n}\npub fn main() {}\n"
        ),
        {"Pair.fmt": 2, "Shape.name": 7, "tests.works": 10, "main": 12},
    ),
    "csharp": (
        (
            "namespace N\n{\n  class A : B\n  {\n    public A(int x) { }\n    [Test]\n    int F() => 1;\n"
            "    int P { get { return 1; } }\n    abstract int H();\n  }\n}\n"
        ),
        {"N.A.A": 5, "N.A.F": 6, "N.A.P.get": 8},
    ),
    "kotlin": (
        (
            "class A(val x: Int) {\n  constructor(): this(1) { }\n  val y: Int\n    get() = x\n  fun f() = 1\n"
            "  abstract fun later()\n  companion object {\n    fun g() {}\n  }\n}\nfun String.h(): Int = 2\n"
        ),
        {"A.constructor": 2, "A.get": 4, "A.f": 5, "A.g": 8, "h": 11},
    ),
    "php": (
        (
            "<?php\nnamespace N;\nclass A {\n  #[Pure]\n  public function f($x) { return 1; }\n"
            "  abstract function g();\n}\nfunction h() { $a = function () {}; }\n"
        ),
        {"A.f": 4, "h": 8},
    ),
    "ruby": (
        "module M\n  class A < B\n    def f?(x)\n      x\n    end\n\n    def self.g = 1\n  end\nend\n",
        {"M.A.f?": 3, "M.A.g": 7},
    ),
    "swift": (
        (
            "class A {\n  init(x: Int) { }\n  func f() -> Int { 1 }\n}\nextension B {\n  static func g() { }\n}\n"
            "protocol P { func later() }\nfunc h() { }\n"
        ),
        {"A.init": 2, "A.f": 3, "B.g": 6, "h": 9},
    ),
    "scala": (
        (
            "object O {\n  def f(x: Int) = x\n  @tailrec\n  def g: Int = { 1 }\n}\ntrait T {\n  def later: Int\n"
            "  override def h() = 2\n}\n"
        ),
        {"O.f": 2, "O.g": 3, "T.h": 8},
    ),
}


def test_every_language_with_functions_is_tested_here():
    assert set(CASES) == set(languages_with("functions"))


@pytest.mark.parametrize("language", CASES)
def test_names_and_first_lines(language):
    text, expected = CASES[language]
    assert {function.name: function.first_line for function in functions_in(text, language)} == expected


@pytest.mark.parametrize("language", CASES)
def test_a_functions_lines_are_the_files(language):
    text, _ = CASES[language]
    for function in functions_in(text, language):
        lines = text.split("\n")[function.first_line - 1 :]
        result = function.text.rstrip("\n").split("\n")
        assert all(part.strip() in line for part, line in zip(result, lines, strict=False))


def test_what_belongs_to_a_function_stands_in_its_text():
    text, _ = CASES["cpp"]
    assert next(function.text for function in functions_in(text, "cpp") if function.name == "a.g").startswith(
        "template <typename T>\n"
    )
    text, _ = CASES["javascript"]
    assert functions_in(text, "javascript")[0].text.startswith("export function a()")


def test_methods_are_dedented_so_that_equal_ones_are_one_document():
    method = "    def f(self):\n        return 1\n"
    (function,) = functions_in("class A:\n" + method, "python")
    assert function.text == textwrap.dedent(method)
    assert ast.parse(function.text)


def test_a_header_in_cpp_is_read_as_that():
    (function,) = functions_in("class A { public: int f() { return 1; } };\n", "c")
    assert function.name == "A.f"


def test_nesting_deeper_than_our_stack():
    assert functions_in("function f() {}\n" + "[" * 20_000 + "]" * 20_000, "javascript")[0].name == "f"


def test_what_is_not_ascii_keeps_its_place():
    (function,) = functions_in("// ä\U0001f600\nfunction ü() { return 'ß'; }\n", "javascript")
    assert (function.name, function.first_line, function.text) == ("ü", 2, "function ü() { return 'ß'; }\n")


# signature, documentation and body: (text, signature, documentation, body)
PARTS = {
    "python": (
        (
            "@cache  # a: b\ndef f(a: dict[str, int] = {1: 2}, *, b=3,  # c: d\n) -> int:  # e\n"
            '    """Add.\n\n    More.\n    """\n    return a\n'
        ),
        "def f(a: dict[str, int] = {1: 2}, *, b=3,  # c: d\n) -> int:",
        "Add.\n\nMore.",
        "return a",
    ),
    "java": (
        (
            "class A {\n  /**\n   * Adds.\n   *\n   * @param a a number\n   */\n"
            "  @Override\n  int f(int a) { return a; }\n}\n"
        ),
        "@Override\n  int f(int a)",
        "Adds.\n\n@param a a number",
        "{ return a; }",
    ),
    "c": ("/* Adds. */\nstatic int f(int a)\n{\n  return a;\n}\n", "static int f(int a)", "Adds.", "{\n  return a;\n}"),
    "cpp": (
        "int x; // not this\n// Adds\n// numbers.\ntemplate <typename T>\nT f(T a) { return a; }\n",
        "template <typename T>\nT f(T a)",
        "Adds\nnumbers.",
        "{ return a; }",
    ),
    "javascript": (
        "// Adds ä.\nexport const f = async (a) => a + 1;\n",
        "export const f = async (a) =>",
        "Adds ä.",
        "a + 1",
    ),
    "go": (
        "// far away\n\n// f adds.\nfunc f(a int) int { return a }\n",
        "func f(a int) int",
        "f adds.",
        "{ return a }",
    ),
    "typescript": (
        "class A {\n  /** Adds. */\n  @logged()\n  f(a: number): number { return a; }\n}\n",
        "f(a: number): number",
        "Adds.",
        "{ return a; }",
    ),
    "rust": (
        "/// Adds\n/// numbers.\n#[inline]\npub fn f(a: i32) -> i32 { a }\n",
        "pub fn f(a: i32) -> i32",
        "Adds\nnumbers.",
        "{ a }",
    ),
    "csharp": (
        "class A {\n  /// Adds.\n  [Pure]\n  int F(int a) { return a; }\n}\n",
        "[Pure]\n  int F(int a)",
        "Adds.",
        "{ return a; }",
    ),
    "kotlin": ("/** Adds. */\nfun f(a: Int): Int = a\n", "fun f(a: Int): Int", "Adds.", "= a"),
    "php": ("<?php\n// Adds.\nfunction f($a) { return $a; }\n", "function f($a)", "Adds.", "{ return $a; }"),
    "ruby": ("# Adds\n# numbers.\ndef f(a) = a\n", "def f(a) =", "Adds\nnumbers.", "a"),
    "swift": ("/// Adds.\nfunc f(a: Int) -> Int { a }\n", "func f(a: Int) -> Int", "Adds.", "{ a }"),
    "scala": ("/** Adds. */\ndef f(a: Int): Int = a\n", "def f(a: Int): Int =", "Adds.", "a"),
}


@pytest.mark.parametrize("language", languages_with("functions"))
def test_signature_documentation_and_body(language):
    text, signature, documentation, body = PARTS[language]
    (function,) = functions_in(text, language)
    assert (function.signature, function.documentation) == (signature, documentation)
    assert text[slice(*function.body)] == body
    assert text[slice(*function.span)].rstrip(";").endswith(body)
    documented = text[slice(*function.documentation_span)]
    assert all(line in documented for line in documentation.splitlines())
    assert textwrap.dedent(text[: function.span.stop]).endswith(function.text.rstrip("\n").splitlines()[-1])


def test_without_a_docstring_comments_above_a_python_function_document_it():
    text = "x = 1  # not this\n\n# Adds\n# numbers.\n@cache\ndef f(): return 1\n"
    (function,) = functions_in(text, "python")
    assert function.documentation == "Adds\nnumbers."
    assert text[slice(*function.documentation_span)] == "# Adds\n# numbers."
    (function,) = functions_in("# far away\n\ndef f(): return 1\n", "python")
    assert (function.documentation, function.documentation_span) == (None, None)


def test_the_body_of_python_begins_behind_the_docstring_with_decorators():
    text = 'def f():\n    "Doc."\n    @cache\n    def g(): ...\n    return g\n'
    (function,) = functions_in(text, "python")
    assert text[slice(*function.body)].startswith("@cache")
    (function,) = functions_in('def f():\n    "Doc."\n', "python")
    assert function.body.start == function.body.stop


def test_elements_of_jsx_are_read_in_typescript():
    (function,) = functions_in("export const App = () => <div>{1}</div>;\n", "typescript")
    assert function.name == "App"


def test_a_language_without_function_syntax_is_refused():
    with pytest.raises(ValueError, match=r"received the language 'lua', expected one .*python, java"):
        functions_in("function f() end", "lua")


@pytest.mark.parametrize(("text", "language"), [("def f(:", "python"), ("x = \0", "python"), ("int f( {", "java")])
def test_what_does_not_parse_is_refused(text, language):
    with pytest.raises(Unparsable, match="does not parse as"):
        functions_in(text, language)


def test_comments_before_thousands_of_functions_take_linear_time():
    """Previous siblings are collected on the way: tree-sitter searches for them from the root."""
    text = "// a\nint f(void) { return 0; }\n" * 20_000
    assert len(functions_in(text, "c")) == 20_000


def test_a_parse_without_an_end_is_given_up(monkeypatch):
    """As of a page of a manual that is read as TSX: the text is in no language then, and nothing hangs."""
    text = "The quick <b> fox (jumps) over 'it's { lazy dog\n" * 500
    with monkeypatch.context() as patch:
        patch.setattr("assay.code.parse.trees.LEAST_STEPS", 0)
        patch.setattr("assay.code.parse.trees.BYTES_A_STEP", 10**6)
        with pytest.raises(Unparsable, match="too many errors"):
            functions_in(text, "java")
        assert not parses(text, "typescript")
        assert languages_of_text(text) == ()
    assert [function.name for function in functions_in("class A { int f() { return 1; } }", "java")]


def test_a_long_comment_of_blanks_comes_to_an_end():
    blanks = " " * 5000
    (function,) = functions_in(f"/*{blanks}x{blanks}y */\nint f(int a) {{ return a + 1; }}\n", "c")
    assert function.documentation == f"x{blanks}y"
