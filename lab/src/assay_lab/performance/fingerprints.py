"""Fingerprints with lines from source text, beside the C extension of scanoss_winnowing.

The corpus is the standard library of the Python that runs this, tests left out. One process, one thread, CPU time: what
else the machine does counts for nobody. The ways take turns, each over the whole corpus file by file, and a ratio is
taken of each round. Megabytes are 10^6 bytes of UTF-8 source; for `winnowing` alone, of canonical characters.

- `characters`, `default`, `paper`: `fingerprint` with the character channel, with both channels, with SHA-1 (on a tenth
  of the corpus).
- `winnowing`: the character channel after canonicalisation, file by file; `winnowing, one text`: all files as one.
- `scanoss_winnowing`: its `Winnowing().wfp_for_contents` on the bytes, where it can be imported. It keeps letters and
  digits and knows no comments or strings; k = 30, w = 64.
"""

import importlib
import importlib.util
import sysconfig
import time
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path

import numpy as np

from assay.languages import lexical_rules
from assay.retrieval import (
    DEFAULT,
    GRAM_HASHES,
    PAPER,
    Profile,
    Source,
    Units,
    characters,
    find_regions,
    fingerprint,
    winnow,
)
from assay_lab.experiments.declaration import Data, Experiment, Result
from assay_lab.measuring import interleaved, rates, ratios

PEER = "scanoss_winnowing"
CHARACTERS = DEFAULT.channels[0]
ONLY_CHARACTERS = Profile("characters", (CHARACTERS,))
END_TO_END = ("characters", "default")
"""Ways that do what the peer does: from source text to fingerprints with lines."""


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
    # SHA-1 is slow, and a tenth of the corpus tells its rate
    few = texts[::10]
    canonical = [
        units for units in map(character_units, texts) if units.dtype == np.uint8 and len(units) >= CHARACTERS.k
    ]
    joined = np.concatenate(canonical).astype(np.uint8)
    ways: dict[str, Callable[[], object]] = {
        "characters": lambda: [fingerprint(text, "python", ONLY_CHARACTERS) for text in texts],
        "default": lambda: [fingerprint(text, "python", DEFAULT) for text in texts],
        "paper": lambda: [fingerprint(text, "python", PAPER) for text in few],
        "winnowing": lambda: list(map(winnowed, canonical)),
        "winnowing, one text": lambda: winnowed(joined),
    }
    sizes = dict.fromkeys(ways, total) | {"paper": sum(len(text.encode()) for text in few)}
    sizes |= dict.fromkeys(("winnowing", "winnowing, one text"), len(joined))
    if importlib.util.find_spec(PEER):
        peer = importlib.import_module(f"{PEER}.winnowing").Winnowing(c_accelerated=True)
        contents = list(map(str.encode, texts))
        ways[PEER] = lambda: [peer.wfp_for_contents("file.py", bin_file=False, contents=text) for text in contents]
        sizes[PEER] = total
    return ways, sizes


def character_units(text: str) -> Units:
    """The canonical characters of a text."""
    source = Source.of(text)
    return characters(source, find_regions(source, lexical_rules("python"))).units


def winnowed(units: Units) -> object:
    """Fingerprints of canonical characters."""
    return winnow(units, k=CHARACTERS.k, w=CHARACTERS.w, gram_hash=GRAM_HASHES[CHARACTERS.hash])


def run(scale: tuple[int, int], seed: int, data: Data) -> Result:
    """Fingerprints with lines from source text, beside the C extension of scanoss_winnowing where it is installed."""
    size, repeats = scale
    texts = corpus(size)
    ways, sizes = ways_and_sizes(texts)
    seconds = interleaved(ways, repeats, time.process_time)
    peer = seconds.get(PEER)
    rows = []
    for name, taken in seconds.items():
        row = {
            "way": name,
            "files": len(texts),
            "megabytes": sizes[name] / 1e6,
            "megabytes_per_second": rates(sizes[name] / 1e6, taken),
            "times_as_fast_as_scanoss": ratios(peer, taken) if peer and name in END_TO_END else None,
            "scanoss": version(PEER) if peer else None,
        }
        rows.append(row)
    return Result(rows)


EXPERIMENTS = (
    Experiment(
        name="performance/fingerprints",
        run=run,
        scales={"smoke": (60_000, 1), "full": (12_000_000, 7)},
        columns=("way", "megabytes", "megabytes_per_second", "times_as_fast_as_scanoss"),
    ),
)
