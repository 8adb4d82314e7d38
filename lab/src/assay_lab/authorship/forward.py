"""Newer human functions that the user's own older functions flag, and whether the calibration foresaw it.

Each repository is calibrated by function on itself before 2017, which splits that history by date for the check. Then
functions that were written from 2017 to 2019 (in the tree of 2020, in no tree of 2017) are judged. People wrote all of
them: every flag is a false positive, and the nominal rate is 5 %. "Without the check" is the same reference at the
nominal level.

Declared before any figure was seen: the rule is developed on `DEVELOPED` and confirmed once on `CONFIRMING`.
"""

import tempfile
from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from itertools import product
from operator import attrgetter, itemgetter
from pathlib import Path
from typing import Any

import numpy as np

from assay.authorship import (
    CodeUnit,
    Detection,
    DetectorChoice,
    Reference,
    answer_pieces,
    calibrate_authorship,
    codes_of,
    expected_flags,
    judged_rows,
    units_of,
)
from assay.corpora import texts_before
from assay.errors import DataError
from assay.evaluation import grouped_share
from assay_lab.columns import at_places, attributes, keyed
from assay_lab.experiments.declaration import Data, Experiment, Result
from assay_lab.measuring import with_ends
from assay_lab.result_rows import column, where

EARLY, LATE = date(2017, 1, 1), date(2020, 1, 1)
DEVELOPED = ("bottle", "tornado", "flask", "junit4", "express", "gin")
CONFIRMING = ("paramiko", "aiohttp", "pytest", "retrofit", "mockito", "viper", "moment", "jq")


def run(scale: tuple[int, int], seed: int, data: Data) -> Result:
    """Newer human functions flagged beside the user's own older ones, with and without the check that looks forward."""
    most, judged = scale
    rows: list[dict[str, Any]] = []
    for name in (*DEVELOPED, *CONFIRMING):
        if (data["repositories"] / name).exists():
            part = "developed" if name in DEVELOPED else "confirming"
            figures = measured(data["repositories"] / name, most=most, count=judged, seed=seed)
            rows.append({"name": name, "part": part, **figures})
    for part, way in product(("developed", "confirming"), ("with the check", "without the check")):
        projects = [row[way] for row in where(rows, part=part) if way in row]
        shares = column(filter(itemgetter("judged"), projects), "value")
        if shares:
            worst, mean = max(shares), float(np.mean(shares))
            rows.append({"name": f"{part}, {way}", "mean": mean, "worst": worst, "projects": len(shares)})
    return Result(rows)


def measured(repository: Path, most: int, count: int, seed: int) -> dict[str, Any]:
    """Return the flagged shares of the newer functions of a repository."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            reference, _ = calibrate_authorship(
                [str(repository)], Path(folder) / "past.json", before=EARLY, by="function", most=most
            )
        except DataError as error:
            return {"none": str(error)}
    units = newer_functions(repository, count, seed)
    codes, scored = codes_of(units), DetectorChoice().open().score(units, None)
    row: dict[str, Any] = {"reference": len(reference), "functions": len(units)}
    ways = {"with the check": reference, "without the check": replace(reference, checks=())}
    for way, own in ways.items():
        row[way] = flagged(answer_pieces(units, codes=codes, scored=scored, signals=(), reference=own))
    announced = attrgetter("language", "newer", "at_nominal", "flagged", "level", "effect")
    row["announced"] = list(map(announced, reference.checks))
    row["expected"] = foreseen(reference, row["with the check"]["judged"])
    return row


def newer_functions(repository: Path, count: int, seed: int) -> list[CodeUnit]:
    """Return functions of the tree of 2020 that the tree of 2017 does not have, drawn at random."""
    old, new = functions_before(repository, EARLY), functions_before(repository, LATE)
    units = [unit for text, unit in new.items() if text not in old and unit.language]
    rows = judged_rows(codes_of(units), None)
    drawn = np.sort(np.random.default_rng(seed).permutation(rows)[:count])
    return at_places(units, drawn.tolist())


def functions_before(repository: Path, day: date) -> dict[str, CodeUnit]:
    """Return text → function of the tree at a day."""
    functions: dict[str, CodeUnit] = {}
    for text in texts_before(repository, day):
        own = units_of(text.path, text=text.text, language=text.language, by="function")
        functions |= keyed(own, "text")
    return functions


def flagged(detection: Detection) -> dict[str, Any]:
    """Return the flagged functions among those with an answer, with an interval over files."""
    hits = attributes(detection.judged, "unusual")
    share = grouped_share(hits, attributes(detection.judged, "unit.path"))
    about: dict[str, Any] = {"flagged": sum(hits), "judged": len(hits), "no answer": dict(detection.abstentions)}
    return about | with_ends(share)


def foreseen(reference: Reference, pieces: int) -> Sequence[int] | None:
    """Return the expected number of flags and its interval; None without a check that gave a level."""
    checks = [check for check in reference.checks if check.level is not None]
    return expected_flags(checks, pieces) if checks and pieces else None


EXPERIMENTS = (
    Experiment(
        name="authorship/forward",
        run=run,
        scales={"smoke": (45, 20), "full": (500, 250)},
        columns=("name", ("with the check", "value"), ("without the check", "value"), "mean", "worst", "expected"),
        needs={"repositories": "a folder with the repositories " + ", ".join((*DEVELOPED, *CONFIRMING))},
        stored="authorship/forward",
    ),
)
