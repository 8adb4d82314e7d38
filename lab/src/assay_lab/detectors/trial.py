"""Is there a better detector than Mid-PIT?

The ideas are functions of what one forward pass gives, none with a fitted weight. Every idea is judged on seed 0; the
best of each family is looked at on the other seeds, whose texts are split and whose training is ordered anew. One epoch
alone: after three, all good scores are near the ceiling. The second part asks of whole sets whether they were in
training: of clean texts, split by package again and again, and of members. Models are trained in the folder `work`.
"""

import keyword
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import compress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import mannwhitneyu, norm

from assay.code import python_comments, python_tokens
from assay.errors import Unscorable
from assay.evaluation import MINIMUM_UNSEEN, auroc, conformal_p_values, set_test
from assay.models import CachedScorer, StatisticsCache
from assay.scores import TAIL_MASS_FLOOR, deviation, mean, mean_of_lowest
from assay.types import MEMBER, Sample, TokenStatistics
from assay_lab.columns import at_places, group_column, is_labelled, outside, own_group_column, text_column
from assay_lab.evaluation.differences import paired_difference
from assay_lab.evaluation.independent import wilson
from assay_lab.experiments.bench import Bench
from assay_lab.experiments.declaration import WORK, Data, Experiment, Result
from assay_lab.result_rows import column
from assay_lab.testbed import part_column
from assay_lab.testbed.configuration import Configuration
from assay_lab.testbed.detectors import chosen, with_variants
from assay_lab.testbed.evaluate import checkpoint_scores, open_checkpoint
from assay_lab.testbed.plant import Planted
from assay_lab.testbed.running import plant_in, train_in

Floats = NDArray[np.float64]
Kinds = NDArray[np.int8]
Idea = Callable[[TokenStatistics, Kinds], float]

KINDS = ("layout", "identifier", "keyword", "literal", "operator", "comment")
LAYOUT, IDENTIFIER, KEYWORD, LITERAL, OPERATOR, COMMENT = range(len(KINDS))
NAMED = (IDENTIFIER, LITERAL, COMMENT)

FUSIONS: Sequence[Sequence[str]] = (
    ("mid_pit", "gap_k"),
    ("mid_pit", "lrr"),
    ("mid_pit", "sr_z"),
    ("mid_pit", "min_k_plus_plus"),
    ("mid_pit", "fast_detect_gpt"),
    ("mid_pit", "gap_k", "lrr"),
    ("mid_pit", "gap_k", "lrr", "sr_z"),
)


def kinds_of(text: str, statistics: TokenStatistics) -> Kinds:
    """int8 [n], the kind of lexeme in which each token's first visible character stands."""
    at = np.zeros(len(text) + 1, np.int8)
    for token in python_tokens(text):
        at[token.start : token.start + len(token.text)] = kind_of(token.text)
    for comment in python_comments(text):
        at[comment.start : comment.start + len(comment.text)] = COMMENT
    kinds = np.full(len(statistics), LAYOUT, np.int8)
    for i, (start, end) in enumerate(statistics.offsets.tolist()):
        lexeme = text[start:end]
        if lexeme.strip():
            kinds[i] = at[start + len(lexeme) - len(lexeme.lstrip())]
    return kinds


def kind_of(lexeme: str) -> int:
    """Return the kind of a lexeme that is no comment."""
    if lexeme.isidentifier():
        return KEYWORD if keyword.iskeyword(lexeme) else IDENTIFIER
    # a prefix such as r or b may stand before the first quote, and a point before a digit
    is_literal = lexeme[0] in "'\"" or lexeme[-1] in "'\"" or lexeme.lstrip(".")[:1].isdigit()
    return LITERAL if is_literal else OPERATOR


def tail(one: TokenStatistics) -> Floats:
    """float64 [n], ln u."""
    return np.log(np.maximum(one.tail_mass.astype(np.float64), TAIL_MASS_FLOOR))


