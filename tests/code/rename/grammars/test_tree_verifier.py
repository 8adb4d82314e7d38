"""What the verifier over syntax trees catches; each case is a rewriting that a careless engine could make."""

import pytest

from assay.code import difference

TEXT = """#define LIMIT 3
struct box { int width; };
static int area(struct box *one, int width) {  // width of one
    int total = one->width * width;
    { int total = 2; width += total; }
    puts("width");
    goto width;
width:
    return total + LIMIT;
}
int twice(int width) { return area(0, width) * 2; }
"""
NAMES = {"area": "surface", "width": "length", "total": "sum", "one": "item", "twice": "both"}


def changed(*pairs):
    text = TEXT
    for old, new in pairs:
        assert old in text
        text = text.replace(old, new)
    return text


def test_nothing_differs_from_itself():
    assert difference(TEXT, TEXT, {}, language="c") is None


def test_a_right_renaming_is_none():
    variant = changed(
        ("area(", "surface("), ("int total", "int sum"), ("+= total", "+= sum"), ("return total", "return sum")
    )
    assert difference(TEXT, variant, NAMES, language="c") is None


def test_a_comment_may_follow_or_not():
    assert difference(TEXT, changed(("// width", "// length")), NAMES, language="c") is None


WRONG = {
    "white space": (("one, int", "one,  int"), "more than names"),
    "an operator": (("* 2", "+ 2"), "more than names"),
    "a name of no renaming": (("twice", "thrice"), "twice became thrice"),
    "the text of a string": (('"width"', '"length"'), "not a name of the text's own"),
    "a member": (("one->width", "one->length"), "not a name of the text's own"),
    "the declaration of a member": (("{ int width; }", "{ int length; }"), "not a name of the text's own"),
    "a label": (("goto width", "goto length"), "not a name of the text's own"),
    "a declaration without its uses": (("int twice(int width)", "int twice(int length)"), "another binding"),
    "a use without its declaration": (("return total", "return sum"), "another binding"),
    "an inner name apart from the outer one's use": (
        ("int total = 2; width += total", "int sum = 2; width += total"),
        "another",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_rewriting_is_named(case):
    pair, reason = WRONG[case]
    assert reason in difference(TEXT, changed(pair), NAMES, language="c")


def test_a_macro_stays():
    assert "not a name" in difference(TEXT, TEXT.replace("LIMIT", "BOUND"), {"LIMIT": "BOUND"}, language="c")


def test_two_names_that_become_one_are_seen():
    text = "int f(int a, int b) { return a - b; }"
    assert difference(text, "int f(int c, int c) { return c - c; }", {"a": "c", "b": "c"}, language="c") is not None


def test_a_captured_name_is_seen():
    text = "int f(int a) { { int b = 1; return a + b; } }"
    variant = "int f(int b) { { int b = 1; return b + b; } }"
    assert "another binding" in difference(text, variant, {"a": "b"}, language="c")


def test_two_names_may_change_places():
    text = "function f(a, b) { return a - b; }"
    assert difference(text, "function f(b, a) { return b - a; }", {"a": "b", "b": "a"}, language="javascript") is None


def test_a_keyword_for_a_name_is_seen():
    text = "func f(a int) int { return a }"
    result = difference(
        text, text.replace("a int", "if int").replace("return a", "return if"), {"a": "if"}, language="go"
    )
    assert result.startswith("does not parse")


def test_another_tree_of_the_same_words_is_seen():
    text = "int f(int a) { return (a) - 1; }"
    result = difference(text, text.replace("a", "int"), {"a": "int"}, language="c")
    assert result is not None


def test_a_type_in_java_stays():
    assert "not a name" in difference("class A { A a; }", "class B { B a; }", {"A": "B"}, language="java")
