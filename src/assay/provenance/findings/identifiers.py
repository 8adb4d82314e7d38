"""Identifiers of Software Heritage (SWHID 1.2): the content that a finding names can be verified anywhere.

    swh:1:cnt:94a9ed024d3859793618152ea559a168bbcbb5e2;origin=https://host/owner/name;anchor=swh:1:rev:…;path=/a.py;lines=9-15

The identifier of a content is the digest that git has for it, so `git hash-object FILE` verifies it. The qualifiers say
where the content was met, and which of its lines matched.
"""

import re
from urllib.parse import quote

from assay.escaping import web_address
from assay.provenance.findings.finding import Place

_ESCAPED = re.compile(r"[^!-~]|[%;]")
_REVISION = re.compile(r"[0-9a-f]{40}")


def place_swhid(place: Place, *, short: bool = False) -> str | None:
    """Return the identifier of the matched lines of a place; None for an index that has no digest of the content.

    Args:
        place: of a finding.
        short: without the qualifiers of the context: origin, commit and path.
    """
    origin = place.origin
    if origin.content is None:
        return None
    context = []
    if not short:
        address = web_address(origin.repository)
        context += [f"origin={_escaped(address)}"] if address else []
        # a short digest or a tag identifies no revision
        if origin.commit is not None and _REVISION.fullmatch(origin.commit):
            context += [f"anchor=swh:1:rev:{origin.commit}", f"path={_escaped('/' + origin.path)}"]
    if place.lines:
        first, last = place.lines[0].first, place.lines[-1].last
        context.append(f"lines={first}-{last}" if last > first else f"lines={first}")
    return ";".join([f"swh:1:cnt:{origin.content}", *context])


def _escaped(value: str) -> str:
    """Return the value of a qualifier: `%` and `;` are percent-encoded, and so is what is not printable ASCII."""
    return _ESCAPED.sub(lambda match: quote(match[0].encode("utf-8", "replace"), safe=""), value)
