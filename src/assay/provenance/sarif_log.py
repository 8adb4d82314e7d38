"""Findings as SARIF 2.1.0, the format that code hosts accept (OASIS standard, 27 March 2020)."""

from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from assay._version import __version__
from assay.escaping import sarif_message, visible, web_address
from assay.provenance.describing import denials_by_finding
from assay.provenance.findings import LineRange, Place, SourceFinding, TracedFile
from assay.provenance.licence_gate import Denial, Judgement
from assay.provenance.wording import extent, lines_text, place_text, source_of

SARIF_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"

MOST_PLACES = 20
"""Places of a finding that become related locations; its properties have their number."""

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


def sarif(files: Sequence[TracedFile], judgement: Judgement | None = None) -> dict[str, Any]:
    """Return one run with a result for each finding: its lines in the traced file, and its sources beside it.

    A place in the corpus is no file of the analysed repository, so it is a logical location; only one with an address
    of the web is a physical one. Names of the index are escaped.
    """
    denials = denials_by_finding(judgement)
    results = [_result(finding, denials.get(id(finding))) for file in files for finding in file.findings]
    driver = {"name": "assay", "version": __version__, "rules": _RULES}
    return {
        "$schema": SARIF_SCHEMA,
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}],
    }


def _result(finding: SourceFinding, denial: Denial | None) -> dict[str, Any]:
    own = quote(finding.path.encode("utf-8", "surrogateescape"))  # a path of this machine, in the bytes of its name
    place = finding.places[0] if denial is None else denial.place
    best = finding.best
    result: dict[str, Any] = {
        "ruleId": _MATCH if denial is None else _LICENCE,
        "ruleIndex": int(denial is not None),
        "level": "note" if denial is None else "error",
        "message": {"text": sarif_message(f"{extent(finding)} {source_of(finding, place)}")},
        "locations": [_location(own, lines) for lines in finding.lines[:1]]
        or [_location(own, LineRange(best.part.first_line, best.part.first_line))],
        "partialFingerprints": {
            "assayFinding/v1": visible(f"{best.part.name or ''}:{place.origin.path}:{place.name or ''}")
        },
        "relatedLocations": [_related(at, number) for number, at in enumerate(finding.places[:MOST_PLACES])],
        "properties": {
            "matchedLines": best.matched,
            "partLines": best.total,
            "isCopy": finding.is_copy,
            "containment": best.match.containment,
            "confidence": best.match.confidence,
            "channel": best.match.channel,
            "licences": [visible(licence) for licence in finding.licences],
            "conflict": [visible(licence) for licence in finding.conflict],
            "author": place.origin.author and visible(place.origin.author),
            "repository": place.origin.repository and visible(place.origin.repository),
            "url": web_address(place.origin.url),
            "places": len(finding.places),
        },
    }
    if denial is not None and denial.excuse is not None:
        kind = "external" if denial.is_in_baseline else "inSource"
        result["suppressions"] = [{"kind": kind, "justification": visible(denial.excuse)}]
    return result


def _location(uri: str, lines: LineRange) -> dict[str, Any]:
    region = {"startLine": lines.first, "endLine": max(lines.first, lines.last)}
    return {"physicalLocation": {"artifactLocation": {"uri": uri}, "region": region}}


def _related(place: Place, number: int) -> dict[str, Any]:
    name = visible(f"{place.origin.repository or place.origin.source}/{place.origin.path}")
    location: dict[str, Any] = {
        "id": number,
        "message": {"text": sarif_message(f"{place_text(place)}, {place.origin.licence}")},
        "logicalLocations": [{"fullyQualifiedName": f"{name}:{lines_text(place.lines)}" if place.lines else name}],
    }
    if address := web_address(place.origin.url):
        location["physicalLocation"] = {"artifactLocation": {"uri": address}}
    return location
