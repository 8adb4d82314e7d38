"""Figures 2 to 7 of the kernel divergence paper as tables and charts."""

import math
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from itertools import product

import numpy as np

from assay.evaluation import (
    Embeddings,
    Estimate,
    KernelSettings,
    check_embeddings,
    gammas,
    kernel_divergence,
    squared_distances,
    unit,
)
from assay.models import open_local
from assay.reports import MOST_SERIES, Axes, Series, histogram
from assay.types import Float64Array
from assay_lab.columns import attributes
from assay_lab.evaluation.independent import spearman
from assay_lab.experiments.bench import Bench
from assay_lab.experiments.finding import Chart, Finding, Picture, ValueRow, ValueTable, over_seeds
from assay_lab.experiments.matrix import shaded_matrix
from assay_lab.experiments.reproduction import ANY, Reproduction
from assay_lab.papers.kds.tables import KDS_ROW, PAPER, setting_notes
from assay_lab.papers.kds.trials import TrialSource, embeddings_of, names_of, settings_of, sources, trial_set, trials
from assay_lab.papers.printed import value_table

PAIRS = ("seen-seen", "seen-unseen", "unseen-unseen")
PICTURE = "The paper's figure is a picture without numbers."
SHARE_OF_FIGURE = 0.4
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
SIZES = 5


@dataclass(frozen=True, slots=True, eq=False)
class PairParts:
    """The parts of the score on one set, by kind of pair.

    Attributes:
        gates: kind of pair → entries of the soft gate, each pair once.
        changes: kind of pair → changes of squared distances.
        matrices: name → float64 [n, n], members first.
    """

    gates: Mapping[str, Float64Array]
    changes: Mapping[str, Float64Array]
    matrices: Mapping[str, Float64Array]


def pair_parts(bench: Bench, source: TrialSource, share: float) -> PairParts:
    """Return the parts of the score on the first set of a share."""
    settings = settings_of(bench)
    samples = trial_set(source, settings, share, subset=0)
    gate, change = decomposition(*embeddings_of(bench, source, samples))
    seen = np.arange(len(samples)) < round(share * len(samples))
    # each pair once, and no text with itself
    upper = np.triu(np.ones_like(gate, bool), 1)
    gates, changes = {}, {}
    for kind, mask in zip(PAIRS, (np.outer(seen, seen), np.outer(seen, ~seen), np.outer(~seen, ~seen)), strict=True):
        gates[kind], changes[kind] = gate[mask & upper], change[mask & upper]
    matrices = {"soft gate": gate, "|change of distance|": np.abs(change), "gate × |change|": gate * np.abs(change)}
    return PairParts(gates, changes, matrices)


def mean_or_none(values: Float64Array) -> float | None:
    """Return the mean; None of nothing."""
    return float(values.mean()) if len(values) else None


def decomposed(bench: Bench, number: int, shares: tuple[float, ...]) -> Finding:
    """Return the means of both parts of the score by kind of pair."""
    lines: list[ValueRow] = []
    pictures: list[Picture] = []
    for source, share in product(sources(bench), shares):
        decomposed_set = pair_parts(bench, source, share)
        for name, matrix in decomposed_set.matrices.items():
            words = "Rows and columns: texts, the members first. The darker, the larger."
            title = f"{source.name}, λ {share:g}: {name}"
            drawn = partial(shaded_matrix, matrix)
            pictures.append(Picture(name=f"matrix-{len(pictures)}", title=title, description=words, draw=drawn))
        for kind in PAIRS:
            gate, change = decomposed_set.gates[kind], decomposed_set.changes[kind]
            parts = gate, np.abs(change), change, gate * np.abs(change)
            lines.append(ValueRow(f"{source.name}, λ {share:g}, {kind}", tuple(map(mean_or_none, parts))))
    columns = ("soft gate", "|change of distance|", "change of distance", "gate × |change|")
    table = value_table("parts", "Mean entry of the matrices", head="pairs", columns=columns, rows=lines)
    title = "Parts of the kernel divergence by kind of pair"
    return figure(bench, number, title=title, table=table, pictures=tuple(pictures))


