"""Licences that are stated in words: the standard notices at the head of a file, and the section of a README.

A notice is the paragraph that a licence asks its users to put into every file ("This program is free software …"). Only
the comments, the prose and the documentation string before the first code are read, so code that is about licences
states none; of the comments behind it only the grant of a GNU licence counts. A notice that is not recognised, and the
mere mention of a copyleft licence anywhere, make the licence unknown: nothing says that the file is under that of its
folder.
"""

import re
from collections.abc import Iterable, Iterator, Sequence

from assay.licences.names import IS_GNU, UNKNOWN_LICENCE, all_known, all_of, is_named_again, named_licences

HEAD = 12_000
"""Characters of a file in which its notice is searched for."""

LARGEST_TEXT = 100_000
"""Characters of a file in which the mention of a copyleft licence makes its licence unknown."""

SECTION = 600
"""Characters of the licence section of a README that are read."""

NOTICE = 3000
"""Characters of a licence file without the text of one that are read."""

_PAIR = 2

_ANNOUNCED = 500
"""Characters at the top of a licence file that may announce a choice of licences."""

_MARKS = re.compile(
    r"^[ \t>]*(?:/\*+!?|\*+/?|//+[/!]?|#+!?|-+|;+|%+|<!--|\.\.|\(\*|\.?\\\"|dnl\b|c?rem\b|@rem\b|'|!)?[ \t#]*",
    re.IGNORECASE,
)
_COMMENT_LINE = re.compile(
    r"^[ \t]*(?:#|//|/\*|\*|--|;|%|<!--|\.\.(?!\S)|\(\*|\.?\\\"|dnl\b|@?rem\b|!|>|'(?!'')|$)", re.IGNORECASE
)
_BLOCKS = {
    "--[[": "]]",
    "/*": "*/",
    '"""': '"""',
    "'''": "'''",
    "<!--": "-->",
    "(*": "*)",
    "{-": "-}",
    "=begin": "=end",
    "=head": "=cut",
    "=pod": "=cut",
}
_DECLARATION = re.compile(
    r"^[ \t]*[\"']?(?:@?_*licen[cs]e_*[\"']?[ \t]*(?:=[ \t]*[\"']|:)|(?:module|file)_licen[cs]e[ \t]*\()", re.IGNORECASE
)
"""A line of code that states the licence of its file or package."""
_TAG = re.compile(r"</?[a-z][^<>]*>", re.IGNORECASE)
_BLOCK = re.compile(r"/\*.*?\*/|<!--.*?-->", re.DOTALL)
_PREAMBLE = re.compile(
    r"^[ \t]*(?:<\?|<!|<%|['\"]use strict['\"]|from __future__|package |@charset|@echo|\]>"
    r"|[rbuRBU]{0,2}(?=\"\"\"|'''))",
    re.IGNORECASE,
)
_PROSE_WITHIN = re.compile(r"[ \t]*[\w(][^={}|\\]*[^={}|\\;]")
"""A line of a paragraph that began with prose."""
_PROSE = re.compile(
    r"[ \t]*(?!(?:import|from|def|class|using|return|public|private|static|const|let|var|function|if|for|while)\b)"
    r"(?:[\w,.:'\"()<>@/&+©\u2013*-]+(?:[ \t]+|$)){3,}[.;:]?\s*",
)
"""A line of words and nothing else: notices stand without marks of comments in texts, and above macros."""

Phrases = tuple[tuple[re.Pattern[str], str], ...]
"""Words, and the licence that they state."""


def _phrases(*pairs: tuple[str, str]) -> Phrases:
    return tuple((re.compile(pattern), licence) for pattern, licence in pairs)


