"""SrDetection against the forward passes that it cannot do without.

Variants change all names (names of the dictionary), or one name each (synonyms).

- `floor`: the model's own bare forward passes over every text and its ten variants, batched as in
  `assay lab run performance/one_pass`,
  everything prepared before the clock starts: n + 1 passes.
- `single`: the same passes one text at a time, without padding.
- `srdetection`: assay from the texts to the scores: making and verifying the variants, tokenising, batching, passes,
  statistics and scores.
- `variants`: the making and verifying of the variants alone.

The ratio is to the faster of both bare ways. `before_change` is the share of the variants' tokens that stand before
their first changed token: so much of the passes could be spared at most, with keys and values of the original.

Seconds are processor time: what else the machine does counts for nobody.
"""

import time
from collections.abc import Callable, Sequence
from itertools import chain, islice, product, starmap
from operator import attrgetter
from typing import Any

import numpy as np
import torch

from assay.code import WORD_LISTS, Extent, variants
from assay.models import TransformersModel
from assay.scores import requests
from assay.scoring import Deterministic, plan, score_samples
from assay_lab.columns import attributes
from assay_lab.experiments.declaration import Data, Experiment, Result
from assay_lab.measuring import interleaved, ratios_to, spreads
from assay_lab.performance.one_pass import batches, one_by_one
from assay_lab.performance.subjects import LARGE, SMALL, TINY, library_texts, open_subject, samples_of, token_counts

N = 10
TEXTS = {LARGE: 6, SMALL: 8, TINY: 4}
ROUNDS = {LARGE: 5, SMALL: 7, TINY: 2}
"""More and shorter rounds where the ratio is near one: the median of few long ones says more of the machine."""
NAMES: dict[Extent, str] = {"all": "dictionary", "one": "synonyms"}
SCORES: dict[Extent, str] = {"all": "sr_gray,sr_z", "one": "sr_names,sr_mid_pit"}


def ways(model: TransformersModel, texts: Sequence[str], rename: Extent) -> dict[str, Callable[[], object]]:
    """Return what is compared."""
    samples = samples_of(texts, "python")
    prepared = batches(model, [*texts, *rewritings(texts, rename)])
    alone = one_by_one(prepared)
    run = model.checkpoint.model

    def floor() -> None:
        with torch.inference_mode():
            for ids, mask in prepared:
                run(input_ids=ids, attention_mask=mask, use_cache=False)

    def single() -> None:
        with torch.inference_mode():
            for ids in alone:
                run(input_ids=ids, use_cache=False)

    def srdetection() -> None:
        score_samples(samples, plan(requests(SCORES[rename]), {"target": model}, rewriter=rewriter(rename)))

    def rewriting() -> None:
        rewritings(texts, rename)

    return {"floor": floor, "single": single, "srdetection": srdetection, "variants": rewriting}


def rewriter(rename: Extent) -> Deterministic:
    """Return the engine that makes variants."""
    return Deterministic(names=WORD_LISTS[NAMES[rename]], rename=rename)


def rewritings(texts: Sequence[str], rename: Extent) -> list[str]:
    """Return ten variants of each text."""
    samples = samples_of(texts, "python")
    return list(chain.from_iterable(attributes(rewriter(rename)(samples, N), "texts")))


def whole_functions(count: int, rename: Extent = "all") -> list[str]:
    """Functions of the standard library with ten variants: whole ones, since a cut text cannot be rewritten."""
    texts = (text for text in library_texts(20 * count, longest=100_000) if len(text) <= 1500)
    pool = WORD_LISTS[NAMES[rename]].pools([""], "python", ())[0]
    whole = (text for text in texts if len(variants(text, N, pool=pool, rename=rename).variants) == N)
    return list(islice(whole, count))


def before_change(model: TransformersModel, texts: Sequence[str], rename: Extent) -> float:
    """Return the share of the tokens of all variants that stand before the first token that differs."""
    shared = total = 0
    for text in texts:
        own, *others = map(attrgetter("ids"), model.encoder.encode([text, *rewritings([text], rename)]))
        for ids in others:
            length = min(len(own), len(ids))
            differing = np.flatnonzero(own[:length] != ids[:length])
            # keys and values of the original serve a variant up to its first other token
            shared += int(differing[0]) if len(differing) else length
            total += len(ids)
    return shared / total


def measured(name: str, rename: Extent) -> dict[str, Any]:
    """Measure one model and kind of variants."""
    model = open_subject(name)
    texts = whole_functions(TEXTS[name], rename)
    repeats = ROUNDS[name]
    seconds = interleaved(ways(model, texts, rename), repeats, time.process_time)
    fastest = min(("floor", "single"), key=lambda way: sorted(seconds[way])[repeats // 2])
    return {
        "model": name,
        "vocabulary": model.vocabulary_size,
        "texts": len(texts),
        "tokens": sum(token_counts(model, texts)),
        "variants": N,
        "rename": rename,
        "before_change": before_change(model, texts, rename),
        "seconds": spreads(seconds),
        "fastest": fastest,
        "ratio_to_floor": ratios_to(fastest, seconds, "srdetection", "variants"),
    }


def run(scale: tuple[str, ...], seed: int, data: Data) -> Result:
    """SrDetection against the forward passes that it cannot do without."""
    kinds: tuple[Extent, ...] = ("all", "one")
    return Result(list(starmap(measured, product(scale, kinds))))


EXPERIMENTS = (
    Experiment(
        name="performance/srdetection",
        run=run,
        scales={"smoke": (TINY,), "full": (LARGE, SMALL)},
        columns=("model", "rename", "texts", ("seconds", "srdetection"), ("ratio_to_floor", "srdetection")),
    ),
)
