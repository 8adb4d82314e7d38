"""C and C++ with macros that the grammar cannot read: what changes around them, and what does not.

«count» marks a place that changes.
"""

import shutil
import subprocess

import pytest

from assay.code import analysis, difference, variants
from assay.code.parse.trees import raw_tree
from assay.code.rename import hiding
from assay.code.rename.grammars.c import C
from assay.code.rename.hiding import readable
from support.marking import holds, kept, plain

C_TRAPS = {
    "a macro behind a number": """
#define KB *(1 << 10)
int «f»(int «size») { int «limit» = 64 KB; return «size» > «limit» ? 4 KB : «size»; }
""",
    "a macro before a definition": """
#define FORCE_INLINE static inline
FORCE_INLINE int «add»(int «left», int «right») { return «left» + «right»; }
FORCE_INLINE unsigned «twice»(unsigned «value») { return «add»(«value», «value»); }
""",
    "macros that no line of the text defines": """
LIB_API int later(int «amount»);
LIB_API LIB_STATE int «f»(int «x») { return «x»; }
""",
    "a macro with arguments before a declaration": """
LIB_DEPRECATED("use another") LIB_API int f(int «amount»);
int «g»(int «x») { return «x»; }
""",
    "a macro that begins a block": """
int «f»(int *«lock»)
{
    int «count» = 0;
    Py_BEGIN_ALLOW_THREADS
    while (*«lock») { «count»++; }
    Py_END_ALLOW_THREADS
    if («count» > 1) { return 1; }
    return «count»;
}
""",
    "a macro among members": """
typedef struct { OBJECT_HEAD int width; } box;
int «f»(box *«one») { return «one»->width; }
""",
    "conditions within an initializer": """
static int «table»[] = {
    1,
#if WIDE
    2,
#endif
};
int «f»(int «n») { return «n»; }
""".replace("«table»", "table"),
    "declarations in between that do not parse": """
int «before»(int «x») { return «x»; }
int «broken»(int y) { return y +; }
int «after»(int «z») { return «z»; }
""",
    "declarations for C++": """
#ifdef __cplusplus
extern "C" {
#endif
LIB_API int «f»(int «x») { return «x»; }
#ifdef __cplusplus
}
#endif
""",
    "branches that open the same bracket": """
int «f»(int «x»)
{
#ifdef FAST
    if («x» > 1) {
#else
    if («x» > 2) {
#endif
        «x»++;
    }
    return «x»;
}
""".replace("«", "").replace("»", "")
    + "int «g»(int «y») { return «y»; }\n",
    "an inclusion without a name": "#include<> \nint «f»(int «x») { return «x»; }\n",
}


@pytest.mark.parametrize("trap", C_TRAPS)
def test_in_c_just_these_places_change(trap):
    holds(C_TRAPS[trap], "c")


CPP_TRAPS = {
    "a macro before a class": """
class API_EXPORT Box : public Shape { int width; int area(int «scale») { return width * «scale»; } };
int «f»(int «x») { return «x»; }
""",
    "a macro before a function": "API_EXPORT int «f»(int «x») { return «x»; }\n",
}


@pytest.mark.parametrize("trap", CPP_TRAPS)
def test_in_cpp_just_these_places_change(trap):
    holds(CPP_TRAPS[trap], "cpp")


UNCERTAIN = {
    "a word that is hidden": "int f(int size) { return size; }\nint broken(int size { return +; }\n",
    "a member of that name": "int f(int size, T *t) { return size + t->size; }\nLIB_API int g(void);\n",
    "a macro's argument": "int f(int size) { return size; }\nLIB_MADE(size) int g(void);\n",
    "a line of the preprocessor": "int f(int size) { return size; }\n#define OTHER size\nLIB_API int g(void);\n",
}


@pytest.mark.parametrize("name", UNCERTAIN)
def test_where_the_text_is_not_read_in_full_a_name_changes_only_if_all_of_its_places_are_certain(name):
    assert kept(UNCERTAIN[name], "c")["size"]
    assert "size" not in {entry.name for entry in analysis(UNCERTAIN[name], language="c").names}


