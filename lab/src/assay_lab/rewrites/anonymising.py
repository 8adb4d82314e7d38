"""Addresses, e-mail addresses and phone numbers are replaced by their names.

The expressions that the paper prints in Figure 10 hardly match (that of addresses needs a literal `}}`, that of phone
numbers a whole text). They are an option; without it these repaired ones are used.
"""

import re

from assay.languages import lexical_rules
from assay.retrieval import Source, find_regions
from assay_lab.rewrites.cleaning import Regexes

_ADDRESS = re.compile(r"""(?:https?://|\bwww\.)[^\s"'`<>()\[\]{}\\]*[^\s"'`<>()\[\]{}\\.,;:!?]""")
"""Quotes, brackets and closing punctuation stay, so that a literal stays closed."""
_EMAIL = re.compile(r"\b[A-Za-z0-9._%+-]+@[A-Za-z0-9.-]+\.[A-Za-z]{2,}\b")
_PHONE = re.compile(r"(?<![\w.+-])(?:\+\d{1,3}[-. ]?)?(?:\(\d{3}\)[-. ]?|\d{3}[-. ])\d{3}[-. ]\d{4,6}(?![\w-]|\.\d)")
"""Separators are required: a number of ten digits alone is rather a time or an id."""

PAPER_EXPRESSIONS: tuple[tuple[str, str], ...] = (
    (r"http(s?):\/\/[^\r\n\t\f\v ]\}\}+", "[URL]"),
    (r"www\.\S+", "[URL]"),
    (r"^[\+]?([]?[0-9]{3}[ ])?[-\s\.]?[0-9]{3}[-\s\.]?[0-9]{4,6}$", "[PHONE NUMBER]"),
    (r"(?i)\b[A-Z0-9._%+-]+@[A-Z0-9.-]+\.[A-Z]{2,}\b", "[EMAIL]"),
)
"""Figure 10 as printed: expression → its replacement."""


def anonymised(text: str, language: str | None, regexes: Regexes = "repaired") -> str:
    """Return a text with placeholders for addresses, e-mail addresses and phone numbers.

    Args:
        text: of a file.
        language: whose comments and literals hold e-mail addresses and phone numbers; addresses are replaced
            everywhere.
        regexes: "paper" applies the expressions of Figure 10 as printed, to the whole text.
    """
    if regexes == "paper":
        for expression, placeholder in PAPER_EXPRESSIONS:
            text = re.sub(expression, placeholder, text)
        return text
    text = _ADDRESS.sub("[URL]", text)
    regions = find_regions(Source.of(text), lexical_rules(language))
    parts, end = [], 0
    for start, stop in zip(regions.starts.tolist(), regions.stops.tolist(), strict=True):
        inside = _EMAIL.sub("[EMAIL]", text[start:stop])
        parts += [text[end:start], _without_phone_numbers(inside)]
        end = stop
    return "".join([*parts, text[end:]])


def _without_phone_numbers(text: str) -> str:
    # a number that touches the one before it is found once that one is replaced
    count = 1
    while count:
        text, count = _PHONE.subn("[PHONE NUMBER]", text)
    return text
