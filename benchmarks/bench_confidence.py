"""Is the confidence of a match what it says? What a trace finds for code that is not in the index.

    python benchmarks/bench_confidence.py [--keep] [--smoke --out DIR]

The index holds the standard library, files and functions, with vectors of `builtin:fragments`. Functions of installed
packages are cut to runs of lines: half of the packages calibrate, the other half are looked for. Which share of those
has a candidate, any, of at least a given confidence: by fingerprints and vectors together, by fingerprints alone, by
a vector without fingerprints? And of cuts of the library itself, as they stand and with every name replaced?

Near-duplicates of the library are taken out of both halves by the rule of `assay.provenance.calibrating`. `--keep` puts
the table among those that are shipped.
"""

import argparse
import builtins
import keyword
import random
import re
import sysconfig
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from importlib.resources import files
from importlib.util import find_spec
from itertools import islice
from pathlib import Path

import numpy as np
from measuring import arguments, write

from assay.evaluation.calibration import wilson
from assay.provenance import CodeIndex, Document, Origin
from assay.provenance.boilerplate import default_boilerplate
from assay.provenance.calibrating import calibrate_index, cuts, nearest, sampled_functions
from assay.provenance.candidates import Candidates, candidates_of, rates_of
from assay.provenance.confidence import CalibrationTable, IndexCalibration, shipped_calibration
from assay.provenance.evidence import read_query
from assay.provenance.filters import Filters
from assay.provenance.splitting import pieces
from assay.provenance.texts import SourceText, source_texts
from assay.retrieval import DEFAULT
from assay.retrieval.encoding import open_encoder
from assay.retrieval.postings import CANDIDATES
from assay.types import Encoder, Float64Array

LEVELS = (0.9, 0.95, 0.99)
LINES = (1, 2, 4, 8, 16, 32)
HALVES = (
    ("sympy", "pandas", "scipy", "transformers", "hypothesis", "rich", "selenium", "huggingface_hub"),
    ("networkx", "sklearn", "numpy", "datasets", "peft", "pydantic", "pygments", "mpmath"),
)
"""Packages that calibrate, packages that are traced; those that are installed."""
SMOKE_HALVES = (("rich",), ("mpmath",))
FUNCTIONS = 500
"""Functions of each half."""
NOT_CORPUS = ("site-packages", "test", "tests", "idle_test", "lib2to3")


