"""Licences that other tools found: results of ScanCode, SPDX and CycloneDX documents, REUSE annotations.

Each gives licences of files by path, some by a pattern, and some of the whole project. A path may begin with "./" or
with the folder that the tool was given. NOASSERTION says nothing; what is not an SPDX expression is "unknown".
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, product
from operator import attrgetter, eq
from pathlib import Path
from typing import Any

from pathspec import GitIgnoreSpec

from assay.errors import DataError
from assay.files import parse_json, parse_toml
from assay.licences.expressions import canonical_licence, licence_tag
from assay.licences.fields import spelt_licence
from assay.licences.names import UNKNOWN_LICENCE, all_known
from assay.licences.texts import licence_of_text

EXPECTED = (
    "expected JSON of ScanCode, SPDX (JSON or tag-value), CycloneDX JSON, REUSE.toml, dep5 or a folder with these"
)

_FIELD = re.compile(r"^(?P<name>[A-Za-z-]+):[ \t]*(?P<value>.*)$")
_LINE_NUMBERS = re.compile(r"[#:]L?\d[\dL-]*$")
_REUSE_PLACES = ("REUSE.toml", ".reuse/dep5", "debian/copyright")


@dataclass(frozen=True, slots=True)
class StatedLicences:
    """Licences of the files of one project.

    Attributes:
        by_path: SPDX expression, or "unknown", by path.
        by_pattern: pattern of paths → expression; a later one has precedence.
        of_all: of every other file; None where nothing states it.
    """

    by_path: Mapping[str, str] = field(default_factory=dict)
    by_pattern: tuple[tuple[str, str], ...] = ()
    of_all: str | None = None

    def of(self, path: str, folder: str = "") -> str | None:
        """Return the licence of a file; `folder` is the name of the folder that paths may begin with."""
        for name in (path, f"{folder}/{path}"):
            if name in self.by_path:
                return self.by_path[name]
        patterns = (licence for pattern, licence in reversed(self.by_pattern) if _matches(pattern, path))
        return next(patterns, self.of_all)


def read_licences(path: Path) -> StatedLicences:
    """Read the result of a tool, or the annotations of a folder.

    Raises:
        DataError: the file cannot be read, or is none of these.
    """
    try:
        if path.is_dir():
            return _of_folder(path)
        raw = path.read_bytes()
        text = raw.decode("utf-8", "replace")
        if path.name == "REUSE.toml":
            return _of_reuse(parse_toml(text))
        if path.suffix == ".json" or text.lstrip().startswith("{"):
            return _of_json(parse_json(raw), path)
    except (OSError, ValueError) as error:
        raise DataError(f"{path}: {getattr(error, 'strerror', None) or error}; {EXPECTED}") from error
    if "SPDXVersion:" in text:
        return _of_tag_value(text)
    if re.search(r"^Files:", text, re.MULTILINE):
        return _of_dep5(text)
    raise DataError(f"{path}: {EXPECTED}")


def _of_folder(folder: Path) -> StatedLicences:
    places = filter(Path.is_file, map(folder.joinpath, reversed(_REUSE_PLACES)))
    stated = list(map(read_licences, places))
    beside = {}
    for file in filter(Path.is_file, sorted(folder.rglob("*.license"))):
        if licence := licence_tag(file.read_text("utf-8", "replace")):
            beside[file.relative_to(folder).as_posix().removesuffix(".license")] = licence
    if not stated and not beside:
        raise DataError(f"{folder}: no REUSE.toml, .reuse/dep5, debian/copyright or .license file; {EXPECTED}")
    return StatedLicences(beside, tuple(chain.from_iterable(map(attrgetter("by_pattern"), stated))))


def _of_json(content: Any, path: Path) -> StatedLicences:  # noqa: ANN401  whatever the file holds
    match content:
        case {"bomFormat": "CycloneDX"}:
            return _of_cyclonedx(content)
        case {"spdxVersion": str()}:
            return _of_spdx(content)
        case {"files": [*files], "headers": list()} | {"files": [*files], "scancode_version": str()}:
            return _joined(_scancode_files(files))
    raise DataError(f"{path}: {EXPECTED}")


def _scancode_files(files: Iterable[Any]) -> Iterator[tuple[str, str]]:
    for entry in files:
        match entry:
            case {"type": "file", "path": str(path), "detected_license_expression_spdx": str(words)}:
                yield path, words
            case {"type": "file", "path": str(path), "licenses": [*licences]}:
                for licence in _dicts(licences):
                    match licence:
                        case {"spdx_license_key": str(name)}:
                            yield path, name


def _of_spdx(content: Mapping[str, Any]) -> StatedLicences:
    pairs: list[tuple[str, str]] = []
    for entry in _dicts(content.get("files")):
        licences = _concluded([entry.get("licenseConcluded"), *_list(entry.get("licenseInfoInFiles"))])
        pairs += product([str(entry.get("fileName"))], licences)
    match _dicts(content.get("packages")):
        case [only]:
            return _joined(pairs, _concluded([only.get("licenseConcluded"), only.get("licenseDeclared")]))
    return _joined(pairs)  # of several packages nothing says which one a file belongs to


def _of_tag_value(text: str) -> StatedLicences:
    files: list[dict[str, Any]] = []
    packages: list[dict[str, Any]] = []
    now: dict[str, Any] = {}
    for line in text.splitlines():
        field_of_line = _FIELD.match(line)
        if field_of_line is None:
            continue
        value = field_of_line["value"].strip()
        match field_of_line["name"]:
            case "FileName":
                files.append(now := {"fileName": value, "licenseInfoInFiles": []})
            case "PackageName":
                packages.append(now := {})
            case "SnippetSPDXID":  # a licence of a snippet is not that of its file
                now = {}
            case "LicenseConcluded" | "PackageLicenseConcluded":
                now["licenseConcluded"] = value
            case "PackageLicenseDeclared":
                now["licenseDeclared"] = value
            case "LicenseInfoInFile":
                now.setdefault("licenseInfoInFiles", []).append(value)
    return _of_spdx({"files": files, "packages": packages})


def _of_cyclonedx(content: Mapping[str, Any]) -> StatedLicences:
    pairs: list[tuple[str, str]] = []
    for component in _dicts(content.get("components")):
        evidence = _dict(component.get("evidence"))
        licences = _cyclonedx_licences(component) or _cyclonedx_licences(evidence)
        places = [_LINE_NUMBERS.sub("", str(place.get("location"))) for place in _dicts(evidence.get("occurrences"))]
        if component.get("type") == "file":
            places.append(str(component.get("name")))
        pairs += product(places, licences)
    return _joined(pairs, _cyclonedx_licences(_dict(_dict(content.get("metadata")).get("component"))))


def _cyclonedx_licences(holder: Mapping[str, Any]) -> list[str]:
    names = []
    for entry in _dicts(holder.get("licenses")):
        match entry:
            case {"expression": str(words)} | {"license": {"id": str(words)}} | {"license": {"name": str(words)}}:
                names.append(words)
    return names


def _of_reuse(content: Mapping[str, Any]) -> StatedLicences:
    pairs: list[tuple[str, str]] = []
    for entry in _dicts(content.get("annotations")):
        licences = _texts(entry.get("SPDX-License-Identifier"))
        if licences:
            pairs += product(_texts(entry.get("path")), [_all(licences)])
    return StatedLicences({}, tuple(pairs))


def _of_dep5(text: str) -> StatedLicences:
    pairs: list[tuple[str, str]] = []
    texts = dict(re.findall(r"^License:[ \t]*(\S[^\n]*)\n((?:[ \t]+[^\n]*\n?)+)", text, re.MULTILINE))
    for paragraph in re.split(r"\n[ \t]*\n", text):
        unfolded = re.sub(r"\n[ \t]+", " ", paragraph)
        fields = {}
        for line in unfolded.splitlines():
            name, _, value = line.partition(":")
            fields[name.strip()] = value.strip()
        licence = re.match(r"License:[ \t]*([^\n]*)", paragraph[paragraph.find("License:") :])
        if "Files" in fields and licence and licence[1].strip():
            name = licence[1].strip()
            expression = _debian(name)
            if expression == UNKNOWN_LICENCE and name in texts:
                expression = licence_of_text(texts[name].replace("\n .\n", "\n\n").encode()) or UNKNOWN_LICENCE
            if expression == UNKNOWN_LICENCE:
                parts = re.split(r",? and ", name)
                expression = spelt_licence(name) or all_known(map(_debian, parts))
            pairs += product(fields["Files"].replace("\\", "").split(), [expression])
    return StatedLicences({}, tuple(pairs))


def debian_licence(text: str) -> str | None:
    """Return the licence that debian/copyright gives to all files but those of the packaging; None without one."""
    return dict(_of_dep5(text).by_pattern).get("*")


def _debian(words: str) -> str:
    """Return the SPDX expression of a short name of Debian: `GPL-2+ or Expat`."""
    words = re.sub(r"\b([AL]?GPL|GFDL)-(\d)(?![\d.])", r"\1-\2.0", words.replace("_OR_", " OR "))
    words = re.sub(r"\bExpat\b", "MIT", re.sub(r"\bArtistic\b(?!-)", "Artistic-1.0-Perl", words))
    words = re.sub(r"\bBSD-([234])-clause\b", r"BSD-\1-Clause", words)
    return _expression(re.sub(r"\b(and|or|with)\b", lambda match: match[0].upper(), words.replace(",", "")))


def _joined(pairs: Iterable[tuple[str, str]], of_all: Sequence[str] = ()) -> StatedLicences:
    """Return the licences of files, and those of the whole project, as far as they are stated."""
    by_path: dict[str, list[str]] = defaultdict(list)
    for path, words in pairs:
        by_path[path.removeprefix("./").lstrip("/")].append(words)
    return StatedLicences(dict(zip(by_path, map(_all, by_path.values()), strict=True)), of_all=_all(of_all) or None)


def _all(licences: Iterable[str]) -> str:
    """Return licences that all apply as one expression; nothing without any."""
    distinct = list(dict.fromkeys(map(_expression, licences)))
    if len(distinct) == 1:
        return distinct[0]
    # what is unknown stands last and is no expression, so it has no brackets
    distinct.sort(key=partial(eq, UNKNOWN_LICENCE))
    return " AND ".join(map("({})".format, distinct)).replace(f"({UNKNOWN_LICENCE})", UNKNOWN_LICENCE)


def _expression(words: str) -> str:
    return canonical_licence(words) or UNKNOWN_LICENCE


def _concluded(licences: Sequence[object]) -> list[str]:
    """Return the first licence, that was concluded, or the others where it says nothing."""
    stated = [words for words in licences if isinstance(words, str) and words != "NOASSERTION"]
    if stated and stated[0] is licences[0]:
        return stated[:1]
    return stated


def _matches(pattern: str, path: str) -> bool:
    # both formats anchor a pattern at the top; as in .gitignore, that of a folder covers what lies in it
    anchored = f"/{pattern.removeprefix('./')}"
    return pattern in {"*", "**"} or GitIgnoreSpec.from_lines([anchored]).match_file(path)


def _dict(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _dicts(value: object) -> list[dict[str, Any]]:
    return list(filter(None, map(_dict, _list(value))))


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _texts(value: object) -> list[str]:
    """Return one text, or each entry of a list as text."""
    return [value] if isinstance(value, str) else list(map(str, _list(value)))
