"""Bug benchmarks under a model that this project did not make: SmolLM2-135M-Instruct.

    python benchmarks/real_bugs.py --data FOLDER --checkouts FOLDER [--limit N] [--files FOLDER]

Both sides of bugs are scored by the model and by `builtin:control`, a model of eight languages whose training texts are
known, so it saw none of them. Commits to the same files that are later than the model stand beside the benchmarks of
patches; the checkouts hold a folder or a bare repository for each project, as `assay study bugs --later-commits` takes
them. Neither the data nor the checkouts ship. The figures go to results/real/bugs.json, and the page
docs/case-study-bugs.md is made from them. Values are kept in the cache.
"""

import argparse
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import numpy as np
from measuring import RESULTS, shortened
from real_model import fetched_model, without_nan

import assay
from assay.datasets import DataSelection, read_pairs
from assay.evaluation import MINIMUM_UNSEEN, Estimate, conformal_p_values, grouped_share, rank_score
from assay.files import write_json, write_text
from assay.models import StatisticsCache, cached_scorer, default_control, open_local
from assay.reports import percent_with_interval
from assay.scores import loss, requests
from assay.scoring import plan, score_samples
from assay.studies import (
    MEASURES,
    REFERENCE,
    BugSet,
    BugStudy,
    StudySettings,
    drawn_pairs,
    later_commits,
    run_bug_study,
    without_empty,
)
from assay.types import BooleanArray, Float64Array, LogProbScorer, Sample, SamplePair

CUTOFF = date(2024, 12, 1)
"""The model is from November 2024."""
ALPHA = 0.05
BUGS = 12
"""Bugs of each benchmark: five minutes of one core of a virtual AMD EPYC processor."""
REWRITINGS = 1
MOST_CHARACTERS = 4000
PROGRAMS = {"quixbugs": "quixbugs/pairs.jsonl.gz", "debugbench": "debugbench/pairs.jsonl.gz", "humanevalpack": ""}
"""Benchmark of programs → its file in the folder of the data; without one the folder of its name."""
PATCHES = ("defects4j", "bugsinpy", "bugscpp", "gitbug-java", "swe-bench-lite")
RESULT = RESULTS / "real" / "bugs.json"
PAGE = Path(__file__).parents[1] / "docs" / "case-study-bugs.md"


def main() -> None:
    """Measure, write the figures, and write the page."""
    parser = argparse.ArgumentParser(description="Study bug benchmarks under SmolLM2-135M-Instruct.")
    parser.add_argument("--data", type=Path, required=True, help="folder with a folder for each benchmark")
    parser.add_argument("--checkouts", type=Path, required=True, help="folder of the checkouts of the projects")
    parser.add_argument("--limit", type=int, default=BUGS, help="bugs of each benchmark")
    parser.add_argument("--files", type=Path, default=Path(".real"), help="folder for what pip fetches")
    options = parser.parse_args()
    figures = measured(str(fetched_model(options.files)), options)
    described = {
        "measured": datetime.now(UTC).date().isoformat(),
        "bugs_of_a_benchmark": options.limit,
        "cutoff": CUTOFF.isoformat(),
        "assay": assay.__version__,
        **figures,
    }
    write_json(RESULT, without_nan(shortened(described)))
    write_text(PAGE, page(json.loads(RESULT.read_text("utf-8"))))


def measured(model: str, options: argparse.Namespace) -> dict[str, Any]:
    """Return the figures of the study, and those of the comparison with later commits."""
    pairs, notes = bugs_of(options)
    later: dict[str, tuple[SamplePair, ...]] = {}
    for name in PATCHES:
        commits, more = later_commits(
            pairs[name], options.checkouts, after=CUTOFF, most=len(pairs[name]), benchmark=name
        )
        later |= {name: commits} if commits else {}
        notes += more
    cache = StatisticsCache()
    target, control = (cached_scorer(open_local(name), cache) for name in (model, default_control()))
    names = ",".join([*(score for score, _ in MEASURES.values()), REFERENCE])
    chosen = plan(requests(names), {"target": target, "reference": control})
    programs = run_bug_study(
        [BugSet(name, pairs[name]) for name in PROGRAMS], chosen, StudySettings(variants=REWRITINGS)
    )
    sets = [BugSet(name, pairs[name]) for name in PATCHES]
    sets += [BugSet(f"{name}, later commits", commits, is_control=True) for name, commits in later.items()]
    patches = run_bug_study(sets, chosen)
    texts = {name: (fixed_sides(pairs[name]), fixed_sides(commits)) for name, commits in later.items()}
    return {
        "sets": [*rows_of(programs), *rows_of(patches)],
        "notes": notes,
        "later": compared(texts, target, control),
    }


