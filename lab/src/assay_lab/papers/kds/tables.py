"""Tables 1 to 10 of the kernel divergence paper beside ours: does a score rise with the contaminated share?"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields, replace

import numpy as np
from scipy.stats import pearsonr

from assay.evaluation import Estimate
from assay.training import KERNEL_DIVERGENCE, TrainingSettings
from assay_lab.evaluation.independent import spearman
from assay_lab.experiments.bench import Bench
from assay_lab.experiments.finding import Finding, Value, ValueRow, ValueTable, over_seeds
from assay_lab.experiments.papers import paper
from assay_lab.experiments.reproduction import Reproduction
from assay_lab.papers.kds.trials import Trial, settings_of, trials

PAPER = paper("kds")
KDS_ROW = "Kernel Divergence Score"
REVERSED = ("Min-K%", "Min-K%++")
"""Rows whose published equations, 9 and 10, have the opposite sign of Eqs. 7 and 8; both orientations are printed."""
EXTRA = ("Mean log-likelihood (not in the paper)", "CoDeC (not in the paper)")
MEASURES = ("Spearman", "Pearson")
CORRELATION = "Correlation with the true share"


def monotonicity(bench: Bench, number: str, rows: Sequence[str], title: str) -> Finding:
    """Return the correlation of methods with λ, beside the values that the paper prints."""
    printed = PAPER.tables[number]
    measured = trials(bench, requested_methods(rows))
    names = list(dict.fromkeys(trial.source for trial in measured))
    heads = [f"{name}, {measure}" for name in names for measure in MEASURES]
    heads += [f"{column} (paper)" for column in printed.columns]
    lines = []
    for row in rows:
        method = PAPER.methods[row]
        correlations = [correlation(measured, name, method, measure) for name in names for measure in MEASURES]
        theirs: list[Value] = [printed_value(number, row, column) for column in printed.columns]
        lines.append(ValueRow(row, (*correlations, *theirs)))
        if row in REVERSED:
            lines.append(ValueRow(f"{row}, sign of its equation", (*map(negated, correlations), *theirs)))
    return Finding(
        name=f"kds/{number}",
        title=f"{title} ({PAPER.title}, {printed.source})",
        tables=(ValueTable("correlation", CORRELATION, "score", tuple(heads), tuple(lines), "number"),),
        notes=setting_notes(bench, measured),
        seeds=bench.seeds,
    )


def requested_methods(rows: Iterable[str]) -> list[str]:
    """Return the methods of rows, each once."""
    return list(dict.fromkeys(PAPER.methods[row] for row in rows))


def printed_value(number: str, row: str, column: int | str) -> float | None:
    """Return a printed value; None where the paper has none."""
    value = PAPER.tables[number].value(row, column=column)
    return None if value is None or math.isnan(value) else value


def correlation(measured: Sequence[Trial], source: str, method: str, measure: str) -> Estimate | None:
    """Return the correlation of a method with λ, the mean over subsets with Student's interval."""
    chosen = [trial for trial in measured if trial.source == source and method in trial.values]
    values = []
    for subset in dict.fromkeys(trial.subset for trial in chosen):
        pairs = [(trial.share, trial.values[method]) for trial in chosen if trial.subset == subset]
        shares, scores = np.array([pair for pair in pairs if not math.isnan(pair[1])]).reshape(-1, 2).T
        if len(shares) > 1 and np.ptp(scores) > 0:
            value = spearman(shares, scores) if measure == "Spearman" else float(pearsonr(shares, scores).statistic)
            values.append(Estimate(value, math.nan, math.nan, reason="one subset"))
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
    return Estimate(-estimate.value, -estimate.high, -estimate.low, estimate.level, estimate.groups, estimate.reason)


