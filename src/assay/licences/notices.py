"""Licences that are stated in words: the standard notices at the head of a file, and the section of a README.

A notice is the paragraph that a licence asks its users to put into every file ("This program is free software …"). The
comments, the prose and the documentation string before the first code are read block by block: the licences of one
block are a choice where its words leave one, and those of several blocks apply together. Of the comments below, only a
grant counts. A notice that is not recognised, and a copyleft licence of which it is unclear whether it applies, make
the licence unknown: nothing says that the file is under that of its folder.
"""

import re
from collections.abc import Iterable, Sequence
from functools import partial
from itertools import chain, filterfalse

from assay.licences.comments import blocks_of, comments_of, head_and_rest, words_of
from assay.licences.names import (
    IS_GNU,
    UNKNOWN_LICENCE,
    NamedLicences,
    all_known,
    all_of,
    is_named_again,
    named_licences,
    without_names,
)
from assay.licences.phrases import PATTERNS, licence_variant

HEAD = 12_000
"""Characters of a file in which its notice is searched for."""

LARGEST_TEXT = 100_000
"""Characters of a file in which the notice of a copyleft licence is searched for."""

SECTION = 600
"""Characters of the licence section of a README that are read."""

PROPRIETARY = "LicenseRef-scancode-proprietary-license"
NON_COMMERCIAL = "LicenseRef-NonCommercial"
COMMONS_CLAUSE = "LicenseRef-scancode-commons-clause"

_PAIR = 2
# In the place of the name of a licence: no word.
_NAMED = "§"
_ADDRESS = re.compile(r"<?\b(?:https?://|www\.)[^\s>)]+>?")
_SHARED = frozenset(
    [
        "the",
        "inc",
        "ltd",
        "llc",
        "gmbh",
        "corp",
        "corporation",
        "company",
        "co",
        "all",
        "rights",
        "reserved",
        "and",
        "by",
        "copyright",
        "c",
    ]
)
_EVERYBODY = frozenset(["authors", "contributors", "developers", "team", "project", "community"])
_HEADING = re.compile(
    r"^(?:#{1,6}[ \t]*(?:[^\w\n]*)(?:licen[cs](?:e|es|ing)|copyright)\b[^\n]*"
    r"|(?:licen[cs](?:e|es|ing)|copyright(?: and licen[cs]e)?)[ \t]*:?[ \t]*\n[-=~^\"'*+]{3,}[^\n]*)\n",
    re.IGNORECASE | re.MULTILINE,
)
# The documentation of a Perl module states its licence below the code.
_POD_SECTION = re.compile(
    r"^=head\d [^\n]*(?:licen[cs]e|copyright)[^\n]*\n(.*?)(?=^=|\Z)", re.IGNORECASE | re.MULTILINE | re.DOTALL
)
_NEXT_HEADING = re.compile(r"^(?:#{1,6}[ \t]|[^\n]+\n[-=~^]{3,}[ \t]*$)", re.MULTILINE)
_README_LINE = re.compile(
    r"^[ \t>*:-]*\**licen[cs]e\**[ \t]*:+\**[ \t]*(?P<words>[^\n]+)$", re.IGNORECASE | re.MULTILINE
)
_BADGE = re.compile(r"!\[[^\]]*\]\(\S*/badge/licen[cs]e-(?P<words>[^)\s]+?)-\w+(?:\.svg)?(?:\?[^)]*)?\)", re.IGNORECASE)

# A module's own statement, in its code.
_DECLARED = re.compile(
    r"^(?:__licen[cs]e__[ \t]*=[ \t]*[\"'](?P<words>[^\"'\n]+)[\"']"
    r"|[ \t]*/?\*+[ \t]*@licen[cs]e[ \t]+(?P<tag>[^\n*]+))",
    re.IGNORECASE | re.MULTILINE,
)
_DECLARED_WITHIN = 3000
_LINK = re.compile(r"^\[licen[cs]e:? \(?(?P<words>[\w .+-]+)\)?\]\(", re.IGNORECASE | re.MULTILINE)
_BADGE_TEXT = re.compile(r"!\[(?P<words>[\w .:+-]*\blicen[cs]e\b[\w .:+-]*)\]", re.IGNORECASE)

_FIRST_COMMENT = re.compile(r"\s*<!--.*?-->", re.DOTALL)
_PARAGRAPH = re.compile(r"\n[ \t]*\n")
# Words in which a paragraph speaks of the project itself.
_OF_ITSELF = re.compile(
    r"\bthis (?:program|module|package|project|library|software|distribution|tool|code) "
    r"(?:is|may be) (?:licen[cs]ed|released|distributed|free software|available under)\b"
)