_V2 = r",? ?(?:version |v\.? ?)?2(?:\.0)?\b"
_ISC = r"permission to use, copy, modify,? and(?:/or)? distribute this software for any purpose with or without fee"
_MIT = r"permission is hereby granted, free of charge, to any person obtaining a copy"
_ZLIB = r"permission is granted to anyone to use this software for any purpose"
_VARIANTS: tuple[tuple[str, tuple[tuple[str, str], ...]], ...] = (
    (
        "MIT",
        (
            (r"be used for good,? (?:and )?not evil", "JSON"),
            (r"redistributions of source code must retain .{0,900}university of illinois", "NCSA"),
            (r"university of illinois.{0,900}redistributions of source code must retain", "NCSA"),
            (r"redistributions of source code must retain|distribute with modifications", UNKNOWN_LICENCE),
            (r"except as contained in this notice, the names? of the x consortium", "X11"),
            (r"except as contained in this notice|commons clause|font software", UNKNOWN_LICENCE),
            (r"furnished to do so[,.]?(?: subject to the following conditions:?)? the software is provided", "MIT-0"),
            # the grant in full, and between its condition and the disclaimer something else
            (
                _MIT + r"(?!.{300,900}substantial portions of the \S+ the \S+ (?:is|are) provided '?as is).{900}",
                UNKNOWN_LICENCE,
            ),
        ),
    ),
    (
        "ISC",
        (
            (r"except as contained in this notice, the name of a copyright holder", "curl"),
            (r"except as contained in this notice|in advertising|supporting documentation", UNKNOWN_LICENCE),
            (_ISC + r" is hereby granted\.? the software is provided", "0BSD"),
        ),
    ),
    ("Apache-2.0", ((r"commons clause|licen[cs]e 2\.0 with .{0,60}(?:exception|restriction)", UNKNOWN_LICENCE),)),
    (
        "Zlib",
        (
            (r"info-zip", "Info-ZIP"),
            (
                _ZLIB + r"(?!.{0,200}restrictions: 1\.? ?\)? the origin of this software must not be).{300}",
                UNKNOWN_LICENCE,
            ),
        ),
    ),
)
"""Licence → words that make its text another one; "unknown" where these have no single licence."""
_BSD_VARIANTS: tuple[tuple[str, str], ...] = (
    (r"end-user documentation included with the redistribution.{0,400}apache software foundation", "Apache-1.1"),
    (r"advertising materials mentioning.{0,400}apache group", "Apache-1.0"),
    (r"openssl toolkit|may not be called|may .{0,20}appear in their name|end-user documentation", UNKNOWN_LICENCE),
    (r"nuclear|you may not use this software for|commercial (?:use|purpose|product)s? (?:is|are|re)", UNKNOWN_LICENCE),
    (r"views and conclusions contained in", "BSD-2-Clause-Views"),
    (r"no express or implied licen[cs]es to any party'?s patent rights", "BSD-3-Clause-Clear"),
    (r"information on how to obtain complete source code", "Sleepycat"),
    (r"patent licen[cs]e|attribution assurance|original authors?' name|must prominently", UNKNOWN_LICENCE),
    (r"advertising materials mentioning.{0,400}university of california", "BSD-4-Clause-UC"),
    (r"advertising materials mentioning", "BSD-4-Clause"),
    (
        r"(?:modified|altered) (?:source )?versions? must|not be misrepresented|acknowledge?ment|must be true",
        UNKNOWN_LICENCE,
    ),
)
"""Words that make a text with the clauses of BSD another licence; "unknown" where they belong to no single one."""
_UNRECOGNISED = re.compile(
    r"permission to (?:freely )?(?:use|copy|modify|distribute|redistribute)|permission is (?:hereby |also )?granted"
    r"|redistribution and use|(?:may|can) (?:freely )?(?:use|copy|modify|redistribute)[^.]{0,80}(?:provided|as long as)"
)
"""Grants of other licences."""
_OTHER_NAME = re.compile(
    r"\b(?:under|terms of|subject to|by) the (?!(?:same|following|above|original|project|root|current|open|free)\b)"
    r"(?:(?!(?:the|a|an|of|as|in|this|that|its|their|terms|or|and|licen[cs]e)\b)[a-z][\w.+/-]*(?<!-style)(?<!-like) )"
    r"{1,5}(?:licen[cs]e|agreement)\b(?! ?file)|\bhereby grants?\b|\blicensor\b"
)
"""Licences by names that nothing here knows."""
_ELSEWHERE = re.compile(
    r"\bsee (?:the )?(?:file )?(?!\S*://)(?P<file>\w[\w-]*[./][\w./-]*\w)(?: file)? for (?:\S+ ){0,5}?(?:licen|copying)"
)
"""The name of another file with the licence."""
_OF_PROJECT = re.compile(
    r"(?:\S+/)?(?:un)?(?:licen[cs]es?|copying|copyright|notice|readme|authors)(?:\.(?:txt|md|rst|html?))?"
)
_OTHER_WORK = re.compile(r"\bincorporates work covered by the following\b")
"""Words before the notice of another work, that applies beside that of the file."""
_PHRASES = _phrases(
    (r"\bapache(?: software)? licen[cs]e" + _V2, "Apache-2.0"),
    (r"licen[cs]e ?: ?apache[ -]?2(?:\.0)?\b|\bapache[ -]?2(?:\.0)?(?: software)? licen[cs]e", "Apache-2.0"),
    (_MIT, "MIT"),
    (r"\bmit(?:/x11|/expat| \(expat\)| x11)?[ -]licen[cs]ed?\b", "MIT"),
    (r"licen[cs]ed? ?(?:under|as|:)? ?(?:the )?mit\b", "MIT"),
    (_ISC, "ISC"),
    (r"\bisc licen[cs]e", "ISC"),
    (r"distributed under the boost software licen[cs]e", "BSL-1.0"),
    (r"this is free and unencumbered software released into the public domain", "Unlicense"),
    (_ZLIB, "Zlib"),
    (r"(?:3[ -]clause|new|modified|revised) bsd[ -]licen[cs]e|bsd[ -]3[ -]clause", "BSD-3-Clause"),
    (r"(?:2[ -]clause|simplified) bsd[ -]licen[cs]e|bsd[ -]2[ -]clause", "BSD-2-Clause"),
    (r"(?:under|licen[cs]e ?:) (?:the )?(?:terms of (?:the )?)?bsd\b(?! ?-|[ -]style)", "BSD-3-Clause"),
    (r"\bmit ?/ ?(?:x11 ?/ ?)?[al]?gpl|gpl(?: ?v?\d)? ?(?:/|or) ?(?:the )?mit\b", "MIT"),
    (r"\bbsd ?/ ?[al]?gpl|gpl(?: ?v?\d)? ?(?:/|or) ?(?:the )?bsd\b", "BSD-3-Clause"),
    (r"\bmit or (?:the )?(?:new |modified |[23]-clause )?(?:bsd|apache)\b", "MIT"),
    (r"(?:under|terms of) the apache(?: software)? licen[cs]e\b(?!.{0,40}\d)", "Apache-2.0"),
    (r"under the same terms as perl\b", "Artistic-1.0-Perl OR GPL-1.0-or-later"),
    (r"cc0 1\.0 universal|creative commons zero", "CC0-1.0"),
    (r"blue oak model licen[cs]e", "BlueOak-1.0.0"),
)
_TITLES = _phrases(
    (r"apache licen[cs]e version 2\.0, january 2004", "Apache-2.0"),
    (_MIT, "MIT"),
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
    r"\bdual\b|\boptionally\b|\bor under\b|\balternative\b|\bat your (?:option|choice)|\beither of\b"
    r"|\bunder either\b|\beither under\b|(?<!of )\byour choice\b|\beither (?:the )?gnu"
    r"|\bor (?:the |under |version \S+ of |gnu )*(?=(?:\S{0,20} ?){0,3}licen[cs]e|mit\b|apache\b|gpl|bsd)"
)
_CHOICE_OF_ALL = re.compile(
    r"\balternatively\b|\btri(?:ple)?[- ]?licen|\btri [a-z]{2,4}/|"
    r"\b(?:mit|bsd|apache|[mce]pl|[al]?gpl)(?: ?v?\d(?:\.\d)?)? ?/ ?(?:the )?(?:mit|bsd|[al]?gpl|apache|artistic)"
)
"""Words that leave a choice among any number of licences."""
_ALTERNATIVELY = re.compile(r"\balternatively,[^.]{0,120}\bunder the terms\b")
_OPTION_OF_GNU = re.compile(r"\(?at your option\)?,? any later|either version")
_MAY_STATE = re.compile(r"licen|permi|same terms|gpl|gfdl|cddl|redistribut")
_COPYLEFT = ("gpl", "fdl", "general", "documentation", "cddl")
_MENTION = re.compile(
    r"general[\s\W]{1,8}public[\s\W]{1,8}licen[cs]e|free[\s\W]{1,8}documentation[\s\W]{1,8}licen"
    r"|(?<![a-z])(?:[al]?gpl(?:v[123])?|gfdl|fdl-\d|cddl)(?![a-z])"
)
"""Licences of the GNU project, and the CDDL, by name, anywhere in a file."""
_ANY_PUBLIC = re.compile(r"\bpublic[\s\W]{1,8}licen[cs]e|\bshare[\s-]?alike")
"""Other copyleft licences, anywhere in a file."""
_NAMES_COPYLEFT = re.compile(r"GPL-|GFDL-|CDDL-")
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
    """Return the licence of the notice at the head of a file as an SPDX expression; None without one.

    A notice that is not recognised, or a copyleft licence that is only mentioned, gives "unknown".
    """
    lines = text[:HEAD].splitlines()
    head = list(_head(lines))
    words = _words(head)
    own = _stated(words, _PHRASES) if _MAY_STATE.search(words) else None
    whole = text[:LARGEST_TEXT].lower()
    if not any(word in whole for word in _COPYLEFT) or not _MENTION.search(whole):
        # most files have neither word, and a word is found sooner than a pattern
        names_public = ("licen" in whole or "alike" in whole) and _ANY_PUBLIC.search(whole)
        return own or (UNKNOWN_LICENCE if names_public else None)
    others = named_licences(_words(_comments(lines[len(head) :])), only_grants=True).stated
    gnu = [licence for licence in others if IS_GNU.match(licence) and not is_named_again(licence, own or "")]
    if gnu:
        return all_known([*([own] if own else []), *gnu])
    return own if own and _NAMES_COPYLEFT.search(own) else UNKNOWN_LICENCE


