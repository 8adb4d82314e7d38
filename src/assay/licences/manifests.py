"""Licences in the files that describe a project, with the name of the package: setup.py, package.json, pom.xml."""

import ast
import configparser
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import partial
from itertools import chain
from operator import attrgetter
from pathlib import PurePosixPath
from urllib.parse import quote

from assay.files import parse_toml
from assay.licences.expressions import canonical_licence
from assay.licences.fields import file_named, of_fields, spelt_licence
from assay.licences.names import UNKNOWN_LICENCE, all_known, all_of, named_licences
from assay.licences.notices import licence_notice
from assay.licences.phrases import PATTERNS
from assay.licences.statements import debian_licence
from assay.licences.texts import licence_of_text
from assay.python_parser import REFUSALS, python_tree

_QUOTED = r"(?:%q[{(\[]|['\"])(?P<words>[^'\"})\]\n]+)"
_LISTED = re.compile(r"['\"]([^'\"]+)['\"]")
_COMMENT = re.compile(r"^[ \t]*(?:#|//|--|;).*", re.MULTILINE)
_CONTINUED = re.compile(r"\n[ \t]+(?![\w-]+[ \t]*:)")
_XML_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)


@dataclass(frozen=True, slots=True)
class ProjectFile:
    """Statements of a project file.

    Attributes:
        licence: SPDX expression; "unknown" where it states one that is not understood; None where it states none.
        file: path of the file with the licence, from the folder of this one.
        purl: package URL, or None.
        author: name.
        url: of the repository, else of the home page.
    """

    licence: str | None = None
    file: str | None = None
    purl: str | None = None
    author: str | None = None
    url: str | None = None


def is_manifest(path: str) -> bool:
    """Return True for the name of a project file."""
    return _reader(path) is not None


def read_project_file(path: str, raw: bytes) -> ProjectFile:
    """Return what a project file states; nothing where it is broken."""
    reader = _reader(path)
    return ProjectFile() if reader is None else reader(raw.decode("utf-8", "replace"))


def licence_of_manifest(name: str, raw: bytes) -> str | None:
    """Return the licence that a project file of this name states; None where it states none, or is broken."""
    licence = read_project_file(name, raw).licence
    return None if licence == UNKNOWN_LICENCE else licence


def licence_of_reuse_file(path: str) -> str | None:
    """Return the licence that a file of a LICENSES folder is named after (REUSE specification); None elsewhere."""
    where = PurePosixPath(path)
    if where.parent.name != "LICENSES" or where.suffix not in {".txt", ".md"}:
        return None
    return canonical_licence(where.stem)


def _field(words: str | None, file: str | None = None) -> ProjectFile:
    """Return what a field with a licence states: an expression, or a file with its text."""
    if not words or not words.strip():
        return ProjectFile(file=file)
    licence, named = spelt_licence(words), file_named(words)
    if licence is None and not named and "\n" in words.strip():
        licence = licence_of_text(words.encode())
    if licence is not None:
        return ProjectFile(licence, file=file)
    place = file or named
    return ProjectFile(None if place else UNKNOWN_LICENCE, file=place)


def _choice(licences: Iterable[str | None]) -> ProjectFile:
    """Return what a list of licences states: a choice; an unknown one makes all of it unknown."""
    distinct = set(licences)
    # a choice with a part that nobody can name may leave only that part
    if None in distinct:
        return ProjectFile(UNKNOWN_LICENCE)
    return ProjectFile(" OR ".join(sorted(filter(None, distinct))) or None)


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


_quoted = partial(quote, safe="-._~")


def _package(kind: str, name: object, version: object = None, group: object = None) -> str | None:
    """Return the package URL of a name, see https://github.com/package-url/purl-spec; None without a plain name."""
    if not kind or not _text(name) or "$" in _text(name):
        return None
    purl = f"pkg:{kind}/" + "/".join(map(_quoted, filter(None, [_text(group), *_text(name).split("/")])))
    if not _text(version) or "$" in _text(version):
        return purl
    return f"{purl}@{_quoted(_text(version))}"


def _setup_cfg(text: str) -> ProjectFile:
    parser = configparser.RawConfigParser(strict=False)
    try:
        parser.read_string(text)
        fields = dict(parser.items("metadata"))
    except configparser.Error:
        return ProjectFile()
    classifiers = fields.get("classifiers", fields.get("classifier", "")).splitlines()
    files = fields.get("license_files", fields.get("license_file", "")).split()
    licence = of_fields(fields.get("license", ""), map(str.strip, classifiers))
    return ProjectFile(licence, file=next(iter(files), None))


