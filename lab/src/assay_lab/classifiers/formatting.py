"""Labelled code as a formatter writes it: robustness means that the answers stay."""

import ast
from dataclasses import replace

from assay.authorship import PYTHON, code_of
from assay_lab.classifiers.labelled import LabelledCode


def as_formatted(labelled: LabelledCode) -> LabelledCode:
    """Return the texts with all Python that parses as the standard library writes its tree; other texts stay."""
    samples, codes = list(labelled.samples), list(labelled.codes)
    for at, sample in enumerate(labelled.samples):
        text = formatted(sample.text) if sample.language == PYTHON else None
        if text is not None:
            samples[at] = replace(sample, text=text)
            codes[at] = code_of(text, PYTHON)
    return replace(labelled, samples=tuple(samples), codes=tuple(codes))


def formatted(text: str) -> str | None:
    """Return Python as the standard library writes its tree, without comments; None for a text that does not parse."""
    try:
        return ast.unparse(ast.parse(text))
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # broken, or nested too deeply for the parser
        return None
