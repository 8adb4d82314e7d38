"""Is the confidence of a match what it says? What a trace finds for code that is not in the index.

    python benchmarks/bench_confidence.py [--smoke --out DIR]

The index holds the standard library, files and functions, with vectors of `builtin:fragments`. Functions of installed
packages are cut to runs of lines: half of the packages calibrate, the other half are looked for. Which share of those
has a candidate, any, of at least a given confidence: by fingerprints and vectors together, by fingerprints alone, by
a vector without fingerprints? And of cuts of the library itself, as they stand and with every name replaced?

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
from dataclasses import replace
from importlib.util import find_spec
from itertools import islice
from pathlib import Path

import numpy as np
from measuring import arguments, write

from assay.evaluation.calibration import wilson
from assay.provenance import CodeIndex, Document, Origin
from assay.provenance.boilerplate import default_boilerplate
from assay.provenance.calibrating import calibrate_index, cuts, nearest, sampled_functions
from assay.provenance.candidates import Candidates, candidates_of, similarity_of
from assay.provenance.confidence import CalibrationTable
from assay.provenance.evidence import read_query
from assay.provenance.filters import Filters
from assay.provenance.splitting import pieces
from assay.provenance.texts import SourceText, source_texts
from assay.retrieval.encoding import open_encoder
from assay.retrieval.postings import CANDIDATES

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
    encoder = open_encoder("builtin:fragments")
    with tempfile.TemporaryDirectory() as folder, CodeIndex.create(Path(folder) / "index", encoder=encoder) as index:
        root = Path(sysconfig.get_paths()["stdlib"])
        paths = [root / "email", root / "json"] if options.smoke else [root]
        index.add(documents(paths))
        index.commit()
        known, fresh = ([*islice(sampled_functions(texts(half)), most)] for half in HALVES)
        calibration = calibrate_index(index, known).table_for(
            "python", documents=len(index), encoder_digest=index.encoder_digest
        )
        assert calibration is not None
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
    called: str, functions: Sequence[SourceText], index: CodeIndex, calibration: CalibrationTable, *, rename: bool
) -> Iterator[dict[str, object]]:
    """Shares of cuts of each length whose best match has each confidence."""
    draw = random.Random(7)  # noqa: S311  no secret
    best: dict[int, list[tuple[float, ...]]] = {length: [] for length in LINES}
    for one in functions:
        for cut in cuts(one.text, draw):
            length = cut.count("\n")
            if length in best:
                best[length].append(surest(renamed(cut, draw) if rename else cut, index, calibration, "python"))
    for length, found in best.items():
        for by, values in zip(BY, zip(*found, strict=True), strict=False):  # no row where no cut has that length
            shares = {}
            for level in LEVELS:
                share = wilson(sum(value >= level for value in values), len(values))
                shares[str(level)] = {"value": share.value, "low": share.low, "high": share.high}
            yield {"queries": called, "lines": length, "by": by, "n": len(values), "at_least": shares}


BY = ("both", "fingerprints", "vector alone")


def surest(text: str, index: CodeIndex, calibration: CalibrationTable, language: str) -> tuple[float, ...]:
    """The largest confidence of any candidate in each of the ways of `BY`."""
    query = read_query(text, language, index, default_boilerplate())
    found = candidates_of(query, index, "union", CANDIDATES)
    without = replace(found, cosines=np.full(len(found.documents), np.nan))

    def confidence(of: Candidates, at: int) -> tuple[float, str]:
        near = similarity_of(at, of, calibration, units=query.units)
        return near.confidence or 0.0, near.channel

    # rates fall with the value, so the surest candidate is the nearest in some channel
    by_fingerprints = [int(np.argmax(one.distinctive_containment)) for one in found.overlaps if len(found.documents)]
    shares = np.zeros(len(found.documents), np.bool_)
    for one in found.overlaps:
        shares |= one.shared_distinctive > 0
    by_vector = [
        int(np.argmax(np.where(chosen & ~np.isnan(found.cosines), found.cosines, -np.inf)))
        for chosen in (shares, ~shares)
        if (chosen & ~np.isnan(found.cosines)).any()
    ]
    both = [confidence(found, at) for at in (*by_fingerprints, *by_vector)]
    return (
        max((value for value, _ in both), default=0.0),
        max((confidence(without, at)[0] for at in by_fingerprints), default=0.0),
        max((value for value, channel in both if channel == "vector"), default=0.0),
    )


KEPT = {*keyword.kwlist, *keyword.softkwlist, *dir(builtins), "self", "cls"}


def renamed(text: str, draw: random.Random) -> str:
    """Every name that is not the language's replaced, wherever it stands."""
    new = {
        name: f"{draw.choice('qxz')}{draw.randrange(10**6)}" for name in sorted(set(re.findall(r"[A-Za-z_]\w*", text)))
    }
    return re.sub(r"[A-Za-z_]\w*", lambda hit: hit[0] if hit[0] in KEPT else new[hit[0]], text)


if __name__ == "__main__":
    main()
