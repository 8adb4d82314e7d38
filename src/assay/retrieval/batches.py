"""Fingerprints of many small texts."""

from collections.abc import Iterator, Mapping, Sequence

from assay.retrieval.canonical import Form
from assay.retrieval.fingerprints import Fingerprints, fingerprint
from assay.retrieval.hashing import Hashes
from assay.retrieval.profiles import Profile


def fingerprint_hashes(
    texts: Sequence[str], languages: str | Sequence[str | None] | None, profile: Profile | str = "default"
) -> Iterator[Mapping[Form, Hashes]]:
    """The hashes that `fingerprint` gives of each text, in its order; a form that it is too short for is left out.

    Args:
        texts: source code.
        languages: one for all, or one for each.
        profile: or its name.
    """
    each = [languages] * len(texts) if languages is None or isinstance(languages, str) else languages
    for text, language in zip(texts, each, strict=True):
        found = fingerprint(text, language, profile)
        yield {form: one.hashes for form, one in found.items() if isinstance(one, Fingerprints)}
