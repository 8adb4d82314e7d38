"""The honest null: what detectors flag where nothing leaked, and which detector stands above which in every cell."""

from collections.abc import Mapping
from typing import cast

import numpy as np
from numpy.typing import NDArray

from assay.evaluation import MINIMUM_UNSEEN, Estimate, conformal_p_values
from assay.experiments.bench import Bench
from assay.experiments.finding import Finding, Line, Value, over_seeds
from assay.experiments.srdetection.detection import cell_of, epochs_of, in_paper, setting, views
from assay.scores import SCORES, SRDETECTION, flagged, request
from assay.testbed import ALPHAS, FOLDER, Evaluation, Planted, View, passes_filter, read_planted, read_scores
from assay.testbed import SCORES as SCORE_FOLDER

SPLITS = 200
CALIBRATION_SHARE = 0.4
WITHIN = (0.05, 0.95)
"""Quantiles of the splits' rates."""


def honest_null(bench: Bench) -> Finding:
    """False positives of conformal decisions at 5 and 10 % on clean texts.

    Of the base model and of contaminated ones. All clean texts of a run are split by package into those that calibrate
    and those that are judged, 200 times: the mean over splits, and how far a single one may be off.
    """
    runs = {one.name: bench.evaluations(one) for one in bench.configurations}
    lines, sizes = [], []
    for configuration in bench.configurations:
        epochs = [0, *epochs_of({configuration.name: runs[configuration.name]})]
        rates: dict[tuple[str, int], list[NDArray[np.float64]]] = {}
        rules: dict[int, list[Estimate]] = {epoch: [] for epoch in epochs}
        for seed, evaluation in zip(bench.seeds, runs[configuration.name], strict=True):
            folder = bench.folder(bench.configured(configuration, seed))
            planted = read_planted(folder / FOLDER)
            sizes.append(len(planted.part("nonmember", "calibration-nonmember", "unseen")))
            base = read_scores(folder / SCORE_FOLDER / "epoch-0.parquet", [s.id for s in planted.samples])
            for epoch in epochs:
                scores = read_scores(folder / SCORE_FOLDER / f"epoch-{epoch}.parquet", [s.id for s in planted.samples])
                for view, kept in kept_in(planted, base).items():
                    for name, found in false_positive_rates(planted, scores, seed, kept).items():
                        rates.setdefault((f"{name}{view}", epoch), []).append(found)
                rule = cell_of(evaluation, in_paper("gray")[SRDETECTION], epoch, "all")
                if rule is not None and rule.rule_on_unseen is not None:
                    rules[epoch].append(rule.rule_on_unseen)
        for name in dict.fromkeys(name for name, _ in rates):
            values = [_spread(rates.get((name, e), []), column) for column in range(len(ALPHAS)) for e in epochs]
            lines.append(Line(f"{configuration.name} · {name}", tuple(values)))
        ruled = tuple(over_seeds(rules[epoch], share=True) for epoch in epochs)
        lines.append(
            Line(f"{configuration.name} · strict SrDetection, the paper's rule", (*ruled, *(None for _ in epochs)))
        )
    shown = [0, *epochs_of(runs)]
    return Finding(
        name="honest-null",
        title="False positives on clean texts at nominal 5 and 10 %",
        head="detector",
        columns=tuple(f"at {alpha:.0%}, {_after(epoch)}" for alpha in ALPHAS for epoch in shown),
        lines=tuple(lines),
        unit="percent",
        notes=(
            *setting(bench, runs)[1:],
            (
                f"{min(sizes)} clean texts a seed, {len(bench.seeds)} seed{'s' * (len(bench.seeds) > 1)}; "
                f"{CALIBRATION_SHARE:.0%} of the packages calibrate and the others are judged, {SPLITS} splits by "
                "package. The mean over splits is what a user may expect; in brackets, what nine in ten single "
                "splits gave: packages differ, and one calibration set may be off by that much."
            ),
            (
                "Clean texts are the same for the base model and for the models that were trained on others. Scores of "
                "variants have a value only for the held-out texts of the judged and the calibration parts."
            ),
            (
                "The last row is what SrDetection's own rule calls leaked of never-seen texts, with its interval; if "
                "names meant nothing it would be 9 %."
            ),
        ),
        seeds=bench.seeds,
    )


def every_cell(bench: Bench) -> Finding:
    """AUROC of the contenders in every cell, and paired differences to SrDetection and Min-K%++."""
    runs = {one.name: bench.evaluations(one) for one in bench.configurations}
    epochs = epochs_of(runs)
    cells: list[tuple[str, View, int]] = [(m, v, e) for m in runs for v in views(runs) for e in epochs]
    lines = [
        Line(name, tuple(_auroc(runs[m], name, e, v) for m, v, e in cells))
        for name in (*flagged("baseline"), *flagged("contender"))
    ]
    verdicts = []
    for candidate, rival in dict.fromkeys(
        (c.candidate, c.rival) for r in runs.values() for one in r for c in one.contests
    ):
        values = [_difference(runs[m], candidate, rival, e, v) for m, v, e in cells]
        lines.append(Line(f"{candidate} − {rival}", tuple(cast("list[Value]", values))))
        verdicts.append((candidate, rival, [one.value for one in values if one is not None]))
    return Finding(
        name="every-cell",
        title="AUROC in every cell, and paired differences",
        head="detector",
        columns=tuple(f"{m}, {'filtered' if v == 'filtered' else 'unfiltered'}, {_after(e)}" for m, v, e in cells),
        lines=tuple(lines),
        unit="number",
        notes=(*setting(bench, runs), *_verdict(verdicts), _intervals(runs)),
        seeds=bench.seeds,
    )


