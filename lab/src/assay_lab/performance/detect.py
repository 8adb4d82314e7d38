"""`assay detect` against one bare pass of its surrogate over the same functions, and one patch of one line.

- `floor`: the faster of the two bare passes of `one_pass`: the model's own forward pass, in batches by length or one
  text after the other, with tokens made before the clock starts.
- `detect`: all of `assay.detect` on the folder by function in the same process: reading, signals, tokenising, the pass,
  six scores a function and those of lines; with a reference also the answers. The statistics cache is empty each time.
- `patch`: the whole command of a fresh process on a patch of one line in a git repository, with the statistics cache
  empty; `import torch` alone is its floor.
"""

import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from assay.authorship import WINDOW, calibrate_authorship, detect, units_of
from assay.ground_truth import library_root
from assay.models import default_control, open_local
from assay_lab.columns import text_column
from assay_lab.experiments.declaration import Data, Experiment, Result
from assay_lab.measuring import interleaved, ratios_to, spreads
from assay_lab.performance.one_pass import ways

FILES = ("argparse", "calendar", "configparser", "csv", "ftplib", "zipfile")


def run(scale: tuple[int, int], seed: int, data: Data) -> Result:
    """`assay detect` against one bare pass of its surrogate over the same functions, and one patch of one line."""
    files, repeats = scale
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        code = root / "repository"
        code.mkdir()
        for name in FILES[:files]:
            shutil.copy(library_root() / f"{name}.py", code)
        past = root / "past.json"
        calibrate_authorship([str(code)], past, before=None, by="function")
        return Result([by_function(code, past, repeats), of_patch(code, past, repeats)])


def by_function(code: Path, past: Path, repeats: int) -> dict[str, Any]:
    """Return seconds of the bare pass and of `detect` on a folder."""
    paths = sorted(code.glob("*.py"))
    texts = []
    for path in paths:
        own = units_of(path.name, text=path.read_text("utf-8"), language="python", by="function")
        texts += text_column(own)
    model = open_local(default_control(), device="cpu", max_length=WINDOW)
    clock = time.process_time if torch.get_num_threads() == 1 else time.perf_counter
    bare = ways(model, texts)
    seconds = interleaved(
        {
            "single": bare["single"],
            "batched": bare["batched"],
            "detect": without_cache(lambda: detect(code, by="function")),
            "detect, reference": without_cache(lambda: detect(code, by="function", reference=past)),
        },
        repeats,
        clock,
    )
    # the fastest bare pass, by its median: on a CPU one text after the other can beat batches with padding
    floor = min(("single", "batched"), key=lambda way: sorted(seconds[way])[repeats // 2])
    return {
        "what": f"{len(texts)} functions",
        "clock": clock.__name__,
        "seconds": spreads(seconds),
        "ratio": ratios_to(floor, seconds, "detect", "detect, reference"),
        "functions_per_second": len(texts) / sorted(seconds["detect"])[repeats // 2],
    }


def without_cache(way: Callable[[], object]) -> Callable[[], None]:
    """Return the same with an empty statistics cache at each call."""

    def timed() -> None:
        with tempfile.TemporaryDirectory() as empty:
            before = os.environ.get("ASSAY_CACHE")
            os.environ["ASSAY_CACHE"] = empty
            try:
                way()
            finally:
                del os.environ["ASSAY_CACHE"]
                if before is not None:
                    os.environ["ASSAY_CACHE"] = before

    return timed


def of_patch(code: Path, past: Path, repeats: int) -> dict[str, Any]:
    """Return processor time of whole commands on a patch of one line."""
    git = ("git", "-c", "user.name=assay", "-c", "user.email=assay@example.org")
    for step in (("init", "-q"), ("add", "."), ("commit", "-q", "-m", "first")):
        subprocess.run([*git, *step], cwd=code, check=True)  # noqa: S603  git
    file = code / f"{FILES[0]}.py"
    file.write_text(file.read_text("utf-8") + "LIMIT = 1_000  # rows\n", "utf-8")
    patch = subprocess.run([*git, "diff"], cwd=code, check=True, capture_output=True).stdout  # noqa: S603  git
    (code / "one.patch").write_bytes(patch)
    command = [sys.executable, "-m", "assay", "detect", "one.patch", "--patch"]

    def spent(arguments: list[str]) -> float:
        with tempfile.TemporaryDirectory() as empty:
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            own = {**os.environ, "ASSAY_CACHE": empty}
            subprocess.run(arguments, cwd=code, check=True, env=own, capture_output=True)  # noqa: S603  this program
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    all_ways = {
        "floor: import torch": [sys.executable, "-c", "import torch"],
        "detect": command,
        "detect, reference": [*command, "--reference", str(past)],
    }
    seconds = {way: list(map(spent, [arguments] * repeats)) for way, arguments in all_ways.items()}
    return {"what": "patch of one line", "clock": "process_time", "seconds": spreads(seconds)}


EXPERIMENTS = (
    Experiment(
        name="performance/detect",
        run=run,
        scales={"smoke": (1, 1), "full": (6, 3)},
        columns=("what", ("seconds", "detect", "median"), ("ratio", "detect", "median"), "functions_per_second"),
    ),
)
