"""Section IV of HybridSourceTracker: how well each way of searching finds the origin of a fragment, and its cost."""

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import islice, product, starmap
from operator import attrgetter, itemgetter
from pathlib import Path

from assay.errors import DataError
from assay.evaluation import Estimate
from assay.files import write_text
from assay.reports import Axes, Series
from assay.retrieval import open_encoder
from assay_lab.columns import attributes, having, keyed, present, without
from assay_lab.evaluation.retrieval import RECALL_AT
from assay_lab.experiments.bench import RUNS, Bench
from assay_lab.experiments.finding import Chart, Finding, ValueRow, ValueTable, over_seeds
from assay_lab.experiments.papers import paper
from assay_lab.experiments.reproduction import Reproduction
from assay_lab.experiments.scales import sizes_of
from assay_lab.mappings import map_values
from assay_lab.papers.hst.corpus import (
    SHORTEST,
    SearchSpace,
    corpus_functions,
    installed_functions,
    is_any,
    is_unseen,
    search_space,
)
from assay_lab.papers.hst.queries import ALTERATIONS, Alteration
from assay_lab.papers.hst.search import WAYS
from assay_lab.papers.hst.trial import SIZES, Size, TracingTrial, TrialCell, run_trial
from assay_lab.papers.printed import value_table
from assay_lab.result_rows import column

PAPER = paper("hst")
TRIAL = "trial.json"
ENCODER = "builtin:fragments"
CORPUS = "corpus"
"""Name of the data: code to search in, in place of what is installed."""
RECALLED = ("union", "HST (paper)", "vector")
"""Ways whose recall stands in the tables of recall."""
UNION_GAIN, PAPER_GAIN = "union over the best other", "HST over winnowing (paper)"
"""Rows that compare two ways, paired."""
DRAWN = ("union", "HST (paper)", "winnowing (paper)", "vector")
"""Four lines can be distinguished in one figure; the tables have all ways."""

WORDS: Mapping[Alteration, str] = {
    "type 1": "as they stand",
    "type 2": "after Algorithm 1 of HybridSourceTracker",
    "renamed": "with every name replaced",
    "type 3": "with a quarter of the lines added, removed or moved",
}
COSTS = {
    "p50_ms": ("p50, milliseconds", 1.0),
    "p95_ms": ("p95, milliseconds", 1.0),
    "index_bytes": ("index, megabytes", 1e-6),
}
"""Field of a cost → its title, and the factor to its unit."""


def retrieval(bench: Bench) -> Finding:
    """Fragments of known origin, altered, searched for in every way, among more and more functions.

    The paper's numbers are of its own encoder, corpus and models, which cannot be had; its main claim stands in a note.
    """
    trials = list(map(partial(trial, bench), bench.seeds))
    cells = cells_of_seeds(trials)
    spaces = sorted(set(map(itemgetter(0), cells)), reverse=True)
    # the largest space first: the tables of recall are of it alone
    tables = [quality_table(cells.get((space, kind), {}), space, kind) for space, kind in product(spaces, ALTERATIONS)]
    recalls = [recall_table(cells.get((spaces[0], kind), {}), spaces[0], kind) for kind in ALTERATIONS]
    return Finding(
        name="hst/retrieval",
        title="How well a search finds the origin of a fragment (HybridSourceTracker, Section IV)",
        tables=(*tables, *recalls, *cost_tables(trials)),
        notes=tuple(notes(trials, bench.data.get(CORPUS))),
        seeds=bench.seeds,
        charts=tuple(map(quality_chart, tables[: len(ALTERATIONS)])),
    )


