"""Authorship: the user's own human code beside a pile of new code without labels (positive-unlabelled learning).

The ideas, fixed before any of their figures was seen. A user has code that people certainly wrote (the reference) and
a pile of new code of unknown origin. Signs that belong to one collection (docstrings, spacing, words) need not be known
from other collections then: if people write in the pile as in the reference, whatever the pile has more of comes from
generators.

- `pile`: the recipe of the default classifier (names, layout, structure, wording, documentation, each with weight 1) is
  fitted on the reference against the whole pile, as if all of the pile were generated, in five folds by task: neither
  a text nor its task is in the fit that scores it. If people in the pile write as in the reference, the ranking is that
  by the odds of a generator, whatever the share of generated texts (Elkan and Noto 2008).
- `weights`: the same folds, but only weights, at least 0, of the margins of the heads that other collections fitted.
  Directions come from other collections, the importance of each kind comes from the pile.
- `likelihood`: ten numbers of one pass of `builtin:control` over the code without comments (six means; the share of
  tokens of rank 1; the deviation of the surprisal between lines; its correlation from token to token; the surprisal of
  the first use of names less that of later uses), as mid-ranks among the reference texts of the language; a linear head
  that other collections fitted.

`default` is the default classifier, fitted on other collections, without the kinds of evidence that the reference shows
too. Combinations are sums of scores that are standardised over reference and pile. The reference is min(200, half) of
the texts of people of the collection; they are not scored.

Primary comparison, fixed beforehand: mean AUROC of "default + pile" over the five collections with the pile as the
collection gives it; the goal is .85. "Nested" is the method with the best mean over the other four collections. Then
piles of which 10, 30 and 50 % are generated, drawn N times; the AUROC is the mean over the draws.

The decisive check is the pile that only people wrote: the share of it that the rule of the product calls unusual, at a
nominal 5 %. The pile is of the same origin as the reference; or another collection in Python; or, with `dated`,
functions of git repositories before 2020: of the same years, of later years, of another project. A way of scoring that
calls more than 7 % of any such kind unusual is no ground for a verdict.
"""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from itertools import combinations, permutations
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import minimize

from assay.authorship import SHORTEST, Reference, saturated_kinds, units_of
from assay.authorship.classifier import standardised
from assay.authorship.detecting import NOMINAL
from assay.authorship.evidence import EvidenceMatrices, evidence_of
from assay.errors import DataError
from assay.evaluation import auroc
from assay.models import default_control, open_model
from assay.provenance.sources import texts_before
from assay.scores import requests
from assay.scoring import plan, score_samples
from assay.types import Float64Array, Int64Array, Sample, TokenLogProbs, TokenScorer, TokenStatistics
from assay_lab.authorship.collections import COLLECTIONS, collections
from assay_lab.authorship.relative import Heads, differences, margins, pair, ranked
from assay_lab.classifiers.evaluating import _calibrating
from assay_lab.classifiers.fitting import HEAD_WEIGHTS, _fit_heads, balanced_weights
from assay_lab.classifiers.heads import fit_linear
from assay_lab.classifiers.labelled import LabelledCode
from assay_lab.classifiers.settings import DEFAULT_EVIDENCE
from assay_lab.evaluation.independent import wilson
from assay_lab.experiments.declaration import Data, Experiment, Result
from assay_lab.measuring import with_ends

FOLDS = 5
SHARES = (0.1, 0.3, 0.5)
PENALTY = 0.1
"""Of the squared weights of `weights`, beside the mean loss."""

BASE, PRIMARY = "default", "default + pile"
SCORES = "fast_detect_gpt,loss,rank,log_rank,entropy,lrr"
LIKELIHOOD = "likelihood"
COMBINED = {
    BASE: (BASE,),
    "pile": ("pile",),
    "weights": ("weights",),
    "default + likelihood": (BASE, LIKELIHOOD),
    PRIMARY: (BASE, "pile"),
    "default + pile + likelihood": (BASE, "pile", LIKELIHOOD),
}
_NAME = re.compile(r"[A-Za-z_]\w*")
EARLY, LATE = date(2015, 1, 1), date(2020, 1, 1)
MOST_DATED = 100
"""Functions of a reference, and of a pile that only people wrote."""


