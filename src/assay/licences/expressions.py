"""SPDX expressions, and the tags of files that hold them."""

import re
from collections.abc import Iterator
from itertools import chain

from packaging.licenses import InvalidLicenseExpression, canonicalize_license_expression

from assay.licences.names import UNKNOWN_LICENCE, all_known

HEAD = 4096
"""Characters at the top of a file in which its licence tag is searched for."""

LONGEST_EXPRESSION = 10_000
"""Characters; those of whole distributions of Linux have some thousand."""

_TAG = re.compile(
    r"^(?P<before>[^\r\n]*?)SPDX-Licen[cs]e-Identifier[ \t]*:[ \t]*(?P<tag>[^\r\n]+)", re.IGNORECASE | re.MULTILINE
)
# Before a tag: marks alone, or a line that begins as a comment.
_IN_COMMENT = re.compile(
    r"[\W_]*|\s*(?:dnl|@?rem)\s+|\s*(?:#|//|/\*|\*|--|;|%|<!--|\(\*|\.\.|!|\"\"\"|\'\'\').*", re.IGNORECASE
)
# Strings of several lines that are values, and what REUSE ignores.
_STRINGS = re.compile(
    r"(?<=[=(,+:]) *(\"\"\"|\'\'\'|`)(?:(?!\1).)*\1|REUSE-IgnoreStart.*?(?:REUSE-IgnoreEnd|\Z)", re.DOTALL
)
_TAG_ENDS = re.compile(r"\s*(?:\*/|-->|--\]\]|[*}\"'`]|\*\)|\\n).*$")
_SEVERAL = re.compile(r"\s*[,;#]\s*")
_GNU_ONLY = re.compile(r"\b((?:[AL]?GPL|GFDL)-\d\.\d)(?![\w.+-])")
_GNU_LATER = re.compile(r"\b((?:[AL]?GPL|GFDL)-\d\.\d)\+(?![\w.+-])")


def canonical_licence(expression: str) -> str | None:
    """Return an SPDX expression in its canonical spelling; None if the text is not an expression.

    The GNU licences' deprecated identifiers become today's: `GPL-3.0` is `GPL-3.0-only`, `GPL-3.0+` `GPL-3.0-or-later`.
    """
    if len(expression) > LONGEST_EXPRESSION:
        return None
    try:
        canonical = str(canonicalize_license_expression(expression.strip()))
    except InvalidLicenseExpression:
        return None
    return _GNU_LATER.sub(r"\1-or-later", _GNU_ONLY.sub(r"\1-only", canonical))


def licence_tag(text: str) -> str | None:
    """Return the licence in the `SPDX-License-Identifier` lines near the top of a file; None without such a line.

    Several tags are joined by AND. A tag that is not an SPDX expression gives "unknown", not the licence of its folder;
    the GNU licences of the others apply all the same.
    """
    head = text[:HEAD]
    if "spdx-licen" not in head.casefold():
        return None
    matches = _TAG.finditer(_STRINGS.sub("", head))
    tags = (match["tag"] for match in matches if _IN_COMMENT.fullmatch(match["before"]))
    return all_known(chain.from_iterable(map(_in_tag, tags))) or None


def _in_tag(tag: str) -> Iterator[str]:
    """Yield the licences of a tag: of its first expression, and of others behind a comma or a further comment."""
    first, *others = _SEVERAL.split(_TAG_ENDS.sub("", tag))
    yield canonical_licence(first) or UNKNOWN_LICENCE
    yield from filter(None, map(canonical_licence, others))
