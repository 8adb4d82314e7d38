"""What the verifier catches; each case is a rewriting that a careless engine could make."""

import random
import re

import pytest

from assay.code import difference
from assay.code.rename.python_verification import PythonVerifier

TEXT = '''import math

LIMIT = 3


def area(radius, scale=1):  # of a radius
    """Area.

    Args:
        radius: metres.
    """
    def square(x):
        return x * x * scale
    found = [square(r) for r in [radius]]
    label: "LIMIT" = f"area {found[0]}"
    return math.pi * found[0], "radius", label.lower(), LIMIT


area(radius=1)
'''
NAMES = {
    "area": "surface",
    "radius": "width",
    "square": "power",
    "found": "results",
    "x": "y",
    "r": "q",
    "LIMIT": "BOUND",
}


def rewritten(**words):
    text = TEXT
    for old, new in words.items():
        text = text.replace(old, new)
    return text


def test_nothing_differs_from_itself():
    assert difference(TEXT, TEXT, {}) is None


def test_a_right_renaming_is_none():
    variant = (
        TEXT.replace("square", "power")
        .replace("found", "results")
        .replace("LIMIT", "BOUND")
        .replace("x *", "y *")
        .replace("* x", "* y")
    ).replace("(x)", "(y)")
    assert difference(TEXT, variant, NAMES) is None


WRONG = {
    "a space more": (TEXT.replace("return x", "return  x"), "more than names"),
    "a line end of another kind": (TEXT.replace("\n", "\r\n"), "more than names"),
    "a comment without": (TEXT.replace("  # of a radius", ""), "more than names"),
    "a word of a comment that is no name": (TEXT.replace("# of", "# with"), "of became with"),
    "another number": (TEXT.replace("LIMIT = 3", "LIMIT = 4"), "more than names"),
    "a name left behind": (TEXT.replace("square(r)", "power(r)"), "another kind of symbol|other symbols"),
    "an attribute": (TEXT.replace("math.pi", "math.radius").replace("radius", "width"), "became"),
    "the contents of a string": (TEXT.replace('"radius"', '"width"'), "the syntax tree has"),
    "text of an f-string": (TEXT.replace('f"area ', 'f"surface '), "the syntax tree has"),
    "an import": (TEXT.replace("math", "cmath"), "math became cmath"),
    "a capture: two names become one": (TEXT.replace("scale", "x"), "scale became x"),
    "a swap that is none": (TEXT.replace("x * x", "x * y"), "another kind of symbol|other symbols"),
    "no Python": (TEXT.replace("found", "class"), "became class"),
}


@pytest.mark.parametrize(("variant", "reason"), WRONG.values(), ids=WRONG)
def test_anything_else_is_caught(variant, reason):
    assert variant != TEXT
    assert re.search(reason, difference(TEXT, variant, NAMES))


@pytest.mark.parametrize(
    "text", ["def f(*, a, b=1):\n    return {**a, 'b': b}\n", "lambda *a: a\n", "try:\n    a\nfinally:\n    a\n"]
)
def test_syntax_with_gaps_in_the_tree_is_compared_too(text):
    assert difference(text, text.replace("a,", "x,").replace("{**a", "{**x"), {"a": "x"}) is None
    assert difference(text, text.replace("a\n", "-a\n").replace("{**a", "{**-a"), {}) is not None


def test_a_keyword_as_a_new_name_does_not_parse():
    assert difference("x = 1\n", "if = 1\n", {"x": "if"}).startswith("does not parse")


def test_a_capture_within_the_renaming_is_caught():
    """Both names may become y, but not in one scope."""
    assert difference("def f(a, b):\n    return a - b\n", "def f(y, y):\n    return y - y\n", {"a": "y", "b": "y"})
    assert difference("a = b = 1\n", "y = y = 1\n", {"a": "y", "b": "y"}) is not None


def test_two_names_of_the_module_that_become_one_are_caught():
    """No scope has both, not even the module's own table."""
    original, variant = (
        "def f():\n    return a\ndef g():\n    return b\n",
        "def f():\n    return y\ndef g():\n    return y\n",
    )
    assert difference(original, variant, {"a": "y", "b": "y"}) == "two names of the module became one"