@dataclass(frozen=True, eq=False)
class Texts:
    """Texts with their evidence and the parts of the default score; every array has a value per text.

    Attributes:
        labelled: the texts.
        evidence: of the default classifier.
        likelihood: margins of the head on likelihoods; None where it was not measured.
    """

    labelled: LabelledCode
    evidence: EvidenceMatrices
    likelihood: Float64Array | None = None


@dataclass(frozen=True, eq=False)
class Piles:
    """What a user has of each collection.

    Attributes:
        references: collection → rows of texts that people certainly wrote.
        rows: collection → rows of all its other texts, whose origin the methods do not see.
    """

    references: Mapping[str, Int64Array]
    rows: Mapping[str, Int64Array]

    @classmethod
    def of(cls, labelled: LabelledCode) -> "Piles":
        """Return references of min(200, half) of the texts of people."""
        by_name = labelled.rows_of("collection")
        references = {name: rows[_calibrating(labelled.take(rows), 0)] for name, rows in by_name.items()}
        return cls(references, {name: np.setdiff1d(rows, references[name]) for name, rows in by_name.items()})

    def counts(self, labelled: LabelledCode) -> dict[str, list[int]]:
        """Return collection → texts of the reference, texts of people and generated texts of the pile."""
        human = labelled.human
        return {
            name: [len(self.references[name]), int(human[rows].sum()), int((~human[rows]).sum())]
            for name, rows in self.rows.items()
        }


def transferred(texts: Texts) -> dict[tuple[str, ...], Heads]:
    """Return the heads of the default classifier by the collections, one or two, that they were fitted without."""
    labelled = texts.labelled
    groups = np.array(labelled.groups, object)
    by_name = labelled.rows_of("collection")
    heads: dict[tuple[str, ...], Heads] = {}
    for left_out in [*((name,) for name in by_name), *combinations(by_name, 2)]:
        out = np.concatenate([by_name[name] for name in left_out])
        rest = np.setdiff1d(np.flatnonzero(~np.isin(groups, groups[out])), out)
        heads[left_out] = _fit_heads(texts.evidence, labelled, rest)
    return heads


def whole_piles(
    texts: Texts,
    heads: Mapping[tuple[str, ...], Heads],
    likely: Mapping[tuple[str, ...], Float64Array],
    piles: Piles,
) -> dict[str, Any]:
    """Return the AUROC of each method on the piles that the collections give, and that of the nested choice."""
    labelled, references = texts.labelled, piles.references
    names = tuple(piles.rows)
    scores = {title: np.full(len(labelled), np.nan) for title in COMBINED}
    inner: dict[tuple[str, str], dict[str, float]] = {}
    for name, rows in piles.rows.items():
        both = np.sort(np.concatenate([references[name], rows]))
        fresh = against_pile(texts, references[name], both, folds_of(labelled, both))
        for outer in names:  # the nested choice for `outer` may not see what was fitted on it
            own = heads[name,] if outer == name else heads[pair(heads, name, outer)]
            likelihood = likely[name,] if outer == name else likely[pair(likely, name, outer)]
            values = all_scores(replace(texts, likelihood=likelihood), own, references[name], rows, fresh)
            inner[outer, name] = {title: auroc(v[rows], ~labelled.human[rows]) for title, v in values.items()}
            if outer == name:
                for title, v in values.items():
                    scores[title][rows] = v[rows]
    figures: dict[str, Any] = {"tested": piles.counts(labelled)}
    for title in COMBINED:
        figures[title] = _with_mean({name: inner[name, name][title] for name in names})
    chosen = {}
    for outer in names:
        others = [inner[outer, name] for name in names if name != outer]
        chosen[outer] = max(COMBINED, key=lambda title: float(np.mean([areas[title] for areas in others])))
    nested = _with_mean({name: inner[name, name][title] for name, title in chosen.items()})
    figures["nested"] = {**nested, "chosen": chosen}
    figures["less the default"] = differences(labelled, scores, piles.rows, BASE)
    return figures


