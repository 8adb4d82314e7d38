"""Authorship: human patches of before 2020 that `assay detect --patch` flags, after calibration on still older code.

Each repository is calibrated on itself before 2017, three times: on the added lines of older commits, on functions,
and on whole files (`--by patch`, `function` and `file`). Then the added lines of commits from 2017 to 2019, drawn at
random, are judged given the file around them. People wrote all of them, so every flag is a false positive; the nominal
rate is 5 %. The pieces of a language and length class in a reference are bounded.

`declared` are repositories with commits of today: the share of commits since 2024 that declare a generator, by kind of
signal. These are facts about commit messages, no judgements of style.
"""

import tempfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import stdtrit

from assay.authorship import (
    FEWEST,
    NOMINAL,
    SHORTEST,
    CodeUnit,
    Commit,
    DetectorChoice,
    Reference,
    ReferenceUnit,
    answer_pieces,
    calibrate_authorship,
    codes_of,
    in_commits,
    length_class,
    past_units,
)
from assay.corpora import git_output, patches_before
from assay.errors import DataError
from assay.evaluation import flag_rate
from assay_lab.columns import attributes
from assay_lab.experiments.declaration import Data, Experiment, Result
from assay_lab.mappings import map_values
from assay_lab.measuring import with_ends
from assay_lab.result_rows import column

EARLY, LATE = date(2017, 1, 1), date(2020, 1, 1)
SINCE = date(2024, 1, 1)
UNITS: tuple[ReferenceUnit, ...] = ("patch", "function", "file")


@dataclass(frozen=True, slots=True)
class Piece:
    """The added lines of a commit in one file.

    Attributes:
        repository: its name.
        commit: the first digits of its digest.
        language: of the file.
        tokens: of the added lines.
        bounds: unit of a reference → bound on the share of it that scores as high; a unit without an answer is missing.
    """

    repository: str
    commit: str
    language: str
    tokens: int
    bounds: Mapping[ReferenceUnit, float] = field(default_factory=dict)


def measured(
    repository: Path, unit: ReferenceUnit, *, commits: int, most: int, older: Sequence[Piece]
) -> tuple[list[Piece], dict[str, Any]]:
    """Return the pieces of a repository with their bounds for another unit, and a description of the reference.

    Args:
        repository: its root.
        unit: of the reference.
        commits: that the pieces are drawn from.
        most: pieces of a language and length class in the reference.
        older: the pieces with their bounds for other units; empty where there are none yet.
    """
    units, owners = later_units(repository, commits)
    codes = codes_of(units)
    pieces = list(older)
    if not older:
        for added, owner, code in zip(units, owners, codes, strict=True):
            language, tokens = str(added.language), len(code.tokens)
            pieces.append(Piece(repository=repository.name, commit=owner[:12], language=language, tokens=tokens))
    try:
        reference = reference_of(repository, unit, most)
    except DataError as error:
        return pieces, {"none": str(error)}
    scored = DetectorChoice().open().score(units, None)
    detection = answer_pieces(units, codes=codes, scored=scored, signals=(), reference=reference)
    for at, row in enumerate(detection.results):
        if row.judgement and row.judgement.bound is not None:
            pieces[at] = replace(pieces[at], bounds={**pieces[at].bounds, unit: row.judgement.bound})
    return pieces, {
        "texts": len(reference),
        "cells": {", ".join(key): len(scores) for key, scores in reference.cells.items()},
        "realised": detection.realised.rate.value if detection.realised else None,
        "abstained": dict(detection.abstentions),
    }


def reference_of(repository: Path, unit: ReferenceUnit, most: int) -> Reference:
    """Return the code of a repository before 2017."""
    with tempfile.TemporaryDirectory() as folder:
        past = Path(folder) / "past.json"
        return calibrate_authorship([str(repository)], past, before=EARLY, by=unit, most=most)[0]


def later_units(repository: Path, commits: int) -> tuple[list[CodeUnit], list[str]]:
    """Return the added lines of later commits by file that people wrote and that are long enough, and the commits."""
    units, owners = list[CodeUnit](), list[str]()
    for past in patches_before(repository, LATE, after=EARLY, most=commits):
        own = list(filter(attrgetter("language"), past_units(past)))
        long = [unit for unit, code in zip(own, codes_of(own), strict=True) if len(code.tokens) >= SHORTEST]
        units += long
        owners += [past.commit] * len(long)
    return units, owners


