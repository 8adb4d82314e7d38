"""Traces as SARIF 2.1.0, the format of findings that code hosts accept (OASIS standard, 27 March 2020)."""

from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from assay._version import __version__
from assay.escaping import corpus_uri, sarif_message, visible, web_address
from assay.provenance.licence_rules import denied
from assay.provenance.texts import SourceText
from assay.provenance.tracing import Trace
from assay.types import Match

SARIF_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"

_MATCH, _LICENCE = "source-found", "denied-licence"
_RULES = [
    {
        "id": _MATCH,
        "shortDescription": {"text": "Code that occurs in an indexed source"},
        "fullDescription": {"text": "These lines share fingerprints with a document of the index."},
        "defaultConfiguration": {"level": "note"},
    },
    {
        "id": _LICENCE,
        "shortDescription": {"text": "Code that occurs in a source under a denied licence"},
        "fullDescription": {"text": "These lines share fingerprints with a document under a denied licence."},
        "defaultConfiguration": {"level": "error"},
    },
]


def sarif(traced: Sequence[tuple[SourceText, Trace]], denied_licences: Sequence[str] = ()) -> dict[str, Any]:
    """Return one run with a result for each match: its lines in the traced text, and its sources as locations.

    Names of the index are escaped: an address is left out unless it is one of the web, and paths stay inside the
    corpus.
    """
    results = [_result(source, match, trace, denied_licences) for source, trace in traced for match in trace.matches]
    driver = {"name": "assay", "version": __version__, "rules": _RULES}
    return {
        "$schema": SARIF_SCHEMA,
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}],
    }


def _result(source: SourceText, match: Match, trace: Trace, denied_licences: Sequence[str]) -> dict[str, Any]:
    own = quote(source.path.encode("utf-8", "surrogateescape"))  # a path of this machine, in the bytes of its name
    is_denied = any(denied(origin.licence, denied_licences) for origin in trace.origins[match.document_id])
    sure = "" if match.confidence is None else f", confidence {match.confidence:.4f}"
    of = f" of {match.repository}" if match.repository else ""
    text = sarif_message(
        f"{match.containment:.0%} of this code occurs in {match.path}{of} "
        f"(licence {match.licence}{sure}, by {match.channel})"
    )
    result: dict[str, Any] = {
        "ruleId": _LICENCE if is_denied else _MATCH,
        "ruleIndex": int(is_denied),
        "level": "error" if is_denied else "note",
        "message": {"text": text},
        "locations": [
            _location(own, span.query_first + source.first_line - 1, span.query_last + source.first_line - 1)
            for span in match.spans[:1]
        ]
        or [_location(own, source.first_line, source.first_line)],
        "partialFingerprints": {"assayMatch/v1": visible(f"{source.name or ''}:{match.path}:{match.name or ''}")},
        "properties": {
            "similarity": match.similarity,
            "containment": match.containment,
            "confidence": match.confidence,
            "channel": match.channel,
            "licence": visible(match.licence),
            "author": match.author and visible(match.author),
            "repository": match.repository and visible(match.repository),
            "url": web_address(match.url),
            "origins": match.origins,
        },
    }
    if match.spans:
        there, message = corpus_uri(match.path), sarif_message(f"occurs in {match.path}")
        result["relatedLocations"] = [
            _location(there, span.document_first, span.document_last, message, number)
            for number, span in enumerate(match.spans)
        ]
    return result


def _location(uri: str, first: int, last: int, message: str | None = None, number: int | None = None) -> dict[str, Any]:
    location: dict[str, Any] = {
        "physicalLocation": {
            "artifactLocation": {"uri": uri},
            "region": {"startLine": first, "endLine": max(first, last)},
        }
    }
    if message is not None:
        location |= {"id": number, "message": {"text": message}}
    return location
