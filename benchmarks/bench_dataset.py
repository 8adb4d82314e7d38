"""Methods on whole benchmarks: kernel divergence and SRCT against loops by the letter, CoDeC's calls, effect by dose.

    python benchmarks/bench_dataset.py

Kernel divergence is compared with the formula written as the published functions are: whole n × n matrices, and for the
small size a Python loop over pairs. SRCT is compared with a loop that runs the model once for every order. CoDeC is
counted: forward calls and tokens for each sample. The last part is behind `TIMES_SEEN` and `BEYOND_FAMILIARITY`: how
well functions that `builtin:small` saw a known number of times stand out from functions that it never saw, as they are
and after the allowance for familiar projects is taken off their scores.
"""

import math
import time
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
from measuring import arguments, interleaved, write
from numpy.typing import NDArray

from assay.evaluation import Effect, KernelSettings, kernel_divergence, robust_spread
from assay.leakage import MeasuredModel
from assay.leakage.dataset_level.results import FAMILIARITY
from assay.models import open_local
from assay.models.transformers_backend import TransformersModel
from assay.scores import DatasetInputs, dataset_requests
from assay.testbed.demo import demo_functions
from assay.types import Sample

SIZES, WIDTH, LOOP_LIMIT = (700, 4000), 256, 200
SHARDS, ORDERS = 4, 3
DOSES = (1, 2, 4, 8)


def by_matrices(before: NDArray[np.float64], after: NDArray[np.float64]) -> float:
    """Kernel divergence with γ = 1 by whole matrices."""
    first, second = (z / np.linalg.norm(z, axis=1, keepdims=True) for z in (before, after))
    near, far = (((z[:, None] - z[None]) ** 2).sum(-1) if len(z) <= LOOP_LIMIT else squared(z) for z in (first, second))
    kernel, later = np.exp(-near), np.exp(-far)
    return float(-np.abs(kernel * np.log(kernel / later)).sum() / math.sqrt(kernel.sum()))


def squared(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Squared distances of unit rows, [n, n]."""
    distances: NDArray[np.float64] = np.maximum(2 - 2 * rows @ rows.T, 0)
    return distances


def most_memory(way: Callable[[], object]) -> float:
    """Largest traced memory of one call, in MB."""
    tracemalloc.start()
    way()
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return round(most / 1e6, 1)


def divergence_part(size: int, repeats: int, device: str) -> dict[str, Any]:
    """Time and memory of the kernel divergence at one size."""
    random = np.random.default_rng(size)
    before = random.normal(size=(size, WIDTH))
    after = before + random.normal(scale=1e-3, size=before.shape)
    settings = KernelSettings(gamma=1.0)
    ways: dict[str, Callable[[], object]] = {
        "whole matrices": lambda: by_matrices(before, after),
        "assay, blocks": lambda: kernel_divergence(before, after, settings),
    }
    seconds = interleaved(ways, repeats, device)
    return {
        "part": "kernel divergence",
        "n": size,
        "rows": [{"way": name, "seconds": seconds[name], "megabytes": most_memory(way)} for name, way in ways.items()],
        "difference": abs(by_matrices(before, after) / kernel_divergence(before, after, settings) - 1),
    }


def srct_part(model: TransformersModel, samples: tuple[Sample, ...], repeats: int, device: str) -> dict[str, Any]:
    """Time of SRCT, and of a loop that runs the model once for every order."""
    (request,) = dataset_requests(f"srct:shards={SHARDS}:permutations={ORDERS}")
    size = len(samples) // SHARDS

    def loop() -> None:
        for shard in range(SHARDS):
            for order in range(ORDERS + 1):
                chosen = np.random.default_rng(order).permutation(size)
                text = "\n\n".join(samples[shard * size + at].text for at in chosen)
                list(model.token_statistics([text]))

    def ours() -> None:
        request(DatasetInputs(samples, (), MeasuredModel(model, samples)))

    seconds = interleaved({"one order at a time": loop, "assay, batches": ours}, repeats, device)
    return {"part": "SRCT", "n": len(samples), "rows": [{"way": name, "seconds": s} for name, s in seconds.items()]}


def codec_part(model: TransformersModel, samples: tuple[Sample, ...]) -> dict[str, Any]:
    """Texts that CoDeC runs for each sample, and their tokens in units of the plain tokens."""
    counts = {"texts": 0, "tokens": 0}

    class Counting(MeasuredModel):
        def statistics(self, texts: Any) -> Any:  # noqa: ANN401  passed on
            counts["texts"] += len(texts)
            counts["tokens"] += sum(len(row.ids) for row in model.encoder.encode(texts))
            return super().statistics(texts)

    (request,) = dataset_requests("codec")
    request(DatasetInputs(samples, (), Counting(model, samples)))
    plain = sum(len(row.ids) for row in model.encoder.encode([sample.text for sample in samples]))
    row = {"way": "calls", "calls": counts["texts"] / len(samples), "tokens": counts["tokens"] / plain}
    return {"part": "CoDeC", "n": len(samples), "rows": [row]}


def dose_part(model: TransformersModel, samples: tuple[Sample, ...]) -> dict[str, Any]:
    """Superiority, and share in the region of the highest unseen functions, by the number of times seen."""
    measured = MeasuredModel(model, samples)
    values = measured.scores("mid_pit", measured.samples)
    doses = np.array([int(str(sample.metadata["dose"])) for sample in samples])
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


def main() -> None:
    """Measure and write."""
    began = time.perf_counter()
    options = arguments(__doc__)
    repeats = options.repeats or (1 if options.smoke else 3)
    model = open_local("builtin:small", device=options.device)
    samples = demo_functions(4 if options.smoke else None).samples
    short = tuple(sample for sample in samples if len(sample.text) < 500)[: 8 if options.smoke else 40]
    parts = [divergence_part(size, repeats, options.device) for size in ((60,) if options.smoke else SIZES)]
    parts += [srct_part(model, short, repeats, options.device), codec_part(model, short), dose_part(model, samples)]
    print(write("dataset", options, parts, began))


if __name__ == "__main__":
    main()
