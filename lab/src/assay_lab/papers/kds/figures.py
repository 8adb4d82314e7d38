"""Figures 2 to 7 of the kernel divergence paper as tables and charts."""

import math
from collections.abc import Mapping

import numpy as np

from assay.evaluation import Estimate, KernelSettings, kernel_divergence
from assay.evaluation.divergence import Embeddings, check_embeddings, gammas, squared_distances, unit
from assay.models import open_local
from assay.reports import Axes, Series
from assay.types import Float64Array
from assay_lab.evaluation.independent import spearman
from assay_lab.experiments.bench import Bench
from assay_lab.experiments.finding import Chart, Finding, Value, ValueRow, ValueTable, over_seeds
from assay_lab.experiments.reproduction import Reproduction
from assay_lab.papers.kds.tables import KDS_ROW, PAPER, setting_notes
from assay_lab.papers.kds.trials import Trial, TrialSource, embeddings_of, settings_of, sources, trial_set, trials

PAIRS = ("seen-seen", "seen-unseen", "unseen-unseen")
PICTURE = "The paper's figure is a picture without numbers."
SHARE_OF_FIGURE = 0.4
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
SIZES = 5


def pair_parts(
    bench: Bench, source: TrialSource, share: float
) -> tuple[Mapping[str, Float64Array], Mapping[str, Float64Array]]:
    """Return kind of pair → entries of the soft gate, and of the change of squared distances."""
    settings = settings_of(bench)
    samples = trial_set(source, settings, share, 0)
    gate, change = decomposition(*embeddings_of(bench, source, samples))
    seen = np.arange(len(samples)) < round(share * settings.n)
    upper = np.triu(np.ones_like(gate, bool), 1)
    kinds = dict(zip(PAIRS, (np.outer(seen, seen), np.outer(seen, ~seen), np.outer(~seen, ~seen)), strict=True))
    masks = {kind: mask & upper for kind, mask in kinds.items()}
    return {kind: gate[mask] for kind, mask in masks.items()}, {kind: change[mask] for kind, mask in masks.items()}


def mean_or_none(values: Float64Array) -> float | None:
    """Return the mean; None of nothing."""
    return float(values.mean()) if len(values) else None


def decomposed(bench: Bench, number: int, shares: tuple[float, ...]) -> Finding:
    """Return the means of both parts of the score by kind of pair."""
    lines = []
    for source in sources(bench):
        for share in shares:
            gates, changes = pair_parts(bench, source, share)
            for kind in PAIRS:
                product = gates[kind] * np.abs(changes[kind])
                values: tuple[Value, ...] = tuple(
                    map(mean_or_none, (gates[kind], np.abs(changes[kind]), changes[kind], product))
                )
                lines.append(ValueRow(f"{source.name}, λ {share:g}, {kind}", values))
    columns = ("soft gate", "|change of distance|", "change of distance", "gate × |change|")
    return Finding(
        name=f"kds/figure-{number}",
        title=f"Parts of the kernel divergence by kind of pair ({PAPER.title}, Figure {number})",
        tables=(ValueTable("parts", "Mean entry of the matrices", "pairs", columns, tuple(lines), "number"),),
        notes=(PICTURE, *setting_notes(bench, [Trial(source.name, 0, 0) for source in sources(bench)])),
        seeds=bench.seeds,
    )


def kds_figure_2(bench: Bench) -> Finding:
    """Parts of the kernel divergence by kind of pair at λ = 0.4."""
    return decomposed(bench, 2, (SHARE_OF_FIGURE,))


def kds_figure_3(bench: Bench) -> Finding:
    """Kernel divergence by contaminated share."""
    method = PAPER.methods[KDS_ROW]
    measured = trials(bench, [method])
    names = list(dict.fromkeys(trial.source for trial in measured))
    shares = settings_of(bench).shares
    points = {
        name: {
            share: over_seeds(
                [
                    Estimate(trial.values[method], math.nan, math.nan, reason="one subset")
                    for trial in measured
                    if (trial.source, trial.share) == (name, share)
                ]
            )
            for share in shares
        }
        for name in names
    }
    lines = [ValueRow(name, tuple(column.values())) for name, column in points.items()]
    heads = tuple(f"λ {share:g}" for share in shares)
    drawn = tuple(
        Series(name, {share: value for share, value in column.items() if value is not None})
        for name, column in points.items()
    )
    chart = Chart("trend", "Kernel divergence score by contaminated share", drawn, Axes("true share", "score"))
    return Finding(
        name="kds/figure-3",
        title=f"Kernel divergence by contaminated share ({PAPER.title}, Figure 3)",
        tables=(ValueTable("trend", "Score", "source", heads, tuple(lines), "number"),),
        notes=(PICTURE, *setting_notes(bench, measured)),
        seeds=bench.seeds,
        charts=(chart,),
    )


