"""Is there a better detector than Mid-PIT? A minute, and an hour to train where no runs are given.

    ASSAY_TESTBED=small python benchmarks/bench_detector_ideas.py

ASSAY_TESTBED is the folder of `assay testbed run assay/every-cell --scale small --seed 0,1,2 --out small`; what is
missing there is run. Every idea is judged on seed 0; the best of each family is looked at on the other seeds, whose
texts are split and whose training is ordered anew. One epoch alone: after three, all good scores are near the ceiling.
The second part asks of whole sets whether they were in training: of clean texts, split by package again and again, and
of members.
"""

import os
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from detector_ideas import IDEAS, fused, kinds_of
from measuring import arguments, write
from numpy.typing import NDArray
from scipy.stats import mannwhitneyu

from assay.errors import Unscorable
from assay.evaluation.bootstrap import paired_difference
from assay.evaluation.calibration import MINIMUM_UNSEEN, conformal_p_values, wilson
from assay.evaluation.permutation_test import set_test
from assay.evaluation.ranking import auroc
from assay.experiments.bench import Bench
from assay.models import CachedScorer, StatisticsCache
from assay.testbed.configuration import Configuration, scale
from assay.testbed.detectors import chosen, with_variants
from assay.testbed.evaluate import checkpoint_scores, open_checkpoint
from assay.testbed.plant import Planted
from assay.testbed.running import plant_in, train_in
from assay.types import MEMBER, Sample, TokenStatistics

Floats = NDArray[np.float64]
Row = dict[str, Any]
Scored = tuple[list[Sample], Floats]
"""Texts and what they score."""

RIVALS = ("mid_pit", "min_k_plus_plus", "sr_gray")
PARTS = (*RIVALS, "gap_k", "lrr", "sr_z", "fast_detect_gpt", "min_k_plus_plus:k=1.0")
KNOWN = "known scores"
ALPHAS = (0.05, 0.1)
SIZES = (5, 10, 20, 40, 80)
CALIBRATES = 0.4
PERMUTATIONS, REPEATS = 199, 200
SETS = 50
"""Of each size and kind, a seed."""


def known_scores(out: Path, configuration: Configuration, planted: Planted, epoch: int) -> dict[str, Floats]:
    """Score → float64 [texts] on one checkpoint."""
    detectors = with_variants(chosen(PARTS), configuration.judging.variants)
    scored = checkpoint_scores(out, configuration, planted, detectors, epoch=epoch)
    return {name.partition(":n=")[0]: column for name, column in scored.items()}


def cell(
    out: Path, configuration: Configuration, planted: Planted, epoch: int, scored: Mapping[str, Floats]
) -> tuple[list[Sample], dict[str, Floats]]:
    """The judged texts of one checkpoint, and the values of every idea and known score."""
    part = np.array([sample.metadata["part"] for sample in planted.samples])
    calibrates, of = part == "calibration-nonmember", np.isin(part, ("member", "nonmember"))
    enough = {name: c for name, c in scored.items() if (~np.isnan(c[calibrates])).sum() >= MINIMUM_UNSEEN}
    p_values = {name: conformal_p_values(column, column[calibrates]) for name, column in enough.items()}
    level = {name: (c - np.nanmean(c[calibrates])) / np.nanstd(c[calibrates]) for name, c in scored.items()}
    values = {name: column[of] for name, column in {**scored, **fused(level, p_values)}.items()}
    samples = [sample for sample, wanted in zip(planted.samples, of, strict=True) if wanted]
    with StatisticsCache(out / "ideas.sqlite") as cache:
        model = CachedScorer(open_checkpoint(out, configuration, epoch), cache)
        statistics = list(model.token_statistics([sample.text for sample in samples]))
    return samples, {**values, **of_ideas(samples, statistics)}


def of_ideas(samples: Sequence[Sample], statistics: Sequence[TokenStatistics]) -> dict[str, Floats]:
    """Idea → float64 [samples], NaN where there is no such token."""
    kinds = [kinds_of(sample.text, one) for sample, one in zip(samples, statistics, strict=True)]
    found = {}
    for ideas in IDEAS.values():
        for name, idea in ideas.items():
            column = np.full(len(samples), np.nan)
            for i, (one, kind) in enumerate(zip(statistics, kinds, strict=True)):
                try:
                    column[i] = idea(one, kind)
                except Unscorable:
                    continue
            found[name] = column
    return found


def family(name: str) -> str:
    """Which family an idea is of."""
    if name in PARTS:
        return KNOWN
    return next((family for family, ideas in IDEAS.items() if name in ideas), "fusions")


def judged(samples: Sequence[Sample], values: Mapping[str, Floats], resamples: int) -> dict[str, Row]:
    """Idea → its AUROC, and how far that is from Mid-PIT's over texts that both can score, bootstrapped by group."""
    member = np.array([sample.metadata["part"] == "member" for sample in samples])
    groups = [sample.group for sample in samples]
    found: dict[str, Row] = {}
    for name, column in values.items():
        known = ~np.isnan(column)
        if len(set(member[known].tolist())) == 1:
            continue
        found[name] = {"scored": int(known.sum()), "auroc": auroc(column[known], member[known])}
        if name != "mid_pit":
            difference = paired_difference(column, values["mid_pit"], member, groups, resamples=resamples).estimate
            found[name]["over_mid_pit"] = [difference.value, difference.low, difference.high]
    return found


