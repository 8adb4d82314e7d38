"""SARIF 2.1.0: what the schema requires is there, and nothing that it forbids."""

import jsonschema
import pytest

from assay.provenance import Origin
from assay.provenance.sarif_log import sarif
from assay.provenance.texts import SourceText
from assay.provenance.tracing import Trace
from assay.types import Match, Span

TEXT = {"type": "object", "required": ["text"], "properties": {"text": {"type": "string", "minLength": 1}}}
LOCATION = {
    "type": "object",
    "additionalProperties": False,
    "required": ["physicalLocation"],
    "properties": {
        "id": {"type": "integer", "minimum": -1},
        "message": TEXT,
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


SPANS = (Span(2, 5, 12, 15), Span(8, 9, 30, 31))


def match(number, licence, spans=SPANS):
    return Match(number, "lib/a b.py", 0.5, 0.8, spans, licence, None, None, "tokens", confidence=0.999)


def traced(*matches, licences):
    origins = {one.document_id: tuple(Origin("s", "p.py", licence=name) for name in licences) for one in matches}
    return Trace(matches, origins, "union", "python", 90, ())


SOURCE = SourceText("src/our file.py", "…", "python", "f", first_line=41)


@pytest.fixture
def written():
    both = traced(match(1, "MIT"), match(2, "MIT", spans=()), licences=["MIT"])
    denied = traced(match(3, "MIT"), licences=["MIT", "GPL-3.0-only"])
    none = traced(licences=[])
    return sarif([(SOURCE, both), (SOURCE, denied), (SOURCE, none)], ["GPL-3.0-only"])


def test_it_has_what_the_schema_asks_for(written):
    jsonschema.validate(written, ESSENTIALS)


def test_a_result_is_a_match_and_its_lines_are_those_of_the_file(written):
    results = written["runs"][0]["results"]
    assert [one["ruleId"] for one in results] == ["source-found", "source-found", "denied-licence"]
    place = results[0]["locations"][0]["physicalLocation"]
    assert place == {"artifactLocation": {"uri": "src/our%20file.py"}, "region": {"startLine": 42, "endLine": 45}}
    assert [one["physicalLocation"]["region"]["startLine"] for one in results[0]["relatedLocations"]] == [12, 30]


def test_a_licence_of_any_place_is_an_error(written):
    assert [one["level"] for one in written["runs"][0]["results"]] == ["note", "note", "error"]


def test_the_rule_of_a_result_stands_at_its_index(written):
    (run,) = written["runs"]
    assert all(run["tool"]["driver"]["rules"][one["ruleIndex"]]["id"] == one["ruleId"] for one in run["results"])
