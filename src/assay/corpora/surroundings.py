"""Facts about a file from the files around it: licence files and the metadata of packages and projects.

A source first shows its licence and metadata files; then the facts of each file can be asked for. The nearest folder up
the tree that states a licence decides; within one folder a machine-readable field outranks a licence text, and a text
outranks a free-text field. Files in a distribution's RECORD belong to that distribution, whatever their folder.
"""

import csv
import posixpath
import re
from collections import defaultdict
from dataclasses import dataclass, field, replace
from email.message import Message
from email.parser import HeaderParser
from pathlib import PurePosixPath

from assay.corpora.entry import NO_FACTS, Facts
from assay.licences import (
    UNKNOWN_LICENCE,
    ProjectFile,
    all_of,
    holders_of,
    is_manifest,
    licence_of_readme,
    licence_of_reuse_file,
    licence_of_text,
    read_project_file,
    stated_licence,
)

_LICENCE_FILE = re.compile(
    r"^(?:.+[-_.])?(?:UN)?LICEN[CS]E(?:[-_.][\w.+-]*)?$|^COPYING(?:[-_.][\w.+-]*)?$", re.IGNORECASE
)
_CODE = re.compile(r"\.(?:py|js|ts|java|c|h|cc|cpp|go|rs|rb|php|pl|t|sh|json|html?|xml|ya?ml|css)$", re.IGNORECASE)
_DISTRIBUTION = frozenset({"METADATA", "PKG-INFO", "RECORD"})
_README = re.compile(r"^README(?:\.(?:md|rst|txt|markdown))?$", re.IGNORECASE)
_CHOICE = re.compile(
    r"^(?:UN)?(?:LICEN[CS]E|COPYING)[-_.](?P<after>[a-z]+)|^(?P<before>[a-z]+)[-_.]LICEN[CS]E", re.IGNORECASE
)
DEBIAN_FOLDER = "debian"
"""Folder of the packaging of Debian; its file `copyright` is about the folder around it."""

REUSE_FOLDER = "LICENSES"
"""Folder of licence texts by the REUSE specification; each file is named after its SPDX identifier."""
_INSTALLED = (".dist-info", ".egg-info")
_HOSTED = re.compile(r"https?://(www\.)?(github\.com|gitlab\.com|codeberg\.org|bitbucket\.org)/[^/]+/[^/]+/?")
"""Home page that is a repository."""
_REPOSITORY_LABELS = ("source", "source code", "sourcecode", "repository", "code", "github", "gitlab")

# how binding a statement is; a field that nobody understands is at least none of the folders above
_FIELD, _TEXT, _LOOSE, _WORDS, _NOT_UNDERSTOOD = range(5)
_LOOSE_MANIFESTS = frozenset({"setup.cfg", "setup.py", "CITATION.cff", "meta.yaml"})


def describes_neighbours(path: str) -> bool:
    """Return True if a file of this name may state facts about its neighbours."""
    name = PurePosixPath(path).name
    return name in _DISTRIBUTION or is_manifest(path) or is_readme(path) or is_licence_text(path)


def _states_otherwise(path: str) -> bool:
    """Return True for a file that states something by its name; any other one was named by a manifest."""
    name = PurePosixPath(path).name
    return describes_neighbours(path) or name in _DISTRIBUTION


def is_readme(path: str) -> bool:
    """Return True for the name of a README."""
    return bool(_README.match(PurePosixPath(path).name))


def is_licence_text(path: str) -> bool:
    """Return True if a file of this name holds the text of a licence."""
    name = PurePosixPath(path).name
    return bool(licence_of_reuse_file(path) or (_LICENCE_FILE.match(name) and not _CODE.search(name)))


