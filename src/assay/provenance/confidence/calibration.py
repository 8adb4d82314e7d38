"""The confidence of an index: rates of unrelated code by language and channel, read, written and looked up.

The formula is in `rates`; `assay.provenance.search.calibrating` measures it by searching for unrelated code.
"""

import hashlib
import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np

from assay.errors import DataError, plain_reason
from assay.files import parse_json, write_json
from assay.guard import json_file
from assay.provenance.confidence.rates import (
    VECTOR,
    ChannelValues,
    EvidenceRates,
    LengthBin,
    bin_of,
    fused_key,
    fused_values,
    fusion,
)
from assay.retrieval import Profile, profile_named

CALIBRATION_FILE = "calibration.json"
"""Its name in an index folder."""

CALIBRATION_FORMAT = 3

MOST_GROWTH = 1.1
"""Growth of an index up to which its calibration holds.

Each document adds its own chance of a match, so an index of g times the documents has at most g times the rate. A tenth
is less than the error of a rate that is measured with some hundred queries.
"""


@dataclass(frozen=True, slots=True)
class CalibrationTable:
    """False-positive rates by channel and length, of queries in one language.

    Attributes:
        language: of the queries, as `Sample.language` spells it; None: they had no known language.
        documents: of that language in the index that was measured.
        channels: bins ascending by length, by channel.
        fused: bins ascending by the number of channels with evidence, by `fusion` of the channels of a search.
        growth: factor of all rates, for a larger index: g times the documents have at most g times the rate, because
            each document adds its own chance of a match.
    """

    language: str | None
    documents: int
    channels: Mapping[str, tuple[LengthBin, ...]]
    fused: Mapping[str, tuple[LengthBin, ...]] = field(default_factory=dict)
    growth: float = 1.0

    def covers(self, searched: Collection[str]) -> bool:
        """Return False if these channels have rates, but were not measured together."""
        names = [name for name in searched if name in self.channels]
        return len(names) <= 1 or fusion(names) in self.fused

    def rates(self, values: ChannelValues, searched: Collection[str]) -> EvidenceRates | None:
        """Return the rates at which unrelated queries reach what each candidate has in all channels together.

        Args:
            values: of the candidates, by channel.
            searched: channels of the search, those without evidence for this query among them.

        Returns:
            None where nothing was measured for these channels.
        """
        names = [name for name in searched if name in self.channels]
        present = [name for name in names if name in values]
        rates_of_channels, columns, chosen = [], [], None
        for name in present:
            length, column = values[name]
            length_bin = bin_of(self.channels[name], length)
            if length_bin is not None:
                rates_of_channels.append(length_bin.rates(column))
                columns.append(column)
                chosen, best = length_bin, column
        # a single channel is looked up by its own value; several by the fused one, whose distribution was measured as a
        # whole
        if columns and len(names) > 1:
            best = fused_values(rates_of_channels, len(names))
            chosen = bin_of(self.fused.get(fusion(names), ()), fused_key(present))
        if chosen is None:
            return None
        # conformal p-value: of n unrelated queries and this one, none is special, so each rank is equally likely; the
        # query counts itself, hence k + 1 of n + 1, which never claims more than n measurements can show
        counts = chosen.counts(best)
        has_no_value = np.max(columns, axis=0) <= 0
        rates = np.where(has_no_value, np.nan, self.growth * (counts + 1) / (chosen.n + 1))
        return EvidenceRates(rates.clip(max=1.0), counts == 0)

    def content(self) -> dict[str, object]:
        """Return the table as JSON has it."""
        content: dict[str, object] = {"language": self.language, "documents": self.documents}
        for name, bins in {"channels": self.channels, "fused": self.fused}.items():
            content[name] = {key: list(map(LengthBin.content, entries)) for key, entries in bins.items()}
        return content

    @classmethod
    def of(cls, content: Any) -> "CalibrationTable":  # noqa: ANN401  JSON, checked by its reader
        """Return the table from what `content` returned."""
        channels, fused = _bins(content["channels"]), _bins(content["fused"])
        return cls(content["language"], int(content["documents"]), channels=channels, fused=fused)


