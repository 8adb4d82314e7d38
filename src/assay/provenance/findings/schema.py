"""The JSON of `assay trace --json`: a contract with other people's programs, with a version of its own.

The published schema is `docs/schemas/trace-VERSION.json`, made from these types. Whoever changes them raises
`TRACE_VERSION`: the last number for a new field, the first one for a field that changes its meaning or goes away.
"""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from assay.provenance.findings.describing import TRACE_VERSION


class PlaceData(BaseModel):
    """A file of the corpus with the code of a finding."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)

    document_id: int
    """Number of the document in the index."""
    name: str | None
    """Dotted name of the function; null for a whole file."""
    lines: list[str]
    """Matched lines of the file, as 4-10."""
    source: str
    """Corpus that the index was built of."""
    path: str
    repository: str | None
    commit: str | None
    licence: str
    """SPDX expression, or unknown."""
    author: str | None
    url: str | None
    first_line: int
    content: str | None
    """SHA-1 of the file as git has it for a blob; null where it is not known."""
    swhid: str | None
    """Identifier of the matched lines, as Software Heritage has them."""


class FindingFields(BaseModel):
    """One source of code, and how much of which part of the code it has."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    headline: str
    """Licence, matched lines, part of the file and source, in one line."""
    lines: list[str]
    """Matched lines of the traced file, as 4-10; empty for a match by vector alone."""
    first_line: int
    part: Literal["file", "function", "remainder"]
    name: str | None
    """Name of the function; null for the file or its remainder."""
    is_copy: bool
    """True for enough common lines; false for a weaker match."""
    by: Literal["characters", "tokens", "vector"]
    """characters: the same code; tokens: under other names; vector: similar code only."""
    matched_lines: int
    different_lines: int
    part_lines: int
    longest_run: int
    containment: float
    similarity: float
    confidence: float | None
    """Null where it was not calibrated."""
    cosine: float | None
    licences: list[str]
    conflict: list[str]
    """Licences of all sources of these lines, if there are several."""
    places: list[PlaceData]
    """Where the corpus has this code, best first; at least one."""


class FindingData(FindingFields):
    """One source of lines of a traced file, with the decision of the licence gate."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)

    denied: str | None
    """Licence that the gate denies; null where it denies none."""
    accepted: str | None
    """Reason why a denied finding does not fail the run."""


class EvidenceData(BaseModel):
    """Fingerprints of the whole file in one channel, counted."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)
    form: Literal["characters", "tokens"]
    units: int
    fingerprints: int
    template: int
    common: int
    absent: int
    too_common: int
    left: int
    looked_up: int
    documents: int
    too_short: str | None
    distinctive: int
    """Those that are no boilerplate."""


class FileData(BaseModel):
    """A traced file."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)

    path: str
    language: str | None
    parts: int
    """Parts that were traced: functions, the remainder and the whole."""
    findings: list[FindingData]
    """Copies first, then by matched lines; `--top` limits them, and leaves out none that the gate denies."""
    all_findings: int
    """Findings before `--top`."""
    why_none: str | None
    too_short: str | None
    notes: list[str]
    evidence: list[EvidenceData]


class GateData(BaseModel):
    """Result of the licence gate."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)

    failures: int
    accepted: int
    undecided: int
    """Copies from a source under an unknown licence; without failures the exit code is then 3."""
    judged_parts: int
    weak: int
    uncalibrated: int
    expected_false_alarms: float
    sentences: list[str]


class TraceData(BaseModel):
    """Output of `assay trace --json`."""

    model_config = ConfigDict(extra="forbid", title="assay trace --json", use_attribute_docstrings=True)

    schema_version: Literal["1.0"]
    """Version of this format."""
    verdict: str
    """The answer in one sentence."""
    gate: GateData | None
    """Null without rules on licences."""
    files: list[FileData]


def trace_schema() -> dict[str, Any]:
    """Return the JSON Schema of the output, in the dialect of 2020-12."""
    schema = TraceData.model_json_schema()
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": f"trace-{TRACE_VERSION}.json"} | schema