def figure(
    bench: Bench,
    number: int,
    title: str,
    table: ValueTable,
    *,
    charts: tuple[Chart, ...] = (),
    pictures: tuple[Picture, ...] = (),
) -> Finding:
    """Return the numbers of a figure that the paper only draws."""
    return Finding(
        name=f"kds/figure-{number}",
        title=f"{title} ({PAPER.title}, Figure {number})",
        tables=(table,),
        notes=(PICTURE, *setting_notes(bench, attributes(sources(bench), "name"))),
        seeds=bench.seeds,
        charts=charts,
        pictures=pictures,
    )


def bare(value: float) -> Estimate:
    """Return a value without an interval."""
    return Estimate(value, math.nan, math.nan, reason="one subset")


def kds_figure_2(bench: Bench) -> Finding:
    """Parts of the kernel divergence by kind of pair at λ = 0.4."""
    return decomposed(bench, 2, (SHARE_OF_FIGURE,))


def kds_figure_3(bench: Bench) -> Finding:
    """Kernel divergence by contaminated share."""
    method = PAPER.methods[KDS_ROW]
    shares = settings_of(bench).shares
    measured: defaultdict[tuple[str, float], list[Estimate]] = defaultdict(list)
    every = trials(bench, [method])
    for trial in every:
        measured[trial.source, trial.share].append(bare(trial.values[method]))
    lines, drawn = [], []
    for name in names_of(every):
        means = [over_seeds(measured[name, share]) for share in shares]
        lines.append(ValueRow(name, tuple(means)))
        drawn.append(Series(name, {share: mean for share, mean in zip(shares, means, strict=True) if mean is not None}))
    heads = list(map("λ {:g}".format, shares))
    table = value_table("trend", "Score", head="source", columns=heads, rows=lines)
    chart = Chart(
        name="trend",
        title="Kernel divergence score by contaminated share",
        series=tuple(drawn),
        axes=Axes("true share", "score"),
    )
    return figure(bench, 3, title="Kernel divergence by contaminated share", table=table, charts=(chart,))


def kds_figure_4(bench: Bench) -> Finding:
    """Correlation of the kernel divergence with the share, by layer."""
    settings = settings_of(bench)
    lines, drawn = [], []
    for source in sources(bench):
        by_layer: dict[float, Estimate] = {}
        layers = int(open_local(source.model).checkpoint.model.config.get_text_config().num_hidden_layers)
        # the same sets for every layer
        sets = list(map(partial(trial_set, source, settings, subset=0), settings.shares))
        for layer in range(1, layers + 1):
            values = [kernel_divergence(*embeddings_of(bench, source, samples, layer=layer)) for samples in sets]
            correlation = spearman(settings.shares, values)
            lines.append(ValueRow(f"{source.name}, layer {layer} of {layers}", (correlation,)))
            by_layer[float(layer)] = bare(correlation)
        drawn.append(Series(source.name, by_layer))
    table = value_table("layers", "Correlation, one subset", head="layer", columns=("Spearman",), rows=lines)
    axes = Axes("layer", "correlation")
    chart = Chart(name="layers", title="Correlation with λ by layer", series=tuple(drawn[:MOST_SERIES]), axes=axes)
    return figure(bench, 4, title="Kernel divergence by layer", table=table, charts=(chart,))


def kds_figure_5(bench: Bench) -> Finding:
    """Parts of the kernel divergence by kind of pair at four shares."""
    return decomposed(bench, 5, (0.2, 0.4, 0.6, 0.8))


