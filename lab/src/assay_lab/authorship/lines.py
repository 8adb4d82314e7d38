"""New functions of recorded agent commits that `assay detect` finds, beside old functions of people.

Written down before any score was computed:

- Repositories: of the histories that could be had, all with 300 commits or more before 2021 and 40 or more since 2024
  whose message names an agent (`REPOSITORIES`). The recording tools' own repositories are no part. No snapshot had
  notes of git-ai or files of Agent Trace, so what is recorded is a commit: its trailers hold for all lines that it
  adds.
  For its time the stored run has those of at most 60 MB, chosen by size alone before any score was seen.
- Pieces: functions all of whose lines a commit adds, at most `A_COMMIT` of a commit. A function half of whose lines the
  same commit removes elsewhere was moved, and is left out.
- Threshold: the older half of the commits before 2021 is the reference (`calibrate --by function`), with its check that
  looks forward. `people` are functions of the newer half: their flagged share is the false-positive rate, nominally
  5 %. No agent could write either half.
- `agent`: of commits since 2024 that name an agent. `unrecorded`: of the other commits since 2024, by people and by
  agents that nobody recorded. If these are flagged as often as `agent`, the flags show the year and not the agent.
- `zero-shot` is the default of `detect`; `floor` is the classifier, trained on the public collections of the other
  experiments on authorship.
- Alterations are applied to `agent` and `people`, never to the reference.

A share is the mean of the repositories with Student's interval over them; of a model or a year, where few repositories
have both, the pieces are pooled, and the interval is over repositories.
"""

import re
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np

from assay.authorship import (
    CodeUnit,
    DetectorChoice,
    DetectorSettings,
    answer_pieces,
    calibrate_authorship,
    codes_of,
    in_commits,
    judged_rows,
    past_units,
    units_of,
)
from assay.corpora import PastPatch, git_output, middle_day
from assay.errors import DataError
from assay.evaluation import grouped_share, rank_score
from assay_lab.authorship.collections import COLLECTIONS, collections
from assay_lab.authorship.patches import SINCE, mean_share, recent_commits
from assay_lab.classifiers.fitting import fit_classifier
from assay_lab.experiments.declaration import Data, Experiment, Result
from assay_lab.measuring import with_ends
from assay_lab.provenance.alterations import ALTERATIONS

BEFORE = date(2021, 1, 1)
A_COMMIT = 3
MOVED = 0.5
KINDS = ("verbatim", "reformatted", "comments removed", "locals renamed")
REPOSITORIES = (
    "mongoose", "dd-trace-java", "gitoxide", "posthog-js", "borg", "sentry-cli", "sentry-python", "go-git",
    "playwright", "insta", "undici", "rewrite", "pybind11", "xarray", "cibuildwheel", "pytest", "boost-histogram",
    "datasette", "sqlite-utils",
)  # fmt: skip
_MODEL = re.compile(
    r"claude (?:opus|sonnet|haiku|fable|code)|claude|copilot|codex|gpt-?\d|cursor|gemini|devin|jules|aider"
)


@dataclass(frozen=True, slots=True)
class Piece:
    """A function that a commit adds.

    Attributes:
        unit: the function.
        group: "people", "agent" or "unrecorded".
        repository: its name.
        year: of the commit.
        model: that the record names; "" without a record.
    """

    unit: CodeUnit
    group: str
    repository: str
    year: str
    model: str = ""


def run(scale: tuple[int, int], seed: int, data: Data) -> Result:
    """New functions of recorded agent commits that `assay detect` finds, beside old functions of people."""
    most, count = scale
    rows: list[dict[str, Any]] = []
    outcomes: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        floor = Path(folder) / "floor"
        fit_classifier(collections(data)).save(floor, "The floor of an experiment.")
        detectors = {"zero-shot": DetectorSettings(), "floor": DetectorSettings(classifier=floor)}
        for name in REPOSITORIES:
            if not (data["repositories"] / name).exists():
                continue
            pieces = pieces_of(data["repositories"] / name, count, seed)
            for detector, settings in detectors.items():
                found = judged(data["repositories"] / name, pieces, settings, most, seed)
                outcomes += ({"detector": detector, **outcome} for outcome in found)
                rows.append({"name": name, "detector": detector, **by_group(found)})
    rows += summaries(outcomes, tuple(detectors))
    return Result(rows)


def pieces_of(repository: Path, count: int, seed: int) -> list[Piece]:
    """Return the new functions of the three groups, at most `count` of each."""
    days = dict(
        line.split() for line in git_output(repository, "log", "--no-merges", "--format=%H %cs", "HEAD").splitlines()
    )
    middle = middle_day(repository, BEFORE)
    if middle is None:
        raise DataError(f"{repository}: expected commits before {BEFORE}")
    signals = [signal for signal in in_commits(recent_commits(repository)) if signal.is_about_code]
    models = {signal.commit: model_of(signal.text) for signal in reversed(signals)}
    groups = {
        "people": [c for c, day in days.items() if middle.isoformat() <= day < BEFORE.isoformat()],
        "agent": [c for c, day in days.items() if c in models],
        "unrecorded": [c for c, day in days.items() if day >= SINCE.isoformat() and c not in models],
    }
    pieces: list[Piece] = []
    for group, commits in groups.items():
        own: list[Piece] = []
        for at in np.random.default_rng(seed).permutation(len(commits)).tolist():
            if len(own) >= count:
                break
            commit = commits[at]
            added = list(new_functions(repository, commit))
            rows = judged_rows(codes_of(added), None)
            chosen = [added[row] for row in np.random.default_rng(seed).permutation(rows)[:A_COMMIT].tolist()]
            own += [Piece(unit, group, repository.name, days[commit][:4], models.get(commit, "")) for unit in chosen]
        pieces += own[:count]
    return pieces


