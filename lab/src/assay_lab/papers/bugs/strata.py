"""Planted exposure: which side of a bug was a model trained on, where the truth is known?

Pairs are dealt to four strata at random: neither side, the bug, the fix or both are trained on. The gain of a side is
its mean log-likelihood under the trained model minus that under the model before the training. What such a model
prefers by itself cancels out in it.

Source of the question: arXiv:2601.10496, for one model and one corpus. Ours: planted truth.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, compress
from operator import attrgetter, itemgetter
from pathlib import Path

import numpy as np

from assay.errors import DataError
from assay.evaluation import Estimate, conformal_p_values, grouped_share, rank_score
from assay.models import TransformersModel, open_local
from assay.training import TrainingSettings, member_rows, tune
from assay.types import Float64Array
from assay_lab.bugs.pairs import SamplePair, bug_groups, read_pairs
from assay_lab.bugs.scored import likelihoods
from assay_lab.experiments.bench import Bench, label_of
from assay_lab.experiments.finding import Finding, ValueRow, over_seeds, seeds_note
from assay_lab.experiments.named_data import named_source
from assay_lab.experiments.reproduction import ANY, Reproduction
from assay_lab.experiments.scales import sizes_of
from assay_lab.papers.bugs.averages import SCALES, BugSizes, models_of
from assay_lab.papers.printed import value_table
from assay_lab.result_rows import column
from assay_lab.testbed import fresh_functions, never_seen_functions

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
    size = sizes_of(bench, "bugs", SCALES)
    pairs, source = pairs_of(bench, size)
    runs = []
    for seed in bench.seeds:
        bench.watchers.begin(f"planted bugs, seed {seed}")
        runs.append(planted(model, pairs, size=size, seed=seed))
    recovery = list(map(recovered, runs))
    alarms = list(map(false_alarms, runs))
    preference = list(map(preferred, runs))
    return Finding(
        name="bugs/strata",
        title="Exposure of planted bugs",
        tables=(
            value_table(
                "recovery",
                "AUROC of telling strata apart",
                head="strata",
                columns=recovery[0]["fix against bug"],
                rows=mean_rows(recovery),
            ),
            value_table(
                "alarms",
                f"Bugs of which neither side was trained on, flagged at {ALPHA:.0%}",
                head="question",
                columns=("flagged",),
                rows=mean_rows(alarms),
                unit="percent",
            ),
            value_table(
                "preference",
                "Share of pairs whose fixed side is likelier",
                head="stratum",
                columns=preference[0][NEITHER],
                rows=mean_rows(preference),
                unit="percent",
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


Shares = Mapping[str, Mapping[str, Estimate]]
"""Row → column → share of one run."""


def mean_rows(runs: Sequence[Shares]) -> Iterator[ValueRow]:
    """Yield the means over seeds, a row for each name of the first run."""
    for name, columns in runs[0].items():
        of_name = column(runs, name)
        means = [over_seeds(list(map(itemgetter(column), of_name)), share=True) for column in columns]
        yield ValueRow(name, tuple(means))


def pairs_of(bench: Bench, size: BugSizes) -> tuple[tuple[SamplePair, ...], str]:
    """Return the bugs of the bench's data, or functions of which a copy got a small change, and their source in words.

    Raises:
        DataError: there are too few.
    """
    pairs, source = (
        changed_functions(size),
        "functions, and copies of them in which one operator or constant is changed",
    )
    if bench.data:
        pairs = chain.from_iterable(map(named_pairs, bench.data, bench.data.values()))
        source = f"bugs of {', '.join(bench.data)}"
    low, high = CHARACTERS
    # two bugs of one program would leak from one stratum into another
    by_program = {}
    for pair in pairs:
        short, long = sorted((len(pair.fixed.text), len(pair.buggy.text)))
        if low <= short and long <= high:
            by_program[pair.fixed.text] = pair
    chosen = tuple(by_program.values())
    needed = 3 * size.trained + size.calibrating + size.judged
    if len(chosen) < needed:
        raise DataError(f"{len(chosen)} different programs of {low} to {high} characters; expected at least {needed}")
    return chosen, source


def changed_functions(size: BugSizes) -> Iterator[SamplePair]:
    """Yield functions, and copies of them with a small change."""
    for sample in (fresh_functions(0.5) if size.fresh else never_seen_functions()).samples:
        changed = with_small_change(sample.text)
        if changed is not None:
            yield SamplePair(sample, replace(sample, text=changed))


def named_pairs(name: str, path: Path) -> Sequence[SamplePair]:
    """Return the bugs of a benchmark, or of a table with the columns fixed and buggy."""
    return read_pairs(*named_source(name, path)).pairs


def with_small_change(text: str) -> str | None:
    """Return a function with one changed operator or constant, behind its first line; None where none fits."""
    head, line, body = text.partition("\n")
    places = []
    for pattern, new in CHANGES:
        places += [(place, new) for place in re.finditer(pattern, body)]
    if not places:
        return None
    # the length chooses the place: the same change at every run, and another one for other functions
    place, new = places[len(text) % len(places)]
    return head + line + body[: place.start()] + new + body[place.end() :]


TRAINED_ON = {FIX: ("fixed",), BUG: ("buggy",), BOTH: ("fixed", "buggy"), NEITHER: ()}
"""Stratum → sides that are trained on."""


def planted(model: str, pairs: Sequence[SamplePair], *, size: BugSizes, seed: int) -> StrataValues:
    """Deal pairs to the strata, train a model on their sides, and return how likely all sides are before and after."""
    of_neither = size.calibrating + size.judged
    # the pairs that calibrate are the last ones of "neither"
    dealt = np.repeat([BUG, FIX, BOTH, NEITHER], [size.trained] * 3 + [of_neither])
    order = np.random.default_rng(seed).permutation(len(pairs))[: len(dealt)]
    chosen = tuple(map(pairs.__getitem__, order))
    texts = []
    for pair, name in zip(chosen, dealt.tolist(), strict=True):
        texts += [getattr(pair, side).text for side in TRAINED_ON[name]]
    opened = open_local(model)
    before = side_likelihoods(opened, chosen)
    rows = member_rows(opened.checkpoint.tokenizer, texts, context=opened.context)
    # changes the weights in place
    tune(opened.checkpoint.model, rows, TRAINING, seed=seed)
    return StrataValues(
        pairs=chosen,
        strata=dealt,
        calibrates=np.arange(len(dealt)) >= len(dealt) - size.calibrating,
        before=before,
        after=side_likelihoods(opened, chosen),
    )


def side_likelihoods(model: TransformersModel, pairs: Sequence[SamplePair]) -> Float64Array:
    """Return the mean log-likelihood of fix and bug, float64 [pairs, 2]."""
    sides = chain.from_iterable(map(attrgetter("fixed", "buggy"), pairs))
    return likelihoods(sides, model).reshape(-1, 2)


COMPARISONS: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "fix against bug": ((FIX,), (BUG,)),
    "any side against neither": ((BUG, FIX, BOTH), (NEITHER,)),
    "both against neither": ((BOTH,), (NEITHER,)),
    "both against one side": ((BOTH,), (BUG, FIX)),
}
"""Comparison → the strata that should have higher values, and the others."""


def recovered(run: StrataValues) -> Shares:
    """Return comparison → value → AUROC."""
    result: defaultdict[str, dict[str, Estimate]] = defaultdict(dict)
    for name, (first, second) in COMPARISONS.items():
        rows = np.flatnonzero(np.isin(run.strata, (*first, *second)) & ~run.calibrates)
        positive = np.isin(run.strata[rows], first)
        groups = bug_groups(map(run.pairs.__getitem__, rows))
        for title, values in (("gain over the reference", run.gains), ("without reference", run.after)):
            result[name][title] = rank_score(name, statistic(values[rows], name), positive, groups=groups).auroc
    return result


def statistic(values: Float64Array, comparison: str) -> Float64Array:
    """Return the value that answers a question, from those of fix and bug, [n, 2] → [n]."""
    if comparison == "fix against bug":
        return values[:, 0] - values[:, 1]
    # both sides were seen only where the lesser one gained; any was, where the greater one did
    value: Float64Array = values.min(axis=1) if comparison == "both against one side" else values.max(axis=1)
    return value


def false_alarms(run: StrataValues) -> Shares:
    """Return question → share of "neither" that is flagged, with p-values from the pairs that calibrate."""
    judged = (run.strata == NEITHER) & ~run.calibrates
    groups = bug_groups(compress(run.pairs, judged))
    # two-sided: either side may be the one that was trained on
    preference = run.gains[:, 0] - run.gains[:, 1]
    questions = {
        "one side rather than the other was trained on": np.abs(preference),
        "any side was trained on": run.gains.max(axis=1),
    }
    shares = {}
    for name, values in questions.items():
        flags = conformal_p_values(values[judged], values[run.calibrates]) <= ALPHA
        shares[name] = {"flagged": grouped_share(flags, groups)}
    return shares


def preferred(run: StrataValues) -> Shares:
    """Return stratum → share of pairs whose fixed side is likelier, or gained more."""
    result: defaultdict[str, dict[str, Estimate]] = defaultdict(dict)
    for name in STRATA:
        is_judged = (run.strata == name) & ~run.calibrates
        groups = bug_groups(compress(run.pairs, is_judged))
        for title, values in (("after", run.after), ("before", run.before), ("gain", run.gains)):
            result[name][title] = grouped_share(values[is_judged, 0] > values[is_judged, 1], groups)
    return result


EXPERIMENTS = (
    Reproduction(
        "bugs",
        "strata",
        strata,
        makes_texts=True,
        takes=ANY,
        models=1,
        models_with_data=1,
        keys=("trained", "calibrating", "judged", "fresh"),
    ),
)
