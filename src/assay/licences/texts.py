"""Licence files: the full text of a licence, known by its title, and what the words around and below it add."""

import re
import tempfile
from collections.abc import Collection
from functools import lru_cache
from pathlib import Path

from identify.identify import license_id

from assay.licences.comments import words_of
from assay.licences.expressions import canonical_licence, licence_tag
from assay.licences.names import IS_GNU, UNKNOWN_LICENCE, all_of, is_named_again, named_licences
from assay.licences.notices import COMMONS_CLAUSE, PROPRIETARY, bsd_of, joined_by_words, notice_of_words
from assay.licences.phrases import PATTERNS, TITLES, licence_variant

LARGEST_LICENCE_FILE = 200_000
"""Bytes; longer ones are collections of many licences, which no single identifier names."""

NOTICE = 3000
"""Characters of a licence file without the text of one that are read."""

_HEAD = 4096
_ANNOUNCED = 500
"""Characters at the top of a licence file that may announce a choice of licences."""

_TITLE_WITHIN = 300
"""Characters at the top of a file in which a title is that of the whole."""

_PAIR = 2
_ALONE = frozenset({"BUSL-1.1", "SSPL-1.0", "Elastic-2.0", "FSL-1.1-MIT", "FSL-1.1-ALv2", "CECILL-2.0", "CECILL-2.1"})
"""Licences whose texts name others, that they turn to or were made from."""
_TAG = re.compile(r"SPDX-Licen[cs]e-Identifier:[ \t]*([^\r\n]+)", re.IGNORECASE)
# Python's own licence file, and those made after it: a history, the licence that holds, and those of the past
_PYTHON = re.compile(
    rb"\A\s*A\. HISTORY OF THE SOFTWARE\s.*^PYTHON SOFTWARE FOUNDATION LICENSE VERSION 2\s", re.DOTALL | re.MULTILINE
)


_BY_FOLDER = re.compile(
    r"\bportions?\s+of\s+(?:this|the)\s+\w+\s+(?:are|is)\s+licen[cs]ed\s+(?:as\s+follows|under\s+different)",
    re.IGNORECASE,
)
"""Open-core projects state a licence by folder so; the text that follows holds for the rest alone."""


def licence_of_text(raw: bytes) -> str | None:
    """Return the licence whose full text this is (at most 5 % edited), else those whose grants it contains, or None.

    A file that begins with an `SPDX-License-Identifier` line is under that.
    """
    if not raw or len(raw) > LARGEST_LICENCE_FILE:
        return None
    if _TAG.match(head := raw[:_HEAD].decode("utf-8", "replace").lstrip("\ufeff \r\n#/*<!-")):
        return licence_tag(head)
    return UNKNOWN_LICENCE if _BY_FOLDER.search(head) else _identified(raw)


@lru_cache(maxsize=1024)
def _identified(raw: bytes) -> str | None:
    with tempfile.TemporaryDirectory(prefix="assay-") as folder:
        path = Path(folder, "LICENSE")  # the library reads from a file, as UTF-8
        text = raw.decode("utf-8", "replace")
        path.write_text(text, "utf-8")
        identifier = license_id(str(path))
    if identifier:
        return canonical_licence(_by_clauses(identifier, text)) or UNKNOWN_LICENCE
    return "PSF-2.0" if _PYTHON.search(raw) else _of_words(text)


def _by_clauses(licence: str, text: str) -> str:
    """Return the licence of a text that differs little from that of `licence`, but may have another clause."""
    words = words_of(text.splitlines())
    if licence in {"BSD-2-Clause", "BSD-3-Clause"}:
        return bsd_of(words)
    licence = licence_variant(licence, words) or licence
    return f"{licence} AND {COMMONS_CLAUSE}" if "commons clause" in words and licence != UNKNOWN_LICENCE else licence


def _of_words(text: str) -> str | None:
    """Return the licences whose titles or grants a licence file contains, also with other text around them."""
    words = words_of(text.splitlines())
    titled = {licence: match.start() for pattern, licence in TITLES if (match := pattern.search(words))}
    alone = [licence for licence, start in titled.items() if licence in _ALONE and start < _TITLE_WITHIN]
    if alone:
        return alone[0]
    named = dict.fromkeys(licence_variant(licence, words) or licence for licence in titled)
    others = named_licences(words)
    for licence in others.texts - {"BSD"}:
        if not any(name.startswith("MPL") for name in named):
            named[licence_variant(licence, words) or licence] = None
    if "BSD" in others.texts and "ZPL-2.1" not in named and "NCSA" not in named:  # which have the same clauses
        named[bsd_of(words)] = None
    gnu = list(filter(IS_GNU.match, others.stated))
    if not named:
        return _without_title(words, gnu, is_unclear=others.is_unclear)
    # the words before a text may allow later versions; the text itself says how anybody may
    before = named_licences(words[: min(titled.values(), default=0)]).stated
    named = dict.fromkeys(_later_of(licence, before) for licence in named)
    if any(licence.startswith("LGPL-") for licence in named):  # which comes with the text of the full licence
        named = dict.fromkeys(licence for licence in named if not licence.startswith("GPL-"))
    if not any(licence.startswith("MPL") or IS_GNU.match(licence) for licence in named):
        # the texts themselves name no GNU licence, so what names one is about other parts of the project
        named |= dict.fromkeys([*gnu, UNKNOWN_LICENCE] if others.is_unclear else gnu)
    if len(named) == _PAIR and PATTERNS["alternatively"].search(words):
        return joined_by_words(list(named), words)
    # the licences themselves say "either" and "at your option"; a choice is announced before them
    return joined_by_words(list(named), words[:_ANNOUNCED])


def _later_of(licence: str, stated: Collection[str]) -> str:
    later = licence.replace("-only", "-or-later")
    return later if later in stated else licence


def _without_title(words: str, gnu: list[str], *, is_unclear: bool) -> str | None:
    """Return the licence of the notice in a licence file that has the title of none, and of the GNU licences in it."""
    own = notice_of_words(words[:NOTICE])
    if own is None and PATTERNS["proprietary"].search(words[:NOTICE]):
        return PROPRIETARY
    if own == UNKNOWN_LICENCE:
        return own
    if own is not None:
        return all_of([own, *(name for name in gnu if not is_named_again(name, own))])
    return all_of(gnu) or (UNKNOWN_LICENCE if is_unclear else None)