def recent_commits(repository: Path) -> list[Commit]:
    """Return the commits since 2024, merges left out."""
    # a message may hold any line, so NUL ends each field
    shape = "--format=%H%x00%an%x00%ae%x00%B%x00"
    log = git_output(repository, "log", "--no-merges", f"--since={SINCE.isoformat()}T00:00:00Z", shape, "HEAD")
    fields = list(map(str.strip, log.split("\0")[:-1]))
    return list(map(Commit, fields[::4], fields[1::4], fields[2::4], fields[3::4]))


def declared(repository: Path) -> dict[str, Any]:
    """Return the commits since 2024 and those that declare a generator, by kind of signal."""
    commits = recent_commits(repository)
    kinds = Counter(attributes(in_commits(commits), "kind"))
    return {"commits": len(commits), "declaring": sum(kinds.values()), "kinds": dict(kinds)}


def rates(pieces: Sequence[Piece], references: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return the flagged shares of all pieces and of parts of them, for each unit of a reference."""

    def own_class(piece: Piece) -> str:
        cells = references[piece.repository].get("patch", {}).get("cells", {})
        own = cells.get(f"{piece.language}, {length_class(piece.tokens)}", 0)
        return f"{FEWEST} or more" if own >= FEWEST else f"fewer than {FEWEST}"

    parts: dict[str, Callable[[Piece], str]] = {
        "repository": lambda piece: piece.repository,
        "language": lambda piece: piece.language,
        "length": lambda piece: str(length_class(piece.tokens)),
        "older patches of its language and length": own_class,
    }
    by_part = {}
    for part, of in parts.items():
        groups: dict[str, list[Piece]] = {}
        for piece in pieces:
            groups.setdefault(of(piece), []).append(piece)
        by_part[part] = map_values(_rates, dict(sorted(groups.items())))
    over = {unit: mean_share(column(by_part["repository"].values(), unit)) for unit in UNITS}
    return {"all": _rates(pieces), "mean over repositories": over} | by_part


def mean_share(rows: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Return the mean of the shares of repositories with Student's interval of 95 %."""
    shares = np.array([row["flagged"] / row["judged"] for row in rows if row["judged"]])
    if len(shares) < 2:
        return {}
    error = float(shares.std(ddof=1) / np.sqrt(len(shares)) * stdtrit(len(shares) - 1, 0.975))
    mean = float(shares.mean())
    return {"repositories": len(shares), "share": mean, "low": max(0.0, mean - error), "high": mean + error}


def _rates(pieces: Sequence[Piece]) -> dict[str, Any]:
    """Return the pieces and their commits, and for each unit of a reference the share of bounds of at most 5 %."""
    row: dict[str, Any] = {"pieces": len(pieces), "commits": len(set(attributes(pieces, "commit")))}
    for unit in UNITS:
        judged = [piece for piece in pieces if unit in piece.bounds]
        bounds = np.array(column(attributes(judged, "bounds"), unit))
        rate = flag_rate(bounds, NOMINAL, groups=tuple(attributes(judged, "commit")))
        row[unit] = {"flagged": rate.flagged, "judged": rate.samples, **with_ends(rate.rate)}
    return row


def run(scale: tuple[int, int], seed: int, data: Data) -> Result:
    """Human patches of before 2020 that `assay detect --patch` flags, after calibration on still older code."""
    commits, most = scale
    pieces: list[Piece] = []
    references: dict[str, dict[str, Any]] = {}
    for repository in folders_in(data["repositories"]):
        own: list[Piece] = []
        of_units = references.setdefault(repository.name, {})
        for unit in UNITS:
            own, of_units[unit] = measured(repository, unit, commits=commits, most=most, older=own)
        pieces += own
    rows: list[dict[str, Any]] = [{"part": part, **row} for part, row in rates(pieces, references).items()]
    rows += ({"part": "reference", "repository": name, **row} for name, row in references.items())
    for folder in folders_in(data["declared"]) if "declared" in data else ():
        rows.append({"part": "declared", "repository": folder.name, **declared(folder)})
    return Result(rows)


def folders_in(place: Path) -> list[Path]:
    """Return the folders in a folder, sorted."""
    return sorted(filter(Path.is_dir, place.iterdir()))


EXPERIMENTS = (
    Experiment(
        name="authorship/patches",
        run=run,
        scales={"smoke": (2, 5), "full": (100, 100)},
        needs={"repositories": "a folder of git repositories with commits of 2010 to 2019"},
        takes={"declared": "a folder of git repositories with commits since 2024"},
        stored="authorship/patches",
    ),
)
