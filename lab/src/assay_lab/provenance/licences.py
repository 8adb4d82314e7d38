"""Which licences does assay read from real packages, by convention, beside ScanCode?

PACKAGES holds wheels, source distributions and npm archives. The truth is the licence that a package's own metadata
state: `License-Expression` or classifiers, `license` in package.json. Every other statement of a licence in the package
is read by itself: licence texts, heads of source files that mention a licence, README sections, setup.cfg and setup.py.
Recall: share of these files from which the truth is read. Precision: share of the licences read that are the truth. A
file whose licence differs from its package's (vendored code) counts as wrong for every scanner; of a choice of licences
one is enough.

ScanCode, the command of scancode-toolkit-mini, reads the same files where it is given.
"""

import json
import re
import subprocess
import tarfile
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from email.parser import HeaderParser
from functools import partial
from itertools import chain
from pathlib import Path, PurePosixPath

from license_expression import ExpressionError, get_spdx_licensing

from assay.corpora import describes_neighbours
from assay.licences import (
    licence_notice,
    licence_of_manifest,
    licence_of_readme,
    licence_of_text,
    licence_tag,
    stated_licence,
)
from assay_lab.columns import attributes
from assay_lab.evaluation.independent import wilson
from assay_lab.experiments.declaration import Data, Experiment, Result
from assay_lab.provenance.packages import PACKAGES, archives

HEADS = 5
"""Source files of a package whose head is read."""

HEAD = "head of a source file"
MENTIONS = re.compile(r"licen[cs]e|\bgpl\b|public domain|redistribution and use|permission is hereby", re.IGNORECASE)
SOURCE = (".py", ".js", ".mjs", ".ts", ".c", ".h", ".go", ".rs")
LICENSING = get_spdx_licensing()


@dataclass(frozen=True, slots=True)
class Case:
    """One file of a package that states a licence in one way."""

    package: str
    convention: str
    path: str
    raw: bytes
    truth: str


def cases_of(path: Path) -> Iterator[Case]:
    """Yield the files of one package that state a licence; none if its metadata do not."""
    files = dict(members(path))
    truth = truth_of(files)
    if truth is None:
        return
    name = re.split(r"-\d", path.name)[0]
    heads = 0
    for member, raw in files.items():
        where = PurePosixPath(member)
        text = raw[:12_000].decode("utf-8", "replace")
        convention = convention_of(where, text)
        heads += convention == HEAD
        if convention and (convention != HEAD or heads <= HEADS):
            yield Case(package=name, convention=convention, path=member, raw=raw, truth=truth)


def convention_of(where: PurePosixPath, text: str) -> str | None:
    """Return in which way a file may state a licence; None if it does not."""
    depth = len(where.parts)
    if where.name in {"setup.cfg", "setup.py"}:
        states = depth == 2 and re.search(r"licen[cs]e", text)
        return "setup.cfg, setup.py" if states else None
    if where.name.lower().startswith("readme") and depth <= 2:
        states = re.search(r"^.{0,6}licen[cs]", text, re.IGNORECASE | re.MULTILINE)
        return "README" if states else None
    is_metadata = where.suffix in {".toml", ".json"} or where.name in {"METADATA", "PKG-INFO", "RECORD"}
    if describes_neighbours(str(where)) and not is_metadata:
        return "licence text"
    is_head = where.suffix in SOURCE and MENTIONS.search(text[:3000]) and ".min." not in where.name
    return HEAD if is_head else None


def members(path: Path) -> Iterator[tuple[str, bytes]]:
    """Yield path and content of the files of an archive, at most 300 kB each."""
    if path.suffix in {".whl", ".zip"}:
        with zipfile.ZipFile(path) as archive:
            for info in archive.infolist():
                if not info.is_dir() and info.file_size <= 300_000:
                    yield info.filename, archive.read(info)
        return
    with tarfile.open(path) as packed:
        for member in packed:
            stream = packed.extractfile(member) if member.isfile() and member.size <= 300_000 else None
            if stream is not None:
                yield member.name, stream.read()


def truth_of(files: Mapping[str, bytes]) -> str | None:
    """Return the licence that the metadata of a package state."""
    for path, raw in files.items():
        where = PurePosixPath(path)
        if where.name == "METADATA" or (where.name == "PKG-INFO" and len(where.parts) == 2):
            return stated_licence(HeaderParser().parsestr(raw.decode("utf-8", "replace")))
        if path == "package/package.json":
            return licence_of_manifest("package.json", raw)
    return None


