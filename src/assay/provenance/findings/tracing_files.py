"""Files traced to their sources, part by part."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from operator import attrgetter

from assay.corpora import SourceText, parts_of
from assay.licences import LicenceRules
from assay.progress import progress_bar
from assay.provenance.findings.finding import TracedFile, trace_file
from assay.provenance.index import Searchable, StoredDocument
from assay.provenance.search import SearchMethod, TraceSettings

CANDIDATES_OF_GATE = 1000
"""Documents by fingerprints that are judged for each text: a hundred forks under one licence must not hide another."""


def _is_judged(rules: LicenceRules, document: StoredDocument) -> bool:
    """Return True if a licence of the document fails, or is unknown."""
    licences = set(map(attrgetter("licence"), document.origins))
    return any(map(rules.deny, licences)) or any(map(rules.leave_open, licences))


def trace_files(
    files: Sequence[SourceText],
    index: Searchable,
    *,
    rules: LicenceRules | None = None,
    parts: Callable[[SourceText], Sequence[SourceText]] = parts_of,
    method: SearchMethod = "union",
    top: int = 5,
    settings: TraceSettings | None = None,
) -> list[TracedFile]:
    """Trace files by their parts, all in one state of the index: a writer that commits meanwhile changes nothing.

    Args:
        files: whole.
        index: an open index.
        rules: of licences: documents that they deny or leave open are traced beyond the best ones; None without any.
        parts: the division of a file.
        method: see `trace`.
        top: sources of each part at most.
        settings: of the search.
    """
    settings = settings or TraceSettings()
    if rules is not None:
        settings = replace(settings, candidates=CANDIDATES_OF_GATE)

    also = None if rules is None else partial(_is_judged, rules)
    traced = []
    with index.snapshot(), progress_bar("tracing") as report:
        for done, file in enumerate(files, 1):
            traced.append(trace_file(file, index, method=method, top=top, settings=settings, also=also, parts=parts))
            if report is not None:
                report(done, len(files))
    return traced