def _setup_py(text: str) -> ProjectFile:
    """Return what the call of `setup` states in literals; nothing of the file is run."""
    try:
        tree = python_tree(text)
    except REFUSALS:
        return ProjectFile()
    names: dict[object, ast.expr] = {}
    for node in ast.walk(tree):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                names[name] = value
        fields = {}
        for key, value in _arguments(node):
            fields[key] = _strings(names.get(getattr(value, "id", None), value))
        if not fields.keys().isdisjoint({"license", "licence", "classifiers"}):
            words = fields.get("license") or fields.get("licence", [])
            return ProjectFile(of_fields(" ".join(words), fields.get("classifiers", [])))
    return ProjectFile()


def _arguments(node: ast.AST) -> Iterable[tuple[object, ast.expr]]:
    """Return name and value of the arguments of `setup`, or those in a table that has the name of a package."""
    match node:
        case ast.Call(func=ast.Name(id="setup" | "dict") | ast.Attribute(attr="setup"), keywords=keywords):
            pairs = list(map(attrgetter("arg", "value"), keywords))
        case ast.Dict(keys=keys, values=values):
            pairs = [(getattr(key, "value", None), value) for key, value in zip(keys, values, strict=True)]
        case _:
            return ()
    # a table with a licence alone may be about anything
    is_table = isinstance(node, ast.Dict) or getattr(node.func, "id", "") == "dict"
    return () if is_table and "name" not in dict(pairs) else pairs


def _strings(node: ast.expr) -> list[str]:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return [node.value]
    if isinstance(node, ast.List | ast.Tuple):
        return list(chain.from_iterable(map(_strings, node.elts)))
    return []


def _reuse_toml(text: str) -> ProjectFile:
    """Return the licence that REUSE.toml gives to all files of its folder."""
    match _toml(text).get("annotations"):
        case [*entries]:
            for entry in entries:
                match entry:
                    case {"path": "**" | ["**"], "SPDX-License-Identifier": str(words)}:
                        return ProjectFile(canonical_licence(words))
    return ProjectFile()


def _pyproject(text: str) -> ProjectFile:
    content = _toml(text)
    match content:
        case {"project": {"license": {"file": str(file)}}}:
            return ProjectFile(file=file)
        case {"project": {"license": str(words)}} | {"project": {"license": {"text": str(words)}}}:
            return _field(words)
        case {"project": {"classifiers": [*classifiers]}}:
            return ProjectFile(of_fields("", filter(_is_text, classifiers)))
        case {"tool": {"poetry": {"license": str(words)}}}:
            return _field(words)
    return ProjectFile()


def _cargo(text: str) -> ProjectFile:
    match _toml(text):
        case {"package": {"license": str(words), **package}} | {
            "workspace": {"package": {"license": str(words), **package}}
        }:
            stated = _field(words)
        case {"package": {"license-file": str(file), **package}} | {
            "workspace": {"package": {"license-file": str(file), **package}}
        }:
            stated = ProjectFile(file=file)
        case {"package": {**package}}:
            stated = ProjectFile()
        case _:
            return ProjectFile()
    return replace(stated, purl=_package("cargo", package.get("name"), package.get("version")))


def _toml(text: str) -> Mapping[str, object]:
    try:
        return parse_toml(text)
    except ValueError:
        return {}


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _json(text: str, kind: str) -> ProjectFile:
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        return ProjectFile()
    if not isinstance(content, dict):
        return ProjectFile()
    match content:
        case {"license": str(words)} | {"license": {"type": str(words)}}:
            stated = _field(words)
        case {"license": [*several]} | {"licenses": [*several]}:
            stated = _choice(map(spelt_licence, filter(None, map(_name_in, several))))
        case _:
            stated = ProjectFile()
    match content.get("repository"):
        case {"url": address} | address:
            pass
    return replace(
        stated,
        purl=_package(kind, content.get("name"), content.get("version")),
        author=re.sub(r"\s*[<(].*", "", _name_in(content.get("author")) or "") or None,
        url=_address(address) or _address(content.get("homepage")),
    )


def _name_in(entry: object) -> str | None:
    match entry:
        case {"type": str(name)} | {"name": str(name)} | str(name):
            return name
    return None


def _address(value: object) -> str | None:
    """Return the address of a page, from the forms that npm allows for a repository."""
    if not isinstance(value, str) or not value:
        return None
    if re.fullmatch(r"(?:github:)?[\w.-]+/[\w.-]+", value):
        return f"https://github.com/{value.removeprefix('github:')}"
    value = re.sub(r"^(?:git\+)?(?:git|ssh|https?)://(?:[\w.-]+@)?|^git@(?=[\w.-]+:)", "https://", value)
    value = re.sub(r"^(https://[\w.-]+):(?!\d)", r"\1/", value)
    return value.removesuffix(".git") if value.startswith("https://") else None


