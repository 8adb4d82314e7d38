"""Confidence of a similarity: one minus the rate at which unrelated code of the same length reaches it.

The estimator is that of a conformal p-value. n unrelated queries of a length are traced; k of them find, anywhere in
the index, a document of at least the value v. Then rate(v) = (k + 1) / (n + 1): n queries never give a rate below
1 / (n + 1), and for a further unrelated query P(rate(its best value) <= a) <= a for every a. Values are rounded to
hundredths, up when they are measured and down when they are looked up, so rounding never makes a rate smaller.
"""

import hashlib
import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

from assay.errors import DataError, plain_reason
from assay.files import parse_json, write_json
from assay.retrieval import Profile, profile_named

MatchChannel = Literal["characters", "tokens", "vector"]

STEPS_OF_VALUE = 100
FILE = "calibration.json"
"""Its name in an index folder."""

CALIBRATION_FORMAT = 2
FEWEST = 20
"""Queries below which there is no rate."""

MOST_GROWTH = 1.1
"""Growth of an index up to which its calibration holds.

Each document adds its own chance of a match, so an index of g times the documents has at most g times the rate. A tenth
is less than the error of a rate that is measured with some hundred queries.
"""

ENOUGH = 200
"""Queries that a bin needs; with fewer it is joined to the next shorter one, whose queries reach higher values."""


@dataclass(frozen=True, slots=True)
class LengthBin:
    """Unrelated queries of about one length.

    Attributes:
        shortest: smallest length in it: fingerprints that are not boilerplate, or tokens for vectors.
        reached: [101], number of queries with a best value of at least i / 100; the first is n, all of them.
    """

    shortest: int
    reached: tuple[int, ...]

    @property
    def n(self) -> int:
        """Number of unrelated queries."""
        return self.reached[0]

    def rate(self, value: float) -> float:
        """Return the rate of a value from 0 to 1."""
        # 0.29 * 100 is 28.999…: without the small term, floor would look up the wrong step
        step = min(max(math.floor(value * STEPS_OF_VALUE + 1e-9), 0), STEPS_OF_VALUE)
        return (self.reached[step] + 1) / (self.n + 1)


