"""Declared signals and shares of whole groups as SARIF 2.1.0. Scores of single pieces are never written there."""

from typing import Any

from assay.authorship.declared import Signal
from assay.authorship.detecting import NOMINAL, Detection
from assay.reports import file_location, percent, sarif_log, sarif_result

MOST_LOCATIONS = 10
"""Files of a commit that a note is put at."""

_DECLARED, _SHARE = "declared-generator", "share-of-unusual-code"
_RULES = [
    {"id": _DECLARED, "shortDescription": {"text": "The author or a tool declares the use of a generator"}},
    {"id": _SHARE, "shortDescription": {"text": "Share of a folder that is unusual for its own past"}},
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
        results.append(sarif_result(_SHARE, text, properties={"share": rate.rate.value, "pieces": rate.samples}))
    return sarif_log(_RULES, results)


def _declared(signal: Signal) -> dict[str, Any]:
    """Return a note at the file of a declaration, or at the first files of its commit."""
    about = {"commit": signal.commit, "files": len(signal.files)} if signal.commit else {}
    paths = (signal.path,) if signal.path is not None else signal.files[:MOST_LOCATIONS]
    locations = [file_location(path, None if at else signal.line) for at, path in enumerate(paths)]
    return sarif_result(_DECLARED, f"{signal.kind}: {signal.text}", locations=locations, properties=about)