def licence_of_readme(text: str) -> str | None:
    """Return the licence that the licence section of a README names; None where it names none, or several unclearly."""
    heading = _HEADING.search(text)
    if heading is None:
        return None
    section = text[heading.end() : heading.end() + SECTION]
    following = _NEXT_HEADING.search(section)
    return _stated(_words((section[: following.start()] if following else section).splitlines()), _README_NAMES)


def licence_by_clauses(licence: str, text: str) -> str:
    """Return the licence of a text that differs little from that of `licence`, but may have another clause."""
    words = _words(text.splitlines())
    return _bsd(words) if licence in {"BSD-2-Clause", "BSD-3-Clause"} else _variant(licence, words)


def licence_of_words(text: str) -> str | None:
    """Return the licences whose titles or grants a licence file contains, also with other text around them."""
    words = _words(text.splitlines())
    named = {_variant(licence, words): None for pattern, licence in _TITLES if pattern.search(words)}
    if _BSD.search(words) and "ZPL-2.1" not in named and "NCSA" not in named:  # which have the same clauses
        named[_bsd(words)] = None
    if any(licence.startswith("LGPL-") for licence in named):  # which comes with the text of the full licence
        named = {licence: None for licence in named if not licence.startswith("GPL-")}
    if not named:
        others = named_licences(words)
        gnu = [licence for licence in others.stated if IS_GNU.match(licence)]
        own = _stated(words[:NOTICE], _PHRASES)
        if own is None:
            return all_of(gnu) or (UNKNOWN_LICENCE if others.mentioned else None)
        return (
            own if own == UNKNOWN_LICENCE else all_of([own, *(name for name in gnu if not is_named_again(name, own))])
        )
    if not any(IS_GNU.match(licence) or licence.startswith("MPL") for licence in named):
        # the texts themselves name no GNU licence, so what names one is about other parts of the project
        others = named_licences(words)
        named |= dict.fromkeys(licence for licence in others.stated if IS_GNU.match(licence))
        named |= {UNKNOWN_LICENCE: None} if others.mentioned else {}
    if len(named) == _PAIR and _ALTERNATIVELY.search(words):
        return _joined(list(named), words)
    # the licences themselves say "either" and "at your option"; a choice is announced before them
    return _joined(list(named), words[:_ANNOUNCED])


