"""Methods on whole benchmarks: kernel divergence and SRCT against loops by the letter, CoDeC's calls, effect by dose.

Kernel divergence is compared with the formula written as the published functions are: whole n × n matrices, and for the
small size a Python loop over pairs. SRCT is compared with a loop that runs the model once for every order. CoDeC is
counted: forward calls and tokens for each sample. The last part is behind `TIMES_SEEN` and `BEYOND_FAMILIARITY`: how
well functions that `builtin:small` saw a known number of times stand out from functions that it never saw, as they are
and after the allowance for familiar projects is taken off their scores.

Large sets, each way in a process of its own: vectors of 256 numbers both ways (20,000 take 11 GB with whole matrices in
float32), and 100,000 vectors of 4,096 numbers in memory-mapped files, by blocks alone: a whole matrix of that size
takes 80 GB. There seconds are processor time; memory is the largest resident set above that of the process before,
pages of mapped files included.
"""

import math
import tempfile
import time
import tracemalloc
from collections.abc import Callable
from itertools import product, repeat
from pathlib import Path
from typing import Any

import numpy as np

from assay.evaluation import Effect, KernelSettings, kernel_divergence, robust_spread
from assay.ground_truth import demo_functions
from assay.leakage import FAMILIARITY, MeasuredModel
from assay.models import TransformersModel, open_local
from assay.scores import DatasetInputs, dataset_requests
from assay.types import Float64Array, Sample
from assay_lab.columns import attributes, of_length, text_column
from assay_lab.experiments.declaration import Data, Experiment, Result
from assay_lab.measuring import MEBIBYTE, fresh, high_water, interleaved
from assay_lab.result_rows import column

WIDTH, LOOP_LIMIT = 256, 200
SHARDS, ORDERS = 4, 3
DOSES = (1, 2, 4, 8)
MATRICES, BLOCKS = "whole matrices", "assay, blocks"


def by_matrices(before: Float64Array, after: Float64Array) -> float:
    """Kernel divergence with γ = 1 by whole matrices."""
    kernel, later = np.exp(-squared(before)), np.exp(-squared(after))
    return float(-np.abs(kernel * np.log(kernel / later)).sum() / math.sqrt(kernel.sum()))


def squared(rows: Float64Array) -> Float64Array:
    """Squared distances of the rows after they were made unit rows, [n, n]; of few by the letter, pair by pair."""
    units = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    distances: Float64Array
    if len(units) <= LOOP_LIMIT:
        distances = ((units[:, None] - units[None]) ** 2).sum(-1)
    else:
        # of unit rows |a - b|² is 2 - 2 a·b, which rounding may put below 0
        distances = np.maximum(2 - 2 * units @ units.T, 0)
    return distances


def most_memory(way: Callable[[], object]) -> float:
    """Largest traced memory of one call, in MB."""
    tracemalloc.start()
    way()
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return round(most / 1e6, 1)


def divergence_part(size: int, repeats: int) -> dict[str, Any]:
    """Time and memory of the kernel divergence at one size."""
    random = np.random.default_rng(size)
    before = random.normal(size=(size, WIDTH))
    after = before + random.normal(scale=1e-3, size=before.shape)
    settings = KernelSettings(gamma=1.0)
    ways: dict[str, Callable[[], object]] = {
        MATRICES: lambda: by_matrices(before, after),
        BLOCKS: lambda: kernel_divergence(before, after, settings),
    }
    seconds = interleaved(ways, repeats)
    return {
        "part": "kernel divergence",
        "n": size,
        "rows": [{"way": name, "seconds": seconds[name], "megabytes": most_memory(way)} for name, way in ways.items()],
        "difference": abs(by_matrices(before, after) / kernel_divergence(before, after, settings) - 1),
    }


def srct_part(model: TransformersModel, samples: tuple[Sample, ...], repeats: int) -> dict[str, Any]:
    """Time of SRCT, and of a loop that runs the model once for every order."""
    (request,) = dataset_requests(f"srct:shards={SHARDS}:permutations={ORDERS}")
    size = len(samples) // SHARDS

    def loop() -> None:
        for shard, order in product(range(SHARDS), range(ORDERS + 1)):
            chosen = np.random.default_rng(order).permutation(size)
            text = "\n\n".join(samples[shard * size + at].text for at in chosen)
            list(model.token_statistics([text]))

    def ours() -> None:
        request(DatasetInputs(samples, (), MeasuredModel(model, samples)))

    seconds = interleaved({"one order at a time": loop, "assay, batches": ours}, repeats)
    return {"part": "SRCT", "n": len(samples), "rows": [{"way": name, "seconds": s} for name, s in seconds.items()]}