def standardised(one: TokenStatistics) -> Floats:
    """float64 [n], (l + H) / √V."""
    return (one.log_probs.astype(np.float64) + one.entropy) / deviation(one)


def share(one: TokenStatistics) -> Floats:
    """float64 [n], u away from 0 and 1."""
    return np.clip(one.tail_mass.astype(np.float64), TAIL_MASS_FLOOR, 1 - TAIL_MASS_FLOOR)


def moving(values: Floats, window: int) -> Floats:
    """Moving averages; the values themselves where there are fewer than the window."""
    return np.convolve(values, np.full(window, 1 / window), "valid") if len(values) >= window else values


def weighted(values: Floats, weights: Floats) -> float:
    """Weighted mean; NaN without any weight."""
    total = float(weights.sum())
    return float((values * weights).sum() / total) if total > 0 else np.nan


def trimmed(values: Floats, cut: float) -> float:
    """Mean without this share of the lowest and of the highest values."""
    ordered, drop = np.sort(values), int(cut * len(values))
    return mean(ordered[drop : len(ordered) - drop])


def late(values: Floats, half: float) -> float:
    """Mean with weights that rise from 0 to 1 over the first tokens."""
    return weighted(values, 1 - np.exp(-(np.arange(len(values)) + 1) / half))


def lowest_moving(values: Floats, window: int, k: float) -> float:
    """Mean of the lowest share of moving averages."""
    return mean_of_lowest(moving(values, window), k)


def floored(values: Floats, floor: float) -> float:
    """Mean with u no less than this."""
    return mean(np.maximum(values, np.log(floor)))


def firsts(one: TokenStatistics) -> NDArray[np.intp]:
    """Where each token id stands first."""
    return np.unique(one.token_ids, return_index=True)[1]


def a_mean(of: Callable[[TokenStatistics], Floats], weights: Callable[[Kinds], Floats]) -> Idea:
    """The mean of a value of each token, weighted by kind."""
    return lambda one, kinds: weighted(of(one), weights(kinds))


def only(kind: int, *, without: bool = False) -> Callable[[Kinds], Floats]:
    """All weight on one kind, or on the others."""
    return lambda kinds: np.where((kinds == kind) != without, 1.0, 0.0)


def heavy(chosen: Sequence[int], weight: float) -> Callable[[Kinds], Floats]:
    """`weight` on these kinds, 1 on the others."""
    return lambda kinds: np.where(np.isin(kinds, chosen), weight, 1.0)


def even(of: Callable[[TokenStatistics], Floats]) -> Idea:
    """The mean over kinds of the means of each."""
    return lambda one, kinds: mean(np.array([of(one)[kinds == kind].mean() for kind in np.unique(kinds)]))


def shaped(value: Callable[[Floats], float]) -> Idea:
    """A function of ln u."""
    return lambda one, _: value(tail(one))


def _weights() -> dict[str, Idea]:
    found: dict[str, Idea] = {}
    for kind, word in enumerate(KINDS):
        found[f"Mid-PIT of {word} tokens alone"] = a_mean(tail, only(kind))
        found[f"Mid-PIT without {word} tokens"] = a_mean(tail, only(kind, without=True))
    for label, of in (("Mid-PIT", tail), ("Min-K%++ k = 1", standardised)):
        found[f"{label}, identifiers twice"] = a_mean(of, heavy((IDENTIFIER,), 2))
        found[f"{label}, names, literals, comments twice"] = a_mean(of, heavy(NAMED, 2))
        found[f"{label}, names, literals, comments half"] = a_mean(of, heavy(NAMED, 0.5))
        found[f"{label}, every kind the same"] = even(of)
    found["Min-K%++ of names, literals, comments"] = lambda t, k: (
        mean_of_lowest(standardised(t)[np.isin(k, NAMED)], 0.2) if np.isin(k, NAMED).any() else np.nan
    )
    found["Mid-PIT weighted by entropy"] = lambda t, _: weighted(tail(t), t.entropy.astype(np.float64))
    found["Mid-PIT weighted by √V"] = lambda t, _: weighted(tail(t), np.sqrt(t.variance, dtype=np.float64))
    return found


