"""Parts of tasks, for residuals of the solution given its prompt."""

import math

import pytest

from assay_lab.control.part_residuals import compressed, solution_start

FUNCTION = 'def area(a, b):\n    """Return the area."""\n    return a * b\n'


@pytest.mark.parametrize(
    ("text", "solution"),
    [
        (FUNCTION, "    return a * b\n"),
        ("def area(a, b):\n    return a * b\n", "    return a * b\n"),
        ('"""Write a function."""\nx = 1\n', "x = 1\n"),
        ("class A:\n    x = 1\n", "    x = 1\n"),
        ("x = 1\n", None),
        ("def broken(:\n", None),
    ],
)
def test_a_solution_begins_with_the_first_statement_behind_its_prompt(text: str, solution: str | None):
    start = solution_start(text)
    assert (start is not None and text[start:]) == (solution or False)


def test_a_solution_that_repeats_its_prompt_adds_few_bytes():
    repeated = f"{FUNCTION}    return a * b\n"
    assert compressed(repeated) < compressed(FUNCTION)
    assert math.isnan(compressed("x = 1\n"))
