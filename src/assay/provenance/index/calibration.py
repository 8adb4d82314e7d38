"""Confidence of a similarity: one minus the rate at which unrelated code of the same length reaches it.

The estimator is that of a conformal p-value. n unrelated queries of a length are traced; k of them find, anywhere in
the index, a document of at least the value v. Then rate(v) = (k + 1) / (n + 1): n queries never give a rate below
1 / (n + 1), and for a further unrelated query P(rate(its best value) <= a) <= a for every a. Values are rounded to
hundredths, up when they are measured and down when they are looked up, so rounding never makes a rate smaller. Where a
search has several channels, the value is the fused one, one rate for all of them together.

In each channel c a document has the rate p_c at which unrelated code reaches its value. Fisher (1932) combines
independent rates by the sum of their logarithms; the fused value is that sum, with no weight that is fitted:

    fused = - sum_c log10(p_c) / (channels * MOST_DECADES)

Characters, tokens and vectors of one document depend on each other, so the law of Fisher's sum does not hold here. Its
rate is measured instead, on the same unrelated queries: the largest fused value that any document of the index has. By
that rate a document that several channels support is surer than one that a single channel supports, and no correction
for the number of channels is needed.

A measured query is left out of the rates that are used for its own fused value. With n others, k of which reach a
value, a further query has the rate (k + 1) / (n + 1), and the query itself, which reaches its own value, k' / n with
k' = k + 1: the two are treated alike.
"""

import hashlib
import json
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.errors import DataError, plain_reason
from assay.files import parse_json, write_json
from assay.retrieval import Profile, profile_named
from assay.types import Float64Array, Int64Array

STEPS_OF_VALUE = 100
FEWEST = 20
"""Queries below which there is no rate."""

ENOUGH = 200
"""Queries that a bin needs; with fewer it is joined to the next shorter one, whose queries reach higher values."""


@dataclass(frozen=True, slots=True)
class LengthBin:
    """Unrelated queries of about one length.

    Attributes:
        shortest: smallest length in it: fingerprints that are not boilerplate, tokens for vectors, or for the fused
            value 2^(channels with evidence - 1).
        reached: [101], number of queries with a best value of at least i / 100; the first is n, all of them.
    """

    shortest: int
    reached: tuple[int, ...]

    @property
    def n(self) -> int:
        """Number of unrelated queries."""
        return self.reached[0]

    def counts(self, values: Float64Array) -> Int64Array:
        """Return the number of queries that reach each of these values from 0 to 1, [c]."""
        # 0.29 * 100 is 28.999…: without the small term, floor would look up the wrong step
        steps = np.floor(values * STEPS_OF_VALUE + 1e-9).astype(np.int64)
        counts: Int64Array = np.array(self.reached, np.int64)[steps.clip(0, STEPS_OF_VALUE)]
        return counts

    def rates(self, values: Float64Array) -> Float64Array:
        """Return the rate of each of these values from 0 to 1, [c]."""
        return (self.counts(values) + 1) / np.float64(self.n + 1)

    def rate(self, value: float) -> float:
        """Return the rate of a single value."""
        return float(self.rates(np.array([value]))[0])


def bin_of(bins: Sequence[LengthBin], length: int) -> LengthBin | None:
    """Return the bin of a length; between two bins that is the shorter one, whose rates are the larger ones.

    Args:
        bins: ascending by length.
        length: of a query; one shorter than all bins gets the shortest.

    Returns:
        None where no bin has at least `FEWEST` queries.
    """
    chosen = None
    # from long to short: the first bin that fits
    for length_bin in reversed(bins):
        # a bin of too few queries gives no rate; the next shorter one is on the safe side, its queries reach more
        if length_bin.n >= FEWEST:
            chosen = length_bin
            if length_bin.shortest <= length:
                break
    return chosen


def bin_values(measured: Iterable[tuple[int, float]]) -> tuple[LengthBin, ...]:
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


VECTOR = "vector"
MOST_DECADES = 4
"""Mean of -log10 of the rates from which the fused value is 1."""

ChannelValues = Mapping[str, tuple[int, Float64Array]]
"""Channel → length of the query there, and the values of the candidates, [c]. Channels without evidence are absent."""