def setting_notes(bench: Bench, measured: Sequence[Trial]) -> tuple[str, ...]:
    """Return what was measured on what, and how it differs from the paper."""
    settings = settings_of(bench)
    names = ", ".join(dict.fromkeys(trial.source for trial in measured))
    sizes = (
        f"Sources: {names}. Sets of {settings.n} texts at λ = {', '.join(f'{share:g}' for share in settings.shares)}, "
        f"{settings.subsets} subsets; the paper has sets of 700 or 4,000 at 21 shares and five subsets."
    )
    plants = (
        "converged: functions that `builtin:small` saw twice or more in its own training, whose rate decays to 0. "
        "constant rate: the same model trained further on its members and stopped at a constant rate."
    )
    return (
        sizes,
        plants if not bench.data else "The data sets carry labels of members and non-members.",
        "The learning rate is the paper's."
        if bench.data
        else "The learning rate is that of the model (a median change of embeddings by a thousandth), not the paper's.",
    )


def kds_table_1(bench: Bench) -> Finding:
    """Correlation of data-set scores with the contaminated share."""
    rows = [row for row in PAPER.tables["table-1"].values if row in PAPER.methods]
    return monotonicity(bench, "table-1", [*rows, *EXTRA], "Monotonicity of data-set scores")


def kds_table_2(bench: Bench) -> Finding:
    """Ablation of the kernel divergence: gating, fine-tuning, kernels."""
    return monotonicity(bench, "table-2", list(PAPER.tables["table-2"].values), "Ablation of the kernel divergence")


def kds_table_3(bench: Bench) -> Finding:
    """Kernel divergence by bandwidth."""
    rows = [*PAPER.tables["table-3"].values, "published code (a median a side)"]
    return monotonicity(bench, "table-3", rows, "Kernel divergence by bandwidth")


def kds_table_4(bench: Bench) -> Finding:
    """Kernel divergence by training configuration."""
    return monotonicity(bench, "table-4", list(PAPER.tables["table-4"].values), "Kernel divergence by training")


def kds_table_5(bench: Bench) -> Finding:
    """Correlation where members and non-members are of one kind."""
    rows = list(PAPER.tables["table-5"].values)
    return monotonicity(bench, "table-5", rows, "Monotonicity where members and non-members are alike")


def by_source(bench: Bench, number: str, title: str, head: str) -> Finding:
    """Return the correlation of the kernel divergence by source, in rows, beside the paper's rows."""
    measured = trials(bench, requested_methods([KDS_ROW]))
    names = dict.fromkeys(trial.source for trial in measured)
    lines = [
        ValueRow(name, tuple(correlation(measured, name, PAPER.methods[KDS_ROW], measure) for measure in MEASURES))
        for name in names
    ]
    printed = PAPER.tables[number]
    lines += [
        ValueRow(f"{row} (paper)", tuple(printed_value(number, row, column) for column in MEASURES))
        for row in printed.values
    ]
    table = ValueTable("correlation", "Correlation with the true share", head, MEASURES, tuple(lines), "number")
    return Finding(
        name=f"kds/{number}",
        title=f"{title} ({PAPER.title}, {printed.source})",
        tables=(table,),
        notes=setting_notes(bench, measured),
        seeds=bench.seeds,
    )


def kds_table_6(bench: Bench) -> Finding:
    """Kernel divergence by source of texts."""
    return by_source(bench, "table-6", "Kernel divergence by source of texts", "texts")


def kds_table_7(bench: Bench) -> Finding:
    """Kernel divergence by model."""
    return by_source(bench, "table-7", "Kernel divergence by model", "model")


def kds_table_8(bench: Bench) -> Finding:
    """Seconds of fine-tuning and scoring."""
    method = PAPER.methods[KDS_ROW]
    again = PAPER.methods["1.0"]
    measured = trials(bench, [method, again])
    printed, n = PAPER.tables["table-8"], settings_of(bench).n
    first = float(np.median([trial.seconds[method] for trial in measured]))
    second = float(np.median([trial.seconds[again] for trial in measured]))
    lines = [ValueRow("ours, this machine", (float(n), first, second))]
    lines += [
        ValueRow(f"{row} (paper)", tuple(printed.value(row, column=column) for column in printed.columns))
        for row in printed.values
    ]
    table = ValueTable("seconds", "Seconds", "data", tuple(map(str, printed.columns)), tuple(lines), "number")
    timing = (
        "Ours: the first method of a set, which pays for embeddings, fine-tuning and the pass after it; scoring is the "
        "same with another bandwidth, for which nothing is run again."
    )
    return Finding(
        name="kds/table-8",
        title=f"Seconds of a kernel divergence ({PAPER.title}, {printed.source})",
        tables=(table,),
        notes=(timing, *setting_notes(bench, measured)),
        seeds=bench.seeds,
    )


