"""Tables 1 to 10 of the kernel divergence paper beside ours: does a score rise with the contaminated share?"""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from operator import methodcaller

import numpy as np
from scipy.stats import pearsonr

from assay.evaluation import Estimate
from assay.training import KERNEL_DIVERGENCE
from assay.types import Float64Array
from assay_lab.columns import at_places, attributes, having
from assay_lab.evaluation.independent import spearman
from assay_lab.experiments.bench import Bench
from assay_lab.experiments.finding import Finding, ValueRow, ValueTable, over_seeds
from assay_lab.experiments.papers import PrintedTable, paper
from assay_lab.experiments.reproduction import ANY, Reproduction
from assay_lab.papers.kds.trials import Trial, names_of, settings_of, sources, trials
from assay_lab.papers.printed import headings, paper_headings, paper_rows, printed_values, value_table
from assay_lab.result_rows import column

PAPER = paper("kds")
KDS_ROW = "Kernel Divergence Score"
REVERSED = ("Min-K%", "Min-K%++")
"""Rows whose published equations, 9 and 10, have the opposite sign of Eqs. 7 and 8; both orientations are printed."""
EXTRA = ("Mean log-likelihood (not in the paper)", "CoDeC (not in the paper)")
RAW_DOT = "w/ Dot-product Kernel, embeddings as they are (not in the paper)"
Correlation = Callable[[Float64Array, Float64Array], float]


MEASURES: Mapping[str, Correlation] = {
    "Spearman": spearman,
    "Pearson": lambda first, second: float(pearsonr(first, second).statistic),
}
CORRELATION = "Correlation with the true share"


def monotonicity(bench: Bench, number: str, rows: Sequence[str], title: str) -> Finding:
    """Return the correlation of methods with λ, beside the values that the paper prints."""
    printed = PAPER.tables[number]
    measured = trials(bench, requested_methods(rows))
    names = names_of(measured)
    lines = []
    for row in rows:
        method = PAPER.methods[row]
        ours = [
            correlation(measured, name, method=method, measure=measure) for name, measure in product(names, MEASURES)
        ]
        theirs = present_values(printed, row)
        lines.append(ValueRow(row, (*ours, *theirs)))
        if row in REVERSED:
            lines.append(ValueRow(f"{row}, sign of its equation", (*map(negated, ours), *theirs)))
    heads = headings(names, MEASURES) + paper_headings(printed.columns)
    table = value_table("correlation", CORRELATION, head="score", columns=heads, rows=lines)
    return finding(bench, number, title=title, table=table, notes=setting_notes(bench, names))


def finding(bench: Bench, number: str, title: str, table: ValueTable, *, notes: Sequence[str]) -> Finding:
    """Return one table of the paper beside ours."""
    return Finding(
        name=f"kds/{number}",
        title=f"{title} ({PAPER.title}, {PAPER.tables[number].source})",
        tables=(table,),
        notes=tuple(notes),
        seeds=bench.seeds,
    )


def present_values(printed: PrintedTable, row: str) -> list[float | None]:
    """Return the values that the paper prints in a row; None where it has none."""
    return [None if value is None or math.isnan(value) else value for value in printed_values(printed, row)]


def requested_methods(rows: Iterable[str]) -> list[str]:
    """Return the methods of rows, each once."""
    return list(dict.fromkeys(at_places(PAPER.methods, rows)))


def correlation(measured: Sequence[Trial], source: str, method: str, measure: str) -> Estimate | None:
    """Return the correlation of a method with λ, the mean over subsets with Student's interval."""
    by_subset: defaultdict[int, list[tuple[float, float]]] = defaultdict(list)
    for trial in measured:
        value = trial.values.get(method, math.nan)
        if trial.source == source and not math.isnan(value):
            by_subset[trial.subset].append((trial.share, value))
    values = []
    for pairs in by_subset.values():
        shares, scores = np.array(pairs).T
        # constant scores have no correlation
        if len(shares) > 1 and np.ptp(scores) > 0:
            values.append(Estimate(MEASURES[measure](shares, scores), math.nan, math.nan, reason="one subset"))
    mean = over_seeds(values)
    if mean is None or len(values) == 1:
        return mean
    if not mean.has_interval:
        return replace(mean, reason="equal in all subsets")
    return replace(mean, low=max(-1.0, mean.low), high=min(1.0, mean.high))


def negated(estimate: Estimate | None) -> Estimate | None:
    """Return the correlation of the reversed score."""
    if estimate is None:
        return None
    return replace(estimate, value=-estimate.value, low=-estimate.high, high=-estimate.low)


