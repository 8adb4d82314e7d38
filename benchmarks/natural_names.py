"""SrDetection with natural names, one name at a time, on a real model with known truth.

    python benchmarks/plant_tasks.py …
    pip download --no-deps --only-binary=:all: -d later PACKAGE…   # first released after the base model
    python benchmarks/natural_names.py --archives later --values values --model planted/humaneval \
        --truth planted/humaneval --benchmark humaneval=HumanEval.jsonl.gz [--shard 0/3]
    python benchmarks/natural_names.py … --figures humaneval-self
    python benchmarks/plant_tasks.py --model builtin:control --rate 1e-3 --benchmark humaneval-x=humaneval-x/js …
    python benchmarks/natural_names.py …   # npm archives; `builtin:control` was trained on none of them

Texts: tasks on which the model was fine-tuned, other tasks of the same benchmark, and functions of packages that are
newer than the base model, at most six of a package; of at most 500 characters, or as many as --characters says. The
packages are `real_model.LATER` and `MORE_PACKAGES`. Names come from the audited model itself or from a word list, as
with `--rename one --names-from self`. The log-probabilities of each text and of its variants go to files in --values, a
shard of the texts at a time; --figures reads them. A variant shares the keys and values of the original up to its first
changed token, so that its pass computes the rest alone.

The scores were chosen on HumanEval; MBPP, with tasks drawn by another seed, was measured after that. `sr_ratio` was
written down here, with its formula, before any of its values on MBPP were computed. It was chosen on 32 planted tasks,
28 other tasks and 28 functions, from ratios that take the mean, the median or the least of the variants, in all or by
name. The decision of `named_tasks.py` was fixed at the same time: conformal p-values against all functions,
Benjamini-Hochberg over all tasks, q <= .05, for every score of its list, with no choice between them on MBPP.
"""

import argparse
import json
import pickle
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from measuring import RESULTS, arguments, write
from plant_tasks import tasks
from transformers import DynamicCache

import assay
from assay.code import KINDS, WORD_LISTS, NamePool, NameSource, SampledNames, variants
from assay.evaluation import auroc, conformal_p_values, grouped_share
from assay.models import ModelSettings, TransformersModel, open_local
from assay.types import Float64Array, Sample

MORE_PACKAGES = (
    "achkit==0.2.0", "acgt==0.1.0", "adinkra-math==0.2.0", "bioseqkits==0.1.0", "boatrace-lzh==0.1.0",
    "bsl-lang==0.2.0", "cannabismath==0.1.2", "eda-netlist-parser==0.1.2", "polysearch-engine==0.1.2",
    "qriskit==0.2.0", "stemtoolkit==0.1.1", "tcalcpyt==0.1.0", "url-guard==0.1.1",
)  # fmt: skip
"""Packages that are newer than the base model, beside those of `real_model.py`."""
PER_PACKAGE = 6
"""Functions of a package at most."""
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


def main() -> None:
    """Measure a shard, or compute the figures of what was measured."""
    began = time.perf_counter()
    options = arguments(__doc__, further)
    if options.figures:
        options.out = RESULTS / "real"
        write(f"natural-names-{options.figures}", options, figures(options.values), began)
        return
    chosen = [pair for i, pair in enumerate(texts(options)) if i % options.shard[1] == options.shard[0]]
    model = open_local(options.model, ModelSettings(dtype="bfloat16"))
    samples = [sample for _, sample in chosen]
    source: NameSource = SampledNames(model) if options.names == "self" else WORD_LISTS[options.names]
    pools = source.pools([sample.text for sample in samples], language_of(samples[0]), KINDS)
    measured = []
    for (kind, sample), pool in zip(chosen, pools, strict=True):
        names, rewritten = one_name_variants(sample, pool)
        about = {"kind": kind, "id": sample.id, "group": sample.group, "names": names}
        measured.append(about | passes(model, sample.text, rewritten))
    options.values.mkdir(parents=True, exist_ok=True)
    (options.values / f"{options.shard[0]}.pkl").write_bytes(pickle.dumps(measured))


def further(parser: argparse.ArgumentParser) -> None:
    """Add the options of this script."""
    parser.add_argument("--model", help="audited model")
    parser.add_argument("--truth", type=Path, help="folder that plant_tasks.py wrote")
    parser.add_argument("--benchmark", help="NAME=PATH")
    parser.add_argument("--first", type=int, help="as for plant_tasks.py")
    parser.add_argument("--archives", type=Path, help="folder of packages with the unseen functions")
    parser.add_argument("--values", type=Path, required=True, help="folder of the measured values")
    parser.add_argument("--characters", type=int, default=500, help="characters of a text at most")
    parser.add_argument("--names", choices=["self", *WORD_LISTS], default="self", help="source of new names")
    parser.add_argument("--shard", type=fraction, default=(0, 1), help="I/K: every K-th text from the I-th on")
    parser.add_argument("--figures", metavar="NAME", help="compute the figures, for results/real/natural-names-NAME")


def fraction(text: str) -> tuple[int, int]:
    """Read I/K."""
    index, _, count = text.partition("/")
    return int(index), int(count)


def texts(options: argparse.Namespace) -> list[tuple[str, Sample]]:
    """Return planted tasks, other tasks and functions, short ones that have names to replace."""
    name, _, path = options.benchmark.partition("=")
    planted = json.loads((options.truth / "planted.json").read_text("utf-8"))["planted"]
    pairs = [(PLANTED if task.id in planted else OTHER, task) for task in tasks(name, path, options.first)]
    pairs = [pair for pair in pairs if usable(pair[1], options.characters)]
    seen: Counter[str] = Counter()
    for function in unseen(options):
        package = function.group or function.id
        if seen[package] < PER_PACKAGE and usable(function, options.characters):
            seen[package] += 1
            pairs.append((FUNCTION, function))
    return pairs


