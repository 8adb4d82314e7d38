"""Findings as bills of materials: SPDX 2.3 and CycloneDX 1.6, both in JSON.

Copies alone are listed: similar code is no material. One component stands for each package that code comes from, with
its package URL, the licence that it declares and the one concluded from its files, which lie beneath it. In SPDX each
stretch of copied lines is a snippet of the traced file, related to the file that it comes from; in CycloneDX the traced
lines are occurrences of that file. A licence that is unknown, or no SPDX expression, is NOASSERTION, and its words.
"""

import hashlib
import json
import re
import uuid
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from operator import attrgetter
from typing import Any
from urllib.parse import unquote

from assay._version import __version__
from assay.corpora import LineRange, Origin, lines_text
from assay.escaping import visible, web_address
from assay.licences import UNKNOWN_LICENCE, all_of, canonical_licence
from assay.provenance.findings.describing import headline
from assay.provenance.findings.finding import Place, SourceFinding, TracedFile
from assay.provenance.findings.identifiers import place_swhid

NOTHING_SAID = "NOASSERTION"

_PUBLIC = re.compile(r"https?://(?:[\w-]+\.)+[a-zA-Z]{2,}(?::\d+)?(?:[/?#][!-~]*)?$")
"""Addresses that tools accept as a download location."""
_HOSTED = re.compile(r"https?://(?P<host>github|gitlab|bitbucket)\.(?:com|org)/(?P<name>[\w.-]+/[\w.-]+)/?$")
_OWN_LICENCE = re.compile(r"\bLicenseRef-[\w.-]+")


def spdx_document(files: Sequence[TracedFile]) -> dict[str, Any]:
    """Return traced files as an SPDX 2.3 document."""
    packages: dict[tuple[str | None, ...], dict[str, Any]] = {}
    owners: dict[str, list[Origin]] = {}
    described: list[dict[str, Any]] = []
    snippets: list[dict[str, Any]] = []
    relations: list[dict[str, str]] = []
    for number, file in enumerate(files):
        file_id = f"SPDXRef-File-{number}"
        described.append(_spdx_file(file, file_id))
        relations.append(_relation("SPDXRef-DOCUMENT", "DESCRIBES", file_id))
        for finding in _copies(file):
            origin = finding.places[0].origin
            owners.setdefault(_owner(origin), []).append(origin)
            package = _package(finding.places[0], packages)
            for lines in finding.lines:
                snippet = f"SPDXRef-Snippet-{len(snippets)}"
                snippets.append(_snippet(finding, lines, snippet, file_id=file_id, text=file.file.text))
                kind = "VARIANT_OF" if finding.best.match.channel == "tokens" else "COPY_OF"
                relations.append(_relation(snippet, kind, package))
    whole = []
    for number, (owner, origins) in enumerate(owners.items()):
        whole.append(_spdx_owner(f"SPDXRef-Owner-{number}", owner, origins))
        for key in dict.fromkeys(map(_file_key, origins)):
            relations.append(_relation(whole[-1]["SPDXID"], "CONTAINS", packages[key]["SPDXID"]))
    # SPDX wants the terms of each LicenseRef- that a document uses
    own_licences = _OWN_LICENCE.findall(str([*whole, *packages.values(), *snippets]))
    content = {
        "files": described,
        "packages": [*whole, *packages.values()],
        "snippets": snippets,
        "relationships": relations,
        "hasExtractedLicensingInfos": [
            {"licenseId": name, "extractedText": f"Terms that their owner names {name}.", "name": name}
            for name in sorted(set(own_licences))
        ],
    }
    return {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": "sources of traced code",
        "documentNamespace": f"https://spdx.org/spdxdocs/assay-trace-{_identity(content)}",
        "creationInfo": {"created": _now(), "creators": [f"Tool: assay-{__version__}"]},
        **{name: entries for name, entries in content.items() if entries},
    }


def cyclonedx_bill(files: Sequence[TracedFile]) -> dict[str, Any]:
    """Return the sources of traced files as a CycloneDX 1.6 bill of materials."""
    components: dict[tuple[str | None, ...], tuple[Origin, dict[str, Any]]] = {}
    for file in files:
        for finding in _copies(file):
            for place in finding.places:
                _add_component(finding, place, components)
    owners: dict[str, tuple[list[Origin], list[dict[str, Any]]]] = {}
    for origin, component in components.values():
        origins, beneath = owners.setdefault(_owner(origin), ([], []))
        origins.append(origin)
        beneath.append(component)
    content = [
        _cyclonedx_owner(f"package-{number}", owner, *inside) for number, (owner, inside) in enumerate(owners.items())
    ]
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{_identity(content)}",
        "version": 1,
        "metadata": {
            "timestamp": _now(),
            "tools": {"components": [{"type": "application", "name": "assay", "version": __version__}]},
        },
        "components": content,
    }


