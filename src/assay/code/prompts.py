"""The prompt of SrDetection for renaming, and what the paper leaves open, which is ours.

Li et al., "SrDetection: A Self-Referential Framework for Data Leakage Detection in Code LLMs", appendix A.1, Table 7.
"""

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


def renaming_prompt(code: str, *, addition: str = AS_JSON) -> str:
    """Table 7 for one snippet.

    Args:
        code: the snippet.
        addition: what follows the paper's words; "" for these alone.
    """
    return RENAMING.replace("{python_code_snippet}", code) + addition
