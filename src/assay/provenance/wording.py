"""Findings in words: one line each, in plain terms."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence

from assay.provenance.document import UNKNOWN_LICENCE, Origin
from assay.provenance.findings import LineRange, Place, SourceFinding, TracedFile
from assay.provenance.licence_gate import Denial, Judgement
from assay.reports import number_of
from assay.types import Match

_VERBS = {"characters": "same code as", "tokens": "same code under other names as", "vector": "resembles"}
_COPIES = {"characters": "the same code", "tokens": "the same code under other names", "vector": "similar code"}


def trace_verdict(files: Sequence[TracedFile]) -> str:
    """Return the answer in one sentence: the number of sources, the kind of copy, the licences."""
    findings = [finding for file in files for finding in file.findings]
    copies = [finding for finding in findings if finding.is_copy]
    shown = copies or findings
    if not shown:
        short = [file for file in files if file.too_short]
        if len(files) == 1:
            return f"no source: {files[0].why_none}"
        return "no source" + (f"; {number_of(len(short), 'file')} too short to be judged" if short else "")
    kinds = Counter(finding.best.match.channel for finding in shown)
    licences = dict.fromkeys(licence for finding in shown for licence in finding.licences)
    weak = len(findings) - len(shown)
    words = [
        number_of(len(shown), "source"),
        " and ".join(_COPIES[kind] for kind, _ in kinds.most_common()),
        " and ".join(map(_licence, licences)),
    ]
    further = f"; {_matches(weak, 'weaker ')}" if weak else ""
    doubt = "" if copies else "; too little in common to show a copy"
    return ", ".join(words) + further + doubt


def line_of(finding: SourceFinding, denial: Denial | None = None) -> str:
    """Return a finding as one line, `path:line: …`, with nothing left out but further places."""
    place = finding.places[0] if denial is None else denial.place
    lead = "" if denial is None else f"denied licence {place.origin.licence}: "
    excuse = "" if denial is None or denial.excuse is None else f"accepted ({denial.excuse}): "
    return f"{finding.path}:{finding.first_line}: {excuse}{lead}{extent(finding)} {source_of(finding, place)}"


def finding_lines(finding: SourceFinding) -> str:
    """Return the matched lines of the traced file, or the first line of the part without a common one."""
    return lines_text(finding.lines) or str(finding.first_line)


def extent(finding: SourceFinding) -> str:
    """Return how much of which part of the file the finding is."""
    best = finding.best
    part = best.part.name or ("the file" if best.part.kind == "file" else "the code outside of functions")
    if best.match.channel == "vector":
        return part
    return f"{best.matched} of {number_of(best.total, 'line')} of {part}:"


def source_of(finding: SourceFinding, place: Place) -> str:
    """Return the source of a finding with licence, author and confidence."""
    facts = [_licence(place.origin.licence)]
    if place.origin.author:
        facts.append(f"by {place.origin.author}")
    facts.append(certainty(finding.best.match))
    others = len(finding.places) - 1
    if others:
        facts.append(f"and {number_of(others, 'more place')}")
    if finding.conflict:
        facts.append(f"conflict: this code occurs under {' and '.join(finding.conflict)}")
    return f"{_VERBS[finding.best.match.channel]} {place_text(place)} ({'; '.join(facts)})"


def certainty(match: Match) -> str:
    """Return the confidence of a match, or the cosine where there is nothing but a near vector."""
    if match.channel == "vector":
        return f"no common line, cosine {match.cosine:.2f}, confidence {confidence_text(match)}"
    return f"confidence {confidence_text(match)}"


def place_text(place: Place) -> str:
    """Return repository or corpus, path, lines and function of a place."""
    name = f" ({place.name})" if place.name else ""
    return f"{place_path(place.origin, place.lines)}{name} in {place.origin.repository or place.origin.source}"


def place_path(origin: Origin, lines: Sequence[LineRange]) -> str:
    """Return path and lines within the corpus."""
    return origin.path + (f":{lines_text(lines)}" if lines else "")


def lines_text(lines: Iterable[LineRange]) -> str:
    """Return line numbers as `4-10, 12`."""
    return ", ".join(map(str, lines))


def confidence_text(match: Match) -> str:
    """Return the confidence, rounded down: .9996 is not 1."""
    return "not calibrated" if match.confidence is None else f"{math.floor(match.confidence * 1e4) / 1e4:.4f}"


def gate_sentences(judgement: Judgement) -> list[str]:
    """Return the result of the gate, the first sentence first."""
    failures = len(judgement.failures)
    excused = len(judgement.denials) - failures
    sentences = [
        f"{number_of(failures, 'finding')} under a denied licence in {number_of(judgement.parts, 'judged part')}"
        + (f", {excused} accepted" if excused else "")
    ]
    if judgement.weak:
        weak = _matches(judgement.weak)
        sentences.append(f"{weak} with a denied licence did not fail: too few lines, or possibly chance")
    if judgement.uncalibrated:
        sentences.append("not calibrated: the number of lines decided alone, and false discoveries are not controlled")
    if judgement.false_alarms:
        sentences.append(
            f"at the limit of the calibration: up to {judgement.false_alarms:.2g} false alarms are to be expected"
        )
    return [*sentences, *judgement.remarks]


def _licence(licence: str) -> str:
    return "licence unknown" if licence == UNKNOWN_LICENCE else licence


def _matches(count: int, kind: str = "") -> str:
    return f"{count:,} {kind}match" if count == 1 else f"{count:,} {kind}matches"