def _stated(words: str, phrases: Phrases) -> str | None:
    parts = [licence for part in _OTHER_WORK.split(words) if (licence := _of_one_work(part, phrases))]
    return all_known(parts) or None


def _of_one_work(words: str, phrases: Phrases) -> str | None:
    names = named_licences(words)
    named = dict.fromkeys(names.stated)
    if _BSD.search(words):
        named[_bsd(words)] = None
    for pattern, licence in phrases:
        # a BSD text is known by its clauses; its name alone would add another number of them
        if pattern.search(words) and not (licence.startswith("BSD") and any(name.startswith("BSD") for name in named)):
            named[_variant(licence, words)] = None
    if "NCSA" in named:
        named = {licence: None for licence in named if not licence.startswith("BSD")}
    if names.mentioned and not any(map(IS_GNU.match, named)):
        return UNKNOWN_LICENCE
    return _joined(list(named), words) or (UNKNOWN_LICENCE if _is_unrecognised(words) else None)


def _is_unrecognised(words: str) -> bool:
    elsewhere = _ELSEWHERE.search(words)
    return bool(
        _UNRECOGNISED.search(words)
        or _OTHER_NAME.search(words)
        or (elsewhere and not _OF_PROJECT.fullmatch(elsewhere["file"]))
    )


