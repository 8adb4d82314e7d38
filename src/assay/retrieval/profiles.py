"""Profiles: the channels in which texts are fingerprinted, and the settings of a search in an index of them."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, get_args

from assay.errors import AssayError
from assay.retrieval.canonical import Form
from assay.retrieval.hashing import GRAM_HASHES, HashName
from assay.retrieval.winnowing import LONGEST_WINDOW

RankBy = Literal["length", "containment", "jaccard"]


@dataclass(frozen=True, slots=True)
class Channel:
    """Canonical form and parameters of the winnowing.

    Attributes:
        form: "characters" or "tokens".
        k: units in a gram; shorter runs are never matched.
        w: grams in a window; a shared run of w + k - 1 units is always matched.
        hash: "mixed-64", or "sha1-16" for characters.

    Raises:
        AssayError: an unknown form or hash, or a k or w out of range.
    """

    form: Form
    k: int
    w: int
    hash: HashName = "mixed-64"

    def __post_init__(self) -> None:
        if self.form not in get_args(Form):
            raise AssayError(f"form {self.form!r}: expected one of {', '.join(get_args(Form))}")
        if self.hash not in GRAM_HASHES:
            raise AssayError(f"hash {self.hash!r}: expected one of {', '.join(GRAM_HASHES)}")
        if self.hash == "sha1-16" and self.form != "characters":
            raise AssayError(f"hash 'sha1-16' of {self.form}: it is defined for characters")
        if self.k < 1 or not 1 <= self.w <= LONGEST_WINDOW:
            raise AssayError(f"k = {self.k}, w = {self.w}: expected k >= 1 and w from 1 to {LONGEST_WINDOW}")

    @property
    def guarantee(self) -> int:
        """Length from which a shared run of units always gives a common fingerprint: w + k - 1."""
        return self.w + self.k - 1


@dataclass(frozen=True, slots=True)
class SearchSettings:
    """Settings of the search in an index of one profile.

    Attributes:
        budget: fingerprints of a query that are looked up at most, the rarest first; None: as many as may be read.
        common: share of the documents above which a fingerprint is not looked up; None: no such limit.
        ignores_boilerplate: fingerprints of boilerplate are ignored; see `assay.provenance.search.boilerplate`.
        nearest: documents that are taken by vector, the nearest.
        rank_by: order of the matches; see `assay.provenance.search.ranking`.
    """

    budget: int | None = None
    common: float | None = None
    ignores_boilerplate: bool = True
    nearest: int = 400
    rank_by: RankBy = "length"


@dataclass(frozen=True, slots=True)
class Profile:
    """The channels in which a text is fingerprinted, at most one of each form, and the settings of the search.

    Attributes:
        name: under which an index records it.
        channels: at least one.
        search: settings of the search. They change no fingerprint, so they are not stored with an index, and profiles
            that differ only in them are equal.

    Raises:
        AssayError: no channel, or two of one form.
    """

    name: str
    channels: tuple[Channel, ...]
    # repr and equality identify the fingerprints of an index, so they must not depend on the search
    search: SearchSettings = field(default=SearchSettings(), repr=False, compare=False)

    def __post_init__(self) -> None:
        forms = [channel.form for channel in self.channels]
        if not forms or len(set(forms)) < len(forms):
            raise AssayError(f"profile {self.name!r} has the channels {forms}: expected at least one, each form once")

    def content(self) -> dict[str, Any]:
        """Return what an index stores of the profile, as JSON has it."""
        return {"name": self.name, "channels": [asdict(channel) for channel in self.channels]}

    @classmethod
    def of(cls, content: Mapping[str, Any]) -> "Profile":
        """Read what `content` returned; a shipped profile of that name gives the settings of the search.

        Raises:
            KeyError: a field is missing.
            TypeError: a channel has other fields.
            AssayError: a value is out of range.
        """
        shipped = PROFILES.get(content["name"], DEFAULT)
        return cls(content["name"], tuple(Channel(**channel) for channel in content["channels"]), shipped.search)


DEFAULT = Profile("default", (Channel("characters", k=15, w=10), Channel("tokens", k=20, w=10)))
"""Exact and reformatted copies by characters, renamed ones by tokens."""

PAPER = Profile(
    "paper",
    (Channel("characters", k=15, w=10, hash="sha1-16"),),
    SearchSettings(budget=64, common=0.005, ignores_boilerplate=False, nearest=100, rank_by="jaccard"),
)
"""The method of HybridSourceTracker.

Fingerprints are SHA-1 cut to its last 16 bits. Those in more than 0.5 % of the documents are dropped, the 64 rarest are
looked up, and the 100 nearest documents by vector are ranked by the Jaccard index. The text of the paper that we have
does not state k and w; they are those of `DEFAULT`, so the fingerprints differ in the hash and the token channel alone.
"""

PROFILES = {profile.name: profile for profile in (DEFAULT, PAPER)}
"""By name."""


def profile_named(name: str) -> Profile:
    """Return the profile of that name.

    Raises:
        AssayError: there is none.
    """
    if name not in PROFILES:
        raise AssayError(f"profile {name!r}: expected one of {', '.join(PROFILES)}")
    return PROFILES[name]
