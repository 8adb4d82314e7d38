"""SrDetection with natural names, one name at a time, on real models with known truth; and how natural names are.

Texts of `variants/natural_names`: tasks on which the model was fine-tuned (`control/plant_tasks`), other tasks of the
same benchmark, and functions of packages that are newer than the base model, at most six of a package; of at most 500
characters. Names come from the audited model itself or from a word list, as with `--rename one --names-from self`. The
log-probabilities of each text and of its variants stay in the folder `values`, where `control/named_tasks` reads
them. A variant shares the keys and values of the original up to its first changed token, so that its pass computes the
rest alone.

The scores were chosen on HumanEval; MBPP, with tasks drawn by another seed, was measured after that. `sr_ratio` was
written down here, with its formula, before any of its values on MBPP were computed. It was chosen on 32 planted tasks,
28 other tasks and 28 functions, from ratios that take the mean, the median or the least of the variants, in all or by
name. The decision of `control/named_tasks` was fixed at the same time: conformal p-values against all functions,
Benjamini-Hochberg over all tasks, q <= .05, for every score of its list, with no choice between them on MBPP. For each
score it has the tasks at q <= .05, and the share of these that was not planted. Where there are none, the smallest
q-value stands for them.

`variants/name_sources` has the place of originals among their variants, on reference solutions of HumanEval-X, which
`builtin:control` has not seen. With names as natural as the old ones half of the variants would be at least as easy as
their original, and 1 / (n + 1) of the originals easier than all of them. All names change at once, or one at a time.
"""

import json
import pickle
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations, compress
from operator import attrgetter, itemgetter
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import DynamicCache

import assay
from assay.code import KINDS, WORD_LISTS, Extent, NamePool, NameSource, SampledNames, variants
from assay.evaluation import auroc, benjamini_hochberg, conformal_p_values, grouped_share
from assay.leakage import Naturalness
from assay.models import ModelSettings, TransformersModel, open_local
from assay.scores import requests
from assay.scoring import Deterministic, plan, score_samples
from assay.types import BooleanArray, Float64Array, Sample
from assay_lab.columns import among, at_places, of_length, own_group_column, text_column
from assay_lab.control.plant_tasks import PLANTED as PLANTED_FOLDER
from assay_lab.control.plant_tasks import tasks
from assay_lab.experiments.declaration import Data, Experiment, Result, benchmark_data
from assay_lab.result_rows import column, grouped, where

PER_PACKAGE = 6
"""Functions of a package at most."""
CHARACTERS = 500
"""Of a text at most."""
PLANTED, OTHER, FUNCTION = "planted", "other", "function"
ROWS = 8
"""Variants in one pass."""
SHORTEST = 150
N, OF_A_NAME, LEAST = 10, 3, 4
"""Variants of a text, of one name, and the fewest with which a text counts."""
NATS = 30
"""Nats of `sr_names` that count as one unit of `mid_pit`, the default of `sr_mid_pit`."""

FLOOR = 1e-6
"""Smallest tail mass, as in `mid_pit`."""
LEVEL = 0.05

NAMED = ("mid_pit", "sr_names", "sr_ratio", "sr_mid_pit", "sr_z")
LONGEST = 900
WAYS: tuple[tuple[str, Extent], ...] = (("dictionary", "all"), ("synonyms", "one"), ("self", "one"))


@dataclass(frozen=True, slots=True)
class Case:
    """What is audited: a benchmark, its first tasks alone or all, and the source of names.

    With `before` the model is the one that nothing was planted in.
    """

    benchmark: str
    names: str
    first: int | None = None
    before: bool = False

    @property
    def file(self) -> str:
        """Name of its file of values."""
        return f"{self.benchmark}-{'before' if self.before else self.names}.pkl"


def run(case: Case, seed: int, data: Data) -> Result:
    """SrDetection with natural names, one name at a time, on a real model with known truth."""
    path = data["values"] / case.file
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(pickle.dumps(measured(case, data)))
    return Result(figures(stored(path)))


def run_named(case: Case, seed: int, data: Data) -> Result:
    """Single tasks that a contrast would name on a real model, and how many of them are false."""
    return Result(named(stored(data["values"] / case.file)))