def codec_part(model: TransformersModel, samples: tuple[Sample, ...]) -> dict[str, Any]:
    """Texts that CoDeC runs for each sample, and their tokens in units of the plain tokens."""
    counts = {"texts": 0, "tokens": 0}

    class Counting(MeasuredModel):
        def statistics(self, texts: Any) -> Any:  # noqa: ANN401  passed on
            counts["texts"] += len(texts)

            counts["tokens"] += sum(map(len, attributes(model.encoder.encode(texts), "ids")))
            return super().statistics(texts)

    (request,) = dataset_requests("codec")
    request(DatasetInputs(samples, (), Counting(model, samples)))
    texts = text_column(samples)
    plain = sum(map(len, attributes(model.encoder.encode(texts), "ids")))
    row = {"way": "calls", "calls": counts["texts"] / len(samples), "tokens": counts["tokens"] / plain}
    return {"part": "CoDeC", "n": len(samples), "rows": [row]}


def dose_part(model: TransformersModel, samples: tuple[Sample, ...]) -> dict[str, Any]:
    """Superiority, and share in the region of the highest unseen functions, by the number of times seen."""
    measured = MeasuredModel(model, samples)
    values = measured.scores("mid_pit", measured.samples)
    # dose 0 is what the model never saw
    doses = np.array(column(attributes(samples, "metadata"), "dose"), int)
    unseen = values[doses == 0]
    allowance = FAMILIARITY * robust_spread(unseen)
    rows = []
    for dose in DOSES:
        own = values[doses == dose]
        if len(own):
            plain, beyond = Effect.of(own, unseen), Effect.of(own - allowance, unseen)
            row = {"way": f"seen {dose}", "functions": len(own), "superiority": plain.superiority, "top": plain.top}
            rows.append(row | {"superiority_beyond": beyond.superiority, "top_beyond": beyond.top})
    return {"part": "effect by dose", "n": len(unseen), "rows": rows}


def run(scale: tuple[int | None, int, tuple[int, ...], int], seed: int, data: Data) -> Result:
    """Methods on whole benchmarks: kernel divergence and SRCT against loops, CoDeC's calls, effect by dose."""
    per_dose, most, sizes, repeats = scale
    model = open_local("builtin:small", device="cpu")
    samples = demo_functions(per_dose).samples
    short = tuple(of_length(samples, 0, 499))[:most]
    parts = list(map(divergence_part, sizes, repeat(repeats)))
    return Result([*parts, srct_part(model, short, repeats), codec_part(model, short), dose_part(model, samples)])


def run_at_scale(scale: tuple[tuple[int, int, tuple[str, ...]], ...], seed: int, data: Data) -> Result:
    """Kernel divergence of large sets: time and memory, beside whole matrices as the published functions make them."""
    rows: list[dict[str, object]] = []
    for size, width, ways in scale:
        with tempfile.TemporaryDirectory() as folder:
            # written by another process, whose memory is not in the peak of the ways
            fresh(write_vectors, folder, size=size, width=width)
            rows += ({"n": size, "width": width, "way": way} | fresh(of_large_set, folder, way) for way in ways)
    return Result(rows)


def write_vectors(folder: str, size: int, width: int) -> None:
    """Write random vectors before and after a small change, in float32."""
    random = np.random.default_rng(size)
    before, after = (
        np.lib.format.open_memmap(Path(folder) / f"{name}.npy", mode="w+", dtype=np.float32, shape=(size, width))
        for name in ("before", "after")
    )
    for start in range(0, size, 1000):
        part = random.normal(size=before[start : start + 1000].shape)
        before[start : start + 1000] = part
        after[start : start + 1000] = part + random.normal(scale=1e-3, size=part.shape)


def of_large_set(folder: str, way: str) -> dict[str, float]:
    """Return the score, the processor time and the growth of memory of one way."""
    before, after = (np.load(Path(folder) / f"{name}.npy", mmap_mode="r") for name in ("before", "after"))
    memory, start = high_water(), time.process_time()
    if way == MATRICES:
        value = by_matrices(before, after)
    else:
        value = kernel_divergence(before, after, KernelSettings(gamma=1.0))
    return {"value": value, "seconds": time.process_time() - start, "mebibytes": (high_water() - memory) / MEBIBYTE}


BOTH = (MATRICES, BLOCKS)
EXPERIMENTS = (
    Experiment(
        name="performance/dataset", run=run, scales={"smoke": (4, 8, (60,), 1), "full": (None, 40, (700, 4000), 3)}
    ),
    Experiment(
        name="performance/divergence_at_scale",
        run=run_at_scale,
        scales={
            "smoke": ((60, 8, BOTH),),
            "full": ((700, 256, BOTH), (20_000, 256, BOTH), (100_000, 4_096, (BLOCKS,))),
        },
        stored="dataset/divergence-at-scale",
    ),
)