def trial(bench: Bench, seed: int) -> TracingTrial:
    """Return the trial of one seed, which also lies in a file in the folder of its run.

    Raises:
        DataError: as `sizes_of`.
        ModelError: the encoder cannot be opened.
    """
    size = sizes_of(bench, "hst", SIZES)
    encoder = open_encoder(next(iter(bench.models), ENCODER))
    folder = bench.out / RUNS / f"retrieval-{Path(bench.scale).stem}-seed-{seed}"
    bench.watchers.begin(f"run {folder.name}")
    space = space_of(bench, size, seed)
    result = run_trial(space, size, encoder, folder=folder, seed=seed, progress=bench.watchers.scoring)
    write_text(folder / TRIAL, result.as_json())
    return result


def space_of(bench: Bench, size: Size, seed: int) -> SearchSpace:
    """Return the functions to search among: those of the user's corpus, else of what is installed.

    Raises:
        DataError: the corpus cannot be read, or has no function of the length of a window.
    """
    corpus = bench.data.get(CORPUS)
    found = installed_functions() if corpus is None else corpus_functions(corpus)
    space = search_space(
        list(islice(found, size.corpus)),
        smallest=size.spaces[0],
        targets=size.targets,
        long=max(size.windows),
        seed=seed,
        is_target=is_unseen if corpus is None else is_any,
    )
    if not space.targets:
        raise DataError(f"{corpus}: received {len(space.documents)} functions; expected some of {SHORTEST} tokens")
    return space


def quality_table(cells: "WindowCells", space: int, kind: Alteration) -> ValueTable:
    """Return the mean reciprocal ranks of one space and kind: ways in rows, lengths of fragments in columns."""
    windows = sorted(set(map(itemgetter(0), cells)))
    rows: dict[str, list[Estimate | None]] = {name: [] for name in (*WAYS, UNION_GAIN, PAPER_GAIN)}
    for window in windows:
        for way in WAYS:
            rows[way].append(over_seeds(column(attributes(cells[window, way], "quality"), "mrr")))
        rows[UNION_GAIN].append(least_gain(cells[window, "union"]))
        rows[PAPER_GAIN].append(paper_gain(cells[window, "HST (paper)"]))
    return value_table(
        f"mrr-{space}-{kind.replace(' ', '-')}",
        f"Mean reciprocal rank among {space:,} functions, fragments {WORDS[kind]}",
        head="way",
        columns=list(map("{} tokens".format, windows)),
        rows=list(starmap(ValueRow, map_values(tuple, rows).items())),
    )


def recall_table(cells: "WindowCells", space: int, kind: Alteration) -> ValueTable:
    """Return recall at N of one space and kind: ways and N in rows, lengths of fragments in columns."""
    windows = sorted(set(map(itemgetter(0), cells)))
    rows = []
    for way, n in product(RECALLED, RECALL_AT):
        values = [over_seeds(column(attributes(cells[window, way], "quality"), f"recall@{n}")) for window in windows]
        rows.append(ValueRow(f"{way}, recall@{n}", tuple(values)))
    return value_table(
        f"recall-{space}-{kind.replace(' ', '-')}",
        f"Share of fragments {WORDS[kind]} whose origin is among the first N of {space:,} functions",
        head="way",
        columns=list(map("{} tokens".format, windows)),
        rows=rows,
    )


WindowCells = Mapping[tuple[int, str], Sequence[TrialCell]]
"""Window and way → the cells of all seeds."""


def cells_of_seeds(trials: Sequence[TracingTrial]) -> Mapping[tuple[int, Alteration], WindowCells]:
    """Return space and kind of alteration → its cells."""
    cells: dict[tuple[int, Alteration], dict[tuple[int, str], list[TrialCell]]] = {}
    for of_seed in trials:
        for cell in of_seed.cells:
            of_kind = cells.setdefault((cell.space, cell.kind), {})
            of_kind.setdefault((cell.window, cell.way), []).append(cell)
    return cells


def least_gain(union: Sequence[TrialCell]) -> Estimate | None:
    """Return the paired gain of the union over that other way over which it is smallest."""
    # the smallest one is stated, so that no choice among the ways makes the union look better
    gains = list(map(partial(gain_over, union), union[0].gain))
    return min(present(gains), key=lambda gain: gain.value, default=None)