def run_sources(scale: tuple[tuple[str, ...], int], seed: int, data: Data) -> Result:
    """How natural the new names of each source are, in several languages."""
    languages, most = scale
    model = open_local("builtin:control", device="cpu")
    rows: list[dict[str, Any]] = []
    for language in languages:
        every = assay.load("humaneval-x", data=data["humaneval-x"], language=language).samples
        samples = of_length(every, SHORTEST, LONGEST)[:most]
        for names, rename in WAYS:
            rewriter = Deterministic(names=source(names, model), rename=rename)
            work = plan(requests("sr_rank"), {"target": model}, rewriter=rewriter)
            ranks = -score_samples(samples, work).values["sr_rank"]
            result = Naturalness.of(ranks, N, own_group_column(samples))
            rows.append(
                {
                    "model": model.name,
                    "language": language,
                    "names": names,
                    "rename": rename,
                    "texts": result.texts,
                    "easier variants": str(result.easier),
                    "easiest originals": str(result.easiest),
                    "distance": result.distance,
                    "chance": result.chance,
                }
            )
    return Result(rows)


def source(names: str, model: TransformersModel) -> NameSource:
    """Return where new names come from: the model itself, or a word list."""
    return SampledNames(model) if names == "self" else WORD_LISTS[names]


def stored(path: Path) -> list[dict[str, Any]]:
    """Return the measured texts with enough variants."""
    entries = pickle.loads(path.read_bytes())  # noqa: S301  our own file
    return [entry for entry in entries if len(entry["totals"]) >= LEAST]


def measured(case: Case, data: Data) -> list[dict[str, Any]]:
    """Return the log-probabilities of each text and of its variants."""
    chosen = texts(case, data)
    model = open_local(str(data["planted"]), ModelSettings(dtype="bfloat16"))
    samples = list(map(itemgetter(1), chosen))
    pools = source(case.names, model).pools(text_column(samples), language_of(samples[0]), KINDS)
    entries = []
    for (kind, sample), pool in zip(chosen, pools, strict=True):
        names, rewritten = one_name_variants(sample, pool)
        about = {"kind": kind, "id": sample.id, "group": sample.group, "names": names}
        entries.append(about | passes(model, sample.text, rewritten))
    return entries


def texts(case: Case, data: Data) -> list[tuple[str, Sample]]:
    """Return planted tasks, other tasks and functions, short ones that have names to replace."""
    planted = []
    if not case.before:
        planted = json.loads((data["planted"] / "planted.json").read_text("utf-8"))["planted"]
    every = tasks(case.benchmark, data["benchmark"], case.first)
    pairs = [(PLANTED if task.id in planted else OTHER, task) for task in every if usable(task)]
    seen: Counter[str] = Counter()
    for function in unseen(case, data):
        package = function.group or function.id
        if seen[package] < PER_PACKAGE and usable(function):
            seen[package] += 1
            pairs.append((FUNCTION, function))
    return pairs


def usable(sample: Sample) -> bool:
    """Return whether a text is short and has a name that can be replaced."""
    return len(sample.text) <= CHARACTERS and bool(variants(sample.text, 1, language=language_of(sample)).variants)


def language_of(sample: Sample) -> str:
    """Return the language of a text; tasks of HumanEval and MBPP are Python."""
    return sample.language or "python"


def unseen(case: Case, data: Data) -> list[Sample]:
    """Return functions that the model has certainly not seen, in the form of the benchmark; of MBPP as they stand."""
    like = None if case.benchmark == "mbpp" else assay.load(case.benchmark, data=data["benchmark"])
    archives = sorted(among(data["packages"].iterdir(), "suffix", (".whl", ".tgz")))
    built = assay.build_unseen(
        archives, like=like, released="2025-08-01", most=None
    )  # new enough: that is up to the user
    return of_length(built.samples, SHORTEST)


def one_name_variants(sample: Sample, pool: NamePool) -> tuple[list[str], list[str]]:
    """Return at most ten variants that replace one name each, no name more than three times, and those names."""
    names: list[str] = []
    texts: list[str] = []
    for variant in variants(sample.text, N, pool=pool, rename="one", language=language_of(sample)).variants:
        # one name is replaced at a time, so there is exactly one
        (name,) = {**variant.functions, **variant.variables}
        if names.count(name) < OF_A_NAME:
            names.append(name)
            texts.append(variant.text)
    return names, texts


