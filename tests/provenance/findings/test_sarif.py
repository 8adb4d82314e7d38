"""SARIF 2.1.0: what the schema requires is there, and nothing that it forbids."""

from dataclasses import replace

import jsonschema
import pytest

from assay.corpora import Origin, SourceText
from assay.provenance import Judgement, Trace, TracedFile, sarif
from assay.provenance.findings.finding import findings_of
from assay.provenance.findings.gate import Denial
from assay.types import Match, Span

TEXT = {"type": "object", "required": ["text"], "properties": {"text": {"type": "string", "minLength": 1}}}
LOCATION = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "id": {"type": "integer", "minimum": -1},
        "message": TEXT,
        "logicalLocations": {
            "type": "array",
            "items": {
                "type": "object",
                "additionalProperties": False,
                "properties": {"fullyQualifiedName": {"type": "string"}},
            },
        },
        "physicalLocation": {
            "type": "object",
            "additionalProperties": False,
            "required": ["artifactLocation"],
            "properties": {
                "artifactLocation": {
                    "type": "object",
                    "additionalProperties": False,
                    "properties": {"uri": {"type": "string", "pattern": r"^[^ \\]+$"}},
                },
                "region": {
                    "type": "object",
                    "additionalProperties": False,
                    "properties": {
                        "startLine": {"type": "integer", "minimum": 1},
                        "endLine": {"type": "integer", "minimum": 1},
                    },
                },
            },
        },
    },
}
RESULT = {
    "type": "object",
    "additionalProperties": False,
    "required": ["message"],
    "properties": {
        "ruleId": {"type": "string"},
        "ruleIndex": {"type": "integer", "minimum": -1},
        "level": {"enum": ["none", "note", "warning", "error"]},
        "message": TEXT,
        "locations": {"type": "array", "items": LOCATION},
        "relatedLocations": {"type": "array", "items": LOCATION, "uniqueItems": True},
        "suppressions": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["kind"],
                "additionalProperties": False,
                "properties": {"kind": {"enum": ["inSource", "external"]}, "justification": {"type": "string"}},
            },
        },
        "partialFingerprints": {"type": "object", "additionalProperties": {"type": "string"}},
        "properties": {"type": "object"},
    },
}
RULE = {
    "type": "object",
    "required": ["id"],
    "properties": {"id": {"type": "string"}, "shortDescription": TEXT, "fullDescription": TEXT},
}
DRIVER = {
    "type": "object",
    "required": ["name"],
    "properties": {
        "name": {"type": "string"},
        "version": {"type": "string"},
        "rules": {"type": "array", "items": RULE},
    },
}
RUN = {
    "type": "object",
    "additionalProperties": False,
    "required": ["tool"],
    "properties": {
        "tool": {"type": "object", "required": ["driver"], "properties": {"driver": DRIVER}},
        "columnKind": {"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
        "results": {"type": "array", "items": RESULT},
    },
}
ESSENTIALS = {
    "type": "object",
    "additionalProperties": False,
    "required": ["version", "runs"],
    "properties": {
        "$schema": {"type": "string", "format": "uri"},
        "version": {"const": "2.1.0"},
        "runs": {"type": "array", "items": RUN},
    },
}
"""What SARIF 2.1.0 (sections 3.13 to 3.50) says of the properties that we write."""


SPANS = (Span(2, 5, 12, 15), Span(8, 9, 30, 31), Span(10, 10, 31, 31))
CODE = "def f():\n" + "".join(f"    x{at} = {at}\n" for at in range(12))
SOURCE = SourceText("src/our file.py", CODE, "python", "f", first_line=41, kind="function")


def traced(*matches, url=None):
    """A file with one function and these matches: (number, licence, spans)."""
    found = tuple(
        Match(number, f"lib/a {number}.py", 0.5, 0.8, spans, licence, None, url, "tokens", confidence=0.999)
        for number, licence, spans in matches
    )
    origins = {
        match.document_id: (Origin("s", match.path, licence=match.licence, url=url, first_line=10),) for match in found
    }
    parts = ((SOURCE, Trace(found, origins, "union", "python", 90, ())),)
    return TracedFile(SOURCE, "python", parts, findings_of(SOURCE.path, parts))


def judged(*files, excuse=None, is_in_baseline=False):
    """Deny every finding."""
    denials = tuple(
        Denial(finding, finding.best, finding.places[0], excuse, is_in_baseline)
        for file in files
        for finding in file.findings
    )
    return Judgement(denials, parts=1, weak=0, uncalibrated=0, false_alarms=0.0)


@pytest.fixture
def written():
    noted = traced((1, "MIT", SPANS), (2, "MIT", ()))
    denied = traced((3, "GPL-3.0-only", SPANS), url="https://a.b/c")
    return sarif([noted, denied, traced()], judged(denied))


def results_of(log):
    return log["runs"][0]["results"]


def test_it_has_what_the_schema_asks_for(written):
    jsonschema.validate(written, ESSENTIALS)


def test_a_result_is_a_finding_at_its_lines_of_the_file(written):
    results = results_of(written)
    assert [result["ruleId"] for result in results] == ["source-found", "source-found", "denied-licence"]
    place = results[0]["locations"][0]["physicalLocation"]
    assert place == {"artifactLocation": {"uri": "src/our%20file.py"}, "region": {"startLine": 42, "endLine": 45}}


def test_a_path_of_the_corpus_is_no_path_of_the_repository(written):
    related = [location for result in results_of(written) for location in result["relatedLocations"]]
    names = [location["logicalLocations"][0]["fullyQualifiedName"] for location in related]
    assert names == ["s/lib/a 1.py:12-15, 30-31", "s/lib/a 2.py", "s/lib/a 3.py:12-15, 30-31"]
    physical = [location["physicalLocation"] for location in related if "physicalLocation" in location]
    assert physical == [{"artifactLocation": {"uri": "https://a.b/c"}}]


def test_a_denied_licence_is_an_error(written):
    assert [result["level"] for result in results_of(written)] == ["note", "note", "error"]


def test_the_rule_of_a_result_stands_at_its_index(written):
    (run,) = written["runs"]
    assert all(
        run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"] for result in run["results"]
    )


@pytest.mark.parametrize(("is_in_baseline", "kind"), [(True, "external"), (False, "inSource")])
def test_an_accepted_finding_is_suppressed_with_its_reason(is_in_baseline, kind):
    file = traced((3, "GPL-3.0-only", SPANS))
    log = sarif([file], judged(file, excuse="we own it", is_in_baseline=is_in_baseline))
    jsonschema.validate(log, ESSENTIALS)
    assert results_of(log)[0]["suppressions"] == [{"kind": kind, "justification": "we own it"}]


def test_the_lines_of_another_place_begin_where_its_text_begins():
    (file,) = [traced((1, "MIT", SPANS))]
    match = file.findings[0].best.match
    origins = {1: (Origin("s", "a.py", first_line=10), Origin("s", "b.py", first_line=110))}
    trace = replace(file.parts[0][1], matches=(match,), origins=origins)
    (finding,) = findings_of(SOURCE.path, ((SOURCE, trace),))
    assert [str(place.lines[0]) for place in finding.places] == ["12-15", "112-115"]
