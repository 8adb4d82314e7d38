"""Bug benchmarks under a model that this project did not make: SmolLM2-135M-Instruct.

Both sides of bugs are scored by the model and by `builtin:control`, a model of eight languages whose training texts are
known, so it saw none of them. Commits to the same files that are later than the model stand beside the benchmarks of
patches; the checkouts hold a folder or a bare repository for each project. The page docs/results/case-study-bugs.md is
made from the figures. Values are kept in the cache.

`control/later_commits`: false positives of a control from later commits of the same files, on texts that the model saw
neither of. The built-in model was not trained on these projects, so every flag is false. The fixes of a benchmark, or
the commits of a project from the first day until the day, are judged; commits since the day are the control. A text is
flagged if at most 5 % of the control texts are as likely (conformal p-value of the mean log-likelihood of a token).
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import chain, compress, starmap
from operator import itemgetter, methodcaller
from pathlib import Path
from typing import Any

import numpy as np

from assay.corpora import git_output
from assay.datasets import DataSelection
from assay.evaluation import MINIMUM_UNSEEN, Estimate, ShingleIndex, conformal_p_values, grouped_share, rank_score
from assay.models import StatisticsCache, cached_scorer, default_control, open_local
from assay.reports import percent_with_interval
from assay.scores import loss, requests
from assay.scoring import plan
from assay.types import BooleanArray, Float64Array, LogProbScorer, Sample
from assay_lab.bugs import (
    MEASURES,
    REFERENCE,
    BugSet,
    SideAverages,
    StudySettings,
    commits_to_files,
    drawn_pairs,
    later_commits,
    run_bug_study,
    without_empty,
)
from assay_lab.bugs.pairs import SamplePair, bug_groups, fixed_sides, read_pairs
from assay_lab.bugs.scored import likelihoods
from assay_lab.bugs.study import StudiedSet
from assay_lab.columns import attributes, group_column, text_column
from assay_lab.control.real_model import SMOLLM2
from assay_lab.experiments.declaration import Data, Experiment, Result
from assay_lab.mappings import map_values
from assay_lab.measuring import DOCS, RESULTS, with_ends
from assay_lab.result_rows import column

CUTOFF = date(2024, 12, 1)
"""The model is from November 2024."""
ALPHA = 0.05
REWRITINGS = 1
MOST_CHARACTERS = 4000
PROGRAMS = {"quixbugs": "pairs.jsonl.gz", "debugbench": "pairs.jsonl.gz", "humanevalpack": ""}
"""Benchmark of programs → its file in the folder of its data, if it is one."""
PATCHES = ("defects4j", "bugsinpy", "bugscpp", "gitbug-java", "swe-bench-lite")
RESULT = RESULTS / "real" / "bugs.json"
PAGE = DOCS / "results" / "case-study-bugs.md"


def measured(model: str, limit: int, data: Data) -> dict[str, Any]:
    """Return the figures of the study, and those of the comparison with later commits."""
    pairs, notes = bugs_of(limit, data)
    later: dict[str, tuple[SamplePair, ...]] = {}
    for name in PATCHES:
        commits, more = later_commits(
            pairs[name], data["checkouts"], after=CUTOFF, most=len(pairs[name]), benchmark=name
        )
        if commits:
            later[name] = commits
        notes += more
    cache = StatisticsCache()
    target, control = (cached_scorer(open_local(name), cache) for name in (model, default_control()))
    names = ",".join([*map(itemgetter(0), MEASURES.values()), REFERENCE])
    chosen = plan(requests(names), {"target": target, "reference": control})
    programs = run_bug_study(bug_sets(pairs, PROGRAMS), chosen, StudySettings(variants=REWRITINGS))
    sets = bug_sets(pairs, PATCHES)
    sets += [BugSet(f"{name}, later commits", commits, is_control=True) for name, commits in later.items()]
    patches = run_bug_study(sets, chosen)
    texts = {name: (filled_sides(pairs[name]), filled_sides(commits)) for name, commits in later.items()}
    return {
        "sets": list(map(set_row, (*programs.sets, *patches.sets))),
        "notes": notes,
        "later": compared(texts, target, control),
    }


def bug_sets(pairs: Mapping[str, tuple[SamplePair, ...]], names: Iterable[str]) -> list[BugSet]:
    """Return the bugs of each benchmark."""
    return [BugSet(name, pairs[name]) for name in names]


def bugs_of(limit: int, data: Data) -> tuple[dict[str, tuple[SamplePair, ...]], list[str]]:
    """Return the drawn bugs of each benchmark, and notes; long ones take minutes each and are left out."""
    pairs, notes = {}, []
    for name in (*PROGRAMS, *PATCHES):
        every = read_pairs(name, DataSelection(data=data[name] / PROGRAMS.get(name, ""))).pairs
        short = [p for p in every if max(len(p.fixed.text), len(p.buggy.text)) <= MOST_CHARACTERS]
        pairs[name], more = without_empty(drawn_pairs(short, limit), benchmark=name)
        notes += [f"{name}: {len(pairs[name])} of {len(every)} bugs, {len(every) - len(short)} are too long", *more]
    return pairs, notes


def set_row(each: StudiedSet) -> dict[str, Any]:
    """Return the figures of a set."""
    rewritten = None
    if each.rewritten is not None and each.rewritten.bugs:
        rewritten = {"bugs": each.rewritten.bugs, "drop": with_ends(each.rewritten.drop)}
    return {
        "name": each.name,
        "groups": each.groups,
        "is_control": each.is_control,
        "sides": map_values(side_row, each.sides),
        "preferred": with_ends(each.preference["all"].share),
        "preference": with_ends(each.preference["all"].mean),
        "more_than_reference": with_ends(each.contrast["all"].mean),
        "rewritten": rewritten,
    }


def side_row(side: SideAverages) -> dict[str, Any]:
    """Return the figures of one side of a set."""
    averages = map_values(with_ends, side.averages)
    return {"texts": side.distinct, "characters": side.characters} | averages


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
        both = [*fixes, *commits]
        parts[name] = Comparison(
            fixes=tuple(fixes),
            commits=tuple(commits),
            model=likelihoods(both, model),
            control=likelihoods(both, control),
        )
    parts["all"] = pooled(list(parts.values()))
    return list(starmap(row, parts.items()))


def pooled(parts: Sequence[Comparison]) -> Comparison:
    """Return one comparison of all fixes with all commits."""
    counts = list(map(len, attributes(parts, "fixes")))
    return Comparison(
        fixes=tuple(chain.from_iterable(attributes(parts, "fixes"))),
        commits=tuple(chain.from_iterable(attributes(parts, "commits"))),
        model=joined(attributes(parts, "model"), counts),
        control=joined(attributes(parts, "control"), counts),
    )


def joined(values: Sequence[Float64Array], counts: Sequence[int]) -> Float64Array:
    """Return the values of all fixes, then those of all commits."""
    halves = [np.split(of_part, [count]) for of_part, count in zip(values, counts, strict=True)]
    fixes, commits = zip(*halves, strict=True)
    return np.concatenate([*fixes, *commits])


def row(name: str, part: Comparison) -> dict[str, Any]:
    """Return the figures of one benchmark: AUROC, and the share that is flagged where there are enough commits."""
    count = len(part.fixes)
    groups = group_column((*part.fixes, *part.commits))
    is_fix = np.arange(len(groups)) < count
    # positions behind the fixes, in the order of the days
    by_date = count + np.argsort(list(map(str, column(attributes(part.commits, "metadata"), "date"))), kind="stable")
    early, late = np.split(by_date, [len(by_date) // 2])
    halves = np.concatenate([early, late])
    is_early, of_halves = np.isin(halves, early), list(map(groups.__getitem__, halves))
    result = {
        "name": name,
        "fixes": count,
        "commits": len(part.commits),
        "characters": [median_length(part.fixes), median_length(part.commits)],
        "model": with_ends(rank_score(loss.name, part.model, is_fix, groups=groups).auroc),
        "control": with_ends(rank_score(loss.name, part.control, is_fix, groups=groups).auroc),
        "early": with_ends(rank_score(loss.name, part.model[halves], is_early, groups=of_halves).auroc),
    }
    if len(early) >= MINIMUM_UNSEEN:
        own, of_early = groups[:count], list(map(groups.__getitem__, early))
        result["flagged"] = {
            "model": with_ends(grouped_share(flags_of(part.model[:count], part.model[count:]), own)),
            "control": with_ends(grouped_share(flags_of(part.control[:count], part.control[count:]), own)),
            "early": with_ends(grouped_share(flags_of(part.model[early], part.model[late]), of_early)),
            "early_commits": len(early),
        }
    return result


def filled_sides(pairs: Sequence[SamplePair]) -> list[Sample]:
    """Return the fixed sides that have a text."""
    return [fixed for fixed in fixed_sides(pairs) if fixed.text.strip()]


def median_length(samples: Sequence[Sample]) -> int:
    """Return the median number of characters."""
    return int(np.median(list(map(len, text_column(samples)))))


def flags_of(values: Float64Array, calibrating: Float64Array) -> BooleanArray:
    """Return which values at most `ALPHA` of the calibrating ones reach."""
    flags: BooleanArray = conformal_p_values(values, calibrating[~np.isnan(calibrating)]) <= ALPHA
    return flags


# The page

INTRODUCTION = """# Bug benchmarks under a real model