def licence_notice(text: str) -> str | None:
    """Return the licence of the notice at the head of a file as an SPDX expression; None without one.

    A notice that is not recognised, or a copyleft licence of which it is unclear whether it applies, gives "unknown".
    """
    head, rest = head_and_rest(text[:HEAD])
    blocks = blocks_of(head)
    blocks += map(words_of, map(str.splitlines, _POD_SECTION.findall(text[:LARGEST_TEXT])))
    own = _of_blocks(blocks)
    if own is None and (declared := _DECLARED.search(text[:_DECLARED_WITHIN])):
        own = _of_readme_words(declared["words"] or declared["tag"])
    whole = text[:LARGEST_TEXT].lower()
    if PATTERNS["may_bind"].search(whole):
        # code that is about licences names them, so below the head a name alone states nothing
        below = named_licences(words_of(comments_of(rest)), only_grants=True)
        if below.is_unclear and own is None:
            own = UNKNOWN_LICENCE
        binding = filter(PATTERNS["binding"].match, below.stated)
        if further := list(filterfalse(partial(is_named_again, stated=own or ""), binding)):
            return all_known(filter(None, [own, *further]))
    in_code = PATTERNS["grant_in_code"].search("\n".join(rest).lower()) or PATTERNS["public_notice"].search(whole)
    return UNKNOWN_LICENCE if own is None and in_code else own


def names_no_version(text: str) -> bool:
    """Return True if the head of a file names a licence, and a version of it in an address alone."""
    words = " ".join(blocks_of(head_and_rest(text[:HEAD])[0]))
    # a name without version is read as the lowest one, or later
    return all(
        licence.endswith("-or-later") and licence.count(".0")
        for licence in named_licences(_ADDRESS.sub(" ", words)).stated
    )


def reserves_rights(text: str) -> bool:
    """Return True if the head of a file reserves all rights, and neither grants anything nor says where."""
    words = " ".join(blocks_of(head_and_rest(text[:HEAD])[0]))
    return PATTERNS["reserved"].search(words) is not None and not PATTERNS["refers"].search(words)


def holders_of(text: str) -> frozenset[str]:
    """Return the words of the names of copyright holders."""
    words: set[str] = set()
    for match in PATTERNS["copyright"].finditer(words_of(text[:HEAD].splitlines())):
        words.update(re.findall(r"[^\W\d_]{2,}", match["holder"]))
    return frozenset(words - _SHARED)


def is_same_holder(text: str, holders: frozenset[str]) -> bool:
    """Return True if the head of a file is of one of these holders, or of everybody who contributes."""
    own = holders_of("\n".join(head_and_rest(text[:HEAD])[0]))
    return bool(own & (holders | _EVERYBODY))


def licence_of_readme(text: str) -> str | None:
    """Return the licence that a README names: in its section on that, in a line "License: …", in a badge.

    None where it names none, or several unclearly.
    """
    for heading in _HEADING.finditer(text):
        section, *_ = _NEXT_HEADING.split(text[heading.end() : heading.end() + SECTION], maxsplit=1)
        if licence := _of_readme_words(section):
            return licence
    for pattern in (_README_LINE, _BADGE, _BADGE_TEXT, _LINK):
        if (stated := pattern.search(text)) and (
            licence := _of_readme_words(stated["words"].replace("%20", " ").replace("--", "-"))
        ):
            return licence
    own = filter(_OF_ITSELF.search, map(words_of, map(str.splitlines, _PARAGRAPH.split(text))))
    comment = _FIRST_COMMENT.match(text)
    return next(filter(None, map(notice_of_words, own)), None) or (comment and licence_notice(comment[0]))


def _of_readme_words(section: str) -> str | None:
    words = words_of(section.splitlines())
    if PATTERNS["proprietary"].search(words):
        return PROPRIETARY
    return _of_names(named_licences(words, is_field=True), words)


def limits_in(words: str) -> int:
    """Return how often words take back what a licence grants, or name one beside it that nothing here knows."""
    patterns = map(PATTERNS.__getitem__, ("proprietary", "restricts", "other_name"))
    marked = without_names(words, _NAMED)  # a name of two licences is none that nobody knows
    return sum(len(pattern.findall(marked)) for pattern in patterns)