BILLS = {"spdx": spdx_document, "cyclonedx": cyclonedx_bill}
"""Bill of materials by the name of its format."""


def _copies(file: TracedFile) -> list[SourceFinding]:
    return list(filter(attrgetter("is_copy"), file.findings))


def _spdx_file(file: TracedFile, identifier: str) -> dict[str, Any]:
    content = file.file.text.encode("utf-8", "surrogatepass")
    return {
        "SPDXID": identifier,
        "fileName": f"./{visible(file.file.path).lstrip('/')}",
        "checksums": [{"algorithm": "SHA1", "checksumValue": hashlib.sha1(content, usedforsecurity=False).hexdigest()}],
        "licenseConcluded": NOTHING_SAID,
        "copyrightText": NOTHING_SAID,
    }


def _file_key(origin: Origin) -> tuple[str | None, ...]:
    return origin.source, origin.path, origin.content, origin.licence


def _owner(origin: Origin) -> str:
    """Return the package URL of the package that a file comes from, else its repository or corpus."""
    if origin.purl:
        return origin.purl
    hosted = _HOSTED.match(origin.repository or "")
    if hosted is None:
        return origin.repository or origin.source
    # package URLs of these hosts are in lower case, with the commit as version
    commit = f"@{origin.commit}" if origin.commit else ""
    return f"pkg:{hosted['host']}/{hosted['name'].removesuffix('.git').lower()}{commit}"


def _name_and_version(owner: str) -> tuple[str, str | None]:
    if not owner.startswith("pkg:"):
        return visible(owner), None
    name, _, version = owner.partition("/")[2].partition("@")
    return visible(unquote(name)), unquote(version) or None


def _concluded(origins: Sequence[Origin]) -> str:
    """Return the licence of all files of a package that code comes from; "unknown" where one of them is."""
    licences = dict.fromkeys(origin.licence for origin in origins)
    return UNKNOWN_LICENCE if None in map(_expression, licences) else all_of(licences)


def _spdx_owner(identifier: str, owner: str, origins: Sequence[Origin]) -> dict[str, Any]:
    name, version = _name_and_version(owner)
    origin, concluded = origins[0], _concluded(origins)
    declared = origin.declared or UNKNOWN_LICENCE
    package: dict[str, Any] = {
        "SPDXID": identifier,
        "name": name,
        "downloadLocation": _download(origin.repository) or _download(origin.url) or NOTHING_SAID,
        "filesAnalyzed": False,
        "licenseConcluded": _spdx_licence(concluded),
        "licenseDeclared": _spdx_licence(declared),
        "licenseComments": visible(f"declared {declared}, its copied files {concluded}"),
        "copyrightText": NOTHING_SAID,
    }
    if version:
        package["versionInfo"] = version
    if origin.author:
        package["originator"] = f"Person: {visible(origin.author)}"
    if owner.startswith("pkg:"):
        package["externalRefs"] = [
            {"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": owner}
        ]
    return package


def _package(place: Place, packages: dict[tuple[str | None, ...], dict[str, Any]]) -> str:
    """Add the file of a place as a package, once, and return its identifier."""
    origin = place.origin
    key = _file_key(origin)
    if key not in packages:
        licence = _spdx_licence(origin.licence)
        package = {
            "SPDXID": f"SPDXRef-Package-{len(packages)}",
            "name": visible(f"{origin.repository or origin.source}/{origin.path}"),
            "downloadLocation": _download(origin.url) or _download(origin.repository) or NOTHING_SAID,
            "filesAnalyzed": False,
            "primaryPackagePurpose": "FILE",
            "licenseConcluded": licence,
            "licenseDeclared": _spdx_licence(origin.declared or UNKNOWN_LICENCE),
            "licenseComments": visible(origin.licence),
            "copyrightText": NOTHING_SAID,
        }
        if origin.commit:
            package["versionInfo"] = visible(origin.commit)
        if origin.author:
            package["originator"] = f"Person: {visible(origin.author)}"
        if origin.content:
            # the type of this reference is the identifier alone; its qualifiers are in the comment
            package["externalRefs"] = [
                {
                    "referenceCategory": "PERSISTENT-ID",
                    "referenceType": "swh",
                    "referenceLocator": f"swh:1:cnt:{origin.content}",
                    "comment": place_swhid(place),
                }
            ]
        packages[key] = package
    return str(packages[key]["SPDXID"])


