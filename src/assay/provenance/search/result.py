"""The result of a search, and its forms: rows, a report, sentences."""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass

import pyarrow as pa

from assay.corpora import LineRange, Origin, lines_text, merge_lines
from assay.provenance.search.candidates import SearchMethod
from assay.provenance.search.query import ChannelEvidence
from assay.reports import Column, Report, Table, TabularResult, number_of
from assay.types import Match

FIELDS: Mapping[str, pa.DataType] = (
    dict.fromkeys(("path", "name"), pa.string())
    | dict.fromkeys(("containment", "confidence", "cosine"), pa.float64())
    | dict.fromkeys(("channel", "licence", "author", "repository", "url"), pa.string())
)
"""Attributes of a match that `Trace.to_arrow` returns, with their types; the lines of the text follow."""


@dataclass(frozen=True, slots=True, repr=False)
class Trace(TabularResult):
    """The documents that a text may come from, and what the search did.

    Attributes:
        matches: best first.
        origins: all places of each matched document, by its number.
        method: of the search.
        language: that the text was read in, or None.
        units: length of the text without comments and layout, in tokens where the profile has them.
        evidence: counts of the fingerprints, channel by channel.
        candidates: documents that were compared.
        below: candidates with some evidence that did not reach a threshold.
        too_short: reason why fingerprints decide nothing; None where they can.
        notes: further facts for the reader, a sentence each.
        calibrated: False if no false-positive rates were measured for the language of the text; matches by
            fingerprints then have no confidence, and pass every threshold of confidence.
    """

    matches: tuple[Match, ...]
    origins: Mapping[int, tuple[Origin, ...]]
    method: SearchMethod
    language: str | None
    units: int
    evidence: tuple[ChannelEvidence, ...]
    candidates: int = 0
    below: int = 0
    too_short: str | None = None
    notes: tuple[str, ...] = ()
    calibrated: bool = True

    @property
    def why_none(self) -> str | None:
        """Reason why there is no match, in one sentence; None where there is one."""
        if self.matches:
            return None
        if self.too_short:
            return self.too_short
        if self.below:
            return "what documents of the index share with it is too little for a source"
        if not any(channel.distinctive for channel in self.evidence):
            return "all of its fingerprints are boilerplate"
        looked_up = any(channel.looked_up for channel in self.evidence)
        if any(channel.too_common for channel in self.evidence) and not looked_up:
            return "its fingerprints that the index contains occur in more documents than are read"
        return "no document of the index shares a fingerprint with it, boilerplate aside"

    @property
    def indexed_share(self) -> float:
        """Share of the text's fingerprints that occur in some document, over all channels."""
        total = sum(channel.fingerprints for channel in self.evidence)
        return sum(channel.fingerprints - channel.absent for channel in self.evidence) / max(1, total)

    def to_arrow(self) -> pa.Table:
        """Return one row per match, best first; `lines` are those of the traced text."""
        rows = [
            {name: getattr(match, name) for name in FIELDS}
            | {"lines": [f"{span.query_first}-{span.query_last}" for span in match.spans]}
            for match in self.matches
        ]
        return pa.Table.from_pylist(rows, schema=pa.schema([*FIELDS.items(), ("lines", pa.list_(pa.string()))]))

    def describe(self) -> Report:
        """Return the report: a table of the matches, or the reason why there is none."""
        statement = f"The text matches {number_of(len(self.matches), 'document')} of the index."
        return Report(
            title="Which files of the corpus does this code come from?",
            statement=f"no match: {self.why_none}" if self.why_none else statement,
            tables=(Table.of("text-1", "Matches", self.matches, COLUMNS),) if self.matches else (),
            notes=self.notes,
            data=self._data(),
            kind="provenance report",
            details=() if self.matches else tuple(self.evidence_lines()),
        )

    def evidence_lines(self) -> list[str]:
        """Return the counts of the fingerprints, a sentence a channel: the basis of an answer without a match."""
        return [
            channel.too_short
            or f"{channel.form}: {channel.fingerprints} fingerprints, {channel.template} of them in templates, "
            f"{channel.common} common, {channel.too_common} in too many documents to be looked up, {channel.absent} in "
            f"no document; {channel.looked_up} looked up, {channel.documents} documents share one"
            for channel in self.evidence
        ]

    def evidence_data(self) -> list[dict[str, object]]:
        """Return the counts of the fingerprints as JSON has them."""
        return [{**asdict(channel), "distinctive": channel.distinctive} for channel in self.evidence]

    def _data(self) -> dict[str, object]:
        # the fields of a match are public: whatever it gains appears here, and only the places replace their number
        matches = [
            {key: value for key, value in asdict(match).items() if key != "origins"}
            | {"origins": [asdict(origin) for origin in self.origins[match.document_id]]}
            for match in self.matches
        ]
        return {
            "language": self.language,
            "method": self.method,
            "matches": matches,
            "why_none": self.why_none,
            "too_short": self.too_short,
            "units": self.units,
            "candidates": self.candidates,
            "below": self.below,
            "evidence": self.evidence_data(),
            "notes": list(self.notes),
            "calibrated": self.calibrated,
        }


def place_of(match: Match) -> str:
    """Return path, lines and name of the matched document."""
    lines = lines_text(merge_lines(LineRange(span.document_first, span.document_last) for span in match.spans))
    return match.path + (f":{lines}" if lines else "") + (f" ({match.name})" if match.name else "")


def confidence_text(match: Match) -> str:
    """Return the confidence, rounded down: .9996 is not 1."""
    return "not calibrated" if match.confidence is None else f"{math.floor(match.confidence * 1e4) / 1e4:.4f}"


def _contained(match: Match) -> str:
    return f"{match.containment:.0%}" if match.channel != "vector" else f"cosine {match.cosine:.2f}"


def _query_lines(match: Match) -> str:
    return lines_text(merge_lines(LineRange(span.query_first, span.query_last) for span in match.spans))


COLUMNS = (
    Column("document", get=place_of),
    Column("contained", "count", get=_contained),
    Column("confidence", "count", get=confidence_text),
    Column("by", get=lambda match: match.channel),
    Column("lines", "count", get=_query_lines),
    Column("licence", get=lambda match: match.licence),
    Column("author", get=lambda match: match.author or ""),
    Column("repository", get=lambda match: match.repository or match.url or ""),
    Column("places", "count", get=lambda match: match.origins),
)
"""Columns of the report, each with the cell of a match."""
