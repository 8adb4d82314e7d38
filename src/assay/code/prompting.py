"""Prompts to a language model that rewrites samples, the requests, and its replies, read strictly.

Li et al., "SrDetection: A Self-Referential Framework for Data Leakage Detection in Code LLMs", appendix A.1, Tables 7
and 8; what the paper leaves open is marked as ours.
"""

import json
import re
from collections import defaultdict
from collections.abc import Sequence

from assay.python_parser import REFUSALS, python_literal
from assay.types import Generator, Rejected

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
"""Ours: the paper does not say in which form the reply has the strings."""


def renaming_prompt(code: str, *, language: str = "Python", addition: str = AS_JSON) -> str:
    """Return the prompt of Table 7 for one snippet.

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
"""Ours: the paper does not say in which form the reply has the string."""

INPUTS = """\
You are given a programming problem: {question}
Sample input: {test_case_input}
Task: Propose 20 other inputs that are semantically similar to the sample input.
Constraints: – Keep the form, the number of values and their types. – Stay within what the problem allows.
Return each input as a single string, written exactly as the sample input is.
Answer with one JSON array of these strings and nothing else."""
"""Ours: the paper lets a model propose new test inputs and does not show the prompt."""


def replacement_prompt(question: str, tests: Sequence[tuple[str, str]], *, addition: str = PLAIN) -> str:
    """Return the prompt of Table 8 for one problem.

    Args:
        question: the problem.
        tests: inputs and outputs to show in the order of those that they replace; "Input: … Output: …" occurs once
            for each, on a line of its own where there are several.
        addition: what follows the paper's words; "" for these alone.
    """
    # cut at the place first: a question may itself hold braces or the words of the template
    head, _, tail = TEST_CASES.partition("Input: {test_case_input} Output: {test_case_output}")
    shown = "\n".join(f"Input: {stated} Output: {output}" for stated, output in tests)
    return head.replace("{question}", question) + shown + tail + addition


def inputs_prompt(question: str, source: str) -> str:
    """Return the prompt for other inputs of one example."""
    head, _, tail = INPUTS.partition("{test_case_input}")
    return head.replace("{question}", question) + source + tail


STEP = 512
"""Lengths of replies are rounded up to a multiple of this, so that prompts share batches."""
CHARACTERS_A_TOKEN = 2
"""Fewer than a token of code has, so that the reply has room."""


def replies(
    generator: Generator, prompts: Sequence[tuple[str, int]], *, temperature: float, seed: int
) -> list[str | Rejected]:
    """Return the model's reply to each prompt, or why there is none.

    Prompts whose replies are of similar length form one batch, so that a server answers many at a time, and a long text
    makes no other request longer.

    Args:
        generator: the model.
        prompts: each with the number of characters that its reply may have.
        temperature: of the model.
        seed: of the model.

    Raises:
        ModelError: the model cannot be run.
    """
    # one long text in a batch would let the model write as much for every other one
    alike: defaultdict[int, list[int]] = defaultdict(list)
    for place, (_, characters) in enumerate(prompts):
        alike[STEP * max(1, -(-characters // (CHARACTERS_A_TOKEN * STEP)))].append(place)
    answers_by_place: dict[int, str | Rejected] = {}
    for tokens, places in sorted(alike.items()):
        batch = [prompts[place][0] for place in places]
        answers = generator.generate(batch, max_new_tokens=tokens, temperature=temperature, seed=seed)
        answers_by_place |= zip(places, answers, strict=True)
    return list(map(answers_by_place.__getitem__, range(len(prompts))))


_FENCED = re.compile(r"\A```[\w-]*\n(.*)\n```\Z", re.DOTALL)
_NUMBERED = re.compile(r"\A(?:\d+[.):]|[-*])\s+")


def strings_in(reply: str) -> tuple[str, ...] | None:
    """Return the strings of a reply; None where it is not in one of these forms, inside a code fence or not.

    A JSON array of strings; or lines that are quoted strings of JSON or Python, with numbers or bullets before all of
    them or before none. Prose around them, or a reply that breaks off, makes it none of these.
    """
    body = reply.strip()
    if fenced := _FENCED.match(body):
        body = fenced[1].strip()
    if body.startswith("["):
        try:
            items = json.loads(body)
        except (ValueError, RecursionError):
            return None
        return tuple(items) if items and all(isinstance(item, str) for item in items) else None
    lines = list(filter(None, map(str.strip, body.splitlines())))
    if len(set(map(bool, map(_NUMBERED.match, lines)))) != 1:  # no line, or numbers before some of them only
        return None
    strings = []
    for line in lines:
        string = _quoted(_NUMBERED.sub("", line).rstrip(","))
        if string is None:
            return None
        strings.append(string)
    return tuple(strings)


def string_in(reply: str) -> str:
    r"""Return the single string of a reply: quoted as in JSON or Python, or bare, with line ends or \n in one line."""
    body = reply.strip("\r\n")
    if fenced := _FENCED.match(body.strip()):
        body = fenced[1]
    quoted = _quoted(body.strip())
    if quoted is not None:
        return quoted
    return body if "\n" in body else body.replace("\\n", "\n")


def _quoted(line: str) -> str | None:
    if line[:1] not in {'"', "'"}:
        return None
    for read in (json.loads, python_literal):
        try:
            value = read(line)
        except REFUSALS:
            continue
        if isinstance(value, str):
            return value
    return None
