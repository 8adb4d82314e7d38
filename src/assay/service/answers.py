"""What the index says to a request."""

from assay import __version__
from assay.errors import AssayError
from assay.languages import languages_with
from assay.provenance import Searchable, SearchMethod, Trace, language_by_evidence, trace
from assay.service.schemas import DocumentAnswer, InfoAnswer, TraceAnswer, TraceRequest


def methods_of(index: Searchable) -> list[SearchMethod]:
    """What an index can serve, the best first."""
    return ["union", "winnowing", "vector", "hst"] if index.finds_by_vector else ["winnowing"]


def described(index: Searchable) -> InfoAnswer:
    """What the index holds."""
    found = index.info()
    return InfoAnswer(
        documents=found.documents,
        origins=found.origins,
        profile=found.profile.name,
        encoder=found.encoder,
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
        found = trace(request.code, index, language=language, method=method, top=request.top)
    return TraceAnswer(
        matches=list(found.matches), explanation=explanation(found), method=method, language=found.language
    )


def explanation(found: Trace) -> str:
    """What an answer rests on, and why there is none, in sentences."""
    sentences = [found.why_none] if found.why_none else [f"{found.candidates} documents compared"]
    return " ".join(f"{one[0].upper()}{one[1:]}." for one in (*sentences, *found.notes))


def document(index: Searchable, number: int) -> DocumentAnswer | None:
    """A document with all its origins; None where there is none of this number."""
    for one in index.documents([number]):
        return DocumentAnswer(
            id=number,
            text=one.text,
            language=one.language,
            kind=one.kind,
            name=one.name,
            first_line=one.origins[0].first_line,
            origins=list(one.origins),
        )
    return None
