"""Licences that are stated in words: the standard notices at the head of a file, and the section of a README.

A notice is the paragraph that a licence asks its users to put into every file ("This program is free software …"). Only
the comments, the prose and the documentation string before the first code are read, so code that is about licences
states none; of the comments behind it only the grant of a GNU licence counts. A notice that is not recognised, and the
mere mention of a copyleft licence anywhere, make the licence unknown: nothing says that the file is under that of its
folder.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from assay.licences.names import IS_GNU, UNKNOWN_LICENCE, all_known, all_of, is_named_again, named_licences
from assay.licences.phrases import NOTICES, README_NAMES, TITLES, Phrases, licence_variant, licences_in

HEAD = 12_000
"""Characters of a file in which its notice is searched for."""

LARGEST_TEXT = 100_000
"""Characters of a file in which the mention of a copyleft licence makes its licence unknown."""

SECTION = 600
"""Characters of the licence section of a README that are read."""

NOTICE = 3000
"""Characters of a licence file without the text of one that are read."""

_PAIR = 2
_TO_SPACES = str.maketrans("*`_", "   ")
_NO_QUOTES = str.maketrans("]", " ", '["“”‘’')

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
_BSD = re.compile(
    r"redistribution and use in source and binary forms, with or without modification, (?:are|is) permitted"
)
_ENDORSE = re.compile(r"(?:neither the names?|the names?) .{0,200}(?:endorse or promote|promote products)")
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


def licence_notice(text: str) -> str | None:
    """Return the licence of the notice at the head of a file as an SPDX expression; None without one.

    A notice that is not recognised, or a copyleft licence that is only mentioned, gives "unknown".
    """
    lines = text[:HEAD].splitlines()
    head = list(_head(lines))
    words = _words(head)
    own = _stated(words, NOTICES) if _MAY_STATE.search(words) else None
    whole = text[:LARGEST_TEXT].lower()
    if not any(word in whole for word in _COPYLEFT) or not _MENTION.search(whole):
        # most files have neither word, and a word is found sooner than a pattern
        names_public = ("licen" in whole or "alike" in whole) and _ANY_PUBLIC.search(whole)
        return own or (UNKNOWN_LICENCE if names_public else None)
    others = named_licences(_words(_comments(lines[len(head) :])), only_grants=True).stated
    gnu = [licence for licence in filter(IS_GNU.match, others) if not is_named_again(licence, own or "")]
    if gnu:
        return all_known(filter(None, [own, *gnu]))
    return own if own and _NAMES_COPYLEFT.search(own) else UNKNOWN_LICENCE


def licence_of_readme(text: str) -> str | None:
    """Return the licence that the licence section of a README names; None where it names none, or several unclearly."""
    heading = _HEADING.search(text)
    if heading is None:
        return None
    section, *_ = _NEXT_HEADING.split(text[heading.end() : heading.end() + SECTION], maxsplit=1)
    return _stated(_words(section.splitlines()), README_NAMES)


def licence_by_clauses(licence: str, text: str) -> str:
    """Return the licence of a text that differs little from that of `licence`, but may have another clause."""
    words = _words(text.splitlines())
    return _bsd(words) if licence in {"BSD-2-Clause", "BSD-3-Clause"} else licence_variant(licence, words) or licence


def licence_of_words(text: str) -> str | None:
    """Return the licences whose titles or grants a licence file contains, also with other text around them."""
    words = _words(text.splitlines())
    named = dict.fromkeys(licence_variant(licence, words) or licence for licence in licences_in(words, TITLES))
    if _BSD.search(words) and "ZPL-2.1" not in named and "NCSA" not in named:  # which have the same clauses
        named[_bsd(words)] = None
    others = named_licences(words)
    gnu = list(filter(IS_GNU.match, others.stated))
    if not named:
        return _without_title(words, gnu, is_mentioned=others.mentioned)
    if any(licence.startswith("LGPL-") for licence in named):  # which comes with the text of the full licence
        named = _without(named, "GPL-")
    if not any(licence.startswith("MPL") or IS_GNU.match(licence) for licence in named):
        # the texts themselves name no GNU licence, so what names one is about other parts of the project
        named |= dict.fromkeys([*gnu, UNKNOWN_LICENCE] if others.mentioned else gnu)
    if len(named) == _PAIR and _ALTERNATIVELY.search(words):
        return _joined(list(named), words)
    # the licences themselves say "either" and "at your option"; a choice is announced before them
    return _joined(list(named), words[:_ANNOUNCED])


def _without_title(words: str, gnu: list[str], *, is_mentioned: bool) -> str | None:
    """Return the licence of the notice in a licence file that has the title of none, and of the GNU licences in it."""
    own = _stated(words[:NOTICE], NOTICES)
    if own == UNKNOWN_LICENCE:
        return own
    if own is not None:
        return all_of([own, *(name for name in gnu if not is_named_again(name, own))])
    return all_of(gnu) or (UNKNOWN_LICENCE if is_mentioned else None)


def _without(named: Iterable[str], beginning: str) -> dict[str, None]:
    return dict.fromkeys(licence for licence in named if not licence.startswith(beginning))


def _stated(words: str, phrases: Phrases) -> str | None:
    return all_known(filter(None, (_of_one_work(part, phrases) for part in _OTHER_WORK.split(words)))) or None


def _of_one_work(words: str, phrases: Phrases) -> str | None:
    names = named_licences(words)
    named = dict.fromkeys(names.stated)
    if _BSD.search(words):
        named[_bsd(words)] = None
    for licence in licences_in(words, phrases):
        # a BSD text is known by its clauses; its name alone would add another number of them
        if not (licence.startswith("BSD") and any(name.startswith("BSD") for name in named)):
            named[licence_variant(licence, words) or licence] = None
    if "NCSA" in named:
        named = _without(named, "BSD")
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
    return " OR ".join(dict.fromkeys(" OR ".join(sorted(licences)).split(" OR ")))


def _bsd(words: str) -> str:
    if variant := licence_variant("BSD", words):
        return variant
    has_source_clause = "must retain" in words and "this software is provided" in words
    if has_source_clause and "in binary form" not in words.partition("met:")[2]:
        return "BSD-1-Clause"
    return "BSD-3-Clause" if _ENDORSE.search(words) else "BSD-2-Clause"


def _words(lines: Iterable[str]) -> str:
    """Return lines in lower case without marks of comments and emphasis, their words separated by single spaces."""
    plain = " ".join(_MARKS.sub("", line) for line in map(str.lower, lines)).translate(_TO_SPACES)
    return " ".join(plain.split()).translate(_NO_QUOTES)


def _comments(lines: Sequence[str]) -> list[str]:
    """Return the comments of a text, lines with a mark and blocks, and its prose where this is most of the text."""
    # blocks first: their inner lines need no mark of a comment
    comments = list(chain.from_iterable(map(str.splitlines, _BLOCK.findall("\n".join(lines)))))
    filled = list(filter(str.strip, (_TAG.sub(" ", line) for line in lines)))
    prose = list(map(_PROSE.fullmatch, filled))
    is_document = 2 * sum(map(bool, prose)) > len(filled)
    for line, is_prose in zip(filled, prose, strict=True):
        if _COMMENT_LINE.match(line) or _DECLARATION.match(line) or (is_document and is_prose):
            comments.append(line)
    return comments


def _head(lines: Iterable[str]) -> Iterator[str]:
    """Yield the lines of a file up to the first one with code."""
    end = None
    is_prose = False
    for line in lines:
        if end is not None:
            yield line
            end = None if end in line else end
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
