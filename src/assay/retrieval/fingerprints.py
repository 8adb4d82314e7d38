"""Fingerprints of a source text, with their places."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from assay.languages import lexical_rules
from assay.retrieval.canonical import Canonical, Form, characters
from assay.retrieval.hashing import GRAM_HASHES, Hashes
from assay.retrieval.profiles import Channel, Profile, profile_named
from assay.retrieval.scanning import COMMENT, Regions, find_regions
from assay.retrieval.source import Offsets, Source
from assay.retrieval.token_channel import tokens
from assay.retrieval.winnowing import winnow


@dataclass(frozen=True, slots=True, eq=False)
class Fingerprints:
    """The fingerprints of one text in one channel, in text order; there is at least one.

    Lines and columns count from 1, columns in code points; a line ends at LF, CRLF or a CR alone.

    Attributes:
        channel: form, k, w and hash of the fingerprints.
        units: length of the canonical form.
        hashes: uint64 [m].
        positions: int64 [m], of the first unit of the k-gram in the canonical form.
        starts: int64 [m], start of the k-gram in the text, as a code point offset.
        stops: int64 [m], offset after its end.
        lines: int64 [m], line of its first code point.
        columns: int64 [m], column of its first code point.
        last_lines: int64 [m], line of its last code point.
    """

    channel: Channel
    units: int
    hashes: Hashes
    positions: Offsets
    starts: Offsets
    stops: Offsets
    lines: Offsets
    columns: Offsets
    last_lines: Offsets

    def __len__(self) -> int:
        return len(self.hashes)


@dataclass(frozen=True, slots=True)
class TooShort:
    """A text whose canonical form is shorter than one k-gram: it has no fingerprint.

    Attributes:
        channel: in which it is too short.
        units: length of its canonical form, below `channel.k`.
    """

    channel: Channel
    units: int

    @property
    def reason(self) -> str:
        """Sentence for the user."""
        form, k = self.channel.form, self.channel.k
        return f"too short: {self.units} {form} without comments and layout, at least {k} are needed"


def fingerprint(
    text: str, language: str | None, profile: Profile | str = "default"
) -> Mapping[Form, Fingerprints | TooShort]:
    """Return the fingerprints of a text, by the form of the channel.

    Args:
        text: source code, a file or a fragment of one.
        language: as in `Sample.language`; neutral rules apply if it is None or has no rules of its own.
        profile: a profile or its name, "default" or "paper".

    Returns:
        One entry for each channel of the profile.

    Raises:
        AssayError: no profile has that name.
    """
    if isinstance(profile, str):
        profile = profile_named(profile)
    source, rules = Source.of(text), lexical_rules(language)
    regions = find_regions(source, rules)
    if language == "go":
        regions = _without_separators(source, regions)
    fingerprints: dict[Form, Fingerprints | TooShort] = {}
    for channel in profile.channels:
        is_characters = channel.form == "characters"
        canonical = characters(source, regions) if is_characters else tokens(source, regions, rules)
        fingerprints[channel.form] = _winnowed(source, canonical, channel)
    return fingerprints


_HEADER_OR_SEPARATOR = re.compile(r"\b(?:for|if|switch)\b[^{]{0,400}\{|;")


def _without_separators(source: Source, regions: Regions) -> Regions:
    """Return the regions of a text of Go, and those semicolons as comments that stand where a line could end."""
    code = list(source.text)
    for start, stop in zip(regions.starts.tolist(), regions.stops.tolist(), strict=True):
        code[start:stop] = " " * (stop - start)
    matches = _HEADER_OR_SEPARATOR.finditer("".join(code))
    separators = np.array([match.start() for match in matches if match[0] == ";"], np.int64)
    at = np.searchsorted(regions.starts, separators)
    return Regions(
        np.insert(regions.starts, at, separators),
        np.insert(regions.stops, at, separators + 1),
        np.insert(regions.kinds, at, COMMENT),
        regions.unterminated,
    )


def _winnowed(source: Source, canonical: Canonical, channel: Channel) -> Fingerprints | TooShort:
    if len(canonical) < channel.k:
        return TooShort(channel, len(canonical))
    hashes, positions = winnow(canonical.units, k=channel.k, w=channel.w, gram_hash=GRAM_HASHES[channel.hash])
    # places are looked up for the chosen grams alone, about a fifth of all
    starts = canonical.starts[positions]
    stops = canonical.stops_of(positions + channel.k - 1)
    lines, columns = source.places(starts)
    last_lines, _ = source.places(stops - 1)
    return Fingerprints(channel, len(canonical), hashes, positions, starts, stops, lines, columns, last_lines)
