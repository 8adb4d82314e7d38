"""The licence of a file, as far as it is stated in a form that needs no judgement.

In order: the statement of the data set or host about the repository; the file's own `SPDX-License-Identifier`, else its
notice; the nearest folder up the tree that states one, in a package's metadata, in a licence file or in its README.
Anything else is "unknown".
"""

import re
import tempfile
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import Protocol, TypeVar

from identify.identify import license_id
from packaging.licenses import InvalidLicenseExpression, canonicalize_license_expression

from assay.licences.names import IS_GNU, UNKNOWN_LICENCE, all_known, all_of
from assay.licences.notices import licence_by_clauses, licence_notice, licence_of_words
from assay.licences.phrases import CLASSIFIERS, SPELLINGS

HEAD = 4096
"""Characters at the top of a file in which its licence tag is searched for."""

LARGEST_LICENCE_FILE = 200_000
"""Bytes; longer ones are collections of many licences, which no single identifier names."""

LONGEST_EXPRESSION = 10_000
"""Characters; those of whole distributions of Linux have some thousand."""

_TAG = re.compile(r"SPDX-License-Identifier:[ \t]*([^\r\n]+)", re.IGNORECASE)
_TAG_ENDS = re.compile(r"\s*(?:\*/|-->|--\]\]|[*}\"'`]|\*\)|\\n).*$")
_SEVERAL = re.compile(r"\s*[,;#]\s*")
# Python's own licence file, and those made after it: a history, the licence that holds, and those of the past
_PYTHON = re.compile(
    rb"\A\s*A\. HISTORY OF THE SOFTWARE\s.*^PYTHON SOFTWARE FOUNDATION LICENSE VERSION 2\s", re.DOTALL | re.MULTILINE
)
_GNU_ONLY = re.compile(r"\b((?:[AL]?GPL|GFDL)-\d\.\d)(?![\w.+-])")
_GNU_LATER = re.compile(r"\b((?:[AL]?GPL|GFDL)-\d\.\d)\+(?![\w.+-])")
_OPERATORS = {"AND", "OR", "WITH"}

_Default = TypeVar("_Default")


class Metadata(Protocol):
    """The fields of a distribution's METADATA or PKG-INFO file."""

    def get_all(self, name: str, failobj: _Default) -> list[str] | _Default:
        """Return every value of a field."""
        ...


def canonical_licence(expression: str) -> str | None:
    """Return an SPDX expression in its canonical spelling; None if the text is not an expression.

    The GNU licences' deprecated identifiers become today's: `GPL-3.0` is `GPL-3.0-only`, `GPL-3.0+` `GPL-3.0-or-later`.
    """
    if len(expression) > LONGEST_EXPRESSION:
        return None
    try:
        canonical = str(canonicalize_license_expression(expression.strip()))
    except InvalidLicenseExpression:
        return None
    return _GNU_LATER.sub(r"\1-or-later", _GNU_ONLY.sub(r"\1-only", canonical))


def spelt_licence(words: str) -> str | None:
    """Return the SPDX expression that a short free-text field means, or None."""
    return SPELLINGS.get(words.strip().casefold()) or canonical_licence(words)


def licence_tag(text: str) -> str | None:
    """Return the licence in the `SPDX-License-Identifier` lines near the top of a file; None without such a line.

    Several tags are joined by AND. A tag that is not an SPDX expression gives "unknown", not the licence of its folder;
    the GNU licences of the others apply all the same.
    """
    if "spdx-license" not in (head := text[:HEAD]).casefold():
        return None
    return all_known(chain.from_iterable(map(_in_tag, _TAG.findall(head)))) or None


def _in_tag(tag: str) -> Iterator[str]:
    """Yield the licences of a tag: of its first expression, and of others behind a comma or a further comment."""
    first, *others = _SEVERAL.split(_TAG_ENDS.sub("", tag))
    yield canonical_licence(first) or UNKNOWN_LICENCE
    yield from filter(None, map(canonical_licence, others))