def _xml(text: str, tag: str) -> Iterator[str]:
    """Yield the text of each element of this name; pom.xml and project files of .NET are written without surprises."""
    for match in re.finditer(rf"<{tag}\b[^>]*>\s*(.*?)\s*</{tag}>", text, re.DOTALL):
        yield match[1].removeprefix("<![CDATA[").removesuffix("]]>")


def _pom(text: str) -> ProjectFile:
    plain = _XML_COMMENT.sub("", text)
    licences = []
    for entry in _xml(next(_xml(plain, "licenses"), ""), "license"):
        licences.append(_of_name_and_address(" ".join(_xml(entry, "name")), " ".join(_xml(entry, "url"))))
    if not licences and (notice := _XML_COMMENT.search(text)):
        licences += filter(None, [licence_notice(notice[0])])  # that of the project, whose files all begin with it
    # a pom names its parent and what it needs by the same elements as itself
    own = re.sub(r"<(parent|dependenc\w+|build|profiles|modules|properties)>.*?</\1>", "", plain, flags=re.DOTALL)
    group = next(chain(_xml(own, "groupId"), _xml(plain, "groupId")), None)
    version = next(chain(_xml(own, "version"), _xml(plain, "version")), None)
    return replace(
        _choice(licences),
        purl=_package("maven", name=next(_xml(own, "artifactId"), None), version=version, group=group),
    )


def _of_name_and_address(name: str, address: str) -> str | None:
    licence, address = spelt_licence(name), address.lower().replace("_", " ")  # the table of names has no underscore
    # the licence of Oracle leaves a choice; its number is that of the CDDL
    if both := re.search(r"\bcddl\+gpl(?:[-. ]1[-. ](\d))?", address):
        return spelt_licence(f"CDDL 1.{both[1] or 0} or GPL 2 with the classpath exception")
    if licence is None and PATTERNS["limited"].search(name.lower()):
        return None
    by_address = named_licences(address, is_field=True).stated
    if (licence is None or licence.endswith("-1.0-or-later") or licence == "LGPL-2.0-or-later") and by_address:
        return all_of(by_address)
    return licence


def _package_xml(text: str) -> ProjectFile:
    """Return what the elements of ROS or PECL state: all apply, but those of older releases."""
    plain = re.sub(r"<changelog>.*</changelog>", "", _XML_COMMENT.sub("", text), flags=re.DOTALL)
    elements = re.findall(r"<license\b([^>]*)>([^<]*)</license>", plain)
    licences = [_of_name_and_address(name, attributes) or UNKNOWN_LICENCE for attributes, name in elements]
    return ProjectFile(all_known(licences) or None)


def _dotnet(text: str) -> ProjectFile:
    plain = _XML_COMMENT.sub("", text)
    expression = next(chain(_xml(plain, "PackageLicenseExpression"), _xml(plain, "license")), None)
    if expression and 'type="file"' in plain:
        return ProjectFile(file=expression.replace("\\", "/"))
    file = next(_xml(plain, "PackageLicenseFile"), None)
    stated = _field(expression, file and file.replace("\\", "/"))
    address = next(chain(_xml(plain, "licenseUrl"), _xml(plain, "PackageLicenseUrl")), None)
    if stated == ProjectFile() and address:
        stated = ProjectFile(_of_name_and_address("", address))
    name = next(chain(_xml(plain, "id"), _xml(plain, "PackageId")), None)
    return replace(
        stated, purl=_package("nuget", name, next(chain(_xml(plain, "version"), _xml(plain, "Version")), None))
    )


def _in_code(text: str, pattern: str, *, is_choice: bool = True) -> ProjectFile:
    """Return what the first assignment states, of one string or a list of them, which is a choice or applies whole."""
    match = re.search(pattern, _COMMENT.sub("", text), re.MULTILINE)
    if match is None:
        return ProjectFile()
    groups = match.groupdict()
    if groups.get("address"):
        return ProjectFile(_of_name_and_address(match["words"], match["address"]) or UNKNOWN_LICENCE)
    listed = groups.get("list")
    if listed is None:
        return _field(match["words"])
    licences = list(map(spelt_licence, _LISTED.findall(listed) or listed.split()))
    if is_choice or None in licences:
        return _choice(licences)
    return ProjectFile(all_of(filter(None, licences)))


def _gradle(text: str) -> ProjectFile:
    """Return what a script of Gradle states, of a variable its value: `name project.licenceName`."""
    values = dict(re.findall(r"(\w+)[ \t]*=[ \t]*(['\"][^'\"\n]+['\"])", text))
    plain = re.sub(r"(\bname[ \t=]+)(?:\w+\.)*(\w+)", lambda match: f"{match[1]}{values.get(match[2], match[2])}", text)
    return _in_code(plain, rf"\blicense[ \t\n]*\{{[^}}]*?name(?:\.set)?{_SEPARATOR}{_QUOTED}{_URL}")


