"""Evidence that a document holds a benchmark's text, against the labels of people (LessLeak-Bench).

The pairs (arXiv 2502.06215) are not shipped: JSON lines with `benchmark`, `query`, `document`, `label` (2 and 3 mean
leaked), `group` and `language`.

No threshold depends on a label. That of each way is the value that `FALSE_ALARMS` of the near misses reach: solutions
of different tasks, each with the most similar one of its language. The form of the evidence was chosen among `FORMS`;
"chosen without" judges each benchmark by the form with the best mean AUROC on the others. "left out" takes the
threshold for precision .9 of each family of benchmarks (the first word of its name) from the labels of the others.

Most pairs that are not leaked come from one benchmark without leaked pairs, so figures over all pairs say little.
"within" compares only pairs of one benchmark: the share of (leaked, not leaked) pairs of one benchmark that are in the
right order. "mean" is the mean AUROC over benchmarks with both classes.
"""

import gzip
import json
import random
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import chain, product, repeat
from operator import contains
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

import assay
from assay.evaluation import Estimate, ShingleIndex, auroc, grouped_bootstrap, grouped_share, shingles
from assay.provenance import Searchable, trace
from assay.types import BooleanArray, Float64Array, Sample
from assay_lab.bugs import CopyEvidence, copy_evidence
from assay_lab.bugs.benchmark_traces import trace_benchmark
from assay_lab.bugs.membership import ENOUGH, LEAST_EVIDENCE
from assay_lab.bugs.wording import passages, same_wording
from assay_lab.columns import attributes
from assay_lab.experiments.declaration import SHARED_DATA, WORK, Data, Experiment, Result
from assay_lab.measuring import with_ends
from assay_lab.result_rows import column

LANGUAGES = {"java": "java", "c": "cpp", "py": "python", "python3": "python"}
LEAKED = 2
PRECISION = 0.9
FALSE_ALARMS = 0.02
ENDINGS = {"java": "java", "cpp": "cpp", "python": "py"}
SAME_TASK = "same task, other code"

Pair = Mapping[str, Any]
Way = Callable[[Pair, CopyEvidence], float]

EVIDENCE, IN_PROPORTION, JACCARD = "evidence", "evidence, short texts in proportion", "Jaccard of 5-grams"
FORMS: Mapping[str, Way] = {
    EVIDENCE: lambda _, found: found.value,
    IN_PROPORTION: lambda _, found: found.value * min(1, found.runs / ENOUGH),
    "similarity": lambda _, found: found.similarity,
    "order": lambda _, found: found.order,
}
BASELINES: Mapping[str, Way] = {
    JACCARD: lambda pair, _: overlap(pair)[0] / max(1, sum(overlap(pair)[1:]) - overlap(pair)[0]),
    "containment of 5-grams": lambda pair, _: overlap(pair)[0] / max(1, overlap(pair)[1]),
    "containment, short texts in proportion": lambda pair, _: (
        overlap(pair)[0] / max(1, overlap(pair)[1]) * min(1, overlap(pair)[0] / ENOUGH)
    ),
}
WAYS = {**FORMS, **BASELINES}
DECISIONS = {**WAYS, EVIDENCE: lambda pair, found: 1.0 if found.same_wording else FORMS[IN_PROPORTION](pair, found)}
"""Values that a threshold applies to."""


def evidence(pair: Pair) -> CopyEvidence:
    """Return the evidence of the product."""
    return copy_evidence(pair["query"], pair["document"], LANGUAGES.get(pair["language"], pair["language"]))


def overlap(pair: Pair) -> tuple[int, int, int]:
    """Return the 5-grams that both texts have, those of the text, and those of the document."""
    cache: dict[str, int] = {}
    own, its = shingles(pair["query"], cache), shingles(pair["document"], cache)
    return len(np.intersect1d(own, its, assume_unique=True)), len(own), len(its)