@dataclass(frozen=True, slots=True, eq=False)
class EvidenceRates:
    """Rates of the candidates of a query.

    Attributes:
        rates: float64 [c], at which unrelated code reaches as much; NaN for a candidate without any value in a
            channel that is calibrated.
        at_limit: bool [c], no unrelated query of the measurement reached as much.
    """

    rates: Float64Array
    at_limit: NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class UnrelatedQuery:
    """The values that the documents of an index have for an unrelated query, for the channels in which it has evidence.

    Attributes:
        lengths: of the query, by channel.
        best: largest value of any document, by channel.
        steps: uint8 [channels, documents], values in hundredths, rounded down; documents that others surpass in every
            channel may be absent.
    """

    lengths: Mapping[str, int]
    best: Mapping[str, float]
    steps: NDArray[np.uint8]

    @classmethod
    def of(cls, values: ChannelValues) -> "UnrelatedQuery":
        """Return the values of a query; the channel of vectors is the last one, if there is one."""
        # of an unrelated query only its best document matters: that is what could be taken for a source
        best = {name: float(column.max(initial=0.0)) for name, (_, column) in values.items()}
        steps = np.stack([np.floor(column * STEPS_OF_VALUE + 1e-9) for _, column in values.values()])
        return cls({name: length for name, (length, _) in values.items()}, best, _undominated(steps))


def fusion(channels: Iterable[str]) -> str:
    """Return the name of the fused value of these channels."""
    return "+".join(sorted(channels))


def fused_values(rates: Sequence[Float64Array], channels: int) -> Float64Array:
    """Return the fused values from 0 to 1, [c].

    Args:
        rates: of the channels in which the query has evidence, each [c].
        channels: of the search; the others count as a rate of 1.
    """
    # a channel without evidence has the rate 1, whose logarithm is 0: it adds nothing and still counts in the mean
    decades: Float64Array = -np.sum([np.log10(of_channel) for of_channel in rates], axis=0)
    return (decades / (channels * MOST_DECADES)).clip(0.0, 1.0)


def fused_key(channels: Collection[str]) -> int:
    """Return the length by which fused values are binned: 1, 2, 4 for one, two, three channels with evidence."""
    return 1 << (len(channels) - 1)


def measured_bins(
    queries: Sequence[UnrelatedQuery],
) -> tuple[dict[str, tuple[LengthBin, ...]], dict[str, tuple[LengthBin, ...]]]:
    """Return the bins of each channel, and those of the fused values with and without vectors."""
    names = sorted({name for query in queries for name in query.lengths})
    bins = {
        name: bin_values((query.lengths[name], query.best[name]) for query in queries if name in query.lengths)
        for name in names
    }
    combinations = {fusion(chosen): chosen for chosen in ([name for name in names if name != VECTOR], names)}
    return bins, {
        fusion_name: bin_values(pair for query in queries if (pair := _best_fused(query, bins, chosen)))
        for fusion_name, chosen in combinations.items()
        if len(chosen) > 1
    }


def _best_fused(
    query: UnrelatedQuery, bins: Mapping[str, Sequence[LengthBin]], chosen: Collection[str]
) -> tuple[int, float] | None:
    """Return the bin and the largest fused value of a query; None where it has no evidence in these channels."""
    rates = []
    for row, (name, length) in enumerate(query.lengths.items()):
        length_bin = bin_of(bins[name], length) if name in chosen else None
        if length_bin is not None:
            # at least 1: where its own bin is too small, the query is looked up among others
            counts = length_bin.counts(query.steps[row] / STEPS_OF_VALUE).clip(1)
            rates.append(counts / length_bin.n)
    present = [name for name in query.lengths if name in chosen]
    if not rates or not present:
        return None
    return fused_key(present), float(fused_values(rates, len(chosen)).max(initial=0.0))


def _undominated(steps: NDArray[np.float64]) -> NDArray[np.uint8]:
    """Return distinct columns; of those that differ in the last row alone, the one with the largest value there."""
    # thousands of documents become a few columns: what another one surpasses in every channel never decides the maximum
    columns = np.unique(steps.clip(0, STEPS_OF_VALUE).astype(np.uint8), axis=1)
    # np.unique sorts by the first row, then the next: columns equal up to the last row are neighbours, ascending
    last = np.ones(columns.shape[1], np.bool_)
    last[:-1] = (columns[:-1, 1:] != columns[:-1, :-1]).any(axis=0)
    return columns[:, last]


