"""The result of a search, and its forms: rows, a report, sentences."""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from operator import attrgetter

import pyarrow as pa

from assay.corpora import Origin, lines_text, merge_lines
from assay.provenance.search.candidates import SearchMethod
from assay.provenance.search.query import ChannelEvidence
from assay.provenance.search.spans import document_lines, query_lines
from assay.reports import Column, Report, Table, TabularResult, number_of
from assay.types import Match

FIELDS: Mapping[str, pa.DataType] = (
    dict.fromkeys(("path", "name"), pa.string())
    | dict.fromkeys(("containment", "confidence", "cosine"), pa.float64())
    | dict.fromkeys(("channel", "licence", "author", "repository", "url"), pa.string())
)
"""Attributes of a match that `Trace.to_arrow` returns, with their types; the lines of the text follow."""

_fields_of = attrgetter(*FIELDS)


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
        calibrated: False if no false-positive rates were measured for the language of the text; matches then have no
            confidence, and reach no threshold of confidence above 0.
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
            reason = "too little for a source" if self.calibrated else "no copy, and its confidence was not measured"
            return f"what documents of the index share with it is {reason}"
        if not any(map(attrgetter("distinctive"), self.evidence)):
            return "all of its fingerprints are boilerplate"
        looked_up = any(map(attrgetter("looked_up"), self.evidence))
        if any(map(attrgetter("too_common"), self.evidence)) and not looked_up:
            return "its fingerprints that the index contains occur in more documents than are read"
        return "no document of the index shares a fingerprint with it, boilerplate aside"

    @property
    def indexed_share(self) -> float:
        """Share of the text's fingerprints that occur in some document, over all channels."""
        total = sum(channel.fingerprints for channel in self.evidence)
        return (total - sum(channel.absent for channel in self.evidence)) / max(1, total)

    def to_arrow(self) -> pa.Table:
        """Return one row per match, best first; `lines` are those of the traced text."""
        rows = []
        for match in self.matches:
            lines = [f"{span.query_first}-{span.query_last}" for span in match.spans]
            rows.append(dict(zip(FIELDS, _fields_of(match), strict=True)) | {"lines": lines})
        return pa.Table.from_pylist(rows, schema=pa.schema([*FIELDS.items(), ("lines", pa.list_(pa.string()))]))

    def describe(self) -> Report:
        """Return the report: a table of the matches, or the reason why there is none."""
        statement = f"The text matches {number_of(len(self.matches), 'document')} of the index."
        report = Report(
            title="Which files of the corpus does this code come from?",
            statement=statement,
            tables=(Table.of("text-1", "Matches", self.matches, columns=COLUMNS),),
            notes=self.notes,
            data=self._data(),
            kind="provenance report",
        )
        if self.matches:
            return report
        reason, details = f"no match: {self.why_none}", tuple(self.evidence_lines())
        return replace(report, statement=reason, tables=(), details=details)

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
        matches = []
        for match in self.matches:
            # the fields of a match are public: whatever it gains appears here, and only the places replace their number
            fields = asdict(match)
            del fields["origins"]
            matches.append(fields | {"origins": list(map(asdict, self.origins[match.document_id]))})
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
    place = match.path
    if lines := lines_text(merge_lines(document_lines(match.spans))):
        place += f":{lines}"
    return f"{place} ({match.name})" if match.name else place


def confidence_text(match: Match) -> str:
    """Return the confidence, rounded down: .99996 is not 1."""
    return "not measured" if match.confidence is None else f"{math.floor(match.confidence * 1e4) / 1e4:.4f}"


def _contained(match: Match) -> str:
    return f"{match.containment:.0%}" if match.channel != "vector" else f"cosine {match.cosine:.2f}"


def _query_lines(match: Match) -> str:
    return lines_text(merge_lines(query_lines(match.spans)))


COLUMNS = (
    Column("document", get=place_of),
    Column("contained", "count", get=_contained),
    Column("confidence", "count", get=confidence_text),
    Column("by", get=attrgetter("channel")),
    Column("lines", "count", get=_query_lines),
    Column("licence", get=attrgetter("licence")),
    Column("author", get=lambda match: match.author or ""),
    Column("repository", get=lambda match: match.repository or match.url or ""),
    Column("places", "count", get=attrgetter("origins")),
)
"""Columns of the report, each with the cell of a match."""
