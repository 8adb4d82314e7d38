"""The licence gate: which findings fail a run.

A finding fails if a place of it has a denied licence and if it is a copy (`copied_spans`), whatever its confidence.
What is left fails if it has four fifths of the evidence of a copy and is no chance: over all parts of all files of a
run the false discovery rate is controlled at `FALSE_DISCOVERIES` by the procedure of Benjamini and Hochberg (1995) on
p = 1 - confidence.

A user accepts a finding by a comment in the code, with a reason, or by a baseline file.
"""

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from operator import attrgetter
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from assay.corpora import LineRange, line_numbers, lines_of, lines_text
from assay.errors import DataError
from assay.files import parse_json, write_json
from assay.provenance.findings.finding import PartMatch, Place, SourceFinding, TracedFile
from assay.provenance.search import Trace, strength
from assay.reports import number_of

if TYPE_CHECKING:  # the list of licences is slow to read, and needed with rules only
    from assay.licences import LicenceRules

FALSE_DISCOVERIES = 0.05
"""Rate at which false discoveries are controlled over the parts of a run."""

NEARLY_A_COPY = 0.8
"""Evidence, as a multiple of that of a copy, from which a match fails that is no chance."""

FALSE_ALARMS = 0.0013
"""Share of unrelated functions that are denied: 8 of 6,142 in eight languages (docs/results/benchmarks.md)."""


@dataclass(frozen=True, slots=True)
class Denial:
    """A finding that fails the gate.

    Attributes:
        finding: the copy.
        evidence: that fails, best first.
        place: under a denied licence, the first one.
        excuse: reason why it does not fail the run after all, from a comment in the code or a baseline; None where it
            does.
        is_in_baseline: True if the excuse is a baseline.
    """

    finding: SourceFinding
    evidence: PartMatch
    place: Place
    excuse: str | None = None
    is_in_baseline: bool = False


@dataclass(frozen=True, slots=True)
class Judgement:
    """Result of the gate.

    Attributes:
        denials: in the order of the files; those with an excuse are among them.
        parts: functions, remainders and whole files that were judged; those too short to be judged are not counted.
        weak: findings with a denied licence that are too weak to fail: little evidence, or possibly chance.
        uncalibrated: denials without a confidence.
        false_alarms: to expect if all parts were unrelated to the index, by `FALSE_ALARMS`; 0 without a denial.
        remarks: further facts for the reader, a sentence each.
        undecided: copies from a source under an unknown licence, which the rules neither deny nor allow.
    """

    denials: tuple[Denial, ...]
    parts: int
    weak: int
    uncalibrated: int
    false_alarms: float
    remarks: tuple[str, ...] = ()
    undecided: tuple[Denial, ...] = ()

    @property
    def failures(self) -> tuple[Denial, ...]:
        """Denials without an excuse."""
        return tuple(denial for denial in self.denials if denial.excuse is None)

    @property
    def open(self) -> tuple[Denial, ...]:
        """Undecided findings without an excuse."""
        return tuple(finding for finding in self.undecided if finding.excuse is None)


def judge(files: Sequence[TracedFile], rules: "LicenceRules") -> Judgement:
    """Judge the findings of a run."""
    parts = chain.from_iterable(map(attrgetter("parts"), files))
    p_values = [_least_p(trace) for _, trace in parts if not trace.too_short]
    threshold = _threshold(p_values)
    denials: list[Denial] = []
    undecided: list[Denial] = []
    passed_over: dict[str, str] = {}
    weak = 0
    for finding in chain.from_iterable(map(attrgetter("findings"), files)):
        # a denied place decides, whatever the other places of the same code are under
        denied_place = _first_place(finding, rules.deny)
        place = denied_place or _first_place(finding, rules.leave_open)
        if place is None:
            passed_over |= _passed_over(finding, rules)
            continue
        evidence = next((match for match in finding.evidence if _fails(match, threshold)), None)
        if evidence is None:
            weak += denied_place is not None
        elif denied_place is None:
            undecided.append(Denial(finding, evidence, place))
        else:
            denials.append(Denial(finding, evidence, place))
    return Judgement(
        denials=tuple(denials),
        parts=len(p_values),
        weak=weak,
        uncalibrated=sum(denial.evidence.p_value is None for denial in denials),
        false_alarms=FALSE_ALARMS * len(p_values) if denials else 0.0,
        remarks=tuple(
            f"copies under {licence} ({family}): no rule covers it" for licence, family in passed_over.items()
        ),
        undecided=tuple(undecided),
    )