@dataclass(frozen=True, slots=True)
class IndexCalibration:
    """False-positive rates of an index, or of indexes of one profile.

    Attributes:
        profile: of the fingerprints that were measured.
        tables: one or more of each language that was measured, for different sizes of an index.
        encoder_digest: of the encoder that "vector" was measured with, or None.
        provenance: record of the measurement.
    """

    profile: Profile
    tables: tuple[CalibrationTable, ...]
    encoder_digest: str | None = None
    provenance: Mapping[str, object] = field(default_factory=dict)

    def table_for(
        self, language: str | None, *, documents: int, encoder_digest: str | None = None
    ) -> CalibrationTable | None:
        """Return the rates for queries in a language.

        It is the table of the smallest index with as many documents; without one that of the largest, with larger
        rates. For an index with vectors, tables with rates of vectors come first.

        Args:
            language: of the queries.
            documents: of that language in the index.
            encoder_digest: of the index; the rates of vectors hold for this encoder alone.

        Returns:
            None if that language was not measured.
        """
        tables = [table for table in self.tables if table.language == language]
        tables.sort(key=attrgetter("documents"))
        if not tables:
            return None
        if encoder_digest is not None and encoder_digest == self.encoder_digest:
            # the rates of vectors of a small index may be missing where those of a larger one hold
            tables = [table for table in tables if VECTOR in table.channels] or tables
        table = next((table for table in tables if table.documents >= documents), tables[-1])
        channels = dict(table.channels)
        if encoder_digest is None or encoder_digest != self.encoder_digest:
            channels.pop(VECTOR, None)
        # Union bound: P(some document of g · n reaches v) <= g · P(some document of n does), so the rate grows at most
        # as the index does
        return replace(table, channels=channels, growth=max(documents / max(table.documents, 1), 1.0))

    def of_size(self, documents: int, place: Path | str) -> "IndexCalibration":
        """Return this calibration, if an index of that many documents is about as large as the measured one.

        Args:
            documents: number of documents of the index now.
            place: of the calibration, for the error message.

        Raises:
            DataError: the index is more than `MOST_GROWTH` times as large, or the measured size is not recorded.
        """
        measured = self.provenance.get("documents")
        if not isinstance(measured, int) or documents > measured * MOST_GROWTH:
            raise DataError(
                f"{place}: calibration measured with {measured} documents, received an index of {documents}; "
                "expected about as many: run `assay index calibrate` again"
            )
        return self

    def content(self) -> dict[str, object]:
        """Return the calibration as JSON has it."""
        content: dict[str, object] = {
            "format": CALIBRATION_FORMAT,
            "profile": self.profile.name,
            "form": _forms(self.profile),
            "encoder_digest": self.encoder_digest,
            "provenance": dict(self.provenance),
            "tables": list(map(CalibrationTable.content, self.tables)),
        }
        return content | {"checksum": _checksum(content)}

    def save(self, path: Path) -> None:
        """Write the calibration as JSON.

        Raises:
            DataError: the file cannot be written.
        """
        write_json(path, self.content())

    @classmethod
    def load(cls, path: Path, profile: Profile) -> "IndexCalibration":
        """Read a file that `save` wrote.

        Raises:
            DataError: the file is not a calibration, or one of another profile or format version.
        """
        try:
            content = json_file(path)
        except (OSError, ValueError) as error:
            raise _no_calibration(path, profile, error) from error
        return cls.of(content, profile, path)

    @classmethod
    def of(cls, content: Any, profile: Profile, place: Path | str) -> "IndexCalibration":  # noqa: ANN401  checked here
        """Read a value that `content` returned; `place` is named in errors.

        Raises:
            DataError: the value is not a calibration, or one of another profile or format version.
        """
        version = content.get("format") if isinstance(content, dict) else None
        if version is not None and version != CALIBRATION_FORMAT:
            raise DataError(
                f"{place}: calibration of format {version}, written by another version of assay; "
                f"expected format {CALIBRATION_FORMAT}"
            )
        try:
            return _read(content, profile)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise _no_calibration(place, profile, error) from error


def _no_calibration(place: Path | str, profile: Profile, error: Exception) -> DataError:
    return DataError(f"{place}: expected a calibration of profile {profile.name!r}: {plain_reason(error)}")


def calibration_for(
    folder: Path, profile: Profile, documents: int, encoder_digest: str | None
) -> IndexCalibration | None:
    """Return the calibration of an index, else the shipped one of its profile, else None.

    Args:
        folder: of the index.
        profile: of its fingerprints.
        documents: number of its documents.
        encoder_digest: of its encoder; None without vectors.

    Raises:
        DataError: the index has its own calibration, which cannot be read or is of a much smaller index.
    """
    own = folder / CALIBRATION_FILE
    if not own.is_file():
        return shipped_calibration(profile, encoder_digest)
    return IndexCalibration.load(own, profile).of_size(documents, own)


@cache
def shipped_calibration(profile: Profile, encoder_digest: str | None = None) -> IndexCalibration | None:
    """Return the shipped calibration of a profile; None where there is none.

    It is that of the encoder with the digest. Of another encoder it is the first, whose rates of vectors do not hold.
    """
    folder = files("assay.provenance") / "calibrations"
    first = None
    for name in (f"{profile.name}.json", f"{profile.name}.windows.json"):
        place = folder / name
        # a profile of a user may have the name of a shipped one, and other values
        if place.is_file() and profile_named(profile.name) == profile:
            shipped = _read(parse_json(place.read_bytes()), profile)
            if encoder_digest in {None, shipped.encoder_digest}:
                return shipped
            first = first or shipped
    return first


def _read(content: Any, profile: Profile) -> IndexCalibration:  # noqa: ANN401  JSON, checked here
    if content["form"] != _forms(profile):
        raise ValueError(f"measured for profile {content['profile']!r} with other channels")
    if content["checksum"] != _checksum({key: value for key, value in content.items() if key != "checksum"}):
        raise ValueError("damaged: it is not what was written")
    return IndexCalibration(
        profile=profile,
        tables=tuple(map(CalibrationTable.of, content["tables"])),
        encoder_digest=content["encoder_digest"],
        provenance=content["provenance"],
    )


def _checksum(content: Mapping[str, object]) -> str:
    """Return the SHA-256 of a JSON value, whatever its layout."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _forms(profile: Profile) -> dict[str, list[object]]:
    return {channel.form: [channel.k, channel.w, channel.hash] for channel in profile.channels}


def _bins(content: Any) -> dict[str, tuple[LengthBin, ...]]:  # noqa: ANN401  JSON, checked by its reader
    return {name: tuple(map(LengthBin.of, bins)) for name, bins in content.items()}
