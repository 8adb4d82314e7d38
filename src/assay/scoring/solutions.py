"""The solution of a sample: the program that runs where its test cases are to be replaced."""

from collections.abc import Iterable

from assay.code import Problem
from assay.languages import language_named
from assay.python_parser import python_tree
from assay.types import Sample

_COLUMNS = (("code",), ("prompt", "canonical_solution"), ("code_prompt", "canonical_solution"), ("canonical_solution",))
"""Where loaders leave a solution (MBPP, HumanEval, BigCodeBench, APPS): columns that make a program together."""


def sample_language(sample: Sample) -> str:
    """Return the language of a sample by its name in the table of languages; a sample without one counts as Python."""
    return language_named(sample.language or "python")


def is_python(sample: Sample) -> bool:
    """Return True if a sample is Python."""
    return sample_language(sample) == "python"


def problem_of(sample: Sample) -> Problem | None:
    """Return a sample's text with its solution: the first of its columns, else the text, that is Python.

    None where there is no such solution.
    """
    if not is_python(sample):
        return None
    # joined columns first: the text of a task may be its statement, and parse as Python by chance
    for code in (*(_stored(sample, columns) for columns in _COLUMNS), sample.text):
        if code.strip() and _parses(code):
            return Problem(sample.text, code)
    return None


def _stored(sample: Sample, columns: Iterable[str]) -> str:
    return "".join(str(sample.metadata.get(column) or "") for column in columns)


def _parses(code: str) -> bool:
    try:
        # comments alone parse, too, and are no solution
        return bool(python_tree(code).body)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
