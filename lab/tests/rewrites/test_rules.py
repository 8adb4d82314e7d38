"""What each rule removes, and that it removes nothing else."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.code import lexemes, parses
from assay.licences import read_rules
from assay.types import Sample
from assay_lab.rewrites.rules import (
    REPETITIVE_SHARE,
    HumanRules,
    RemovalRule,
    brackets_match,
    has_open_quote,
    is_prose,
    repeats_itself,
    syntax_fault,
    text_fault,
)
from assay_lab.rewrites.similarity import lcs_length, mostly_lost, similarity, too_similar

PYTHON = '''def mean_of(values, weights):
    """Return the weighted mean of values."""
    total = sum(weights)
    if not total:
        raise ValueError("the weights sum to zero, which has no mean")
    return sum(v * w for v, w in zip(values, weights)) / total
'''
C = """int clamp(int value, int low, int high) {
    if (value < low) { return low; }
    if (value > high) { return high; }
    printf("%d is in [%d, %d]", value, low, high);
    return value;
}
"""
CPP = """template <typename T> class Box { public: T value; std::vector<T> all() { return {value}; } };
namespace boxes { auto make(int v) -> Box<int> { return Box<int>{v}; } }
"""
PROSE = (
    "In the given C code snippet, it is unclear what modifications are needed. However, if you want to add error "
    "checking or some additional functionality, it would be helpful to know specifically what these changes would be."
)
WORDS = st.lists(st.sampled_from(list("abcdef")), max_size=40)
LIMITS = HumanRules(5, 80, read_rules(allowed=["MIT", "BSD-*"]))


def sample(text=PYTHON, language="python", licence="MIT", path="a.py"):
    return Sample("s", text, language, metadata={"licence": licence, "path": path})


@pytest.mark.parametrize(
    ("text", "language", "rule"),
    [
        (PYTHON, "python", None),
        (C, "c", None),
        (CPP, "cpp", None),
        (CPP, "c", RemovalRule.ANOTHER_LANGUAGE),
        (C, "python", RemovalRule.ANOTHER_LANGUAGE),
        (PROSE, "c", RemovalRule.PROSE),
        (PROSE, "python", RemovalRule.PROSE),
        (PYTHON.replace('mean"', "mean"), "python", RemovalRule.QUOTES),
        (PYTHON.replace('values."""', "values."), "python", RemovalRule.QUOTES),
        (C.replace('%d]"', "%d]"), "c", RemovalRule.QUOTES),
        (PYTHON.replace("(weights)", "(weights"), "python", RemovalRule.BRACKETS),
        (C.replace("return high; }", "return high;"), "c", RemovalRule.BRACKETS),
        (PYTHON.replace("if not", "if if not"), "python", RemovalRule.UNPARSABLE),
        (PYTHON.replace("mean", "méan"), "python", RemovalRule.NOT_ASCII),
        (PYTHON + "x = 1\n" * 80, "python", RemovalRule.REPETITIVE),
        (C + "}" * 200, "c", RemovalRule.REPETITIVE),
    ],
)
def test_a_text_is_removed_for_the_fault_that_it_has(text, language, rule):
    assert text_fault(text, language) == rule


@given(st.text(max_size=200), st.sampled_from(["python", "c", "java"]))
def test_any_text_that_stays_is_ascii_and_parses(text, language):
    if text_fault(text, language) is None:
        assert text.isascii()
        assert parses(text, language)
        assert not repeats_itself(text)


@given(st.text(st.characters(codec="ascii"), max_size=300), st.sampled_from(["python", "c"]))
def test_only_text_that_does_not_parse_has_a_fault_of_syntax(text, language):
    fault = text_fault(text, language)
    if fault not in {None, RemovalRule.NOT_ASCII, RemovalRule.REPETITIVE}:
        assert not parses(text, language)
        assert fault == syntax_fault(text, language)


@given(st.text("abc{};() \n", min_size=1, max_size=30), st.integers(5, 30))
def test_a_repeated_unit_that_makes_up_enough_of_a_text_is_seen(unit, times):
    visible = len(re.sub(r"\s", "", unit))
    if visible:
        assert repeats_itself(unit * times)
        assert repeats_itself(unit * times + "x" * int(visible * times * 0.5 / REPETITIVE_SHARE * 0.3))