def bugs_of(options: argparse.Namespace) -> tuple[dict[str, tuple[SamplePair, ...]], list[str]]:
    """Return the drawn bugs of each benchmark, and notes; long ones take minutes each and are left out."""
    pairs, notes = {}, []
    for name in (*PROGRAMS, *PATCHES):
        every = read_pairs(name, DataSelection(data=options.data / (PROGRAMS.get(name) or name))).pairs
        short = [p for p in every if max(len(p.fixed.text), len(p.buggy.text)) <= MOST_CHARACTERS]
        pairs[name], more = without_empty(drawn_pairs(short, options.limit), benchmark=name)
        notes += [f"{name}: {len(pairs[name])} of {len(every)} bugs, {len(every) - len(short)} are too long", *more]
    return pairs, notes


def rows_of(study: BugStudy) -> list[dict[str, Any]]:
    """Return the figures of each set."""
    return [
        {
            "name": each.name,
            "groups": each.groups,
            "is_control": each.is_control,
            "sides": {
                side: {"texts": of.distinct, "characters": of.characters}
                | {measure: numbers(value) for measure, value in of.averages.items()}
                for side, of in each.sides.items()
            },
            "preferred": numbers(each.preference["all"].share),
            "preference": numbers(each.preference["all"].mean),
            "more_than_reference": numbers(each.contrast["all"].mean),
            "rewritten": None
            if each.rewritten is None or not each.rewritten.bugs
            else {"bugs": each.rewritten.bugs, "drop": numbers(each.rewritten.drop)},
        }
        for each in study.sets
    ]


def numbers(estimate: Estimate) -> dict[str, float]:
    """Return a value with its interval."""
    return {"value": estimate.value, "low": estimate.low, "high": estimate.high}


# Bugs against later commits


@dataclass(frozen=True, slots=True, eq=False)
class Comparison:
    """Fixes of a benchmark against later commits; values are mean log-likelihoods of a token.

    Attributes:
        fixes: the fixed sides of its bugs.
        commits: the newer sides of the later commits.
        model: float64 [fixes + commits], under the model.
        control: the same under the control.
    """

    fixes: tuple[Sample, ...]
    commits: tuple[Sample, ...]
    model: Float64Array
    control: Float64Array


def compared(
    texts: Mapping[str, tuple[list[Sample], list[Sample]]], model: LogProbScorer, control: LogProbScorer
) -> list[dict[str, Any]]:
    """Return how well fixes and later commits can be told apart, by benchmark and over all.

    Args:
        texts: benchmark → fixes and later commits.
        model: the one that is studied.
        control: saw none of the texts.
    """
    parts = {}
    for name, (fixes, commits) in texts.items():
        values = [likelihoods([*fixes, *commits], each) for each in (model, control)]
        parts[name] = Comparison(tuple(fixes), tuple(commits), *values)
    counts = [len(part.fixes) for part in parts.values()]
    parts["all"] = Comparison(
        tuple(sample for part in parts.values() for sample in part.fixes),
        tuple(sample for part in parts.values() for sample in part.commits),
        joined([part.model for part in parts.values()], counts),
        joined([part.control for part in parts.values()], counts),
    )
    return [row(name, part) for name, part in parts.items()]


def joined(values: Sequence[Float64Array], counts: Sequence[int]) -> Float64Array:
    """Return the values of all fixes, then those of all commits."""
    sides = [np.split(of, [count]) for of, count in zip(values, counts, strict=True)]
    return np.concatenate([side[at] for at in (0, 1) for side in sides])