def kds_table_9(bench: Bench) -> Finding:
    """Settings of the fine-tuning, ours beside the paper's."""
    printed = PAPER.tables["table-9"]
    own = {field.name: getattr(KERNEL_DIVERGENCE, field.name) for field in fields(TrainingSettings)}
    ours: Mapping[str, float] = {
        "LoRA dimension": own["rank"],
        "LoRA alpha": own["alpha"],
        "LoRA dropout": own["dropout"],
        "SGD learning rate": own["rate"],
        "batch GD learning rate": 100 * own["rate"],
        "batch size": own["batch"],
    }
    lines = [ValueRow(row, (float(ours[row]), printed.value(row, column="value"))) for row in printed.values]
    return Finding(
        name="kds/table-9",
        title=f"Settings of the fine-tuning ({PAPER.title}, {printed.source})",
        tables=(ValueTable("settings", "Settings", "setting", ("ours", "paper"), tuple(lines), "number"),),
        notes=("Ours without unseen text; with it, the learning rate is found for the model.",),
        seeds=bench.seeds,
    )


def kds_table_10(bench: Bench) -> Finding:
    """Consistency of data-set scores over subsets of equal share."""
    rows = list(PAPER.tables["table-10"].values)
    measured = trials(bench, requested_methods(rows))
    names = list(dict.fromkeys(trial.source for trial in measured))
    measures: Mapping[str, Callable[[Sequence[Trial], str, str], float | None]] = {
        "MAPE": percentage_error,
        "SD / range of λ": relative_spread,
    }
    printed = PAPER.tables["table-10"]
    heads = [f"{name}, {measure}" for name in names for measure in measures]
    heads += [f"{column}, MAPE (paper)" for column in printed.columns]
    lines = []
    for row in rows:
        method = PAPER.methods[row]
        ours = [measure(measured, name, method) for name in names for measure in measures.values()]
        lines.append(ValueRow(row, (*ours, *(printed_value("table-10", row, column) for column in printed.columns))))
    undefined = "MAPE is undefined where a score crosses 0 between subsets; the other measure is not."
    return Finding(
        name="kds/table-10",
        title=f"Consistency over subsets ({PAPER.title}, {printed.source})",
        tables=(ValueTable("consistency", "Spread over subsets", "score", tuple(heads), tuple(lines), "number"),),
        notes=(undefined, *setting_notes(bench, measured)),
        seeds=bench.seeds,
    )


def by_share(measured: Sequence[Trial], source: str, method: str) -> list[np.ndarray[tuple[int], np.dtype[np.float64]]]:
    """Return the values of a method at each λ, [subsets]."""
    chosen = [trial for trial in measured if trial.source == source]
    shares = dict.fromkeys(trial.share for trial in chosen)
    return [np.array([trial.values[method] for trial in chosen if trial.share == share]) for share in shares]


def percentage_error(measured: Sequence[Trial], source: str, method: str) -> float | None:
    """Return the mean absolute percentage error over subsets, averaged over λ; None where a score changes its sign."""
    columns = by_share(measured, source, method)
    if any(len(column) < 2 or np.isnan(column).any() or column.min() <= 0 <= column.max() for column in columns):  # noqa: PLR2004
        return None
    return float(np.mean([np.abs((column - column.mean()) / column.mean()).mean() for column in columns]))


def relative_spread(measured: Sequence[Trial], source: str, method: str) -> float | None:
    """Return the standard deviation over subsets, averaged over λ, in units of the range over λ."""
    columns = by_share(measured, source, method)
    if any(len(column) < 2 or np.isnan(column).any() for column in columns):  # noqa: PLR2004  a spread needs two
        return None
    width = float(np.ptp([column.mean() for column in columns]))
    return float(np.mean([column.std(ddof=1) for column in columns])) / width if width else None


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
EXPERIMENTS = tuple(Reproduction("kds", f"table-{number}", run) for number, run in enumerate(RUNS, start=1))
