"""Answers of the index to requests."""

import re
from dataclasses import replace

from assay import __version__
from assay.errors import AssayError
from assay.languages import checked_language, languages_with
from assay.provenance import Searchable, SearchMethod, SourceText, TracedFile, TraceSettings, trace_file
from assay.provenance.findings import finding_data, trace_verdict
from assay.provenance.findings.schema import FindingFields
from assay.reports import number_of
from assay.service.schemas import DocumentAnswer, InfoAnswer, TraceAnswer, TraceRequest


def methods_of(index: Searchable) -> list[SearchMethod]:
    """Return the methods that an index can serve, the best first."""
    return ["union", "winnowing", "vector", "hst"] if index.finds_by_vector else ["winnowing"]


def described(index: Searchable) -> InfoAnswer:
    """Return a description of the index."""
    info = index.info()
    return InfoAnswer(
        documents=info.documents,
        origins=info.origins,
        profile=info.profile.name,
        encoder=info.encoder,
        languages=sorted(languages_with("fingerprints")),
        methods=list(methods_of(index)),
        version=__version__,
    )


def answer(index: Searchable, request: TraceRequest) -> TraceAnswer:
    """Return the trace that a request asks for.

    Raises:
        AssayError: the index cannot serve the method, or there is no language of that name.
    """
    methods = methods_of(index)
    method = request.method or methods[0]
    if method not in methods:
        raise AssayError(f"method: received {method!r}, expected {', '.join(methods)}: this index has no vectors")
    language = checked_language(request.language) if request.language else None
    settings = TraceSettings(min_confidence=request.min_confidence)
    with index.snapshot():
        file = SourceText("your code", request.code, language)
        traced = trace_file(file, index, method=method, top=request.top, settings=settings)
    findings = [finding_data(finding) for finding in traced.findings[: request.top]]
    for finding in findings:
        finding["places"] = [place | {"source": public_name(place["source"])} for place in finding["places"]]
    return TraceAnswer(
        verdict=trace_verdict([traced]),
        findings=[FindingFields.model_validate(finding) for finding in findings],
        further=len(traced.findings) - len(findings),
        too_short=traced.too_short,
        explanation=explanation(traced),
        method=method,
        language=traced.language,
    )


def explanation(traced: TracedFile) -> str:
    """Return the basis of an answer, or the reason why there is no source, in sentences."""
    parts = number_of(len(traced.parts), "part")
    candidates = sum(trace.candidates for _, trace in traced.parts)
    basis = traced.why_none or f"{parts} of the code compared with {number_of(candidates, 'document')}"
    return " ".join(f"{sentence[0].upper()}{sentence[1:]}." for sentence in (basis, *traced.notes))


def public_name(source: str) -> str:
    """Return the name of a source for callers of the service: of a folder or file its last part."""
    is_place = source.startswith(("/", "~", "\\\\")) or source[1:3] in {":\\", ":/"}
    return re.split(r"[\\/]", source.rstrip("/\\"))[-1] if is_place else source


def document(index: Searchable, number: int) -> DocumentAnswer | None:
    """Return a document with all its origins; None if no document has this number."""
    for entry in index.documents([number]):
        return DocumentAnswer(
            id=number,
            text=entry.text,
            language=entry.language,
            kind=entry.kind,
            name=entry.name,
            first_line=entry.origins[0].first_line,
            origins=[replace(origin, source=public_name(origin.source)) for origin in entry.origins],
        )
    return None