def gain_over(cells: Sequence[TrialCell], way: str) -> Estimate | None:
    """Return the paired gain over another way, over seeds."""
    return over_seeds(column(attributes(cells, "gain"), way))


def paper_gain(hybrid: Sequence[TrialCell]) -> Estimate | None:
    """Return the paired gain of the paper's hybrid search over the paper's winnowing."""
    return over_seeds(column(attributes(hybrid, "gain"), "winnowing (paper)"))


def quality_chart(table: ValueTable) -> Chart:
    """Return mean reciprocal ranks by length of the fragment."""
    values_of = map_values(attrgetter("values"), keyed(table.rows, "name"))
    windows = [float(column.split()[0]) for column in table.columns]
    series = []
    for way in DRAWN:
        points = zip(windows, values_of[way], strict=True)
        series.append(Series(way, {window: value for window, value in points if isinstance(value, Estimate)}))
    axes = Axes("tokens of the fragment", "mean reciprocal rank")
    return Chart(name=table.name, title=table.title, series=tuple(series), axes=axes)


def cost_tables(trials: Sequence[TracingTrial]) -> list[ValueTable]:
    """Return one table for each cost of a trace, of the first seed: ways in rows, search spaces in columns."""
    costs = keyed(trials[0].costs, "way", "space")
    spaces = sorted(set(map(itemgetter(1), costs)))
    columns = list(map("{:,} functions".format, spaces))
    tables = []
    for field, (title, scale) in COSTS.items():
        rows = []
        for way in WAYS:
            values = [scale * float(getattr(costs[way, space], field)) for space in spaces]
            rows.append(ValueRow(way, tuple(values)))
        name = f"cost-{field.split('_')[0]}"
        tables.append(value_table(name, f"Cost of a trace: {title}", head="way", columns=columns, rows=rows))
    return tables


def notes(trials: Sequence[TracingTrial], corpus: Path | None) -> list[str]:
    """Return sentences on what was measured on what."""
    first = trials[0]
    searched = "Searched for: functions of the standard library. Searched among: those and functions of packages."
    if corpus is not None:
        searched = f"Searched for and among: functions of the corpus {corpus.name}."
    claim = PAPER.tables["abstract"]
    gain = claim.value("HST over winnowing", column="60 tokens and more, at most")
    union = having(first.cells, way="union", space=first.cells[0].space)
    queries = {cell.window: f"{cell.queries} of {cell.window} tokens" for cell in union}
    changed: dict[Alteration, list[str]] = {kind: [] for kind in without(ALTERATIONS, ("type 1",))}
    for cell in union:
        if cell.kind in changed:
            changed[cell.kind].append(f"{cell.changed:.0%} at {cell.window}")
    brackets = "In brackets: 95 % intervals over modules, and their number."
    if len(trials) > 1:
        brackets = f"Mean over {len(trials)} seeds; in brackets Student's 95 % interval over them."
    return [
        brackets,
        "A function counts as found where it, or a near-duplicate of it, is among the first 100 answers.",
        searched,
        f"Vectors: {first.encoder}, throughout; the paper's is not published (`--model` takes another).",
        f"Fragments of seed {first.seed}: {', '.join(queries.values())}.",
        *(f"Fragments changed by the alteration {kind}: {', '.join(shares)}." for kind, shares in changed.items()),
        "The last two rows are paired: the union against the best other way, the paper's hybrid against its winnowing.",
        f"The paper says that its hybrid is on par at 30 tokens and up to {gain:.1%} above from 60 tokens on.",
        "Costs: processor time of a trace with ten matches and their lines, fragments of 60 tokens after Algorithm 1.",
    ]


EXPERIMENTS = (Reproduction("hst", "retrieval", retrieval, takes=(CORPUS,), models=1, models_with_data=1),)
