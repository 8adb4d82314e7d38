"""Java: which places of which names change. «count» marks them."""

# ruff: noqa: E501  programs read best as they are written

import pytest

from assay.code import analysis
from support.marking import holds, kept

TRAPS = {
    "parameters and locals": """
class Solution {
    public int «meanOf»(List<Integer> «numbers», int... «weights») {
        int «total» = 0, «index» = weights.length;
        for (int «i» = 0; «i» < «numbers».size(); «i»++) «total» += «numbers».get(«i»);
        return «total» / «index»;
    }
}
""".replace("weights.length", "«weights».length"),
    "a local that shadows a field": """
class A {
    private int width = 1;
    A(int «width») { this.width = «width»; }
    int «area»() { int «width» = this.width; return «width»; }
    int «plain»() { return width; }
}
""",
    "a field after the block of the local that hid it": """
class A {
    int width;
    int «f»(int «x») { if («x» > 0) { int «width» = 1; «x» += «width»; } return width; }
}
""",
    "the source of a loop over a field of the loop variable's name": """
class A {
    List<Integer> item;
    void «f»() { for (int «item» : item) System.out.println(«item»); }
}
""",
    "lambdas, method references, catch and resources": """
class A {
    static int «twice»(int «n») { return «n» * 2; }
    void «f»(List<Integer> «items») throws IOException {
        Function<Integer, Integer> «plus» = «value» -> «value» + 1;
        BiFunction<Integer, Integer, Integer> «both» = («left», «right») -> «left» + «right»;
        Comparator<String> «order» = (String «first», String «second») -> «first».compareTo(«second»);
        «items».stream().map(A::«twice»).map(this::«once»).map(Math::abs);
        try (Reader «reader» = open(); Reader «other» = «reader») { «other».read(); }
        catch (IOException | Error «problem») { throw «problem»; }
    }
    int «once»(int «n») { return A.«twice»(«n») + new A().«once»(1) + this.«once»(«plus»(1)); }
}
""".replace("«plus»(1)", "2"),
    "labels are no variables": """
class A { void «f»(int «step») { step: for (;;) { if («step» > 1) continue step; break step; } } }
""",
    "a variable and a method of one name part": """
class A { int «count»(int «x») { return «x»; } int «g»() { int «count» = «count»(1); return «count» + count.length; } }
""".replace("count.length", "«count».length"),
    "patterns": """
class A { int «f»(Object «o») { if («o» instanceof String «text» && «text».isEmpty()) return «text».length(); return 0; } }
""",
    "inner classes that see locals": """
class A {
    Runnable «f»(int «seed») { return new Runnable() { public void run() { System.out.println(«seed»); } }; }
}
""",
    "a fragment: a method without a class": "public int «square»(int «side») { return «side» * «side»; }\n",
    "a fragment: statements without a method": 'int «x» = 3;\nSystem.out.println("a" + «x»);\n',
    "comments that speak of names": """
class A {
    /**
     * Adds up «numbers», see {@link #«sumOf»}.
     * @param «numbers» what to add
     * a list, «a»[0]
     * @param «a» is where it starts, a number
     */
    int «sumOf»(int[] «numbers», int «a») { return «a»; /* a «sumOf»(«numbers») of a */ }
    // a list
    /* a list */
}
""",
    "arrays with brackets behind": "class A { int «f»(int «rows»[]) { int «grid»[] = «rows»; return «grid»[0]; } }\n",
    "a switch over values": """
class A { int «f»(int «x») { switch («x») { case 1: int «y» = «x»; return «y»; default: return 0; } } }
""",
}


@pytest.mark.parametrize("trap", TRAPS)
def test_just_these_places_change(trap):
    holds(TRAPS[trap], "java")


KEPT = {
    "a field": ("class A { private int width; }", "width", "a field"),
    "a constant of an enumeration": ("enum E { RED }", "RED", "a constant"),
    "a component of a record": ("record P(int x) {}", "x", "a field"),
    "main": ("class A { public static void main(String[] a) {} }", "main", "a name that Java looks for"),
    "what every object has": ("class A { public String toString() { return null; } }", "toString", "Java looks for"),
    "an override": ("class A { @Override public int size() { return 1; } }", "size", "overrides"),
    "a method with an annotation": ("class A { @Test void adds() {} }", "adds", "an annotation may look"),
    "a method of a class with a supertype": ("class A extends B { int f() { return 1; } }", "f", "may override"),
    "a method of an interface": ("interface I { int f(); }", "f", "implement"),
    "an abstract method": ("abstract class A { abstract int f(); }", "f", "implemented elsewhere"),
    "a method of an anonymous class": ("class A { B b = new B() { int go() { return 1; } }; }", "go", "implement"),
    "a method called on others": ("class A { int add(int a) { list.add(a); return 1; } }", "add", "another class"),
    "a method that a reference to others names": (
        "class A { int add(int a) { f(B::add); return a; } }",
        "add",
        "another",
    ),
    "a method called within a class that inherits": (
        "class A { int f() { return 1; } class B extends C { int g() { return f(); } } }",
        "f",
        "may inherit a method",
    ),
    "a local used within a class that inherits": (
        "class A { void f(int x) { new B() { int g() { return x; } }; } }",
        "x",
        "may inherit a member",
    ),
    "a method that a string names": ('class A { int turn() { return 1; } String s = "turn"; }', "turn", "a string"),
    "methods where reflection sees them": (
        "class A { int turn() { return 1; } void f(Class<?> c) { c.getMethods(); } }",
        "turn",
        "the program sees",
    ),
    "what may be a constant": ("class A { void f(E e, int RED) { switch (e) { case RED: } } }", "RED", "a constant"),
    "an imported method": ("import static java.lang.Math.max; class A {}", "max", "imported"),
    "a pattern where a field shows": (
        "class A { String s; void f(Object o) { if (!(o instanceof String s)) return; s.length(); } }",
        "s",
        "a field",
    ),
}


@pytest.mark.parametrize("name", KEPT)
def test_these_names_stay(name):
    text, word, reason = KEPT[name]
    assert reason in kept(text, "java")[word]


def test_types_and_their_parameters_are_no_names_to_change():
    result = analysis(
        "class Box<T extends Comparable<T>> { <U> T «f»(U u) { return null; } }".replace("«f»", "pick"), language="java"
    )
    assert {symbol.name for symbol in result.names} == {"pick", "u"}


def test_what_does_not_parse_is_refused_with_its_line():
    result = analysis("class A {\n    int f( { }\n}\n", language="java")
    assert result.refused == "does not parse as Java: line 2"
    assert result.names == ()