def passes(model: TransformersModel, text: str, rewritten: Sequence[str]) -> dict[str, Any]:
    """Return the log-probabilities of a text, its tail masses, and the total of each variant.

    The first pass keeps keys and values. The passes of the variants start at their first changed token.
    """
    net = model.checkpoint.model
    own, *others = (encoded.ids.tolist() for encoded in model.encoder.encode([text, *rewritten]))
    with torch.inference_mode():
        first = net(input_ids=torch.tensor([own]), use_cache=True)
        every = torch.log_softmax(first.logits[0, :-1].float(), -1)
        targets = torch.tensor(own[1:])[:, None]
        chosen = every.gather(-1, targets)
        probabilities = every.exp()
        # the mid-point: what is less likely, and half of the token itself
        below = (probabilities * (every < chosen)).sum(-1) + probabilities.gather(-1, targets)[:, 0] / 2
        log_probs = chosen[:, 0].numpy().astype(np.float64)
        layers = list(map(attrgetter("keys", "values"), first.past_key_values.layers))
        totals, lengths = np.zeros(len(others)), np.array(list(map(len, others))) - 1
        shared = np.array(list(map(partial(_shared, own), others)))
        # variants that change at like places share a batch, so that little is computed twice
        order = np.argsort(shared, kind="stable")
        for start in range(0, len(order), ROWS):
            batch = order[start : start + ROWS]
            # the last shared token is run again: its logits predict the first changed one
            before = max(0, int(shared[batch].min()) - 1)
            rest = _rest(net, layers, rows=at_places(others, batch), before=before)
            totals[batch] = log_probs[:before].sum() + rest
    return {"log_probs": log_probs, "tail_mass": below.numpy(), "totals": totals, "lengths": lengths}


def _shared(first: Sequence[int], second: Sequence[int]) -> int:
    differing = (i for i, (a, b) in enumerate(zip(first, second, strict=False)) if a != b)
    return next(differing, min(len(first), len(second)))


def _rest(net: Any, layers: Sequence[Any], rows: Sequence[Sequence[int]], before: int) -> Float64Array:  # noqa: ANN401  transformers' models
    """Return the log-likelihood of each row behind the token at `before`, with the keys and values of what precedes."""
    width = max(map(len, rows)) - before
    ids = torch.zeros((len(rows), width), dtype=torch.int64)
    mask = torch.zeros((len(rows), before + width), dtype=torch.int64)
    for line, row in enumerate(rows):
        ids[line, : len(row) - before] = torch.tensor(row[before:])
        mask[line, : len(row)] = 1
    cache = DynamicCache(config=net.config)
    for layer, pair in enumerate(layers):
        cache.update(*(part[:, :, :before].expand(len(rows), -1, -1, -1).contiguous() for part in pair), layer)
    logits = net(input_ids=ids, attention_mask=mask, past_key_values=cache, use_cache=True).logits[:, :-1].float()
    values = logits.gather(-1, ids[:, 1:, None])[..., 0] - logits.logsumexp(-1)
    sums: Float64Array = (values * mask[:, before + 1 :]).sum(-1).numpy().astype(np.float64)
    return sums


def scores(entry: Mapping[str, Any]) -> dict[str, float]:
    """Return the scores of one text, from the log-likelihood ratios (nats) of the text and its variants."""
    own = entry["log_probs"]
    gains = own.sum() - entry["totals"]
    means = own.mean() - entry["totals"] / entry["lengths"]
    # both sums are negative, so the ratio is positive
    ratios = np.log(entry["totals"] / own.sum())
    names = np.array(entry["names"])
    familiar = float(np.log(np.maximum(entry["tail_mass"].astype(np.float64), FLOOR)).mean())

    def mean_of_least(values: Float64Array) -> float:
        """Return the mean over names of the least value of each name's variants."""
        return float(np.mean([values[names == name].min() for name in dict.fromkeys(entry["names"])]))

    by_name, ratio = mean_of_least(gains), mean_of_least(ratios)
    return {
        "mid_pit": familiar,
        "loss": float(own.mean()),
        "sr_names": by_name,
        "sr_ratio": ratio,
        "sr_z": float(means.mean() / means.std(ddof=1)),
        # above 0: the rule of the paper holds
        "least gain": float(means.min()),
        "mean gain": float(gains.mean()),
        "sr_mid_pit": familiar + by_name / NATS,
        "easier variants": float((means < 0).mean()),
    }