def kept_in(planted: Planted, base: Mapping[str, NDArray[np.float64]]) -> dict[str, NDArray[np.bool_]]:
    """What a row's name ends with → which texts count: all, and those that pass the paper's filter."""
    passed = passes_filter(base)
    everything = {"": np.ones(len(planted.samples), np.bool_)}
    return everything if passed is None else everything | {", filtered": passed}


def false_positive_rates(
    planted: Planted,
    scores: Mapping[str, NDArray[np.float64]],
    seed: int,
    kept: NDArray[np.bool_] | None = None,
) -> dict[str, NDArray[np.float64]]:
    """Detector → float64 [splits, levels]: the share of judged clean texts flagged, for splits by group."""
    clean = np.array([s.metadata["part"] in ("nonmember", "calibration-nonmember", "unseen") for s in planted.samples])
    clean = clean if kept is None else clean & kept
    groups = np.array([s.group or s.id for s in planted.samples])
    names = np.unique(groups[clean])
    random = np.random.default_rng(seed)
    rates: dict[str, list[list[float]]] = {name: [] for name in scores}
    for _ in range(SPLITS):
        calibrating = random.permutation(names)[: round(CALIBRATION_SHARE * len(names))]
        fits = clean & np.isin(groups, calibrating)
        for name, column in scores.items():
            known, judged = column[fits], column[clean & ~fits]
            if (~np.isnan(known)).sum() < MINIMUM_UNSEEN or np.isnan(judged).all():
                continue
            p_values = conformal_p_values(judged, known)
            p_values = p_values[~np.isnan(p_values)]
            rates[name].append([float((p_values <= alpha).mean()) for alpha in ALPHAS])
    return {name: np.array(found) for name, found in rates.items() if found}


def _spread(found: list[NDArray[np.float64]], column: int) -> Estimate | None:
    """The mean over splits and seeds, and where nine in ten single splits lie."""
    if not found:
        return None
    rates = np.concatenate(found)[:, column]
    low, high = np.quantile(rates, WITHIN)
    return Estimate(float(rates.mean()), float(low), float(high), level=WITHIN[1] - WITHIN[0])


def _auroc(runs: tuple[Evaluation, ...], name: str, epoch: int, view: View) -> Estimate | None:
    return over_seeds([cell.auroc if (cell := cell_of(one, name, epoch, view)) else None for one in runs], share=True)


def _difference(runs: tuple[Evaluation, ...], candidate: str, rival: str, epoch: int, view: View) -> Estimate | None:
    key = (candidate, rival, epoch, view)
    found = [c.difference.estimate for r in runs for c in r.contests if (c.candidate, c.rival, c.epoch, c.view) == key]
    return over_seeds(found)


def _verdict(verdicts: list[tuple[str, str, list[float]]]) -> list[str]:
    """Which candidate is above both rivals in every cell."""
    candidates = dict.fromkeys(candidate for candidate, _, _ in verdicts)
    above = [c for c in candidates if all(min(d, default=-1) > 0 for name, _, d in verdicts if name == c)]
    two = [c for c in candidates if request(c).definition.access == "two models"]
    level = [c for c in candidates if all(min(d, default=-1) >= 0 for name, _, d in verdicts if name == c)]
    return [
        (
            f"Above both SrDetection and Min-K%++ in every cell, by the mean over seeds: {', '.join(above) or 'none'}; "
            f"never below either, ties at the ceiling counted: {', '.join(level) or 'none'}. "
            f"{', '.join(two)}: reads two models, the one before the training as well."
        )
    ]


def _intervals(runs: dict[str, tuple[Evaluation, ...]]) -> str:
    """In how many single runs the difference is sure."""
    told = []
    rival = next(name for name in flagged("baseline") if name != in_paper("gray")[SRDETECTION])
    for candidate in dict.fromkeys(c.candidate for r in runs.values() for one in r for c in one.contests):
        of = [
            c.difference.estimate.low
            for r in runs.values()
            for one in r
            for c in one.contests
            if c.candidate == candidate and c.epoch and c.rival == rival
        ]
        told.append(f"{candidate} {sum(low > 0 for low in of)} of {len(of)}")
    return f"Cells of single runs whose paired interval lies above 0 against {SCORES[rival].title}: {', '.join(told)}."


def _after(epoch: int) -> str:
    return "before training" if not epoch else f"epoch {epoch}"