def _lines(text: str, kind: str) -> ProjectFile:
    """Return what "License: …" states, in a file of lines such as DESCRIPTION."""
    pattern = r"^[ \t]*(Package|Name|Version|Licen[cs]e(?:-file)?):[ \t]*[\"']?(.*?)[\"']?[ \t]*$"
    fields = re.findall(pattern, text, re.MULTILINE | re.IGNORECASE)
    lower = {name.lower().replace("licence", "license"): value for name, value in fields}
    name = lower.get("package") or lower.get("name")
    stated = _field(lower.get("license"), lower.get("license-file"))
    return replace(stated, purl=_package(kind, name, lower.get("version")))


def _debian(text: str) -> ProjectFile:
    licence = debian_licence(text)
    return ProjectFile(licence or licence_of_text(text.encode()))


_URL = r"['\"](?:[^}]*?\burl\W+(?P<address>https?:[^'\"\s]+))?"
_SEPARATOR = r"[ \t]*(?:=>|[:=])?[ \t(]*"
_READERS: Mapping[str, Callable[[str], ProjectFile]] = {
    "pyproject.toml": _pyproject,
    "Cargo.toml": _cargo,
    "setup.cfg": _setup_cfg,
    "setup.py": _setup_py,
    "REUSE.toml": _reuse_toml,
    "package.json": lambda text: _json(text, "npm"),
    "bower.json": lambda text: _json(text, "bower"),
    "composer.json": lambda text: _json(text, "composer"),
    "jsr.json": lambda text: _json(text, "jsr"),
    "vcpkg.json": lambda text: _json(text, "vcpkg"),
    "codemeta.json": lambda text: _json(text, "generic"),
    "pom.xml": _pom,
    "*.csproj": _dotnet,
    "*.fsproj": _dotnet,
    "*.vbproj": _dotnet,
    "*.nuspec": _dotnet,
    "Directory.Build.props": _dotnet,
    "package.xml": _package_xml,
    "*.gemspec": lambda text: _in_code(
        text, rf"\.licenses?[ \t]*=[ \t]*(?:(?:%w)?[\[({{](?P<list>[^\])}}]*)[\])}}]|{_QUOTED})"
    ),
    "*.podspec": lambda text: _in_code(text, rf"\.license[ \t]*=[ \t]*(?:\{{[^}}\n]*?:?type{_SEPARATOR})?{_QUOTED}"),
    "mix.exs": lambda text: _in_code(text, r"\blicenses:[ \t]*\[(?P<list>[^\]]*)\]"),
    "meson.build": lambda text: _in_code(
        text, rf"\blicense[ \t]*:[ \t]*(?:\[(?P<list>[^\]]*)\]|{_QUOTED})", is_choice=False
    ),
    "build.sbt": lambda text: _in_code(text, rf"\blicenses[^\n\"]*{_QUOTED}(?:\"[^\n\"]*\"(?P<address>http[^\"\n]+))?"),
    "build.gradle": _gradle,
    "build.gradle.kts": _gradle,
    "project.clj": lambda text: _in_code(text, rf":license[ \t]*\{{[^}}]*?:name[ \t]*{_QUOTED}{_URL}"),
    "*.rockspec": lambda text: _in_code(text, rf"\blicense[ \t]*=[ \t]*{_QUOTED}"),
    "*.nimble": lambda text: _in_code(text, rf"^license[ \t]*=[ \t]*{_QUOTED}"),
    "DESCRIPTION": lambda text: _lines(_CONTINUED.sub(" ", text), "cran"),
    "*.cabal": lambda text: _lines(_CONTINUED.sub(" ", text), "hackage"),
    "*.spec": lambda text: _lines(text, "rpm"),
    "*.opam": lambda text: _lines(text, ""),
    "shard.yml": lambda text: _lines(text, ""),
    "CITATION.cff": lambda text: _lines(text, ""),
    "meta.yaml": lambda text: _lines(text, ""),
    "debian/copyright": _debian,
}
"""Reader by the pattern of the file's name."""


_PATTERNS = tuple(filter(re.compile(r"\*").search, _READERS))


def _reader(path: str) -> Callable[[str], ProjectFile] | None:
    *_, name = parts = PurePosixPath(path).parts[-2:] or ("",)
    return _reader_of(name) or _READERS.get("/".join(parts))


def _reader_of(name: str) -> Callable[[str], ProjectFile] | None:
    pattern = next(filter(partial(fnmatchcase, name), _PATTERNS), name)
    return _READERS.get(name) or _READERS.get(pattern)