def notice_of_words(words: str) -> str | None:
    """Return the licence of the notice in one block of words; None without one."""
    return _of_blocks([words])


def _of_blocks(blocks: Iterable[str]) -> str | None:
    """Return the licences of blocks, which all apply; "unknown" where one is not recognised."""
    parts = list(chain.from_iterable(map(PATTERNS["other_work"].split, blocks)))
    licences: list[str] = []
    for part in parts:
        licence = _of_names(named_licences(part), part)
        if licence is None and PATTERNS["proprietary"].search(part):
            licence = PROPRIETARY
        if licence is None and PATTERNS["noncommercial"].search(part):
            licence = NON_COMMERCIAL
        # the GPL of two blocks is one licence, though the second names no version
        is_single = licence is not None and " " not in licence and IS_GNU.match(licence)
        if licence and not (is_single and is_named_again(licence, all_of(licences))):
            licences.append(licence)
    if licences and UNKNOWN_LICENCE not in licences:
        return all_of(licences)
    if licences or any(map(_is_unrecognised, parts)):
        return all_known([*licences, UNKNOWN_LICENCE])
    return None


def _of_names(names: NamedLicences, words: str) -> str | None:
    """Return the licences that one block names, joined as its words have them."""
    licences = _without_repeats(names.stated, words)
    if names.is_unclear and not any(map(IS_GNU.match, licences)):
        return UNKNOWN_LICENCE
    clauses = list(filter(COMMONS_CLAUSE.__eq__, licences))
    licence = joined_by_words(list(filter(COMMONS_CLAUSE.__ne__, licences)), words)
    if licence and not PATTERNS["for_some"].search(licence) and PATTERNS["noncommercial"].search(words):
        clauses.append(NON_COMMERCIAL)
    if licence and not any(map(PATTERNS["binding"].match, licences)) and limits_in(words):
        clauses.append(UNKNOWN_LICENCE)
    return all_known(filter(None, [licence, *clauses])) or None


def _without_repeats(stated: Sequence[str], words: str) -> list[str]:
    """Return licences without the names of BSD beside its text, which says how many clauses there are."""
    numbers = sum(licence.startswith("BSD-") for licence in stated)
    licences = []
    for licence in stated:
        is_bsd = licence.startswith("BSD")
        if is_bsd and "NCSA" in stated:
            continue
        if licence == "BSD":
            licences.append(bsd_of(words))
        elif not is_bsd or not ("BSD" in stated or (licence == "BSD-3-Clause" and numbers > 1)):
            licences.append(licence_variant(licence, words))
    return list(dict.fromkeys(licences))


def _is_unrecognised(words: str) -> bool:
    # "see LICENSE" is the statement of the folder, which is read there; another file may say anything
    elsewhere = PATTERNS["elsewhere"].search(words)
    if elsewhere and not PATTERNS["of_project"].fullmatch(elsewhere["file"]):
        return True
    is_grant = any(PATTERNS[name].search(words) for name in ("unrecognised", "other_name", "other_words"))
    return (is_grant and not PATTERNS["proprietary"].search(words)) or PATTERNS["foreign"].search(words) is not None


def joined_by_words(licences: list[str], words: str) -> str | None:
    """Join several licences: OR where the words leave a choice, else AND; "unknown" where neither is certain."""
    # "at your option any later version" is a choice of versions, not of licences, so these words are removed first
    words = PATTERNS["option_of_gnu"].sub("", words)
    is_choice = len(licences) > 1 and bool(PATTERNS["choice"].search(words) or PATTERNS["choice_of_all"].search(words))
    if not is_choice:
        return all_known(sorted(licences)) or None
    if UNKNOWN_LICENCE in licences:
        return UNKNOWN_LICENCE
    if len(licences) > _PAIR and not PATTERNS["choice_of_all"].search(words):
        return UNKNOWN_LICENCE  # a choice between two of them, and nothing says which
    # a licence of several may be a choice itself; split, each of them stands once
    return " OR ".join(dict.fromkeys(" OR ".join(sorted(licences)).split(" OR ")))


def bsd_of(words: str) -> str:
    """Return the licence of a text with the clauses of BSD."""
    if (variant := licence_variant("BSD", words)) != "BSD":
        return variant
    has_source_clause = "must retain" in words and "this software is provided" in words
    if has_source_clause and "in binary form" not in words.partition("met:")[2]:
        return "BSD-1-Clause"
    return "BSD-3-Clause" if PATTERNS["endorse"].search(words) else "BSD-2-Clause"