def _joined(licences: list[str], words: str) -> str | None:
    """Join several licences: OR where the words leave a choice, else AND; "unknown" where neither is certain."""
    # "at your option any later version" is a choice of versions, not of licences, so these words are removed first
    words = _OPTION_OF_GNU.sub("", words)
    is_choice = len(licences) > 1 and bool(_CHOICE.search(words) or _CHOICE_OF_ALL.search(words))
    if not is_choice:
        return all_known(sorted(licences)) or None
    if UNKNOWN_LICENCE in licences:
        return UNKNOWN_LICENCE
    if len(licences) > _PAIR and not _CHOICE_OF_ALL.search(words):
        return UNKNOWN_LICENCE  # a choice between two of them, and nothing says which
    return " OR ".join(dict.fromkeys(option for licence in sorted(licences) for option in licence.split(" OR ")))


def _variant(licence: str, words: str) -> str:
    """Return the licence that words make of a text that begins as that of `licence`."""
    variants = dict(_VARIANTS).get(licence, ())
    return next((other for pattern, other in variants if re.search(pattern, words)), licence)


def _bsd(words: str) -> str:
    variant = next((licence for pattern, licence in _BSD_VARIANTS if re.search(pattern, words)), None)
    if variant is not None:
        return variant
    if (
        "must retain" in words
        and "this software is provided" in words
        and "in binary form" not in words.partition("met:")[2]
    ):
        return "BSD-1-Clause"
    endorses = re.search(r"(?:neither the names?|the names?) .{0,200}(?:endorse or promote|promote products)", words)
    return "BSD-3-Clause" if endorses else "BSD-2-Clause"


def _words(lines: Iterable[str]) -> str:
    """Return lines in lower case without marks of comments and emphasis, their words separated by single spaces."""
    plain = " ".join(
        " ".join(_MARKS.sub("", line) for line in map(str.lower, lines))
        .replace("*", " ")
        .replace("`", " ")
        .replace("_", " ")
        .split()
    )
    return re.sub(r"[\"“”‘’]", "", plain.replace("[", "").replace("]", " "))


def _comments(lines: Sequence[str]) -> list[str]:
    """Return the comments of a text, lines with a mark and blocks, and its prose where this is most of the text."""
    blocks = [line for block in _BLOCK.findall("\n".join(lines)) for line in block.splitlines()]
    filled = [line for line in (_TAG.sub(" ", line) for line in lines) if line.strip()]
    prose = {line for line in filled if _PROSE.fullmatch(line)}
    is_document = 2 * sum(line in prose for line in filled) > len(filled)
    marked = (
        line
        for line in filled
        if _COMMENT_LINE.match(line) or _DECLARATION.match(line) or (is_document and line in prose)
    )
    return [*blocks, *marked]


def _head(lines: Iterable[str]) -> Iterator[str]:
    """Yield the lines of a file up to the first one with code."""
    end = None
    is_prose = False
    for line in lines:
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
        elif (is_prose and _PROSE_WITHIN.fullmatch(line)) or _PROSE.fullmatch(line):
            is_prose = True
            yield line
        elif _COMMENT_LINE.match(line) or _PREAMBLE.match(line):
            is_prose = False
            yield line
        else:
            return
