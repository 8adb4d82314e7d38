"""What is winnowed and how finely: profiles and their channels."""

from dataclasses import dataclass
from typing import get_args

from assay.errors import AssayError
from assay.retrieval.canonical import Form
from assay.retrieval.hashing import GRAM_HASHES, HashName
from assay.retrieval.winnowing import LONGEST_WINDOW


@dataclass(frozen=True, slots=True)
class Channel:
    """One canonical form and how it is winnowed.

    Attributes:
        form: "characters" or "tokens".
        k: units in a gram: what is shorter is never matched.
        w: grams in a window: a shared run of w + k - 1 units is always matched.
        hash: "mixed-64", or "sha1-16" for characters.

    Raises:
        AssayError: a form or a hash of no such name, or a k or w out of range.
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
class Profile:
    """The channels that a text is fingerprinted in, at most one of a form.

    Raises:
        AssayError: no channel, or two of one form.
    """

    name: str
    channels: tuple[Channel, ...]

    def __post_init__(self) -> None:
        forms = [channel.form for channel in self.channels]
        if not forms or len(set(forms)) < len(forms):
            raise AssayError(f"profile {self.name!r} has the channels {forms}: expected at least one, each form once")


DEFAULT = Profile("default", (Channel("characters", k=15, w=10), Channel("tokens", k=20, w=10)))
"""Exact and reformatted copies by characters, renamed ones by tokens."""

PAPER = Profile("paper", (Channel("characters", k=15, w=10, hash="sha1-16"),))
"""The winnowing baseline of HybridSourceTracker: SHA-1 cut to its last 16 bits. The text of the paper that we
have names no k and no w; with those of `DEFAULT` the two differ in the hash and the token channel alone."""

PROFILES = {profile.name: profile for profile in (DEFAULT, PAPER)}
"""By name."""


def profile_named(name: str) -> Profile:
    """The profile of that name.

    Raises:
        AssayError: there is none.
    """
    if name not in PROFILES:
        raise AssayError(f"profile {name!r}: expected one of {', '.join(PROFILES)}")
    return PROFILES[name]
