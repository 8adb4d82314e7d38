"""Which licences do statements in real packages make, as assay and ScanCode read them?

PACKAGES holds source distributions, wheels, npm archives and sources of Debian that nothing was chosen on, halved by a
digest of their names: the rules were mended with half `a` in sight, and half `b` was read once. A manifest, a README
with a word on its licence, two licence texts and two heads of source files that mention a licence are read from each
package, every one by itself. Where both readers say the same, that is the truth; JUDGED has the licence of the others,
as a person read it. What nobody judged is counted, and in no share. `right`: the licence of the truth, "unknown" where
the words name none. `permissive`: it passes `--allow-licence permissive`, and the truth does not.
"""

import hashlib
import json
import posixpath
import re
import subprocess
import tarfile
import tempfile
import tomllib
import zipfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from email.parser import HeaderParser
from functools import partial
from itertools import chain, product
from pathlib import Path, PurePosixPath

from assay.corpora import describes_neighbours
from assay.licences import (
    UNKNOWN_LICENCE,
    is_manifest,
    licence_of_file,
    licence_of_readme,
    licence_of_text,
    read_project_file,
    stated_licence,
)
from assay_lab.columns import attributes
from assay_lab.evaluation.independent import wilson
from assay_lab.experiments.declaration import Data, Experiment, Result
from assay_lab.provenance.licence_cases import is_permissive, is_same_licence
from assay_lab.provenance.packages import PACKAGES, archives

JUDGED = Path(__file__).parents[3] / "lists" / "licences_judged.toml"
LISTS = "licence_draw_pypi.txt, licence_draw_npm.txt, licence_draw_debian.txt"
LARGEST = 300_000
"""Bytes of a file that is read."""

AT_MOST = {"manifest": 1, "readme": 1, "text": 2, "head": 2}
"""Files of a kind that are read from a package."""

MENTIONS = re.compile(r"licen[cs]e|\bgpl\b|public domain|redistribution and use|permission is hereby", re.IGNORECASE)
README = re.compile(r"^.{0,6}licen[cs]", re.IGNORECASE | re.MULTILINE)
SOURCE = (
    ".py",
    ".js",
    ".mjs",
    ".ts",
    ".c",
    ".h",
    ".cpp",
    ".go",
    ".rs",
    ".rb",
    ".pl",
    ".pm",
    ".java",
    ".hs",
    ".R",
    ".el",
)
NOTHING = re.compile(r"LicenseRef-scancode-(?:unknown|free-unknown|generic-cla|warranty-disclaimer)[\w-]*")
"""Keys under which ScanCode reports words that name no licence."""


@dataclass(frozen=True, slots=True)
class Case:
    """One file of a package that states a licence in one way, and what lies beside it."""

    package: str
    kind: str
    path: str
    files: Mapping[str, bytes]

    @property
    def half(self) -> str:
        """The half of the package, by a digest of its name."""
        return "ab"[hashlib.sha256(self.package.encode()).digest()[0] % 2]

    @property
    def text(self) -> str:
        """The file."""
        return self.files[self.path].decode("utf-8", "replace")


def cases_of(archive: Path) -> Iterator[Case]:
    """Yield the files of one package that state a licence, those at its top first."""
    files = dict(members(archive))
    counts: Counter[str] = Counter()
    for path in sorted(files, key=lambda path: (path.count("/"), path)):
        case = Case(package=archive.name, kind=kind_of(PurePosixPath(path), files[path]), path=path, files=files)
        counts[case.kind] += 1
        if counts[case.kind] <= AT_MOST.get(case.kind, 0):
            yield case


def kind_of(where: PurePosixPath, raw: bytes) -> str:
    """Return in which way a file may state a licence; nothing if it does not."""
    text = raw[:12_000].decode("utf-8", "replace")
    # the folder of the package, and a file in it
    if len(where.parts) <= 2:
        is_metadata = is_manifest(str(where)) or where.name in {"METADATA", "PKG-INFO"}
        if is_metadata and re.search("licen[cs]e", text, re.IGNORECASE):
            return "manifest"
        if where.name.lower().startswith("readme"):
            return "readme" if README.search(text) else ""
    if describes_neighbours(str(where)):
        is_other = is_manifest(str(where)) or where.suffix in {".toml", ".json"}
        return "" if is_other or where.name in {"METADATA", "PKG-INFO", "RECORD"} else "text"
    is_head = where.suffix in SOURCE and ".min." not in where.name and MENTIONS.search(text[:3000])
    return "head" if is_head else ""


def members(archive: Path) -> Iterator[tuple[str, bytes]]:
    """Yield path and content of the files of an archive, at most 300 kB each."""
    if archive.suffix in {".whl", ".zip"}:
        with zipfile.ZipFile(archive) as packed:
            for info in packed.infolist():
                if not info.is_dir() and info.file_size <= LARGEST:
                    yield info.filename, packed.read(info)
        return
    with tarfile.open(archive) as unpacked:
        for member in unpacked:
            stream = unpacked.extractfile(member) if member.isfile() and member.size <= LARGEST else None
            if stream is not None:
                yield member.name.removeprefix("./"), stream.read()


