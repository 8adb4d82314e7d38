"""Licence files: the full text of a licence, known by its title, and what the words around and below it add."""

import re
import tempfile
from collections.abc import Collection, Iterable
from difflib import SequenceMatcher
from functools import cache, lru_cache, partial
from html import unescape
from itertools import filterfalse
from pathlib import Path

from identify.identify import license_id
from identify.vendor.licenses import LICENSES

from assay.licences.comments import words_of
from assay.licences.expressions import canonical_licence, licence_tag
from assay.licences.names import IS_GNU, UNKNOWN_LICENCE, all_known, all_of, is_named_again, named_licences, namings_in
from assay.licences.notices import PROPRIETARY, bsd_of, joined_by_words, limits_in, notice_of_words
from assay.licences.phrases import PATTERNS, TITLES, licence_variant

LARGEST_LICENCE_FILE = 200_000
"""Bytes; longer ones are collections of many licences, which no single identifier names."""

NOTICE = 3000
"""Characters of a licence file without the text of one that are read."""

_HEAD = 4096
# Characters at the top of a licence file that may announce a choice of licences.
_ANNOUNCED = 500

# Characters at the top of a file in which a title is that of the whole.
_TITLE_WITHIN = 300

_PAIR = 2
# Licences whose texts name others, that they turn to or were made from.
_ALONE = frozenset(
    [
        "BUSL-1.1",
        "SSPL-1.0",
        "Elastic-2.0",
        "FSL-1.1-MIT",
        "FSL-1.1-ALv2",
        "CECILL-2.0",
        "CECILL-2.1",
        "Artistic-1.0-Perl OR GPL-1.0-or-later",
    ]
)
_OF_BSD = frozenset({"BSD-2-Clause", "BSD-3-Clause"})
# Words in a row that a text and that of its licence have in common, and what stands between others.
_ALIKE = 4
_CUT = "."
# Licences with the clauses of BSD and a name of their own.
_SAME_CLAUSES = frozenset({"ZPL-2.1", "NCSA"})
_LESSER, _FULL, _MOZILLA = map(re.compile, ("LGPL-", "GPL-", "MPL"))
_NAMES_GNU = re.compile(f"MPL|{IS_GNU.pattern}")
_TAG = re.compile(r"(?:SPDX-FileCopyrightText:[^\n]*\s+)*SPDX-Licen[cs]e-Identifier:[ \t]*([^\r\n]+)", re.IGNORECASE)
# Python's own licence file, and those made after it: a history, the licence that holds, and those of the past
_PYTHON = re.compile(
    rb"\A\s*A\. HISTORY OF THE SOFTWARE\s.*^PYTHON SOFTWARE FOUNDATION LICENSE VERSION 2\s", re.DOTALL | re.MULTILINE
)


# Pages of HTML are read as their words: what their scripts are under is not the licence.
_MARKUP = re.compile(r"(?is)<(script|style|head)\b.*?</\1>|</?[a-z][a-z0-9]*\b[^<>@]*>")
# Open-core projects state a licence by folder so; the text that follows holds for the rest alone.
_BY_FOLDER = re.compile(
    r"\bportions?\s+of\s+(?:this|the)\s+\w+\s+(?:are|is)\s+licen[cs]ed\s+(?:as\s+follows|under\s+different)",
    re.IGNORECASE,
)


def licence_of_text(raw: bytes) -> str | None:
    """Return the licence whose full text this is (at most 5 % edited), else those whose grants it contains, or None.

    A file that begins with an `SPDX-License-Identifier` line is under that.
    """
    if not raw or len(raw) > LARGEST_LICENCE_FILE:
        return None
    if _TAG.match(head := raw[:_HEAD].decode("utf-8", "replace").lstrip("\ufeff \r\n#/*<!-")):
        return licence_tag(head)
    return UNKNOWN_LICENCE if _BY_FOLDER.search(head) else _identified(raw)


# the same few texts lie in most packages, and each is compared with all that are known
@lru_cache(maxsize=1024)
def _identified(raw: bytes) -> str | None:
    with tempfile.TemporaryDirectory(prefix="assay-") as folder:
        path = Path(folder, "LICENSE")  # the library reads from a file, as UTF-8
        text = unescape(_MARKUP.sub(" ", raw.decode("utf-8", "replace")))
        path.write_text(text, "utf-8")
        identifier = license_id(str(path))
    if identifier:
        return canonical_licence(_by_clauses(identifier, text)) or UNKNOWN_LICENCE
    return "PSF-2.0" if _PYTHON.search(raw) else _of_words(text)


def _by_clauses(licence: str, text: str) -> str:
    """Return the licence of a text that differs little from that of `licence`, but may have another clause."""
    words = words_of(text.splitlines())
    if not PATTERNS["binding"].match(licence) and _limits(words) > _limits_of(licence):
        return UNKNOWN_LICENCE
    added = _added_to(licence, words)
    licence = bsd_of(words) if licence in _OF_BSD else licence_variant(licence, words)
    return _with_added(canonical_licence(licence) or licence, added) if added else licence


