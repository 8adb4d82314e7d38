"""Facts about a file from the files around it: licence files and the metadata of packages and projects.

A source first shows its licence and metadata files; then the facts of each file can be asked for. The nearest folder up
the tree that states a licence decides; within one folder a machine-readable field outranks a licence text, and a text
outranks a free-text field. Files in a distribution's RECORD belong to that distribution, whatever their folder.
"""

import csv
import json
import re
import tomllib
from collections import defaultdict
from dataclasses import dataclass, field
from email.message import Message
from email.parser import HeaderParser
from pathlib import PurePosixPath

from assay.provenance.licences import all_of, canonical_licence, licence_of_text, spelt_licence, stated_licence
from assay.provenance.sources.entry import NO_FACTS, Facts

LARGEST_METADATA = 10_000_000
"""Bytes of a licence or metadata file that are read; RECORD files are the long ones."""

_LICENCE_FILE = re.compile(
    r"^(?:.+[-_.])?(?:UN)?LICEN[CS]E(?:[-_.][\w.+-]*)?$|^COPYING(?:[-_.][\w.+-]*)?$", re.IGNORECASE
)
_CODE = re.compile(r"\.(?:py|js|ts|java|c|h|cc|cpp|go|rs|rb|php|json|html?|xml|ya?ml|css)$", re.IGNORECASE)
_MANIFESTS = frozenset({"METADATA", "PKG-INFO", "RECORD", "pyproject.toml", "package.json", "Cargo.toml"})
_INSTALLED = (".dist-info", ".egg-info")
_REPOSITORY_LABELS = ("source", "source code", "sourcecode", "repository", "code", "github", "gitlab")

_FIELD, _TEXT, _LOOSE = range(3)  # how binding a statement is


def describes_neighbours(path: str) -> bool:
    """Return True if a file of this name may state facts about its neighbours."""
    name = PurePosixPath(path).name
    return name in _MANIFESTS or (bool(_LICENCE_FILE.match(name)) and not _CODE.search(name))


@dataclass(slots=True)
class Surroundings:
    """Licence and metadata files of one source that were read so far.

    Attributes:
        above: facts for files about which nothing inside the source states anything.
    """

    above: Facts = NO_FACTS
    _stated: dict[str, dict[int, list[str]]] = field(default_factory=dict)
    _folders: dict[str, Facts] = field(default_factory=dict)
    _distributions: dict[str, Facts] = field(default_factory=dict)
    _listed: dict[str, str] = field(default_factory=dict)
    _by_folder: dict[str, Facts] = field(default_factory=dict)

    def notice(self, path: str, raw: bytes) -> None:
        """Read a file for which `describes_neighbours` is True; a broken one has no effect."""
        where = PurePosixPath(path)
        folder = _folder(where)
        self._by_folder.clear()  # any folder below may change its facts
        match where.name:
            case "METADATA" | "PKG-INFO":
                self._notice_distribution(folder, HeaderParser().parsestr(raw.decode("utf-8", "replace")))
            case "RECORD":
                self._notice_record(folder, raw)
            case "pyproject.toml" | "Cargo.toml":
                self._state(folder, _FIELD, _licence_in_toml(raw))
            case "package.json":
                self._state(folder, _FIELD, _licence_in_json(raw))
            case _:
                home = folder.removesuffix("/licenses") if folder.endswith(".dist-info/licenses") else folder
                self._state(home, _TEXT, licence_of_text(raw))

    def facts_of(self, path: str) -> Facts:
        """Return the facts about the file at `path`."""
        folder = self._listed.get(path) or _folder(PurePosixPath(path))
        if folder not in self._by_folder:
            self._by_folder[folder] = self._facts_in(folder)
        return self._by_folder[folder]

    def _facts_in(self, folder: str) -> Facts:
        facts = Facts()
        for ancestor in (PurePosixPath(folder), *PurePosixPath(folder).parents):
            at = "" if str(ancestor) == "." else str(ancestor)
            stated = Facts(nearest=self._licence_in(at)).over(self._distributions.get(at, Facts()))
            facts = facts.over(stated)  # the nearer folder has precedence
        return facts.over(self.above)

    def _licence_in(self, folder: str) -> str | None:
        stated = self._stated.get(folder, {})
        strongest = min(stated, default=None)
        return None if strongest is None else all_of(stated[strongest])

    def _state(self, folder: str, strength: int, licence: str | None) -> None:
        if licence:
            stated = self._stated.setdefault(folder, defaultdict(list))
            if licence not in stated[strength]:
                stated[strength].append(licence)

    def _notice_distribution(self, folder: str, metadata: Message) -> None:
        strength = _FIELD if metadata.get("License-Expression") else _LOOSE
        self._state(folder, strength, stated_licence(metadata))
        self._distributions[folder] = Facts(author=_author(metadata), **_addresses(metadata))

    def _notice_record(self, folder: str, raw: bytes) -> None:
        site = _folder(PurePosixPath(folder)) if folder.endswith(_INSTALLED) else folder
        for row in csv.reader(raw.decode("utf-8", "replace").splitlines()):
            if row and not row[0].startswith(("/", "..")):
                self._listed[f"{site}/{row[0]}" if site else row[0]] = folder


def _folder(path: PurePosixPath) -> str:
    parent = str(path.parent)
    return "" if parent == "." else parent


def _author(metadata: Message) -> str | None:
    """Return the first author's name, without a mail address."""
    name = metadata.get("Author") or (metadata.get("Author-email") or "").partition("<")[0]
    name = str(name).strip().strip('",').strip()
    return name if name and "@" not in name else None


def _addresses(metadata: Message) -> dict[str, str | None]:
    labelled = [str(value).partition(",") for value in metadata.get_all("Project-URL", [])]
    addresses = {label.strip().casefold(): address.strip() for label, _, address in labelled}
    repository = next((addresses[label] for label in _REPOSITORY_LABELS if label in addresses), None)
    home = metadata.get("Home-page") or addresses.get("homepage")
    home = str(home) if home and home != "UNKNOWN" else None
    return {"repository": repository, "url": repository or home}


def _licence_in_toml(raw: bytes) -> str | None:
    try:
        content = tomllib.loads(raw.decode("utf-8"))
    except (ValueError, RecursionError):
        return None
    for table in ("project", "package"):
        match content.get(table):
            case {"license": str(words)} | {"license": {"text": str(words)}}:
                # Cargo once wrote MIT/Apache-2.0
                return spelt_licence(words) or canonical_licence(words.replace("/", " OR "))
    return None


def _licence_in_json(raw: bytes) -> str | None:
    try:
        content = json.loads(raw)
    except (ValueError, RecursionError):
        return None
    match content:
        case {"license": str(words)} | {"license": {"type": str(words)}}:
            return spelt_licence(words)
        case {"licenses": [*several]}:
            names = [entry.get("type") for entry in several if isinstance(entry, dict)]
            licences = [spelt_licence(name) for name in names if isinstance(name, str)]
            if not licences or None in licences:  # one unknown licence makes the whole choice unknown
                return None
            return " OR ".join(sorted(licence for licence in licences if licence))
    return None
