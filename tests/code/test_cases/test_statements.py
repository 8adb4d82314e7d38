"""Test cases are found where a statement shows them, with what they give, and nowhere else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.code.test_cases.literals import Style, literal_at
from assay.code.test_cases.statements import Problem, examples_in

CODE = "def f(a, b=0):\n    return a\n"


def shown(statement, code=CODE):
    result = examples_in(Problem(f"A task.\n{statement}\n{code}", code))
    return [(example.source, example.value) for example in result]


@pytest.mark.parametrize(
    ("statement", "expression", "value"),
    [
        (">>> f(1)\n1", "f(1)", 1),
        (">>> f([1, 2], b=3)  # a comment\n[1, 2]", "f([1, 2], b=3)", [1, 2]),
        (">>> round(f(1.25), 1) # short\n1.2", "round(f(1.25), 1)", 1.2),
        (">>> f(1) == 1", "f(1)", 1),
        ("assert f('a', 2) == 'a'", "f('a', 2)", "a"),
        ("assert set(f([1, 2])) == set([2, 1])", "set(f([1, 2]))", {1, 2}),
        ("* f((1,)) => (1,)", "f((1,))", (1,)),
        ('f("a)") ==> "a)"', 'f("a)")', "a)"),
        ("f(-1) ➞ -1", "f(-1)", -1),
        ("f(1)->1", "f(1)", 1),
        ("f(True) # => true", "f(True)", True),
        ("f(2) returns 2.", "f(2)", 2),
        ("f({'a': [1]}) should be {'a': [1]}", "f({'a': [1]})", {"a": [1]}),
        ("Input: a = [1], b = 2\nOutput: [1]", "f(a=[1], b=2)", [1]),
        ("    Input: 3, 4\n    Output: 3\n", "f(3, 4)", 3),
        ('For a = "x" the output should be "x".', 'f(a="x")', "x"),
    ],
)
def test_a_test_case_is_found(statement, expression, value):
    assert shown(statement) == [(expression, value)]


@pytest.mark.parametrize(
    "statement",
    [
        "f(x) == 1",  # a name is no literal
        "f(1) == 1 + 2",  # nor is a sum
        "f(1) -> 9 - 5 = 4",
        "g(1) == 1",
        "other.f(1) == 1",
        "def_f(1) == 1",
        "f(1, 2",
        "f(1) and then 3",
        ">>> f(1)\n",
        "Input: x = 1\nOutput: none",
        "Input: 1, 2, 3\nOutput: 4",  # more than f takes
    ],
)
def test_what_is_no_test_case_is_not(statement):
    assert shown(statement) == []


def test_code_shows_tests_in_docstrings_and_assertions_alone():
    code = 'def f(a):\n    """f(1) == 1"""\n    # f(2) == 2\n    s = "f(3) == 3"\n    return a\nassert f(4) == 4\n'
    result = examples_in(Problem(code, code))
    assert [example.source for example in result] == ["f(1)", "f(4)"]


def test_escapes_of_a_docstring_are_not_guessed_at():
    plain, raw = ('def f(a):\n    %s"""f("\\\\n") == "\\\\n"."""\n    return a\n' % kind for kind in ("", "r"))  # noqa: UP031
    assert examples_in(Problem(plain, plain)) == ()
    assert [example.source for example in examples_in(Problem(raw, raw))] == ['f("\\\\n")']


def test_a_program_shows_what_it_reads_and_prints():
    code = "print(int(input()) * 2)\n"
    statement = (
        "Double.\n\n-----Examples-----\nInput\n4\n\nOutput\n8\n\nInput\n5\n6\n\nOutput\n10\n\n-----Note-----\nx\n"
    )
    result = examples_in(Problem(f"A task.\n{statement}\n{code}", code))
    assert [(example.source, example.value, example.is_program) for example in result] == [
        ("4", "8", True),
        ("5\n6", "10", True),
    ]


def test_a_method_of_a_solution_class_is_called_on_one():
    code = "class Solution:\n    def kth(self, arr: list, k: int):\n        return arr[k]\n"
    statement = "Example 1:\nInput: arr = [2,3], k = 1\nOutput: 3\n"
    assert shown(statement, code) == [("Solution().kth(arr=[2,3], k=1)", 3)]


def test_an_expression_is_read_back_whatever_its_spaces():
    (example,) = examples_in(Problem(f"assert max(f([1, 2], 3)) == 2\n{CODE}", CODE))
    assert [literal.value for literal in example.read("max( f([4],5) )")] == [[4], 5]
    assert example.read("max(f([4]))") is None
    assert example.read("max(f([4], x))") is None
    assert example.read("max(f([4], 5)) + 1") is None


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec="utf-8", exclude_characters="\r")),
    lambda few: st.lists(few) | st.tuples(few, few) | st.dictionaries(st.integers() | st.text("ab"), few),
    max_leaves=8,
)


@given(VALUES, st.sampled_from(["'a'", '"a"']), st.sampled_from(["[1,2]", "[1, 2]", ""]))
def test_a_literal_that_is_written_is_read_as_the_same_value(value, quoted, spaced):
    source = Style.of([quoted, spaced]).written(value)
    result = literal_at(f"({source})", 1)
    assert repr(result.value) == repr(value)
    assert result.source == source


@pytest.mark.parametrize(
    ("neighbours", "value", "source"),
    [
        (['["a","b"]'], ["c", 1], '["c",1]'),
        (["['a', 'b']"], ["it's"], '["it\'s"]'),
        (["true"], False, "false"),
        (["True"], False, "False"),
        (["{1:2}"], {3: 4}, "{3:4}"),
        (["1"], {"b", "a"}, "{'a', 'b'}"),
        (["1"], (1,), "(1,)"),
    ],
)
def test_literals_are_written_as_their_neighbours_are(neighbours, value, source):
    assert Style.of(neighbours).written(value) == source


def test_a_long_number_comes_to_an_end():
    assert literal_at(f"{'9' * 5000}x", 0) is None
