"""The licence of a file, from all that is stated about it.

In order: the statement of the data set or host about the repository; the file's own `SPDX-License-Identifier`, else its
notice; the nearest folder up the tree that states one, in a package's metadata, in a licence file or in its README.
Anything else is "unknown".
"""

import re
from functools import partial
from operator import ne

from assay.licences.expressions import licence_tag
from assay.licences.names import IS_GNU, UNKNOWN_LICENCE, all_known, all_of
from assay.licences.notices import PROPRIETARY, is_same_holder, licence_notice, names_no_version, reserves_rights

_OPERATORS = {"AND", "OR", "WITH"}


def own_licence(tag: str | None, notice: str | None) -> str | None:
    """Return the licence of a file by its tags, else its notice; a GNU licence in the notice counts beside others."""
    # a tag may have been added by a tool, and does not undo what a notice demands
    if tag and notice and IS_GNU.match(notice) and not IS_GNU.search(tag):
        return all_known([tag, notice])
    return tag or notice


def licence_of_file(
    metadata: str | None,
    text: str,
    nearest: str | None,
    stated: str | None = None,
    *,
    holders: frozenset[str] = frozenset(),
) -> str:
    """Return the licence of one file.

    Args:
        metadata: licence that the data set or host states for the repository.
        text: of the file. If its own tag or notice names another licence than the metadata, the result names both.
        nearest: licence that the nearest folder up the tree states.
        stated: licence of this file that another tool found; it comes first. The file's own tag or notice is named
            beside it if it names another one, and counts alone where the tool found none that it knows.
        holders: words of the names of the copyright holders of the nearest folder: another one, who reserves all
            rights in the file and grants none, is not bound by what that folder states.

    Returns:
        An SPDX expression, or "unknown".
    """
    own = own_licence(licence_tag(text), licence_notice(text))
    if own is None:
        own = _of_other_holder(text, holders)
    elif nearest is not None:
        own = _as_declared(own, nearest, text)
    if stated is not None:
        return _beside(stated, own)
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


def _of_other_holder(text: str, holders: frozenset[str]) -> str | None:
    if not reserves_rights(text) or is_same_holder(text, holders):
        return None
    return PROPRIETARY if holders else UNKNOWN_LICENCE


def _beside(stated: str, own: str | None) -> str:
    """Return the licence that a tool found, and beside it that of the file if it names another one."""
    if own is None or own == UNKNOWN_LICENCE or identifiers(own) <= identifiers(stated):
        return stated
    return all_of(filter(partial(ne, UNKNOWN_LICENCE), [stated, own]))


def _as_declared(own: str, declared: str, text: str) -> str:
    """Return the licence of a head, or that of its package where both name the same and the package says it better."""
    if _names_of(own) != _names_of(declared):
        return own
    # of the same licences the manifest says whether they are a choice
    if identifiers(own) == identifiers(declared):
        return declared
    # a head that names no version word, or a link alone, has that of the package
    return declared if IS_GNU.search(own) and names_no_version(text) else own


def _names_of(expression: str) -> frozenset[str]:
    return frozenset(map(partial(re.sub, r"-\d.*$", ""), identifiers(expression)))


def identifiers(expression: str) -> frozenset[str]:
    """Return the licences and exceptions that an SPDX expression names."""
    return frozenset(re.findall(r"[\w.+:-]+", expression)) - _OPERATORS
