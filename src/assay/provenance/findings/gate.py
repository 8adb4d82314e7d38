"""The licence gate: which findings fail a run.

A finding fails if a place of it has a denied licence, if it is a copy (`CopyLimits`), and if it is no chance: over all
parts of all files of a run the false discovery rate is controlled at `FALSE_DISCOVERIES` by the procedure of Benjamini
and Hochberg (1995) on p = 1 - confidence.

A calibration of n unrelated texts gives no p below 1 / (n + 1), so in a run of many parts the procedure could reject
nothing at all. A match that none of the n texts reached therefore counts as well, and the judgement states how many
false alarms that admits at most: parts × the largest such p.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from assay.provenance.findings.finding import PartMatch, Place, SourceFinding, TracedFile

if TYPE_CHECKING:  # the list of licences is slow to read, and needed with rules only
    from assay.provenance.licences import LicenceRules

FALSE_DISCOVERIES = 0.05
"""Rate at which false discoveries are controlled over the parts of a run."""


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
        weak: findings with a denied licence that are too weak to fail: few lines, or possibly chance.
        uncalibrated: denials without a confidence, on which the false discovery rate is not controlled.
        false_alarms: largest number of false alarms to expect among the denials because of matches at the limit of the
            calibration; 0 where the false discovery rate is controlled for all.
        remarks: further facts for the reader, a sentence each.
    """

    denials: tuple[Denial, ...]
    parts: int
    weak: int
    uncalibrated: int
    false_alarms: float
    remarks: tuple[str, ...] = ()

    @property
    def failures(self) -> tuple[Denial, ...]:
        """Denials without an excuse."""
        return tuple(denial for denial in self.denials if denial.excuse is None)


def judge(files: Sequence[TracedFile], rules: "LicenceRules") -> Judgement:
    """Judge the findings of a run."""
    p_values = [
        _least_p(file, at) for file in files for at in range(len(file.parts)) if not file.parts[at][1].too_short
    ]
    threshold = _threshold(p_values)
    denials: list[Denial] = []
    weak = 0
    for file in files:
        for finding in file.findings:
            place = next((place for place in finding.places if rules.deny(place.origin.licence)), None)
            if place is None:
                continue
            evidence = next((match for match in finding.evidence if _fails(match, threshold)), None)
            if evidence is None:
                weak += 1
            else:
                denials.append(Denial(finding, evidence, place))
    denied = [denial.evidence.p_value for denial in denials]
    # n unrelated parts, each with a chance of at most p to be called a copy, give n · p false alarms on average
    at_limit = [p_value for p_value in denied if p_value is not None and p_value > threshold]
    false_alarms = len(p_values) * max(at_limit, default=0.0)
    return Judgement(tuple(denials), len(p_values), weak, denied.count(None), false_alarms)


def denials_by_finding(judgement: Judgement | None) -> Mapping[int, Denial]:
    """Return the denials by the identity of their finding."""
    return {} if judgement is None else {id(denial.finding): denial for denial in judgement.denials}


def _least_p(file: TracedFile, at: int) -> float:
    """Return the smallest p of a part over its matches by fingerprints; 1 without such a match."""
    confidences = [match.confidence for match in file.parts[at][1].matches if match.channel != "vector"]
    return 1 - max((confidence for confidence in confidences if confidence is not None), default=0.0)


def _threshold(p_values: Sequence[float]) -> float:
    """Return the largest p that the procedure rejects; below 0 where it rejects none."""
    from assay.evaluation import benjamini_hochberg  # noqa: PLC0415  slow to import, and needed with rules only

    values = np.array(p_values, np.float64)
    # adjusted p-values are monotone, so all that are rejected are those up to the largest rejected p
    rejected = values[benjamini_hochberg(values) <= FALSE_DISCOVERIES] if len(values) else values
    return float(rejected.max()) if len(rejected) else -1.0


def _fails(evidence: PartMatch, threshold: float) -> bool:
    p_value = evidence.p_value
    return evidence.is_copy and (p_value is None or p_value <= threshold or evidence.match.at_limit)
