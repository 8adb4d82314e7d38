"""The form of a benchmark's texts, and functions of others put into it.

A sample of HumanEval is a function with a docstring, sometimes behind an import; one of MBPP is a sentence and a
function without a docstring; one of HumanEval-X in Java is a method with a comment inside a class. What stands around
the function is its frame. Only frames that several samples share are used, so no task's own words are.
"""

import re
import textwrap
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Literal

import numpy as np

from assay.code import Function, TextSpan, Unparsable, functions_in
from assay.languages import languages_with
from assay.types import Sample

Documentation = Literal["own", "sentence", "none"]
"""Where a text has its words: in the function's own docstring or comment, in a line before the code, or nowhere."""

LEADING_LINES = 8
"""Lines of words that may stand before the code."""

SHARED_FRAME = 0.02
"""Smallest share of the samples that have a frame for it to be used."""

QUANTILES = (0.01, 0.99)
"""Lengths beyond these of the benchmark's are left out."""

_PARAGRAPH_END = re.compile(r"\n\s*\n|\n\s*(?=[:@>.]|Args|Parameters|Returns)")


@dataclass(frozen=True, slots=True)
class Frame:
    """The text around a function.

    Attributes:
        before: it.
        after: it.
        indentation: of the function inside.
    """

    before: str
    after: str
    indentation: str


@dataclass(frozen=True, slots=True)
class BenchmarkForm:
    """The form of a benchmark's texts in one language.

    Attributes:
        language: of the texts.
        samples: number of texts with a function.
        documentation: where most texts have their words.
        top_level: most functions stand in no class.
        lengths: smallest and largest length in characters.
        frames: frames that several texts share, with their number.
    """

    language: str
    samples: int
    documentation: Documentation
    top_level: bool
    lengths: tuple[int, int]
    frames: tuple[tuple[Frame, int], ...]

    def rendered(self, function: Function, text: str, random: np.random.Generator) -> str | None:
        """Return a function of a file in this form; None where it cannot have it.

        Args:
            function: of the file.
            text: of the file.
            random: draws the frame.
        """
        # a method moved out of its class would name a `self` that is not there
        if self.top_level and "." in function.name and self.language == "python":
            return None
        words = function.documentation
        # words are never invented: text of ours would be unlike all that a model saw
        if self.documentation != "none" and not words:
            return None
        if self.documentation == "own":
            code = _dedented(text, _whole(function))
        else:
            code = _without_documentation(function, text)
        if self.documentation == "sentence" and words:
            # prompts as MBPP's are one sentence; the paragraphs below it would tell the two apart
            sentence = " ".join(_PARAGRAPH_END.split(words.strip(), maxsplit=1)[0].split())
            rendered = f"{sentence}\n{code}"
        else:
            rendered = self._framed(code, random)
        low, high = self.lengths
        if not low <= len(rendered) <= high:
            return None
        return rendered

    def _framed(self, code: str, random: np.random.Generator) -> str:
        if not self.frames:
            return code
        counts = np.array(list(map(itemgetter(1), self.frames)), float)
        # as often as in the benchmark, so that the frame by itself says nothing
        frame = self.frames[int(random.choice(len(counts), p=counts / counts.sum()))][0]
        return frame.before + textwrap.indent(code, frame.indentation) + frame.after


def forms_of(samples: Sequence[Sample]) -> dict[str, BenchmarkForm]:
    """Return language → form of the texts, for the languages in which at least half of the texts hold a function."""
    readable = languages_with("functions")
    by_language: dict[str, list[str]] = defaultdict(list)
    for sample in samples:
        by_language[sample.language or "python"].append(sample.text)
    forms = {}
    for language, texts in by_language.items():
        form = _form(language, texts) if language in readable else None
        if form is not None:
            forms[language] = form
    return forms


def _form(language: str, texts: Sequence[str]) -> BenchmarkForm | None:
    documentation, frames = Counter[Documentation](), Counter[Frame]()
    top_level = parsed = 0
    for text in texts:
        words, code = _parts(text, language)
        functions = _functions(code, language)
        if not functions:
            continue
        parsed += 1
        first = functions[0]
        top_level += "." not in first.name
        documentation[_documentation(words, first)] += 1
        frames[_frame(code, functions)] += 1
    # a form that is read off a minority would fit the others badly
    if 2 * parsed < len(texts) or not parsed:
        return None
    # quantiles: a single giant solution would admit functions of any length
    low, high = np.quantile(list(map(len, texts)), QUANTILES)
    return BenchmarkForm(
        language=language,
        samples=parsed,
        documentation=documentation.most_common(1)[0][0],
        top_level=2 * top_level > parsed,
        lengths=(int(low), int(high)),
        frames=tuple((frame, n) for frame, n in frames.most_common() if n >= max(2, SHARED_FRAME * parsed)),
    )


def _documentation(words: str, function: Function) -> Documentation:
    if words:
        return "sentence"
    return "own" if function.documentation else "none"


def _parts(text: str, language: str) -> tuple[str, str]:
    """Return the words before the code, and the code; Python alone tells the two apart by its grammar."""
    if language != "python" or _functions(text, language):
        return "", text
    lines = text.splitlines(keepends=True)
    # the shortest head that leaves code behind it is the words
    for count in range(1, min(LEADING_LINES, len(lines)) + 1):
        code = "".join(lines[count:])
        if _functions(code, language):
            return "".join(lines[:count]), code
    return "", text


def _functions(text: str, language: str) -> tuple[Function, ...]:
    try:
        return functions_in(text, language)
    except Unparsable:
        return ()


def _frame(code: str, functions: Sequence[Function]) -> Frame:
    first, last = _whole(functions[0]), functions[-1].span
    # from the start of its line, so that the indentation belongs to the frame
    start = code.rfind("\n", 0, first.start) + 1
    after = code[last.stop :].strip("\n") + "\n"
    if not after.strip():
        after = ""
    return Frame(code[:start], after, code[start : first.start])


def _whole(function: Function) -> TextSpan:
    """Return where a function with its documentation stands."""
    if function.documentation_span is None:
        return function.span
    return TextSpan(min(function.span.start, function.documentation_span.start), function.span.stop)


def _without_documentation(function: Function, text: str) -> str:
    span = function.documentation_span
    if span is None or not function.span.start < span.start < function.body.start:
        return _dedented(text, function.span)
    before, after = text[: span.start], text[function.body.start : function.span.stop]
    return _dedented(before + after, TextSpan(function.span.start, len(before) + len(after)))


def _dedented(text: str, span: TextSpan) -> str:
    start = text.rfind("\n", 0, span.start) + 1
    return textwrap.dedent(text[start : span.stop]).strip("\n") + "\n"