def _passed_over(finding: SourceFinding, rules: "LicenceRules") -> dict[str, str]:
    """Return licence → family of the licences of a copy that no rule covers."""
    families = {licence: rules.pass_over(licence) for licence in finding.licences if finding.is_copy}
    return {licence: family for licence, family in families.items() if family}


def _first_place(finding: SourceFinding, applies: Callable[[str], bool]) -> Place | None:
    """Return the first place under a licence to which a rule applies."""
    return next((place for place in finding.places if applies(place.origin.licence)), None)


def denials_by_finding(judgement: Judgement | None) -> Mapping[int, Denial]:
    """Return the denials by the identity of their finding."""
    return {} if judgement is None else {id(denial.finding): denial for denial in judgement.denials}


def _least_p(trace: Trace) -> float:
    """Return the smallest p of a part over its matches by fingerprints; 1 without such a match."""
    return 1 - max((match.confidence or 0.0 for match in trace.matches if match.channel != "vector"), default=0.0)


def _threshold(p_values: Sequence[float]) -> float:
    """Return the largest p that the procedure rejects; below 0 where it rejects none."""
    from assay.evaluation import benjamini_hochberg  # noqa: PLC0415  slow to import, and needed with rules only

    values = np.array(p_values, np.float64)
    # adjusted p-values are monotone, so all that are rejected are those up to the largest rejected p
    rejected = values[benjamini_hochberg(values) <= FALSE_DISCOVERIES] if len(values) else values
    return float(rejected.max()) if len(rejected) else -1.0


def _fails(evidence: PartMatch, threshold: float) -> bool:
    p_value = evidence.p_value
    is_no_chance = p_value is not None and p_value <= threshold and strength(evidence.match) >= NEARLY_A_COPY
    return evidence.is_copy or is_no_chance


BASELINE_FORMAT = 1

_IGNORE = re.compile(r"(?:#|//|/\*|\*|--|<!--)[ \t]*assay:[ \t]*ignore\b[ \t:,-]*(?P<reason>[^\r\n]*)")
_END_OF_COMMENT = re.compile(r"[ \t]*(?:\*/|-->)[ \t]*$")


def accept_findings(
    judgement: Judgement,
    texts: Mapping[str, str],
    baseline: frozenset[str] = frozenset(),
    added: Mapping[str, frozenset[int]] = MappingProxyType({}),
) -> Judgement:
    """Return the judgement with an excuse for each denial that the code or the baseline accepts.

    A comment `assay: ignore REASON` on a matched line, or on the line above the first one, accepts a finding. Without
    a reason it accepts nothing, and a remark names its place.

    Args:
        judgement: without excuses.
        texts: of the traced files, by path.
        baseline: keys of the accepted findings; see `read_baseline`.
        added: lines that the judged change adds itself, by path: a comment on a finding with one of them accepts
            nothing.
    """
    remarks = list(judgement.remarks)

    def excused(denial: Denial) -> Denial:
        path = denial.finding.path
        reason, line = _comment(denial.finding, texts[path])
        if line is not None and not added.get(path, frozenset()).isdisjoint(
            {line, *line_numbers(denial.finding.lines)}
        ):
            # the comment was written about other code than what the change makes of the block
            reason = ""
            remarks.append(
                f"{path}:{line}: `assay: ignore` stands in code that this change adds, so it accepts nothing"
            )
        elif line is not None and not reason:
            remarks.append(f"{path}:{line}: `assay: ignore` without a reason, so it accepts nothing")
        # a reason in the code comes first: whoever reads the code sees it
        if not reason and finding_key(denial, texts[path]) in baseline:
            return replace(denial, excuse="in the baseline", is_in_baseline=True)
        return replace(denial, excuse=reason or None, is_in_baseline=False)

    denials, undecided = tuple(map(excused, judgement.denials)), tuple(map(excused, judgement.undecided))
    return replace(judgement, denials=denials, undecided=undecided, remarks=tuple(remarks))