def setting_notes(bench: Bench, names: Sequence[str]) -> tuple[str, ...]:
    """Return what was measured on the sources of these names, and how it differs from the paper."""
    settings = settings_of(bench)
    shares = ", ".join(map("{:g}".format, settings.shares))
    others = "".join(f", of {name} {size}" for name, size in settings.n_of.items() if name in bench.data)
    sizes = (
        f"Sources: {', '.join(names)}. Sets of {settings.n} texts{others} at λ = {shares}, "
        f"{settings.subsets} subsets; the paper has sets of 700, 4,000 and 500 at 21 shares and five subsets."
    )
    if bench.data:
        return sizes, "The data sets carry labels of members and non-members.", "The learning rate is the paper's."
    plants = (
        "converged: functions that `builtin:small` saw twice or more in its own training, whose rate decays to 0. "
        "constant rate: the same model trained further on its members and stopped at a constant rate."
    )
    rate = "The learning rate is that of the model (a median change of embeddings by a thousandth), not the paper's."
    return sizes, plants, rate


def kds_table_1(bench: Bench) -> Finding:
    """Correlation of data-set scores with the contaminated share."""
    rows = list(filter(PAPER.methods.__contains__, PAPER.tables["table-1"].values))
    return monotonicity(bench, "table-1", rows=[*rows, *EXTRA], title="Monotonicity of data-set scores")


def kds_table_2(bench: Bench) -> Finding:
    """Ablation of the kernel divergence: gating, fine-tuning, kernels."""
    rows = [*PAPER.tables["table-2"].values, RAW_DOT]
    return monotonicity(bench, "table-2", rows=rows, title="Ablation of the kernel divergence")


def kds_table_3(bench: Bench) -> Finding:
    """Kernel divergence by bandwidth."""
    rows = [*PAPER.tables["table-3"].values, "published code (a median a side)"]
    return monotonicity(bench, "table-3", rows=rows, title="Kernel divergence by bandwidth")


def kds_table_4(bench: Bench) -> Finding:
    """Kernel divergence by training configuration."""
    return monotonicity(
        bench, "table-4", rows=list(PAPER.tables["table-4"].values), title="Kernel divergence by training"
    )


def kds_table_5(bench: Bench) -> Finding:
    """Correlation where members and non-members are of one kind."""
    rows = list(PAPER.tables["table-5"].values)
    return monotonicity(bench, "table-5", rows=rows, title="Monotonicity where members and non-members are alike")


def by_source(bench: Bench, number: str, title: str, head: str) -> Finding:
    """Return the correlation of the kernel divergence by source, in rows, beside the paper's rows."""
    method, printed = PAPER.methods[KDS_ROW], PAPER.tables[number]
    measured = trials(bench, [method])
    names = names_of(measured)
    lines = []
    for name in names:
        ours = [correlation(measured, name, method=method, measure=measure) for measure in MEASURES]
        lines.append(ValueRow(name, tuple(ours)))
    lines += paper_rows(printed)
    table = value_table("correlation", CORRELATION, head=head, columns=MEASURES, rows=lines)
    return finding(bench, number, title=title, table=table, notes=setting_notes(bench, names))


def kds_table_6(bench: Bench) -> Finding:
    """Kernel divergence by source of texts."""
    return by_source(bench, "table-6", title="Kernel divergence by source of texts", head="texts")


def kds_table_7(bench: Bench) -> Finding:
    """Kernel divergence by model."""
    return by_source(bench, "table-7", title="Kernel divergence by model", head="model")


def kds_table_8(bench: Bench) -> Finding:
    """Seconds of fine-tuning and scoring."""
    methods = [PAPER.methods[KDS_ROW], PAPER.methods["1.0"]]
    printed = PAPER.tables["table-8"]
    ours = []
    for part, divisor in PARTS.items():
        # the sizes of a bench are part of its settings, so smaller sets are those of another bench
        divided = bench if divisor == 1 else of_size(bench, divisor)
        settings, measured = settings_of(divided), trials(divided, methods)
        for name in names_of(measured):
            seconds = list(map(partial(median_seconds, having(measured, source=name)), methods))
            size = settings.n_of.get(name.partition(",")[0], settings.n)
            ours.append(ValueRow(f"{name}{part}, this machine", (float(size), *seconds)))
    timing = (
        "Ours: the first method of a set, which pays for embeddings, fine-tuning and the pass after it; scoring is the "
        "same with another bandwidth, for which nothing is run again."
    )
    table = value_table(
        "seconds", "Seconds", head="data", columns=map(str, printed.columns), rows=[*ours, *paper_rows(printed)]
    )
    notes = timing, *setting_notes(bench, attributes(sources(bench), "name"))
    return finding(bench, "table-8", title="Seconds of a kernel divergence", table=table, notes=notes)


PARTS = {"": 1, ", half": 2, ", quarter": 4}
"""Part of a set → divisor of its number of texts."""


