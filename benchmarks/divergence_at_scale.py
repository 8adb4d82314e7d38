"""Kernel divergence of large sets: time and memory, beside whole matrices as the published functions make them.

    python benchmarks/divergence_at_scale.py [--smoke]

Three sizes: 700 and 20,000 vectors of 256 numbers, both ways (20,000 take 11 GB with whole matrices in float32), and
100,000 vectors of 4,096 numbers in memory-mapped files, by blocks alone: a whole matrix of that size takes 80 GB.
Each way runs in a process of its own. Seconds are processor time; memory is the largest resident set above that of the
process before, pages of mapped files included. The file of results is written after each size.
"""

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from bench_dataset import by_matrices
from measuring import MEBIBYTE, RESULTS, fresh, high_water, machine, shortened
from numpy.typing import NDArray

from assay.evaluation import KernelSettings, kernel_divergence
from assay.files import write_json

MATRICES, BLOCKS = "whole matrices", "assay, blocks"
SIZES: tuple[tuple[int, int, tuple[str, ...]], ...] = (
    (700, 256, (MATRICES, BLOCKS)),
    (20_000, 256, (MATRICES, BLOCKS)),
    (100_000, 4_096, (BLOCKS,)),
)
SMOKE: tuple[tuple[int, int, tuple[str, ...]], ...] = ((60, 8, (MATRICES, BLOCKS)),)
WAYS: dict[str, Callable[[NDArray[Any], NDArray[Any]], float]] = {
    MATRICES: by_matrices,
    BLOCKS: lambda before, after: kernel_divergence(before, after, KernelSettings(gamma=1.0)),
}


def main() -> None:
    """Measure each size and write."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--smoke", action="store_true", help="tiny sizes: does it run?")
    parser.add_argument("--out", type=Path, default=RESULTS / "dataset" / "divergence-at-scale.json")
    options = parser.parse_args()
    options.device, options.threads = "cpu", 1
    rows = []
    for size, width, ways in SMOKE if options.smoke else SIZES:
        with tempfile.TemporaryDirectory() as folder:
            fresh(write_vectors, folder, size, width)
            for way in ways:
                rows.append({"n": size, "width": width, "way": way} | fresh(measured, folder, way))
                print(rows[-1], flush=True)
                write_json(options.out, shortened({"machine": machine(options), "rows": rows}))


def write_vectors(folder: str, size: int, width: int) -> None:
    """Write random vectors before and after a small change, in float32."""
    random = np.random.default_rng(size)
    shape = (size, width)
    before, after = (
        np.lib.format.open_memmap(Path(folder) / f"{name}.npy", "w+", np.float32, shape) for name in ("before", "after")
    )
    for start in range(0, size, 1000):
        part = random.normal(size=before[start : start + 1000].shape)
        before[start : start + 1000] = part
        after[start : start + 1000] = part + random.normal(scale=1e-3, size=part.shape)


def measured(folder: str, way: str) -> dict[str, float]:
    """Return the score, the processor time and the growth of memory of one way."""
    before, after = (np.load(Path(folder) / f"{name}.npy", mmap_mode="r") for name in ("before", "after"))
    memory, start = high_water(), time.process_time()
    value = WAYS[way](before, after)
    return {"value": value, "seconds": time.process_time() - start, "mebibytes": (high_water() - memory) / MEBIBYTE}


if __name__ == "__main__":
    main()
