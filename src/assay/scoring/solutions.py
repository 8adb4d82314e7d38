"""The solution of a sample: what runs where its test cases are to be others."""

from assay.code.examples import Problem
from assay.code.positions import parsed
from assay.datasets.sources import language_named
from assay.types import Sample

_COLUMNS = (("code",), ("prompt", "canonical_solution"), ("code_prompt", "canonical_solution"), ("canonical_solution",))
"""Where loaders leave a solution (MBPP, HumanEval, BigCodeBench, APPS): columns that make a program together."""


def is_python(sample: Sample) -> bool:
    """Whether a sample is Python; one without a language is taken for it."""
    return language_named(sample.language or "python") == "python"


def problem_of(sample: Sample) -> Problem | None:
    """A sample's text with its solution: the first of its columns, else the text, that is Python; None without one."""
    if not is_python(sample):
        return None
    stored = ["".join(str(sample.metadata.get(one) or "") for one in columns) for columns in _COLUMNS]
    for code in (*stored, sample.text):
        if code.strip() and _parses(code):
            return Problem(sample.text, code)
    return None


def _parses(code: str) -> bool:
    try:
        return bool(parsed(code).body)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