def _shapes() -> dict[str, Idea]:
    found: dict[str, Idea] = {}
    for k in (0.2, 0.4, 0.6, 0.8):
        found[f"Mid-PIT, lowest {k:.0%}"] = shaped(partial(mean_of_lowest, k=k))
    for window in (3, 5):
        for k in (0.2, 0.6):
            found[f"Mid-PIT, moving averages of {window}, lowest {k:.0%}"] = shaped(
                partial(lowest_moving, window=window, k=k)
            )
    for cut in (0.05, 0.1, 0.25):
        found[f"Mid-PIT, {cut:.0%} cut off on both sides"] = shaped(partial(trimmed, cut=cut))
    for half in (8, 32, 128):
        found[f"Mid-PIT, first {half} tokens count less"] = shaped(partial(late, half=half))
    for floor in (1e-3, 1e-4):
        found[f"Mid-PIT, floor {floor:g}"] = shaped(partial(floored, floor=floor))
    return found | {
        "Mid-PIT of the second half": lambda t, _: mean(tail(t)[len(t) // 2 :]),
        "Mid-PIT of each token id's first place": lambda t, _: mean(tail(t)[firsts(t)]),
        "Min-K%++ k = 1 of each token id's first place": lambda t, _: mean(standardised(t)[firsts(t)]),
        "Mid-PIT of tokens not ranked first": lambda t, _: weighted(tail(t), np.where(t.ranks > 1, 1.0, 0.0)),
        "mean u": lambda t, _: mean(share(t)),
        "mean √u": lambda t, _: mean(np.sqrt(share(t))),
        "mean probit u": lambda t, _: mean(norm.ppf(share(t))),
        "mean logit u": lambda t, _: mean(np.log(share(t)) - np.log1p(-share(t))),
        "mean -ln(1 - u)": lambda t, _: -mean(np.log1p(-share(t))),
        "Σ (ln u + 1) / √n": lambda t, _: float((tail(t) + 1).sum() / np.sqrt(len(t))),
        "Σ (l + H) / √V / √n": lambda t, _: float(standardised(t).sum() / np.sqrt(len(t))),
        "Mid-PIT + Min-K%++ k = 1": lambda t, _: mean(tail(t)) + mean(standardised(t)),
    }


IDEAS: Mapping[str, Mapping[str, Idea]] = {"token weights": _weights(), "shapes of Mid-PIT": _shapes()}
"""Family → idea → its function; fusions are made of scores, by `fused`."""


def fused(values: Mapping[str, Floats], p_values: Mapping[str, Floats]) -> dict[str, Floats]:
    """Fusions of scores by conformal p-values (Fisher, Stouffer, mean rank) and by standardised values.

    Args:
        values: score → float64 [texts], standardised on the calibration texts.
        p_values: score → float64 [texts], conformal against the calibration texts.
    """
    found: dict[str, Floats] = {}
    for parts in FUSIONS:
        if not set(parts) <= p_values.keys():
            continue
        label = " + ".join(parts)
        p = np.array(at_places(p_values, parts))
        found |= {
            f"Fisher: {label}": -np.log(p).sum(axis=0),
            # a p-value of 1 has the deviate minus infinity, which would decide the sum alone
            f"Stouffer: {label}": norm.isf(np.minimum(p, 1 - 1 / 2000)).sum(axis=0),
            f"mean rank: {label}": -p.mean(axis=0),
            f"sum of standardised: {label}": np.sum(at_places(values, parts), axis=0),
        }
    return found


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
    scored = checkpoint_scores(out, configuration, planted=planted, detectors=detectors, epoch=epoch)
    return {name.partition(":n=")[0]: values for name, values in scored.items()}


def cell(
    out: Path, configuration: Configuration, planted: Planted, epoch: int, scored: Mapping[str, Floats]
) -> tuple[list[Sample], dict[str, Floats]]:
    """The judged texts of one checkpoint, and the values of every idea and known score."""
    part = part_column(planted.samples)
    calibrates, of = part == "calibration-nonmember", np.isin(part, ("member", "nonmember"))
    p_values, level = {}, {}
    for name, scores in scored.items():
        unseen = scores[calibrates]
        level[name] = (scores - np.nanmean(unseen)) / np.nanstd(unseen)
        if (~np.isnan(unseen)).sum() >= MINIMUM_UNSEEN:
            p_values[name] = conformal_p_values(scores, unseen)
    values = {name: scores[of] for name, scores in {**scored, **fused(level, p_values)}.items()}
    samples = list(compress(planted.samples, of))
    with StatisticsCache(out / "ideas.sqlite") as cache:
        model = CachedScorer(open_checkpoint(out, configuration, epoch), cache)
        statistics = list(model.token_statistics(text_column(samples)))
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
    member = part_column(samples) == "member"
    groups = group_column(samples)
    found: dict[str, Row] = {}
    for name, scores in values.items():
        known = ~np.isnan(scores)
        # texts of one class alone have no AUROC
        if len(set(member[known].tolist())) == 1:
            continue
        found[name] = {"scored": int(known.sum()), "auroc": auroc(scores[known], member[known])}
        if name != "mid_pit":
            difference = paired_difference(
                scores, values["mid_pit"], positive=member, groups=groups, resamples=resamples
            ).estimate
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
        # at epoch 0 the model itself is the null, so it is measured once
        if epoch:
            train_in(out, configuration, planted)
            untrained = known_scores(out, configuration, planted=planted, epoch=0)
            before, _ = parted(planted, untrained["mid_pit"])
            nulls.append({"model": f"seed {seed}, epoch 0", **false_positives(*before, repeats)})
        scores = known_scores(out, configuration, planted=planted, epoch=epoch)
        clean, members = parted(planted, scores["mid_pit"])
        nulls.append({"model": f"seed {seed}, epoch {epoch}", **false_positives(*clean, repeats)})
        for size, sums in called.items():
            sets = min(SETS, repeats)
            true, false = found_sets(clean, members, size=size, repeats=sets)
            called[size] = [sums[0] + true, sums[1] + false, sums[2] + sets]
        samples, values = cell(out, configuration, planted=planted, epoch=epoch, scored=scores)
        cells[seed] = judged(samples, values, repeats)
    rows = []
    for size, (true, false, of) in called.items():
        rows.append({"size": size, "sets": of, "members": share_of(true, of), "clean": share_of(false, of)})
    return [ideas_part(cells), {"part": "sets", "null": nulls, "sets": rows}]


def share_of(count: int, sets: int) -> list[float]:
    """Return a share and the ends of its interval."""
    share = wilson(count, sets)
    return [share.value, share.low, share.high]


def ideas_part(cells: Mapping[int, Mapping[str, Row]]) -> Row:
    """Return the ideas that all seeds could score, and the best of each family on the first seed."""
    # in the order of the first seed, because a set has none
    names = list(filter(set.intersection(*map(set, cells.values())).__contains__, next(iter(cells.values()))))
    areas = np.array([column(at_places(own, names), "auroc") for own in cells.values()])
    best: dict[str, int] = {}
    for at, name in enumerate(names):
        leader = best.setdefault(family(name), at)
        if areas[0, at] > areas[0, leader]:
            best[family(name)] = at
    # the first seed made the choice, so only the others can confirm it
    rivals = areas[1:, list(map(names.index, RIVALS))]
    picked = []
    for of, at in best.items():
        if of != KNOWN:
            is_above = bool((areas[1:, [at]] > rivals).all())
            picked.append({"family": of, "idea": names[at], "above_all_rivals_on_every_other_seed": is_above})
    table = []
    for name in names:
        own = [{"seed": seed, **rows[name]} for seed, rows in cells.items()]
        table.append({"idea": name, "family": family(name), "cells": own})
    return {"part": "ideas", "tried": len(names) - len(PARTS), "chosen": picked, "table": table}


def parted(planted: Planted, scores: Floats) -> tuple[Scored, Scored]:
    """Clean texts with their scores, and those that were trained on with theirs."""
    trained = is_labelled(planted.samples, MEMBER)
    clean = outside(planted.samples, "label", (MEMBER,))
    return (clean, scores[~trained]), (list(planted.trained), scores[trained])


def false_positives(samples: Sequence[Sample], scores: Floats, splits: int) -> Row:
    """How often clean texts of some packages look like a leaked set beside those of others, by group and by sample."""
    groups = groups_of(samples)
    names = np.unique(groups)
    random = np.random.default_rng(0)
    found: dict[str, list[float]] = {"by group": [], "Wilcoxon by sample": []}
    for split in range(splits):
        # whole packages calibrate: texts of one package are alike
        calibrates = np.isin(groups, random.permutation(names)[: round(CALIBRATES * len(names))])
        judged = Tested(scores[~calibrates], groups[~calibrates])
        beside = Tested(scores[calibrates], groups[calibrates])
        found["by group"].append(p_of_set(judged, beside, seed=split))
        # the naive rival takes the texts of a package for independent
        naive = mannwhitneyu(scores[~calibrates], scores[calibrates], alternative="greater")
        found["Wilcoxon by sample"].append(float(naive.pvalue))
    flagged = {way: (np.array(p)[:, None] <= ALPHAS).mean(axis=0).tolist() for way, p in found.items()}
    return {"texts": len(samples), "groups": len(names), "splits": splits, "flagged": flagged}


def found_sets(clean: Scored, members: Scored, size: int, repeats: int) -> tuple[int, int]:
    """Of so many sets of members and as many of clean texts, how many are called leaked at 5 %.

    Each time other packages calibrate; a clean set is drawn from those that do not.
    """
    groups, theirs = groups_of(clean[0]), groups_of(members[0])
    names = np.unique(groups)
    random = np.random.default_rng(size)
    true = false = 0
    for turn in range(repeats):
        calibrates = np.isin(groups, random.permutation(names)[: round(CALIBRATES * len(names))])
        unseen = Tested(clean[1][calibrates], groups[calibrates])
        drawn = random.permutation(len(theirs))[:size]
        spared = random.permutation(np.flatnonzero(~calibrates))[:size]
        true += p_of_set(Tested(members[1][drawn], theirs[drawn]), unseen, seed=turn) <= ALPHAS[0]
        false += p_of_set(Tested(clean[1][spared], groups[spared]), unseen, seed=turn) <= ALPHAS[0]
    return true, false


class Tested(NamedTuple):
    """Scores of a set of texts, and the group of each."""

    scores: Floats
    groups: NDArray[np.str_]


def p_of_set(judged: Tested, unseen: Tested, *, seed: int) -> float:
    """Return the p-value of a set beside unseen texts."""
    return set_test(
        judged.scores,
        unseen_scores=unseen.scores,
        groups=judged.groups.tolist(),
        unseen_groups=unseen.groups.tolist(),
        permutations=PERMUTATIONS,
        seed=seed,
    ).p_value


def groups_of(samples: Sequence[Sample]) -> NDArray[np.str_]:
    """Return the group of each text; one without is a group of its own."""
    return np.array(own_group_column(samples))


def run(scale: tuple[str, tuple[int, ...], int, int], seed: int, data: Data) -> Result:
    """Is there a better detector than Mid-PIT?"""
    configuration, seeds, epoch, repeats = scale
    bench = Bench.of_scale(configuration, data[WORK], tuple(map(seed.__add__, seeds)))
    return Result(measured(bench, epoch, repeats))


EXPERIMENTS = (
    Experiment(
        name="detectors/trial",
        run=run,
        scales={"smoke": ("smoke", (0, 1), 0, 5), "full": ("full", (0, 1, 2), 1, REPEATS)},
        stored="detector_ideas",
    ),
)