def usable(sample: Sample, characters: int) -> bool:
    """Return whether a text is short and has a name that can be replaced."""
    return len(sample.text) <= characters and bool(variants(sample.text, 1, language=language_of(sample)).variants)


def language_of(sample: Sample) -> str:
    """Return the language of a text; tasks of HumanEval and MBPP are Python."""
    return sample.language or "python"


def unseen(options: argparse.Namespace) -> list[Sample]:
    """Return functions that the model has certainly not seen, in the form of the benchmark; of MBPP as they stand."""
    name, _, path = options.benchmark.partition("=")
    like = None if name == "mbpp" else assay.load(name, data=Path(path))
    archives = sorted(path for path in options.archives.iterdir() if path.suffix in (".whl", ".tgz"))
    built = assay.build_unseen(
        archives, like=like, released="2025-08-01"
    )  # that they are new enough is up to the caller
    return [sample for sample in built.samples if len(sample.text) >= SHORTEST]


def one_name_variants(sample: Sample, pool: NamePool) -> tuple[list[str], list[str]]:
    """Return at most ten variants that replace one name each, no name more than three times, and those names."""
    names: list[str] = []
    texts: list[str] = []
    for variant in variants(sample.text, N, pool=pool, rename="one", language=language_of(sample)).variants:
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
    own, *others = ([*map(int, encoded.ids)] for encoded in model.encoder.encode([text, *rewritten]))
    with torch.inference_mode():
        first = net(input_ids=torch.tensor([own]), use_cache=True)
        every = torch.log_softmax(first.logits[0, :-1].float(), -1)
        targets = torch.tensor(own[1:])[:, None]
        chosen = every.gather(-1, targets)
        probabilities = every.exp()
        below = (probabilities * (every < chosen)).sum(-1) + probabilities.gather(-1, targets)[:, 0] / 2
        log_probs = chosen[:, 0].numpy().astype(np.float64)
        layers = [(layer.keys, layer.values) for layer in first.past_key_values.layers]
        totals, lengths = np.zeros(len(others)), np.array([len(ids) - 1 for ids in others])
        order = sorted(range(len(others)), key=lambda i: _shared(own, others[i]))
        for start in range(0, len(order), ROWS):
            batch = order[start : start + ROWS]
            before = max(0, min(_shared(own, others[i]) for i in batch) - 1)
            rest = _rest(net, layers, [others[i] for i in batch], before)
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
    ratios = np.log(entry["totals"] / own.sum())
    names = np.array(entry["names"])
    familiar = float(np.log(np.maximum(entry["tail_mass"].astype(np.float64), FLOOR)).mean())
    by_name, ratio = (
        float(np.mean([values[names == name].min() for name in dict.fromkeys(entry["names"])]))
        for values in (gains, ratios)
    )
    return {
        "mid_pit": familiar,
        "loss": float(own.mean()),
        "sr_names": by_name,
        "sr_ratio": ratio,
        "sr_z": float(means.mean() / means.std(ddof=1)),
        "least gain": float(means.min()),  # above 0: the rule of the paper holds
        "mean gain": float(gains.mean()),
        "sr_mid_pit": familiar + by_name / NATS,
        "easier variants": float((means < 0).mean()),
    }


def figures(values: Path) -> list[dict[str, Any]]:
    """Return one row of figures for each score, and one for the rule of the paper."""
    entries = [entry for path in sorted(values.glob("*.pkl")) for entry in pickle.loads(path.read_bytes())]  # noqa: S301  our own files
    entries = [entry for entry in entries if len(entry["totals"]) >= LEAST]
    kinds = np.array([entry["kind"] for entry in entries])
    groups = [entry["group"] or entry["id"] for entry in entries]
    columns = {name: np.array([scores(entry)[name] for entry in entries]) for name in scores(entries[0])}
    easier, least = columns.pop("easier variants"), columns["least gain"]
    of = {kind: kinds == kind for kind in (PLANTED, OTHER, FUNCTION) if (kinds == kind).any()}

    def share(hits: Any, kind: str) -> str:  # noqa: ANN401  booleans of the texts of a kind
        return str(grouped_share(hits, [group for group, own in zip(groups, of[kind], strict=True) if own]))

    rows: list[dict[str, Any]] = [
        {
            "texts": {kind: int(own.sum()) for kind, own in of.items()},
            "groups": {kind: len({g for g, o in zip(groups, own, strict=True) if o}) for kind, own in of.items()},
            "variants": float(np.mean([len(entry["totals"]) for entry in entries])),
            "rule of the paper": {kind: share(least[own] > 0, kind) for kind, own in of.items()},
            "easier variants": {kind: float(easier[own].mean()) for kind, own in of.items()},
        }
    ]
    if PLANTED not in of:  # a model that was not trained on the benchmark: there is nothing to tell apart
        return rows
    for name, column in columns.items():
        p_values = conformal_p_values(column, column[of[FUNCTION]])
        pairs = {
            f"auroc {first}/{second}": float(auroc(column[of[first] | of[second]], of[first][of[first] | of[second]]))
            for first, second in ((PLANTED, OTHER), (PLANTED, FUNCTION), (OTHER, FUNCTION))
            if first in of and second in of
        }
        flagged = {kind: share(p_values[own] <= LEVEL, kind) for kind, own in of.items() if kind != FUNCTION}
        rows.append({"score": name, **pairs, "flagged at 5 %": flagged})
    return rows


if __name__ == "__main__":
    main()
