"""The language of a text that comes without one: that in which most of it is found."""

from assay.datasets import language_named
from assay.provenance.searchable import Searchable
from assay.provenance.tracing import Trace, trace
from assay.retrieval import LANGUAGES


def language_by_evidence(text: str, index: Searchable) -> str | None:
    """The language under whose rules a text has most in common with one document, and then with the whole index.

    A fragment tells its language less surely than the index does: `return x + 1;` is right in five, and its
    fingerprints are those of a document only where both were read by the same rules. So only the languages that the
    index holds are tried.

    Returns:
        None where no language finds anything that the neutral rules do not find as well.
    """
    best, language = (0.0, 0.0), None
    held = {language_named(one) for one in index.languages() if one is not None}
    for name in (None, *(one for one in LANGUAGES if one in held)):
        found = trace(text, index, language=name, method="winnowing", top=1)
        evidence = (found.matches[0].containment, known_share(found)) if found.matches else (0.0, 0.0)
        if evidence > best:
            best, language = evidence, name
    return language


def known_share(found: Trace) -> float:
    """The share of a text's fingerprints that stand in some document, over all channels."""
    all_of_them = sum(one.fingerprints for one in found.evidence)
    return sum(one.fingerprints - one.absent for one in found.evidence) / max(1, all_of_them)
