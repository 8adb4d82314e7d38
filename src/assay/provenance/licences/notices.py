"""Licences that are stated in words: the standard notices at the head of a file, and the section of a README.

A notice is the paragraph that a licence asks its users to put into every file ("This program is free software …"). Only
the comments and the documentation string before the first code are read, so code that is about licences states none.
"""

import re
from collections.abc import Iterator

UNKNOWN_LICENCE = "unknown"
"""Of a file for which nothing states a licence."""

HEAD = 12_000
"""Characters of a file in which its notice is searched for."""

SECTION = 600
"""Characters of the licence section of a README that are read, and of a licence file without the text of one."""

_LONGEST_GAP = 400
"""Characters between the name of a GNU licence and its version."""

_ANNOUNCED = 500
"""Characters at the top of a licence file that may announce a choice of licences."""

_MARKS = re.compile(
    r"^[ \t]*(?:/\*+!?|\*+/?|//+[/!]?|#+!?|--+|;+|%+|<!--|\.\.|\(\*|dnl\b|rem\b|@rem\b|'|!)?[ \t]*", re.IGNORECASE
)
_COMMENT_LINE = re.compile(r"^[ \t]*(?:#|//|/\*|\*|--|;|%|<!--|\(\*|dnl\b|rem\b|!|'(?!'')|$)", re.IGNORECASE)
_BLOCKS = {"/*": "*/", '"""': '"""', "'''": "'''", "<!--": "-->", "(*": "*)", "{-": "-}", "=begin": "=end"}
_PREAMBLE = re.compile(
    r"^[ \t]*(?:<\?|['\"]use strict['\"]|from __future__|package |@charset|[rbuRBU]{0,2}(?=\"\"\"|'''))"
)

_GNU = re.compile(
    r"\bgnu (?P<kind>affero |lesser |library |library \(or lesser\) |lesser \(or library\) )?general public licen[cs]e"
)
_GNU_SHORT = re.compile(
    r"\b(?P<kind>a|l)?gpl[ -]?(?:version |v\.? ?)?(?P<version>[1-3](?:\.[01])?)"
    r"(?P<later>\+| or (?:any )?(?:later|newer))?"
)
_VERSION = re.compile(r"\bv(?:ersion|ersions|\.)? ?(?P<version>[1-3](?:\.[01])?)\b")
_LATER = re.compile(r"\b(?:any|or) (?:later|newer|greater)|\bhigher version")
_EXCEPTIONS = (
    ("classpath", "Classpath-exception-2.0"),
    ("gcc runtime library exception", "GCC-exception-3.1"),
    ("bison parser skeleton", "Bison-exception-2.2"),
)
_LOWEST = {"": "1.0", "affero ": "1.0", "lesser ": "2.1", "library ": "2.0"}
_PREFIX = {"": "GPL", "affero ": "AGPL", "lesser ": "LGPL", "library ": "LGPL", "a": "AGPL", "l": "LGPL"}

Phrases = tuple[tuple[re.Pattern[str], str], ...]
"""Words, and the licence that they state."""


def _phrases(*pairs: tuple[str, str]) -> Phrases:
    return tuple((re.compile(pattern), licence) for pattern, licence in pairs)


