"""`assay.trace`: where a text comes from."""

from contextlib import nullcontext
from pathlib import Path

from assay.provenance import Searchable, SearchMethod, Thresholds, Trace, TraceSettings, open_for_search
from assay.provenance import trace as trace_text
from assay.provenance.search import find_language
from assay.provenance.settings import LEAST_CONFIDENCE

open_index = open_for_search


def trace(
    text: str,
    index: Searchable | Path | str,
    *,
    language: str | None = None,
    method: SearchMethod = "union",
    top: int = 10,
    min_similarity: float = 0.0,
    min_confidence: float = LEAST_CONFIDENCE,
) -> Trace:
    """Trace a text to the documents of an index that it may come from, best first.

    Args:
        text: code.
        index: an open index, a folder, or an address that a plug-in opens.
        language: the text is read in it; None finds it from the matches.
        method: candidates by fingerprints ("winnowing"), by vector ("vector", "hst"), or by both ("union").
        top: matches at most.
        min_similarity: least share of the text that a match contains.
        min_confidence: least confidence of a match that is no copy, as in the command; 0 returns all there
            are, those whose confidence was not measured among them.

    Raises:
        AssayError: there is no index, or it is damaged; one line.
    """
    settings = TraceSettings(Thresholds(min_similarity, min_confidence))
    # one state of the index for the language and for the matches
    with open_index(index) if isinstance(index, Path | str) else nullcontext(index) as opened, opened.snapshot():
        read_in = language or find_language(text, opened)
        return trace_text(text, opened, language=read_in, method=method, top=top, settings=settings)