def drawn_piles(
    texts: Texts, heads: Mapping[tuple[str, ...], Heads], piles: Piles, share: float, draws: int
) -> dict[str, Any]:
    """Return the mean AUROC over piles with a share of generated texts, by method and collection.

    Args:
        texts: all texts.
        heads: of the default classifier, by the collections that they were fitted without.
        piles: all texts that are not in a reference; the generated ones are drawn of them.
        share: of generated texts.
        draws: piles of each collection.
    """
    generator = np.random.default_rng(0)
    human = texts.labelled.human
    areas: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for name, rows in piles.rows.items():
        people, machines = rows[human[rows]], rows[~human[rows]]
        size = min(round(share / (1 - share) * len(people)), len(machines))
        for _ in range(draws):
            drawn = np.sort(np.concatenate([people, generator.permutation(machines)[:size]]))
            values = all_scores(texts, heads[name,], piles.references[name], drawn)
            for title, v in values.items():
                areas[title][name].append(auroc(v[drawn], ~human[drawn]))
    return {
        title: _with_mean({name: float(np.mean(values)) for name, values in parts.items()})
        for title, parts in areas.items()
    }


def _with_mean(parts: Mapping[str, float]) -> dict[str, Any]:
    return {"mean": float(np.mean(list(parts.values()))), "parts": dict(parts)}


def all_scores(
    texts: Texts, heads: Heads, reference: Int64Array, pile: Int64Array, fresh: Float64Array | None = None
) -> dict[str, Float64Array]:
    """Return every score of the texts of a reference and a pile, float64 [texts] with NaN elsewhere.

    Args:
        texts: all texts.
        heads: of the default classifier, fitted on other collections.
        reference: rows of texts of people.
        pile: rows of the texts without labels.
        fresh: scores of `against_pile`, where they are at hand.
    """
    rows = np.sort(np.concatenate([reference, pile]))
    raw = margins(heads, texts.evidence, rows)
    parts = {kind: standardised(values, heads[kind].centre, heads[kind].spread) for kind, values in raw.items()}
    weighted = {kind: HEAD_WEIGHTS[kind] * values[rows] for kind, values in parts.items()}
    left = saturated_kinds(weighted, np.flatnonzero(np.isin(rows, reference)))
    base = np.full(len(texts.labelled), np.nan)
    base[rows] = np.sum([values for kind, values in weighted.items() if kind not in left], axis=0)
    folds = folds_of(texts.labelled, rows)
    single = {
        BASE: base,
        "pile": against_pile(texts, reference, rows, folds) if fresh is None else fresh,
        "weights": pile_weights(texts.labelled, parts, reference, rows, folds),
    }
    if texts.likelihood is not None:
        single[LIKELIHOOD] = texts.likelihood
    scaled = {name: _standard(values, rows) for name, values in single.items()}
    return {
        title: np.asarray(np.sum([scaled[name] for name in names], axis=0), np.float64)
        for title, names in COMBINED.items()
        if set(names) <= set(scaled)
    }


def folds_of(labelled: LabelledCode, rows: Int64Array) -> Int64Array:
    """Return a fold for each of the rows, the same for all texts of a group."""
    groups = np.array(labelled.groups, object)[rows]
    order = np.random.default_rng(2).permutation(np.array(sorted(set(groups.tolist())), object))
    fold = {group: place % FOLDS for place, group in enumerate(order.tolist())}
    return np.array([fold[group] for group in groups], np.int64)


def against_pile(texts: Texts, reference: Int64Array, rows: Int64Array, folds: Int64Array) -> Float64Array:
    """Return the sum of the margins of heads that were fitted on the reference against the pile, by folds."""
    relabelled = replace(texts.labelled, human=np.isin(np.arange(len(texts.labelled)), reference))
    scores = np.full(len(texts.labelled), np.nan)
    for fold in range(FOLDS):
        heads = _fit_heads(texts.evidence, relabelled, rows[folds != fold])
        own = rows[folds == fold]
        parts = [
            standardised(head.head.margins(texts.evidence.matrices[kind][own]), head.centre, head.spread)
            for kind, head in heads.items()
        ]
        scores[own] = np.sum(parts, axis=0)
    return scores


