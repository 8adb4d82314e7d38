"""Evidence that a document holds a copy of a benchmark's text, against the labels of people (LessLeak-Bench).

The pairs (arXiv 2502.06215) are not shipped: JSON lines with `benchmark`, `query`, `document`, `label` (2 and 3 mean
leaked), `group` and `language`. Nothing is fitted here: the evidence has no parameter that depends on the benchmark.

Most pairs that are not leaked come from one benchmark without leaked pairs, so figures over all pairs say little.
"within" compares only pairs of one benchmark: the share of (leaked, not leaked) pairs of one benchmark that are in the
right order. "mean" is the mean AUROC over benchmarks with at least three pairs of each class. "left out" takes the
threshold of each family of benchmarks (the first word of its name) from the other families.
"""

import gzip
import json
import random
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import assay
from assay.evaluation import auroc, grouped_bootstrap, grouped_share, shingles
from assay.provenance import Searchable, trace
from assay.types import BooleanArray, Float64Array
from assay_lab.bugs import copy_evidence
from assay_lab.bugs.membership import LEAST_EVIDENCE
from assay_lab.clones import strip_comments
from assay_lab.experiments.declaration import WORK, Data, Experiment, Result
from assay_lab.measuring import with_ends

LANGUAGES = {"java": "java", "c": "cpp", "py": "python"}
LEAKED = 2
PRECISION = 0.9
LEAST_PAIRS = 3
ENDINGS = {"java": "java", "cpp": "cpp", "python": "py"}

Pair = Mapping[str, Any]


def evidence(pair: Pair) -> float:
    """Return the evidence of the product."""
    return copy_evidence(pair["query"], pair["document"], LANGUAGES[pair["language"]]).value


def jaccard(pair: Pair) -> float:
    """Return the Jaccard similarity of the 5-grams of both texts as they are."""
    return _jaccard(pair["query"], pair["document"])


def code_jaccard(pair: Pair) -> float:
    """Return the same without comments."""
    language = LANGUAGES[pair["language"]]
    return _jaccard(strip_comments(pair["query"], language), strip_comments(pair["document"], language))


def _jaccard(text: str, other: str) -> float:
    cache: dict[str, int] = {}
    own, its = shingles(text, cache), shingles(other, cache)
    shared = len(np.intersect1d(own, its, assume_unique=True))
    return shared / max(1, len(own) + len(its) - shared)


def labels_of(pairs: Sequence[Pair]) -> BooleanArray:
    """Return which pairs people judged to be leaked."""
    return np.array([int(pair["label"]) >= LEAKED for pair in pairs])


def figures(values: Float64Array, pairs: Sequence[Pair]) -> dict[str, Any]:
    """Return AUROC over all pairs and within benchmarks, and recall at a precision, with intervals over samples."""
    leaked = labels_of(pairs)
    names = np.array([pair["benchmark"] for pair in pairs])
    groups = [f"{pair['benchmark']} {pair['group']}" for pair in pairs]
    both = {name for name in names if 0 < leaked[names == name].sum() < (names == name).sum()}
    rows = [np.flatnonzero(names == name) for name in sorted(both)]
    large = [r for r in rows if min(leaked[r].sum(), (~leaked[r]).sum()) >= LEAST_PAIRS]

    def statistics(weights: Float64Array) -> Float64Array:
        return np.array(
            [
                (
                    ordered([np.arange(len(values))], values, leaked, w),
                    ordered(rows, values, leaked, w),
                    np.nanmean([ordered([r], values, leaked, w) for r in large] or [np.nan]),
                    recall(values, leaked, w),
                )
                for w in weights
            ]
        )

    overall, within, mean, share = grouped_bootstrap(statistics, groups, resamples=500, within=(0.0, 1.0))
    return {
        "pairs": len(pairs),
        "leaked": int(leaked.sum()),
        "benchmarks": len(set(names)),
        "with_both": len(both),
        "auroc": with_ends(overall),
        "within": with_ends(within),
        "mean": with_ends(mean),
        f"recall_at_precision_{PRECISION}": with_ends(share),
        "left_out": left_out(values, leaked, names),
    }


def ordered(benchmarks: Sequence[Any], values: Float64Array, leaked: BooleanArray, weights: Float64Array) -> float:
    """Return the share of (leaked, not leaked) pairs of one benchmark that are in the right order; ties count half."""
    right = total = 0.0
    for rows in benchmarks:
        is_leaked, weight = leaked[rows], weights[rows]
        compared = float(weight[is_leaked].sum() * weight[~is_leaked].sum())
        if compared:
            right += compared * auroc(values[rows], is_leaked, weight)
            total += compared
    return right / total if total else float("nan")


def recall(values: Float64Array, leaked: BooleanArray, weights: Float64Array) -> float:
    """Return the largest recall at which the precision is at least `PRECISION`."""
    thresholds, precisions, recalls = curve(values, leaked, weights)
    del thresholds
    reached = recalls[precisions >= PRECISION]
    return float(reached.max()) if len(reached) else 0.0


def curve(
    values: Float64Array, leaked: BooleanArray, weights: Float64Array
) -> tuple[Float64Array, Float64Array, Float64Array]:
    """Return thresholds, descending, with the precision and recall of each."""
    order = np.argsort(-values, kind="stable")
    ends = np.append(np.diff(values[order]) != 0, True)
    positives = np.cumsum(weights[order] * leaked[order])[ends]
    flagged = np.maximum(np.cumsum(weights[order])[ends], 1e-12)
    return values[order][ends], positives / flagged, positives / max(1e-12, float(weights @ leaked))