_V2 = r",? ?(?:version |v\.? ?)?2(?:\.0)?\b"
_ISC = (
    r"permission to use, copy, modify, and(?:/or)? distribute this software (?:and its documentation )?"
    r"for any purpose with or without fee"
)
_PHRASES = _phrases(
    (r"\bapache(?: software)? licen[cs]e" + _V2, "Apache-2.0"),
    (r"licen[cs]e ?: ?apache[ -]?2(?:\.0)?\b", "Apache-2.0"),
    (r"permission is hereby granted, free of charge, to any person obtaining a copy", "MIT"),
    (r"\bmit(?:/x11|/expat| \(expat\)| x11)?[ -]licen[cs]ed?\b", "MIT"),
    (r"licen[cs]ed? ?(?:under|as|:)? ?(?:the )?mit\b", "MIT"),
    (r"mozilla public licen[cs]e" + _V2, "MPL-2.0"),
    (r"mozilla public licen[cs]e,? ?(?:version|v\.?)? ?1\.1", "MPL-1.1"),
    (_ISC, "ISC"),
    (r"\bisc licen[cs]e", "ISC"),
    (r"distributed under the boost software licen[cs]e", "BSL-1.0"),
    (r"this is free and unencumbered software released into the public domain", "Unlicense"),
    (r"permission is granted to anyone to use this software for any purpose", "Zlib"),
    (r"zope public licen[cs]e \(zpl\),? version 2\.1|zope public licen[cs]e,? version 2\.1", "ZPL-2.1"),
    (r"academic free licen[cs]e,? ?(?:version|v\.?)? ?2\.1", "AFL-2.1"),
    (r"eclipse public licen[cs]e(?: -)?,? ?(?:version |v\.? ?)?2", "EPL-2.0"),
    (r"eclipse public licen[cs]e(?: -)?,? ?(?:version |v\.? ?)?1", "EPL-1.0"),
    (r"(?:3[ -]clause|new|modified|revised) bsd[ -]licen[cs]e|bsd[ -]3[ -]clause", "BSD-3-Clause"),
    (r"(?:2[ -]clause|simplified) bsd[ -]licen[cs]e|bsd[ -]2[ -]clause", "BSD-2-Clause"),
    (r"(?:under|licen[cs]e ?:) (?:the )?(?:terms of the )?bsd\b(?! ?-|[ -]style)", "BSD-3-Clause"),
    (r"cc0 1\.0 universal|creative commons zero", "CC0-1.0"),
    (r"blue oak model licen[cs]e", "BlueOak-1.0.0"),
)
_TITLES = _phrases(
    (r"apache licen[cs]e version 2\.0, january 2004", "Apache-2.0"),
    (r"permission is hereby granted, free of charge, to any person obtaining a copy", "MIT"),
    (r"mozilla public licen[cs]e,? version 2\.0|terms of the mozilla public licen[cs]e,? v\. 2\.0", "MPL-2.0"),
    (r"gnu general public licen[cs]e version 3, 29 june 2007", "GPL-3.0-only"),
    (r"gnu general public licen[cs]e version 2, june 1991", "GPL-2.0-only"),
    (r"gnu lesser general public licen[cs]e version 3, 29 june 2007", "LGPL-3.0-only"),
    (r"gnu lesser general public licen[cs]e version 2\.1, february 1999", "LGPL-2.1-only"),
    (r"gnu affero general public licen[cs]e version 3, 19 november 2007", "AGPL-3.0-only"),
    (r"zope public licen[cs]e \(zpl\) version 2\.1", "ZPL-2.1"),
    (r"academic free licen[cs]e", "AFL-2.1"),
    (r"blue oak model licen[cs]e version 1\.0\.0", "BlueOak-1.0.0"),
    *(
        (pattern.pattern, licence)
        for pattern, licence in _PHRASES
        if licence in {"ISC", "Unlicense", "Zlib"} and "licen" not in pattern.pattern
    ),
)
_BSD = re.compile(
    r"redistribution and use in source and binary forms, with or without modification, (?:are|is) permitted"
)
_CHOICE = re.compile(
    r"\bdual[ -]?licen[cs]ed|\bat your (?:option|choice)|\beither of\b|\bunder either\b|\byour choice\b"
    r"|\bor (?:the |under )*(?=(?:\S{0,20} ?){0,3}licen[cs]e|mit\b|apache\b|gpl|bsd)"
)
_OPTION_OF_GNU = re.compile(r"\(?at your option\)?,? any later|either version")
_HEADING = re.compile(
    r"^(?:#{1,6}[ \t]*(?:[^\w\n]*)licen[cs](?:e|es|ing)\b[^\n]*"
    r"|(?:licen[cs](?:e|es|ing)|copyright and licen[cs]e)[ \t]*:?[ \t]*\n[-=~^\"'*+]{3,}[^\n]*)\n",
    re.IGNORECASE | re.MULTILINE,
)
_NEXT_HEADING = re.compile(r"^(?:#{1,6}[ \t]|[^\n]+\n[-=~^]{3,}[ \t]*$)", re.MULTILINE)
_README_NAMES = _PHRASES + _phrases(
    (r"\bmit\b", "MIT"),
    (r"\bapache(?: software)?(?: licen[cs]e)?,?[ -]?(?:version |v)?2", "Apache-2.0"),
    (r"\bisc\b", "ISC"),
    (r"\bmpl[ -]?(?:v)?2", "MPL-2.0"),
    (r"\bbsd\b", "BSD-3-Clause"),
    (r"\bunlicense\b", "Unlicense"),
    (r"\b0bsd\b", "0BSD"),
)


def licence_notice(text: str) -> str | None:
    """Return the licence of the notice at the head of a file as an SPDX expression; None without one."""
    words = _words("\n".join(_head(text[:HEAD])))
    return _stated(words, _PHRASES) if "licen" in words or "permi" in words or "gpl" in words else None


def licence_of_readme(text: str) -> str | None:
    """Return the licence that the licence section of a README names; None where it names none, or several unclearly."""
    heading = _HEADING.search(text)
    if heading is None:
        return None
    section = text[heading.end() : heading.end() + SECTION]
    following = _NEXT_HEADING.search(section)
    return _stated(_words(section[: following.start()] if following else section), _README_NAMES)


