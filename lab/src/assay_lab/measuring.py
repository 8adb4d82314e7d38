"""How experiments measure time and memory.

The ways that are compared take turns, in rotating order, so that whatever else the machine does falls on all of them.
A ratio is taken of each round, and reported with its median, minimum and maximum.
"""

import gc
import math
import multiprocessing
import os
import platform
import resource
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from importlib.metadata import version
from operator import truediv
from pathlib import Path
from typing import Self, TypeVar

import numpy as np
import torch

from assay import __version__
from assay.evaluation import Estimate
from assay_lab.mappings import map_values

LAB = Path(__file__).resolve().parents[2]
DOCS = LAB.parent / "docs"
RESULTS = LAB / "results"
LISTS = LAB / "lists"
"""Names of the packages that experiments take their texts from."""
PRELOADED = ["torch", "transformers.models.llama.modeling_llama", "assay.models.transformers_backend", "assay.scoring"]
"""What a fresh process starts with: the imports are paid once, and stand in no figure."""

MEBIBYTE = 2**20

Returned = TypeVar("Returned")
Spread = dict[str, float | list[float]]


def interleaved(
    ways: Mapping[str, Callable[[], object]], repeats: int, clock: Callable[[], float] = time.perf_counter
) -> dict[str, list[float]]:
    """Seconds of each way in each round, after one round that does not count."""
    names = list(ways)
    seconds: dict[str, list[float]] = {name: [] for name in names}
    for way in ways.values():
        way()
    for turn in range(repeats):
        for name in names[turn % len(names) :] + names[: turn % len(names)]:
            seconds[name].append(timed(ways[name], clock))
    return seconds


def timed(way: Callable[[], object], clock: Callable[[], float] = time.perf_counter) -> float:
    """Seconds of one call."""
    gc.collect()
    start = clock()
    way()
    return clock() - start


def spread(values: Sequence[float]) -> Spread:
    """Median, minimum, maximum, and all of them in the order measured."""
    return {"median": statistics.median(values), "min": min(values), "max": max(values), "all": list(values)}


def spreads(values: Mapping[str, Sequence[float]]) -> dict[str, Spread]:
    """Return way → its spread."""
    return dict(zip(values, map(spread, values.values()), strict=True))


def rates(amount: float, seconds: Sequence[float]) -> Spread:
    """Return how much is done a second, of each round."""
    return spread([amount / each for each in seconds])


def ratios(over: Sequence[float], under: Sequence[float]) -> Spread:
    """The ratio of each round."""
    return spread(list(map(truediv, over, under)))


def ratios_to(base: str, seconds: Mapping[str, Sequence[float]], *ways: str) -> dict[str, Spread]:
    """Return way → the ratio of its seconds to those of another; of every other way where none is named."""
    return {way: ratios(seconds[way], seconds[base]) for way in ways or seconds if way != base}


def fresh(function: Callable[..., Returned], *values: object, **named: object) -> Returned:
    """The function's result from a process that has done nothing before."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(PRELOADED)
    with ProcessPoolExecutor(max_workers=1, mp_context=context) as pool:
        return pool.submit(function, *values, **named).result()


class PeakMemory:
    """How far memory rises above where it stood: `growth` in MiB after the block.

    It is the resident set's own high-water mark, which Linux can set back; elsewhere the mark of the process.
    """

    growth = 0.0

    def __enter__(self) -> Self:
        gc.collect()
        if (marks := Path("/proc/self/clear_refs")).exists():
            marks.write_text("5")
        self._before = high_water()
        return self

    def __exit__(self, *_: object) -> None:
        self.growth = (high_water() - self._before) / MEBIBYTE


def high_water() -> int:
    """Most bytes that the process has held at once."""
    if (status := Path("/proc/self/status")).exists():
        return kibibytes_in(status.read_text(), "VmHWM:") * 1024
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def kibibytes_in(status: str, name: str) -> int:
    """Return the value of a line of /proc/self/status."""
    return int(status.partition(name)[2].split()[0])


def machine() -> dict[str, object]:
    """What the figures depend on: processor, cores, threads, versions, and the GPU where torch has one."""
    gpu = {"gpu": torch.cuda.get_device_name()} if torch.cuda.is_available() else {}
    return {
        **gpu,
        "processor": processor(),
        "cores": os.cpu_count(),
        "torch_threads": torch.get_num_threads(),
        "device": "cuda" if gpu else "cpu",
        "system": platform.system(),
        "python": platform.python_version(),
        "assay": __version__,
        "torch": version("torch").partition("+")[0],
        "transformers": version("transformers"),
        "tokenizers": version("tokenizers"),
        "numpy": version("numpy"),
    }


def processor() -> str:
    """The processor's name as the system tells it."""
    if (described := Path("/proc/cpuinfo")).exists():
        for line in described.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def with_ends(estimate: Estimate) -> dict[str, float]:
    """An estimate and the ends of its interval, as a result holds them."""
    return {"value": estimate.value, "low": estimate.low, "high": estimate.high}


def percentiles(values: Sequence[float], *shares: int, factor: float = 1.0) -> dict[str, float]:
    """Percentiles by name, as "p50" and "p95", times a factor."""
    return {f"p{share}": float(np.percentile(values, share)) * factor for share in shares or (50, 95, 99)}


def shortened(value: object) -> object:
    """A value that JSON can hold: floats with six significant digits, more than a clock gives; None for NaN."""
    if isinstance(value, float):
        return None if math.isnan(value) else float(f"{value:.6g}")
    if isinstance(value, Mapping):
        return map_values(shortened, value)
    if isinstance(value, list | tuple):
        return list(map(shortened, value))
    return value
