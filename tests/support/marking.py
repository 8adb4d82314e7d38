"""Texts with the places of their names marked: «count» is a place where a name may change."""

from assay.code import analysis, variants

OPEN, CLOSE = "«", "»"


def plain(text):
    """The text without marks."""
    return text.replace(OPEN, "").replace(CLOSE, "")


def marked(text, language):
    """A text with all places marked where a name may change, as the analysis sees them."""
    found = analysis(text, language=language)
    assert found.refused is None, found.refused
    for place, length in sorted(
        ((at, len(symbol.name)) for symbol in found.names for at in symbol.places), reverse=True
    ):
        text = f"{text[:place]}{OPEN}{text[place : place + length]}{CLOSE}{text[place + length :]}"
    return text


def holds(text, language):
    """Just the marked places change, and what comes out is verified."""
    assert marked(plain(text), language) == text
    found = variants(plain(text), 3, language=language)
    assert found.rejected == 0
    assert (found.reason is None) == (OPEN in text), found.reason


def kept(text, language):
    """Names that stay, and why."""
    return dict(analysis(text, language=language).kept)