def kds_figure_6(bench: Bench) -> Finding:
    """Sum of the kernel entries by number of samples."""
    settings = settings_of(bench)
    lines: list[ValueRow] = []
    drawn = []
    for source in sources(bench):
        whole = source.texts_of_a_set(settings)
        sizes = np.unique(np.linspace(max(4, whole // SIZES), whole, SIZES).astype(int))
        before, _ = embeddings_of(bench, source, trial_set(source, settings, share=0.0, subset=0))
        sums = np.array([decomposition(before[:size], before[:size])[0].sum() for size in sizes])
        # n² where all texts are alike; the root of the sum, E, removes n from the score only if the sum is linear
        fit = [float(np.corrcoef(sizes**power, sums)[0, 1] ** 2) for power in (1, 2)]
        # sources may have sets of different sizes, and few texts give fewer of them
        name = f"{source.name}, n = {', '.join(map(str, sizes))}"
        lines.append(ValueRow(name, (*fit, *map(float, sums), *[None] * (SIZES - len(sums)))))
        drawn.append(Series(source.name, dict(zip(map(float, sizes), map(bare, map(float, sums)), strict=True))))
    axes = Axes("texts", "sum")
    chart = Chart(name="sums", title="Sum of kernel entries", series=tuple(drawn[:MOST_SERIES]), axes=axes)
    heads = ("R² of a line", "R² of n²", *map(f"n, {{}} of {SIZES}".format, range(1, SIZES + 1)))
    return Finding(
        name="kds/figure-6",
        title=f"Sum of kernel entries by number of samples ({PAPER.title}, Figure 6: R² of a line .977)",
        tables=(value_table("sums", "Sum of kernel entries", head="source", columns=heads, rows=lines),),
        notes=("The score is normalised by the root of the sum, which removes n only if the sum is linear in n.",),
        seeds=bench.seeds,
        charts=(chart,),
    )


def kds_figure_7(bench: Bench) -> Finding:
    """Change of embedding distances by kind of pair."""
    lines: list[ValueRow] = []
    pictures: list[Picture] = []
    for source in sources(bench):
        changes = pair_parts(bench, source, 0.5).changes
        present = {kind: values for kind, values in changes.items() if len(values)}
        words = "Shares of the pairs of a kind by the change of their squared distance."
        drawn = partial(histogram, present, "change of squared distance")
        title = f"Change of distances, {source.name}"
        pictures.append(Picture(name=f"histogram-{len(pictures)}", title=title, description=words, draw=drawn))
        for kind in PAIRS:
            quantiles = np.quantile(changes[kind], QUANTILES) if len(changes[kind]) else [np.nan] * len(QUANTILES)
            lines.append(ValueRow(f"{source.name}, {kind}", tuple(map(float, quantiles))))
    heads = list(map("{:.0%} quantile".format, QUANTILES))
    table = value_table("changes", "Change of squared distance", head="pairs", columns=heads, rows=lines)
    whole = "Change of squared distances by fine-tuning"
    return figure(bench, 7, title=whole, table=table, pictures=tuple(pictures))


RUNS = (kds_figure_2, kds_figure_3, kds_figure_4, kds_figure_5, kds_figure_6, kds_figure_7)
OF_A_SET = ("n", "n_of")
KEYS: Mapping[int, tuple[str, ...] | None] = {3: None, 4: (*OF_A_SET, "shares")}
"""Number of a figure → the sizes that it reads; the others draw one subset at shares of their own."""
EXPERIMENTS = tuple(
    Reproduction(
        "kds",
        f"figure-{number}",
        run,
        takes=ANY,
        models=0,
        seeds=1,
        paper_data=PAPER.data[:1],
        paper_models=1,
        keys=KEYS.get(number, OF_A_SET),
    )
    for number, run in enumerate(RUNS, start=2)
)


def decomposition(before: Embeddings, after: Embeddings, *, seed: int = 0) -> tuple[Float64Array, Float64Array]:
    """Return the two parts of Eq. 4, each [n, n]: the soft gate, and the change of the squared distance.

    The matrices are whole, for figures of few samples.
    """
    check_embeddings(before, after)
    gamma, _ = gammas(before, after, KernelSettings(), seed=seed)
    # the same object on both sides, so that the distance of a text to itself is exactly 0
    units_before, units_after = unit(before), unit(after)
    first, second = squared_distances(units_before, units_before), squared_distances(units_after, units_after)
    return np.exp(-gamma * first), second - first
