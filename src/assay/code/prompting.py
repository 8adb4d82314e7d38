"""The prompts of SrDetection, and what the paper leaves open, which is ours.

Li et al., "SrDetection: A Self-Referential Framework for Data Leakage Detection in Code LLMs", appendix A.1, Tables 7
and 8.
"""

from collections.abc import Sequence

RENAMING = """\
You are given a Python code snippet: {python_code_snippet}
Task: Generate 10 alternative versions of the snippet by renaming function names, parameters, and variable identifiers.
Constraints: – Preserve comments, formatting, indentation, spacing, and line breaks exactly. – Update identifiers \
consistently if they appear in comments. – Do not change the logic or functionality.
Return each version as a single string, using \\n for newlines."""
"""Table 7: prompt template for identifier renaming."""

VERSIONS = 10
"""How many versions Table 7 asks for."""

AS_JSON = "\nAnswer with one JSON array of these strings and nothing else."
"""Ours: the paper does not say how the strings stand in the reply."""


def renaming_prompt(code: str, *, language: str = "Python", addition: str = AS_JSON) -> str:
    """Table 7 for one snippet.

    Args:
        code: the snippet.
        language: of it, as people write it; where it is not Python, its name stands in place of that word.
        addition: what follows the paper's words; "" for these alone.
    """
    return RENAMING.replace("Python", language, 1).replace("{python_code_snippet}", code) + addition


TEST_CASES = """\
You are given a programming problem: {question}
Provided Test Cases: Input: {test_case_input} Output: {test_case_output}
Task: Replace the sample test cases in the problem with the provided examples.
Constraints: – Preserve structure, formatting, indentation, and line breaks. – Only replace input/output sections. – \
Do not modify any other text.
Return the modified problem as a single string, using \\n for newlines."""
"""Table 8: prompt template for test case transformation."""

PLAIN = "\nAnswer with that string alone, in double quotes."
"""Ours: the paper does not say how the string stands in the reply."""

INPUTS = """\
You are given a programming problem: {question}
Sample input: {test_case_input}
Task: Propose 20 other inputs that are semantically similar to the sample input.
Constraints: – Keep the form, the number of values and their types. – Stay within what the problem allows.
Return each input as a single string, written exactly as the sample input is.
Answer with one JSON array of these strings and nothing else."""
"""Ours: the paper lets a model propose new test inputs and does not show the prompt."""


def replacement_prompt(question: str, tests: Sequence[tuple[str, str]], *, addition: str = PLAIN) -> str:
    """Table 8 for one problem.

    Args:
        question: the problem.
        tests: inputs and outputs to show in the order of those that they replace; "Input: … Output: …" stands once
            for each, on a line of its own where there are several.
        addition: what follows the paper's words; "" for these alone.
    """
    head, _, tail = TEST_CASES.partition("Input: {test_case_input} Output: {test_case_output}")
    shown = "\n".join(f"Input: {given} Output: {output}" for given, output in tests)
    return head.replace("{question}", question) + shown + tail + addition


def inputs_prompt(question: str, given: str) -> str:
    """Asks for other inputs of one example."""
    head, _, tail = INPUTS.partition("{test_case_input}")
    return head.replace("{question}", question) + given + tail