def row(name: str, part: Comparison) -> dict[str, Any]:
    """Return the figures of one benchmark: AUROC, and the share that is flagged where there are enough commits."""
    count = len(part.fixes)
    groups = [sample.group for sample in (*part.fixes, *part.commits)]
    is_fix = np.arange(len(groups)) < count
    by_date = count + np.argsort([str(sample.metadata["date"]) for sample in part.commits], kind="stable")
    early, late = np.split(by_date, [len(by_date) // 2])
    halves = np.concatenate([early, late])
    result = {
        "name": name,
        "fixes": count,
        "commits": len(part.commits),
        "characters": [median_length(part.fixes), median_length(part.commits)],
        "model": numbers(rank_score(loss.name, part.model, is_fix, groups).auroc),
        "control": numbers(rank_score(loss.name, part.control, is_fix, groups).auroc),
        "early": numbers(
            rank_score(
                loss.name, part.model[halves], np.isin(halves, early), [groups[at] for at in halves.tolist()]
            ).auroc
        ),
    }
    if len(early) >= MINIMUM_UNSEEN:
        later, own = groups[count:], groups[:count]
        result["flagged"] = {
            "model": numbers(grouped_share(flags_of(part.model[:count], part.model[count:]), own)),
            "control": numbers(grouped_share(flags_of(part.control[:count], part.control[count:]), own)),
            "early": numbers(
                grouped_share(
                    flags_of(part.model[early], part.model[late]), [later[at - count] for at in early.tolist()]
                )
            ),
            "early_commits": len(early),
        }
    return result


def fixed_sides(pairs: Sequence[SamplePair]) -> list[Sample]:
    """Return the fixed sides that have a text."""
    return [pair.fixed for pair in pairs if pair.fixed.text.strip()]


def median_length(samples: Sequence[Sample]) -> int:
    """Return the median number of characters."""
    return int(np.median([len(sample.text) for sample in samples]))


def likelihoods(samples: Sequence[Sample], model: LogProbScorer) -> Float64Array:
    """Return the mean log-likelihood of a token of each text, float64 [n]."""
    numbered = [replace(sample, id=f"{at}") for at, sample in enumerate(samples)]
    return score_samples(numbered, plan(requests(loss.name), {"target": model})).values[loss.name]


def flags_of(values: Float64Array, calibrating: Float64Array) -> BooleanArray:
    """Return which values at most `ALPHA` of the calibrating ones reach."""
    flags: BooleanArray = conformal_p_values(values, calibrating[~np.isnan(calibrating)]) <= ALPHA
    return flags


# The page

INTRODUCTION = """# Bug benchmarks under a real model

`benchmarks/real_bugs.py` studies bug benchmarks under SmolLM2-135M-Instruct, a model that this project did not make,
and writes this page. The reference is [`builtin:control`](builtin-control.md), which was trained on known texts of
eight languages and saw none of these bugs. [How to study a bug benchmark](how-to/study-bug-benchmarks.md) explains the
figures.
"""

LATER = """## Fixes against later commits to the same files

AUROC of the mean log-likelihood of a token, fixes against later commits, which the model cannot have seen; .5 is
chance. Where `builtin:control`, which saw neither, tells them apart as well, the fixes are easier text, and memory is
not what shows. Last column: the earlier half of the later commits against the other half; the model saw neither.

| benchmark | fixes | commits | median characters | SmolLM2 | `builtin:control` | earlier against later commits |
|---|---|---|---|---|---|---|"""

PREFERENCE = """## Fix or bug

The preference is the log-likelihood of a token of the fixed text minus that of the buggy text, in nats. Of later
commits the newer side counts as the fix. The drop is the part of the preference that is lost when both sides get other
names; a text that is remembered loses it.

| set | groups | fix likelier | preference | more than `builtin:control` | drop after a rewriting (bugs) |
|---|---|---|---|---|---|"""

FAMILIARITY = """## Familiarity

Near-duplicates of earlier texts are left out. Values compare within this model, and only between sets of about the same
length.

| set and side | texts | median characters | NLL | 5-gram accuracy |
|---|---|---|---|---|"""

CONFOUNDS = """## What these figures cannot show

- **Nothing is known of the training data of the model.** All of these bugs are older than it and public, so there is no
  "after the cutoff" among them. No figure is a measured truth;
  [planted bugs](how-to/study-bug-benchmarks.md#with-planted-truth) have that.
- **A preference for the fix is not memory.** A better model prefers correct code more often, and the reference is a
  much smaller model: "more than `builtin:control`" shows ability and memory together.
- **Programs of textbooks.** QuixBugs, DebugBench and HumanEvalPack are well-known algorithms. Many texts say nearly the
  same, and the fix of one is the text of another.
- **The sides of QuixBugs differ in more than the bug.** In Python most pairs have a description on one side only, which
  changes the mean log-likelihood.
- **Later commits are no bugs.** They add features and move code. They are chosen by length, and hunks have context
  lines that may be older than the commit. The style of a project changes, too.
- **Few projects.** The bugs of one project are not independent; where there are too few projects there is no interval.
  Intervals do not cover another draw of projects.
- **Hunks, not files.** The NLL of hunks is higher than that of whole files, and does not compare with the paper's.
- **A small, quantised model** (135 million parameters, Q4_1) remembers less than a large one.
"""


def page(result: dict[str, Any]) -> str:
    """Return the page."""
    measured_on = (
        f"Measured on {result['measured']}: at most {result['bugs_of_a_benchmark']} bugs of each benchmark, drawn with "
        f"a fixed seed; commits since {result['cutoff']}. In brackets: 95 % intervals over projects or programs."
    )
    sections = [
        LATER,
        *map(later_line, result["later"]),
        "",
        *(line for each in result["later"] if "flagged" in each for line in flagged_lines(each)),
        PREFERENCE,
        *map(preference_line, result["sets"]),
        "",
        FAMILIARITY,
        *(line for each in result["sets"] for line in familiarity_lines(each)),
    ]
    return "\n".join([INTRODUCTION, summary(result["later"][-1]), "", measured_on, "", *sections, "", CONFOUNDS])


def summary(whole: dict[str, Any]) -> str:
    """Return what the page shows, from the comparison over all benchmarks of patches."""
    area, low = number(whole["model"]), whole["model"]["low"]
    shows = low is not None and low > whole["control"]["value"]
    conclusion = (
        "SmolLM2 finds them more familiar than the control does; ability and memory both do that."
        if shows
        else "No memory of the fixes shows. With so few bugs only a large effect would."
    )
    return (
        f"**In short.** Likelihood tells fixes from later commits to the same files with an AUROC of {area} under "
        f"SmolLM2, and {number(whole['control'])} under the control, which saw neither. {conclusion}"
    )


def later_line(each: dict[str, Any]) -> str:
    """Return the row of a benchmark against later commits."""
    lengths = " and ".join(f"{length:,}" for length in each["characters"])
    areas = [number(each[key]) for key in ("model", "control", "early")]
    return table_line(each["name"], each["fixes"], each["commits"], lengths, *areas)


def flagged_lines(each: dict[str, Any]) -> list[str]:
    """Return the share that is flagged at 5 %, as a paragraph."""
    flagged = each["flagged"]
    text = (
        f"Flagged where at most 5 % of the later commits ({each['name']}) are as likely: {share(flagged['model'])} of "
        f"the fixes by SmolLM2, {share(flagged['control'])} by `builtin:control`. Of the earlier half of the commits, "
        f"judged by the other half, {share(flagged['early'])} of {flagged['early_commits']}: each of these is false."
    )
    return [text, ""]


def preference_line(each: dict[str, Any]) -> str:
    """Return the row of a set with its preference for the fix."""
    rewritten = each["rewritten"]
    drop = "–" if rewritten is None else f"{number(rewritten['drop'])} ({rewritten['bugs']})"
    preference = number(each["preference"]), number(each["more_than_reference"])
    return table_line(each["name"], each["groups"], share(each["preferred"]), *preference, drop)


def familiarity_lines(each: dict[str, Any]) -> list[str]:
    """Return the rows of a set with NLL and 5-gram accuracy, one for each side."""
    sides = {"fixed": "newer", "buggy": "older"} if each["is_control"] else {}
    return [
        table_line(
            f"{each['name']}, {sides.get(side, side)}",
            of["texts"],
            f"{of['characters']:,.0f}",
            number(of["NLL"]),
            number(of["5-gram accuracy"]),
        )
        for side, of in each["sides"].items()
    ]


def table_line(*cells: object) -> str:
    """Return a row of a table."""
    return f"| {' | '.join(map(str, cells))} |"


def estimate(numbers_of: dict[str, float | None]) -> Estimate:
    """Return a stored estimate."""
    value, low, high = (math.nan if (of := numbers_of[key]) is None else of for key in ("value", "low", "high"))
    return Estimate(value, low, high)


def share(numbers_of: dict[str, float | None]) -> str:
    """Return a share in per cent, with its interval where there is one."""
    return percent_with_interval(estimate(numbers_of), basis=False)


def number(numbers_of: dict[str, float | None]) -> str:
    """Return a number, with its interval where there is one."""
    of = estimate(numbers_of)
    return f"{of.value:.2f}" + (f" [{of.low:.2f}, {of.high:.2f}]" if of.has_interval else "")


if __name__ == "__main__":
    main()
