"""Cost from 100 to 10,000 samples.

All one-pass scores of distinct standard-library functions under `builtin:small`, without a cache. Each figure comes
from a fresh process: model loaded, one short run, then the clock and the high-water mark of memory. The exponent is
the slope of log seconds over log samples: 1 is linear. Then, at one size, a first and a second run with the cache.
"""

import json
import math
import random
import statistics
import tempfile
from collections.abc import Sequence
from pathlib import Path

from assay.models import CachedScorer, StatisticsCache
from assay.scores import requests
from assay.scoring import plan, score_samples
from assay.types import TokenScorer
from assay_lab.experiments.declaration import Data, Experiment, Result
from assay_lab.measuring import MEBIBYTE, PeakMemory, fresh, spread, timed
from assay_lab.performance.subjects import (
    SMALL,
    TINY,
    frequencies_of,
    library_texts,
    open_subject,
    samples_of,
    token_counts,
)
from assay_lab.result_rows import column

SIZES, CACHED = (100, 300, 1000, 3000, 10_000), 1000
FEW, FEW_ROUNDS = (100, 1000), 3
"""So few samples are measured so often, since one run of them is short."""
SHORTEST, LONGEST = 100, 600
"""Characters of a text: Python's library has twelve thousand functions of a hundred characters and more."""


def cost(count: int, name: str, file: str) -> dict[str, float]:
    """Seconds, MiB and tokens of that many samples; runs in a process of its own."""
    model = open_subject(name)
    texts = json.loads(Path(file).read_text("utf-8"))[:count]
    samples = samples_of(texts)
    work = plan(requests("one-pass"), {"target": model}, frequencies_of(model, texts))
    # what is compiled or loaded at the first call does not count
    score_samples(samples[:8], work)
    with PeakMemory() as peak:
        seconds = timed(lambda: score_samples(samples, work))
    return {"seconds": seconds, "mebibytes": peak.growth, "tokens": sum(token_counts(model, texts))}


def cached(count: int, name: str, file: str) -> dict[str, float]:
    """Seconds without a cache, of the run that fills one, of the run that reads it, and its size."""
    model = open_subject(name)
    texts = json.loads(Path(file).read_text("utf-8"))[:count]
    samples = samples_of(texts)
    frequencies = frequencies_of(model, texts)

    def run(scorer: TokenScorer) -> float:
        return timed(lambda: score_samples(samples, plan(requests("one-pass"), {"target": scorer}, frequencies)))

    without = run(model)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "statistics.sqlite"
        with StatisticsCache(path) as cache:
            filling = run(CachedScorer(model, cache))
        # opened anew, so that nothing of the first run is in memory
        with StatisticsCache(path) as cache:
            reading = run(CachedScorer(model, cache))
            size = cache.info().bytes / MEBIBYTE
    return {"samples": count, "without": without, "filling": filling, "reading": reading, "mebibytes_on_disk": size}


def exponent(sizes: Sequence[float], seconds: Sequence[float]) -> float:
    """Slope of the least-squares line through (log size, log seconds)."""
    x, y = list(map(math.log, sizes)), list(map(math.log, seconds))
    middle_x, middle_y = sum(x) / len(x), sum(y) / len(y)
    products = sum((a - middle_x) * (b - middle_y) for a, b in zip(x, y, strict=True))
    return products / sum((a - middle_x) ** 2 for a in x)


def run(scale: tuple[str, tuple[int, ...], int], seed: int, data: Data) -> Result:
    """Cost from 100 to 10,000 samples."""
    name, sizes, kept = scale
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "texts.json"
        texts = library_texts(max(sizes), shortest=SHORTEST, longest=LONGEST)
        # shuffled once, so that every size has the same mix of files
        file.write_text(json.dumps(random.Random(seed).sample(texts, len(texts))), "utf-8")  # noqa: S311  no secret
        found: dict[int, list[dict[str, float]]] = {}
        for count in sizes:
            rounds = FEW_ROUNDS if FEW[0] <= count <= FEW[1] else 1
            found[count] = [fresh(cost, count, name=name, file=str(file)) for _ in range(rounds)]
        second = fresh(cached, kept, name=name, file=str(file))
    rows, tokens, medians = [], [], []
    for size, measured in found.items():
        seconds = column(measured, "seconds")
        tokens.append(measured[0]["tokens"])
        medians.append(statistics.median(seconds))
        row = {"samples": size, "tokens": tokens[-1], "seconds": spread(seconds)}
        rows.append(row | {"mebibytes": spread(column(measured, "mebibytes"))})
    result = {
        "model": name,
        "sizes": rows,
        "exponent_by_samples": exponent(sizes, medians),
        "exponent_by_tokens": exponent(tokens, medians),
        "cache": second,
    }
    return Result([result])


EXPERIMENTS = (
    Experiment(
        name="performance/growth",
        run=run,
        scales={"smoke": (TINY, (10, 20), 10), "full": (SMALL, SIZES, CACHED)},
        columns=("samples", "tokens", "seconds", "mebibytes", "exponent_by_samples"),
    ),
)
