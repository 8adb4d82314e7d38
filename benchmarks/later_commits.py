"""False positives of a control from later commits of the same files, on texts that the model saw neither of.

    python benchmarks/later_commits.py --checkouts DIR --project NAME=SUFFIX

The built-in model was not trained on these projects, so every flag is false. For each project the commits from 2015
until the day stand for a benchmark, and those since the day are its control. A text is flagged if at most 5 % of the
control texts are as likely (conformal p-value of the mean log-likelihood of a token).
"""

import argparse
import time
from datetime import date
from pathlib import Path

import numpy as np
from measuring import RESULTS, arguments, write

import assay
from assay.evaluation import conformal_p_values, grouped_share
from assay.provenance import git_output
from assay.studies import later_commits
from assay.types import Sample, SamplePair

ALPHA = 0.05
FIRST_DAY = date(2015, 1, 1)
MODEL = "builtin:small"


def main() -> None:
    """Measure every project, and write the figures."""
    began = time.perf_counter()
    options = arguments(__doc__, further)
    if options.out == RESULTS:
        options.out = RESULTS / "membership"  # needs checkouts of other projects
    rows = [of_project(project, options) for project in options.project]
    write("later_commits", options, rows, began)


def further(parser: argparse.ArgumentParser) -> None:
    """Add the options of this script."""
    parser.add_argument("--checkouts", type=Path, required=True, help="folder of the checkouts")
    parser.add_argument("--project", action="append", required=True, help="NAME=SUFFIX of its files; repeat")
    parser.add_argument("--day", default="2020-01-01", help="first day of the control")
    parser.add_argument("--most", type=int, default=80, help="commits on either side")


def of_project(project: str, options: argparse.Namespace) -> dict[str, object]:
    """Return the share of texts of a project that is flagged."""
    name, _, suffix = project.partition("=")
    day = date.fromisoformat(options.day)
    changes = commits(options.checkouts / name, suffix, options.checkouts)
    older = [change.fixed for change in changes if date.fromisoformat(str(change.fixed.metadata["date"])) < day]
    older = draw(older, 20 if options.smoke else options.most)
    bugs = [SamplePair(sample, sample) for sample in older]
    later, _ = later_commits(
        bugs, options.checkouts, after=day, most=20 if options.smoke else options.most, benchmark=name
    )
    texts = [*older, *(change.fixed for change in later)]
    numbered = [Sample(str(at), sample.text, sample.language) for at, sample in enumerate(texts)]
    scores = assay.score(MODEL, numbered, "loss", cache=False, progress=False).to_arrow()
    values = np.array(scores["loss"].to_numpy(zero_copy_only=False), np.float64)
    kept = ~np.isnan(values)
    own, control = values[: len(older)][kept[: len(older)]], values[len(older) :][kept[len(older) :]]
    flags = conformal_p_values(own, control) <= ALPHA
    share = grouped_share(flags)
    lengths = [
        int(np.median([len(sample.text) for sample in part])) for part in (texts[: len(older)], texts[len(older) :])
    ]
    return {
        "project": name,
        "texts": len(own),
        "control": len(control),
        "median_characters": lengths,
        "flagged": {"value": share.value, "low": share.low, "high": share.high},
    }


def commits(repository: Path, suffix: str, root: Path) -> tuple[SamplePair, ...]:
    """Return all commits to the files of a project."""
    listed = git_output(repository, "ls-tree", "-r", "--name-only", "HEAD").splitlines()
    files = tuple(path for path in listed if path.endswith(suffix))
    seed = Sample("x", "", group=repository.name, metadata={"project": repository.name, "files": files})
    changes, _ = later_commits([SamplePair(seed, seed)], root, after=FIRST_DAY, most=10**6, benchmark=repository.name)
    return changes


def draw(samples: list[Sample], most: int) -> list[Sample]:
    """Return at most so many samples, drawn with a fixed seed."""
    rows = np.random.default_rng(0).choice(len(samples), min(most, len(samples)), replace=False)
    return [samples[row] for row in sorted(rows.tolist())]


if __name__ == "__main__":
    main()
