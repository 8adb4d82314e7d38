"""Findings as SARIF 2.1.0, the format that code hosts accept (OASIS standard, 27 March 2020)."""

from collections.abc import Sequence
from itertools import chain
from operator import attrgetter
from typing import Any

from assay.corpora import LineRange, lines_text
from assay.escaping import sarif_message, visible, web_address
from assay.provenance.findings.describing import headline, place_details, place_text
from assay.provenance.findings.finding import Place, SourceFinding, TracedFile
from assay.provenance.findings.gate import Denial, Judgement, denials_by_finding
from assay.provenance.findings.identifiers import place_swhid
from assay.reports import file_location, sarif_log, sarif_result

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
    undecided = {} if judgement is None else {id(each.finding): each for each in judgement.undecided}
    results = []
    for finding in chain.from_iterable(map(attrgetter("findings"), files)):
        if id(finding) in denials:
            results.append(_result(finding, denials[id(finding)], rule=_LICENCE, level="error"))
        elif id(finding) in undecided:
            results.append(_result(finding, undecided[id(finding)], rule=_MATCH, level="warning"))
        else:
            results.append(_result(finding, None, rule=_MATCH, level="note"))
    return sarif_log(_RULES, results)


def _result(finding: SourceFinding, denial: Denial | None, *, rule: str, level: str) -> dict[str, Any]:
    # a judged finding names the place that decided, which need not be the first one
    place = finding.places[0] if denial is None else denial.place
    best = finding.best
    lines = finding.lines[0] if finding.lines else LineRange(best.part.first_line, best.part.first_line)
    result = sarif_result(
        rule,
        f"{headline(finding, place)} ({place_details(finding, place)})",
        level,
        locations=[file_location(finding.path, lines.first, lines.last)],
        # without line numbers: code hosts recognise a finding by this, and lines move
        partialFingerprints={
            "assayFinding/v1": visible(f"{best.part.name or ''}:{place.origin.path}:{place.name or ''}")
        },
        relatedLocations=[_related(at, number) for number, at in enumerate(finding.places[:MOST_PLACES])],
        properties={
            "matchedLines": best.matched,
            "partLines": best.total,
            "isCopy": finding.is_copy,
            "containment": best.match.containment,
            "confidence": best.match.confidence,
            "channel": best.match.channel,
            "licences": list(map(visible, finding.licences)),
            "conflict": list(map(visible, finding.conflict)),
            "author": place.origin.author and visible(place.origin.author),
            "repository": place.origin.repository and visible(place.origin.repository),
            "url": web_address(place.origin.url),
            "swhid": place_swhid(place),
            "places": len(finding.places),
        },
    )
    if denial is not None and denial.excuse is not None:
        # SARIF's words for an acceptance in a file of its own, and in the code
        kind = "external" if denial.is_in_baseline else "inSource"
        result["suppressions"] = [{"kind": kind, "justification": visible(denial.excuse)}]
    return result


def _related(place: Place, number: int) -> dict[str, Any]:
    name = visible(f"{place.origin.repository or place.origin.source}/{place.origin.path}")
    location: dict[str, Any] = {
        "id": number,
        "message": {"text": sarif_message(f"{place_text(place)}, {place.origin.licence}")},
        "logicalLocations": [{"fullyQualifiedName": f"{name}:{lines_text(place.lines)}" if place.lines else name}],
    }
    if swhid := place_swhid(place):
        location["properties"] = {"swhid": swhid}
    if address := web_address(place.origin.url):
        location["physicalLocation"] = {"artifactLocation": {"uri": address}}
    return location
