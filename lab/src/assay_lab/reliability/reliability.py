"""The reliability grid: how often are verdicts on whole benchmarks right, wrong, or open, where the truth is known?

Each cell is a plant, a kind of benchmark, a size n and a true share λ. Benchmarks are drawn from pools that were scored
once, so that every cell has many draws. Half of the seeds chooses (thresholds of methods without a rule), the other
half confirms: only its figures are printed.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, compress, filterfalse, product, starmap
from operator import attrgetter
from pathlib import Path

import numpy as np

from assay.errors import DataError
from assay.evaluation import BlindBaseline, ContaminatedShare, Estimate, blind_baseline
from assay.leakage import groups_of
from assay.types import Sample, Verdict
from assay_lab.columns import among, at_places, attributes, group_column, text_column, without
from assay_lab.evaluation.independent import wilson
from assay_lab.experiments.bench import Bench
from assay_lab.experiments.finding import Finding, ValueRow, ValueTable
from assay_lab.experiments.reproduction import ANY, Reproduction
from assay_lab.mappings import mapped
from assay_lab.papers.printed import value_table
from assay_lab.reliability.grid_methods import (
    ALLOWANCES,
    CODEC,
    DECLARED,
    MARGINS,
    METHODS,
    RESAMPLES,
    VARIANTS,
    GridDraw,
    called,
    evidence_on_draw,
    variant,
)
from assay_lab.reliability.planted_pools import BASE, CONTROLS, CONVERGED, PlantedPool, pools
from assay_lab.reliability.pool_settings import base_model_of, pool_settings_of
from assay_lab.reliability.tuned_methods import tuned_requests, tuned_values
from assay_lab.result_rows import column

SIZES = (50, 164, 500)
SHARES = (0.0, 0.05, 0.1, 0.2, 0.5, 1.0)
PLANTED, SIBLINGS = "planted", "same project, not trained on"
COVERED = "unseen text of the same projects"
KINDS: Mapping[str, tuple[str, str]] = {
    PLANTED: ("member", "clean"),
    SIBLINGS: ("member", "sibling"),
    COVERED: ("member", "sibling"),
    "shifted: another project and time": ("member", "shifted"),
}
"""Kind of benchmark → roles of its trained-on and of its other samples; λ is above 0 only where projects are mixed or
covered."""
FEWEST_UNSEEN = 60
"""Texts that have to be left to calibrate where unseen text comes from the projects of the benchmark."""
MEASURABLE = 0.2, 164
"""λ and n from which on a right verdict is expected."""
OUTCOMES, HEADS = ("right", "wrong", "open"), ("right", "wrong", "cannot tell")
"""Outcomes of a verdict, and the headings of their columns."""


HALVES = ("choice", "confirmed")


TUNED_SHARES = (0.0, 0.2, 1.0)
"""λ of the smallest benchmarks on which the methods run that fine-tune; one draw of each cell."""


@dataclass(frozen=True, slots=True)
class GridCell:
    """One cell of the grid.

    Attributes:
        plant: how the model was trained.
        kind: of the benchmark, one of `KINDS`.
        n: number of samples.
        share: true λ.
    """

    plant: str
    kind: str
    n: int
    share: float

    @property
    def is_shifted(self) -> bool:
        """True where the benchmark is of another kind of text than the unseen text."""
        return self.kind.startswith("shifted")

    @property
    def is_measurable(self) -> bool:
        """True where a right verdict is expected."""
        return self.share >= MEASURABLE[0] and self.n >= MEASURABLE[1]


@dataclass(frozen=True, slots=True)
class GridRecord:
    """The verdicts on one draw.

    Attributes:
        cell: of the grid.
        chooses: True in the half of the seeds that chooses.
        verdicts: method → its verdict; a method that was not run on this draw has none.
        values: method without a rule → its value.
        share: estimated λ with its interval and its bound.
    """

    cell: GridCell
    chooses: bool
    verdicts: Mapping[str, Verdict]
    values: Mapping[str, float]
    share: ContaminatedShare


def reliability(bench: Bench) -> Finding:
    """Right, wrong and open verdicts on whole benchmarks of known truth.

    Methods without a rule get the threshold that is best on the choice half, which favours them.

    Raises:
        DataError: the pools are too small for any benchmark.
    """
    # one half of the seeds chooses and the other confirms, so two are needed
    seeds = bench.seeds if len(bench.seeds) > 1 else (bench.seeds[0], bench.seeds[0] + 1)
    half = len(seeds) // 2
    records: list[GridRecord] = []
    for place, seed in enumerate(seeds):
        records += records_of(bench, seed, chooses=place < half, context=place in (0, half))
    if not all(halves_of(records)):
        raise DataError(
            f"no benchmark of {min(SIZES)} texts can be drawn from the pools of {bench.scale}; expected more texts"
        )
    thresholds = mapped(partial(best_threshold_of, records), METHODS.values)
    confirmed = list(map(partial(with_thresholds, thresholds=thresholds), filterfalse(attrgetter("chooses"), records)))
    cells = list(dict.fromkeys(attributes(confirmed, "cell")))
    return Finding(
        name="assay/reliability",
        title="Verdicts on whole benchmarks where the truth is known",
        tables=(
            *verdict_tables(confirmed),
            margin_table(records),
            allowance_table(records),
            cell_table(confirmed, cells),
            share_table(confirmed, cells),
        ),
        notes=(f"Planted model: {Path(base_model_of(bench)).name}.", *grid_notes(confirmed, thresholds, seeds)),
        seeds=seeds,
    )


def records_of(bench: Bench, seed: int, *, chooses: bool, context: bool = True) -> Iterator[GridRecord]:
    """Yield the verdicts on all draws of one seed; without `context` CoDeC and what fine-tunes are left out."""
    own, settings = pools(bench, seed, context=context), pool_settings_of(bench)
    for plant, kind, bare in sources_of(own, seed):
        bench.watchers.begin(f"grid {plant}, {kind}, seed {seed}")
        # the blind baseline never sees the model, so one serves all draws of a pool
        sources = replace(bare, blind=blind_on_pool(bare, seed))
        for cell in grid_cells(plant, kind, sources):
            for turn in range(settings.draws):
                draw = drawn(cell, sources, seed * 1000 + turn)
                is_tuned = turn < settings.tuned and cell.n == SIZES[0] and cell.share in TUNED_SHARES
                if context and is_tuned:
                    tuned = tuned_values(sources.pool.model, *draw.samples, folder=bench.out / "pools" / "tuned")
                    draw = replace(draw, tuned=tuned)
                yield recorded(cell, draw, chooses=chooses)


def sources_of(own: Mapping[str, PlantedPool], seed: int) -> Iterator[tuple[str, str, "Sources"]]:
    """Yield plant, kind of benchmark and the pools that such benchmarks are drawn from, without a blind baseline."""
    for plant, whole in own.items():
        if plant in CONTROLS.values():
            continue
        control = own[CONTROLS[CONVERGED if plant == CONVERGED else BASE]]
        for kind, (_, role) in KINDS.items():
            pool = covered_pool(whole, seed) if kind == COVERED else whole
            sources = Sources(pool=pool, others=pool, role=role, controls=(control, control))
            if kind.startswith("shifted") and plant == CONVERGED:
                # its own pool has no texts of another project, so those of the base model stand for them
                sources = Sources(pool=pool, others=own[BASE], role="clean", controls=(control, own[CONTROLS[BASE]]))
            if not len(sources.others.places(sources.role)) or (plant == BASE and role == "sibling"):
                # no project was trained on
                continue
            if kind == COVERED and len(pool.places("unseen")) < FEWEST_UNSEEN:
                continue
            yield plant, kind, sources


def covered_pool(pool: PlantedPool, seed: int) -> PlantedPool:
    """Return a pool in which half of the siblings calibrate, with the members of their projects alone."""
    siblings = np.random.default_rng(seed).permutation(pool.places("sibling"))
    # half of the siblings calibrate, the other half are the clean part of the benchmarks
    calibrating = set(siblings[: len(siblings) // 2].tolist())
    projects = set(group_column(at_places(pool.samples, calibrating)))

    def role(at: int, sample: Sample) -> str | None:
        if at in calibrating:
            return "unseen"
        if sample.label in ("member", "sibling") and sample.group in projects:
            return sample.label
        return "left out"

    samples = [replace(sample, label=role(at, sample)) for at, sample in enumerate(pool.samples)]
    return replace(pool, samples=tuple(samples))


def grid_cells(plant: str, kind: str, sources: "Sources") -> Iterator[GridCell]:
    """Yield the cells that the pools have enough texts for."""
    members, others = len(sources.pool.places("member")), len(sources.others.places(sources.role))

    shares = SHARES if kind in (PLANTED, COVERED) and plant != BASE else (0.0,)
    for n, share in product(SIZES, shares):
        seen = round(share * n)
        # a share that rounds to no text would be a clean benchmark under a wrong name
        if seen <= members and n - seen <= others and (share == 0 or seen):
            yield GridCell(plant=plant, kind=kind, n=n, share=share)


@dataclass(frozen=True, slots=True, eq=False)
class Sources:
    """Pools that a benchmark is drawn from.

    Attributes:
        pool: members and unseen text.
        others: the texts that were not trained on; `role` is theirs.
        controls: the texts of both pools under a model that saw none of them.
        blind: baseline that never sees the model; None before it is measured.
    """

    pool: PlantedPool
    others: PlantedPool
    role: str
    controls: tuple[PlantedPool, PlantedPool]
    blind: BlindBaseline | None = None


def drawn(cell: GridCell, sources: Sources, seed: int) -> GridDraw:
    """Return one benchmark of a cell."""
    # a draw depends on its cell and seed alone, not on the draws before it
    random = np.random.default_rng([seed, cell.n, round(100 * cell.share)])
    pool, source = sources.pool, sources.others
    seen = round(cell.share * cell.n)
    first = random.permutation(pool.places("member"))[:seen]
    second = random.permutation(source.places(sources.role))[: cell.n - seen]
    unseen = pool.places("unseen")
    scores, of_unseen = {}, {}
    for name in pool.scores.keys() & source.scores.keys():
        scores[name] = np.concatenate([pool.scores[name][first], source.scores[name][second]])
        of_unseen[name] = pool.scores[name][unseen]
    samples = [*map(pool.samples.__getitem__, first), *map(source.samples.__getitem__, second)]
    others = list(map(pool.samples.__getitem__, unseen))
    declared, of_others = column(attributes(sources.controls, "scores"), DECLARED)
    return GridDraw(
        scores=scores,
        unseen=of_unseen,
        groups=groups_of(samples),
        unseen_groups=groups_of(others, "unseen"),
        control=(np.concatenate([declared[first], of_others[second]]), declared[unseen]),
        blind=sources.blind,
        seed=seed,
        samples=(samples, others),
    )


def blind_on_pool(sources: Sources, seed: int) -> BlindBaseline:
    """Return the blind baseline of a kind of benchmark against the unseen text, on all texts of the pool."""
    others, unseen = sources.others.of_role(sources.role), sources.pool.of_role("unseen")
    both = [*others, *unseen]
    positive = [True] * len(others) + [False] * len(unseen)
    texts = text_column(both)
    return blind_baseline(texts, positive, groups_of(both), seed=seed, resamples=RESAMPLES)


def recorded(cell: GridCell, draw: GridDraw, *, chooses: bool) -> GridRecord:
    """Return the verdicts of every method on a draw."""
    verdicts = {name: method(draw) for name, method in METHODS.rules.items()}
    values = {name: value(draw) for name, value in METHODS.values.items()}
    test = evidence_on_draw(draw).test
    if test is None:
        raise DataError(f"{cell}: no unseen text; expected some in every pool")
    return GridRecord(cell=cell, chooses=chooses, verdicts=verdicts, values=values, share=test.share)


def best_threshold_of(records: Sequence[GridRecord], name: str) -> float:
    """Return the threshold with the most right verdicts on the choice half, clean and contaminated cells alike."""
    chosen = list(filter(attrgetter("chooses"), records))
    values = np.array(column(attributes(chosen, "values"), name))
    truths = np.array(attributes(chosen, "cell.share")) > 0
    # clean and contaminated cells count the same, however many there are of each
    weights = np.where(truths, 0.5 / max(1, truths.sum()), 0.5 / max(1, (~truths).sum()))
    candidates = np.unique(values[~np.isnan(values)])
    if not len(candidates):
        return float("inf")
    # a NaN is above no candidate, and so counts as "not contaminated" here; with_thresholds gives it no verdict
    right = [float(weights[(values > candidate) == truths].sum()) for candidate in candidates]
    return float(candidates[int(np.argmax(right))])


def with_thresholds(record: GridRecord, thresholds: Mapping[str, float]) -> GridRecord:
    """Return a record with the verdicts of the methods that need a threshold."""
    verdicts = dict(record.verdicts)
    for name, value in record.values.items():
        if not math.isnan(value):
            verdicts[name] = called(value > thresholds[name])
    return replace(record, verdicts=verdicts)


def outcome(record: GridRecord, name: str) -> str:
    """Return "right", "wrong" or "open"."""
    verdict = record.verdicts[name]
    if verdict is Verdict.CANNOT_TELL:
        return "open"
    # "familiar" and "contaminated" are both right where a part was trained on
    is_right = (verdict is not Verdict.NO_EVIDENCE) == (record.cell.share > 0)
    return "right" if is_right else "wrong"


def outcomes(records: Iterable[GridRecord], method: str) -> Counter[str]:
    """Return the number of right, wrong and open verdicts of a method."""
    return Counter(outcome(record, method) for record in records if method in record.verdicts)


def verdict_tables(records: Sequence[GridRecord]) -> tuple[ValueTable, ...]:
    """Return right, wrong and open verdicts of every method: over all cells, clean ones, and where n and λ suffice."""
    parts: dict[str, tuple[str, Callable[[GridCell], bool]]] = {
        "all": ("All cells", lambda _: True),
        "clean": ("λ = 0: wrong is a false alarm", lambda cell: cell.share == 0),
        "shifted": ("λ = 0, shifted cells", lambda cell: cell.is_shifted),
        "familiar": ("λ = 0, other texts of the same projects were trained on", lambda cell: cell.kind == SIBLINGS),
        "measurable": (f"λ at least {MEASURABLE[0]:g} and n at least {MEASURABLE[1]}", lambda cell: cell.is_measurable),
    }
    tables = []
    for name, (title, belongs) in parts.items():
        chosen = list(compress(records, map(belongs, attributes(records, "cell"))))
        if chosen:
            methods = dict.fromkeys(chain.from_iterable(attributes(chosen, "verdicts")))
            rows = [ValueRow(method, shares_of(chosen, method)) for method in without(methods, VARIANTS)]
            head = f"{title} ({len(chosen)} benchmarks)"
            tables.append(value_table(name, head, head="method", columns=HEADS, rows=rows, unit="percent"))
    return tuple(tables)


def shares_of(records: Sequence[GridRecord], method: str) -> tuple[Estimate, ...]:
    """Return the shares of right, wrong and open verdicts; draws of a pool are not independent, see the notes."""
    counts = outcomes(records, method)
    return tuple(wilson(counts[kind], counts.total()) for kind in OUTCOMES)


def margin_table(records: Sequence[GridRecord]) -> ValueTable:
    """Return the verdicts of `assay audit` by its margin of "no evidence", on both halves of the seeds."""
    choice, confirmed = halves_of(records)
    rows = []
    for margin in MARGINS:
        name = variant("margin", margin)
        rows.append(ValueRow(f"{margin:.0%}", shares_of(choice, name) + shares_of(confirmed, name)))
    columns = list(starmap("{1}, {0}".format, product(HALVES, HEADS)))
    return value_table("margins", "Margin of no evidence", head="margin", columns=columns, rows=rows, unit="percent")


def halves_of(records: Sequence[GridRecord]) -> tuple[list[GridRecord], list[GridRecord]]:
    """Return the records that choose and those that confirm."""
    choice = list(filter(attrgetter("chooses"), records))
    return choice, list(filterfalse(attrgetter("chooses"), records))


def allowance_table(records: Sequence[GridRecord]) -> ValueTable:
    """Return what the allowance for familiar projects costs and gives, on both halves of the seeds."""
    rows = []
    for familiarity in ALLOWANCES:
        name = variant("allowance", familiarity)
        values: list[Estimate] = []
        for half in halves_of(records):
            familiar = among(half, "cell.kind", (SIBLINGS,))
            measurable = list(filter(attrgetter("cell.is_measurable"), half))
            values += [shares_of(familiar, name)[1], shares_of(measurable, name)[0]]
        rows.append(ValueRow(f"{familiarity:g}", tuple(values)))
    kinds = ("familiar projects called contaminated", "right where λ and n suffice")
    return value_table(
        "allowances",
        "Allowance for familiar projects",
        head="standard deviations",
        columns=list(starmap("{1}, {0}".format, product(HALVES, kinds))),
        rows=rows,
        unit="percent",
    )


def by_cell(records: Iterable[GridRecord]) -> Mapping[GridCell, list[GridRecord]]:
    """Return cell → its records, in their order."""
    cells: defaultdict[GridCell, list[GridRecord]] = defaultdict(list)
    for record in records:
        cells[record.cell].append(record)
    return cells


def cell_name(cell: GridCell) -> str:
    """Return the heading of the row of a cell."""
    return f"{cell.plant}, {cell.kind}, n {cell.n}, λ {cell.share:g}"


def cell_table(records: Sequence[GridRecord], cells: Sequence[GridCell]) -> ValueTable:
    """Return the verdicts of `assay audit` in every cell."""
    of_cell = by_cell(records)
    rows = []
    for cell in cells:
        counts = outcomes(of_cell[cell], "assay")
        shares = [counts[kind] / counts.total() for kind in OUTCOMES]
        rows.append(ValueRow(cell_name(cell), tuple(shares)))
    title = "Verdicts of assay audit by cell"
    return value_table("cells", title, head="cell", columns=HEADS, rows=rows, unit="percent")


def share_errors(records: Iterable[GridRecord]) -> list[float]:
    """Return how far each estimated share is from the truth."""
    return [abs(record.share.estimate.value - record.cell.share) for record in records]


def intervals_hold(records: Iterable[GridRecord]) -> list[bool]:
    """Return for each estimated share with an interval whether it contains the truth."""
    estimates = [(record.share.estimate, record.cell.share) for record in records]
    return [estimate.low <= truth <= estimate.high for estimate, truth in estimates if estimate.has_interval]


def share_table(records: Sequence[GridRecord], cells: Sequence[GridCell]) -> ValueTable:
    """Return the error of the estimated share and the coverage of its interval, by cell."""
    of_cell = by_cell(records)
    rows = []
    for cell in cells:
        own = of_cell[cell]
        typical = float(np.median(attributes(own, "share.estimate.value")))
        holds = intervals_hold(own)
        values = (typical, float(np.median(share_errors(own))), wilson(sum(holds), len(holds)))
        rows.append(ValueRow(cell_name(cell), values))
    columns = ("median estimate", "median error", "intervals that contain λ")
    title = "Estimated share of the benchmark"
    return value_table("share", title, head="cell", columns=columns, rows=rows, unit="percent")


def grid_notes(records: Sequence[GridRecord], thresholds: Mapping[str, float], seeds: Sequence[int]) -> tuple[str, ...]:
    """Return what was drawn from what, and the thresholds."""
    methods = set(chain.from_iterable(attributes(records, "verdicts")))
    values = ", ".join(f"{name} {value:.4g}" for name, value in thresholds.items() if name in methods)
    half = len(seeds) // 2
    drawn_from = (
        f"{len(records)} benchmarks drawn from the pools of seeds {list(seeds[half:])}; seeds {list(seeds[:half])} "
        f"chose the thresholds of methods without a rule: {values}."
    )
    accuracy = (
        f"Median error of λ over all cells {np.median(share_errors(records)):.3f}; "
        f"{np.mean(intervals_hold(records)):.0%} of the 90 % intervals contain the truth."
    )
    notes = [
        drawn_from,
        "Draws of one cell share a pool and a training: intervals over draws are too narrow as intervals over models.",
        accuracy,
        "A verdict of no evidence at any λ above 0 counts as wrong, also at λ that no test of this size can reveal.",
    ]
    if CODEC in methods:
        notes.append("CoDeC runs on the first seed of each half, because it costs three times as much as all scores.")
    if not set(methods).isdisjoint(attributes(tuned_requests(), "detector.title")):
        shares = ", ".join(map("{:g}".format, TUNED_SHARES))
        notes.append(
            "Methods that fine-tune the model or run it many times (the last rows) run on the first draws of the cells "
            f"with n {SIZES[0]} and λ {shares} of those seeds."
        )
    return tuple(notes)


EXPERIMENTS = (Reproduction("assay", "reliability", reliability, takes=ANY, models=1, models_with_data=1),)