def pile_weights(
    labelled: LabelledCode,
    parts: Mapping[str, Float64Array],
    reference: Int64Array,
    rows: Int64Array,
    folds: Int64Array,
) -> Float64Array:
    """Return the sum of margins with weights, at least 0, that separate the pile from the reference, by folds."""
    relabelled = replace(labelled, human=np.isin(np.arange(len(labelled)), reference))
    table = np.stack(list(parts.values()), axis=1)
    signs = np.where(relabelled.human, -1.0, 1.0)
    scores = np.full(len(labelled), np.nan)
    for fold in range(FOLDS):
        fitted = rows[folds != fold]
        share = balanced_weights(relabelled, fitted)
        share = share / share.sum()

        def loss(w: Float64Array, fitted: Int64Array = fitted, share: Float64Array = share) -> float:
            values = signs[fitted] * (table[fitted] @ w[1:] + w[0])
            return float((share * np.logaddexp(0, -values)).sum() + PENALTY * (w[1:] ** 2).sum())

        bounds = [(None, None), *[(0.0, None)] * len(parts)]
        weights = minimize(loss, np.full(len(bounds), 0.1), method="L-BFGS-B", bounds=bounds).x
        own = rows[folds == fold]
        scores[own] = table[own] @ weights[1:] + weights[0]
    return scores


def _standard(values: Float64Array, rows: Int64Array) -> Float64Array:
    deviation = float(np.nanstd(values[rows]))
    return (values - np.nanmean(values[rows])) / (deviation or 1.0)


def likelihood_margins(
    labelled: LabelledCode, references: Mapping[str, Int64Array]
) -> dict[tuple[str, ...], Float64Array]:
    """Return the margins of heads on likelihoods by the collections, one or two, that they were fitted without."""
    table = likelihood_table(labelled)
    languages = np.array([str(sample.language) for sample in labelled.samples], object)
    in_halves, within = ranked(labelled, EvidenceMatrices({LIKELIHOOD: table}), languages, references, (LIKELIHOOD,))
    groups = np.array(labelled.groups, object)
    by_name = labelled.rows_of("collection")
    values = {}
    for left_out in [*((name,) for name in by_name), *combinations(by_name, 2)]:
        out = np.concatenate([by_name[name] for name in left_out])
        rest = np.setdiff1d(np.flatnonzero(~np.isin(groups, groups[out])), out)
        head = fit_linear(in_halves.matrices[LIKELIHOOD][rest], ~labelled.human[rest], balanced_weights(labelled, rest))
        values[left_out] = head.margins(within.matrices[LIKELIHOOD])
    return values


def likelihood_table(labelled: LabelledCode) -> Float64Array:
    """Return the ten numbers of one pass of the built-in model of several languages, float64 [n, 10]."""
    model = open_model(default_control())
    if not isinstance(model, TokenScorer):
        raise DataError("the built-in model gives no ranks and entropies")
    samples = [Sample(str(row), code.plain_text, code.language) for row, code in enumerate(labelled.codes)]
    profiles = np.full((len(samples), 4), np.nan)

    def observe(position: int, statistics: TokenLogProbs) -> None:
        if isinstance(statistics, TokenStatistics) and len(statistics) > 1:
            profiles[position] = profile(samples[position].text, statistics)

    names = requests(SCORES)
    table = score_samples(samples, plan(names, {"target": model}), observe=[observe])
    return np.column_stack([*(table.values[request.name] for request in names), profiles])


