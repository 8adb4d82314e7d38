"""Licences that are named in words, with their versions: "the GNU Lesser General Public License, version 2.1 or later".

Words are lower case, without marks of comments, separated by single spaces. A name is a statement where it is strong,
has a version, stands behind words such as "under the terms of", or in a list with one that is a statement. It is a
mention where the words around say so ("thanks to", "compatible with", "used to be"): then it says nothing. Any other
name is unclear: a licence plays a part, and not which one, so the answer is "unknown", never that of the folder.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, filterfalse
from operator import attrgetter, ne

from assay.licences.phrases import EXCEPTIONS, GNU, GNU_KINDS, NAMES, PATTERNS, VERSIONS, LicenceName

UNKNOWN_LICENCE = "unknown"
"""Of a file for which nothing states a licence."""

LICENCE_READER = "assay 2"
"""Name and version of the rules: an index records which ones read its licences."""

IS_GNU = re.compile(r"(?:[AL]?GPL|GFDL)-")
_SURELY_GNU = re.compile(rf"(?!.* OR ){IS_GNU.pattern}")
_CHOICE = re.compile(r"(.* OR .*)")
_LATER = ("only", "or-later")
# A licence → others that are stated in its words, too.
_STRONGER = {
    "MPL-2.0": ("MPL-2.0-no-copyleft-exception",),
    "LicenseRef-scancode-public-domain": ("CC0-1.0", "Unlicense", "blessing"),
}

# Characters between the name of a licence and its version.
_LONGEST_GAP = 160

# Characters before a name in which words state the licence, or make it a mention.
_BEFORE_NAME = 160

# Characters behind a version in which "or any later version" may stand.
_LATER_WITHIN = 120

_SENTENCE = re.compile(r"(?<!\b[^\W\d])[.;!?] (?!\d)")


@dataclass(frozen=True, slots=True)
class Naming:
    """Where a text names a licence.

    Attributes:
        start: first character of the name.
        end: behind the last one.
        name: entry of the table.
        licence: SPDX identifier; None without a version that exists.
        is_stated: it is the licence of the file.
        is_past: it was, before another one took its place.
    """

    start: int
    end: int
    name: LicenceName
    licence: str | None = None
    is_stated: bool = False
    is_past: bool = False

    @property
    def identifier(self) -> str:
        """SPDX identifier; "unknown" where it needs a version, and none is given."""
        return self.licence or self.name.without_version or UNKNOWN_LICENCE


_NAME = attrgetter("name.identifier")


@dataclass(frozen=True, slots=True)
class NamedLicences:
    """Licences that a text names.

    Attributes:
        stated: SPDX identifiers, in the order of the text; "unknown" for a stated licence without a clear version.
        is_unclear: True if a copyleft licence is named, and neither stated nor a mention.
        texts: of these, those of which the grant itself stands there.
    """

    stated: tuple[str, ...]
    is_unclear: bool
    texts: frozenset[str] = frozenset()


def all_of(licences: Iterable[str]) -> str:
    """Join licences that all apply into one expression."""
    distinct = list(dict.fromkeys(licences))
    if len(distinct) > 1:
        return " AND ".join(map(partial(_CHOICE.sub, r"(\1)"), distinct))
    return "".join(distinct)


def all_known(licences: Iterable[str]) -> str:
    """Join licences that all apply; of several with an unknown one, the GNU licences still apply."""
    several = list(licences)
    if UNKNOWN_LICENCE not in several:
        return all_of(several)
    return all_of(filter(_SURELY_GNU.match, several)) or UNKNOWN_LICENCE


def is_named_again(licence: str, stated: str) -> bool:
    """Return True if a GNU licence is already stated: itself, without later versions, or any of its name.

    The last counts where the licence is that of a name without version.
    """
    names = [licence, licence.replace("-or-later", "-only"), licence.replace("-only", "-or-later")]
    names += [f"{name.identifier}-" for _, name in GNU_KINDS if name.without_version == licence]
    return re.search(rf"\b(?:{'|'.join(map(re.escape, names))})", stated) is not None


def named_licences(words: str, *, only_grants: bool = False, is_field: bool = False) -> NamedLicences:
    """Return the licences that words name.

    Args:
        words: see the head of this module.
        only_grants: a name or version alone states nothing, as in code that is about licences.
        is_field: each name is a statement, as in a field of a manifest.
    """
    if not PATTERNS["may_name"].search(words) and not is_field:
        return NamedLicences((), is_unclear=False)
    namings = _present(list(namings_in(words, only_grants=only_grants, is_field=is_field)))
    stated = _latest(map(attrgetter("identifier"), filter(attrgetter("is_stated"), namings)))
    if "CDDL-1.0" in stated and "gpl 1 1" in words:  # the notices of Oracle have the version in an address alone
        stated = ["CDDL-1.1", *filter(partial(ne, "CDDL-1.0"), stated)]
    repeated = set(map(_identifier_without_version, stated))
    unclear = set(map(_NAME, filter(_is_unclear, namings)))
    is_public = PATTERNS["any_public"].search(words) is not None and not _names(words)
    texts = frozenset(map(_NAME, filter(attrgetter("name.is_text"), namings)))
    licences = tuple(map(partial(_with_exception, words), stated))
    return NamedLicences(licences, is_unclear=is_public or not unclear <= repeated, texts=texts)


def _present(namings: list[Naming]) -> list[Naming]:
    """Return the namings that count today, each licence with its version where one of them has it."""
    present = list(filterfalse(attrgetter("is_past"), namings))
    if any(map(attrgetter("is_stated"), present)):
        namings = present
    else:
        namings = list(map(partial(replace, is_stated=False), namings))
    # what a licence turns to at a later date does not apply before it
    namings = list(filter(attrgetter("name.is_alone"), filter(attrgetter("is_stated"), namings))) or namings
    # "the GPL" beside "GPL version 2" is the same licence, named again
    versioned = set(map(_NAME, filter(attrgetter("licence"), namings)))
    return [naming for naming in namings if naming.licence or naming.name.identifier not in versioned]


def _latest(licences: Iterable[str]) -> list[str]:
    """Return distinct licences: "version 3 or later … a copy of version 3" allows later versions."""
    distinct = dict.fromkeys(licences)
    for licence in list(distinct):
        later = licence.replace("-only", "-or-later")
        if (later != licence and later in distinct) or not distinct.keys().isdisjoint(_STRONGER.get(licence, ())):
            del distinct[licence]
    return list(distinct)


def _is_unclear(naming: Naming) -> bool:
    """Return True for a name that is not stated, of a licence that may be copyleft."""
    return naming.name.versions is not None and (naming.is_past or not (naming.is_stated or naming.licence))


def namings_in(words: str, *, only_grants: bool = False, is_field: bool = False) -> Iterator[Naming]:
    """Yield what each name says, in the order of the text; mentions are left out."""
    names = _names(words)
    ends = [*map(attrgetter("start"), names[1:]), len(words)]
    before_is_stated, behind = False, 0
    for name, end in zip(names, ends, strict=False):  # without a name there is one end more
        before = words[max(0, name.start - _BEFORE_NAME) : name.start]
        if not is_field and not name.name.is_text and _is_mention(words, before, name):
            continue
        version, later = _version(words, name, end)
        is_listed = _is_list(words, behind, name.start)
        # a list of names is a statement by itself: "MIT & GPL"; the text of a licence names it at length
        is_short = "general" not in words[name.start : name.end] and (is_listed or _is_list(words, name.end, end))
        is_stated = (
            is_field
            or name.name.is_text
            or (not only_grants and (is_short or _is_strong(name.name, version)))
            or PATTERNS["grant"].search(before) is not None
            or (is_listed and before_is_stated)
        )
        # "licensed under the MIT or the GPL": the grant stands before the first name, and holds for the list
        before_is_stated, behind = is_stated, name.end
        named = replace(
            name,
            licence=_identifier(name.name, version, later=later),
            is_stated=is_stated,
            is_past=_is_past(words, before, name),
        )
        yield named
        yield from () if later else _other_version(words, named, end)


def without_names(words: str, mark: str) -> str:
    """Return words with a mark in the place of each name of a licence."""
    pieces, at = [], 0
    for naming in _names(words):
        pieces.append(words[at : naming.start])
        at = naming.end
    return mark.join([*pieces, words[at:]])


def _is_list(words: str, start: int, end: int) -> bool:
    return start > 0 and end < len(words) and PATTERNS["list"].fullmatch(words, start, end) is not None


def _is_strong(name: LicenceName, version: str | None) -> bool:
    return not name.is_weak and (name.versions is None or version is not None)


def _is_behind(pattern: str, before: str) -> bool:
    """Return True if the last sentence has words of a pattern, and no new statement behind them."""
    sentence = _SENTENCE.split(before)[-1]
    matches = list(PATTERNS[pattern].finditer(sentence))
    return bool(matches) and not PATTERNS["restart"].search(sentence, matches[-1].end())


def _is_past(words: str, before: str, name: Naming) -> bool:
    # "relicensed under MIT" holds the word that ends the history inside of the name
    with_name = f"{before}{words[name.start : name.end]}"
    return _is_behind("history", before) and _is_behind("history", with_name)


def _is_mention(words: str, before: str, name: Naming) -> bool:
    is_refused = PATTERNS["refused"].search(before) or PATTERNS["mention_after"].match(words, name.end)
    return bool(is_refused) or _is_behind("mention", before)


def _names(words: str) -> list[Naming]:
    """Return the names in words, in their order; of those that overlap grants, then GNU licences, then the first."""
    gnu = []
    if PATTERNS["may_be_gnu"].search(words):
        for match in GNU.finditer(words):
            kind = next(name for pattern, name in GNU_KINDS if pattern.search(match[0]))
            gnu.append(Naming(match.start(), match.end(), kind))
    others: list[Naming] = []
    for pattern, needed, name in NAMES:
        if not needed or any(map(words.__contains__, needed)):
            others += [Naming(match.start(), match.end(), name) for match in pattern.finditer(words)]
    others.sort(key=attrgetter("start"))  # the sort is stable: at one place the order of the table stays
    grants = list(filter(attrgetter("name.is_text"), others))
    names: list[Naming] = []
    for naming in chain(grants, gnu, others):
        if not any(other.start < naming.end and naming.start < other.end for other in names):
            names.append(naming)
    return sorted(names, key=attrgetter("start"))


def _version(words: str, name: Naming, until: int) -> tuple[str | None, bool]:
    """Return the version of a licence that has some, and True if later ones are allowed."""
    if name.name.versions is None:
        return None, False
    after = words[name.end : until]
    near = VERSIONS["joined"].match(after) or VERSIONS["near"].search(after[:_LONGEST_GAP])
    # the words of another licence end those of this one; a version that is joined to the name has none before it
    if near is not None and not VERSIONS["foreign_name"].search(after[: near.start()]):
        behind, *_ = VERSIONS["foreign_name"].split(after[near.end() : near.end() + _LATER_WITHIN], maxsplit=1)
        is_least = near.re is VERSIONS["joined"] and near["least"] is not None
        later = is_least or VERSIONS["plus"].match(behind) or VERSIONS["later"].search(behind)
        return near["version"], bool(later)
    before = VERSIONS["before"].search(words[max(0, name.start - 80) : name.start])
    if before is not None:
        return before["version"], before["later"] is not None
    # "gplv2" is a name that holds its version
    inside = VERSIONS["inside"].search(words[name.start : name.end])
    return inside and inside["version"], False


def _other_version(words: str, name: Naming, until: int) -> Iterator[Naming]:
    """Yield the second version of a GNU licence: of "GPL v2 or v3" or of "version 2 or version 3 of the GPL"."""
    before = words[max(0, name.start - 80) : name.start]
    both = VERSIONS["second"].match(words[name.end : until]) or VERSIONS["first"].search(before)
    if both and name.name.is_gnu:
        yield replace(name, licence=_identifier(name.name, both["version"], later=False))


def _identifier(name: LicenceName, version: str | None, *, later: bool) -> str | None:
    if name.versions is None:
        return name.identifier
    if version is not None:
        # "3" and "3.0.0" are 3.0
        version = re.sub(r"^(\d)$", r"\1.0", re.sub(r"(\.\d+)\.0$", r"\1", version))
    if version == "1.0" and name.identifier == "LGPL":  # there was none before 2.0
        version = "2.0"
    if version not in name.versions:
        return None
    if not name.is_gnu:
        return f"{name.identifier}-{version}"
    return f"{name.identifier}-{version}-{_LATER[later]}"


def _identifier_without_version(licence: str) -> str:
    return re.sub(r"-\d.*$", "", licence)


def _with_exception(words: str, licence: str) -> str:
    if licence.startswith(("GPL-", "LGPL-")):
        for phrase, exception in EXCEPTIONS.items():
            if phrase in words and licence.startswith("L") == ("LGPL" in exception):
                return f"{licence} WITH {exception}"
    return licence
