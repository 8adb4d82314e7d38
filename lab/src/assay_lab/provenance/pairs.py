"""Which copies between students' files are found by comparing all pairs, beside copydetect?

Files of packages (`lab/lists/gate_packages.txt`) are the honest ones. Some have a copy: with every name replaced, with
a quarter of the lines edited, with both, or half of the file in another one. Every pair of files gets a similarity; a
pair of files with text of the same honest file is true. Pairs of honest files of one package are left out, since they
may share code. AUROC and average precision over all pairs; recall: share of the true pairs that are more similar than
every other pair.

The package copydetect (0.5) is run with its defaults where an interpreter that has it is given.
"""

import json
import random
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from sklearn.metrics import average_precision_score, roc_auc_score

from assay.corpora import CorpusSettings, SourceText, code_lines, source_texts
from assay.submissions import Submission, compare_submissions
from assay_lab.clones import edit_lines, rename_all
from assay_lab.columns import attributes
from assay_lab.experiments.declaration import Data, Experiment, Result
from assay_lab.provenance.licence_gate import DONOR
from assay_lab.provenance.packages import PACKAGES, archives

SEED = 3
LINES = (60, 300)
"""Lines with code of a file."""

COPYDETECT = """
import json, sys, copydetect
detector = copydetect.CopyDetector(test_dirs=[sys.argv[1]], extensions=["py"], display_t=0, autoopen=False, silent=True)
detector.run()
matrix = detector.similarity_matrix.tolist()
json.dump({"test": list(map(str, detector.test_files)), "reference": list(map(str, detector.ref_files)),
           "matrix": matrix}, sys.stdout)
"""


@dataclass(frozen=True, slots=True)
class File:
    """One file of the class: its text, its package, the numbers of the honest files in it, and the kind of the copy."""

    text: str
    package: str
    sources: frozenset[int]
    kind: str = "honest"


def classroom(packages: Sequence[Path], honest: int, copies: int) -> list[File]:
    """Return honest files of several packages, and copies of some."""
    draw = random.Random(SEED)  # noqa: S311  no secret
    texts = []
    for archive in packages:
        package = archive.name.partition("-")[0]
        for file in source_texts([str(archive)], CorpusSettings(language=("python",))):
            size = len(code_lines(file.text, "python"))
            if LINES[0] <= size <= LINES[1]:
                texts.append((file.text, package))
    drawn = enumerate(draw.sample(texts, honest))
    files = [File(text, package, frozenset({number})) for number, (text, package) in drawn]
    numbers = draw.sample(range(honest), min(honest, copies * len(KINDS)))
    for at, number in enumerate(numbers):
        kind, change = list(KINDS.items())[at % len(KINDS)]
        beside = (number + 1) % honest
        sources = {number, beside} if kind == "half of it" else {number}
        text = change(files[number].text, files[beside].text, at)
        files.append(File(text, f"copy {at}", sources=frozenset(sources), kind=kind))
    return files


def half(text: str, other: str, number: int) -> str:
    """Return half of a file before another file."""
    lines = text.splitlines(keepends=True)
    start = number % 2 * (len(lines) // 2)
    return "".join(lines[start : start + len(lines) // 2]) + other


KINDS: Mapping[str, Callable[[str, str, int], str]] = {
    "renamed": lambda text, _, number: rename_all(text, "python", seed=number),
    "edited": lambda text, _, number: edit_lines(text, [DONOR], seed=number),
    "renamed and edited": lambda text, _, number: rename_all(
        edit_lines(text, [DONOR], seed=number), "python", seed=number
    ),
    "half of it": half,
}


def by_assay(files: Sequence[File]) -> np.ndarray:
    """Return the evidence of all pairs, [n, n], as `assay pairs` has it."""
    texts = [SourceText(str(at), file.text, "python") for at, file in enumerate(files)]
    result = compare_submissions([Submission(text.path, [text]) for text in texts])
    numbers = [int(submission.student) for submission in result.submissions]
    matrix = np.zeros((len(files), len(files)))
    matrix[np.ix_(numbers, numbers)] = result.evidence.scores
    return np.maximum(matrix, matrix.T)


def by_copydetect(files: Sequence[File], python: str) -> np.ndarray:
    """Return the larger of the two similarities that copydetect gives to each pair."""
    with tempfile.TemporaryDirectory() as folder:
        for at, file in enumerate(files):
            Path(folder, f"{at}.py").write_text(file.text, "utf-8")
        run = subprocess.run(  # noqa: S603  the user's own interpreter
            [python, "-c", COPYDETECT, folder], capture_output=True, text=True, check=True
        )
    content = json.loads(run.stdout[run.stdout.index("{") :])
    rows = [int(Path(path).stem) for path in content["test"]]
    columns = [int(Path(path).stem) for path in content["reference"]]
    matrix = np.zeros((len(files), len(files)))
    # the last axis has the share of either file
    matrix[np.ix_(rows, columns)] = np.maximum(np.array(content["matrix"]).max(axis=-1), 0)
    return np.maximum(matrix, matrix.T)


def figures(files: Sequence[File], matrix: np.ndarray) -> dict[str, object]:
    """Return the figures over all pairs of different packages."""
    packages = np.array(attributes(files, "package"))
    first, second = np.nonzero(np.triu(packages[:, None] != packages[None, :], 1))
    # the pairs of each file with all before it, file by file
    order = np.lexsort((first, second))
    first, second = first[order], second[order]
    pairs = list(zip(first.tolist(), second.tolist(), strict=True))
    truth = np.array([bool(files[left].sources & files[right].sources) for left, right in pairs])
    values = matrix[first, second]
    highest = values[~truth].max()
    kinds = np.array(attributes(files, "kind"))[second]
    found = {}
    for kind in KINDS:
        own = values[truth & (kinds == kind)]
        found[kind] = f"{(own > highest).sum()} of {len(own)}"
    return {
        "files": len(files),
        "pairs": len(pairs),
        "copies": int(truth.sum()),
        "auroc": float(roc_auc_score(truth, values)),
        "average_precision": float(average_precision_score(truth, values)),
        "recall": float((values[truth] > highest).mean()),
        "highest_of_others": float(highest),
        "found": found,
    }


def run(scale: tuple[int, int], seed: int, data: Data) -> Result:
    """Which copies between students' files are found by comparing all pairs, beside copydetect?"""
    with archives(data) as packages:
        files = classroom(packages, *scale)
    scanners: dict[str, Callable[[Sequence[File]], np.ndarray]] = {"assay": by_assay}
    if "copydetect" in data:
        scanners["copydetect"] = lambda files: by_copydetect(files, str(data["copydetect"]))
    rows = []
    for scanner, measure in scanners.items():
        start = time.process_time()
        row = {"scanner": scanner, **figures(files, measure(files))}
        rows.append(row | {"own_seconds": time.process_time() - start})
    return Result(rows)


EXPERIMENTS = (
    Experiment(
        name="provenance/pairs",
        run=run,
        scales={"smoke": (8, 2), "full": (80, 12)},
        needs={"packages": PACKAGES.format("gate_packages.txt")},
        takes={"copydetect": "a Python interpreter with the package copydetect"},
        smoke_does_without=True,
    ),
)