def groups_of(entries: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the group of each text; one without is a group of its own."""
    return [entry["group"] or entry["id"] for entry in entries]


def figures(entries: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return one row of figures for each score, and one for the rule of the paper."""
    kinds = np.array(column(entries, "kind"))
    groups = groups_of(entries)
    scored = list(map(scores, entries))
    columns = {name: np.array(column(scored, name)) for name in scored[0]}
    easier, least = columns.pop("easier variants"), columns["least gain"]
    of = {kind: kinds == kind for kind in (PLANTED, OTHER, FUNCTION) if (kinds == kind).any()}

    def share(hits: BooleanArray, kind: str) -> str:
        return str(grouped_share(hits[of[kind]], list(compress(groups, of[kind]))))

    first: dict[str, Any] = {
        "texts": {},
        "groups": {},
        "variants": float(np.mean(list(map(len, column(entries, "totals"))))),
    }
    first |= {"rule of the paper": {}, "easier variants": {}}
    for kind, own in of.items():
        first["texts"][kind] = int(own.sum())
        first["groups"][kind] = len(set(compress(groups, own)))
        first["rule of the paper"][kind] = share(least > 0, kind)
        first["easier variants"][kind] = float(easier[own].mean())
    rows = [first]
    # a model that was not trained on the benchmark: there is nothing to tell apart
    if PLANTED not in of:
        return rows
    for name, values in columns.items():
        row: dict[str, Any] = {"score": name}
        for left, right in combinations(of, 2):
            both = of[left] | of[right]
            row[f"auroc {left}/{right}"] = float(auroc(values[both], of[left][both]))
        p_values = conformal_p_values(values, values[of[FUNCTION]])
        flagged = {kind: share(p_values <= LEVEL, kind) for kind in of if kind != FUNCTION}
        rows.append(row | {"flagged at 5 %": flagged})
    return rows


def named(entries: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return one row for each score."""
    kinds = np.array(column(entries, "kind"))
    is_task = kinds != FUNCTION
    groups = list(compress(groups_of(entries), is_task))
    scored = list(map(scores, entries))
    rows = []
    for score in NAMED:
        values = np.array(column(scored, score))
        p_values = conformal_p_values(values[is_task], values[~is_task])
        q_values = benjamini_hochberg(p_values)
        chosen = q_values <= LEVEL
        of_kind = {kind: int((chosen & (kinds[is_task] == kind)).sum()) for kind in (PLANTED, OTHER)}
        false = kinds[is_task][chosen] == OTHER
        share = grouped_share(false, list(compress(groups, chosen)))
        rows.append(
            {
                "score": score,
                "tasks": {kind: int((kinds == kind).sum()) for kind in (PLANTED, OTHER)},
                "functions": int((~is_task).sum()),
                "packages": len(grouped(where(entries, kind=FUNCTION), "group")),
                "smallest q": float(q_values.min()),
                "named": of_kind,
                "false share": str(share) if chosen.any() else None,
            }
        )
    return rows


NEEDS = {
    "planted": PLANTED_FOLDER,
    "benchmark": "the file of the benchmark",
    "packages": "a folder of packages that are newer than the base model, those of lab/lists/later_packages.txt",
    "values": "a folder for measured values; it is continued",
}
CASES = {
    "humaneval-self": Case("humaneval", "self"),
    "humaneval-before": Case("humaneval", "self", before=True),
    "humaneval-synonyms": Case("humaneval", "synonyms"),
    "mbpp-self": Case("mbpp", "self", first=200),
    "mbpp-synonyms": Case("mbpp", "synonyms", first=200),
    "javascript-synonyms": Case("humaneval-x", "synonyms"),
}
EXPERIMENTS = (
    *(
        Experiment(
            name=f"variants/natural_names-{name}",
            run=run,
            scales={"full": case},
            columns=("texts", "rule of the paper", "score", "auroc planted/other", "flagged at 5 %"),
            needs=NEEDS,
            stored=f"real/natural-names-{name}",
        )
        for name, case in CASES.items()
    ),
    *(
        Experiment(
            name=f"control/named_tasks-{name}",
            run=run_named,
            scales={"full": case},
            columns=("score", "named", "smallest q", "false share"),
            needs={"values": NEEDS["values"] + ", which variants/natural-names has filled"},
            stored=f"real/named-tasks-{name}",
        )
        for name, case in CASES.items()
        if "synonyms" in name
    ),
    Experiment(
        name="variants/name_sources",
        run=run_sources,
        scales={"smoke": (("python",), 4), "full": (("python", "java", "javascript"), 40)},
        needs=benchmark_data("humaneval-x"),
        stored="real/name-sources",
    ),
)