def of_size(bench: Bench, divisor: int) -> Bench:
    """Return the bench with sets of a part of their texts, one for λ = 0.5."""
    settings = settings_of(bench)
    divided = {name: size // divisor for name, size in settings.n_of.items()}
    changed = {"n": settings.n // divisor, "n_of": divided, "shares": [0.5], "subsets": 1}
    return replace(bench, sizes={**bench.sizes, "kds": changed})


def median_seconds(measured: Sequence[Trial], method: str) -> float:
    """Return the median of the seconds of a method over all trials."""
    return float(np.median(column(attributes(measured, "seconds"), method)))


def kds_table_9(bench: Bench) -> Finding:
    """Settings of the fine-tuning, ours beside the paper's."""
    printed, own = PAPER.tables["table-9"], KERNEL_DIVERGENCE
    ours: Mapping[str, float] = {
        "LoRA dimension": own.rank,
        "LoRA alpha": own.alpha,
        "LoRA dropout": own.dropout,
        "SGD learning rate": own.rate,
        "batch GD learning rate": 100 * own.rate,
        "batch size": own.batch,
    }
    lines = [ValueRow(row, (float(ours[row]), *printed_values(printed, row))) for row in printed.values]
    table = value_table("settings", "Settings", head="setting", columns=("ours", "paper"), rows=lines)
    note = "Ours without unseen text; with it, the learning rate is found for the model."
    return finding(bench, "table-9", title="Settings of the fine-tuning", table=table, notes=(note,))


def kds_table_10(bench: Bench) -> Finding:
    """Consistency of data-set scores over subsets of equal share."""
    printed = PAPER.tables["table-10"]
    measured = trials(bench, requested_methods(printed.values))
    names = names_of(measured)
    measures: Mapping[str, Callable[[Sequence[Trial], str, str], float | None]] = {
        "MAPE": percentage_error,
        "SD / range of λ": relative_spread,
    }
    lines = []
    for row in printed.values:
        method = PAPER.methods[row]
        ours = [measure(measured, name, method) for name, measure in product(names, measures.values())]
        lines.append(ValueRow(row, (*ours, *present_values(printed, row))))
    heads = headings(names, measures) + paper_headings(map("{}, MAPE".format, printed.columns))
    table = value_table("consistency", "Spread over subsets", head="score", columns=heads, rows=lines)
    undefined = "MAPE is undefined where a score crosses 0 between subsets; the other measure is not."
    notes = undefined, *setting_notes(bench, names)
    return finding(bench, "table-10", title="Consistency over subsets", table=table, notes=notes)


def by_share(measured: Sequence[Trial], source: str, method: str) -> list[Float64Array]:
    """Return the values of a method at each λ, [subsets]."""
    columns: defaultdict[float, list[float]] = defaultdict(list)
    for trial in measured:
        if trial.source == source:
            columns[trial.share].append(trial.values[method])
    return list(map(np.array, columns.values()))


def has_no_spread(column: Float64Array) -> bool:
    """Return True where a value is missing or there is only one."""
    return len(column) < 2 or bool(np.isnan(column).any())  # noqa: PLR2004  a spread needs two


def percentage_error(measured: Sequence[Trial], source: str, method: str) -> float | None:
    """Return the mean absolute percentage error over subsets, averaged over λ; None where a score changes its sign."""
    errors = []
    for values in by_share(measured, source, method):
        # a percentage of a mean near 0 says nothing
        if has_no_spread(values) or values.min() <= 0 <= values.max():
            return None
        errors.append(np.abs((values - values.mean()) / values.mean()).mean())
    return float(np.mean(errors))


def relative_spread(measured: Sequence[Trial], source: str, method: str) -> float | None:
    """Return the standard deviation over subsets, averaged over λ, in units of the range over λ."""
    columns = by_share(measured, source, method)
    if any(map(has_no_spread, columns)):
        return None
    width = float(np.ptp(list(map(methodcaller("mean"), columns))))
    return float(np.mean(list(map(partial(np.std, ddof=1), columns)))) / width if width else None


RUNS = (
    kds_table_1,
    kds_table_2,
    kds_table_3,
    kds_table_4,
    kds_table_5,
    kds_table_6,
    kds_table_7,
    kds_table_8,
    kds_table_9,
    kds_table_10,
)
LABELLED, PILE = tuple(PAPER.data[:3]), tuple(PAPER.data[3:])
DATA_OF: Mapping[int, Sequence[str]] = {1: LABELLED, 5: PILE, 6: PILE, 8: LABELLED[:2], 10: LABELLED}
"""Number of a table → its data; the others have WikiMIA alone."""
MODELS, SETTINGS = 7, 9
"""Table with all three models, where the others have the first; and table that nothing is measured for."""
EXPERIMENTS = tuple(
    Reproduction(
        "kds",
        f"table-{number}",
        run,
        takes=ANY,
        models=0,
        seeds=1,
        paper_data=tuple(DATA_OF.get(number, LABELLED[:1])),
        paper_models=None if number == MODELS else 1,
        keys=() if number == SETTINGS else None,
    )
    for number, run in enumerate(RUNS, start=1)
)
