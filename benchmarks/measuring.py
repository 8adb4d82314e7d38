"""How every script here measures.

The ways that are compared take turns, in rotating order, so that whatever else the machine does falls on all of them.
A ratio is taken of each round and told with its median, minimum and maximum. The result is one JSON file that names
processor, cores and versions, and nothing else of the machine.
"""

import argparse
import gc
import json
import multiprocessing
import os
import platform
import resource
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Self, TypeVar

import torch

from assay import __version__

RESULTS = Path(__file__).parent / "results"
PRELOADED = ["torch", "transformers.models.llama.modeling_llama", "assay.models.transformers_backend", "assay.scoring"]
"""What a fresh process starts with: the imports are paid once, and stand in no figure."""

MEBIBYTE = 2**20

Result = TypeVar("Result")
Spread = dict[str, float | list[float]]


def arguments(
    description: str | None, further: Callable[[argparse.ArgumentParser], object] | None = None
) -> argparse.Namespace:
    """The options that all scripts take: smoke, out, device, threads, repeats; `further` adds those of one script."""
    parser = argparse.ArgumentParser(description=(description or "").partition("\n")[0])
    parser.add_argument("--smoke", action="store_true", help="tiny sizes: does it run?")
    parser.add_argument("--out", type=Path, help="folder of the JSON file (default: results/ beside the script)")
    parser.add_argument("--device", default="cpu", help="cpu or cuda")
    parser.add_argument("--threads", type=int, help="torch threads (default: torch's choice)")
    parser.add_argument("--repeats", type=int, help="rounds (default: the script's choice)")
    if further:
        further(parser)
    options = parser.parse_args()
    if options.smoke and options.out is None:
        parser.error("--smoke figures mean nothing: say with --out where they may lie")
    options.out = options.out or RESULTS
    options.threads = options.threads or torch.get_num_threads()
    torch.set_num_threads(options.threads)
    return options


def interleaved(
    ways: Mapping[str, Callable[[], object]],
    repeats: int,
    device: str,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, list[float]]:
    """Seconds of each way in each round, after one round that does not count."""
    names = list(ways)
    seconds: dict[str, list[float]] = {name: [] for name in names}
    for way in ways.values():
        way()
    for turn in range(repeats):
        for name in names[turn % len(names) :] + names[: turn % len(names)]:
            seconds[name].append(timed(ways[name], device, clock))
    return seconds


def timed(way: Callable[[], object], device: str, clock: Callable[[], float] = time.perf_counter) -> float:
    """Seconds of one call, until the device has done its work."""
    gc.collect()
    start = clock()
    way()
    if device.startswith("cuda"):
        torch.cuda.synchronize()
    return clock() - start


def spread(values: Sequence[float]) -> Spread:
    """Median, minimum, maximum, and all of them in the order measured."""
    return {"median": statistics.median(values), "min": min(values), "max": max(values), "all": list(values)}


def ratios(over: Sequence[float], under: Sequence[float]) -> Spread:
    """The ratio of each round."""
    return spread([a / b for a, b in zip(over, under, strict=True)])


def fresh(function: Callable[..., Result], *values: object) -> Result:
    """The function's result from a process that has done nothing before."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(PRELOADED)
    with ProcessPoolExecutor(max_workers=1, mp_context=context) as pool:
        return pool.submit(function, *values).result()


class PeakMemory:
    """How far memory rises above where it stood: `growth` in MiB after the block.

    On a CPU the resident set's own high-water mark, which Linux can set back; elsewhere the mark of the process.
    On a GPU what torch had allocated at most.
    """

    def __init__(self, device: str) -> None:
        self.device = device
        self.growth = 0.0

    def __enter__(self) -> Self:
        gc.collect()
        if self.device.startswith("cuda"):
            torch.cuda.reset_peak_memory_stats()
            self._before = torch.cuda.memory_allocated()
        else:
            if (marks := Path("/proc/self/clear_refs")).exists():
                marks.write_text("5")
            self._before = high_water()
        return self

    def __exit__(self, *_: object) -> None:
        peak = torch.cuda.max_memory_allocated() if self.device.startswith("cuda") else high_water()
        self.growth = (peak - self._before) / MEBIBYTE


def high_water() -> int:
    """Most bytes that the process has held at once."""
    if (status := Path("/proc/self/status")).exists():
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM:"))
        return int(line.split()[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def machine(options: argparse.Namespace) -> dict[str, object]:
    """What the figures depend on: processor, cores, threads, versions."""
    described: dict[str, object] = {
        "processor": processor(),
        "cores": os.cpu_count(),
        "torch_threads": options.threads,
        "device": options.device,
        "system": platform.system(),
        "python": platform.python_version(),
        "assay": __version__,
        **{name: version(name).partition("+")[0] for name in ("torch", "transformers", "tokenizers", "numpy")},
    }
    if options.device.startswith("cuda"):
        described["gpu"] = torch.cuda.get_device_name()
    return described


def processor() -> str:
    """The processor's name as the system tells it."""
    if (told := Path("/proc/cpuinfo")).exists():
        for line in told.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def write(name: str, options: argparse.Namespace, results: Sequence[Mapping[str, object]], began: float) -> Path:
    """One JSON file: `NAME.json`, on an accelerator `NAME-cuda.json`."""
    suffix = "" if options.device == "cpu" else f"-{options.device.partition(':')[0]}"
    content = {
        "benchmark": name,
        "measured": datetime.now(UTC).date().isoformat(),
        "seconds_in_all": time.perf_counter() - began,
        "smoke": options.smoke,
        "machine": machine(options),
        "results": results,
    }
    options.out.mkdir(parents=True, exist_ok=True)
    path: Path = options.out / f"{name}{suffix}.json"
    path.write_text(json.dumps(shortened(content), indent=1, ensure_ascii=False) + "\n", "utf-8")
    return path


def shortened(value: object) -> object:
    """Floats with six significant digits: more than a clock gives."""
    if isinstance(value, float):
        return float(f"{value:.6g}")
    if isinstance(value, Mapping):
        return {key: shortened(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [shortened(one) for one in value]
    return value