def read(case: Case) -> str:
    """Return the licence that assay reads from one file."""
    match case.kind:
        case "manifest":
            licence = read_manifest(case)
        case "readme":
            licence = licence_of_readme(case.text)
        case "text":
            licence = licence_of_text(case.files[case.path])
        case _:
            licence = licence_of_file(None, case.text, None)
    return licence or UNKNOWN_LICENCE


def read_manifest(case: Case) -> str | None:
    """Return the licence of a manifest, or of the file that it names."""
    where = PurePosixPath(case.path)
    if not is_manifest(case.path):
        return stated_licence(HeaderParser().parsestr(case.text))
    manifest = read_project_file(case.path, case.files[case.path])
    named = posixpath.normpath(where.parent / (manifest.file or "."))
    return manifest.licence or (licence_of_text(case.files[named]) if named in case.files else None)


def scanned(cases: Sequence[Case], command: str) -> list[str]:
    """Return the licences that ScanCode reads from the same files."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder, "files")
        for number, case in enumerate(cases):
            place = root / f"{number:05}" / PurePosixPath(case.path).name
            place.parent.mkdir(parents=True)
            place.write_bytes(case.files[case.path])
        out = Path(folder, "out.json")
        arguments_of = ["--license", "-n", "1", "--quiet", "--json", str(out), str(root)]
        subprocess.run([command, *arguments_of], check=False)  # noqa: S603  the user's own command
        entries = json.loads(out.read_text())["files"]
    licences = [UNKNOWN_LICENCE] * len(cases)
    for entry in entries:
        words = entry["detected_license_expression_spdx"] if entry["type"] == "file" else None
        # without the keys that name nothing, brackets and operators alone may be left
        if words and NOTHING.sub("", words).strip("() ANDOR"):
            licences[int(PurePosixPath(entry["path"]).parts[1])] = re.sub(rf" AND {NOTHING.pattern}", "", words)
    return licences


def judged() -> dict[tuple[str, str], tuple[str, ...]]:
    """Return the licences that a person read, by archive and path; of several each is right."""
    rows = tomllib.loads(JUDGED.read_text("utf-8"))["judged"]
    return {(package, path): tuple(licence.split(" | ")) for package, path, licence in rows}


def run(scale: None, seed: int, data: Data) -> Result:
    """Which licences do statements in real packages make, as assay and ScanCode read them?"""
    with archives(data) as packages:
        cases = list(chain.from_iterable(map(cases_of, packages)))
    readings: dict[str, list[str]] = {"assay": list(map(read, cases))}
    if "scancode" in data:
        readings["scancode"] = scanned(cases, str(data["scancode"]))
    by_person, truths = judged(), []
    for case, both in zip(cases, zip(*readings.values(), strict=True), strict=True):
        is_agreed = len(both) > 1 and is_same_licence(*both)
        # where no person has read a file, a licence that both readers agree on is right
        truths.append(by_person.get((case.package, case.path), both[:1] if is_agreed else ()))
    rows = []
    for half, kind, reader in product("ab", (*AT_MOST, "all"), readings):
        own = []
        for case, licence, truth in zip(cases, readings[reader], truths, strict=True):
            if case.half == half and kind in {case.kind, "all"} and truth:
                own.append((licence, truth))
        rows.append({"half": half, "kind": kind, "reader": reader, **figures(own)})
    others = []
    for case, truth, *licences in zip(cases, truths, *readings.values(), strict=True):
        if not all(map(partial(is_allowed, truth=truth), licences)):
            about = {"half": case.half, "package": case.package, "path": case.path, "kind": case.kind, "truth": truth}
            others.append(about | dict(zip(readings, licences, strict=True)))
    counts = {"packages": len(set(attributes(cases, "package"))), "not judged": truths.count(())}
    return Result([counts | {"rows": rows, "differences": others}])


def is_allowed(licence: str, truth: Sequence[str]) -> bool:
    """Return True if a licence is one of those that are right."""
    return any(map(partial(is_same_licence, licence), truth))


def figures(pairs: Sequence[tuple[str, tuple[str, ...]]]) -> dict[str, object]:
    """Return how many readings are right, with the 95 % interval of their share, and how many wrongly permissive."""
    right = permissive = 0
    for licence, truth in pairs:
        right += is_allowed(licence, truth)
        permissive += is_permissive(licence) and not any(map(is_permissive, truth))
    share = wilson(right, len(pairs))
    counts = {"files": len(pairs), "right": right, "share": share.value, "interval": [share.low, share.high]}
    return counts | {"permissive": permissive}


EXPERIMENTS = (
    Experiment(
        name="provenance/licences",
        run=run,
        scales={"smoke": None, "full": None},
        columns=("half", "kind", "reader", "files", "right", "permissive"),
        needs={"packages": PACKAGES.format(LISTS)},
        takes={"scancode": "the command `scancode`, which reads the same files"},
        smoke_does_without=True,
    ),
)
