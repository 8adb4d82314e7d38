"""Is the licence of a file what a reader with the law in mind says?

`lab/lists/licence_cases.toml` has heads of files and manifests with their licences, written before the rules. A head is
a file of a folder whose LICENSE is MIT, of "Somebody"; a manifest lies alone beside a source file that states nothing.
The cases are halved by a digest; the rules were chosen with half `a` in sight, and half `b` confirms. `right`: the
licence is one of those that the case allows. `permissive`: it passes `--allow-licence permissive`, and none that the
case allows does.

ScanCode reads the same heads where its program is given: its answer, or that of the folder where it finds nothing.
"""

import hashlib
import json
import subprocess
import tempfile
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path, PurePosixPath

from identify.vendor.licenses import LICENSES

from assay.corpora import CorpusSettings, Entry, open_sources
from assay.errors import AssayError
from assay.licences import UNKNOWN_LICENCE, licence_of_file, read_rules
from assay_lab.evaluation.independent import wilson
from assay_lab.experiments.declaration import Data, Experiment, Result
from assay_lab.provenance.licence_heads import LICENSING

CASES = Path(__file__).parents[3] / "lists" / "licence_cases.toml"
TEXTS: Mapping[str, str] = {"gpl3": dict(LICENSES)["GPL-3.0"], "mit": dict(LICENSES)["MIT"]}
_WORDS: Mapping[str, str] = {"proprietary": "LicenseRef-scancode-proprietary-license"}


@dataclass(frozen=True, slots=True)
class Case:
    """A folder of files, one of which has a licence.

    Attributes:
        part: head or manifest.
        kind: of the difficulty.
        right: licences of which each is right.
        path: of the file that is asked about.
        files: text by path.
    """

    part: str
    kind: str
    right: tuple[str, ...]
    path: str
    files: Mapping[str, str] = field(default_factory=dict)

    @property
    def half(self) -> str:
        """The half of the case, by a digest of its text."""
        return "ab"[hashlib.sha256(str(self.files).encode()).digest()[0] % 2]


def cases_of(path: Path = CASES) -> Iterator[Case]:
    """Yield the cases of the list."""
    table = tomllib.loads(path.read_text("utf-8"))
    mit = f"Copyright (c) 2020 Somebody\n\n{TEXTS['mit']}"
    for kind, right, name, text in table["head"]:
        files = {"LICENSE": mit, name: text.replace("\\n", "\n")}
        yield Case(part="head", kind=kind, right=tuple(right.split(" | ")), path=name, files=files)
    for kind, right, name, text, *further in table["manifest"]:
        files = {name: text.replace("\\n", "\n"), "src/a.py": "x = 1\n"}
        files |= {further[0]: TEXTS[further[1]]} if further else {}
        yield Case(part="manifest", kind=kind, right=tuple(right.split(" | ")), path="src/a.py", files=files)


def read(case: Case) -> str:
    """Return the licence that assay reads of a file in its folder."""
    with tempfile.TemporaryDirectory() as folder:
        for path, text in case.files.items():
            place = Path(folder, path)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text, "utf-8")
        for source in open_sources([folder], CorpusSettings()):
            for entry in source.files():
                if isinstance(entry, Entry) and entry.path == case.path:
                    facts, text = entry.facts, case.files[case.path]
                    return licence_of_file(facts.metadata, text, facts.nearest, holders=facts.holders or frozenset())
    return "not read"


def scanned(cases: Sequence[Case], program: str) -> list[str]:
    """Return what ScanCode reads of the same heads, or the licence of the folder."""
    with tempfile.TemporaryDirectory() as folder:
        for number, case in enumerate(cases):
            # a number as the name: nothing about the case shows but its suffix
            Path(folder, f"{number:04}{PurePosixPath(case.path).suffix}").write_text(case.files[case.path], "utf-8")
        out = Path(folder, "out.json")
        arguments_of = ["--license", "-n", "1", "--quiet", "--strip-root", "--json", str(out), folder]
        subprocess.run([program, *arguments_of], check=False)  # noqa: S603  the user's own command
        entries = json.loads(out.read_text())["files"]
    by_name = {PurePosixPath(entry["path"]).stem: entry.get("detected_license_expression_spdx") for entry in entries}
    # the folder of every case is under MIT
    return [by_name.get(f"{number:04}") or "MIT" for number in range(len(cases))]


def is_right(licence: str, case: Case) -> bool:
    """Return True if a licence is one of those that the case allows."""
    return any(is_same_licence(licence, right) for right in case.right)


def is_same_licence(licence: str, right: str) -> bool:
    """Return True if two expressions are equivalent; "proprietary" is any word for it."""
    try:
        parsed = (LICENSING.parse(_WORDS.get(words, words)) for words in (licence, right))
        return bool(LICENSING.is_equivalent(*parsed))
    except Exception:  # noqa: BLE001  a reader's words need not be an expression
        return licence == right


def is_permissive(licence: str) -> bool:
    """Return True if a licence passes a gate that allows permissive ones alone."""
    try:
        return licence not in {UNKNOWN_LICENCE, "proprietary"} and not read_rules([], ["permissive"]).deny(licence)
    except AssayError:
        return False


def run(scale: None, seed: int, data: Data) -> Result:
    """Is the licence of a file what a reader with the law in mind says?"""
    cases = list(cases_of())
    heads = [case for case in cases if case.part == "head"]
    readings = [("assay", case, read(case)) for case in cases]
    if "scancode" in data:
        readings += [("scancode", *pair) for pair in zip(heads, scanned(heads, str(data["scancode"])), strict=True)]
    rows, wrong = [], []
    readers = dict.fromkeys(reader for reader, *_ in readings)
    for reader, part, half in product(readers, ("head", "manifest"), ("a", "b")):
        about = {"reader": reader, "part": part, "half": half}
        own = [(case, licence) for by, case, licence in readings if (by, case.part, case.half) == (reader, part, half)]
        if own:
            rows.append(about | counted(own))
            wrong += [about | error for error in errors(own)]
    return Result([*rows, {"wrong": wrong}])


def counted(readings: Sequence[tuple[Case, str]]) -> dict[str, object]:
    """Return how many readings are right, and how many pass a gate that no right one would."""
    right = sum(is_right(licence, case) for case, licence in readings)
    permissive = [is_permissive(licence) and not any(map(is_permissive, case.right)) for case, licence in readings]
    share = wilson(right, len(readings))
    counts = {"cases": len(readings), "right": right, "share": share.value}
    return {**counts, "interval": [share.low, share.high], "permissive": sum(permissive)}


def errors(readings: Sequence[tuple[Case, str]]) -> Iterator[dict[str, object]]:
    """Yield what is known of each reading that is not right."""
    for case, licence in readings:
        if not is_right(licence, case):
            file = next(iter(case.files)) if case.part == "manifest" else case.path
            yield {"kind": case.kind, "right": list(case.right), "read": licence, "file": file}


EXPERIMENTS = (
    Experiment(
        name="provenance/licence_cases",
        run=run,
        scales={"smoke": None, "full": None},
        columns=("reader", "part", "half", "cases", "right", "permissive"),
        needs={},
        takes={"scancode": "the command `scancode`, which reads the same heads"},
        stored="provenance/licence_cases",
    ),
)
