"""The honest null: what detectors flag where nothing leaked."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from itertools import chain, product
from operator import attrgetter, itemgetter

import numpy as np
from numpy.typing import NDArray

from assay.evaluation import MINIMUM_UNSEEN, Estimate, conformal_p_values
from assay_lab.columns import attributes, id_column, keyed, own_group_column
from assay_lab.experiments.bench import Bench
from assay_lab.experiments.finding import Finding, ValueRow, ValueTable
from assay_lab.experiments.reproduction import Reproduction
from assay_lab.experiments.runs import Runs, epoch_heading, epochs_of, over_cells, runs_of, setting
from assay_lab.mappings import map_values
from assay_lab.papers.printed import headings, value_table
from assay_lab.papers.srdetection.detectors import paper_score
from assay_lab.testbed import (
    ALPHAS,
    FOLDER,
    SCORES,
    Configuration,
    Planted,
    SampleView,
    part_column,
    passes_filter,
    read_planted,
    read_scores,
)

SPLITS = 200
CALIBRATION_SHARE = 0.4
WITHIN = (0.05, 0.95)
"""Quantiles of the splits' rates."""
CLEAN = ("nonmember", "calibration-nonmember", "unseen")
"""Parts that nothing was trained on."""
Rates = NDArray[np.float64]
"""Share of judged clean texts that is flagged, [splits, levels]."""


@dataclass(frozen=True, slots=True)
class FalsePositives:
    """The flag rates of all seeds of one configuration.

    Attributes:
        rates: view, detector and epoch → the rates of each seed.
        clean_texts: the number of clean texts of each seed.
    """

    rates: Mapping[tuple[SampleView, str, int], list[Rates]]
    clean_texts: tuple[int, ...]


def honest_null(bench: Bench) -> Finding:
    """False positives of conformal decisions at 5 and 10 % on clean texts.

    Of the base model and of contaminated ones. All clean texts of a run are split by package into those that calibrate
    and those that are judged, 200 times: the mean over splits, and how far a single one may be off.
    """
    runs = runs_of(bench)
    measured = map_values(partial(false_positives, bench), keyed(bench.configurations, "name"))
    cells = list(chain.from_iterable(attributes(measured.values(), "rates")))
    views = dict.fromkeys(map(itemgetter(0), cells))
    levels = range(len(ALPHAS))
    tables = [rate_table(measured, view, level, checkpoints=epochs(runs)) for view, level in product(views, levels)]
    fewest = min(map(min, attributes(measured.values(), "clean_texts")))
    return Finding(
        name="assay/honest-null",
        title="False positives on clean texts at nominal 5 and 10 %",
        tables=(*tables, rule_table(runs)),
        notes=(
            *setting(bench, runs)[1:],
            (
                f"{fewest} clean texts a seed, {len(bench.seeds)} seed{'s' * (len(bench.seeds) > 1)}; "
                f"{CALIBRATION_SHARE:.0%} of the packages calibrate and the others are judged, {SPLITS} splits by "
                "package. The mean over splits is what a user may expect; in brackets, the rates of nine in ten single "
                "splits: packages differ, and one calibration set may be off by that much."
            ),
            (
                "Clean texts are the same for the base model and for the models that were trained on others. Scores of "
                "variants have a value only for the held-out texts of the judged and the calibration parts."
            ),
            (
                "The last table is the share of never-seen texts that SrDetection's own rule calls leaked, with its "
                "interval; if names meant nothing it would be 9 %. It depends on the names of the variants, which come "
                "from our dictionary."
            ),
        ),
        seeds=bench.seeds,
    )


def epochs(runs: Runs) -> list[int]:
    """Return the checkpoints, the base model first."""
    return [0, *epochs_of(runs)]


def false_positives(bench: Bench, configuration: Configuration) -> FalsePositives:
    """Return the flag rates of one configuration."""
    rates: defaultdict[tuple[SampleView, str, int], list[Rates]] = defaultdict(list)
    clean_texts = []
    for seed, run in zip(bench.seeds, bench.evaluations(configuration), strict=True):
        folder = bench.folder(bench.configured(configuration, seed))
        planted = read_planted(folder / FOLDER)
        clean_texts.append(len(planted.part(*CLEAN)))
        ids = id_column(planted.samples)
        in_view = kept_in(planted, read_scores(folder / SCORES / "epoch-0.parquet", ids))
        for epoch in (0, *configuration.training.checkpoints):
            stored = read_scores(folder / SCORES / f"epoch-{epoch}.parquet", ids)
            scores = {name: stored[name] for name in run.detectors if name in stored}
            for view, passed in in_view.items():
                for detector, splits in false_positive_rates(planted, scores, seed, kept=passed).items():
                    rates[view, detector, epoch].append(splits)
    return FalsePositives(rates, tuple(clean_texts))