def profile(text: str, statistics: TokenStatistics) -> tuple[float, float, float, float]:
    """Return how the surprisal is spread over a text; see the head of this file."""
    surprisal = -statistics.log_probs.astype(np.float64)
    starts = statistics.offsets[:, 0]
    lines = np.searchsorted([match.start() for match in re.finditer("\n", text)], starts)
    by_line = np.bincount(lines, surprisal) / np.maximum(np.bincount(lines), 1)
    centred = surprisal - surprisal.mean()
    correlation = float((centred[1:] * centred[:-1]).mean() / max(float((centred**2).mean()), 1e-9))
    seen: set[str] = set()
    first, later = list[int](), list[int]()
    for match in _NAME.finditer(text):
        (later if match[0] in seen else first).append(match.start())
        seen.add(match[0])
    means = [surprisal[np.isin(starts, places)] for places in (first, later)]
    contrast = float(means[0].mean() - means[1].mean()) if all(map(len, means)) else float("nan")
    return float((statistics.ranks == 1).mean()), float(by_line[np.unique(lines)].std()), correlation, contrast


def collection_alarms(texts: Texts, heads: Mapping[tuple[str, ...], Heads]) -> dict[str, Any]:
    """Return the rates on piles of people: of the same collection, and of another collection in Python."""
    labelled = texts.labelled
    by_name = labelled.rows_of("collection")
    rates: dict[str, Any] = defaultdict(dict)
    for name, rows in by_name.items():
        people = rows[labelled.human[rows]]
        reference = rows[_calibrating(labelled.take(rows), 0)]
        rates["same collection"][name] = alarms(texts, heads[name,], reference, np.setdiff1d(people, reference))
    python = np.array([sample.language == "python" for sample in labelled.samples])
    for first, second in permutations(by_name, 2):
        reference, pile = (by_name[name][(labelled.human & python)[by_name[name]]] for name in (first, second))
        own = heads[pair(heads, first, second)]
        rates["another collection"][f"{first}, pile {second}"] = alarms(texts, own, reference, pile)
    return {kind: {"all": _summed(parts), "parts": parts} for kind, parts in rates.items()}


def dated_alarms(repositories: Sequence[Path], heads: Heads) -> dict[str, Any]:
    """Return the rates on functions of repositories before 2020: the same years, later years, another project."""
    samples, names = list[Sample](), list[str]()
    for repository in repositories:
        early = functions_before(repository, EARLY)
        late = functions_before(repository, LATE)
        for age, functions in (
            ("early", early),
            ("late", {text: path for text, path in late.items() if text not in early}),
        ):
            for number, (text, (path, language)) in enumerate(functions.items()):
                samples.append(Sample(f"{repository}/{age}/{number}", text, language, "human", f"{repository}/{path}"))
                names.append(
                    f"{repository.parent.name} {age}" if repository.name == "repo" else f"{repository.name} {age}"
                )
    by_id = dict(zip((sample.id for sample in samples), names, strict=True))
    whole = LabelledCode.of(samples, lambda sample: by_id[sample.id])
    long = np.array([len(code.tokens) >= SHORTEST for code in whole.codes])
    generator = np.random.default_rng(3)
    rows = [generator.permutation(own[long[own]])[: 2 * MOST_DATED] for own in whole.rows_of("collection").values()]
    labelled = whole.take(np.sort(np.concatenate(rows)))
    texts = Texts(labelled, evidence_of(labelled.codes, DEFAULT_EVIDENCE))
    parts = {name: _halves(own) for name, own in labelled.rows_of("collection").items()}
    languages = {name: labelled.samples[int(half[0][0])].language for name, half in parts.items()}
    rates: dict[str, Any] = defaultdict(dict)
    for name, (first, second) in parts.items():
        rates["same years"][name] = alarms(texts, heads, first, second)
        later = name.replace(" early", " late")
        if later != name and later in parts:
            rates["later years"][name] = alarms(texts, heads, first, parts[later][0])
    late_names = [name for name in parts if name.endswith(" late")]
    for name, other in permutations(late_names, 2):
        if languages[name] == languages[other]:
            rates["another project"][f"{name}, pile {other}"] = alarms(texts, heads, parts[name][0], parts[other][0])
    return {kind: {"all": _summed(own), "parts": own} for kind, own in rates.items()}