def licence_of_words(text: str) -> str | None:
    """Return the licences whose titles or grants a licence file contains, also with other text around them."""
    words = _words(text)
    named = {licence: None for pattern, licence in _TITLES if pattern.search(words)}
    if _BSD.search(words) and "ZPL-2.1" not in named:  # which has the same clauses
        named[_bsd(words)] = None
    if any(licence.startswith("LGPL-") for licence in named):  # which comes with the text of the full licence
        named = {licence: None for licence in named if not licence.startswith("GPL-")}
    if not named:
        return _stated(words[:SECTION], _PHRASES)
    # the licences themselves say "either" and "at your option"; a choice is announced before them
    return _joined(list(named), words[:_ANNOUNCED])


def _stated(words: str, phrases: Phrases) -> str | None:
    gnu = _gnu(words)
    named = {gnu: None} if gnu else {}
    if _BSD.search(words):
        named[_bsd(words)] = None
    for pattern, licence in phrases:
        # a BSD text is known by its clauses; its name alone would add another number of them
        if pattern.search(words) and not (licence.startswith("BSD") and any(name.startswith("BSD") for name in named)):
            named[licence] = None
    return _joined(list(named), words)


def _joined(licences: list[str], words: str) -> str | None:
    """Join several licences: OR where the words leave a choice, else AND."""
    # "at your option any later version" is a choice of versions, not of licences, so these words are removed first
    joint = " OR " if _CHOICE.search(_OPTION_OF_GNU.sub("", words)) else " AND "
    return joint.join(sorted(licences)) or None


def _gnu(words: str) -> str | None:
    """Return the GNU licence that is named first, with its version and exception."""
    # the version stands after the name, or shortly before it; "any later version" is told by the words behind
    name = _GNU.search(words)
    if name is None:
        short = _GNU_SHORT.search(words)
        if short is None:
            return None
        kind, version, later = short["kind"] or "", short["version"], short["later"] is not None
        return _with_exception(f"{_PREFIX[kind]}-{_full(version)}-{'or-later' if later else 'only'}", words)
    kind = {"library (or lesser) ": "library ", "lesser (or library) ": "lesser "}.get(
        name["kind"] or "", name["kind"] or ""
    )
    after = words[name.end() : name.end() + _LONGEST_GAP]
    stated = _VERSION.search(after) or _VERSION.search(words[max(0, name.start() - 60) : name.start()])
    if stated is None:  # any version, says the licence itself
        return f"{_PREFIX[kind]}-{_LOWEST[kind]}-or-later" if _is_grant(words, name) else None
    later = _LATER.search(after) is not None
    return _with_exception(f"{_PREFIX[kind]}-{_full(stated['version'])}-{'or-later' if later else 'only'}", words)


def _is_grant(words: str, name: re.Match[str]) -> bool:
    return bool(re.search(r"under (?:the )?(?:terms of )?(?:the )?$", words[: name.start()]))


def _full(version: str) -> str:
    return version if "." in version else f"{version}.0"


def _with_exception(licence: str, words: str) -> str:
    exception = next((identifier for phrase, identifier in _EXCEPTIONS if phrase in words), None)
    return f"{licence} WITH {exception}" if exception and "exception" in words else licence


def _bsd(words: str) -> str:
    if "advertising materials mentioning features" in words:
        return "BSD-4-Clause"
    endorses = re.search(r"(?:neither the names?|the names?) .{0,200}(?:endorse or promote|promote products)", words)
    return "BSD-3-Clause" if endorses else "BSD-2-Clause"


def _words(text: str) -> str:
    """Return a text in lower case without marks of comments and emphasis, its words separated by single spaces."""
    lines = (_MARKS.sub("", line) for line in text.lower().splitlines())
    plain = " ".join(" ".join(lines).replace("*", " ").replace("`", " ").replace("_", " ").split())
    return re.sub(r"[\"“”‘’]", "", plain.replace("[", "").replace("]", " "))


def _head(text: str) -> Iterator[str]:
    """Yield the lines of a file up to the first one with code."""
    end = None
    for line in text.splitlines():
        if end is not None:
            yield line
            if end in line:
                end = None
            continue
        stripped = line.lstrip(" \t\ufeff")
        if _PREAMBLE.match(line):
            stripped = re.sub(r"^[rbuRBU]{1,2}(?=\"\"\"|''')", "", stripped)
        opened = next((marks for marks in _BLOCKS.items() if stripped.startswith(marks[0])), None)
        if opened is not None:
            yield line
            end = None if opened[1] in stripped[len(opened[0]) :] else opened[1]
        elif _COMMENT_LINE.match(line) or _PREAMBLE.match(line):
            yield line
        else:
            return
