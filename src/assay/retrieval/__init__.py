"""Finding where code comes from: fingerprints of source text."""

from assay.retrieval.batches import fingerprint_hashes
from assay.retrieval.fingerprints import Fingerprints, TooShort, fingerprint
from assay.retrieval.profiles import DEFAULT, PAPER, PROFILES, Channel, Profile, profile_named

__all__ = [
    "DEFAULT",
    "PAPER",
    "PROFILES",
    "Channel",
    "Fingerprints",
    "Profile",
    "TooShort",
    "fingerprint",
    "fingerprint_hashes",
    "profile_named",
]