def kds_figure_4(bench: Bench) -> Finding:
    """Correlation of the kernel divergence with the share, by layer."""
    settings = settings_of(bench)
    lines = []
    for source in sources(bench):
        layers = int(open_local(source.model).checkpoint.model.config.get_text_config().num_hidden_layers)
        for layer in range(1, layers + 1):
            values = [
                kernel_divergence(*embeddings_of(bench, source, trial_set(source, settings, share, 0), layer))
                for share in settings.shares
            ]
            lines.append(ValueRow(f"{source.name}, layer {layer} of {layers}", (spearman(settings.shares, values),)))
    return Finding(
        name="kds/figure-4",
        title=f"Kernel divergence by layer ({PAPER.title}, Figure 4)",
        tables=(ValueTable("layers", "Correlation, one subset", "layer", ("Spearman",), tuple(lines), "number"),),
        notes=(PICTURE, *setting_notes(bench, [Trial(source.name, 0, 0) for source in sources(bench)])),
        seeds=bench.seeds,
    )


def kds_figure_5(bench: Bench) -> Finding:
    """Parts of the kernel divergence by kind of pair at four shares."""
    return decomposed(bench, 5, (0.2, 0.4, 0.6, 0.8))


def kds_figure_6(bench: Bench) -> Finding:
    """Sum of the kernel entries by number of samples."""
    settings = settings_of(bench)
    lines = []
    for source in sources(bench):
        samples = trial_set(source, settings, 0.0, 0)
        before, _ = embeddings_of(bench, source, samples)
        sizes = np.unique(np.linspace(max(4, settings.n // SIZES), settings.n, SIZES).astype(int))
        sums = np.array([decomposition(before[:size], before[:size])[0].sum() for size in sizes])
        fit = [float(np.corrcoef(sizes**power, sums)[0, 1] ** 2) for power in (1, 2)]
        lines.append(ValueRow(source.name, (*fit, *map(float, sums))))
        heads = ("R² of a line", "R² of n²", *(f"n = {size}" for size in sizes))
    return Finding(
        name="kds/figure-6",
        title=f"Sum of kernel entries by number of samples ({PAPER.title}, Figure 6: R² of a line .977)",
        tables=(ValueTable("sums", "Sum of kernel entries", "source", heads, tuple(lines), "number"),),
        notes=("The score is normalised by the root of the sum, which removes n only if the sum is linear in n.",),
        seeds=bench.seeds,
    )


def kds_figure_7(bench: Bench) -> Finding:
    """Change of embedding distances by kind of pair."""
    lines = []
    for source in sources(bench):
        _, changes = pair_parts(bench, source, 0.5)
        for kind in PAIRS:
            quantiles = np.quantile(changes[kind], QUANTILES) if len(changes[kind]) else [np.nan] * len(QUANTILES)
            lines.append(ValueRow(f"{source.name}, {kind}", tuple(map(float, quantiles))))
    heads = tuple(f"{share:.0%} quantile" for share in QUANTILES)
    return Finding(
        name="kds/figure-7",
        title=f"Change of squared distances by fine-tuning ({PAPER.title}, Figure 7)",
        tables=(ValueTable("changes", "Change of squared distance", "pairs", heads, tuple(lines), "number"),),
        notes=(PICTURE, *setting_notes(bench, [Trial(source.name, 0, 0) for source in sources(bench)])),
        seeds=bench.seeds,
    )


RUNS = (kds_figure_2, kds_figure_3, kds_figure_4, kds_figure_5, kds_figure_6, kds_figure_7)
EXPERIMENTS = tuple(Reproduction("kds", f"figure-{number}", run) for number, run in enumerate(RUNS, start=2))


def decomposition(before: Embeddings, after: Embeddings, *, seed: int = 0) -> tuple[Float64Array, Float64Array]:
    """Return the two parts of Eq. 4, each [n, n]: the soft gate, and the change of the squared distance.

    The matrices are whole, for figures of few samples.
    """
    check_embeddings(before, after)
    gamma, _ = gammas(before, after, KernelSettings(), seed)
    first, second = squared_distances(unit(before), unit(before)), squared_distances(unit(after), unit(after))
    return np.exp(-gamma * first), second - first
