"""C++: which places of which names change. «count» marks them."""

# ruff: noqa: E501  programs read best as they are written

import pytest

from assay.code import analysis, variants
from assay.languages import LANGUAGES
from support.marking import holds, kept

TRAPS = {
    "structured bindings and loops over ranges": """
int «f»(map<int, int> «table») {
    int «sum» = 0;
    for (auto& [«key», «value»] : «table») «sum» += «key» * «value»;
    auto [«low», «high»] = *«table».begin();
    for (int «step» : {1, 2}) «sum» += «step» + «low» + «high»;
    return «sum»;
}
""",
    "captures of lambdas": """
int «f»(int «a», int «b») {
    auto «add» = [&, «a», «twice» = «b» * 2](int «c») mutable -> int { return «a» + «twice» + «c» + «b»; };
    auto «same» = [«b» = «b»] { return «b»; };
    return «add»(1) + «same»();
}
""",
    "templates": """
template <typename T, int N>
T «first»(const vector<T>& «values», T «start» = T()) { T «found» = «start»; return «values».empty() ? «found» : «values»[N]; }
int «g»(vector<int> «v») { return «first»<int, 0>(«v»); }
""",
    "what looks like a function": """
void «f»(int «n») { string «line»(«n», 'x'); vector<int> «copies»(«n»); string «other»(«line»); «other» += «line»; «copies».size(); }
""",
    "names with a qualifier are those of others": """
using namespace std;
int «f»(int «max») { int «count» = std::max(«max», 1); return «count» + Limits::max; }
""",
    "members": """
struct Box {
    int width;
    Box(int «width») : width(«width») {}
    int area(int «scale») const { return width * «scale» + this->width; }
};
int Box::other(int «amount») { return «amount» + length; }
int «f»(Box «box») { return «box».width + «box».area(2); }
""",
    "declarations in conditions, and exceptions": """
int «f»(int «level») {
    if (int «half» = «level» / 2; «half» > 1) return «half»;
    while (int «left» = «level»--) «level» -= «left»;
    try { throw «level»; } catch (const Error& «problem») { return «problem».code; }
}
""",
    "what overloads": "int «f»(int «a») { return «a»; }\nint «f»(string «s») { return «f»(«s».size()); }\n",
    "references and defaults": "void «swap2»(int& «a», int&& «b», const int* const «c» = nullptr) { «a» = «b» + *«c»; }\n",
    "a name space": "namespace inner { int «deep»(int «x») { return «x»; } int «g»() { return «deep»(1); } }\n",
    "operators": "bool operator<(const P& «left», const P& «right») { return «left».x < «right».x; }\n",
}


@pytest.mark.parametrize("trap", TRAPS)
def test_just_these_places_change(trap):
    holds(TRAPS[trap], "cpp")


KEPT = {
    "a member": ("struct A { int width; };", "width", "a field"),
    "a method": ("struct A { int f() { return 1; } };", "f", "a method"),
    "a class": ("class A {};", "A", "a type"),
    "a parameter of a template": ("template <typename T> T f(T a) { return a; }", "T", "a template parameter"),
    "a function of the library": ("int max(int a, int b) { return a; }", "max", "the library"),
    "what is imported": ("using std::cout;", "cout", "imported"),
    "what is used with a qualifier": (
        "int g(int a) { return a; }\nint f() { return ::g(1); }",
        "g",
        "with a qualifier",
    ),
    "what a name space's users qualify": ("namespace n { int g() { return 1; } } int x = n::g();", "g", "qualifier"),
    "what a base class may have": (
        "int g(int a) { return a; } struct A : B { int f() { return g(1); } };",
        "g",
        "may inherit",
    ),
    "what a class outside of the text may have": (
        "int g(int a) { return a; } int A::f() { return g(1); }",
        "g",
        "may inherit",
    ),
    "a friend": ("struct A { friend int g(A a); }; int g(A a) { return 1; }", "g", "a friend"),
    "what C sees": ('extern "C" { int g(int a) { return a; } }', "g", "another language"),
    "a function declared in a block": ("void f() { Thing make(Other); }", "make", "may be a function"),
    "a constant of an enumeration": ("enum class E { RED };", "RED", "a constant"),
}


@pytest.mark.parametrize("name", KEPT)
def test_these_names_stay(name):
    text, word, reason = KEPT[name]
    assert reason in kept(text, "cpp")[word]


def test_new_names_are_none_of_the_library_that_using_namespace_may_show():
    found = variants(
        "using namespace std;\nint total_of(int count_all, int x) { return count_all + x; }\n", 60, language="cpp"
    )
    new = {name for variant in found.variants for name in (*variant.functions.values(), *variant.variables.values())}
    assert not new & LANGUAGES["cpp"].library


def test_what_does_not_parse_is_refused():
    assert analysis("int f( { }", language="cpp").refused == "does not parse as C++: line 1"


def test_a_missing_name_without_a_node_of_its_own_is_refused_with_its_line():
    """tree-sitter counts the missing name as an error and leaves it out of the children of `#include`."""
    assert analysis("\n#include<> \n", language="cpp").refused == "does not parse as C++: line 2"
    assert analysis("\n#include<> \n", language="c").refused == "does not parse as C: line 2"