def own_licence(tag: str | None, notice: str | None) -> str | None:
    """Return the licence of a file by its tags, else its notice; a GNU licence in the notice counts beside others."""
    if tag and notice and IS_GNU.match(notice) and not IS_GNU.search(tag):
        return all_known([tag, notice])
    return tag or notice


def stated_licence(metadata: Metadata) -> str | None:
    """Return the licence that a distribution's metadata state, as an SPDX expression.

    It comes from the `License-Expression` field (PEP 639), else the trove classifiers, else a short `License` field.
    """
    if expression := metadata.get_all("License-Expression", [""])[0]:
        return canonical_licence(str(expression)) or str(expression)[:LONGEST_EXPRESSION]
    names = [name for name in map(str, metadata.get_all("Classifier", [])) if name.startswith("License ::")]
    if not all(name.endswith("OSI Approved") for name in names):
        return of_classifiers(names)
    return spelt_licence(metadata.get_all("License", [""])[0])


def of_classifiers(classifiers: Iterable[str]) -> str | None:
    """Return the licence of trove classifiers that begin with `License ::`; several leave a choice."""
    names = {classifier.split("::")[-1].strip() for classifier in classifiers} - {"OSI Approved"}
    # a classifier that names no single licence makes the whole statement unknown
    if not names or not names <= CLASSIFIERS.keys():
        return None
    return " OR ".join(sorted(map(CLASSIFIERS.__getitem__, names)))


def licence_of_text(raw: bytes) -> str | None:
    """Return the licence whose full text this is (at most 5 % edited), else those whose grants it contains, or None.

    A file that begins with an `SPDX-License-Identifier` line is under that.
    """
    if not raw or len(raw) > LARGEST_LICENCE_FILE:
        return None
    if _TAG.match(head := raw[:HEAD].decode("utf-8", "replace").lstrip("\ufeff \r\n#/*<!-")):
        return licence_tag(head)
    return _identified(raw)


@lru_cache(maxsize=1024)
def _identified(raw: bytes) -> str | None:
    with tempfile.TemporaryDirectory(prefix="assay-") as folder:
        path = Path(folder, "LICENSE")  # the library reads from a file, as UTF-8
        text = raw.decode("utf-8", "replace")
        path.write_text(text, "utf-8")
        identifier = license_id(str(path))
    if identifier:
        return canonical_licence(licence_by_clauses(identifier, text)) or UNKNOWN_LICENCE
    return "PSF-2.0" if _PYTHON.search(raw) else licence_of_words(text)


def licence_of_file(metadata: str | None, text: str, nearest: str | None, stated: str | None = None) -> str:
    """Return the licence of one file.

    Args:
        metadata: licence that the data set or host states for the repository.
        text: of the file. If its own tag or notice names another licence than the metadata, the result names both.
        nearest: licence that the nearest folder up the tree states.
        stated: licence of this file that another tool found; it comes first. The file's own tag or notice is named
            beside it if it names another one, and counts alone where the tool found none that it knows.

    Returns:
        An SPDX expression, or "unknown".
    """
    own = own_licence(licence_tag(text), licence_notice(text))
    if stated is not None:
        if own is None or own == UNKNOWN_LICENCE or identifiers(own) <= identifiers(stated):
            return stated
        return own if stated == UNKNOWN_LICENCE else all_of([stated, own])
    if metadata is None or metadata == UNKNOWN_LICENCE:
        # the nearer statement wins: a file may come from elsewhere than the folder around it
        return own or nearest or UNKNOWN_LICENCE
    if own is None:
        return metadata
    is_named = identifiers(own) <= identifiers(metadata)
    # a notice that nobody could read is not covered by what others state; of a choice, the file may have made its own
    if own == UNKNOWN_LICENCE or (is_named and " OR " in metadata):
        return own
    return metadata if is_named else all_of([metadata, own])


def identifiers(expression: str) -> frozenset[str]:
    """Return the licences and exceptions that an SPDX expression names."""
    return frozenset(re.findall(r"[\w.+:-]+", expression)) - _OPERATORS
