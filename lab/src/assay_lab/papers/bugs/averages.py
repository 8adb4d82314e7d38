"""Averages of a model on the bug benchmarks at hand, behind tables 5 and 6 and figures 3 to 5.

The paper's nine models, its whole files (which need checkouts of all projects) and its 500 files of new repositories
are not at hand. What is given takes their place: the models of the bench, the benchmarks of `--data`, as hunks or as
whole files where `--data source-root=DIR` names checkouts, and control sets where `--data new-java=PATH` and
`--data new-python=PATH` name files of new repositories.
"""

import fnmatch
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import compress

import numpy as np

from assay.codec import decode, encode
from assay.errors import DataError
from assay.evaluation import ShingleIndex
from assay.files import parse_json, write_json
from assay.models import combined, open_local
from assay.scores import requests
from assay.scoring import plan
from assay.types import Sample
from assay.unseen import REPEATED
from assay_lab.bugs import (
    BugSet,
    ControlSet,
    SideAverages,
    drawn_pairs,
    side_averages,
    with_whole_files,
    without_empty,
)
from assay_lab.bugs.pairs import fixed_sides, read_pairs
from assay_lab.bugs.scored import scored_sets
from assay_lab.bugs.study import PAPER_STARTS, Starts, score_names
from assay_lab.columns import at_places, attributes, keyed, present, text_column, without
from assay_lab.experiments.bench import Bench, label_of
from assay_lab.experiments.named_data import named_dataset, named_source
from assay_lab.experiments.papers import paper
from assay_lab.experiments.scales import Count, sizes_of
from assay_lab.mappings import map_values

PAPER = paper("bugs")
BENCHMARKS: Mapping[str, str] = {
    "Defects4J": "defects4j",
    "BugsInPy": "bugsinpy",
    "GitBug-Java": "gitbug-java",
    "BugsC++": "bugscpp",
    "SWE-bench Lite": "swe-bench-lite",
}
"""Column of the paper → benchmark."""
NEEDED = tuple(BENCHMARKS.values())
CONTROLS: Mapping[str, str] = {"new Java repositories": "new-java", "new Python repositories": "new-python"}
"""Column of the paper → name of its files in `--data`."""
SOURCE_ROOT = "source-root"
"""Name of the folder of checkouts in `--data`."""
OLDER: Mapping[str, str] = {"new-java": "old-java", "new-python": "old-python"}
"""Name of new files → name of files of older repositories, in `--data`, whose copies are left out."""
EVIDENCE = "evidence"
"""Name of a file of `assay scan` in `--data`."""
LISTS = "the-stack-*"
"""Pattern of the names of lists of the repositories of a corpus: "the-stack-v1.0"."""
TAKEN = (*NEEDED, *CONTROLS.values(), *OLDER.values(), SOURCE_ROOT)


@dataclass(frozen=True, slots=True)
class BugSizes:
    """What is measured of each set.

    Attributes:
        texts: most texts of a set; None for all.
        controls: most files of a set of new repositories, drawn at random; None for as many as of the others.
        starts: of 5-gram accuracy: "all" positions, or the five in 512 tokens of the "paper".
        tokens: model → tokens that it was trained on, in trillions, for Table IV.
        tokenizers: model → family of its tokenizer, for Table IV; without an entry the digest of its vocabulary.
        trained: planted pairs of each stratum that is trained on.
        calibrating: pairs of "neither" that calibrate the decision on planted ones.
        judged: pairs of "neither" that it is tried on.
        fresh: draw functions to plant from installed packages; else from the standard library alone, for a quick try.
    """

    texts: Count | None
    controls: Count | None = None
    starts: Starts = "all"
    tokens: Mapping[str, float] = field(default_factory=dict)
    tokenizers: Mapping[str, str] = field(default_factory=dict)
    trained: Count = 100
    calibrating: Count = 150
    judged: Count = 500
    fresh: bool = True


SCALES: Mapping[str, BugSizes] = {
    "smoke": BugSizes(3, trained=6, calibrating=24, judged=12, fresh=False),
    "full": BugSizes(60),
    "paper": BugSizes(None, controls=250, starts="paper", trained=200, calibrating=300, judged=1000),
}
OF_AVERAGES = ("texts", "controls", "starts")
"""Sizes that averages depend on; Table IV has two more, planted bugs have the others."""

Averages = Mapping[str, SideAverages]
"""Column of the paper → averages."""


def models_of(bench: Bench) -> tuple[str, ...]:
    """Return the models of a bench, each once."""
    return tuple(dict.fromkeys(attributes(bench.configurations, "model")))


def most_texts(bench: Bench) -> int | None:
    """Return the most texts of a set; None for all. Errors as `sizes_of`."""
    return sizes_of(bench, "bugs", SCALES).texts


def sets_given(bench: Bench) -> int:
    """Return how many sets of the paper the data of a bench name."""
    return len(bench.data.keys() & {*NEEDED, *CONTROLS.values()})


