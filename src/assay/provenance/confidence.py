"""How much a similarity means: the rate at which unrelated code of the same length reaches it.

The estimator is that of a conformal p-value. n unrelated queries of a length are traced; k of them find, anywhere in
the index, a document of at least the value v. Then rate(v) = (k + 1) / (n + 1): with n queries no rate below
1 / (n + 1) is ever claimed, and for a further unrelated query P(rate(its best value) <= a) <= a for every a. Values are
rounded up where they are measured and down where they are looked up, to hundredths, so no rate gets smaller by that.
"""

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

from assay.errors import DataError
from assay.files import write_json
from assay.retrieval import Profile, profile_named

MatchChannel = Literal["characters", "tokens", "vector"]

STEPS = 100
FILE = "calibration.json"
"""Its name in an index folder."""

FORMAT = 1
FEWEST = 20
"""Queries below which nothing is said."""

ENOUGH = 200
"""Queries that a length of its own needs; with fewer it is counted with the next shorter one, which reaches more."""


@dataclass(frozen=True, slots=True)
class LengthBin:
    """Unrelated queries of about one length.

    Attributes:
        shortest: length from which it holds: fingerprints that are no boilerplate, or of vectors tokens.
        reached: [101], how many queries found a best value of at least i / 100; the first is n, all of them.
    """

    shortest: int
    reached: tuple[int, ...]

    @property
    def n(self) -> int:
        """Unrelated queries."""
        return self.reached[0]

    def rate(self, value: float) -> float:
        """The estimate for a value from 0 to 1."""
        step = min(max(math.floor(value * STEPS + 1e-9), 0), STEPS)
        return (self.reached[step] + 1) / (self.n + 1)


@dataclass(frozen=True, slots=True)
class Calibration:
    """False-positive rates by channel and length.

    Attributes:
        profile: of the fingerprints that were measured.
        channels: bins ascending by length, by channel.
        encoder_digest: of the encoder that "vector" was measured with, or None.
        provenance: what was measured on what.
    """

    profile: Profile
    channels: Mapping[str, tuple[LengthBin, ...]]
    encoder_digest: str | None = None
    provenance: Mapping[str, object] = field(default_factory=dict)

    def rate(self, channel: str, length: int, value: float) -> float | None:
        """The rate at which unrelated queries reach a value.

        A length between two bins belongs to the shorter one, whose rates are the larger ones.

        Returns:
            None where the channel was not measured.
        """
        fitting = None
        for one in reversed(self.channels.get(channel, ())):
            if one.n >= FEWEST:
                fitting = one
                if one.shortest <= length:
                    break
        return None if fitting is None else fitting.rate(value)

    def fitting(self, encoder_digest: str | None) -> "Calibration":
        """What holds for vectors of that encoder: all of it, or what was measured without vectors."""
        if "vector" not in self.channels or (encoder_digest is not None and encoder_digest == self.encoder_digest):
            return self
        return replace(self, channels={name: bins for name, bins in self.channels.items() if name != "vector"})

    def content(self) -> dict[str, object]:
        """As JSON has it."""
        return {
            "format": FORMAT,
            "profile": self.profile.name,
            "form": {one.form: [one.k, one.w, one.hash] for one in self.profile.channels},
            "encoder_digest": self.encoder_digest,
            "provenance": dict(self.provenance),
            "channels": {
                name: [{"shortest": one.shortest, "reached": _packed(one.reached)} for one in bins]
                for name, bins in self.channels.items()
            },
        }

    def save(self, path: Path) -> None:
        """Write as JSON.

        Raises:
            DataError: the file cannot be written.
        """
        write_json(path, self.content())

    @classmethod
    def load(cls, path: Path, profile: Profile) -> "Calibration":
        """Read what `save` wrote.

        Raises:
            DataError: it is none, or one of another profile.
        """
        try:
            return cls.of(json.loads(path.read_bytes()), profile, path)
        except (OSError, ValueError) as error:
            raise DataError(f"{path}: expected a calibration of profile {profile.name!r}: {error}") from error

    @classmethod
    def of(cls, content: Any, profile: Profile, place: Path | str) -> "Calibration":  # noqa: ANN401  checked here
        """Read what `content` gave.

        Raises:
            DataError: it is none, or one of another profile.
        """
        try:
            return _read(content, profile)
        except (ValueError, KeyError, TypeError) as error:
            raise DataError(f"{place}: expected a calibration of profile {profile.name!r}: {error}") from error


def binned(measured: Iterable[tuple[int, float]]) -> tuple[LengthBin, ...]:
    """Bins of doubling length, those of few queries joined to the shorter ones.

    Args:
        measured: length, at least 1, and best value of each unrelated query.
    """
    values: dict[int, list[int]] = {}
    for length, value in measured:
        values.setdefault(length.bit_length() - 1, []).append(min(math.ceil(value * STEPS - 1e-9), STEPS))
    for power, shorter in zip(sorted(values)[:0:-1], sorted(values)[-2::-1], strict=True):
        if len(values[power]) < ENOUGH:
            values[shorter] += values.pop(power)
    return tuple(
        LengthBin(1 << power, tuple(sum(one >= step for one in of_bin) for step in range(STEPS + 1)))
        for power, of_bin in sorted(values.items())
    )


def calibration_for(folder: Path, profile: Profile) -> Calibration | None:
    """The calibration of an index, else the shipped one of its profile, else None.

    Raises:
        DataError: the index has one that cannot be read.
    """
    own = folder / FILE
    return Calibration.load(own, profile) if own.is_file() else shipped_calibration(profile)


@cache
def shipped_calibration(profile: Profile) -> Calibration | None:
    """What ships for a profile; None where nothing does."""
    shipped = files("assay.provenance") / "calibrations" / f"{profile.name}.json"
    if not shipped.is_file() or profile_named(profile.name) != profile:
        return None
    return _read(json.loads(shipped.read_bytes()), profile)


def _read(content: Any, profile: Profile) -> Calibration:  # noqa: ANN401  JSON, checked here
    if content["format"] != FORMAT:
        raise ValueError(f"format {content['format']}, expected {FORMAT}")
    if content["form"] != {one.form: [one.k, one.w, one.hash] for one in profile.channels}:
        raise ValueError(f"measured for profile {content['profile']!r} with other channels")
    channels = {
        name: tuple(LengthBin(int(one["shortest"]), _unpacked(one["reached"])) for one in bins)
        for name, bins in content["channels"].items()
    }
    return Calibration(profile, channels, content["encoder_digest"], content["provenance"])


def _packed(reached: tuple[int, ...]) -> list[list[int]]:
    """[step, count] where the count changes."""
    return [[step, n] for step, n in enumerate(reached) if step == 0 or reached[step - 1] != n]


def _unpacked(packed: list[list[int]]) -> tuple[int, ...]:
    counts = {step: count for step, count in packed}  # noqa: C416  pairs, checked by unpacking
    reached = [int(counts[0])]
    for step in range(1, STEPS + 1):
        reached.append(int(counts.get(step, reached[-1])))
    return tuple(reached)