def left_out(values: Float64Array, leaked: BooleanArray, names: NDArray[np.str_]) -> dict[str, float]:
    """Return precision and recall with the threshold of each family of benchmarks taken from the others."""
    families = np.array([name.split("-")[0] for name in names])
    flags = np.zeros(len(values), np.bool_)
    for family in set(families):
        rest = families != family
        thresholds, precisions, _ = curve(values[rest], leaked[rest], np.ones(rest.sum()))
        reached = thresholds[precisions >= PRECISION]
        flags[~rest] = values[~rest] >= (reached.min() if len(reached) else np.inf)
    return {"precision": float(leaked[flags].mean()), "recall": float(flags[leaked].mean())}


def per_benchmark(values: Float64Array, pairs: Sequence[Pair]) -> dict[str, dict[str, float]]:
    """Return the AUROC of every benchmark with both classes."""
    leaked, names = labels_of(pairs), np.array([pair["benchmark"] for pair in pairs])
    results = {}
    for name in sorted(set(names)):
        rows = names == name
        count = int(leaked[rows].sum())
        if 0 < count < rows.sum():
            value = auroc(values[rows], leaked[rows])
            results[str(name)] = {"leaked": count, "not_leaked": int(rows.sum()) - count, "auroc": value}
    return results


def at_threshold(flags: BooleanArray, pairs: Sequence[Pair]) -> dict[str, dict[str, float]]:
    """Return precision and recall of a decision, over all pairs and over benchmarks with both classes."""
    leaked, names = labels_of(pairs), np.array([pair["benchmark"] for pair in pairs])
    both = np.array([0 < leaked[names == name].sum() < (names == name).sum() for name in names])
    return {
        name: {"precision": float(leaked[flags & rows].mean()), "recall": float(flags[leaked & rows].mean())}
        for name, rows in (("all", np.ones(len(pairs), np.bool_)), ("benchmarks with both classes", both))
    }


def unrelated(pairs: Sequence[Pair], count: int, seed: int) -> dict[str, Any]:
    """Return how often a document that was retrieved for another family of benchmarks counts as holding a text."""
    draw = random.Random(seed)  # noqa: S311  no secret
    flags: list[bool] = []
    groups: list[str] = []
    while len(flags) < count:
        pair, other = draw.choice(pairs), draw.choice(pairs)
        if pair["language"] == other["language"] and family(pair) != family(other):
            flags.append(evidence({**pair, "document": other["document"]}) >= LEAST_EVIDENCE)
            groups.append(f"{pair['benchmark']} {pair['group']}")
    return {"pairs": count, "flagged": with_ends(grouped_share(flags, groups))}


def family(pair: Pair) -> str:
    """Return the first word of the name of a benchmark."""
    return str(pair["benchmark"]).partition("-")[0]


def through_index(pairs: Sequence[Pair], folder: Path) -> dict[str, Any]:
    """Return how often the labelled document is among those that a search in an index of all documents returns."""
    documents = list(dict.fromkeys((pair["document"], LANGUAGES[pair["language"]]) for pair in pairs))
    numbers = {document: at for at, document in enumerate(documents)}
    corpus = folder / "corpus"
    corpus.mkdir()
    for (text, language), at in numbers.items():
        (corpus / f"{at}.{ENDINGS[language]}").write_text(text, "utf-8")
    assay.build_index([corpus], folder / "index", encoder=None, progress=False)
    with assay.open_index(folder / "index") as index:
        paths = [_paths(pair, index) for pair in pairs]
    leaked = labels_of(pairs)
    hits = np.array(
        [
            numbers[pair["document"], LANGUAGES[pair["language"]]] in retrieved
            for pair, retrieved in zip(pairs, paths, strict=True)
        ]
    )
    return {"documents": len(documents), "retrieved": float(hits[leaked].mean())}


def _paths(pair: Pair, index: Searchable) -> set[int]:
    traced = trace(pair["query"], index, language=LANGUAGES[pair["language"]], top=50)
    return {int(Path(origin.path).stem) for origins in traced.origins.values() for origin in origins}


def run(scale: tuple[int, int], seed: int, data: Data) -> Result:
    """Evidence that a document holds a copy of a benchmark's text, against the labels of people (LessLeak-Bench)."""
    every, count = scale
    with gzip.open(data["lessleak"] / "pairs.jsonl.gz", "rt", encoding="utf-8") as lines:
        pairs = [json.loads(line) for line in lines][::every]
    ways: dict[str, Callable[[Pair], float]] = {
        "evidence": evidence,
        "Jaccard of 5-grams": jaccard,
        "Jaccard of 5-grams, code without comments": code_jaccard,
    }
    values = {name: np.array([way(pair) for pair in pairs]) for name, way in ways.items()}
    rows = [{"way": name, **figures(of_way, pairs)} for name, of_way in values.items()]
    rows[0]["per_benchmark"] = per_benchmark(values["evidence"], pairs)
    rows[0]["at_threshold"] = at_threshold(values["evidence"] >= LEAST_EVIDENCE, pairs)
    rows.append({"way": "unrelated", **unrelated(pairs, count, seed)})
    rows.append({"way": "through an index", **through_index(pairs, data[WORK])})
    return Result(rows)


EXPERIMENTS = (
    Experiment(
        name="provenance/content_membership",
        run=run,
        scales={"smoke": (20, 200), "full": (1, 3000)},
        columns=(
            "way",
            "pairs",
            "leaked",
            "auroc",
            "within",
            "mean",
            "recall_at_precision_0.9",
            "flagged",
            "retrieved",
        ),
        needs={"lessleak": "pairs.jsonl.gz of labelled pairs (LessLeak-Bench, arXiv 2502.06215), in a folder"},
        stored="membership/content_membership",
    ),
)
