"""Licences in the files that describe a project: setup.cfg, setup.py, pyproject.toml, package.json, REUSE.toml."""

import ast
import configparser
import json
import warnings
from collections.abc import Iterable, Mapping
from itertools import chain
from pathlib import PurePosixPath

from assay.files import parse_toml
from assay.licences.expressions import canonical_licence, of_classifiers, spelt_licence

MANIFESTS = frozenset({"pyproject.toml", "Cargo.toml", "package.json", "setup.cfg", "setup.py", "REUSE.toml"})


def licence_of_manifest(name: str, raw: bytes) -> str | None:
    """Return the licence that a project file of this name states; None where it states none, or is broken."""
    text = raw.decode("utf-8", "replace")
    if name == "setup.cfg":
        return _in_setup_cfg(text)
    if name == "setup.py":
        return _in_setup_py(text)
    if name == "REUSE.toml":
        return _in_reuse_toml(text)
    return _in_json(text) if name.endswith(".json") else _in_toml(text)


def licence_of_reuse_file(path: str) -> str | None:
    """Return the licence that a file of a LICENSES folder is named after (REUSE specification); None elsewhere."""
    where = PurePosixPath(path)
    if where.parent.name != "LICENSES" or where.suffix not in {".txt", ".md"}:
        return None
    return canonical_licence(where.stem)


def _in_setup_cfg(text: str) -> str | None:
    parser = configparser.RawConfigParser(strict=False)
    try:
        parser.read_string(text)
        fields = dict(parser.items("metadata"))
    except configparser.Error:
        return None
    classifiers = fields.get("classifiers", fields.get("classifier", "")).splitlines()
    return _of_fields(fields.get("license", ""), map(str.strip, classifiers))


def _in_setup_py(text: str) -> str | None:
    """Return the licence that the call of `setup` states in literals; nothing of the file is run."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # invalid escapes in other people's strings
            tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and getattr(node.func, "id", getattr(node.func, "attr", "")) == "setup":
            fields = {keyword.arg: keyword.value for keyword in node.keywords if keyword.arg}
            return _of_fields(" ".join(_strings(fields.get("license"))), _strings(fields.get("classifiers")))
    return None


def _strings(node: ast.expr | None) -> list[str]:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return [node.value]
    if isinstance(node, ast.List | ast.Tuple):
        return list(chain.from_iterable(map(_strings, node.elts)))
    return []


def _of_fields(words: str, classifiers: Iterable[str]) -> str | None:
    """Return the licence of classifiers, else of a short field."""
    names = [name for name in classifiers if name.startswith("License ::")]
    return of_classifiers(names) if names else spelt_licence(words)


def _in_reuse_toml(text: str) -> str | None:
    """Return the licence that REUSE.toml gives to all files of its folder."""
    annotations = _toml(text).get("annotations")
    for entry in annotations if isinstance(annotations, list) else ():
        match entry:
            case {"path": "**" | ["**"], "SPDX-License-Identifier": str(words)}:
                return canonical_licence(words)
    return None


def _in_toml(text: str) -> str | None:
    content = _toml(text)
    for table in ("project", "package"):
        match content.get(table):
            case {"license": str(words)} | {"license": {"text": str(words)}}:
                # Cargo once wrote MIT/Apache-2.0
                return spelt_licence(words) or canonical_licence(words.replace("/", " OR "))
            case {"classifiers": [*classifiers]}:
                return _of_fields("", [name for name in classifiers if isinstance(name, str)])
    match content.get("tool"):
        case {"poetry": {"license": str(words)}}:
            return spelt_licence(words)
    return None


def _toml(text: str) -> Mapping[str, object]:
    try:
        return parse_toml(text)
    except ValueError:
        return {}


def _in_json(text: str) -> str | None:
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        return None
    match content:
        case {"license": str(words)} | {"license": {"type": str(words)}}:
            return spelt_licence(words)
        case {"license": [*several]} | {"licenses": [*several]}:
            licences = []
            for entry in several:
                name = entry.get("type") if isinstance(entry, dict) else entry
                if isinstance(name, str):
                    licences.append(spelt_licence(name) or "")
            # one unknown licence makes the whole choice unknown
            return " OR ".join(sorted(licences)) if all(licences) and licences else None
    return None