def _added_to(licence: str, words: str) -> str:
    """Return the words that the text of a licence does not have itself, in the order of the file."""
    own, several = _words_of_text(licence).split(), words.split()
    blocks = SequenceMatcher(a=own, b=several).get_matching_blocks()
    added, at = [], 0
    for block in blocks:
        # a few words that are alike by chance do not divide a sentence; the last block is the empty end
        if block.size >= _ALIKE or block.b + block.size in {block.size, len(several)}:
            added += [*several[at : block.b], _CUT] if at < block.b else []
            at = block.b + block.size
    return " ".join(added)


def _with_added(licence: str, added: str) -> str:
    """Return a licence with those that the words beside its text name; "unknown" where they are not understood."""
    if _limits(added):
        return UNKNOWN_LICENCE
    stated = notice_of_words(added)
    if stated and (licence in stated.split(" OR ") or licence.replace("-only", "-or-later") == stated):
        return stated
    others = stated and notice_of_words(_without_own(licence, added))
    return all_known(filter(None, [licence, others]))


def _without_own(licence: str, words: str) -> str:
    """Return words without the names of a licence: the one of its kind whose version is not given is the same."""
    for naming in reversed(list(namings_in(words))):
        if naming.identifier == licence or (not naming.licence and licence.startswith(f"{naming.name.identifier}-")):
            words = f"{words[: naming.start]}{words[naming.end :]}"
    return words


def _limits(words: str) -> int:
    return limits_in(words) + len(PATTERNS["noncommercial"].findall(words))


@cache
def _limits_of(licence: str) -> int:
    """Return how often the text of a licence itself has words that would take back the grant of another one."""
    return _limits(_words_of_text(licence))


@cache
def _words_of_text(licence: str) -> str:
    return words_of(dict(LICENSES).get(licence, "").splitlines())


def _of_words(text: str) -> str | None:
    """Return the licences whose titles or grants a licence file contains, also with other text around them."""
    words = words_of(text.splitlines())
    titled = _titles_in(words)
    for licence in filter(_ALONE.__contains__, titled):
        # what a title at the head is followed by is its own text, and names the licences that it is compatible with
        if titled[licence] < _TITLE_WITHIN:
            return licence
    others = named_licences(words)
    is_unclear = others.is_unclear or UNKNOWN_LICENCE in others.stated
    binding = list(filter(PATTERNS["binding"].match, others.stated))
    named = _texts_in(words, titled, others.texts)
    if not named:
        return _without_title(words, binding, is_unclear=is_unclear)
    # the words before a text may allow later versions; the text itself says how anybody may
    before = named_licences(words[: min(titled.values(), default=0)]).stated
    named = list(map(partial(_later_of, stated=before), named))
    if any(map(_LESSER.match, named)):  # which comes with the text of the full licence
        named = list(filterfalse(_FULL.match, named))
    if not any(map(_NAMES_GNU.match, named)):
        # the texts themselves name no GNU licence, so what names one is about other parts of the project
        named += binding + [UNKNOWN_LICENCE] * is_unclear
    named = list(dict.fromkeys(named))
    is_open = not any(map(PATTERNS["binding"].match, named))
    if is_open and _limits(words) > sum(map(_limits_of, named)):
        return UNKNOWN_LICENCE
    # the licences themselves say "either" and "at your option"; a choice is announced before them
    if len(named) != _PAIR or not PATTERNS["alternatively"].search(words):
        words = words[:_ANNOUNCED]
    return joined_by_words(named, words)


def _titles_in(words: str) -> dict[str, int]:
    """Return the licences whose titles occur, and where."""
    titled = {}
    for pattern, licence in TITLES:
        if match := pattern.search(words):
            titled[licence] = match.start()
    return titled


def _texts_in(words: str, titled: Iterable[str], texts: frozenset[str]) -> list[str]:
    """Return the licences whose texts or titles occur, as their words vary them."""
    named = list(titled)
    if not any(map(_MOZILLA.match, named)):
        named += sorted(texts - {"BSD"})
    named = list(dict.fromkeys(map(partial(licence_variant, words=words), named)))
    if "BSD" in texts and not _SAME_CLAUSES.intersection(named):
        named.append(bsd_of(words))
    return named


def _later_of(licence: str, stated: Collection[str]) -> str:
    later = licence.replace("-only", "-or-later")
    return later if later in stated else licence


def _without_title(words: str, binding: list[str], *, is_unclear: bool) -> str | None:
    """Return the licence of the notice in a licence file that has the title of none, and those in it that bind."""
    own = notice_of_words(words[:NOTICE])
    if own is None and PATTERNS["proprietary"].search(words[:NOTICE]):
        return PROPRIETARY
    if own == UNKNOWN_LICENCE:
        return own
    if own is not None:
        return all_of([own, *filterfalse(partial(is_named_again, stated=own), binding)])
    if is_unclear and not binding:
        return UNKNOWN_LICENCE
    return all_of(binding) or None
