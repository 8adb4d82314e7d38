"""Fingerprints with lines from source text, beside the C extension of scanoss_winnowing: about 2 minutes.

    pip install --target PEERS scanoss_winnowing
    PYTHONPATH=PEERS python benchmarks/bench_fingerprints.py

The corpus is the standard library of the Python that runs this, tests left out. One process, one thread, CPU time: what
else the machine does counts for nobody. The ways take turns, each over the whole corpus file by file, and a ratio is
taken of each round. Megabytes are 10^6 bytes of UTF-8 source; for `winnowing` alone, of canonical characters.

- `characters`, `default`, `paper`: `fingerprint` with the character channel, with both channels, with SHA-1 (on a tenth
  of the corpus).
- `winnowing`: the character channel after canonicalisation, file by file; `winnowing, one text`: all files as one.
- `scanoss_winnowing`: its `Winnowing().wfp_for_contents` on the bytes, where it can be imported. It keeps letters and
  digits and knows no comments or strings; k = 30, w = 64.
"""

import argparse
import gc
import importlib
import importlib.util
import json
import os
import platform
import statistics
import sysconfig
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import numpy as np

from assay.retrieval import DEFAULT, PAPER, Profile, fingerprint
from assay.retrieval.canonical import characters
from assay.retrieval.grammars import grammar_of
from assay.retrieval.hashing import GRAM_HASHES
from assay.retrieval.regions import find_regions
from assay.retrieval.source import Source, Units
from assay.retrieval.winnowing import winnow

RESULTS = Path(__file__).parent / "results"
PEER = "scanoss_winnowing"
CHARACTERS = DEFAULT.channels[0]
ONLY_CHARACTERS = Profile("characters", (CHARACTERS,))


def main() -> None:
    """Measure, print a table and write the JSON file."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--smoke", action="store_true", help="tiny sizes: does it run?")
    parser.add_argument("--out", type=Path, help="folder of the JSON file (default: results/ beside the script)")
    parser.add_argument("--repeats", type=int, default=7, help="rounds")
    options = parser.parse_args()
    if options.smoke and options.out is None:
        parser.error("--smoke figures mean nothing: say with --out where they may lie")
    texts = corpus(200_000 if options.smoke else 12_000_000)
    ways, sizes = ways_and_sizes(texts)
    seconds = interleaved(ways, 2 if options.smoke else options.repeats)
    speeds = {name: spread([sizes[name] / 1e6 / one for one in values]) for name, values in seconds.items()}
    ratios = {
        name: spread([theirs / ours for theirs, ours in zip(seconds[PEER], seconds[name], strict=True)])
        for name in ("characters", "default")
        if PEER in seconds
    }
    report = {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "processor": processor(),
        "cores": os.cpu_count(),
        "load": os.getloadavg()[0],
        "versions": versions(),
        "files": len(texts),
        "megabytes": sum(len(text.encode()) for text in texts) / 1e6,
        "megabytes_per_second": speeds,
        "times_as_fast_as_scanoss": ratios,
    }
    folder = options.out or RESULTS
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "fingerprints.json").write_text(json.dumps(report, indent=2) + "\n", "utf-8")
    for title, table in (("MB/s", speeds), ("times as fast as scanoss_winnowing", ratios)):
        for name, values in table.items():
            print(f"{values['median']:8.2f}  ({values['min']:.2f} to {values['max']:.2f})  {title}: {name}")


def corpus(size: int) -> list[str]:
    """Files of the standard library, in the order of their paths, until `size` bytes are together."""
    library = Path(sysconfig.get_paths()["stdlib"])
    texts: list[str] = []
    total = 0
    for path in sorted(library.rglob("*.py")):
        inside = path.relative_to(library).parts
        data = path.read_bytes()
        if {"test", "tests", "site-packages", "lib2to3"} & set(inside) or not is_utf8(data):
            continue
        texts.append(data.decode("utf-8"))
        total += len(data)
        if total >= size:
            break
    return texts


def is_utf8(data: bytes) -> bool:
    """Whether the bytes are UTF-8."""
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def ways_and_sizes(texts: Sequence[str]) -> tuple[dict[str, Callable[[], object]], dict[str, int]]:
    """What is measured, by name, and how many bytes each reads."""
    total = sum(len(text.encode()) for text in texts)
    few = texts[::10]
    canonical = [one for one in map(character_units, texts) if one.dtype == np.uint8 and len(one) >= CHARACTERS.k]
    joined = np.concatenate(canonical).astype(np.uint8)
    ways: dict[str, Callable[[], object]] = {
        "characters": lambda: [fingerprint(text, "python", ONLY_CHARACTERS) for text in texts],
        "default": lambda: [fingerprint(text, "python", DEFAULT) for text in texts],
        "paper": lambda: [fingerprint(text, "python", PAPER) for text in few],
        "winnowing": lambda: [winnowed(units) for units in canonical],
        "winnowing, one text": lambda: winnowed(joined),
    }
    sizes = dict.fromkeys(ways, total) | {"paper": sum(len(text.encode()) for text in few)}
    sizes |= dict.fromkeys(("winnowing", "winnowing, one text"), len(joined))
    if importlib.util.find_spec(PEER):
        peer = importlib.import_module(f"{PEER}.winnowing").Winnowing(c_accelerated=True)
        contents = [text.encode() for text in texts]
        ways[PEER] = lambda: [peer.wfp_for_contents("file.py", bin_file=False, contents=one) for one in contents]
        sizes[PEER] = total
    return ways, sizes


def character_units(text: str) -> Units:
    """The canonical characters of a text."""
    source = Source.of(text)
    return characters(source, find_regions(source, grammar_of("python"))).units


def winnowed(units: Units) -> object:
    """Fingerprints of canonical characters."""
    return winnow(units, k=CHARACTERS.k, w=CHARACTERS.w, gram_hash=GRAM_HASHES[CHARACTERS.hash])


def interleaved(ways: Mapping[str, Callable[[], object]], repeats: int) -> dict[str, list[float]]:
    """CPU seconds of each way in each round, after one round that does not count."""
    names = list(ways)
    seconds: dict[str, list[float]] = {name: [] for name in names}
    for way in ways.values():
        way()
    for turn in range(repeats):
        for name in names[turn % len(names) :] + names[: turn % len(names)]:
            gc.collect()
            start = time.process_time()
            ways[name]()
            seconds[name].append(time.process_time() - start)
    return seconds


def spread(values: Sequence[float]) -> dict[str, object]:
    """Median, minimum, maximum, and all of them in the order measured."""
    return {"median": statistics.median(values), "min": min(values), "max": max(values), "all": list(values)}


def versions() -> dict[str, str]:
    """Of Python and of what was measured."""
    packages = ["numpy", *([PEER] if importlib.util.find_spec(PEER) else [])]
    return {"python": platform.python_version(), **{name: version(name) for name in packages}}


def processor() -> str:
    """The processor's name."""
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    except OSError:
        return platform.processor()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "unknown")


if __name__ == "__main__":
    main()
