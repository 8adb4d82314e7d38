"""Names, test cases or both: what is rewritten, and what is told of samples where something stays."""

import json

import pytest

from assay.code import Problem
from assay.code.test_cases.statements import examples_in
from assay.scoring.rewriters import CHANGES, Deterministic, ModelRewriter
from assay.scoring.solutions import problem_of
from assay.types import Sample

TEXT = '''\
def total(prices):
    """Sum of prices.

    >>> total([1, 2, 3])
    6
    """
    result = 0
    for one in prices:
        result += one
    return result
'''
PLAIN = "def total(prices):\n    return sum(prices)\n"
RUST = Sample("rust", "fn total() {}", language="rust")


def test_names_alone_are_the_default_and_need_no_sandbox():
    made = Deterministic()
    (result,) = made([Sample("a", TEXT)], 3)
    assert len(result.texts) == 3
    assert all("total" not in text and "([1, 2, 3])" in text for text in result.texts)
    assert (made.name, dict(made.counts)) == ("deterministic, dictionary", {})


class Renames:
    """A model that renames one word in whatever it is shown."""

    name = "renames"

    def generate(self, prompts, **_):
        for prompt in prompts:
            code = prompt.partition("snippet: ")[2].partition("\nTask:")[0]
            yield json.dumps([code.replace("total", "tally")])


def test_a_model_renames_in_the_language_of_each_sample():
    java = Sample("java", "static int total(int x) {\n  return x;\n}\n", language="Java")
    made = ModelRewriter(Renames())
    rust, other, python = made([RUST, java, Sample("python", PLAIN)], 1)
    assert rust.reason == "no rewriting of rust"
    assert other.texts == (java.text.replace("total", "tally"),)
    assert python.texts == (PLAIN.replace("total", "tally"),)


@pytest.mark.usefixtures("sandbox")
def test_tests_alone_leave_names():
    made = Deterministic(("tests",))
    (result,) = made([Sample("a", TEXT)], 3)
    assert len(result.texts) == 3
    assert all("def total(prices)" in text and "([1, 2, 3])" not in text for text in result.texts)
    assert made.name == "deterministic (tests)"


@pytest.mark.usefixtures("sandbox")
def test_names_and_tests_change_together_and_the_rest_falls_back_with_a_count():
    made = Deterministic(CHANGES)
    both, names, none = made([Sample("a", TEXT), Sample("b", PLAIN), RUST], 4)
    assert all("total" not in text and "([1, 2, 3])" not in text for text in both.texts)
    assert all(len(examples_in(Problem(text, text))) == 1 for text in both.texts)
    assert len(both.texts) == len(names.texts) == 4
    assert none.reason == "no rewriting of rust"
    assert made.counts == {
        "samples keep their test cases: the text states no tests": 1,
        "samples keep their test cases: no solution in Python is known": 1,
    }


@pytest.mark.usefixtures("sandbox")
def test_a_sample_without_tests_has_no_rewriting_where_only_tests_change():
    (result,) = Deterministic(("tests",))([Sample("b", PLAIN)], 4)
    assert (result.texts, result.reason) == ((), "no variants: the text states no tests")


@pytest.mark.usefixtures("sandbox")
def test_a_statement_that_is_no_program_keeps_its_names():
    made = Deterministic(CHANGES)
    sample = Sample("m", f"Sum.\nassert total([1, 2]) == 3\n{PLAIN}", "Python", metadata={"code": PLAIN})
    (result,) = made([sample], 3)
    assert len(result.texts) == 3
    assert all(PLAIN in text for text in result.texts)
    assert made.counts == {"samples keep their names: does not parse as Python": 1}


@pytest.mark.parametrize(
    ("metadata", "code"),
    [
        ({"code": PLAIN}, PLAIN),
        ({"prompt": "def f():\n", "canonical_solution": "    return 1\n"}, "def f():\n    return 1\n"),
        ({"prompt": "Say a number.", "canonical_solution": "print(1)\n"}, "print(1)\n"),
        ({}, TEXT),
    ],
)
def test_a_solution_is_what_the_loaders_leave(metadata, code):
    assert problem_of(Sample("a", TEXT, metadata=metadata)) == Problem(TEXT, code)


def test_no_python_no_problem():
    assert problem_of(RUST) is None
    assert problem_of(Sample("a", "no program (")) is None
    assert problem_of(Sample("a", TEXT, language="py")) is not None
