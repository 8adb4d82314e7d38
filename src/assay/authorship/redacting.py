"""A detection without code: digests in place of texts."""

from dataclasses import replace

from assay.authorship.declared import Signal
from assay.authorship.detecting import Detection, UnitResult

REVEALS = (
    "The code is left out. Paths, names of functions, languages, lengths, scores and digests of the code are still "
    "here: a person who has a piece of code can test whether it is among these."
)


def redacted_detection(detection: Detection) -> Detection:
    """Return a detection whose pieces and comments have digests or kinds in place of code, with a note that says so."""
    return replace(
        detection,
        results=tuple(map(_without_code, detection.results)),
        signals=tuple(map(_without_comment, detection.signals)),
        unread=(*detection.unread, REVEALS),
    )


def _without_code(result: UnitResult) -> UnitResult:
    unit = replace(result.unit, text=f"sha256:{result.unit.digest}", surroundings=None)
    return replace(result, unit=unit)


def _without_comment(signal: Signal) -> Signal:
    """Return a signal without its words, if these are code; a message of a commit is none."""
    return signal if signal.commit is not None else replace(signal, text=signal.kind)
