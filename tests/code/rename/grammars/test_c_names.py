"""C: which places of which names change. «count» marks them."""

# ruff: noqa: E501  programs read best as they are written

import pytest

from assay.code import analysis
from support.marking import holds, kept

TRAPS = {
    "parameters, locals and functions": """
static int «total»;
int «area»(int «width», int «height») {
    int «result» = «width» * «height», «other»[3] = {«width»}, *«place» = &«result»;
    for (int «i» = 0; «i» < «height»; «i»++) «other»[«i»] = *«place»;
    return «result» + (int) sizeof(«other») + («width») - 1 + «total»;
}
""",
    "as before 1989": "int «f»(«a», «b») int «a»; char *«b»; { return «a» + *«b»; }\n",
    "pointers to functions": """
int «apply»(int (*«step»)(int «left», int), int «value») { return «step»(«value», 1) + (*«step»)(2, 3); }
int (*«chosen»)(const void *«one»);
""",
    "a prototype and its definition": "int «f»(int «a»);\nint «g»(int «b») { return «f»(«b»); }\nint «f»(int «c») { return «c»; }\n",
    "members, tags and labels are no variables": """
struct point { int width; struct point *next; };
int «f»(struct point *«point», int «width») {
    struct point «copy» = {.width = «width»};
    goto width;
width:
    return «point»->width + «copy».width + «point»->next->width;
}
""",
    "shadowing": "int «f»(int «n») { { int «n» = 2; «n»++; } for (int «n» = 0; «n» < 1;) { } return «n»; }\n",
    "a variable of the name of a type": """
typedef struct node { int value; } node;
int «f»(node *«first») { node *«n» = «first»; return «n»->value; }
""",
    "what looks like a cast or a declaration": "int «f»(int «x») { int «y» = («x») * («x») - («x»); «y» * «x»; return («f»)(«y»); }\n",
    "both branches of a condition": "#ifdef WIDE\nlong «limit»;\n#else\nint «limit»;\n#endif\nint «f»(void) { return «limit»; }\n",
    "a macro's arguments": "#define TWICE(x) ((x) * 2)\nint «f»(int «side») { return TWICE(«side»); }\n",
    "comments that speak of names": """
/**
 * Adds up «numbers», a list.
 * @param «numbers» what to add
 */
int «sum_of»(const int *«numbers», int «a») { return «a»; } // «sum_of»(«numbers», a)
""".replace("«numbers», a)", "«numbers», a)"),
    "strings": "int «f»(int «x») { puts(\"x f\"); return 'x' + «x»; }\n",
    "line ends and tabs": "int «f»(int «x»)\r\n{\r\n\treturn «x»;\t\r\n}",
    "text beyond ASCII": 'int «f»(int «x») { puts("é→x"); /* «x» ü */ return «x»; }\n',
    "compound literals and designators": """
struct p { int x; };
int «f»(int «x») { int «a»[4] = {[1] = «x»}; return ((struct p){.x = «x»}).x + «a»[«x»]; }
""",
}


@pytest.mark.parametrize("trap", TRAPS)
def test_just_these_places_change(trap):
    holds(TRAPS[trap], "c")


KEPT = {
    "main": ("int main(void) { return 0; }", "main", "the linker"),
    "a macro": ("#define LIMIT 3\nint f(void) { return LIMIT; }", "LIMIT", "a macro"),
    "what the body of a macro names": (
        "#define NEXT (step + 1)\nint f(int step) { return NEXT; }",
        "step",
        "preprocessor",
    ),
    "what a condition names": ("int width;\n#if defined(width)\n#endif\n", "width", "preprocessor"),
    "what a pragma names": ("int sum;\n#pragma omp parallel for reduction(+:sum)\n", "sum", "preprocessor"),
    "what a macro spells out": (
        "#define SHOW(x) puts(#x)\nvoid f(int width) { SHOW(width); }",
        "width",
        "spell it out",
    ),
    "what is declared only": ("int later(int a);\nint f(void) { return later(1); }", "later", "defined elsewhere"),
    "what is external": ("extern int outer;", "outer", "defined elsewhere"),
    "a type": ("typedef int number;", "number", "a type"),
    "a constant of an enumeration": ("enum { RED };", "RED", "a constant"),
    "a function of the library": ("int strlen(char *s) { return 0; }", "strlen", "the library"),
    "what an attribute names": ("int f(int unused __attribute__((unused))) { return 1; }", "unused", "attribute"),
    "what assembly names": ('int f(int x) { asm("nop" : : [x] "r"(x)); return x; }', "x", "assembly"),
    "functions where they print their names": ("void f(void) { puts(__func__); }", "f", "sees"),
    "what is a free name too": ("int f(void) { { int n = 1; } return n; }", "n", "declared elsewhere"),
    "what a string names": ('int start;\nvoid f(void) { dlsym(0, "start"); }', "start", "a string"),
}


@pytest.mark.parametrize("name", KEPT)
def test_these_names_stay(name):
    text, word, reason = KEPT[name]
    assert reason in kept(text, "c")[word]


@pytest.mark.parametrize("text", ["int f( { }", "#if 0\nthis isn't C\n#endif\n"])
def test_what_does_not_parse_is_refused(text):
    assert analysis(text, language="c").refused.startswith("does not parse as C")


def test_code_in_strings_is_refused():
    assert "_Pragma" in analysis('int f(int x) { _Pragma("omp"); return x; }', language="c").refused