def finding_key(denial: Denial, text: str) -> str:
    """Return a key that stays the same while lines move: digest of the path, the licence and the matched lines."""
    lines = lines_of(text)
    # the lines themselves, not their numbers: an edit above them leaves an accepted finding accepted
    matched = [lines[number - 1].strip() for number in line_numbers(denial.finding.lines) if number <= len(lines)]
    return accepted_key(denial.finding.path, denial.place.origin.licence, *filter(None, matched))


def accepted_key(*words: str) -> str:
    """Return the key of a finding by its path, its licence and its lines."""
    return hashlib.sha256("\n".join(words).encode("utf-8", "surrogatepass")).hexdigest()[:32]


def read_baseline(path: Path) -> frozenset[str]:
    """Return the keys of the findings that a file of `write_baseline` accepts.

    Raises:
        DataError: the file is not a baseline.
    """
    return baseline_of(_raw(path), str(path))


def _raw(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise DataError(f"{path}: {error.strerror}, expected a baseline that --write-baseline wrote") from error


def baseline_of(raw: bytes, path: str) -> frozenset[str]:
    """Return the keys of the accepted findings from the bytes of a baseline.

    Raises:
        DataError: they are none.
    """
    return frozenset(_entries(raw, path))


def _entries(raw: bytes, path: str) -> dict[str, object]:
    """Return the entries of a baseline by their keys."""
    received = "another file"
    try:
        content = parse_json(raw)
        version, entries = content["format"], {str(entry["key"]): entry for entry in content["findings"]}
    except (ValueError, KeyError, TypeError) as error:
        received = "a binary file" if b"\0" in raw or isinstance(error, UnicodeError) else received
        raise DataError(f"{path}: received {received}, expected a baseline that --write-baseline wrote") from error
    if version != BASELINE_FORMAT:
        raise DataError(f"{path}: baseline of format {version}; expected format {BASELINE_FORMAT}")
    return entries


def write_baseline(
    path: Path,
    denials: Sequence[Denial],
    texts: Mapping[str, str],
    stated: Sequence[Mapping[str, str]] = (),
    *,
    replace_it: bool = False,
) -> str:
    """Add findings to those that a file accepts, each with its place for the reader.

    Args:
        path: of the file.
        denials: copies.
        texts: of the traced files, by path.
        stated: other findings, each with its key.
        replace_it: forget what an existing file accepts.

    Returns:
        A sentence on how many were added.

    Raises:
        DataError: the file cannot be written, or is none of findings.
    """
    before = _entries(_raw(path), str(path)) if path.exists() and not replace_it else {}
    entries = before.copy()
    for denial in denials:
        key = finding_key(denial, texts[denial.finding.path])
        entries[key] = {
            "key": key,
            "path": denial.finding.path,
            "lines": lines_text(denial.finding.lines),
            "source": denial.place.origin.path,
            "licence": denial.place.origin.licence,
        }
    entries |= {entry["key"]: entry for entry in stated}
    write_json(path, {"format": BASELINE_FORMAT, "findings": list(entries.values())})
    written = f"{path} accepts {number_of(len(entries) - len(before), 'more finding')}"
    return f"{written}, and {len(before):,} as before" if before else written


def _comment(finding: SourceFinding, text: str) -> tuple[str, int | None]:
    """Return the reason of the first comment that ignores the finding, and its line; no line without a comment."""
    lines = lines_of(text)
    above = [LineRange(finding.lines[0].first - 1, finding.lines[0].first - 1)] if finding.lines else []
    for number in line_numbers([*above, *finding.lines]):
        if 1 <= number <= len(lines) and (comment := _IGNORE.search(lines[number - 1])):
            return _END_OF_COMMENT.sub("", comment["reason"]).strip(), number
    return "", None
