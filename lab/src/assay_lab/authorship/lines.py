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
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from operator import attrgetter, itemgetter
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
from assay_lab.columns import at_places
from assay_lab.experiments.declaration import Data, Experiment, Result
from assay_lab.measuring import with_ends
from assay_lab.provenance.alterations import ALTERATIONS
from assay_lab.result_rows import column, grouped, where

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
                found = judged(data["repositories"] / name, pieces, settings=settings, most=most, seed=seed)
                outcomes += ({"detector": detector, **outcome} for outcome in found)
                rows.append({"name": name, "detector": detector, **by_group(found)})
    rows += summaries(outcomes, tuple(detectors))
    return Result(rows)


def pieces_of(repository: Path, count: int, seed: int) -> list[Piece]:
    """Return the new functions of the three groups, at most `count` of each."""
    log = git_output(repository, "log", "--no-merges", "--format=%H %cs", "HEAD")
    days = dict(map(str.split, log.splitlines()))
    middle = middle_day(repository, BEFORE)
    if middle is None:
        raise DataError(f"{repository}: expected commits before {BEFORE}")
    signals = list(filter(attrgetter("is_about_code"), in_commits(recent_commits(repository))))
    # reversed, so that the first signal of a commit is the one that stays
    models = {signal.commit: model_of(signal.text) for signal in reversed(signals)}
    groups: dict[str, list[str]] = {"people": [], "agent": [], "unrecorded": []}
    for commit, day in days.items():
        if middle.isoformat() <= day < BEFORE.isoformat():
            groups["people"].append(commit)
        if commit in models:
            groups["agent"].append(commit)
        elif day >= SINCE.isoformat():
            groups["unrecorded"].append(commit)
    pieces: list[Piece] = []
    for group, commits in groups.items():
        own: list[Piece] = []
        for at in np.random.default_rng(seed).permutation(len(commits)).tolist():
            if len(own) >= count:
                break
            commit = commits[at]
            for unit in drawn_functions(repository, commit, seed):
                year, model = days[commit][:4], models.get(commit, "")
                own.append(Piece(unit=unit, group=group, repository=repository.name, year=year, model=model))
        pieces += own[:count]
    return pieces


def drawn_functions(repository: Path, commit: str, seed: int) -> list[CodeUnit]:
    """Return new functions of a commit that can be judged, at most `A_COMMIT`, at random."""
    added = list(new_functions(repository, commit))
    rows = judged_rows(codes_of(added), None)
    return at_places(added, np.random.default_rng(seed).permutation(rows)[:A_COMMIT].tolist())


def new_functions(repository: Path, commit: str) -> Iterator[CodeUnit]:
    """Yield the functions all of whose lines a commit adds, and that it did not move."""
    shown = ("show", "--format=", "--no-ext-diff", "--no-textconv", "--no-color", "--find-renames", "--unified=3")
    past = PastPatch(repository, commit, git_output(repository, *shown, commit))
    removed = {line[1:].strip() for line in past.patch.splitlines() if line.startswith("-")}
    for unit in past_units(past):
        if unit.language is None or unit.surroundings is None:
            continue
        added = set(map(itemgetter(1), unit.surroundings.lines))
        text = unit.surroundings.text
        for function in units_of(unit.path, text=text, language=unit.language, by="function"):
            lines = function.text.rstrip("\n").split("\n")
            own = list(filter(None, map(str.strip, lines)))
            is_new = added.issuperset(range(function.first_line, function.first_line + len(lines)))
            if function.name and is_new and sum(map(removed.__contains__, own)) < MOVED * len(own):
                yield function


def model_of(words: str) -> str:
    """Return the model or tool that a record names."""
    named = _MODEL.search(words.casefold())
    return named[0] if named else "other"


def judged(
    repository: Path, pieces: Sequence[Piece], *, settings: DetectorSettings, most: int, seed: int
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
        kept, units = [], []
        for piece in pieces:
            text = ""
            if kind == KINDS[0] or piece.group != "unrecorded":
                text = ALTERATIONS[kind](piece.unit.text, str(piece.unit.language), seed)
            if text:
                kept.append(piece)
                units.append(replace(piece.unit, text=text))
        scored = opened.score(units, None)
        detection = answer_pieces(units, codes=codes_of(units), scored=scored, signals=(), reference=reference)
        for piece, unit, row in zip(kept, units, detection.results, strict=True):
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
    for key, own in grouped(outcomes, "kind", "group").items():
        row[", ".join(key)] = {"flagged": sum(column(own, "flagged")), "judged": len(own)}
    agents = where(outcomes, kind=KINDS[0], group="agent")
    for other in ("people", "unrecorded"):
        others = where(outcomes, kind=KINDS[0], group=other)
        if agents and others:
            values = column([*agents, *others], "value")
            truth = [True] * len(agents) + [False] * len(others)
            ranking = rank_score("score", values, positive=truth, groups=[None] * len(values))
            row[f"AUROC beside {other}"] = ranking.auroc.value
    return row


def summaries(outcomes: Sequence[Mapping[str, Any]], detectors: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Yield the share flagged of each group and alteration, then of models and years."""
    for detector in detectors:
        own = where(outcomes, detector=detector)
        for (kind, group), part in grouped(own, "kind", "group").items():
            shares = []
            for _, of_project in sorted(grouped(part, "repository").items()):
                shares.append({"flagged": sum(column(of_project, "flagged")), "judged": len(of_project)})
            in_flagged = sum(column(where(part, flagged=True), "lines")) / sum(column(part, "lines"))
            yield {
                "detector": detector,
                "kind": kind,
                "group": group,
                "functions": len(part),
                "lines flagged": in_flagged,
                **mean_share(shares),
            }
        for by, group in (("model", "agent"), ("year", "agent"), ("year", "unrecorded")):
            for value, chosen in sorted(grouped(where(own, kind=KINDS[0], group=group), by).items()):
                projects = column(chosen, "repository")
                share = grouped_share(column(chosen, "flagged"), projects)
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
