"""Licences that are named in words, with their versions: "the GNU Lesser General Public License, version 2.1 or later".

Words are lower case, without marks of comments, separated by single spaces. A name is a statement where it has a
version or stands behind words such as "under the terms of"; else it is a mention, which says that a licence plays a
part, and not which one. So mentions make the answer "unknown", and never that of the folder.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

UNKNOWN_LICENCE = "unknown"
"""Of a file for which nothing states a licence."""

IS_GNU = re.compile(r"(?:[AL]?GPL|GFDL)-")

_LONGEST_GAP = 160
"""Characters between the name of a licence and its version."""

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
_OTHERS: tuple[tuple[str, _Family], ...] = (
    (r"mozilla (?:foundation )?public licen[cs]e|\bmpl\b(?=[ /-]?v?\.?\d)", _Family("MPL", ("1.0", "1.1", "2.0"))),
    (r"netscape public licen[cs]e|\bnpl\b(?=[ /-]?v?\.?\d)", _Family("NPL", ("1.0", "1.1"))),
    (r"eclipse public licen[cs]e|\bepl\b(?=[ /-]?v?\.?\d)", _Family("EPL", ("1.0", "2.0"))),
    (r"common public licen[cs]e|\bcpl\b(?=[ /-]?v?\.?\d)", _Family("CPL", ("1.0",), "CPL-1.0")),
    (r"ibm public licen[cs]e", _Family("IPL", ("1.0",), "IPL-1.0")),
    (r"sun public licen[cs]e", _Family("SPL", ("1.0",), "SPL-1.0")),
    (r"common development and distribution licen[cs]e|\bcddl\b", _Family("CDDL", ("1.0", "1.1"), "CDDL-1.0")),
    (r"open software licen[cs]e|\bosl\b(?=[ -]?v?\.?\d)", _Family("OSL", ("1.0", "1.1", "2.0", "2.1", "3.0"))),
    (r"academic free licen[cs]e|\bafl\b(?=[ -]?v?\.?\d)", _Family("AFL", ("1.1", "1.2", "2.0", "2.1", "3.0"))),
    (r"european union public licen[cs]e|\beupl\b", _Family("EUPL", ("1.0", "1.1", "1.2"))),
    (r"apple public source licen[cs]e|\bapsl\b", _Family("APSL", ("1.0", "1.1", "1.2", "2.0"))),
    (r"server side public licen[cs]e", _Family("SSPL", ("1.0",), "SSPL-1.0")),
    (r"zope public licen[cs]e(?: \(zpl\))?", _Family("ZPL", ("1.1", "2.0", "2.1"))),
    (r"\bq public licen[cs]e", _Family("QPL", ("1.0",), "QPL-1.0")),
    (r"cecill(?:-[bc])?\b", _Family("CECILL", ())),
    (r"creative commons [a-z ,-]{0,60}share ?-?alike|\bcc[ -]by(?:[ -]nc)?[ -]sa\b", _Family("CC-BY-SA", ())),
    (r"common public attribution licen[cs]e|\bcpal\b", _Family("CPAL", ("1.0",), "CPAL-1.0")),
    (r"copyleft-next", _Family("copyleft-next", ("0.3.0",))),
    (r"\bartistic licen[cs]e", _Family("Artistic", ())),
    (r"sleepycat licen[cs]e", _Family("Sleepycat", ())),
    (r"aladdin free public licen[cs]e", _Family("Aladdin", ())),
)
"""Words → licence of which a version, or the words alone, may be copyleft; without versions the answer is unknown."""

_KIND = r"(?:affero|lesser|library|less|free|documentation|the|or|and|\(|\)|/|,|linux| ){0,9}"
_GNU_LONG = r"\b(?:(?:lesser |library |affero )?gnu(?: ?v ?[123](?:\.\d)?)?[ ,']{0,3}(?:s )?"
_GNU_LONG += rf"{_KIND}(?:general )?public(?: software)? licen[cs]e"
_GNU_LONG += rf"|{_KIND}\bgeneral public licen[cs]e|gnu free documentation licen[cs]e)s?"
_GNU_SHORT = r"(?:\bgnu[ /-])?(?:\b(?:lesser|library|affero) )?(?<![a-z+])(?:[al]?gpl|g?fdl)(?!(?!v ?[1-3])[a-z])"
_GNU_AGAIN = r"(?:[ ,]*\(? ?(?:the )?(?:gnu )?(?:[al]?gpl|gfdl)(?![a-z\d+ -]*\d)(?![a-z+]) ?\)?)?"
_GNU = re.compile(f"(?:{_GNU_LONG}|{_GNU_SHORT}){_GNU_AGAIN}")
_OTHER = re.compile("|".join(f"(?P<f{number}>{words})" for number, (words, _) in enumerate(_OTHERS)))
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
_EXCEPTIONS = (
    ("classpath", "Classpath-exception-2.0"),
    ("gcc runtime library exception", "GCC-exception-3.1"),
    ("bison parser skeleton", "Bison-exception-2.2"),
)


@dataclass(frozen=True, slots=True)
class _Name:
    start: int
    end: int
    family: _Family


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
    distinct = dict.fromkeys(licences)
    compound = len(distinct) > 1
    return " AND ".join(f"({licence})" if compound and " OR " in licence else licence for licence in distinct)


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
    family = next((family.identifier for family in (_GPL, _LGPL, _AGPL, _GFDL) if family.any_version == licence), None)
    names = (licence, licence.replace("-or-later", "-only"), *([f"{family}-"] if family else []))
    return any(re.search(rf"\b{re.escape(name)}", stated) for name in names)


def named_licences(words: str, *, only_grants: bool = False) -> NamedLicences:
    """Return the licences of the GNU project, and others with versions, that words name.

    Args:
        words: see the head of this module.
        only_grants: a version alone states nothing, as in code that is about licences.
    """
    names = sorted(_names(words), key=lambda name: name.start)
    named: list[tuple[_Family, str | None, bool]] = []  # None: without a version that exists
    for at, name in enumerate(names):
        until = names[at + 1].start if at + 1 < len(names) else len(words)
        if _REFUSED.search(words[max(0, name.start - 60) : name.start]) or _COMPATIBLE.match(words, name.end):
            continue
        version, later = _version(words, name, until)
        is_stated = (version is not None and not only_grants) or bool(
            _GRANT.search(words[max(0, name.start - 60) : name.start])
        )
        named.append((name.family, _identifier(name.family, version, later=later), is_stated))
    # "the GPL" beside "GPL version 2" is the same licence, named again
    versioned = {family.identifier for family, licence, _ in named if licence}
    stated = dict.fromkeys(
        licence or family.any_version or UNKNOWN_LICENCE
        for family, licence, is_stated in named
        if is_stated and (licence or family.identifier not in versioned)
    )
    # "version 3 or later … a copy of version 3" allows later versions
    for licence in [name for name in stated if name.endswith("-only") and f"{name[:-5]}-or-later" in stated]:
        del stated[licence]
    repeated = {_identifier_without_version(licence) for licence in stated}
    mentioned = any(
        not is_stated and family.identifier not in versioned and family.identifier not in repeated
        for family, _, is_stated in named
    )
    mentioned = mentioned or (not names and bool(_ANY_PUBLIC.search(words)))
    if "CDDL-1.0" in stated and "gpl 1 1" in words:  # the notices of Oracle have the version in an address alone
        stated = {"CDDL-1.1" if licence == "CDDL-1.0" else licence: None for licence in stated}
    return NamedLicences(tuple(_with_exception(licence, words) for licence in stated), mentioned)


def _names(words: str) -> Iterator[_Name]:
    if "gpl" in words or "public" in words or "fdl" in words or "gnu free doc" in words:
        for match in _GNU.finditer(words):
            yield _Name(match.start(), match.end(), _gnu_family(match[0]))
    for match in _OTHER.finditer(words):
        yield _Name(match.start(), match.end(), _OTHERS[int((match.lastgroup or "f0")[1:])][1])


def _gnu_family(name: str) -> _Family:
    if "fdl" in name or "documentation" in name:
        return _GFDL
    if "affero" in name or "agpl" in name:
        return _AGPL
    return _LGPL if re.search(r"less|library|lgpl", name) else _GPL


def _version(words: str, name: _Name, until: int) -> tuple[str | None, bool]:
    """Return the version of a licence, and True if later ones are allowed."""
    after = words[name.end : until]
    near = _JOINED.match(after)
    if near is None:
        near = _VERSION.search(after[:_LONGEST_GAP])
        if near is not None and _FOREIGN.search(after[: near.start()]):
            near = None
    if near is not None:
        behind = after[near.end() : near.end() + _LATER_WITHIN]
        foreign = _FOREIGN.search(behind)
        behind = behind[: foreign.start()] if foreign else behind
        return near["version"], bool(_PLUS.match(behind) or _LATER.search(behind))
    before = _BEFORE.search(words[max(0, name.start - 80) : name.start])
    if before is not None:
        return before["version"], before["later"] is not None
    inside = _INSIDE.search(words[name.start : name.end])
    return (inside["version"], False) if inside is not None else (None, False)


def _identifier(family: _Family, version: str | None, *, later: bool) -> str | None:
    full = version if version is None or "." in version else f"{version}.0"
    if full == "1.0" and family is _LGPL:
        full = "2.0"
    if full not in family.versions:
        return None
    if not family.has_later:
        return f"{family.identifier}-{full}"
    return f"{family.identifier}-{full}-{'or-later' if later else 'only'}"


def _identifier_without_version(licence: str) -> str:
    return re.sub(r"-\d.*$", "", licence)


def _with_exception(licence: str, words: str) -> str:
    if not licence.startswith("GPL-") or "exception" not in words:
        return licence
    exception = next((identifier for phrase, identifier in _EXCEPTIONS if phrase in words), None)
    return f"{licence} WITH {exception}" if exception else licence
