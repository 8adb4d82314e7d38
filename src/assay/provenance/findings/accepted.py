"""Findings that a user has accepted: by a comment in the code, with a reason, or by a baseline file."""

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from assay.errors import DataError
from assay.files import parse_json, write_json
from assay.provenance.findings.finding import SourceFinding
from assay.provenance.findings.gate import Denial, Judgement
from assay.provenance.sources import lines_of

BASELINE_FORMAT = 1

_IGNORE = re.compile(r"(?:#|//|/\*|\*|--|<!--)[ \t]*assay:[ \t]*ignore\b[ \t:,-]*(?P<reason>[^\r\n]*)")
_END_OF_COMMENT = re.compile(r"[ \t]*(?:\*/|-->)[ \t]*$")


def accept_findings(
    judgement: Judgement, texts: Mapping[str, str], baseline: frozenset[str] = frozenset()
) -> Judgement:
    """Return the judgement with an excuse for each denial that the code or the baseline accepts.

    A comment `assay: ignore REASON` on a matched line, or on the line above the first one, accepts a finding. Without
    a reason it accepts nothing, and a remark names its place.

    Args:
        judgement: without excuses.
        texts: of the traced files, by path.
        baseline: keys of the accepted findings; see `read_baseline`.
    """
    denials, remarks = [], list(judgement.remarks)
    for denial in judgement.denials:
        text = texts[denial.finding.path]
        reason, line = _comment(denial.finding, text)
        if line is not None and not reason:
            remarks.append(f"{denial.finding.path}:{line}: `assay: ignore` without a reason, so it accepts nothing")
        is_in_baseline = not reason and finding_key(denial, text) in baseline
        excuse = "in the baseline" if is_in_baseline else reason or None
        denials.append(replace(denial, excuse=excuse, is_in_baseline=is_in_baseline))
    return replace(judgement, denials=tuple(denials), remarks=tuple(remarks))


def finding_key(denial: Denial, text: str) -> str:
    """Return a key that stays the same while lines move: digest of the path, the licence and the matched lines."""
    lines = lines_of(text)
    # the lines themselves, not their numbers: an edit above them leaves an accepted finding accepted
    matched = [lines[number - 1].strip() for number in _numbers(denial.finding) if number <= len(lines)]
    words = [denial.finding.path, denial.place.origin.licence, *filter(None, matched)]
    return hashlib.sha256("\n".join(words).encode("utf-8", "surrogatepass")).hexdigest()[:32]


def read_baseline(path: Path) -> frozenset[str]:
    """Return the keys of the findings that a file of `write_baseline` accepts.

    Raises:
        DataError: the file is not a baseline.
    """
    try:
        content = parse_json(path.read_bytes())
        version, keys = content["format"], frozenset(str(entry["key"]) for entry in content["findings"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise DataError(f"{path}: expected a baseline that --write-baseline wrote: {reason}") from error
    if version != BASELINE_FORMAT:
        raise DataError(f"{path}: baseline of format {version}; expected format {BASELINE_FORMAT}")
    return keys


def write_baseline(path: Path, denials: Sequence[Denial], texts: Mapping[str, str]) -> None:
    """Write the findings to accept from now on, each with its place for the reader.

    Raises:
        DataError: the file cannot be written.
    """
    findings = [
        {
            "key": finding_key(denial, texts[denial.finding.path]),
            "path": denial.finding.path,
            "lines": ", ".join(map(str, denial.finding.lines)),
            "source": denial.place.origin.path,
            "licence": denial.place.origin.licence,
        }
        for denial in denials
    ]
    write_json(path, {"format": BASELINE_FORMAT, "findings": findings})


def _comment(finding: SourceFinding, text: str) -> tuple[str, int | None]:
    """Return the reason of the first comment that ignores the finding, and its line; no line without a comment."""
    lines = lines_of(text)
    numbers = _numbers(finding)
    for number in (numbers[0] - 1, *numbers) if numbers else ():
        comment = _IGNORE.search(lines[number - 1]) if 1 <= number <= len(lines) else None
        if comment:
            return _END_OF_COMMENT.sub("", comment["reason"]).strip(), number
    return "", None


def _numbers(finding: SourceFinding) -> list[int]:
    return [number for lines in finding.lines for number in range(lines.first, lines.last + 1)]