def new_functions(repository: Path, commit: str) -> Iterator[CodeUnit]:
    """Yield the functions all of whose lines a commit adds, and that it did not move."""
    shown = ("show", "--format=", "--no-ext-diff", "--no-textconv", "--no-color", "--find-renames", "--unified=3")
    past = PastPatch(repository, commit, git_output(repository, *shown, commit))
    removed = {line[1:].strip() for line in past.patch.splitlines() if line.startswith("-")}
    for unit in past_units(past):
        if unit.language is None or unit.surroundings is None:
            continue
        added = {line for _, line in unit.surroundings.lines}
        for function in units_of(unit.path, unit.surroundings.text, unit.language, "function"):
            lines = function.text.rstrip("\n").split("\n")
            own = [line.strip() for line in lines if line.strip()]
            is_new = added.issuperset(range(function.first_line, function.first_line + len(lines)))
            if function.name and is_new and sum(line in removed for line in own) < MOVED * len(own):
                yield function


def model_of(words: str) -> str:
    """Return the model or tool that a record names."""
    named = _MODEL.search(words.casefold())
    return named[0] if named else "other"


def judged(
    repository: Path, pieces: Sequence[Piece], settings: DetectorSettings, most: int, seed: int
) -> list[dict[str, Any]]:
    """Return the outcome of each piece as it is, and altered."""
    middle = middle_day(repository, BEFORE)
    with tempfile.TemporaryDirectory() as folder:
        reference, _ = calibrate_authorship(
            [str(repository)], Path(folder) / "past.json", before=middle, detector=settings, by="function", most=most
        )
    opened = DetectorChoice(settings).open()
    outcomes = []
    for kind in KINDS:
        altered = [
            (piece, ALTERATIONS[kind](piece.unit.text, str(piece.unit.language), seed))
            for piece in pieces
            if kind == KINDS[0] or piece.group != "unrecorded"
        ]
        kept = [(piece, replace(piece.unit, text=text)) for piece, text in altered if text]
        units = [unit for _, unit in kept]
        detection = answer_pieces(units, codes_of(units), opened.score(units, None), (), reference)
        for (piece, unit), row in zip(kept, detection.results, strict=True):
            if row.judgement is not None and row.judgement.bound is not None:
                outcomes.append(
                    {
                        "kind": kind,
                        "group": piece.group,
                        "repository": piece.repository,
                        "year": piece.year,
                        "model": piece.model,
                        "lines": unit.text.count("\n") + 1,
                        "flagged": row.unusual,
                        "value": row.value,
                    }
                )
    return outcomes


def by_group(outcomes: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return flagged and judged functions of a repository by alteration and group, and the AUROC of agents."""
    row: dict[str, Any] = {}
    for key in dict.fromkeys((o["kind"], o["group"]) for o in outcomes):
        flags = [o["flagged"] for o in outcomes if (o["kind"], o["group"]) == key]
        row[", ".join(key)] = {"flagged": sum(flags), "judged": len(flags)}
    plain = [o for o in outcomes if o["kind"] == KINDS[0]]
    for other in ("people", "unrecorded"):
        both = [o for o in plain if o["group"] in {"agent", other}]
        if len({o["group"] for o in both}) > 1:
            truth = [o["group"] == "agent" for o in both]
            ranking = rank_score("score", [o["value"] for o in both], truth, [None] * len(both))
            row[f"AUROC beside {other}"] = ranking.auroc.value
    return row


def summaries(outcomes: Sequence[Mapping[str, Any]], detectors: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Yield the share flagged of each group and alteration, then of models and years."""
    for detector in detectors:
        own = [o for o in outcomes if o["detector"] == detector]
        for kind, group in dict.fromkeys((o["kind"], o["group"]) for o in own):
            part = [o for o in own if (o["kind"], o["group"]) == (kind, group)]
            counts = Counter((o["repository"], o["flagged"]) for o in part)
            names = sorted({o["repository"] for o in part})
            shares = [
                {"flagged": counts[name, True], "judged": counts[name, True] + counts[name, False]} for name in names
            ]
            in_flagged = sum(o["lines"] for o in part if o["flagged"]) / sum(o["lines"] for o in part)
            yield {
                "detector": detector,
                "kind": kind,
                "group": group,
                "functions": len(part),
                "lines flagged": in_flagged,
                **mean_share(shares),
            }
        for by, group in (("model", "agent"), ("year", "agent"), ("year", "unrecorded")):
            part = [o for o in own if o["kind"] == KINDS[0] and o["group"] == group]
            for value in sorted({o[by] for o in part}):
                chosen = [o for o in part if o[by] == value]
                projects = [o["repository"] for o in chosen]
                share = grouped_share([o["flagged"] for o in chosen], projects)
                yield {
                    "detector": detector,
                    "group": group,
                    by: value,
                    "functions": len(chosen),
                    "repositories": len(set(projects)),
                    "share": with_ends(share),
                }


EXPERIMENTS = (
    Experiment(
        name="authorship/lines",
        run=run,
        scales={"smoke": (45, 6), "full": (120, 40)},
        columns=("name", "detector", "kind", "group", "functions", "share", "low", "high"),
        needs={**COLLECTIONS, "repositories": "a folder with the repositories " + ", ".join(REPOSITORIES)},
        stored="authorship/lines",
    ),
)