def functions_before(repository: Path, day: date) -> dict[str, tuple[str, str]]:
    """Return the text of each function of the main language of a repository before a day → path and language."""
    functions = {}
    for text in texts_before(repository, day):
        for unit in units_of(text.path, text.text, text.language, "function"):
            if unit.language in {"python", "java"} and unit.name is not None:
                functions[unit.text] = (unit.path, unit.language)
    return functions


def _halves(rows: Int64Array) -> tuple[Int64Array, Int64Array]:
    """Return two random parts of some rows; files are not kept together, so both are of the same origin."""
    order = np.random.default_rng(4).permutation(rows)
    size = min(MOST_DATED, len(order) // 2)
    return np.sort(order[:size]), np.sort(order[size : 2 * size])


def alarms(texts: Texts, heads: Heads, reference: Int64Array, pile: Int64Array) -> dict[str, Any]:
    """Return the flagged and judged texts of a pile of people by method, by the rule of the product."""
    labelled = texts.labelled
    scores = all_scores(texts, heads, reference, pile)
    languages = [sample.language for sample in labelled.samples]
    lengths = [len(code.tokens) for code in labelled.codes]
    rates = {}
    for title, values in scores.items():
        columns = ([sequence[row] for row in reference] for sequence in (values, languages, lengths, labelled.groups))
        try:
            past = Reference.of("measured", *columns)
        except DataError:  # too few texts are long enough: no text gets an answer
            rates[title] = {"flagged": 0, "judged": 0}
            continue
        answers = [past.judge(float(values[row]), languages[row], lengths[row]) for row in pile]
        judged = [answer for answer in answers if answer.abstained is None]
        rates[title] = {"flagged": sum(answer.unusual(NOMINAL) for answer in judged), "judged": len(judged)}
    return rates


def _summed(parts: Mapping[str, Mapping[str, Mapping[str, int]]]) -> dict[str, Any]:
    """Return the sums over parts with the share and its interval, and the largest share of a part, by method."""
    summed = {}
    for title in next(iter(parts.values())):
        own = [part[title] for part in parts.values() if title in part and part[title]["judged"]]
        flagged, judged = sum(part["flagged"] for part in own), sum(part["judged"] for part in own)
        if not judged:
            continue
        rate = wilson(flagged, judged)
        largest = max(part["flagged"] / part["judged"] for part in own)
        summed[title] = {"flagged": flagged, "judged": judged, **with_ends(rate), "largest": largest}
    return summed


def run(scale: tuple[int, int], seed: int, data: Data) -> Result:
    """The user's own human code beside a pile of new code without labels (positive-unlabelled learning)."""
    per_class, draws = scale
    labelled = collections(data, per_class)
    texts = Texts(labelled, evidence_of(labelled.codes, DEFAULT_EVIDENCE))
    heads, piles = transferred(texts), Piles.of(labelled)
    whole = whole_piles(texts, heads, likelihood_margins(labelled, piles.references), piles)
    figures: dict[str, Mapping[str, Any]] = {**whole, "piles of people": collection_alarms(texts, heads)}
    if "dated" in data:
        everything = _fit_heads(texts.evidence, labelled, np.arange(len(labelled)))
        repositories = sorted(path for path in data["dated"].iterdir() if path.is_dir())
        figures["dated piles of people"] = dated_alarms(repositories, everything)
    for share in SHARES:
        figures[f"{share:.0%} generated"] = drawn_piles(texts, heads, piles, share, draws)
    return Result([{"name": title, **value} for title, value in figures.items()])


EXPERIMENTS = tuple(
    Experiment(
        name=f"authorship/{name}",
        run=run,
        scales={"smoke": (20, 1), "full": (per_class, 3)},
        columns=("name", "mean", (BASE, "mean"), (PRIMARY, "mean")),
        needs=COLLECTIONS,
        takes={"dated": "a folder of git repositories"},
        stored=f"authorship/{name}",
    )
    for name, per_class in (("pile", 200), ("pile_small", 100))
)
