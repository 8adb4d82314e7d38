"""Licences in the short fields of manifests: an SPDX expression, or words such as "GPL v2 or later"."""

import re
from collections.abc import Iterable
from typing import Protocol, TypeVar

from assay.licences.comments import words_of
from assay.licences.expressions import LONGEST_EXPRESSION, canonical_licence
from assay.licences.names import UNKNOWN_LICENCE, all_known, all_of, named_licences, without_names
from assay.licences.notices import PROPRIETARY
from assay.licences.phrases import CLASSIFIERS, CLASSIFIERS_ALONE, PATTERNS, SPELLINGS
from assay.licences.texts import licence_of_text

LONGEST_FIELD = 300
"""Characters; longer ones hold the text of a licence."""

# An identifier in the address of the list that has it.
_ADDRESS = re.compile(r"^https?://(?:spdx\.org/licenses|licenses\.nuget\.org)/([\w.+-]+?)(?:\.html)?$")

_Default = TypeVar("_Default")


class Metadata(Protocol):
    """The fields of a distribution's METADATA or PKG-INFO file."""

    def get_all(self, name: str, failobj: _Default) -> list[str] | _Default:
        """Return every value of a field."""
        ...


def spelt_licence(words: str) -> str | None:
    """Return the SPDX expression that a short free-text field means; None where a word of it is not understood."""
    plain = _ADDRESS.sub(r"\1", " ".join(words.split()))
    if not plain or len(plain) > LONGEST_EXPRESSION:
        return None
    classified = CLASSIFIERS.get(plain.rpartition(":: ")[2])
    licence = SPELLINGS.get(plain.casefold().strip(".")) or canonical_licence(plain) or classified
    if licence or len(plain) > LONGEST_FIELD:
        return licence
    return _of_words(plain)


def _of_words(plain: str) -> str | None:
    """Return the licences of a field that names them, if it has no word besides that could change their meaning."""
    text = PATTERNS["classpath"].sub(" with classpath exception", words_of([PATTERNS["file"].sub(" ", plain)]))
    if PATTERNS["proprietary"].search(text):
        return PROPRIETARY
    parts = re.split(r"/|\||,", text)
    if len(parts) > 1 and all(map(canonical_licence, parts)):
        return canonical_licence(_joined(map(str.strip, parts), text))
    stated = sorted(named_licences(text, is_field=True).stated)
    # any other word may limit the grant: "MIT, but not for sale"
    if PATTERNS["filler"].sub("", without_names(text, " ")) or UNKNOWN_LICENCE in stated or not stated:
        return None
    return _joined(stated, text)


def _joined(licences: Iterable[str], text: str) -> str:
    return " OR ".join(licences) if PATTERNS["or"].search(text) else all_of(licences)


def file_named(words: str) -> str | None:
    """Return the path of the licence file that a field names: "SEE LICENSE IN terms.txt", "file LICENSE"."""
    match = PATTERNS["file"].search(" ".join(words.split()))
    return match and (match["file"] or match["see"])


def stated_licence(metadata: Metadata) -> str | None:
    """Return the licence that a distribution's metadata state, as an SPDX expression.

    It comes from the `License-Expression` field (PEP 639), else the trove classifiers, else a short `License` field.
    """
    if expression := metadata.get_all("License-Expression", [""])[0]:
        return canonical_licence(str(expression)) or str(expression)[:LONGEST_EXPRESSION]
    return of_fields(str(metadata.get_all("License", [""])[0]), map(str, metadata.get_all("Classifier", [])))


def of_fields(words: str, classifiers: Iterable[str]) -> str | None:
    """Return the licence of classifiers and of a short field, which may say more of the same licence."""
    names = {name.split("::")[-1].strip() for name in classifiers if name.startswith("License ::")} - {"OSI Approved"}
    field = licence_of_text(words.encode()) if len(words) > LONGEST_FIELD else spelt_licence(words)
    table = CLASSIFIERS if field else CLASSIFIERS_ALONE
    if names == {"Other/Proprietary License"}:
        return PROPRIETARY
    classified = " OR ".join(sorted(map(table.__getitem__, names & table.keys())))
    if field is None:
        # a classifier that names no single licence makes the whole statement unknown
        return (names <= table.keys() and classified) or None
    return _of_both(field, classified, words) if names else field


def _of_both(field: str, classified: str, words: str) -> str | None:
    """Return what a short field and classifiers state together.

    Args:
        field: licence of the field.
        classified: of the classifiers; "" where they name no single one.
        words: of the field.
    """
    if classified and not _family(classified) <= _family(field) and field not in classified.split(" OR "):
        return all_known([field, classified])
    if _family(classified) < _family(field) and " AND " in field:
        return field
    # "GPL-3" names no version word, and the classifier does
    if " OR " in classified or (classified == field.replace("-only", "-or-later") and "only" not in words):
        return classified
    return field


def _family(expression: str) -> frozenset[str]:
    return frozenset(re.findall(r"[\w.-]+", re.sub(r"(?:\.\d)?-(?:only|or-later|[23]-Clause)\b", "", expression)))