@dataclass(frozen=True, slots=True)
class CalibrationTable:
    """False-positive rates by channel and length, of queries in one language.

    Attributes:
        language: of the queries, as `Sample.language` spells it; None: they had no known language.
        documents: of that language in the index that was measured.
        channels: bins ascending by length, by channel.
        growth: factor of all rates, for a larger index: g times the documents have at most g times the rate, because
            each document adds its own chance of a match.
    """

    language: str | None
    documents: int
    channels: Mapping[str, tuple[LengthBin, ...]]
    growth: float = 1.0

    def rate(self, channel: str, length: int, value: float) -> float | None:
        """Return the rate at which unrelated queries reach a value.

        A length between two bins belongs to the shorter one, whose rates are the larger ones.

        Returns:
            None where the channel was not measured.
        """
        chosen = self._bin(channel, length)
        return None if chosen is None else min(self.growth * chosen.rate(value), 1.0)

    def is_least(self, channel: str, length: int, value: float) -> bool:
        """Return True if no unrelated query of that length reached the value: no rate of its bin is smaller."""
        chosen = self._bin(channel, length)
        return chosen is not None and chosen.rate(value) * (chosen.n + 1) == 1

    def _bin(self, channel: str, length: int) -> LengthBin | None:
        chosen = None
        # from long to short: the first bin that fits; a query shorter than all of them gets the shortest
        for length_bin in reversed(self.channels.get(channel, ())):
            if length_bin.n >= FEWEST:
                chosen = length_bin
                if length_bin.shortest <= length:
                    break
        return chosen


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
        rates.

        Args:
            language: of the queries.
            documents: of that language in the index.
            encoder_digest: of the index; the rates of vectors hold for this encoder alone.

        Returns:
            None if that language was not measured.
        """
        tables = sorted(
            (table for table in self.tables if table.language == language), key=lambda table: table.documents
        )
        if not tables:
            return None
        table = next((table for table in tables if table.documents >= documents), tables[-1])
        channels = dict(table.channels)
        if encoder_digest is None or encoder_digest != self.encoder_digest:
            channels.pop("vector", None)
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
            "tables": [
                {
                    "language": table.language,
                    "documents": table.documents,
                    "channels": {
                        name: [
                            {"shortest": length_bin.shortest, "reached": _packed(length_bin.reached)}
                            for length_bin in bins
                        ]
                        for name, bins in table.channels.items()
                    },
                }
                for table in self.tables
            ],
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
            content = parse_json(path.read_bytes())
        except (OSError, ValueError) as error:
            raise DataError(
                f"{path}: expected a calibration of profile {profile.name!r}: {plain_reason(error)}"
            ) from error
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
            raise DataError(
                f"{place}: expected a calibration of profile {profile.name!r}: {plain_reason(error)}"
            ) from error


def binned(measured: Iterable[tuple[int, float]]) -> tuple[LengthBin, ...]:
    """Return bins of doubling length; those of few queries are joined to the shorter ones.

    Args:
        measured: length, at least 1, and best value of each unrelated query.
    """
    values: dict[int, list[int]] = {}
    for length, value in measured:
        # lengths from 2^power to 2^(power + 1) - 1 share a bin
        step = min(math.ceil(value * STEPS_OF_VALUE - 1e-9), STEPS_OF_VALUE)
        values.setdefault(length.bit_length() - 1, []).append(step)
    # from the longest down, so that a joined bin may be joined again if it is still too small
    for power, shorter in zip(sorted(values)[:0:-1], sorted(values)[-2::-1], strict=True):
        if len(values[power]) < ENOUGH:
            values[shorter] += values.pop(power)
    return tuple(
        LengthBin(1 << power, tuple(sum(value >= step for value in steps) for step in range(STEPS_OF_VALUE + 1)))
        for power, steps in sorted(values.items())
    )


def calibration_for(folder: Path, profile: Profile, documents: int) -> IndexCalibration | None:
    """Return the calibration of an index, else the shipped one of its profile, else None.

    Args:
        folder: of the index.
        profile: of its fingerprints.
        documents: number of its documents.

    Raises:
        DataError: the index has its own calibration, which cannot be read or is of a much smaller index.
    """
    own = folder / FILE
    if not own.is_file():
        return shipped_calibration(profile)
    return IndexCalibration.load(own, profile).of_size(documents, own)


@cache
def shipped_calibration(profile: Profile) -> IndexCalibration | None:
    """Return the shipped calibration of a profile; None where there is none."""
    shipped = files("assay.provenance") / "calibrations" / f"{profile.name}.json"
    if not shipped.is_file() or profile_named(profile.name) != profile:
        return None
    return _read(parse_json(shipped.read_bytes()), profile)


def _read(content: Any, profile: Profile) -> IndexCalibration:  # noqa: ANN401  JSON, checked here
    if content["form"] != _forms(profile):
        raise ValueError(f"measured for profile {content['profile']!r} with other channels")
    if content["checksum"] != _checksum({key: value for key, value in content.items() if key != "checksum"}):
        raise ValueError("damaged: it is not what was written")
    tables = tuple(
        CalibrationTable(
            table["language"],
            int(table["documents"]),
            {
                name: tuple(LengthBin(int(entry["shortest"]), _unpacked(entry["reached"])) for entry in bins)
                for name, bins in table["channels"].items()
            },
        )
        for table in content["tables"]
    )
    return IndexCalibration(profile, tables, content["encoder_digest"], content["provenance"])


def _checksum(content: Mapping[str, object]) -> str:
    """Return the SHA-256 of a JSON value, whatever its layout."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _forms(profile: Profile) -> dict[str, list[object]]:
    return {channel.form: [channel.k, channel.w, channel.hash] for channel in profile.channels}


def _packed(reached: tuple[int, ...]) -> list[list[int]]:
    """Return [step, count] for each step at which the count changes."""
    return [[step, n] for step, n in enumerate(reached) if step == 0 or reached[step - 1] != n]


def _unpacked(packed: list[list[int]]) -> tuple[int, ...]:
    counts = {step: count for step, count in packed}  # noqa: C416  pairs, checked by unpacking
    reached = [int(counts[0])]
    for step in range(1, STEPS_OF_VALUE + 1):
        reached.append(int(counts.get(step, reached[-1])))
    return tuple(reached)