@given(st.permutations(PYTHON.splitlines()))
def test_code_without_repetition_does_not_repeat_itself(lines):
    assert not repeats_itself("\n".join(lines))


def test_a_short_line_of_marks_is_no_repetition():
    assert not repeats_itself("#" * 60 + "\n" + PYTHON)


@given(st.lists(st.sampled_from(["(", ")", "[", "]", "{", "}", "x", " "]), max_size=30))
def test_brackets_match_as_a_reference_says(marks):
    text = "".join(marks)
    reduced, before = re.sub(r"[^()\[\]{}]", "", text), None
    while reduced != before:
        before, reduced = reduced, re.sub(r"\(\)|\[\]|\{\}", "", reduced)
    assert brackets_match(text, "c") == (not reduced)


@given(st.text(st.characters(codec="ascii", exclude_characters="\"'\\\n\r"), max_size=40))
def test_brackets_and_marks_in_literals_do_not_count(inside):
    text = f'x = "{inside}"\n'
    assert brackets_match(text, "python")
    assert not has_open_quote(text, "python")
    assert has_open_quote(text.replace('"\n', "\n"), "python")


@given(st.lists(st.text("abcdefgh", min_size=1, max_size=8), min_size=1, max_size=50))
def test_words_alone_are_prose_and_code_is_not(words):
    assert is_prose(" ".join(words) + ".")
    assert not is_prose("".join(f"{word}({word});" for word in words))


@given(st.integers(0, 100))
def test_the_limits_of_the_number_of_tokens_are_included(n):
    fault = LIMITS.fault(sample("".join(f"a{i}\n" for i in range(n))))
    expected = RemovalRule.TOO_FEW_TOKENS if n < 5 else RemovalRule.TOO_MANY_TOKENS if n > 80 else None
    assert fault == expected


@pytest.mark.parametrize(
    ("licence", "rule"),
    [
        ("MIT", None),
        ("BSD-2-Clause", None),
        ("MIT OR GPL-3.0-only", None),
        ("GPL-3.0-only", RemovalRule.LICENCE),
        ("MIT AND GPL-3.0-only", RemovalRule.LICENCE),
        ("unknown", RemovalRule.LICENCE),
    ],
)
def test_only_licences_that_are_allowed_stay(licence, rule):
    assert LIMITS.fault(sample(licence=licence)) == rule


def test_code_that_names_its_generator_is_not_of_a_person():
    assert LIMITS.fault(sample(f"# Generated by ChatGPT\n{PYTHON}")) == RemovalRule.DECLARED


@given(WORDS, WORDS)
def test_the_common_subsequence_has_the_length_of_the_textbook(left, right):
    row = [0] * (len(right) + 1)
    for entry in left:
        above = row
        row = [0]
        for place, other in enumerate(right):
            row.append(above[place] + 1 if entry == other else max(above[place + 1], row[place]))
    assert lcs_length(left, right) == row[-1]


@given(WORDS, WORDS)
def test_similarity_is_symmetric_in_the_unit_interval_and_one_of_itself(left, right):
    a, b = " ".join(left), "\n".join(right)
    assert 0 <= similarity(a, b) == similarity(b, a) <= 1
    assert similarity(a, a) == 1


@given(WORDS, WORDS)
def test_a_rewriting_is_lost_below_three_tenths_of_the_tokens(left, right):
    assert mostly_lost(" ".join(left), " ".join(right)) == (10 * len(right) < 3 * len(left))


@given(st.lists(st.tuples(st.sampled_from("ab"), st.floats(0, 1)), max_size=40))
def test_at_least_a_quarter_of_each_key_is_too_similar_and_no_one_below_it(values):
    marks = too_similar(values)
    for key in "ab":
        own = sorted((value, mark) for (name, value), mark in zip(values, marks, strict=True) if name == key)
        if own:
            assert 4 * sum(mark for _, mark in own) >= len(own)
            assert [mark for _, mark in own] == sorted(mark for _, mark in own)


def test_no_rule_removes_much_of_the_standard_library():
    """Rules are about faults: ordinary code has none, but for characters beyond ASCII."""
    import json as package

    files = sorted(Path(package.__file__).parent.glob("*.py"))
    assert [text_fault(file.read_text("utf-8"), "python") for file in files] == [None] * len(files)
    assert all(len(lexemes(file.read_text("utf-8"))) > 50 for file in files)
