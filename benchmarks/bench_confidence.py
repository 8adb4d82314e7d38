"""Is the confidence of a match what it says? `assay trace` on code that is not in the index.

    python benchmarks/bench_confidence.py [--smoke --out DIR]

The index holds the standard library, files and functions. Functions of installed packages are cut to runs of lines:
half of the packages calibrate, the other half are traced. Which share of those has a match of at least a given
confidence? And which share of cuts of the library itself, as they stand and with every name replaced?

Near-duplicates of the library are taken out of both halves by the rule of `assay.provenance.calibrating`.
"""

import builtins
import keyword
import random
import re
import sysconfig
import tempfile
import time
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from itertools import islice
from pathlib import Path

from measuring import arguments, write

from assay.evaluation.calibration import wilson
from assay.provenance import CodeIndex, Document, Origin, trace
from assay.provenance.boilerplate import default_boilerplate
from assay.provenance.calibrating import calibrate, cuts, nearest, sampled_functions
from assay.provenance.confidence import Calibration
from assay.provenance.filters import Filters
from assay.provenance.functions import pieces
from assay.provenance.texts import SourceText, source_texts

LEVELS = (0.9, 0.95, 0.99)
LINES = (1, 2, 4, 8, 16, 32)
HALVES = (
    ("sympy", "pandas", "scipy", "transformers", "hypothesis", "rich", "selenium", "huggingface_hub"),
    ("networkx", "sklearn", "numpy", "datasets", "peft", "pydantic", "pygments", "mpmath"),
)
"""Packages that calibrate, packages that are traced; those that are installed."""
NOT_CORPUS = ("site-packages", "test", "tests", "idle_test", "lib2to3")


def main() -> None:
    """Measure, and write the figures."""
    options, began = arguments(__doc__), time.perf_counter()
    most = 60 if options.smoke else 2_000
    with tempfile.TemporaryDirectory() as folder, CodeIndex.create(Path(folder) / "index") as index:
        root = Path(sysconfig.get_paths()["stdlib"])
        paths = [root / "email", root / "json"] if options.smoke else [root]
        index.add(documents(paths))
        index.commit()
        known, fresh = ([*islice(sampled_functions(texts(half)), most)] for half in HALVES)
        calibration = calibrate(index, known)
        boilerplate = default_boilerplate()
        own = [one for one in fresh if not nearest(one, index, boilerplate)[1]]
        inside = index.documents(random.Random(1).sample(index.ids(), min(most // 2, len(index))))  # noqa: S311  no secret
        functions = [SourceText("library", one.text, "python", one.name) for one in inside if one.kind == "function"]
        results = [
            row | {"documents": len(index), "calibrated_on": len(known)}
            for called, read, rename in (
                ("unrelated", own, False),
                ("copied", functions, False),
                ("renamed", functions, True),
            )
            for row in measured(called, read, index, calibration, rename=rename)
        ]
    print(write("confidence", options, results, began))


def documents(paths: Sequence[Path]) -> Iterator[Document]:
    """Files and functions of the library."""
    filters = Filters(exclude=NOT_CORPUS, languages=frozenset({"python"}))
    for file in source_texts([str(path) for path in paths], filters):
        for piece in pieces(file.text, file.language).pieces:
            place = Origin("standard library", file.path, first_line=piece.first_line)
            yield Document(piece.text, file.language, piece.kind, piece.name, (place,))


def texts(packages: Sequence[str]) -> list[SourceText]:
    """Source files of packages."""
    filters = Filters(exclude=("tests", "test", "_vendor"), languages=frozenset({"python"}))
    found = [find_spec(name) for name in packages]
    folders = [str(Path(spec.origin).parent) for spec in found if spec is not None and spec.origin]
    return list(source_texts(folders, filters))


def measured(
    called: str, functions: Sequence[SourceText], index: CodeIndex, calibration: Calibration, *, rename: bool
) -> Iterator[dict[str, object]]:
    """Shares of cuts of each length whose best match has each confidence."""
    draw = random.Random(7)  # noqa: S311  no secret
    best: dict[int, list[float]] = {length: [] for length in LINES}
    for one in functions:
        for cut in cuts(one.text, draw):
            length = cut.count("\n")
            if length in best:
                query = renamed(cut, draw) if rename else cut
                found = trace(query, index, language="python", calibration=calibration, method="winnowing", top=3)
                best[length].append(max((match.confidence or 0.0 for match in found.matches), default=0.0))
    for length, values in best.items():
        if not values:
            continue
        shares = {}
        for level in LEVELS:
            share = wilson(sum(value >= level for value in values), len(values))
            shares[str(level)] = {"value": share.value, "low": share.low, "high": share.high}
        yield {"queries": called, "lines": length, "n": len(values), "at_least": shares}


KEPT = {*keyword.kwlist, *keyword.softkwlist, *dir(builtins), "self", "cls"}


def renamed(text: str, draw: random.Random) -> str:
    """Every name that is not the language's replaced, wherever it stands."""
    new = {
        name: f"{draw.choice('qxz')}{draw.randrange(10**6)}" for name in sorted(set(re.findall(r"[A-Za-z_]\w*", text)))
    }
    return re.sub(r"[A-Za-z_]\w*", lambda hit: hit[0] if hit[0] in KEPT else new[hit[0]], text)


if __name__ == "__main__":
    main()