FILE = "calibration.json"
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
        of_channel = {
            name: (length_bin, values[name][1])
            for name in names
            if name in values and (length_bin := bin_of(self.channels[name], values[name][0])) is not None
        }
        if not of_channel:
            return None
        # a single channel is looked up by its own value; several by the fused one, whose distribution was measured as a
        # whole
        if len(names) == 1:
            ((chosen, best),) = of_channel.values()
        else:
            best = fused_values([length_bin.rates(column) for length_bin, column in of_channel.values()], len(names))
            present = [name for name in names if name in values]
            of_fusion = bin_of(self.fused.get(fusion(names), ()), fused_key(present))
            if of_fusion is None:
                return None
            chosen = of_fusion
        # conformal p-value: of n unrelated queries and this one, none is special, so each rank is equally likely; the
        # query counts itself, hence k + 1 of n + 1, which never claims more than n measurements can show
        counts = chosen.counts(best)
        has_no_value = np.max([column for _, column in of_channel.values()], axis=0) <= 0
        rates = np.where(has_no_value, np.nan, self.growth * (counts + 1) / (chosen.n + 1))
        return EvidenceRates(rates.clip(max=1.0), counts == 0)


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
        tables = sorted(
            (table for table in self.tables if table.language == language), key=lambda table: table.documents
        )
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
            "tables": [
                {
                    "language": table.language,
                    "documents": table.documents,
                    "channels": _bins_content(table.channels),
                    "fused": _bins_content(table.fused),
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
    own = folder / FILE
    if not own.is_file():
        return shipped_calibration(profile, encoder_digest)
    return IndexCalibration.load(own, profile).of_size(documents, own)


@cache
def shipped_calibration(profile: Profile, encoder_digest: str | None = None) -> IndexCalibration | None:
    """Return the shipped calibration of a profile; None where there is none.

    It is that of the encoder with the digest. Of another encoder it is the first, whose rates of vectors do not hold.
    """
    folder = files("assay.provenance") / "calibrations"
    places = [
        place for name in (profile.name, f"{profile.name}.windows") if (place := folder / f"{name}.json").is_file()
    ]
    if not places or profile_named(profile.name) != profile:
        return None
    shipped = (_read(parse_json(place.read_bytes()), profile) for place in places)
    first = next(shipped)
    if encoder_digest in {None, first.encoder_digest}:
        return first
    return next((other for other in shipped if other.encoder_digest == encoder_digest), first)


def _read(content: Any, profile: Profile) -> IndexCalibration:  # noqa: ANN401  JSON, checked here
    if content["form"] != _forms(profile):
        raise ValueError(f"measured for profile {content['profile']!r} with other channels")
    if content["checksum"] != _checksum({key: value for key, value in content.items() if key != "checksum"}):
        raise ValueError("damaged: it is not what was written")
    tables = tuple(
        CalibrationTable(table["language"], int(table["documents"]), _bins(table["channels"]), _bins(table["fused"]))
        for table in content["tables"]
    )
    return IndexCalibration(profile, tables, content["encoder_digest"], content["provenance"])


def _checksum(content: Mapping[str, object]) -> str:
    """Return the SHA-256 of a JSON value, whatever its layout."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _forms(profile: Profile) -> dict[str, list[object]]:
    return {channel.form: [channel.k, channel.w, channel.hash] for channel in profile.channels}


def _bins_content(named: Mapping[str, Sequence[LengthBin]]) -> dict[str, list[dict[str, object]]]:
    return {
        name: [{"shortest": length_bin.shortest, "reached": _packed(length_bin.reached)} for length_bin in bins]
        for name, bins in named.items()
    }


def _bins(content: Any) -> dict[str, tuple[LengthBin, ...]]:  # noqa: ANN401  JSON, checked by its reader
    return {
        name: tuple(LengthBin(int(entry["shortest"]), _unpacked(entry["reached"])) for entry in bins)
        for name, bins in content.items()
    }


def _packed(reached: tuple[int, ...]) -> list[list[int]]:
    """Return [step, count] for each step at which the count changes."""
    # the counts fall in few steps, so their changes are a tenth of the file that all of them would be
    return [[step, n] for step, n in enumerate(reached) if step == 0 or reached[step - 1] != n]


def _unpacked(packed: list[list[int]]) -> tuple[int, ...]:
    counts = {step: count for step, count in packed}  # noqa: C416  pairs, checked by unpacking
    reached = [int(counts[0])]
    for step in range(1, STEPS_OF_VALUE + 1):
        reached.append(int(counts.get(step, reached[-1])))
    return tuple(reached)
