"""SrDetection against the forward passes that it cannot do without: about 4 minutes.

    python benchmarks/bench_srdetection.py [--device cuda] [--small]

- `floor`: the model's own bare forward passes over every text and its ten variants, batched as in `bench_one_pass.py`,
  everything prepared before the clock starts: n + 1 passes.
- `srdetection`: assay from the texts to `sr_gray` and `sr_z`: making and verifying the variants, tokenising, batching,
  the passes, statistics and scores.
- `variants`: the making and verifying of the variants alone.

On a CPU seconds are processor time: what else the machine does counts for nobody.
"""

import argparse
import json
import time
from collections.abc import Callable, Sequence
from itertools import islice

import torch
from bench_one_pass import batches
from measuring import arguments, interleaved, ratios, spread, write
from subjects import LARGE, SMALL, TINY, library_texts, open_subject, token_counts

from assay.code import variants
from assay.models.transformers_backend import TransformersModel
from assay.scores import requests
from assay.scoring import plan, score_samples
from assay.types import Sample

N = 10
TEXTS = {LARGE: 6, SMALL: 15, TINY: 4}
ROUNDS = {LARGE: 5, SMALL: 25, TINY: 2}
"""Many short rounds where the ratio is near one: the median of few long ones says more of the machine."""


def ways(model: TransformersModel, texts: Sequence[str]) -> dict[str, Callable[[], object]]:
    """What is compared."""
    samples = [Sample(str(index), text, "python") for index, text in enumerate(texts)]
    rewritten = [one.text for text in texts for one in variants(text, N).variants]
    prepared = batches(model, [*texts, *rewritten])
    run = model.checkpoint.model

    def floor() -> None:
        with torch.inference_mode():
            for ids, mask in prepared:
                run(input_ids=ids, attention_mask=mask, use_cache=False)

    def srdetection() -> None:
        score_samples(samples, plan(requests("sr_gray,sr_z"), {"target": model}))

    def rewriting() -> None:
        for text in texts:
            variants(text, N)

    return {"floor": floor, "srdetection": srdetection, "variants": rewriting}


def whole_functions(count: int) -> list[str]:
    """Functions of the standard library with ten variants: whole ones, since a cut text cannot be rewritten."""
    texts = (text for text in library_texts(20 * count, longest=100_000) if len(text) <= 1500)
    return list(islice((text for text in texts if len(variants(text, N).variants) == N), count))


def measured(name: str, device: str, repeats: int) -> dict[str, object]:
    """One model."""
    model = open_subject(name, device)
    texts = whole_functions(TEXTS[name])
    clock = time.process_time if device == "cpu" else time.perf_counter
    seconds = interleaved(ways(model, texts), repeats, device, clock)
    return {
        "model": name,
        "vocabulary": model.vocabulary_size,
        "texts": len(texts),
        "tokens": sum(token_counts(model, texts)),
        "variants": N,
        "seconds": {way: spread(found) for way, found in seconds.items()},
        "ratio_to_floor": {way: ratios(seconds[way], seconds["floor"]) for way in ("srdetection", "variants")},
    }


def further(parser: argparse.ArgumentParser) -> None:
    """The option of this script alone."""
    parser.add_argument("--small", action="store_true", help=f"measure {SMALL} alone and keep the other's figures")


def main() -> None:
    """Measure and write."""
    began = time.perf_counter()
    options = arguments(__doc__, further)
    names = [TINY] if options.smoke else [SMALL] if options.small else [LARGE, SMALL]
    results = [measured(name, options.device, options.repeats or ROUNDS[name]) for name in names]
    if options.small:
        kept = json.loads((options.out / "srdetection.json").read_text("utf-8"))["results"]
        results = [*(one for one in kept if one["model"] not in names), *results]
    for result in results:
        print(result["model"], result["ratio_to_floor"])
    print(write("srdetection", options, results, began))


if __name__ == "__main__":
    main()
