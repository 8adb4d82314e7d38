"""Cost from 100 to 10,000 samples: about 3 minutes.

    python benchmarks/bench_growth.py [--device cuda]

All one-pass scores of distinct standard-library functions under `builtin:small`, without a cache. Each figure comes
from a fresh process: model loaded, one short run, then the clock and the high-water mark of memory. The exponent is
the slope of log seconds over log samples: 1 is linear. Then, at one size, a first and a second run with the cache.
"""

import json
import math
import random
import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import torch
from measuring import MEBIBYTE, PeakMemory, arguments, fresh, spread, timed, write
from subjects import SMALL, TINY, frequencies_of, library_texts, open_subject, token_counts

from assay.models import CachedScorer, StatisticsCache
from assay.scores import requests
from assay.scoring import plan, score_samples
from assay.types import Sample, TokenScorer

SIZES = (100, 300, 1000, 3000, 10_000)
SMOKE_SIZES = (10, 20)
CACHED = 1000
SMOKE_CACHED = 10
FEW, FEW_ROUNDS = (100, 1000), 3
"""So few samples are measured so often, since one run of them is short."""
SHORTEST, LONGEST = 100, 600
"""Characters of a text: Python's library has twelve thousand functions of a hundred characters and more."""


def cost(count: int, name: str, file: str, device: str, threads: int) -> dict[str, float]:
    """Seconds, MiB and tokens of that many samples; runs in a process of its own."""
    torch.set_num_threads(threads)
    model = open_subject(name, device)
    texts = json.loads(Path(file).read_text("utf-8"))[:count]
    samples = [Sample(str(index), text) for index, text in enumerate(texts)]
    work = plan(requests("one-pass"), {"target": model}, frequencies_of(model, texts))
    score_samples(samples[:8], work)
    with PeakMemory(device) as peak:
        seconds = timed(lambda: score_samples(samples, work), device)
    return {"seconds": seconds, "mebibytes": peak.growth, "tokens": sum(token_counts(model, texts))}


def cached(count: int, name: str, file: str, device: str, threads: int) -> dict[str, float]:
    """Seconds without a cache, of the run that fills one, of the run that reads it, and its size."""
    torch.set_num_threads(threads)
    model = open_subject(name, device)
    texts = json.loads(Path(file).read_text("utf-8"))[:count]
    samples = [Sample(str(index), text) for index, text in enumerate(texts)]
    frequencies = frequencies_of(model, texts)

    def run(scorer: TokenScorer) -> float:
        return timed(
            lambda: score_samples(samples, plan(requests("one-pass"), {"target": scorer}, frequencies)), device
        )

    without = run(model)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "statistics.sqlite"
        with StatisticsCache(path) as cache:
            filling = run(CachedScorer(model, cache))
        with StatisticsCache(path) as cache:
            reading = run(CachedScorer(model, cache))
            size = cache.info().bytes / MEBIBYTE
    return {"samples": count, "without": without, "filling": filling, "reading": reading, "mebibytes_on_disk": size}


def exponent(sizes: Sequence[float], seconds: Sequence[float]) -> float:
    """Slope of the least-squares line through (log size, log seconds)."""
    x, y = [math.log(size) for size in sizes], [math.log(second) for second in seconds]
    middle_x, middle_y = sum(x) / len(x), sum(y) / len(y)
    products = sum((a - middle_x) * (b - middle_y) for a, b in zip(x, y, strict=True))
    return products / sum((a - middle_x) ** 2 for a in x)


def main() -> None:
    """Measure and write."""
    began = time.perf_counter()
    options = arguments(__doc__)
    name, sizes, kept = (TINY, SMOKE_SIZES, SMOKE_CACHED) if options.smoke else (SMALL, SIZES, CACHED)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "texts.json"
        texts = library_texts(max(sizes), shortest=SHORTEST, longest=LONGEST)
        file.write_text(json.dumps(random.Random(0).sample(texts, len(texts))), "utf-8")  # noqa: S311  no secret
        how = (name, str(file), options.device, options.threads)
        found: dict[int, list[dict[str, float]]] = {}
        for count in sizes:
            rounds = options.repeats or (FEW_ROUNDS if FEW[0] <= count <= FEW[1] else 1)
            found[count] = [fresh(cost, count, *how) for _ in range(rounds)]
            print(count, found[count])
        second = fresh(cached, kept, *how)
    medians = [statistics.median(one["seconds"] for one in rounds) for rounds in found.values()]
    result = {
        "model": name,
        "sizes": [
            {
                "samples": count,
                "tokens": rounds[0]["tokens"],
                "seconds": spread([one["seconds"] for one in rounds]),
                "mebibytes": spread([one["mebibytes"] for one in rounds]),
            }
            for count, rounds in found.items()
        ],
        "exponent_by_samples": exponent(sizes, medians),
        "exponent_by_tokens": exponent([rounds[0]["tokens"] for rounds in found.values()], medians),
        "cache": second,
    }
    print(write("growth", options, [result], began))


if __name__ == "__main__":
    main()