def sets_of(bench: Bench) -> tuple[tuple[BugSet | ControlSet, ...], tuple[str, ...]]:
    """Return the sets that the data of a bench hold, called as the columns of the paper, and notes on them.

    Raises:
        DataError: the scale or a name is unknown, no benchmark was given, or data cannot be read.
    """
    if unknown := sorted(bench.data.keys() - {*TAKEN, EVIDENCE, *lists_of(bench)}):
        raise DataError(f"--data {unknown[0]}: expected one of {', '.join(TAKEN)}")
    limit = most_texts(bench)
    sets: list[BugSet | ControlSet] = []
    notes: list[str] = []
    for column, name in BENCHMARKS.items():
        if name in bench.data:
            bugs, more = bug_set(bench, column, name, limit=limit)
            sets.append(bugs)
            notes += more
    if not sets:
        raise DataError(f"no benchmark was given: expected --data NAME=PATH for {' or '.join(NEEDED)}")
    for column, name in CONTROLS.items():
        if name in bench.data:
            controls, note = new_files(bench, column, name)
            sets.append(controls)
            notes.append(note)
        elif OLDER[name] in bench.data:
            raise DataError(f"--data {OLDER[name]}: expected it beside {name}, whose copies of it are left out")
    return tuple(sets), tuple(notes)


def new_files(bench: Bench, column: str, name: str) -> tuple[ControlSet, str]:
    """Return files of new repositories without copies of older ones, as many as the scale has, and a note on them."""
    sizes = sizes_of(bench, "bugs", SCALES)
    samples = named_dataset(name, bench.data[name]).samples
    index = ShingleIndex(text_column(samples))
    # files that repeat one another count once, and a copy of an older file is not new
    kept = index.first_of_each_kind(REPEATED)
    if older := bench.data.get(OLDER[name]):
        kept &= ~index.near_any(text_column(named_dataset(OLDER[name], older).samples), REPEATED)
    distinct = list(compress(samples, kept))
    # those of the paper's sets, of the scale, or what there is: the fewest of them
    most = min(present((sizes.texts, sizes.controls, len(distinct))))
    drawn = sorted(np.random.default_rng(0).permutation(len(distinct))[:most].tolist())
    compared = f"of one another or of {OLDER[name]}" if older else f"of one another; {OLDER[name]} was not named"
    note = f"{name}: {most} of {len(samples)} files; {len(samples) - len(distinct)} left out as copies {compared}."
    return ControlSet(column, tuple(at_places(distinct, drawn))), note


def bug_set(bench: Bench, column: str, name: str, *, limit: int | None) -> tuple[BugSet, list[str]]:
    """Return the bugs of one benchmark, as hunks or as whole files, and notes on those that are left out."""
    pairs = drawn_pairs(read_pairs(*named_source(name, bench.data[name])).pairs, limit)
    pairs, notes = without_empty(pairs, benchmark=column)
    if SOURCE_ROOT not in bench.data:
        return BugSet(column, pairs), [*notes]
    pairs, more = with_whole_files(pairs, bench.data[SOURCE_ROOT], benchmark=column)
    return BugSet(column, pairs), [*notes, *more]


def lists_of(bench: Bench) -> tuple[str, ...]:
    """Return the names of the data that are lists of the repositories of a corpus: "the-stack-v1.0"."""
    return tuple(fnmatch.filter(bench.data, LISTS))


def averages(bench: Bench) -> tuple[Mapping[str, Averages], tuple[str, ...]]:
    """Return label of a model → averages of the fixed side or the control texts of each set, and notes.

    Raises:
        DataError: as `sets_of`.
        ModelError: a model cannot be run.
    """
    sets, notes = sets_of(bench)
    ours = {label_of(model): averages_of(bench, model, sets) for model in models_of(bench)}
    return ours, (*notes, *missing_notes(sets, bench))


def averages_of(bench: Bench, model: str, sets: Sequence[BugSet | ControlSet]) -> Averages:
    """Return the averages of one model on each set; those that were computed before are read.

    Only the side that the paper's tables are about is scored.
    """
    texts = map_values(main_texts, keyed(sets, "name"))
    contents = {}
    for name, samples in texts.items():
        contents[name] = text_column(samples)
    # values are bound to the model and to every text, so that other data never read them
    starts = sizes_of(bench, "bugs", SCALES).starts
    path = bench.out / "bug-averages" / f"{combined([model, contents, starts])[:16]}.json"
    if not path.exists():
        bench.watchers.begin(f"{label_of(model)} on {len(sets)} sets")
        chosen = plan(requests(",".join(score_names(starts))), {"target": open_local(model)})
        measured = {}
        for name, columns in scored_sets(texts, chosen, progress=bench.watchers.scoring).items():
            measured[name] = side_averages(texts[name], columns)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_json(path, encode(measured))
    return decode(dict[str, SideAverages], parse_json(path.read_text("utf-8")))


def main_texts(each: BugSet | ControlSet) -> tuple[Sample, ...]:
    """Return the texts that sets are compared by: the fixed sides, or the texts of a control set."""
    return each.samples if isinstance(each, ControlSet) else fixed_sides(each.pairs)


def missing_notes(sets: Sequence[BugSet | ControlSet], bench: Bench) -> tuple[str, ...]:
    """Return what of the paper is not at hand, and what takes its place."""
    present = set(attributes(sets, "name"))
    absent = without((*BENCHMARKS, *CONTROLS), present)
    texts = "Texts are the fixed side of each patch, not the whole file"
    if SOURCE_ROOT in bench.data:
        texts = "Texts are whole files of the bugs"
    if limit := most_texts(bench):
        texts += f", at most {limit} of each set"
    notes = [
        f"The paper's models are not at hand: the models are {', '.join(map(label_of, models_of(bench)))}.",
        "NLL and 5-gram accuracy compare within one model: compare the order of the sets, not values.",
        f"{texts}.",
    ]
    if sizes_of(bench, "bugs", SCALES).starts == "paper":
        notes.append(PAPER_STARTS)
    if absent:
        notes.append(f"No data was named for these rows, which have the paper's value only: {', '.join(absent)}.")
    return tuple(notes)
