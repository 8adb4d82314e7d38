"""Speed of a scan beside the floor: the same files read and decoded alone, in turns, one process, CPU time."""

import gzip
import json
import lzma
import time
import zipfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pyarrow as pa

from assay.scan import Matcher, read_tasks, scan_file
from assay_lab.experiments.declaration import Data, Experiment, Result
from assay_lab.measuring import interleaved, rates, ratios
from assay_lab.scan.recall import CHOSEN_ON, CONFIRMED_ON


def run(scale: tuple[int, int], seed: int, data: Data) -> Result:  # noqa: ARG001  nothing is drawn
    """Megabytes of decoded JSON lines each second, and the share of the speed of reading them alone."""
    size, repeats = scale
    tasks = read_tasks([f"{name}={data[name]}" for name in (*CHOSEN_ON, *CONFIRMED_ON) if name in data])
    matchers = {"words alone": Matcher(tasks, blind=False), "words and tokens": Matcher(tasks)}
    files, decoded = _files(data["packages"], data["work"], size)
    rows = []
    for form, path in files.items():
        ways: dict[str, Callable[[], object]] = {"floor": partial(_read_alone, path)}
        for name, matcher in matchers.items():
            ways[name] = partial(scan_file, str(path), matcher)
            ways[name]()  # compiled code is loaded
        seconds = interleaved(ways, repeats, time.process_time)
        for name, taken in seconds.items():
            row = {"file": form, "way": name, "tasks": len(tasks), "megabytes": decoded / 1e6}
            row |= {
                "megabytes_per_second": rates(decoded / 1e6, taken),
                "share_of_floor": ratios(seconds["floor"], taken),
            }
            rows.append(row)
    return Result(rows)


def _files(packages: Path, folder: Path, size: int) -> tuple[dict[str, Path], int]:
    """Write sources of packages as JSON lines, plain and packed; return the paths and the decoded bytes."""
    lines: list[str] = []
    total = 0
    for path in sorted(packages.glob("*.whl")):
        with zipfile.ZipFile(path) as archive:
            for entry in archive.infolist():
                if entry.filename.endswith(".py") and entry.file_size:
                    text = archive.read(entry).decode("utf-8", "replace")
                    lines.append(json.dumps({"text": text, "path": entry.filename}) + "\n")
                    total += len(lines[-1])
        if total >= size:
            break
    raw = "".join(lines).encode()
    paths = {"plain": folder / "speed.jsonl"}
    paths |= {form: folder / f"speed.jsonl.{form}" for form in ("zst", "gz", "xz")}
    paths["plain"].write_bytes(raw)
    paths["gz"].write_bytes(gzip.compress(raw, 6))
    paths["xz"].write_bytes(lzma.compress(raw, preset=1))
    with pa.output_stream(str(paths["zst"]), compression="zstd") as out:
        out.write(raw)
    return paths, len(raw)


def _read_alone(path: Path) -> int:
    """Read and decode a file, line by line, and do nothing with it."""
    openers: dict[str, Callable[[Path], object]] = {
        ".gz": gzip.open,
        ".xz": lzma.open,
        ".zst": lambda place: pa.input_stream(str(place), compression="zstd"),
    }
    opened = openers.get(path.suffix, partial(open, mode="rb"))(path)
    count = 0
    with opened as stream:  # type: ignore[attr-defined]  # each opens a stream of bytes
        while piece := stream.read(1 << 20):
            count += piece.count(b"\n")
    return count


EXPERIMENTS = (
    Experiment(
        name="scan/speed",
        run=run,
        scales={"smoke": (1_000_000, 1), "full": (40_000_000, 3)},
        columns=("file", "way", "megabytes", "megabytes_per_second", "share_of_floor"),
        needs={"packages": "a folder of wheels"},
        takes={name: f"files of {name}" for name in (*CHOSEN_ON, *CONFIRMED_ON)},
        stored="scan/speed",
    ),
)