def read(case: Case) -> str | None:
    """Return the licence that assay reads from one file."""
    text = case.raw.decode("utf-8", "replace")
    readers: Mapping[str, Callable[[], str | None]] = {
        "setup.cfg, setup.py": lambda: licence_of_manifest(PurePosixPath(case.path).name, case.raw),
        "README": lambda: licence_of_readme(text),
        "licence text": lambda: licence_of_text(case.raw),
        HEAD: lambda: licence_tag(text) or licence_notice(text),
    }
    return readers[case.convention]()


def scanned(cases: list[Case], command: str) -> list[str | None]:
    """Return the licences that ScanCode reads from the same files."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder, "files")
        for number, case in enumerate(cases):
            place = root / f"{number:05}" / PurePosixPath(case.path).name
            place.parent.mkdir(parents=True)
            place.write_bytes(case.raw)
        out = Path(folder, "out.json")
        arguments_of = ["--license", "-n", "1", "--quiet", "--json", str(out), str(root)]
        subprocess.run([command, *arguments_of], check=False)  # noqa: S603  the user's own command
        content = json.loads(out.read_text())
    by_case = {}
    for entry in content["files"]:
        parts = PurePosixPath(entry["path"]).parts
        if entry["type"] == "file":
            by_case[int(parts[1])] = entry["detected_license_expression_spdx"]
    return list(map(by_case.get, range(len(cases))))


def figures(rows: list[tuple[Case, str | None]]) -> dict[str, object]:
    """Return recall and precision with 95 % intervals, exactly and by family (`-only` and `-or-later` alike)."""
    stated = [(case, text) for case, text in rows if text is not None and text != "unknown"]
    right = sum(is_same(text, case.truth) for case, text in stated)
    family = sum(is_same(text, case.truth, family=True) for case, text in stated)
    return {
        "files": len(rows),
        "stated": len(stated),
        "recall": right / max(1, len(rows)),
        "recall_interval": interval(right, len(rows)),
        "precision": right / max(1, len(stated)),
        "precision_interval": interval(right, len(stated)),
        "recall_by_family": family / max(1, len(rows)),
        "precision_by_family": family / max(1, len(stated)),
    }


def interval(successes: int, trials: int) -> list[float]:
    """Return the 95 % interval of a share."""
    share = wilson(successes, trials)
    return [share.low, share.high]


def is_same(stated: str | None, truth: str, *, family: bool = False) -> bool:
    """Return True if two expressions are equivalent, or if the truth is a choice and one option of it is stated."""
    if stated is None:
        return False
    if family:
        stated, truth = map(partial(re.sub, r"-(?:only|or-later)\b", ""), (stated, truth))
    try:
        tree, truth_tree = LICENSING.parse(stated), LICENSING.parse(truth)
    except ExpressionError:
        return stated == truth
    options = truth_tree.args if isinstance(truth_tree, LICENSING.OR) else ()
    return any(bool(LICENSING.is_equivalent(tree, option)) for option in (truth_tree, *options))


def run(scale: None, seed: int, data: Data) -> Result:
    """Which licences does assay read from real packages, by convention, beside ScanCode?"""
    with archives(data) as packages:
        cases = list(chain.from_iterable(map(cases_of, packages)))
    readings: dict[str, list[str | None]] = {"assay": list(map(read, cases))}
    if "scancode" in data:
        readings["scancode"] = scanned(cases, str(data["scancode"]))
    rows = []
    for convention in [*sorted(set(attributes(cases, "convention"))), "all"]:
        for scanner, stated in readings.items():
            own = [pair for pair in zip(cases, stated, strict=True) if convention in {pair[0].convention, "all"}]
            rows.append({"convention": convention, "scanner": scanner, **figures(own)})
    differences = []
    for case, *stated in zip(cases, *readings.values(), strict=True):
        if not is_same(stated[0], case.truth):
            about = {"package": case.package, "path": case.path, "truth": case.truth}
            differences.append(about | dict(zip(readings, stated, strict=True)))
    packages_read = len(set(attributes(cases, "package")))
    return Result([{"packages": packages_read, "conventions": rows, "not_read": differences}])


EXPERIMENTS = (
    Experiment(
        name="provenance/licences",
        run=run,
        scales={"smoke": None, "full": None},
        columns=("convention", "scanner", "files", "recall", "precision"),
        needs={
            "packages": PACKAGES.format("licence_packages.txt, licence_packages_npm.txt, licence_packages_source.txt")
        },
        takes={"scancode": "the command `scancode`, which reads the same files"},
        smoke_does_without=True,
    ),
)
