"""Archives of packages: the table of rarity that a scan ships is made from some, and others are scanned for tasks.

Packages hold hardly any benchmark, so a text of theirs that a scan says holds a task is a false row, or a true copy: a
fixed bug in the project itself, a vendored file, a data set. Each is listed with both texts, to be read.
"""

import hashlib
import random
import time
from collections.abc import Mapping, Sequence
from fnmatch import fnmatch
from itertools import chain
from typing import Any, Literal

import numpy as np
from scipy.stats import chi2

from assay.evaluation import COVERAGE
from assay.files import parse_toml
from assay.scan import ScanWorkers, UnitSequence, fit_rarity, scan_corpus
from assay_lab.experiments.declaration import Data, Experiment, Result
from assay_lab.measuring import LISTS
from assay_lab.scan.archives import packages_in, texts_in
from assay_lab.scan.recall import CHOSEN_ON, CONFIRMED_ON

A_PROJECT = 600_000
"""Bytes of a package that are counted: large packages must not be the whole table."""
RUNS: Mapping[Literal["words", "tokens"], int] = {"words": 60_000, "tokens": 25_000}
"""Form → runs of each length in the table."""
READINGS = LISTS / "scan_readings.toml"
"""What a reader said about each text of a package that a scan accuses."""
TRUE_COPY = "true copy"


def frequencies(scale: int, seed: int, data: Data) -> Result:
    """Frequent runs of words and tokens in many packages: the table of rarity that a scan ships."""
    packages = packages_in(data["packages"])[:scale]
    texts: list[list[bytes]] = []
    for package in packages:
        # the draw is the package's own, so a package more or fewer changes nothing in the others
        draw = random.Random(f"{seed} {package.name}")  # noqa: S311  a draw of an experiment
        inside = [raw for _, raw in sorted(texts_in(package))]
        draw.shuffle(inside)
        ends = np.cumsum(list(map(len, inside)))
        texts.append(inside[: int(np.searchsorted(ends, A_PROJECT)) + 1])
    stored: dict[str, Any] = {}
    rows = []
    for form, most in RUNS.items():
        projects = []
        for inside in filter(None, texts):
            projects.append([UnitSequence.of(raw, form).hashes for raw in inside])
        table = fit_rarity(form, projects, most=most)
        stored |= {f"{form}_keys": table.keys, f"{form}_bits": table.bits, f"{form}_unknown": table.unknown}
        rows.append({"form": form, "packages": len(projects), "runs": len(table.keys), "bits_unknown": table.unknown})
    path = data["work"] / "frequencies.npz"
    np.savez_compressed(path, **stored)
    size = sum(map(len, chain.from_iterable(texts)))
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    notes = [f"From {size:,} bytes of: {', '.join(package.name for package in packages)}.", f"SHA-256 {digest}."]
    return Result(rows, notes)


def false_rows(scale: int, seed: int, data: Data) -> Result:  # noqa: ARG001  nothing is drawn
    """Texts of packages that a scan says hold a task, each read; packages hold hardly any benchmark."""
    packages = packages_in(data["packages"])[:scale]
    benchmarks = [f"{name}={data[name]}" for name in (*CHOSEN_ON, *CONFIRMED_ON) if name in data]
    began = time.process_time()
    scanned = scan_corpus(
        list(map(str, packages)), benchmarks, workers=ScanWorkers(jobs=1), out=data["work"] / "accused.jsonl"
    )
    seconds = time.process_time() - began
    readings = parse_toml(READINGS.read_text("utf-8"))["reading"]
    texts: dict[str, list[str]] = {}
    tasks: dict[str, set[str]] = {}
    for task in scanned.tasks("found"):
        for place in task.places:
            text = place.source.removeprefix(f"{data['packages']}/")
            kind = _reading(readings, text, task.benchmark)
            texts.setdefault(kind, []).append(text)
            tasks.setdefault(kind, set()).add(f"{task.benchmark} {task.task_id}")
    rows: list[dict[str, object]] = []
    for kind, inside in texts.items():
        chosen = sorted(set(inside))
        rows.append({"reading": kind, "texts": len(chosen), "tasks": len(tasks[kind]), "in": chosen})
    compared = scanned.evidence.compared
    wrong = sum(len(row["in"]) for row in rows if row["reading"] != TRUE_COPY)  # type: ignore[misc,arg-type]
    total = {
        "reading": "all",
        "packages": len(packages),
        "texts": compared,
        "megabytes": scanned.size / 1e6,
        "tasks": len(scanned.evidence.tasks),
        "wrong_texts": wrong,
        # the exact upper limit of a Poisson count (Garwood 1936)
        "wrong_of_a_million": float(chi2.ppf(COVERAGE, 2 * (wrong + 1)) / 2 / compared * 1e6),
        "not_read": dict(scanned.unread),
        "seconds": seconds,
    }
    return Result([total, *rows])


def _reading(readings: Sequence[Mapping[str, str]], text: str, benchmark: str) -> str:
    """Return what a reader said about a text that is accused."""
    for reading in readings:
        if fnmatch(text, reading["text"]) and benchmark in reading["benchmark"].split():
            return reading["is"]
    return "not read"


EXPERIMENTS = (
    Experiment(
        name="scan/frequencies",
        run=frequencies,
        scales={"smoke": 5, "full": 2000},
        columns=("form", "packages", "runs", "bits_unknown"),
        needs={"packages": "a folder of archives of packages"},
        stored="scan/frequencies",
    ),
    Experiment(
        name="scan/false-rows",
        run=false_rows,
        scales={"smoke": 3, "full": 2000},
        columns=("reading", "packages", "texts", "megabytes", "tasks", "wrong_texts", "wrong_of_a_million"),
        needs={"packages": "a folder of archives of packages that the limits of the rule were not chosen on"},
        takes={name: f"files of {name}" for name in (*CHOSEN_ON, *CONFIRMED_ON)},
        stored="scan/false_rows",
    ),
)