@pytest.mark.parametrize(
    ("original", "variant"),
    [
        ("def f(a):\n    return a.a\n", "def f(b):\n    return b.b\n"),
        ("import a\n", "import b\n"),
        ("import m as a\n", "import m as b\n"),
        ("from m import a\n", "from m import b\n"),
        ("from a import m\n", "from b import m\n"),
        ("class a: pass\n", "class b: pass\n"),
        ("x = 'a'\n", "x = 'b'\n"),
        ("match x:\n    case C(a=1): pass\n", "match x:\n    case C(b=1): pass\n"),
    ],
)
def test_an_attribute_an_import_a_class_or_a_string_of_the_name_must_stay(original, variant):
    assert difference(original, variant, {"a": "b"}) is not None


def test_a_builtin_that_is_captured_is_caught():
    original = "def f(a):\n    return len(a)\n"
    assert difference(original, "def f(len):\n    return len(len)\n", {"a": "len"}) is not None


def test_a_free_variable_that_is_captured_is_caught():
    original = "def f(a):\n    def g(b):\n        return a + b\n    return g\n"
    variant = "def f(y):\n    def g(y):\n        return y + y\n    return g\n"
    assert difference(original, variant, {"a": "y", "b": "y"}) is not None


def test_a_name_of_the_module_renamed_in_one_place_only_is_caught():
    original = "n = 1\ndef f():\n    return n\ndef g():\n    return n\n"
    variant = "m = 1\ndef f():\n    return m\ndef g():\n    return n\n"
    assert difference(original, variant, {"n": "m"}) == "n of the module became m and n"


def test_a_local_that_becomes_global_is_caught():
    original = "def f():\n    n = 1\n    def g():\n        return n\n    return g\n"
    variant = "def f():\n    m = 1\n    def g():\n        return n\n    return g\n"
    assert difference(original, variant, {"n": "m"}) is not None


def test_the_name_top_is_a_name_like_any_other():
    """Python's symbol tables call the module `top` as well."""
    assert difference("def f(a):\n    return a\n", "def top(a):\n    return a\n", {"f": "top"}) is None


def test_constants_of_equal_value_are_not_the_same():
    assert difference("x = 1\n", "x = True\n", {"1": "True"}) is not None


NESTED = """import math as first
from os.path import join as second

third = 1


class Sixth:
    def first(self, fourth, super=None):
        fifth = lambda third: third + fourth
        __sixth = [fourth for fourth in (third, len(fourth))]

        def inner(fifth):
            global third
            third = fifth
            return super, fifth, first.third
        return inner(fifth), [third for fifth in __sixth if (fourth := fifth)]


def fifth(first, *, fourth=third, **len):
    try:
        return Sixth().first(fourth=fourth), fifth(first=first, **len)
    except ValueError as fourth:
        return fourth.fifth, second
"""
NAMES_OF_NESTED = "first second third fourth fifth inner Sixth super __sixth len".split()  # noqa: SIM905
NEW = [*NAMES_OF_NESTED, "fresh", "other", "__fresh", "print", "math"]


@pytest.mark.parametrize("seed", range(4))
def test_the_tree_alone_never_passes_what_the_symbol_tables_would_not(seed, monkeypatch):
    """Random renamings, right ones and wrong ones: everywhere, at all places but one, of two names into one."""
    draw = random.Random(seed)
    cases = [rewriting(draw) for _ in range(300)]
    by_tree = [difference(NESTED, variant, renaming) for variant, renaming in cases]
    monkeypatch.setattr(PythonVerifier, "_one_to_one", lambda *_: False)
    assert by_tree == [difference(NESTED, variant, renaming) for variant, renaming in cases]
    assert 20 < by_tree.count(None) < 280


def rewriting(draw):
    """Some names of the text replaced, some of their places spared."""
    renaming = {old: draw.choice(NEW) for old in draw.sample(NAMES_OF_NESTED, draw.choice([1, 1, 1, 2, 3]))}
    spared = draw.choice([0, 0, 0.1])

    def word(match):
        return renaming.get(match[0], match[0]) if draw.random() >= spared else match[0]

    return re.sub(r"(?<![.\w])(?<!import )(?<!as )(?<!class )\w+", word, NESTED), renaming