def _snippet(finding: SourceFinding, lines: LineRange, identifier: str, *, file_id: str, text: str) -> dict[str, Any]:
    place = finding.places[0]
    confidence = finding.best.match.confidence
    first, last = _bytes_of(lines, text)
    licence = _spdx_licence(place.origin.licence)
    number = "not measured" if confidence is None else f"{confidence:.4g}"
    comment = f"{headline(finding)}; confidence {number}"
    if swhid := place_swhid(place):
        comment += f"; {swhid}"
    return {
        "SPDXID": identifier,
        "snippetFromFile": file_id,
        "name": visible(finding.best.part.name or finding.path),
        "comment": visible(comment),
        "licenseConcluded": licence,
        "licenseComments": visible(" and ".join(finding.conflict or finding.licences)),
        "copyrightText": NOTHING_SAID,
        "ranges": [
            {
                "startPointer": {"reference": file_id, "offset": first},
                "endPointer": {"reference": file_id, "offset": last},
            },
            {
                "startPointer": {"reference": file_id, "lineNumber": lines.first},
                "endPointer": {"reference": file_id, "lineNumber": lines.last},
            },
        ],
    }


def _bytes_of(lines: LineRange, text: str) -> tuple[int, int]:
    """Return the first and the last byte of lines, from 1, as SPDX counts them."""
    pieces = text.splitlines(keepends=True)
    first, last = (len("".join(pieces[:end]).encode("utf-8", "surrogatepass")) for end in (lines.first - 1, lines.last))
    # an empty line gets a byte too: a range cannot end before it begins
    return first + 1, max(first + 1, last)


def _relation(element: str, kind: str, other: str) -> dict[str, str]:
    return {"spdxElementId": element, "relationshipType": kind, "relatedSpdxElement": other}


def _download(address: str | None) -> str | None:
    safe = web_address(address)
    return safe if safe and _PUBLIC.match(safe) else None


def _spdx_licence(licence: str) -> str:
    return _expression(licence) or NOTHING_SAID


def _expression(licence: str) -> str | None:
    return None if licence == UNKNOWN_LICENCE else canonical_licence(licence)


def _licences(licence: str, acknowledgement: str) -> list[dict[str, Any]]:
    expression = _expression(licence)
    if expression:
        return [{"expression": expression, "acknowledgement": acknowledgement}]
    return [{"license": {"name": visible(licence), "acknowledgement": acknowledgement}}]


def _cyclonedx_owner(
    identifier: str, owner: str, origins: Sequence[Origin], beneath: list[dict[str, Any]]
) -> dict[str, Any]:
    name, version = _name_and_version(owner)
    origin, concluded = origins[0], _licences(_concluded(origins), "concluded")
    component: dict[str, Any] = {
        "type": "library",
        "bom-ref": identifier,
        "name": name,
        "licenses": _licences(origin.declared, "declared") if origin.declared else concluded,
        "evidence": {"licenses": concluded},
        "components": beneath,
    }
    if version:
        component["version"] = version
    if owner.startswith("pkg:"):
        component["purl"] = owner
    if origin.author:
        component["authors"] = [{"name": visible(origin.author)}]
    return component


def _add_component(
    finding: SourceFinding, place: Place, components: dict[tuple[str | None, ...], tuple[Origin, dict[str, Any]]]
) -> None:
    """Add the file of a place as a component, or its further occurrences."""
    origin, best = place.origin, finding.best
    key = _file_key(origin)
    if key not in components:
        licences = _licences(origin.licence, "concluded")
        component: dict[str, Any] = {
            "type": "file",
            "bom-ref": f"source-{len(components)}",
            "group": visible(origin.repository or origin.source),
            "name": visible(origin.path),
            "licenses": licences,
            "evidence": {"identity": [], "licenses": licences, "occurrences": []},
        }
        if origin.commit:
            component["version"] = visible(origin.commit)
        if origin.author:
            component["authors"] = [{"name": visible(origin.author)}]
        if address := web_address(origin.url):
            component["externalReferences"] = [{"type": "vcs", "url": address}]
        if origin.content:
            component["swhid"] = [f"swh:1:cnt:{origin.content}"]
        components[key] = origin, component
    evidence = components[key][1]["evidence"]
    words = headline(finding, place)
    if best.match.confidence is None:
        words += "; not measured"
    # the format wants a number; the words say that none was measured
    confidence = 0 if best.match.confidence is None else best.match.confidence
    method = {"technique": "source-code-analysis", "confidence": confidence, "value": visible(words)}
    identity = {
        "field": "swhid" if origin.content else "name",
        "confidence": confidence,
        "concludedValue": place_swhid(place) or visible(origin.path),
        "methods": [method],
    }
    evidence["identity"].append(identity)
    for lines in finding.lines:
        occurrence: dict[str, Any] = {
            "location": visible(finding.path),
            "line": lines.first,
            "additionalContext": f"lines {lines_text([lines])}",
        }
        if best.part.name:
            occurrence["symbol"] = visible(best.part.name)
        if occurrence not in evidence["occurrences"]:
            evidence["occurrences"].append(occurrence)


def _identity(content: Mapping[str, Any] | Sequence[Any]) -> str:
    """Return a UUID of a content: equal findings have an equal one."""
    return str(uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(content, sort_keys=True)))


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
