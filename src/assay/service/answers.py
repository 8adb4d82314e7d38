"""Answers of the index to requests."""

from assay import __version__
from assay.errors import AssayError
from assay.languages import languages_with
from assay.provenance import Searchable, SearchMethod, Trace, language_by_evidence, trace
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
        AssayError: the index cannot serve the method.
    """
    methods = methods_of(index)
    method = request.method or methods[0]
    if method not in methods:
        raise AssayError(f"method: received {method!r}, expected {', '.join(methods)}: this index has no vectors")
    with index.snapshot():
        language = request.language or language_by_evidence(request.code, index)
        result = trace(request.code, index, language=language, method=method, top=request.top)
    return TraceAnswer(
        matches=list(result.matches), explanation=explanation(result), method=method, language=result.language
    )


def explanation(result: Trace) -> str:
    """Return the basis of an answer, or the reason why there is no match, in sentences."""
    sentences = [result.why_none] if result.why_none else [f"{result.candidates} documents compared"]
    return " ".join(f"{sentence[0].upper()}{sentence[1:]}." for sentence in (*sentences, *result.notes))


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
            origins=list(entry.origins),
        )
    return None
