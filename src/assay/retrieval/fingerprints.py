"""Fingerprints of a source text, with their places."""

from collections.abc import Mapping
from dataclasses import dataclass

from assay.languages import lexical_rules
from assay.retrieval.canonical import Canonical, Form, characters
from assay.retrieval.hashing import GRAM_HASHES, Hashes
from assay.retrieval.profiles import Channel, Profile, profile_named
from assay.retrieval.scanning import find_regions
from assay.retrieval.separators import without_separators
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
    rules = lexical_rules(language)
    source = Source.of(without_separators(text, rules))
    regions = find_regions(source, rules)
    fingerprints: dict[Form, Fingerprints | TooShort] = {}
    for channel in profile.channels:
        is_characters = channel.form == "characters"
        canonical = characters(source, regions) if is_characters else tokens(source, regions, rules)
        fingerprints[channel.form] = _winnowed(source, canonical, channel)
    return fingerprints


def _winnowed(source: Source, canonical: Canonical, channel: Channel) -> Fingerprints | TooShort:
    if len(canonical) < channel.k:
        return TooShort(channel, len(canonical))
    hashes, positions = winnow(canonical.units, k=channel.k, w=channel.w, gram_hash=GRAM_HASHES[channel.hash])
    # places are looked up for the chosen grams alone, about a fifth of all
    starts = canonical.starts[positions]
    stops = canonical.stops_of(positions + channel.k - 1)
    lines, columns = source.places(starts)
    # the line of the last code point: the offset behind it may be on the next one
    last_lines, _ = source.places(stops - 1)
    return Fingerprints(
        channel=channel,
        units=len(canonical),
        hashes=hashes,
        positions=positions,
        starts=starts,
        stops=stops,
        lines=lines,
        columns=columns,
        last_lines=last_lines,
    )