`assay lab run control/real_bugs` studies bug benchmarks under SmolLM2-135M-Instruct, a model that this project did
not make, and writes this page. The reference is [`builtin:control`](builtin-control.md), which was trained on known
texts of eight languages and saw none of these bugs. [How to study a bug benchmark](../how-to/study-bug-benchmarks.md)
explains the figures. """

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
  [planted bugs](../how-to/study-bug-benchmarks.md#with-planted-truth) have that.
- **A preference for the fix is not memory.** A better model prefers correct code more often, and the reference is a
  much smaller model: "more than `builtin:control`" shows ability and memory together.
- **Programs of textbooks.** QuixBugs, DebugBench and HumanEvalPack are well-known algorithms. Many texts say nearly the
  same, and the fix of one is the text of another.
- **The sides of QuixBugs differ in more than the bug.** In Python most pairs have a description on one side only, which
  changes the mean log-likelihood. Since this run the study removes comments, docstrings and headers that only one side
  has. Under `builtin:small` the fix of a Python program was likelier in 37 of 40 bugs with them, in 13 of 40 without;
  of a Java program in 14 and in 18 of 40.
- **Later commits are no bugs.** They add features and move code. They are chosen by length, and hunks have context
  lines that may be older than the commit. The style of a project changes, too.
- **Few projects.** The bugs of one project are not independent; where there are too few projects there is no interval.
  Intervals do not cover another draw of projects.
- **Hunks, not files.** The NLL of hunks is higher than that of whole files, and does not compare with the paper's.
- **A small, quantised model** (135 million parameters, Q4_1) remembers less than a large one.
"""


