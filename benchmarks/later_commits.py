"""False positives of a control from later commits of the same files, on texts that the model saw neither of.

    python benchmarks/later_commits.py --checkouts DIR [--project NAME=SUFFIX] [--benchmark NAME=PATH] [--day DAY]

The built-in model was not trained on these projects, so every flag is false. The fixes of a benchmark, or the commits
of a project from the first day until the day, are judged; commits since the day are the control. A text is flagged if
at most 5 % of the control texts are as likely (conformal p-value of the mean log-likelihood of a token).
"""

import argparse
import time
from collections.abc import Sequence
from datetime import date
from pathlib import Path

import numpy as np
from measuring import RESULTS, arguments, write

import assay
from assay.datasets import DataSelection, read_pairs
from assay.evaluation import ShingleIndex, conformal_p_values, grouped_share
from assay.provenance import git_output
from assay.studies import commits_to_files, drawn_pairs, later_commits
from assay.types import Sample, SamplePair

ALPHA = 0.05
NEAR = 0.85
"""Share of 5-grams from which commits to compare with are near-duplicates."""


def main() -> None:
    """Measure every project, and write the figures."""
    began = time.perf_counter()
    options = arguments(__doc__, further)
    options.most = 20 if options.smoke else options.most
    if options.out == RESULTS:
        options.out = RESULTS / ("membership" if options.model.startswith("builtin:") else "real")
    rows = [of_project(project, options) for project in options.project]
    rows += [of_benchmark(benchmark, options) for benchmark in options.benchmark]
    write("later_commits", options, rows, began)


def further(parser: argparse.ArgumentParser) -> None:
    """Add the options of this script."""
    parser.add_argument("--checkouts", type=Path, required=True, help="folder of the checkouts")
    parser.add_argument("--project", action="append", default=[], help="NAME=SUFFIX of its files; repeat")
    parser.add_argument("--benchmark", action="append", default=[], help="NAME=PATH of a bug benchmark; repeat")
    parser.add_argument("--model", default="builtin:small", help="model that saw none of the commits")
    parser.add_argument("--first-day", default="2015-01-01", help="first day of the commits that are judged")
    parser.add_argument("--day", default="2020-01-01", help="first day of the control")
    parser.add_argument("--most", type=int, default=80, help="most texts that are judged")


def of_project(project: str, options: argparse.Namespace) -> dict[str, object]:
    """Return the share of commits of a project before the day that is flagged; near-duplicates are left out."""
    name, _, suffix = project.partition("=")
    day = date.fromisoformat(options.day)
    changes = commits(options.checkouts / name, suffix, date.fromisoformat(options.first_day))
    older = [change for change in changes if date.fromisoformat(str(change.fixed.metadata["date"])) < day]
    first = ShingleIndex([change.fixed.text for change in older]).first_of_each_kind(NEAR)
    distinct = [change for change, is_first in zip(older, first, strict=True) if is_first]
    return judged(name, drawn_pairs(distinct, options.most), day, options)


def of_benchmark(benchmark: str, options: argparse.Namespace) -> dict[str, object]:
    """Return the share of fixes of a bug benchmark that is flagged."""
    name, _, path = benchmark.partition("=")
    every = read_pairs(name, DataSelection(data=path)).pairs
    filled = [pair for pair in every if pair.fixed.text.strip()]
    return judged(name, drawn_pairs(filled, options.most), date.fromisoformat(options.day), options)


def judged(name: str, pairs: Sequence[SamplePair], day: date, options: argparse.Namespace) -> dict[str, object]:
    """Return the share of fixed sides that is flagged with later commits as control."""
    later, _ = later_commits(pairs, options.checkouts, after=day, most=len(pairs), benchmark=name)
    texts = [pair.fixed for pair in (*pairs, *later)]
    numbered = [Sample(str(at), sample.text, sample.language) for at, sample in enumerate(texts)]
    scores = assay.score(options.model, numbered, "loss", cache=False, progress=False).to_arrow()
    values = np.array(scores["loss"].to_numpy(zero_copy_only=False), np.float64)
    own, control = np.split(values, [len(pairs)])
    kept = ~np.isnan(own)
    flags = conformal_p_values(own[kept], control[~np.isnan(control)]) <= ALPHA
    share = grouped_share(flags)  # over texts: six or seven projects are too few for an interval over projects
    return {
        "texts": name,
        "model": Path(options.model).name,
        "day": day.isoformat(),
        "judged": len(flags),
        "control": len(control),
        "groups": len({pair.fixed.group for pair in pairs}),
        "median_characters": [int(np.median([len(pair.fixed.text) for pair in part])) for part in (pairs, later)],
        "flagged": {"value": share.value, "low": share.low, "high": share.high},
    }


def commits(repository: Path, suffix: str, first_day: date) -> tuple[SamplePair, ...]:
    """Return all commits to the files of a project since a day."""
    listed = git_output(repository, "ls-tree", "-r", "--name-only", "HEAD").splitlines()
    files = [path for path in listed if path.endswith(suffix)]
    return tuple(commits_to_files(repository, files, first_day, repository.name))


if __name__ == "__main__":
    main()
