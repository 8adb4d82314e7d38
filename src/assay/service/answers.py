"""Answers of the index to requests."""

import os
import re
from dataclasses import replace
from pathlib import Path

from assay import __version__
from assay.authorship import in_patch, in_text
from assay.corpora import SourceText
from assay.errors import AssayError, DataError
from assay.languages import checked_language, languages_with
from assay.leakage import describe_run
from assay.licences import FAMILIES, licence_of_file, read_rules
from assay.provenance import Searchable, SearchMethod, Thresholds, TracedFile, TraceSettings, trace_file
from assay.provenance.findings import finding_data, trace_verdict
from assay.provenance.findings.schema import FindingFields
from assay.reports import RENDERERS, number_of
from assay.service.schemas import (
    AuditAnswer,
    AuditRequest,
    DetectAnswer,
    DetectRequest,
    DocumentAnswer,
    InfoAnswer,
    LicenceAnswer,
    LicenceRequest,
    SignalAnswer,
    TraceAnswer,
    TraceRequest,
)


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
    settings = TraceSettings(Thresholds(min_confidence=request.min_confidence))
    # a writer may commit between two look-ups: all of them see the index of one moment
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
    # an address of the web names a source; a path would show callers the folders of this machine
    is_place = source.startswith(("/", "~", "\\\\")) or source[1:3] in {":\\", ":/"}
    return re.split(r"[\\/]", source.rstrip("/\\"))[-1] if is_place else source


def licence_answer(request: LicenceRequest) -> LicenceAnswer:
    """Return the licence that a file states, and the families that it is in whatever is chosen."""
    licence = licence_of_file(None, request.code, None)
    # a rule that denies a family fires where every choice that the licence leaves is in it
    families = [family for family in FAMILIES if read_rules([family]).deny(licence)]
    return LicenceAnswer(licence=licence, families=families)


def declarations_in(request: DetectRequest) -> DetectAnswer:
    """Return the declarations of generated code in a file, or in the messages of a patch."""
    declarations = [*in_text(request.code, "your code"), *(in_patch(request.code) or [])]
    signals = [SignalAnswer(kind=signal.kind, text=signal.text, line=signal.line) for signal in declarations]
    statement = f"declared as generated: {signals[0].kind}" if signals else "nothing declares this code as generated"
    return DetectAnswer(statement=statement, signals=signals)


def audit_report(runs: Path | None, request: AuditRequest) -> AuditAnswer:
    """Return the report of a run below a folder.

    Raises:
        DataError: there is no such run, or the service has no folder of runs.
    """
    if runs is None:
        raise DataError("audit_report: this service was started without --runs")
    # a name of the list, and nothing that is joined to a path: no "..", no zero byte, no link to elsewhere
    folders = {path.name: path for path in runs.iterdir() if path.is_dir() and not path.is_symlink()}
    folder = folders.get(request.run)
    if folder is None:
        names = ", ".join(sorted(folders)) or "none: the folder is empty"
        raise DataError(f"run: received {request.run!r}, expected one of {names}")
    try:
        report = describe_run(folder)
    except AssayError as error:
        raise DataError(_without_place(str(error), runs)) from error
    statement, page = report.statement, RENDERERS["markdown"](report)
    return AuditAnswer(statement=_without_place(statement, runs) or None, report=_without_place(page, runs))


def _without_place(text: str, runs: Path) -> str:
    """Return a text without the place of the runs on this machine."""
    # a folder that is given by a link is named in both ways
    for place in (runs, runs.resolve()):
        text = text.replace(f"{place}{os.sep}", "")
    return text


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
