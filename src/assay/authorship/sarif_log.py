"""Declared signals and shares of whole groups as SARIF 2.1.0. Scores of single pieces are never written there."""

from typing import Any
from urllib.parse import quote

from assay._version import __version__
from assay.authorship.declared import Signal
from assay.authorship.detecting import NOMINAL, Detection
from assay.escaping import sarif_message
from assay.reports import percent

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
MOST_LOCATIONS = 10
"""Files of a commit that a note is put at."""

_RULES = [
    {"id": "declared-generator", "shortDescription": {"text": "The author or a tool declares the use of a generator"}},
    {"id": "share-of-unusual-code", "shortDescription": {"text": "Share of a folder that is unusual for its own past"}},
]


def detection_sarif(detection: Detection) -> dict[str, Any]:
    """Return one run with a note for each declared signal, and one for each folder with its share."""
    results = [_declared(signal) for signal in detection.signals]
    for folder, rate in detection.shares.items():
        text = (
            f"{rate.flagged} of {rate.samples} pieces in {folder} are unusual for the human code of this origin "
            f"(expected at most {percent(NOMINAL)}); {rate.unscorable} without an answer. "
            "This is no proof of misconduct."
        )
        results.append(_result(1, text, {"share": rate.rate.value, "pieces": rate.samples}))
    driver = {"name": "assay", "version": __version__, "rules": _RULES}
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [{"tool": {"driver": driver}, "results": results}]}


def _declared(signal: Signal) -> dict[str, Any]:
    """Return a note at the file of a declaration, or at the first files of its commit."""
    about: dict[str, Any] = {"commit": signal.commit, "files": len(signal.files)} if signal.commit else {}
    result = _result(0, f"{signal.kind}: {signal.text}", about)
    paths = (signal.path,) if signal.path is not None else signal.files[:MOST_LOCATIONS]
    locations: list[dict[str, Any]] = [
        {"artifactLocation": {"uri": quote(path.encode("utf-8", "surrogateescape"))}} for path in paths
    ]
    if signal.line is not None:
        locations[0]["region"] = {"startLine": signal.line}
    if locations:
        result["locations"] = [{"physicalLocation": place} for place in locations]
    return result


def _result(rule: int, text: str, properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "ruleId": _RULES[rule]["id"],
        "ruleIndex": rule,
        "level": "note",
        "message": {"text": sarif_message(text)},
        "properties": properties,
    }
