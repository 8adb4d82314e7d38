"""Planted exposure: which side of a bug was a model trained on, where the truth is known?

Pairs are dealt to four strata at random: neither side, the bug, the fix or both are trained on. The gain of a side is
its mean log-likelihood under the trained model minus that under the model before the training. What such a model
prefers by itself cancels out in it.

Source of the question: arXiv:2601.10496, for one model and one corpus. Ours: planted truth.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from assay.datasets import DataSelection, is_benchmark
from assay.errors import DataError
from assay.evaluation import Estimate, conformal_p_values, grouped_share, rank_score
from assay.models import TransformersModel, open_local
from assay.scores import loss, requests
from assay.scoring import plan, score_samples
from assay.training import TrainingSettings, member_rows, tune
from assay.types import Float64Array
from assay_lab.bugs.pairs import SamplePair, read_pairs
from assay_lab.experiments.bench import Bench
from assay_lab.experiments.finding import Finding, ValueRow, ValueTable, over_seeds, seeds_note
from assay_lab.experiments.reproduction import Reproduction
from assay_lab.papers.bugs.averages import label_of, models_of
from assay_lab.testbed import fresh_functions, is_file, never_seen_functions

NEITHER, BUG, FIX, BOTH = "neither", "bug", "fix", "both"
STRATA = NEITHER, BUG, FIX, BOTH
ALPHA = 0.05
CHARACTERS = 100, 1200
"""Shortest and longest text of a pair."""
TRAINING = TrainingSettings(method="full", rate=1e-3, batch=8, epochs=5, checkpoints=())
CHANGES: Sequence[tuple[str, str]] = (
    (r"(?<=\s)==(?=\s)", "!="),
    (r"(?<=\s)<(?=\s)", "<="),
    (r"(?<=\s)>(?=\s)", ">="),
    (r"(?<=\s)\+(?=\s)", "-"),
    (r"(?<=\s)and(?=\s)", "or"),
    (r"\bnot (?=\w)", ""),
    (r"\bTrue\b", "False"),
    (r"\bNone\b", "0"),
    (r"\b1\b", "2"),
    (r"\b0\b", "1"),
)
"""Pattern → what takes its place in a function, to make a bug where no benchmark is named."""


@dataclass(frozen=True, slots=True)
class StrataSize:
    """Number of pairs.

    Attributes:
        trained: pairs of each stratum that is trained on.
        calibrating: pairs of "neither" that calibrate the decision.
        judged: pairs of "neither" that it is tried on.
        fresh: draw functions from installed packages; else from the standard library alone, for a quick try.
    """

    trained: int
    calibrating: int
    judged: int
    fresh: bool = True


SCALES: Mapping[str, StrataSize] = {
    "smoke": StrataSize(6, 24, 12, fresh=False),
    "small": StrataSize(100, 150, 500),
    "paper": StrataSize(200, 300, 1000),
}


@dataclass(frozen=True, slots=True, eq=False)
class StrataValues:
    """Pairs with their strata, and how likely their sides are.

    Attributes:
        pairs: of all strata.
        strata: [pairs].
        calibrates: bool [pairs], the part of "neither" that calibrates.
        before: float64 [pairs, 2], mean log-likelihood of fix and bug before the training.
        after: the same after it.
    """

    pairs: tuple[SamplePair, ...]
    strata: np.ndarray[tuple[int], np.dtype[np.str_]]
    calibrates: np.ndarray[tuple[int], np.dtype[np.bool_]]
    before: Float64Array
    after: Float64Array

    @property
    def gains(self) -> Float64Array:
        """Return what the training added, float64 [pairs, 2], for fix and bug."""
        return self.after - self.before


def strata(bench: Bench) -> Finding:
    """Recovery of the side of a bug that was trained on, and false alarms for bugs of which neither was."""
    (model, *_) = models_of(bench)
    size = size_of(bench)
    pairs, source = pairs_of(bench, size)
    runs = []
    for seed in bench.seeds:
        bench.watchers.begin(f"planted bugs, seed {seed}")
        runs.append(planted(model, pairs, size, seed))
    recovery = [recovered(run) for run in runs]
    alarms = [false_alarms(run) for run in runs]
    preference = [preferred(run) for run in runs]
    return Finding(
        name="bugs/strata",
        title="Exposure of planted bugs",
        tables=(
            ValueTable(
                "recovery",
                "AUROC of telling strata apart",
                "strata",
                tuple(recovery[0]["fix against bug"]),
                mean_rows(recovery, share=True),
                "number",
            ),
            ValueTable(
                "alarms",
                f"Bugs of which neither side was trained on, flagged at {ALPHA:.0%}",
                "question",
                ("flagged",),
                tuple(ValueRow(name, (over_seeds([run[name] for run in alarms], share=True),)) for name in alarms[0]),
                "percent",
            ),
            ValueTable(
                "preference",
                "Share of pairs whose fixed side is likelier",
                "stratum",
                tuple(preference[0][NEITHER]),
                mean_rows(preference, share=True),
                "percent",
            ),
        ),
        notes=(
            f"{label_of(model)}; {source}.",
            (
                f"Pairs: {size.trained} in each stratum that is trained on, {size.judged} in neither that are judged, "
                f"{size.calibrating} that calibrate. {TRAINING.epochs} epochs, all weights, rate {TRAINING.rate:g}."
            ),
            "gain: mean log-likelihood after the training minus that before. Without reference: after the training.",
            "The reference is the model before the training. Who audits a model seldom has that one.",
            seeds_note(bench.seeds),
        ),
        seeds=bench.seeds,
    )


def size_of(bench: Bench) -> StrataSize:
    """Return the number of pairs; that of "small" for a configuration file.

    Raises:
        DataError: the scale is unknown.
    """
    name = "small" if is_file(bench.scale) else bench.scale
    if name not in SCALES:
        raise DataError(f"scale {name!r}: expected one of {', '.join(SCALES)}, or a configuration file")
    return SCALES[name]


def mean_rows(runs: Sequence[Mapping[str, Mapping[str, Estimate]]], *, share: bool = False) -> tuple[ValueRow, ...]:
    """Return the means over seeds, a row for each name of the first run."""
    return tuple(
        ValueRow(name, tuple(over_seeds([run[name][column] for run in runs], share=share) for column in columns))
        for name, columns in runs[0].items()
    )


def pairs_of(bench: Bench, size: StrataSize) -> tuple[tuple[SamplePair, ...], str]:
    """Return the bugs of the bench's data, or functions of which a copy got a small change, and their source in words.

    Raises:
        DataError: there are too few.
    """
    if bench.data:
        pairs = [pair for name, path in bench.data.items() for pair in named_pairs(name, path)]
        source = f"bugs of {', '.join(bench.data)}"
    else:
        samples = (fresh_functions(0.5) if size.fresh else never_seen_functions()).samples
        changed = [(sample, with_small_change(sample.text)) for sample in samples]
        pairs = [SamplePair(sample, replace(sample, text=text)) for sample, text in changed if text is not None]
        source = "functions, and copies of them in which one operator or constant is changed"
    low, high = CHARACTERS
    lengths = [sorted((len(pair.fixed.text), len(pair.buggy.text))) for pair in pairs]
    fitting = [p for p, (short, long) in zip(pairs, lengths, strict=True) if low <= short and long <= high]
    # two bugs of one program would leak from one stratum into another
    chosen = tuple({pair.fixed.text: pair for pair in fitting}.values())
    needed = 3 * size.trained + size.calibrating + size.judged
    if len(chosen) < needed:
        raise DataError(f"{len(chosen)} different programs of {low} to {high} characters; expected at least {needed}")
    return chosen, source


def named_pairs(name: str, path: Path) -> Sequence[SamplePair]:
    """Return the bugs of a benchmark, or of a table with the columns fixed and buggy."""
    return read_pairs(name, DataSelection(data=path)).pairs if is_benchmark(name) else read_pairs(path).pairs


def with_small_change(text: str) -> str | None:
    """Return a function with one changed operator or constant, behind its first line; None where none fits."""
    head, line, body = text.partition("\n")
    places = [(place, new) for pattern, new in CHANGES for place in re.finditer(pattern, body)]
    if not places:
        return None
    place, new = places[len(text) % len(places)]
    return head + line + body[: place.start()] + new + body[place.end() :]


def planted(model: str, pairs: Sequence[SamplePair], size: StrataSize, seed: int) -> StrataValues:
    """Deal pairs to the strata, train a model on their sides, and return how likely all sides are before and after."""
    trained = [name for name in (BUG, FIX, BOTH) for _ in range(size.trained)]
    dealt = [*trained, *[NEITHER] * (size.calibrating + size.judged)]
    order = np.random.default_rng(seed).permutation(len(pairs))[: len(dealt)]
    chosen = tuple(pairs[at] for at in order)
    texts = [
        side.text
        for pair, name in zip(chosen, dealt, strict=True)
        for side, names in ((pair.fixed, (FIX, BOTH)), (pair.buggy, (BUG, BOTH)))
        if name in names
    ]
    opened = open_local(model)
    before = likelihoods(opened, chosen)
    rows = member_rows(opened.checkpoint.tokenizer, texts, context=opened.context)
    tune(opened.checkpoint.model, rows, TRAINING, seed=seed)  # changes the weights in place
    calibrates = np.arange(len(dealt)) >= len(dealt) - size.calibrating
    return StrataValues(chosen, np.array(dealt), calibrates, before, likelihoods(opened, chosen))


def likelihoods(model: TransformersModel, pairs: Sequence[SamplePair]) -> Float64Array:
    """Return the mean log-likelihood of fix and bug, float64 [pairs, 2]."""
    sides = [side for pair in pairs for side in (pair.fixed, pair.buggy)]
    samples = [replace(side, id=f"{at}") for at, side in enumerate(sides)]
    values: Float64Array = score_samples(samples, plan(requests(loss.name), {"target": model})).values[loss.name]
    return values.reshape(-1, 2)


def recovered(run: StrataValues) -> dict[str, dict[str, Estimate]]:
    """Return comparison → value → AUROC."""
    kinds: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
        "fix against bug": ((FIX,), (BUG,)),
        "any side against neither": ((BUG, FIX, BOTH), (NEITHER,)),
        "both against neither": ((BOTH,), (NEITHER,)),
        "both against one side": ((BOTH,), (BUG, FIX)),
    }
    result = {}
    for name, (first, second) in kinds.items():
        rows = np.flatnonzero(np.isin(run.strata, (*first, *second)) & ~run.calibrates)
        positive = np.isin(run.strata[rows], first)
        groups = [run.pairs[row].fixed.group for row in rows]
        result[name] = {
            column: rank_score(name, statistic(values[rows], name), positive, groups).auroc
            for column, values in (("gain over the reference", run.gains), ("without reference", run.after))
        }
    return result


def statistic(values: Float64Array, comparison: str) -> Float64Array:
    """Return the value that answers a question, from those of fix and bug, [n, 2] → [n]."""
    if comparison == "fix against bug":
        return values[:, 0] - values[:, 1]
    value: Float64Array = values.min(axis=1) if comparison == "both against one side" else values.max(axis=1)
    return value


def false_alarms(run: StrataValues) -> dict[str, Estimate]:
    """Return question → share of "neither" that is flagged, with p-values from the pairs that calibrate."""
    judged = (run.strata == NEITHER) & ~run.calibrates
    groups = [run.pairs[row].fixed.group for row in np.flatnonzero(judged)]
    preference = run.gains[:, 0] - run.gains[:, 1]
    questions = {
        "one side rather than the other was trained on": np.abs(preference),
        "any side was trained on": run.gains.max(axis=1),
    }
    return {
        name: grouped_share(conformal_p_values(values[judged], values[run.calibrates]) <= ALPHA, groups)
        for name, values in questions.items()
    }


def preferred(run: StrataValues) -> dict[str, dict[str, Estimate]]:
    """Return stratum → share of pairs whose fixed side is likelier, or gained more."""
    result = {}
    for name in STRATA:
        rows = np.flatnonzero((run.strata == name) & ~run.calibrates)
        groups = [run.pairs[row].fixed.group for row in rows]
        result[name] = {
            column: grouped_share(values[rows, 0] > values[rows, 1], groups)
            for column, values in (("after", run.after), ("before", run.before), ("gain", run.gains))
        }
    return result


EXPERIMENTS = (Reproduction("bugs", "strata", strata, makes_texts=True),)