def page(content: dict[str, Any]) -> str:
    """Return the page."""
    result = {**content, **content["results"][0]} if "results" in content else content
    measured_on = (
        f"Measured on {result['measured']}: at most {result['bugs_of_a_benchmark']} bugs of each benchmark, drawn with "
        f"a fixed seed; commits since {result['cutoff']}. In brackets: 95 % intervals over projects or programs."
    )
    later, sets = result["later"], result["sets"]
    flagged = [each for each in later if "flagged" in each]
    sections = [
        LATER,
        *map(later_line, later),
        "",
        *chain.from_iterable(map(flagged_lines, flagged)),
        PREFERENCE,
        *map(preference_line, sets),
        "",
        FAMILIARITY,
        *chain.from_iterable(map(familiarity_lines, sets)),
    ]
    return "\n".join([INTRODUCTION, summary(later[-1]), "", measured_on, "", *sections, "", CONFOUNDS])


def summary(whole: dict[str, Any]) -> str:
    """Return what the page shows, from the comparison over all benchmarks of patches."""
    area, low = number(whole["model"]), whole["model"]["low"]
    conclusion = "No memory of the fixes shows. With so few bugs only a large effect would."
    if low is not None and low > whole["control"]["value"]:
        # the lower end of the interval against the value of the control, which saw neither
        conclusion = "SmolLM2 finds them more familiar than the control does; ability and memory both do that."
    return (
        f"**In short.** Likelihood tells fixes from later commits to the same files with an AUROC of {area} under "
        f"SmolLM2, and {number(whole['control'])} under the control, which saw neither. {conclusion}"
    )


def later_line(each: dict[str, Any]) -> str:
    """Return the row of a benchmark against later commits."""
    lengths = " and ".join(map("{:,}".format, each["characters"]))
    areas = number(each["model"]), number(each["control"]), number(each["early"])
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


def familiarity_lines(each: dict[str, Any]) -> Iterator[str]:
    """Yield the rows of a set with NLL and 5-gram accuracy, one for each side."""
    sides = {"fixed": "newer", "buggy": "older"} if each["is_control"] else {}
    for side, of in each["sides"].items():
        values = number(of["NLL"]), number(of["5-gram accuracy"])
        yield table_line(f"{each['name']}, {sides.get(side, side)}", of["texts"], f"{of['characters']:,.0f}", *values)


def table_line(*cells: object) -> str:
    """Return a row of a table."""
    return f"| {' | '.join(map(str, cells))} |"


def estimate(numbers_of: dict[str, float | None]) -> Estimate:
    """Return a stored estimate."""
    ends = map(numbers_of.__getitem__, ("value", "low", "high"))
    value, low, high = (math.nan if end is None else end for end in ends)
    return Estimate(value, low, high)