def near_misses(data: Data, count: int) -> dict[str, list[Pair]]:
    """Return solutions of different tasks that are most alike, by set; tasks of one function name are the same."""
    sets: dict[str, dict[str, str]] = {}
    with gzip.open(data["debugbench"] / "pairs.jsonl.gz", "rt", encoding="utf-8") as lines:
        for row in map(json.loads, lines):
            sets.setdefault(f"leetcode {row['language']}", {})[row["group"]] = row["fixed"]
    for language in ("java", "cpp", "python"):
        own = sets.setdefault(f"humaneval {language}", {})
        for task in assay.load("humaneval-x", data=data["humaneval-x"], language=language).samples:
            own[str(task.id)] = f"{task.metadata['declaration']}{task.metadata['canonical_solution']}"
    of_mbpp = sets.setdefault("mbpp python", {})
    for task in assay.load("mbpp", data=data["mbpp"] / "mbpp.jsonl", part="solution").samples:
        of_mbpp[task.text.partition("def ")[2].partition("(")[0].strip()] = task.text
    return {name: _nearest(list(texts.values()), name.rpartition(" ")[2], count) for name, texts in sets.items()}


def _nearest(texts: Sequence[str], language: str, count: int) -> list[Pair]:
    index, cache = ShingleIndex(texts), dict[str, int]()
    pairs: list[Pair] = []
    for at, text in list(enumerate(texts))[:: max(1, len(texts) // count)][:count]:
        own = shingles(text, cache)
        shared = index.shared(own)
        likeness = shared / np.maximum(1, index.sizes + len(own) - shared)
        # a text is not its own neighbour
        likeness[at] = -1
        pairs.append({"query": text, "document": texts[int(likeness.argmax())], "language": language})
    return pairs


def labels_of(pairs: Sequence[Pair]) -> BooleanArray:
    """Return which pairs people judged to be leaked."""
    return np.array(list(map(int, column(pairs, "label")))) >= LEAKED


def names_of(pairs: Sequence[Pair]) -> NDArray[np.str_]:
    """Return the benchmark of each pair."""
    return np.array(column(pairs, "benchmark"))


def with_both_classes(pairs: Sequence[Pair]) -> list[str]:
    """Return the benchmarks that have leaked pairs and others."""
    leaked, names = labels_of(pairs), names_of(pairs)
    return [str(name) for name in sorted(set(names)) if 0 < leaked[names == name].sum() < (names == name).sum()]


def estimates(
    statistic: Callable[[Float64Array], ArrayLike], pairs: Sequence[Pair], low: float = 0.0
) -> list[Estimate]:
    """Return values of a function of weights of the pairs, with intervals over the samples of the benchmarks."""
    groups = list(map(group_of, pairs))

    def of_each(weights: Float64Array) -> Float64Array:
        return np.array(list(map(statistic, weights)))

    return list(grouped_bootstrap(of_each, groups, resamples=500, within=(low, 1.0)))


def group_of(pair: Pair) -> str:
    """Return the sample of a benchmark that a pair is about."""
    return f"{pair['benchmark']} {pair['group']}"


def order_within(values: Float64Array, pairs: Sequence[Pair], weights: Float64Array) -> tuple[float, float]:
    """Return the share of (leaked, not leaked) pairs of one benchmark in the right order, and the mean AUROC.

    Both are NaN for a resample in which no benchmark has both classes.
    """
    leaked, names = labels_of(pairs), names_of(pairs)
    compared, areas = [], []
    for name in with_both_classes(pairs):
        rows = names == name
        is_leaked, weight = leaked[rows], weights[rows]
        if number := float(weight[is_leaked].sum() * weight[~is_leaked].sum()):
            # a benchmark counts by its pairs of a leaked and an unleaked text
            compared.append(number)
            areas.append(auroc(values[rows], is_leaked, weight))
    if not areas:
        return np.nan, np.nan
    return float(np.average(areas, weights=compared)), float(np.mean(areas))


def precision_and_recall(flags: BooleanArray, leaked: BooleanArray, weights: Float64Array) -> tuple[float, float]:
    """Return precision and recall of a decision; NaN where nothing is flagged."""
    right = float(weights @ (flags & leaked))
    return right / (float(weights @ flags) or np.nan), right / (float(weights @ leaked) or np.nan)


def figures(
    values: Float64Array, pairs: Sequence[Pair], *, jaccard: Float64Array, decided: Float64Array, threshold: float
) -> dict[str, Any]:
    """Return the order within benchmarks, also beyond Jaccard's, and the quality of a decision."""
    leaked, ones = labels_of(pairs), np.ones(len(pairs))
    within, mean = estimates(lambda weights: order_within(values, pairs, weights), pairs)
    beyond = estimates(
        lambda weights: np.subtract(order_within(values, pairs, weights), order_within(jaccard, pairs, weights)),
        pairs,
        -1.0,
    )
    flags = decided >= threshold
    precision, share = estimates(lambda weights: precision_and_recall(flags, leaked, weights), pairs)
    return {
        "threshold": threshold,
        "auroc": float(auroc(values, leaked, ones)),
        "within": with_ends(within),
        "mean": with_ends(mean),
        "within_beyond_jaccard": with_ends(beyond[0]),
        "mean_beyond_jaccard": with_ends(beyond[1]),
        "precision": with_ends(precision),
        "recall": with_ends(share),
        "left_out": left_out(decided, leaked, names_of(pairs)),
        "per_benchmark": per_benchmark(values, flags, pairs),
    }


def left_out(values: Float64Array, leaked: BooleanArray, names: NDArray[np.str_]) -> dict[str, float]:
    """Return precision and recall with the threshold of each family of benchmarks taken from the others."""
    families = np.strings.partition(names, "-")[0]
    flags = np.zeros(len(values), np.bool_)
    for family_name in set(families):
        rest = families != family_name
        order = np.argsort(-values[rest], kind="stable")
        ranked, right = values[rest][order], np.cumsum(leaked[rest][order])
        # a threshold lies where the value changes: equal values are flagged together
        ends = np.append(np.diff(ranked) != 0, True)
        reached = ranked[ends & (right / np.arange(1, len(right) + 1) >= PRECISION)]
        # where no threshold is precise enough nothing is flagged
        flags[~rest] = values[~rest] >= (reached.min() if len(reached) else np.inf)
    precision, share = precision_and_recall(flags, leaked, np.ones(len(flags)))
    return {"precision": precision, "recall": share}


def per_benchmark(values: Float64Array, flags: BooleanArray, pairs: Sequence[Pair]) -> dict[str, dict[str, float]]:
    """Return pairs, flagged pairs and the AUROC of every benchmark."""
    leaked, names = labels_of(pairs), names_of(pairs)
    results: dict[str, dict[str, float]] = {}
    for name in sorted(set(names)):
        rows = names == name
        results[str(name)] = {
            "leaked": int(leaked[rows].sum()),
            "leaked_flagged": int((flags & leaked)[rows].sum()),
            "others": int((~leaked)[rows].sum()),
            "others_flagged": int((flags & ~leaked)[rows].sum()),
        }
        if 0 < leaked[rows].sum() < rows.sum():
            results[str(name)]["auroc"] = float(auroc(values[rows], leaked[rows]))
    return results


def chosen_without(values: Mapping[str, Float64Array], pairs: Sequence[Pair]) -> dict[str, Any]:
    """Return the mean AUROC where each benchmark is judged by the form that is best on the others."""
    leaked, names, both = labels_of(pairs), names_of(pairs), with_both_classes(pairs)
    areas = np.zeros((len(FORMS), len(both)))
    for (row, form), (at, name) in product(enumerate(FORMS), enumerate(both)):
        areas[row, at] = auroc(values[form][names == name], leaked[names == name])
    # a benchmark has no say in the form that judges it
    best = [int(np.delete(areas, at, axis=1).mean(axis=1).argmax()) for at in range(len(both))]
    mean = float(areas[best, range(len(both))].mean())
    return {"mean": mean, "forms": dict(zip(both, map(list(FORMS).__getitem__, best), strict=True))}


def same_task(pairs: Sequence[Pair], found: Sequence[CopyEvidence]) -> dict[str, Any]:
    """Return how many of the documents that repeat a task with other code were judged to be leaked."""
    leaked, code = labels_of(pairs), FORMS[IN_PROPORTION]
    repeats = np.array(attributes(found, "same_wording"))
    flags = repeats & (_values(code, pairs, found) < LEAST_EVIDENCE)
    precision, share = estimates(lambda weights: precision_and_recall(flags, leaked, weights), pairs)
    return {
        "flagged": int(flags.sum()),
        "benchmarks": sorted(set(names_of(pairs)[flags].tolist())),
        "precision": with_ends(precision),
        "recall": with_ends(share),
    }


def same_words(data: Data) -> dict[str, Any]:
    """Return the share of tasks whose words another task of the benchmark repeats."""
    shares = {}
    for name in ("bigcodebench", "humaneval-x", "mbpp"):
        language = "python" if name == "humaneval-x" else None
        place = data[name] / "mbpp.jsonl" if name == "mbpp" else data[name]
        samples = assay.load(name, data=place, part="prompt", language=language).samples
        tasks = {each.group or each.id: passages(each.text) for each in samples}
        flags = []
        for task, own in tasks.items():
            others = (passage for other, passage in tasks.items() if other != task)
            flags.append(any(map(partial(same_wording, own), others)))
        shares[name] = {"tasks": len(flags), "repeated": float(np.mean(flags))}
    return shares


def unrelated(pairs: Sequence[Pair], count: int, seed: int) -> dict[str, Any]:
    """Return how often a document that was retrieved for another family of benchmarks counts as holding a text."""
    draw = random.Random(seed)  # noqa: S311  no secret
    flags: list[bool] = []
    groups: list[str] = []
    while len(flags) < count:
        pair, other = draw.choice(pairs), draw.choice(pairs)
        if pair["language"] == other["language"] and family(pair) != family(other):
            flags.append(evidence({**pair, "document": other["document"]}).is_copy)
            groups.append(group_of(pair))
    return {"pairs": count, "flagged": with_ends(grouped_share(flags, groups))}


def family(pair: Pair) -> str:
    """Return the first word of the name of a benchmark."""
    return str(pair["benchmark"]).partition("-")[0]


def through_index(pairs: Sequence[Pair], folder: Path) -> dict[str, Any]:
    """Return what searches in an index of all documents find: the labelled document, and the kinds of a trace."""
    numbers: dict[tuple[str, str], int] = {}
    corpus = folder / "corpus"
    corpus.mkdir()
    of_pair = []
    for pair in pairs:
        text, language = pair["document"], LANGUAGES[pair["language"]]
        of_pair.append(numbers.setdefault((text, language), len(numbers)))
        (corpus / f"{of_pair[-1]}.{ENDINGS[language]}").write_text(text, "utf-8")
    assay.build_index([corpus], folder / "index", encoder=None, progress=False)
    with assay.open_index(folder / "index") as index:
        paths = list(map(_paths, pairs, repeat(index)))
        # a text of several pairs is traced once
        texts = dict.fromkeys((pair["query"], LANGUAGES[pair["language"]]) for pair in pairs)
        samples = [Sample(str(at), text, language) for at, (text, language) in enumerate(texts)]
        traced = trace_benchmark(samples, index, benchmark="LessLeak").samples
    leaked = labels_of(pairs)
    hits = np.array(list(map(contains, paths, of_pair)))
    labels = dict(zip(zip(column(pairs, "query"), of_pair, strict=True), leaked.tolist(), strict=True))
    kinds: dict[str, Counter[str]] = {}
    for sample, each in zip(samples, traced, strict=True):
        if each.origins and each.kind != "absent":
            label = labels.get((sample.text, int(Path(each.origins[0].path).stem)))
            counts = kinds.setdefault(each.kind, Counter(traced=0, labelled=0, leaked=0))
            counts.update(traced=1, labelled=label is not None, leaked=bool(label))
    return {"documents": len(numbers), "retrieved": float(hits[leaked].mean()), "kinds": kinds}


def _paths(pair: Pair, index: Searchable) -> set[int]:
    traced = trace(pair["query"], index, language=LANGUAGES[pair["language"]], top=50)
    return {int(Path(origin.path).stem) for origin in chain.from_iterable(traced.origins.values())}


def run(scale: tuple[int, int, int], seed: int, data: Data) -> Result:
    """Evidence that a document holds a benchmark's text, against the labels of people (LessLeak-Bench)."""
    every, count, near = scale
    with gzip.open(data["lessleak"] / "pairs.jsonl.gz", "rt", encoding="utf-8") as lines:
        pairs = list(map(json.loads, lines))[::every]
    found = list(map(evidence, pairs))
    values = {name: _values(way, pairs, found) for name, way in WAYS.items()}
    misses = near_misses(data, near)
    of_misses = {name: list(map(evidence, missed)) for name, missed in misses.items()}
    rows: list[dict[str, Any]] = []
    for name, decision in DECISIONS.items():
        missed = {kind: _values(decision, each, of_misses[kind]) for kind, each in misses.items()}
        threshold = LEAST_EVIDENCE if name == EVIDENCE else _highest(missed.values())
        decided = _values(decision, pairs, found)
        quality = figures(values[name], pairs, jaccard=values[JACCARD], decided=decided, threshold=threshold)
        alarms, left_out_alarms = {}, {}
        for kind, own in missed.items():
            without = _highest(other for other in missed.values() if other is not own)
            alarms[kind], left_out_alarms[kind] = float((own >= threshold).mean()), float((own >= without).mean())
        row = {"way": name, "pairs": len(pairs), **quality}
        rows.append(row | {"near_misses": alarms, "near_misses_left_out": left_out_alarms})
    rows[0]["chosen_without"] = chosen_without(values, pairs)
    rows.append({"way": SAME_TASK, **same_task(pairs, found), "other_tasks": same_words(data)})
    rows.append({"way": "unrelated", **unrelated(pairs, count, seed)})
    rows.append({"way": "through an index", **through_index(pairs, data[WORK])})
    return Result(rows)


def _values(way: Way, pairs: Sequence[Pair], found: Sequence[CopyEvidence]) -> Float64Array:
    return np.array(list(map(way, pairs, found)), np.float64)


def _highest(missed: Iterable[Float64Array]) -> float:
    """Return the value that `FALSE_ALARMS` of the near misses reach."""
    return float(np.quantile(np.concatenate(list(missed)), 1 - FALSE_ALARMS))


EXPERIMENTS = (
    Experiment(
        name="provenance/content_membership",
        run=run,
        scales={"smoke": (20, 200, 10), "full": (1, 3000, 150)},
        columns=("way", "auroc", "within", "mean", "mean_beyond_jaccard", "threshold", "precision", "recall"),
        needs={
            "lessleak": "pairs.jsonl.gz of labelled pairs (LessLeak-Bench, arXiv 2502.06215), in a folder",
            "debugbench": "pairs.jsonl.gz with fixed code, group (task) and language (DebugBench), in a folder",
            "bigcodebench": SHARED_DATA["bigcodebench"],
            "humaneval-x": SHARED_DATA["humaneval-x"],
            "mbpp": SHARED_DATA["mbpp"],
        },
        stored="membership/content_membership",
    ),
)