def measured(bench: Bench, epoch: int, repeats: int) -> list[Row]:
    """Both parts: all ideas on all seeds with the choice made on the first; whole sets."""
    cells: dict[int, dict[str, Row]] = {}
    nulls: list[Row] = []
    called = {size: [0, 0, 0] for size in SIZES}
    for seed in bench.seeds:
        configuration = bench.configured(bench.configurations[0], seed)
        out = bench.folder(configuration)
        planted = plant_in(out, configuration)
        if epoch:
            train_in(out, configuration, planted)
            before, _ = parted(planted, known_scores(out, configuration, planted, 0)["mid_pit"])
            nulls.append({"model": f"seed {seed}, epoch 0", **false_positives(*before, repeats)})
        scores = known_scores(out, configuration, planted, epoch)
        clean, members = parted(planted, scores["mid_pit"])
        nulls.append({"model": f"seed {seed}, epoch {epoch}", **false_positives(*clean, repeats)})
        for size, sums in called.items():
            sets = min(SETS, repeats)
            true, false = found_sets(clean, members, size, sets)
            called[size] = [sums[0] + true, sums[1] + false, sums[2] + sets]
        samples, values = cell(out, configuration, planted, epoch, scores)
        cells[seed] = judged(samples, values, repeats)
    first, *others = bench.seeds
    names = [name for name in cells[first] if all(name in one for one in cells.values())]
    best: dict[str, str] = {}
    for name in names:
        leader = best.setdefault(family(name), name)
        if cells[first][name]["auroc"] > cells[first][leader]["auroc"]:
            best[family(name)] = name
    picked = [
        {
            "family": of,
            "idea": name,
            "above_all_rivals_on_every_other_seed": all(
                cells[seed][name]["auroc"] > cells[seed][rival]["auroc"] for seed in others for rival in RIVALS
            ),
        }
        for of, name in best.items()
        if of != KNOWN
    ]
    table = [
        {"idea": name, "family": family(name), "cells": [{"seed": seed, **one[name]} for seed, one in cells.items()]}
        for name in names
    ]
    rows = []
    for size, (true, false, of) in called.items():
        shares = {"members": wilson(true, of), "clean": wilson(false, of)}
        rows.append({"size": size, "sets": of, **{k: [one.value, one.low, one.high] for k, one in shares.items()}})
    return [
        {"part": "ideas", "tried": len(names) - len(PARTS), "chosen": picked, "table": table},
        {"part": "sets", "null": nulls, "sets": rows},
    ]


def parted(planted: Planted, scores: Floats) -> tuple[Scored, Scored]:
    """Clean texts with their scores, and those that were trained on with theirs."""
    trained = np.array([sample.label == MEMBER for sample in planted.samples])
    clean = [sample for sample in planted.samples if sample.label != MEMBER]
    return (clean, scores[~trained]), (list(planted.trained), scores[trained])


def false_positives(samples: Sequence[Sample], scores: Floats, splits: int) -> Row:
    """How often clean texts of some packages look like a leaked set beside those of others, by group and by sample."""
    groups = np.array([sample.group or sample.id for sample in samples])
    names = np.unique(groups)
    random = np.random.default_rng(0)
    found: dict[str, list[float]] = {"by group": [], "Wilcoxon by sample": []}
    for split in range(splits):
        calibrates = np.isin(groups, random.permutation(names)[: round(CALIBRATES * len(names))])
        one = set_test(
            scores[~calibrates],
            scores[calibrates],
            groups[~calibrates].tolist(),
            groups[calibrates].tolist(),
            permutations=PERMUTATIONS,
            seed=split,
        )
        found["by group"].append(one.p_value)
        naive = mannwhitneyu(scores[~calibrates], scores[calibrates], alternative="greater")
        found["Wilcoxon by sample"].append(float(naive.pvalue))
    return {
        "texts": len(samples),
        "groups": len(names),
        "splits": splits,
        "flagged": {way: [float(np.mean(np.array(p) <= a)) for a in ALPHAS] for way, p in found.items()},
    }


def found_sets(clean: Scored, members: Scored, size: int, repeats: int) -> tuple[int, int]:
    """Of so many sets of members and as many of clean texts, how many are called leaked at 5 %.

    Each time other packages calibrate; a clean set is drawn from those that do not.
    """
    groups = np.array([sample.group or sample.id for sample in clean[0]])
    theirs = np.array([sample.group or sample.id for sample in members[0]])
    names = np.unique(groups)
    random = np.random.default_rng(size)
    true = false = 0
    for turn in range(repeats):
        calibrates = np.isin(groups, random.permutation(names)[: round(CALIBRATES * len(names))])
        known, labels = clean[1][calibrates], groups[calibrates].tolist()
        drawn = random.permutation(len(theirs))[:size]
        spared = random.permutation(np.flatnonzero(~calibrates))[:size]
        one = set_test(members[1][drawn], known, theirs[drawn].tolist(), labels, permutations=PERMUTATIONS, seed=turn)
        other = set_test(clean[1][spared], known, groups[spared].tolist(), labels, permutations=PERMUTATIONS, seed=turn)
        true += one.p_value <= ALPHAS[0]
        false += other.p_value <= ALPHAS[0]
    return true, false


def main() -> None:
    """Measure and write."""
    began = time.perf_counter()
    options = arguments(__doc__)
    smoke = options.smoke
    repeats = 5 if smoke else options.repeats or REPEATS
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary if smoke else os.environ.get("ASSAY_TESTBED", temporary))
        bench = Bench(folder, scale("smoke" if smoke else "small"), (0, 1) if smoke else (0, 1, 2))
        results = measured(bench, 0 if smoke else 1, repeats)
    print(write("detector_ideas", options, results, began))


if __name__ == "__main__":
    main()
