"""Every cell: which detector is above which on every checkpoint and view."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import chain, product
from operator import attrgetter

from assay.evaluation import Estimate
from assay.scores import SCORES, request
from assay_lab.columns import at_places, attributes, having
from assay_lab.experiments.bench import Bench
from assay_lab.experiments.finding import Finding, ValueRow, ValueTable, over_seeds
from assay_lab.experiments.reproduction import ANY, Reproduction
from assay_lab.experiments.runs import (
    Runs,
    epoch_heading,
    epochs_of,
    over_cells,
    runs_of,
    setting,
    view_title,
    views_of,
)
from assay_lab.mappings import map_values
from assay_lab.papers.printed import headings, value_table
from assay_lab.testbed import BASELINES, CONTENDERS, SampleView
from assay_lab.testbed.evaluation_result import Contest


def every_cell(bench: Bench) -> Finding:
    """AUROC of the contenders in every cell, and paired differences to SrDetection and Min-K%++."""
    runs = runs_of(bench)
    contests = contests_of(runs)
    rivals, views = dict.fromkeys(attributes(contests, "rival")), views_of(runs)
    areas = list(map(partial(contender_auroc_table, runs), views))
    differences = [difference_table(runs, rival, view) for rival, view in product(rivals, views)]
    return Finding(
        name="assay/every-cell",
        title="AUROC in every cell, and paired differences",
        tables=(*areas, *differences),
        notes=(*setting(bench, runs), verdict(differences), intervals(contests)),
        seeds=bench.seeds,
    )


def contender_auroc_table(runs: Runs, view: SampleView) -> ValueTable:
    """Return the AUROC of each contender on each checkpoint."""
    rows = []
    for name in (*BASELINES, *CONTENDERS):
        values = []
        for seeds, epoch in product(runs.values(), epochs_of(runs)):
            values.append(over_cells(seeds, name, epoch, view=view, get=attrgetter("auroc")))
        rows.append(ValueRow(name, tuple(values)))
    return value_table(
        f"auroc-{view}", f"AUROC, {view_title(runs, view)}", head="detector", columns=columns(runs), rows=rows
    )


def difference_table(runs: Runs, rival: str, view: SampleView) -> ValueTable:
    """Return the AUROC of each candidate minus that of one rival, paired, on each checkpoint."""
    candidates = dict.fromkeys(attributes(having(contests_of(runs), rival=rival), "candidate"))
    rows = []
    for name in candidates:
        values = []
        for seeds, epoch in product(runs.values(), epochs_of(runs)):
            key = (name, rival, epoch, view)
            values.append(over_seeds([*differences_in(chain.from_iterable(attributes(seeds, "contests")), key)]))
        rows.append(ValueRow(name, tuple(values)))
    title = f"AUROC minus that of {rival}, paired, {view_title(runs, view)}"
    short = f"over-{rival.replace('_', '-')}-{view}"
    return value_table(short, title, head="detector", columns=columns(runs), rows=rows)


def differences_in(contests: Iterable[Contest], key: tuple[str, str, int, SampleView]) -> Iterator[Estimate]:
    """Yield the paired differences of one cell: candidate, rival, epoch and view."""
    for contest in contests:
        if (contest.candidate, contest.rival, contest.epoch, contest.view) == key:
            yield contest.difference.estimate


def columns(runs: Runs) -> list[str]:
    """Return the headings of the checkpoints."""
    return headings(runs, map(epoch_heading, epochs_of(runs)))


def contests_of(runs: Runs) -> list[Contest]:
    """Return the paired comparisons of every run."""
    return list(chain.from_iterable(attributes(chain.from_iterable(runs.values()), "contests")))


def verdict(tables: list[ValueTable]) -> str:
    """Return a sentence that names the candidates above every rival in every cell."""
    differences: defaultdict[str, list[float]] = defaultdict(list)
    for table in tables:
        for row in table.rows:
            values = [value.value for value in row.values if isinstance(value, Estimate)]
            # a candidate without a value in a table counts as below
            differences[row.name].append(min(values, default=-1.0))
    least = map_values(min, differences)
    above = [name for name in least if least[name] > 0]
    level = [name for name in least if least[name] >= 0]
    two_models = [name for name in least if request(name).definition.access == "two models"]
    rivals = " and ".join(attributes(at_places(SCORES, BASELINES), "title"))
    return (
        f"Above {rivals} in every cell, by the mean over seeds: {', '.join(above) or 'none'}; "
        f"never below either, ties at the ceiling counted: {', '.join(level) or 'none'}. "
        f"{', '.join(two_models)}: reads two models, the one before the training as well. "
        "This order holds for these texts and this recipe; other data give another order."
    )


def intervals(contests: Sequence[Contest]) -> str:
    """Return a sentence on how many cells of single runs have a paired interval above 0."""
    # rivals and candidates in the order in which they first occur, the base model's cells among them
    lows: dict[str, dict[str, list[float]]] = {contest.rival: {} for contest in contests}
    for contest in contests:
        if contest.epoch:
            lows[contest.rival].setdefault(contest.candidate, []).append(contest.difference.estimate.low)
    counts = []
    for rival, of_rival in lows.items():
        for candidate, of_pair in of_rival.items():
            counts.append(f"{candidate} over {rival} {sum(low > 0 for low in of_pair)} of {len(of_pair)}")
    return f"Cells of single runs whose paired interval lies above 0: {', '.join(counts)}."


EXPERIMENTS = (Reproduction("assay", "every-cell", every_cell, takes=ANY),)
