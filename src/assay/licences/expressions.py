"""The licence of a file, as far as it is stated in a form that needs no judgement.

In order: the statement of the data set or host about the repository; the file's own `SPDX-License-Identifier`, else its
notice; the nearest folder up the tree that states one, in a package's metadata, in a licence file or in its README.
Anything else is "unknown".
"""

import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Protocol, TypeVar

from identify.identify import license_id
from packaging.licenses import InvalidLicenseExpression, canonicalize_license_expression

from assay.licences.names import IS_GNU, UNKNOWN_LICENCE, all_known, all_of
from assay.licences.notices import licence_by_clauses, licence_notice, licence_of_words

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
_GNU = re.compile(r"\b([AL]?GPL|GFDL)-(\d\.\d)(\+?)(?![\w.+-])")
_OPERATORS = {"AND", "OR", "WITH"}

_Default = TypeVar("_Default")


class Metadata(Protocol):
    """The fields of a distribution's METADATA or PKG-INFO file."""

    def get_all(self, name: str, failobj: _Default) -> list[str] | _Default:
        """Return every value of a field."""
        ...


CLASSIFIERS: Mapping[str, str] = {
    "Apache Software License": "Apache-2.0",
    "BSD License": "BSD-3-Clause",
    "Boost Software License 1.0 (BSL-1.0)": "BSL-1.0",
    "CC0 1.0 Universal (CC0 1.0) Public Domain Dedication": "CC0-1.0",
    "Eclipse Public License 1.0 (EPL-1.0)": "EPL-1.0",
    "Eclipse Public License 2.0 (EPL-2.0)": "EPL-2.0",
    "European Union Public Licence 1.1 (EUPL 1.1)": "EUPL-1.1",
    "European Union Public Licence 1.2 (EUPL 1.2)": "EUPL-1.2",
    "GNU Affero General Public License v3": "AGPL-3.0-only",
    "GNU Affero General Public License v3 or later (AGPLv3+)": "AGPL-3.0-or-later",
    "GNU General Public License v2 (GPLv2)": "GPL-2.0-only",
    "GNU General Public License v2 or later (GPLv2+)": "GPL-2.0-or-later",
    "GNU General Public License v3 (GPLv3)": "GPL-3.0-only",
    "GNU General Public License v3 or later (GPLv3+)": "GPL-3.0-or-later",
    "GNU Lesser General Public License v2 (LGPLv2)": "LGPL-2.0-only",
    "GNU Lesser General Public License v2 or later (LGPLv2+)": "LGPL-2.0-or-later",
    "GNU Lesser General Public License v3 (LGPLv3)": "LGPL-3.0-only",
    "GNU Lesser General Public License v3 or later (LGPLv3+)": "LGPL-3.0-or-later",
    "Historical Permission Notice and Disclaimer (HPND)": "HPND",
    "ISC License (ISCL)": "ISC",
    "MIT License": "MIT",
    "MIT No Attribution License (MIT-0)": "MIT-0",
    "Mozilla Public License 1.1 (MPL 1.1)": "MPL-1.1",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "PostgreSQL License": "PostgreSQL",
    "Python License (CNRI Python License)": "CNRI-Python",
    "Python Software Foundation License": "PSF-2.0",
    "The Unlicense (Unlicense)": "Unlicense",
    "Universal Permissive License (UPL)": "UPL-1.0",
    "University of Illinois/NCSA Open Source License": "NCSA",
    "Zero-Clause BSD (0BSD)": "0BSD",
    "zlib/libpng License": "Zlib",
}
"""Trove classifiers that name one licence, by their last part → SPDX identifier."""

# Short spellings that packages write into free-text fields, lower case; SPDX identifiers need no entry.
_SPELLINGS = {
    "2-clause bsd": "BSD-2-Clause",
    "3-clause bsd": "BSD-3-Clause",
    "apache": "Apache-2.0",
    "apache 2.0": "Apache-2.0",
    "apache 2.0 license": "Apache-2.0",
    "apache license 2.0": "Apache-2.0",
    "apache license, version 2.0": "Apache-2.0",
    "bsd": "BSD-3-Clause",
    "bsd 2-clause license": "BSD-2-Clause",
    "bsd 3-clause license": "BSD-3-Clause",
    "bsd license": "BSD-3-Clause",
    "gplv2": "GPL-2.0-only",
    "gplv2+": "GPL-2.0-or-later",
    "gplv3": "GPL-3.0-only",
    "gplv3+": "GPL-3.0-or-later",
    "lgplv3": "LGPL-3.0-only",
    "lgplv3+": "LGPL-3.0-or-later",
    "mit license": "MIT",
    "mpl 2.0": "MPL-2.0",
}


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
    return _GNU.sub(lambda match: f"{match[1]}-{match[2]}-{'or-later' if match[3] else 'only'}", canonical)


def spelt_licence(words: str) -> str | None:
    """Return the SPDX expression that a short free-text field means, or None."""
    return _SPELLINGS.get(words.strip().casefold()) or canonical_licence(words)


def licence_tag(text: str) -> str | None:
    """Return the licence in the `SPDX-License-Identifier` lines near the top of a file; None without such a line.

    Several tags are joined by AND. A tag that is not an SPDX expression gives "unknown", not the licence of its folder;
    the GNU licences of the others apply all the same.
    """
    if "spdx-license" not in (head := text[:HEAD]).casefold():
        return None
    return all_known(licence for tag in _TAG.findall(head) for licence in _in_tag(_TAG_ENDS.sub("", tag))) or None


def _in_tag(words: str) -> Iterator[str]:
    """Yield the licences of a tag: of its first expression, and of others behind a comma or a further comment."""
    first, *others = _SEVERAL.split(words)
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
    names = [str(name) for name in metadata.get_all("Classifier", []) if str(name).startswith("License ::")]
    if any(not name.endswith("OSI Approved") for name in names):
        return of_classifiers(names)
    return spelt_licence(metadata.get_all("License", [""])[0])


def of_classifiers(classifiers: Iterable[str]) -> str | None:
    """Return the licence of trove classifiers that begin with `License ::`; several leave a choice."""
    names = {classifier.split("::")[-1].strip() for classifier in classifiers} - {"OSI Approved"}
    licences = {CLASSIFIERS[name] for name in names if name in CLASSIFIERS}
    # a classifier that names no single licence makes the whole statement unknown
    return " OR ".join(sorted(licences)) or None if len(licences) == len(names) else None


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
    return frozenset(word for word in re.findall(r"[\w.+:-]+", expression) if word not in _OPERATORS)