def rate_table(
    measured: Mapping[str, FalsePositives], view: SampleView, level: int, *, checkpoints: list[int]
) -> ValueTable:
    """Return the rates at one level: detectors in rows, checkpoints in columns."""
    cells = chain.from_iterable(attributes(measured.values(), "rates"))
    detectors = dict.fromkeys(name for kind, name, _ in cells if kind == view)
    rows = []
    for name in detectors:
        values = []
        for result, epoch in product(measured.values(), checkpoints):
            values.append(spread(result.rates.get((view, name, epoch), []), level))
        rows.append(ValueRow(name, tuple(values)))
    texts = "all clean texts" if view == "all" else "clean texts that pass the filter"
    return value_table(
        f"flagged-{ALPHAS[level] * 100:g}-{view}",
        f"Flagged at {ALPHAS[level]:.0%}, {texts}",
        head="detector",
        columns=headings(measured, map(epoch_heading, checkpoints)),
        rows=rows,
        unit="percent",
    )


def rule_table(runs: Runs) -> ValueTable:
    """Return the share of clean texts that SrDetection's own rule calls leaked."""
    own, values = paper_score("gray"), []
    for seeds, epoch in product(runs.values(), epochs(runs)):
        values.append(over_cells(seeds, own, epoch, view="all", get=attrgetter("rule_on_unseen")))
    return value_table(
        "flagged-rule",
        "Flagged by SrDetection's rule, all clean texts",
        head="detector",
        columns=headings(runs, map(epoch_heading, epochs(runs))),
        rows=[ValueRow(own, tuple(values))],
        unit="percent",
    )


def kept_in(planted: Planted, base: Mapping[str, Rates]) -> dict[SampleView, NDArray[np.bool_]]:
    """Return view → which texts count: all, and those that pass the paper's filter."""
    passed = passes_filter(base)
    everything: dict[SampleView, NDArray[np.bool_]] = {"all": np.ones(len(planted.samples), np.bool_)}
    if passed is not None:
        everything["filtered"] = passed
    return everything


def false_positive_rates(
    planted: Planted, scores: Mapping[str, NDArray[np.float64]], seed: int, kept: NDArray[np.bool_] | None = None
) -> dict[str, Rates]:
    """Return detector → the share of judged clean texts that is flagged, for splits by group.

    Args:
        planted: the texts of a run.
        scores: detector → float64 [texts].
        seed: of the splits.
        kept: the texts that count; None for all.
    """
    clean = np.isin(part_column(planted.samples), list(CLEAN))
    if kept is not None:
        clean &= kept
    groups = np.array(own_group_column(planted.samples))
    names = np.unique(groups[clean])
    random = np.random.default_rng(seed)
    rates: defaultdict[str, list[list[float]]] = defaultdict(list)
    # whole groups calibrate, so that no text is judged by its own project
    for _ in range(SPLITS):
        calibrating = random.permutation(names)[: round(CALIBRATION_SHARE * len(names))]
        fits = clean & np.isin(groups, calibrating)
        for name, column in scores.items():
            unseen, judged = column[fits], column[clean & ~fits]
            if (~np.isnan(unseen)).sum() < MINIMUM_UNSEEN or np.isnan(judged).all():
                continue
            p_values = conformal_p_values(judged, unseen)
            p_values = p_values[~np.isnan(p_values)]
            rates[name].append([float((p_values <= alpha).mean()) for alpha in ALPHAS])
    # detectors in the order of the scores, not of their first split
    return {name: np.array(rates[name]) for name in scores if name in rates}


def spread(seeds: list[Rates], level: int) -> Estimate | None:
    """Return the mean over splits and seeds, and the range of nine in ten single splits."""
    if not seeds:
        return None
    rates = np.concatenate(seeds)[:, level]
    low, high = np.quantile(rates, WITHIN)
    return Estimate(float(rates.mean()), float(low), float(high), level=WITHIN[1] - WITHIN[0])


EXPERIMENTS = (Reproduction("assay", "honest-null", honest_null),)