KEPT = {
    "a keyword behind a macro": (
        "int f(int a)\n{\n    Py_END_ALLOW_THREADS\n    if (g(a)) { a++; }\n    return a;\n}\n",
        "if",
        "keyword",
    ),
    "what a header declares": ("int f(void) { return later(1); }\nint later(int a) { return a; }\n", "later", "header"),
    "the name of a macro around a parameter": ("int f(T *UNUSED(self)) { return 1; }\n", "UNUSED", "a macro"),
}


@pytest.mark.parametrize("name", KEPT)
def test_these_names_stay(name):
    text, word, reason = KEPT[name]
    found = analysis(text, language="c")
    assert word not in {entry.name for entry in found.names}
    assert reason in found.kept.get(word, reason)


WRONG = {
    "a word that is hidden": ("64 KB", "64 MB", "not a name of the text's own"),
    "one place of several": ("return limit", "return bound", "also stands where it did not change"),
    "more than words": ("64 KB", "65 KB", "more than names"),
}


@pytest.mark.parametrize("name", WRONG)
def test_the_verifier_rejects(name):
    old, new, reason = WRONG[name]
    text = "int f(void) { int limit = 64 KB; { int limit = 2; limit++; } return limit; }\n"
    assert old in text
    renaming = {"limit": "bound", "KB": "MB"}
    assert reason in difference(text, text.replace(old, new), renaming, language="c")
    assert difference(text, text.replace("limit", "bound"), renaming, language="c") is None


def test_a_text_that_parses_has_nothing_hidden():
    assert readable("int f(int a) { return a; }\n", C).hidden == ()


@pytest.mark.parametrize(
    "text",
    [
        "int f( { }",
        "#include<> \n",
        "(" * 3000,
        "LIB_API " * 3000,
        '"' * 3000,
        "{" * 500 + "KB" + "}" * 499,
        "()" * 50_000,
    ],
)
def test_a_text_of_which_nothing_parses_is_refused(text):
    assert analysis(text, language="c").refused.startswith("does not parse as C: ")
    assert variants(text, 1, language="c").variants == ()


def test_the_search_ends_where_its_work_is_done(monkeypatch):
    text = "".join(f"MACRO_{number} int f{number}(int a) {{ return a; }}\n" for number in range(200))
    parsed = []
    monkeypatch.setattr(hiding, "WORK", 1000)
    monkeypatch.setattr(hiding, "raw_tree", lambda code, module: (parsed.append(len(code)), raw_tree(code, module))[1])
    hiding._hidden.cache_clear()
    try:
        readable(text, C)
    finally:
        hiding._hidden.cache_clear()
    assert sum(parsed) < 1000 + 8 * len(text)


@pytest.mark.program
@pytest.mark.skipif(shutil.which("gcc") is None, reason="compares object code, which needs gcc")
def test_variants_compile_to_the_same_code(tmp_path):
    text = plain("#define LIB_API\n#define Py_BEGIN_ALLOW_THREADS {\n#define Py_END_ALLOW_THREADS }\n") + plain(
        C_TRAPS["a macro behind a number"].replace("«f»", "«g»")
        + C_TRAPS["a macro before a definition"]
        + C_TRAPS["a macro that begins a block"]
    )

    def code(source):
        (tmp_path / "a.c").write_text(source)
        subprocess.run(["gcc", "-O1", "-g0", "-c", "a.c", "-o", "a.o"], cwd=tmp_path, check=True)
        only = ["objcopy", "-O", "binary", "--only-section=.text", "a.o", "a.bin"]
        subprocess.run(only, cwd=tmp_path, check=True)
        return (tmp_path / "a.bin").read_bytes()

    found = variants(text, 3, language="c")
    assert (len(found.variants), found.reason) == (3, None)
    assert {code(variant.text) for variant in found.variants} == {code(text)}