def main() -> None:
    """Measure, and write the figures."""
    options, began = arguments(__doc__, further), time.perf_counter()
    most = 60 if options.smoke else FUNCTIONS
    encoder = open_encoder(options.encoder)
    with tempfile.TemporaryDirectory() as folder, CodeIndex.create(Path(folder) / "index", encoder=encoder) as index:
        root = Path(sysconfig.get_paths()["stdlib"])
        paths = [root / "email", root / "json"] if options.smoke else [root]
        index.add(documents(paths))
        index.commit()
        halves = SMOKE_HALVES if options.smoke else HALVES
        measuring, fresh = ([*islice(sampled_functions(texts(half)), most)] for half in halves)
        measured_rates = calibrate_index(index, measuring)
        calibration = measured_rates.table_for("python", documents=len(index), encoder_digest=index.encoder_digest)
        assert calibration is not None
        if options.keep:
            keep(measured_rates.tables, encoder)
        boilerplate = default_boilerplate()
        own = [function for function in fresh if not nearest(function, index, boilerplate)[1]]
        inside = index.documents(random.Random(1).sample(index.ids(), min(most // 2, len(index))))  # noqa: S311  no secret
        functions = [
            SourceText("library", document.text, "python", document.name)
            for document in inside
            if document.kind == "function"
        ]
        results = [
            row | {"documents": len(index), "calibrated_on": len(measuring)}
            for called, read, rename in (
                ("unrelated", own, False),
                ("copied", functions, False),
                ("renamed", functions, True),
            )
            for row in measured(called, read, index, calibration, rename=rename)
        ]
    print(write("confidence", options, results, began))


def further(parser: argparse.ArgumentParser) -> None:
    """Add the option of the scripts that measure tables."""
    parser.add_argument("--keep", action="store_true", help="put the tables among those that are shipped")
    parser.add_argument("--encoder", default="builtin:fragments", help="whose vectors are measured")


def keep(tables: Sequence[CalibrationTable], encoder: Encoder, provenance: Mapping[str, object] | None = None) -> None:
    """Write the shipped tables again, with these in place of those of the same language and about the same size.

    Tables that were measured with other weights of the encoder are dropped.
    """
    shipped = shipped_calibration(DEFAULT, encoder.digest)
    assert shipped is not None
    stored = shipped.tables if shipped.encoder_digest == encoder.digest else ()
    others = [table for table in stored if not any(is_about_as_large(table, new) for new in tables)]
    every = tuple(sorted((*others, *tables), key=lambda table: (str(table.language), table.documents)))
    calibration = IndexCalibration(shipped.profile, every, encoder.digest, provenance or shipped.provenance)
    name = "default.windows.json" if encoder.name == "builtin:windows" else "default.json"
    calibration.save(Path(str(files("assay.provenance") / "calibrations" / name)))
    shipped_calibration.cache_clear()


def is_about_as_large(table: CalibrationTable, other: CalibrationTable) -> bool:
    """Return True for two tables of a language and of sizes that differ by less than a factor of two."""
    sizes = sorted((table.documents, other.documents))
    return table.language == other.language and sizes[1] < 2 * sizes[0]


def documents(paths: Sequence[Path]) -> Iterator[Document]:
    """Yield files and functions of the library."""
    filters = Filters(exclude=NOT_CORPUS, languages=frozenset({"python"}))
    for file in source_texts([str(path) for path in paths], filters):
        for piece in pieces(file.text, file.language).pieces:
            place = Origin("standard library", file.path, first_line=piece.first_line)
            yield Document(piece.text, file.language, piece.kind, piece.name, (place,))


def texts(packages: Sequence[str]) -> list[SourceText]:
    """Return the source files of packages."""
    filters = Filters(exclude=("tests", "test", "_vendor"), languages=frozenset({"python"}))
    specs = [find_spec(name) for name in packages]
    folders = [str(Path(spec.origin).parent) for spec in specs if spec is not None and spec.origin]
    return list(source_texts(folders, filters))


def measured(
    called: str, functions: Sequence[SourceText], index: CodeIndex, calibration: CalibrationTable, *, rename: bool
) -> Iterator[dict[str, object]]:
    """Yield the shares of cuts of each length whose best match has each confidence."""
    draw = random.Random(7)  # noqa: S311  no secret
    best: dict[int, list[tuple[float, ...]]] = {length: [] for length in LINES}
    for function in functions:
        for cut in cuts(function.text, draw):
            length = cut.count("\n")
            if length in best:
                best[length].append(surest(renamed(cut, draw) if rename else cut, index, calibration, "python"))
    for length, of_length in best.items():
        for by, values in zip(BY, zip(*of_length, strict=True), strict=False):  # no row where no cut has that length
            yield {"queries": called, "lines": length, "by": by, "n": len(values), "at_least": shares(values)}


def shares(values: Sequence[float]) -> dict[str, dict[str, float]]:
    """Return the share of values that reach each confidence, with its interval."""
    reaching = {level: wilson(sum(value >= level for value in values), len(values)) for level in LEVELS}
    return {str(level): {"value": it.value, "low": it.low, "high": it.high} for level, it in reaching.items()}


BY = ("both", "fingerprints", "vector alone")


def surest(text: str, index: CodeIndex, calibration: CalibrationTable, language: str) -> tuple[float, ...]:
    """Return the largest confidence of any candidate in each of the ways of `BY`."""
    query = read_query(text, language, index, default_boilerplate())
    candidates = candidates_of(query, index, "union", CANDIDATES)
    without = replace(candidates, cosines=np.full(len(candidates.documents), np.nan))
    shares_nothing = np.ones(len(candidates.documents), np.bool_)
    for overlap in candidates.overlaps:
        shares_nothing &= overlap.shared_distinctive == 0
    both = confidences(candidates, calibration, query.units)
    by_fingerprints = confidences(without, calibration, query.units)
    return both.max(initial=0), by_fingerprints.max(initial=0), both[shares_nothing].max(initial=0)


def confidences(candidates: Candidates, calibration: CalibrationTable, units: int) -> Float64Array:
    """Return the confidence of each candidate, 0 where there is none."""
    rates = rates_of(candidates, calibration, units=units)
    return np.zeros(len(candidates.documents)) if rates is None else 1 - np.nan_to_num(rates.rates, nan=1.0)


KEPT = {*keyword.kwlist, *keyword.softkwlist, *dir(builtins), "self", "cls"}


def renamed(text: str, draw: random.Random) -> str:
    """Return the text with every name replaced that is not a word of the language."""
    new = {
        name: f"{draw.choice('qxz')}{draw.randrange(10**6)}" for name in sorted(set(re.findall(r"[A-Za-z_]\w*", text)))
    }
    return re.sub(r"[A-Za-z_]\w*", lambda hit: hit[0] if hit[0] in KEPT else new[hit[0]], text)


if __name__ == "__main__":
    main()
