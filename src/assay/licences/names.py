"""Licences that are named in words, with their versions: "the GNU Lesser General Public License, version 2.1 or later".

Words are lower case, without marks of comments, separated by single spaces. A name is a statement where it has a
version or stands behind words such as "under the terms of"; else it is a mention, which says that a licence plays a
part, and not which one. So mentions make the answer "unknown", and never that of the folder.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from operator import attrgetter

from assay.licences.phrases import EXCEPTIONS, VERSIONED

UNKNOWN_LICENCE = "unknown"
"""Of a file for which nothing states a licence."""

IS_GNU = re.compile(r"(?:[AL]?GPL|GFDL)-")

_LONGEST_GAP = 160
"""Characters between the name of a licence and its version."""

_BEFORE_NAME = 60
"""Characters before a name in which words state the licence, or say that it does not apply."""

_LATER_WITHIN = 120
"""Characters behind a version in which "or any later version" may stand."""


@dataclass(frozen=True, slots=True)
class _Family:
    """Versions of one licence.

    Attributes:
        identifier: SPDX identifier without the version.
        versions: that exist, the lowest first.
        any_version: identifier of a statement without version; None: it is unknown.
        has_later: True if SPDX has `-only` and `-or-later` of it.
    """

    identifier: str
    versions: tuple[str, ...]
    any_version: str | None = None
    has_later: bool = False


def _gnu(identifier: str, *versions: str) -> _Family:
    return _Family(identifier, versions, f"{identifier}-{versions[0]}-or-later", has_later=True)


_GPL = _gnu("GPL", "1.0", "2.0", "3.0")
_LGPL = _gnu("LGPL", "2.0", "2.1", "3.0")
_AGPL = _gnu("AGPL", "1.0", "3.0")
_GFDL = _gnu("GFDL", "1.1", "1.2", "1.3")
_OTHERS = tuple(
    _Family(entry["identifier"], tuple(entry["versions"]), any_version=entry.get("any")) for entry in VERSIONED
)

_KIND = r"(?:affero|lesser|library|less|free|documentation|the|or|and|\(|\)|/|,|linux| ){0,9}"
_GNU_LONG = r"\b(?:(?:lesser |library |affero )?gnu(?: ?v ?[123](?:\.\d)?)?[ ,']{0,3}(?:s )?"
_GNU_LONG += rf"{_KIND}(?:general )?public(?: software)? licen[cs]e"
_GNU_LONG += rf"|{_KIND}\bgeneral public licen[cs]e|gnu free documentation licen[cs]e)s?"
_GNU_SHORT = r"(?:\bgnu[ /-])?(?:\b(?:lesser|library|affero) )?(?<![a-z+])(?:[al]?gpl|g?fdl)(?!(?!v ?[1-3])[a-z])"
_GNU_AGAIN = r"(?:[ ,]*\(? ?(?:the )?(?:gnu )?(?:[al]?gpl|gfdl)(?![a-z\d+ -]*\d)(?![a-z+]) ?\)?)?"
_GNU = re.compile(f"(?:{_GNU_LONG}|{_GNU_SHORT}){_GNU_AGAIN}")
_OTHER = re.compile("|".join(f"(?P<f{number}>{entry['words']})" for number, entry in enumerate(VERSIONED)))
_ANY_PUBLIC = re.compile(r"(?<!general )(?<!gnu )\bpublic (?:source )?licen[cs]e")

_NUMBER = r"(?P<version>[1-3](?:\.[0-3])?)(?![\d.]*\d)"
_JOINED = re.compile(rf"[ -]?(?:licen[cs]es? ?,? ?)?[(\[]?(?: ?-?/?v(?:ersions?|er\.?|\.)? ?\.?)?[ -]?{_NUMBER}")
_VERSION = re.compile(rf"\bv(?:ersions?|er\.?|\.)? ?{_NUMBER}")
_BEFORE = re.compile(
    rf"\bv(?:ersion|\.)? ?{_NUMBER}(?P<later>\+|[ ,]*(?:\(?at your option\)? ?)?or (?:\(at your option\) )?"
    r"(?:any )?(?:later|newer|greater)(?: versions?)?)?,? of the (?:\S+ ){0,3}$"
)
_INSIDE = re.compile(rf"gnu ?v ?{_NUMBER}")
_PLUS = re.compile(r"\+|[ -]?(?:or|and)[ -](?:any[ -])?(?:later|newer|greater|higher|above)")
_LATER = re.compile(
    r"\b(?:any|or|and) (?:\(?at your option\)? )?(?:any )?(?:later|newer|greater|higher|above)\b|or later"
)
_FOREIGN = re.compile(
    r"mozilla|apache|eclipse|artistic|\bmit\b|\bbsd\b|\bmpl\b|cddl|common public|academic free|python|perl|ruby"
)
_GRANT = re.compile(
    r"(?:\bunder|\bterms|licen[cs]e[ds]?(?: ?[:=]| under| as| by| :: osi approved ::)?|covered by|governed by"
    r"|released|distributed|subject to|pursuant to|protected by|conditions of|either|falls? under|conform to|\bby"
    r"|dual|tri|/|is|mit|bsd)"
    r"(?: (?:the|a|an|of|under|terms|conditions|either|and|to|current|standard|normal|latest|version))*[ (:']*$"
)
_REFUSED = re.compile(r"(?:\bnot|\bnon-?|unlike|instead of|compatible with|rather than)(?: \S+){0,3} $|\bnon-?$")
_COMPATIBLE = re.compile(r"[ -]?(?:compatible|incompatible|compatibility|'d\b)")


@dataclass(frozen=True, slots=True)
class _Name:
    """Where a text names a licence."""

    start: int
    end: int
    family: _Family


@dataclass(frozen=True, slots=True)
class _Naming:
    """Meaning of a name; `licence` is None without a version that exists."""

    family: _Family
    licence: str | None
    is_stated: bool


@dataclass(frozen=True, slots=True)
class NamedLicences:
    """Licences that a text names.

    Attributes:
        stated: SPDX identifiers, in the order of the text; "unknown" for a stated licence without a clear version.
        mentioned: True if a licence is named otherwise: without version and without words that state it.
    """

    stated: tuple[str, ...]
    mentioned: bool


def all_of(licences: Iterable[str]) -> str:
    """Join licences that all apply into one expression."""
    distinct = list(dict.fromkeys(licences))
    if len(distinct) > 1:
        distinct = [f"({licence})" if " OR " in licence else licence for licence in distinct]
    return " AND ".join(distinct)


def all_known(licences: Iterable[str]) -> str:
    """Join licences that all apply; of several with an unknown one, the GNU licences still apply."""
    several = list(licences)
    if UNKNOWN_LICENCE not in several:
        return all_of(several)
    return all_of(licence for licence in several if IS_GNU.match(licence) and " OR " not in licence) or UNKNOWN_LICENCE


def is_named_again(licence: str, stated: str) -> bool:
    """Return True if a GNU licence is already stated: itself, without later versions, or any of its name.

    The last counts where the licence is that of a name without version.
    """
    names = [licence, licence.replace("-or-later", "-only")]
    names += [f"{family.identifier}-" for family in (_GPL, _LGPL, _AGPL, _GFDL) if family.any_version == licence]
    return re.search(rf"\b(?:{'|'.join(map(re.escape, names))})", stated) is not None


def named_licences(words: str, *, only_grants: bool = False) -> NamedLicences:
    """Return the licences of the GNU project, and others with versions, that words name.

    Args:
        words: see the head of this module.
        only_grants: a version alone states nothing, as in code that is about licences.
    """
    namings = list(_namings(words, only_grants=only_grants))
    # "the GPL" beside "GPL version 2" is the same licence, named again
    versioned = {naming.family.identifier for naming in namings if naming.licence}
    namings = [naming for naming in namings if naming.licence or naming.family.identifier not in versioned]
    stated = dict.fromkeys(
        naming.licence or naming.family.any_version or UNKNOWN_LICENCE for naming in namings if naming.is_stated
    )
    # "version 3 or later … a copy of version 3" allows later versions
    for licence in list(stated):
        later = licence.replace("-only", "-or-later")
        if later != licence and later in stated:
            del stated[licence]
    repeated = set(map(_identifier_without_version, stated))
    unstated = {naming.family.identifier for naming in namings if not (naming.is_stated or naming.licence)}
    is_public = _ANY_PUBLIC.search(words) is not None and not any(_names(words))
    if "CDDL-1.0" in stated and "gpl 1 1" in words:  # the notices of Oracle have the version in an address alone
        stated = dict.fromkeys("CDDL-1.1" if licence == "CDDL-1.0" else licence for licence in stated)
    licences = tuple(_with_exception(licence, words) for licence in stated)
    return NamedLicences(licences, mentioned=is_public or not unstated <= repeated)


def _namings(words: str, *, only_grants: bool) -> Iterator[_Naming]:
    """Yield what each name says, in the order of the text; those of licences that do not apply are left out."""
    names = sorted(_names(words), key=attrgetter("start"))
    ends = [*map(attrgetter("start"), names[1:]), len(words)]
    for name, end in zip(names, ends, strict=False):  # without a name there is one end more
        before = words[max(0, name.start - _BEFORE_NAME) : name.start]
        if _REFUSED.search(before) or _COMPATIBLE.match(words, name.end):
            continue
        version, later = _version(words, name, end)
        is_stated = (version is not None and not only_grants) or _GRANT.search(before) is not None
        yield _Naming(name.family, _identifier(name.family, version, later=later), is_stated)


def _names(words: str) -> Iterator[_Name]:
    if "gpl" in words or "public" in words or "fdl" in words or "gnu free doc" in words:
        for match in _GNU.finditer(words):
            yield _Name(match.start(), match.end(), _gnu_family(match[0]))
    for match in _OTHER.finditer(words):
        yield _Name(match.start(), match.end(), _OTHERS[int((match.lastgroup or "f0")[1:])])


def _gnu_family(name: str) -> _Family:
    if "fdl" in name or "documentation" in name:
        return _GFDL
    if "affero" in name or "agpl" in name:
        return _AGPL
    return _LGPL if re.search(r"less|library|lgpl", name) else _GPL


def _version(words: str, name: _Name, until: int) -> tuple[str | None, bool]:
    """Return the version of a licence, and True if later ones are allowed."""
    after = words[name.end : until]
    near = _JOINED.match(after) or _VERSION.search(after[:_LONGEST_GAP])
    # the words of another licence end those of this one; a version that is joined to the name has none before it
    if near is not None and not _FOREIGN.search(after[: near.start()]):
        behind, *_ = _FOREIGN.split(after[near.end() : near.end() + _LATER_WITHIN], maxsplit=1)
        return near["version"], bool(_PLUS.match(behind) or _LATER.search(behind))
    before = _BEFORE.search(words[max(0, name.start - 80) : name.start])
    if before is not None:
        return before["version"], before["later"] is not None
    inside = _INSIDE.search(words[name.start : name.end])
    return inside and inside["version"], False


def _identifier(family: _Family, version: str | None, *, later: bool) -> str | None:
    if version is not None and "." not in version:
        version = f"{version}.0"
    if version == "1.0" and family is _LGPL:
        version = "2.0"
    if version not in family.versions:
        return None
    if not family.has_later:
        return f"{family.identifier}-{version}"
    return f"{family.identifier}-{version}-{'or-later' if later else 'only'}"


def _identifier_without_version(licence: str) -> str:
    return re.sub(r"-\d.*$", "", licence)


def _with_exception(licence: str, words: str) -> str:
    if licence.startswith("GPL-") and "exception" in words:
        for phrase, exception in EXCEPTIONS.items():
            if phrase in words:
                return f"{licence} WITH {exception}"
    return licence
