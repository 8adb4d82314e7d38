"""Programs in other languages, compiled and run in the sandbox by this machine's own tools."""

import pytest

from assay.code import passed, variants
from assay.code.sandbox.testing import TOOLCHAINS
from assay.errors import SandboxUnavailable

PROGRAMS = {
    "c": ("int main(void) { return 0; }", "int main(void) { return 1; }", "int main(void) { return x; }"),
    "cpp": (
        "#include <string>\nint main() { return std::string().size(); }",
        "int main() { throw 1; }",
        "int main() { return x; }",
    ),
    "javascript": ("console.assert(1 === 1)", "console.assert(1 === 2)", "let let = 1"),
    "java": (
        "public class Main { public static void main(String[] a) { } }",
        "public class Main { public static void main(String[] a) { throw new AssertionError(); } }",
        "public class Main { int f() { } }",
    ),
}


def require(language):
    """Skip where the compiler is not installed."""
    try:
        TOOLCHAINS[language].tool()
    except SandboxUnavailable as reason:
        pytest.skip(str(reason))


@pytest.mark.usefixtures("sandbox")
@pytest.mark.parametrize("language", PROGRAMS)
def test_a_failing_program_and_one_that_does_not_compile_have_not_passed(language):
    require(language)
    right, failing, wrong = PROGRAMS[language]
    assert passed([right, failing, wrong, right], language=language) == (True, False, False, True)


def test_a_language_without_tools_is_named():
    with pytest.raises(ValueError, match="received the language 'go'"):
        passed(["package main"], language="go")


def test_a_missing_compiler_is_named(monkeypatch):
    monkeypatch.setattr("assay.code.sandbox.testing.shutil.which", lambda _name: None)
    with pytest.raises(SandboxUnavailable, match="tests need gcc"):
        TOOLCHAINS["c"].tool()


TEXT_IN_C = """#include <stdio.h>
#include <stdlib.h>
#define SCALE(x) ((x) * factor)
#define SHOW(x) #x
struct point { int width; struct point *next; };
enum mode { SLOW, FAST };
static int factor = 3, total;
typedef int (*step)(int width, int);
static int add(width, other) int width; int other; { return width + other; }
int apply(step chosen, int width) { return chosen(width, sizeof(width) ? 1 : 0) + (width) - (1) + (*chosen)(2, 2); }
int sum_of(const struct point *first, enum mode mode) {
    int width = 0;
    for (const struct point *one = first; one; one = one->next) { int total = one->width; width += total; }
    if (mode == FAST) goto width;
    width *= SCALE(2);
width:
    total += width;
    return total;
}
int length_of_name(int width) {
    const char *name = SHOW(width);
    int count = 0;
    while (name[count]) count++;
    return count;
}
"""
TESTS_OF_C = """
int main(void) {
    struct point last = {.width = 4}, first = {.width = 5, .next = &last};
    if (sum_of(&first, FAST) != 9 || sum_of(&first, SLOW) != 63) return 1;
    return apply(add, 3) != 10 || length_of_name(1) != 5;
}
"""


@pytest.mark.usefixtures("sandbox")
def test_variants_in_c_behave_as_before():
    require("c")
    found = variants(TEXT_IN_C, 10, language="c")
    assert found.reason is None
    assert {"SCALE", "SHOW", "factor", "SLOW", "FAST", "step"} <= set(found.kept)
    programs = [f"{TEXT_IN_C}\n{TESTS_OF_C}", *(variant.followed_by(TESTS_OF_C) for variant in found.variants)]
    assert passed(programs, language="c") == (True,) * 11
