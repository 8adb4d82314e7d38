"""The language of a text that comes without one: the language under whose rules most of the text is in the index."""

from assay.languages import language_named, languages_with
from assay.provenance.searchable import Searchable
from assay.provenance.tracing import Trace, trace


def language_by_evidence(text: str, index: Searchable) -> str | None:
    """Return the language under whose rules a text has most in common with one document, and then with the index.

    A fragment shows its language less surely than the index does: `return x + 1;` is valid in five languages, and its
    fingerprints are those of a document only where both were read by the same rules. So only the languages that the
    index contains are tried.

    Returns:
        None where no language finds anything that the neutral rules do not find as well.
    """
    best, language = (0.0, 0.0), None
    indexed = {language_named(name) for name in index.languages() if name is not None}
    for candidate in (None, *(name for name in languages_with("fingerprints") if name in indexed)):
        result = trace(text, index, language=candidate, method="winnowing", top=1)
        evidence = (result.matches[0].containment, indexed_share(result)) if result.matches else (0.0, 0.0)
        if evidence > best:
            best, language = evidence, candidate
    return language


def indexed_share(result: Trace) -> float:
    """Return the share of a text's fingerprints that occur in some document, over all channels."""
    total = sum(channel.fingerprints for channel in result.evidence)
    return sum(channel.fingerprints - channel.absent for channel in result.evidence) / max(1, total)
