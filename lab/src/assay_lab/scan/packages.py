"""Tables of rarity from packages, and the texts of other packages that a scan accuses although they hold no task."""

import json
import random
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from assay.scan import Matcher, UnitSequence, fit_rarity, read_tasks
from assay_lab.experiments.declaration import Data, Experiment, Result
from assay_lab.scan.recall import CHOSEN_ON, CONFIRMED_ON

ENDINGS = (".py", ".md", ".rst", ".txt", ".js", ".ts", ".h", ".hpp", ".c", ".cc", ".cpp", ".java", ".go", ".rs", ".pyi")
LARGEST = 200_000
A_PROJECT = 600_000
"""Bytes of a project that are counted: large projects must not be the whole table."""
BATCH = 2_000_000
RUNS = {"words": 60_000, "tokens": 25_000}
"""Form → runs of each length in the table."""


def frequencies(scale: int, seed: int, data: Data) -> Result:
    """Frequent runs of words and tokens in many projects: the table of rarity that a scan ships."""
    draw = random.Random(seed)  # noqa: S311  a draw of an experiment
    stored: dict[str, Any] = {}
    rows = []
    for form in ("words", "tokens"):
        projects = []
        for folder in sorted(path for path in data["projects"].iterdir() if path.is_dir())[:scale]:
            texts, size = [], 0
            files = sorted(path for path in folder.rglob("*") if path.suffix in ENDINGS)
            draw.shuffle(files)
            for path in files:
                if size < A_PROJECT and path.is_file() and path.stat().st_size <= LARGEST:
                    raw = path.read_bytes()
                    size += len(raw)
                    texts.append(UnitSequence.of(raw, form).hashes)
            projects += [texts] if texts else []
        table = fit_rarity(form, projects, most=RUNS[form])
        stored |= {f"{form}_keys": table.keys, f"{form}_bits": table.bits, f"{form}_unknown": table.unknown}
        rows.append({"form": form, "projects": len(projects), "runs": len(table.keys)})
    np.savez_compressed(data["work"] / "frequencies.npz", **stored)
    return Result(rows)


def false_rows(scale: int, seed: int, data: Data) -> Result:  # noqa: ARG001  nothing is drawn
    """Texts of packages that a scan says hold a task, each listed; packages hold hardly any benchmark."""
    names = [f"{name}={data[name]}" for name in (*CHOSEN_ON, *CONFIRMED_ON) if name in data]
    tasks = read_tasks(names)
    matcher = Matcher(tasks)
    size = texts = 0
    accused: list[dict[str, object]] = []
    began = time.process_time()
    for batch in _batches(data["packages"], scale):
        texts += len(batch)
        size += sum(len(raw) for _, raw in batch)
        for number, match in matcher.search([raw for _, raw in batch]):
            place, task = match.place, tasks[match.task]
            line = {"text": batch[number][0], "benchmark": task.benchmark, "task": task.id, "part": place.part}
            accused.append({**line, "how": place.how, "share": place.share, "line": place.first_line})
    (data["work"] / "accused.json").write_text(json.dumps(accused, indent=1), "utf-8")
    rows = len({row["text"] for row in accused})
    # the exact upper bound of a Poisson count, 95 %
    from scipy.stats import chi2  # noqa: PLC0415  slow to import

    row = {
        "tasks": len(tasks),
        "texts": texts,
        "megabytes": size / 1e6,
        "accused texts": rows,
        "upper bound for each million texts": float(chi2.ppf(0.95, 2 * (rows + 1)) / 2 / texts * 1e6),
        "megabytes_per_second": size / 1e6 / (time.process_time() - began),
    }
    return Result([row], [json.dumps(entry) for entry in accused])


def _batches(folder: Path, most: int) -> Iterator[list[tuple[str, bytes]]]:
    """Yield names and texts of the packages in a folder, until `most` bytes are together."""
    batch: list[tuple[str, bytes]] = []
    size = total = 0
    for path in sorted(folder.glob("*.whl")):
        with zipfile.ZipFile(path) as archive:
            for entry in archive.infolist():
                if not entry.filename.endswith(ENDINGS) or entry.file_size > 10 * LARGEST:
                    continue
                raw = archive.read(entry)
                batch.append((f"{path.name.split('-')[0]}/{entry.filename}", raw))
                size += len(raw)
                if size >= BATCH:
                    total += size
                    yield batch
                    batch, size = [], 0
        if total >= most:
            return
    if batch:
        yield batch


BENCHMARKS = {name: f"files of {name}" for name in (*CHOSEN_ON, *CONFIRMED_ON)}
EXPERIMENTS = (
    Experiment(
        name="scan/frequencies",
        run=frequencies,
        scales={"smoke": 5, "full": 2000},
        needs={"projects": "a folder with a folder of sources for each project"},
        stored="scan/frequencies",
    ),
    Experiment(
        name="scan/false-rows",
        run=false_rows,
        scales={"smoke": 3_000_000, "full": 600_000_000},
        needs={"packages": "a folder of wheels"},
        takes=BENCHMARKS,
        stored="scan/false_rows",
    ),
)