def share(numbers_of: dict[str, float | None]) -> str:
    """Return a share in per cent, with its interval where there is one."""
    return percent_with_interval(estimate(numbers_of), basis=False)


def number(numbers_of: dict[str, float | None]) -> str:
    """Return a number, with its interval where there is one."""
    of = estimate(numbers_of)
    return f"{of.value:.2f}" + (f" [{of.low:.2f}, {of.high:.2f}]" if of.has_interval else "")


# Later commits of texts that the model saw neither of

FIRST_DAY, DAY = date(2015, 1, 1), date(2020, 1, 1)
"""First day of the commits that are judged, and of the control."""
NEAR = 0.85
"""Share of 5-grams from which commits to compare with are near-duplicates."""
PROJECTS = {"requests": ".py", "flask": ".py", "gson": ".java"}
"""Project → ending of its files."""
COMMITTED = ("defects4j", "bugsinpy", "bugscpp", "swe-bench-lite")
"""Benchmarks of patches whose projects have commits since the day."""


def run_commits(most: int, seed: int, data: Data) -> Result:
    """False positives of a control from later commits of the same files, on texts that the model saw neither of."""
    rows = []
    for name, suffix in PROJECTS.items():
        changes = commits(data["checkouts"] / name, suffix)
        older = [change for change in changes if date.fromisoformat(str(change.fixed.metadata["date"])) < DAY]
        index = ShingleIndex(attributes(older, "fixed.text"))
        distinct = list(compress(older, index.first_of_each_kind(NEAR)))
        rows.append(judged(name, drawn_pairs(distinct, most), data["checkouts"]))
    for name in COMMITTED:
        every = read_pairs(name, DataSelection(data=data[name])).pairs
        filled = [pair for pair in every if pair.fixed.text.strip()]
        rows.append(judged(name, drawn_pairs(filled, most), data["checkouts"]))
    return Result(rows)


def judged(name: str, pairs: Sequence[SamplePair], checkouts: Path) -> dict[str, object]:
    """Return the share of fixed sides that is flagged with later commits as control."""
    later, _ = later_commits(pairs, checkouts, after=DAY, most=len(pairs), benchmark=name)
    fixes, commits_after = fixed_sides(pairs), fixed_sides(later)
    values = likelihoods([*fixes, *commits_after], open_local("builtin:small"))
    own, control = values[: len(fixes)], values[len(fixes) :]
    flags = flags_of(own[~np.isnan(own)], control)
    return {
        "texts": name,
        "model": "builtin:small",
        "day": DAY.isoformat(),
        "judged": len(flags),
        "control": len(control),
        "groups": len(set(bug_groups(pairs))),
        "median_characters": [median_length(fixes), median_length(commits_after)],
        # over texts: six or seven projects are too few for an interval over projects
        "flagged": with_ends(grouped_share(flags)),
    }


def commits(repository: Path, suffix: str) -> tuple[SamplePair, ...]:
    """Return all commits to the files of a project since the first day."""
    listed = git_output(repository, "ls-tree", "-r", "--name-only", "HEAD").splitlines()
    files = list(filter(methodcaller("endswith", suffix), listed))
    return tuple(commits_to_files(repository, files, FIRST_DAY, group=repository.name))


def run(limit: int, seed: int, data: Data) -> Result:
    """Bug benchmarks under a model that this project did not make: SmolLM2-135M-Instruct."""
    figures = measured(str(data["smollm2"]), limit, data)
    return Result([{"bugs_of_a_benchmark": limit, "cutoff": CUTOFF.isoformat(), **figures}])


CHECKOUTS = {"checkouts": "a folder with a git repository for each project"}
EXPERIMENTS = (
    Experiment(
        name="control/real_bugs",
        run=run,
        scales={"smoke": 2, "full": 12},
        columns=(
            "cutoff",
            "name",
            "fixes",
            "commits",
            "model",
            "control",
            "early",
            "groups",
            "preferred",
            "preference",
        ),
        needs={**SMOLLM2, **CHECKOUTS, **dict.fromkeys((*PROGRAMS, *PATCHES), "the data of the benchmark")},
        stored="real/bugs",
    ),
    Experiment(
        name="control/later_commits",
        run=run_commits,
        scales={"smoke": 20, "full": 80},
        columns=("texts", "judged", "control", "groups", "flagged"),
        needs={**CHECKOUTS, **dict.fromkeys(COMMITTED, "the data of the benchmark")},
        stored="membership/later_commits",
    ),
)