@dataclass(slots=True)
class Surroundings:
    """Licence and metadata files of one source that were read so far.

    Attributes:
        above: facts for files about which nothing inside the source states anything.
    """

    above: Facts = NO_FACTS
    _stated: dict[str, dict[int, list[str]]] = field(default_factory=dict)
    _choices: dict[str, list[str]] = field(default_factory=dict)
    _folders: dict[str, Facts] = field(default_factory=dict)
    _distributions: dict[str, Facts] = field(default_factory=dict)
    _listed: dict[str, str] = field(default_factory=dict)
    _by_folder: dict[str, Facts] = field(default_factory=dict)
    _homes: dict[str, str] = field(default_factory=dict)
    _texts: dict[str, str] = field(default_factory=dict)
    _holders: dict[str, frozenset[str]] = field(default_factory=dict)

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
            case _ if path in self._homes or not _states_otherwise(path):
                self._notice_text(folder, where.name, raw, path=path)
            case _ if is_manifest(path):
                home = _folder(where.parent) if where.parent.name == DEBIAN_FOLDER else folder
                strength = _LOOSE if where.name in _LOOSE_MANIFESTS or home != folder else _FIELD
                self._notice_manifest(home, strength, read_project_file(path, raw))
            case name if _README.match(name):
                self._state(folder, _WORDS, licence_of_readme(raw.decode("utf-8", "replace")))
            case _ if where.parent.name == REUSE_FOLDER:
                self._state(_folder(where.parent), _LOOSE, licence_of_reuse_file(path))
            case name:
                # PEP 639: licence texts lie in a folder inside of .dist-info
                if folder.endswith(".dist-info/licenses"):
                    folder = folder.removesuffix("/licenses")
                self._notice_text(folder, name, raw, path=path)

    def facts_of(self, path: str) -> Facts:
        """Return the facts about the file at `path`."""
        folder = self._listed.get(path) or _folder(PurePosixPath(path))
        # all files of a folder have the same facts, and files come folder by folder
        if folder not in self._by_folder:
            facts = Facts()
            for ancestor in (PurePosixPath(folder), *PurePosixPath(folder).parents):
                at = _text(ancestor)
                stated = Facts(nearest=self._licence_in(at), holders=self._holders.get(at)).over(
                    self._distributions.get(at, NO_FACTS)
                )
                facts = facts.over(stated)  # the nearer folder has precedence
            self._by_folder[folder] = facts.over(self.above)
        return self._by_folder[folder]

    def _licence_in(self, folder: str) -> str | None:
        stated = self._stated.get(folder, {})
        # a field that tools read is more binding than a text, and a text more than a word somewhere in a README
        strongest = min(stated, default=None)
        if strongest is None:
            return None
        # the full GNU licence lies beside the lesser one because that refers to it
        lesser = any(licence.startswith("LGPL-") for licence in stated[strongest])
        licences = [licence for licence in stated[strongest] if not (lesser and licence.startswith("GPL-"))]
        choices = self._choices.get(folder, [])
        if strongest != _TEXT or len(choices) < 2:  # noqa: PLR2004  one alone is no choice
            return all_of(licences)
        others = [licence for licence in licences if licence not in choices]
        return all_of([" OR ".join(sorted(choices)), *others])

    def is_named_text(self, path: str) -> bool:
        """Return True if a manifest names this file as that with its licence, and nobody has read it."""
        return path in self._homes and path not in self._texts

    @property
    def named_texts(self) -> tuple[str, ...]:
        """Paths of the files that manifests name as those with their licences, and that nobody has read."""
        return tuple(filter(self.is_named_text, self._homes))

    def _notice_manifest(self, folder: str, strength: int, manifest: ProjectFile) -> None:
        if manifest.licence == UNKNOWN_LICENCE:
            strength = _NOT_UNDERSTOOD
        self._state(folder, strength, manifest.licence)
        facts = Facts(author=manifest.author, url=manifest.url, repository=manifest.url, purl=manifest.purl)
        self._distributions[folder] = self._distributions.get(folder, NO_FACTS).over(facts)
        if manifest.file and (path := posixpath.normpath(posixpath.join(folder, manifest.file))):
            self._homes[path] = folder
            self._state(folder, strength, self._texts.get(path))

    def _notice_text(self, folder: str, name: str, raw: bytes, path: str) -> None:
        """Read a licence text; files named after their licences, as LICENSE-MIT and LICENSE-APACHE, leave a choice."""
        licence = licence_of_text(raw)
        self._texts[path] = licence or ""
        self._holders[folder] = self._holders.get(folder, frozenset()) | holders_of(raw.decode("utf-8", "replace"))
        if path in self._homes:
            self._state(self._homes[path], _FIELD, licence)
        if not _LICENCE_FILE.match(name):
            return
        self._state(folder, _TEXT, licence)
        named = _CHOICE.match(name)
        if licence and named:
            word = (named["after"] or named["before"] or "").casefold()
            choices = self._choices.setdefault(folder, [])
            # LICENSE-APACHE has to hold Apache-2.0: the word begins the identifier
            if word and licence.casefold().startswith(word[:6]) and licence not in choices:
                choices.append(licence)

    def _state(self, folder: str, strength: int, licence: str | None) -> None:
        if licence:
            stated = self._stated.setdefault(folder, defaultdict(list))
            if licence not in stated[strength]:
                stated[strength].append(licence)

    def _notice_distribution(self, folder: str, metadata: Message) -> None:
        strength = _LOOSE
        if metadata.get("License-Expression"):
            strength = _FIELD
        self._state(folder, strength, stated_licence(metadata))
        name, version = metadata.get("Name"), metadata.get("Version")
        # as the specification of package URLs has it, which keeps the points of a name
        plain = str(name).lower().replace("_", "-")
        purl = f"pkg:pypi/{plain}@{version}" if name and version else None
        self._distributions[folder] = replace(_addresses(metadata), author=_author(metadata), purl=purl)

    def _notice_record(self, folder: str, raw: bytes) -> None:
        # RECORD lists paths from the folder in which the .dist-info folder lies
        site = folder
        if folder.endswith(_INSTALLED):
            site = _folder(PurePosixPath(folder))
        for row in csv.reader(raw.decode("utf-8", "replace").splitlines()):
            # scripts are installed outside of the folder, as ../../bin/name
            if row and not row[0].startswith(("/", "..")):
                self._listed[f"{site}/{row[0]}" if site else row[0]] = folder


def _folder(path: PurePosixPath) -> str:
    return _text(path.parent)


def _text(folder: PurePosixPath) -> str:
    if not folder.parts:
        return ""
    return str(folder)


def _author(metadata: Message) -> str | None:
    """Return the first author's name, without a mail address."""
    # an author with an address stands in Author-email alone (PEP 621)
    name = metadata.get("Author") or (metadata.get("Author-email") or "").partition("<")[0]
    name = str(name).strip().strip('",').strip()
    if "@" in name:
        return None
    return name or None


def _addresses(metadata: Message) -> Facts:
    addresses = {}
    for value in map(str, metadata.get_all("Project-URL", [])):
        label, _, address = value.partition(",")
        addresses[label.strip().casefold()] = address.strip()
    repository = next((addresses[label] for label in _REPOSITORY_LABELS if label in addresses), None)
    # older setuptools write UNKNOWN for an empty field
    home: str | None = str(metadata.get("Home-page") or "UNKNOWN")
    if home == "UNKNOWN":
        home = addresses.get("homepage")
    if home and _HOSTED.fullmatch(home):
        repository = repository or home
    return Facts(repository=repository, url=repository or home)
