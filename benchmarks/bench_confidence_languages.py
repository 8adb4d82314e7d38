"""Is the confidence of a match what it says in every language? Tables are measured, and checked on other packages.

    python benchmarks/bench_confidence_languages.py --corpora CORPORA [--encoder builtin:windows] [--keep]

CORPORA has a folder for each language, and in it a folder for each package: unpacked archives of npm, PyPI and Debian.
The packages of a language are dealt to four groups: an index and unrelated functions, from which the table is measured;
another index and other unrelated functions, on which it is checked. No package is in two groups. Unrelated functions
are cut to runs of 1 to 32 lines, and each cut is traced. The result is the share of cuts for which some document has at
least a given confidence; at most 1 minus that confidence should. Near-duplicates are removed by the rule of
`assay.provenance.calibrating`. `--keep` puts among the shipped tables those that reach the target: the rates of
fingerprints and vectors together, and those of fingerprints alone, each where its share is within it.

The same table is then used for copies: cuts of documents of the checked index, renamed, or renamed and edited. Which
share has its own document at least a given confidence: by the fused value, and by the smallest rate of a channel times
the number of channels (Bonferroni's correction)?
"""

import argparse
import json
import random
import sysconfig
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from bench_confidence import BY, LINES, confidences, further, keep, shares, surest
from measuring import arguments, write

from assay.provenance import (
    CodeIndex,
    Document,
    Filters,
    Origin,
    SourceText,
    StoredDocument,
    boilerplate_of,
    candidates_of,
    edited,
    read_query,
    renamed,
    source_texts,
)
from assay.provenance.calibrating import calibrate_index, cuts, nearest, sampled_functions
from assay.provenance.candidates import Candidates, channel_values
from assay.provenance.confidence import CalibrationTable
from assay.provenance.fusing import VECTOR
from assay.provenance.length_bins import bin_of
from assay.retrieval import CANDIDATES
from assay.retrieval.encoding import open_encoder
from assay.types import Encoder, Float64Array

LANGUAGES = ("c", "cpp", "go", "java", "javascript", "python", "rust", "typescript")
GROUPS = ("measured index", "measured queries", "checked index", "checked queries")
STANDARD = ("email", "http", "importlib", "json", "logging", "multiprocessing", "unittest", "xml")
"""Packages of the standard library for --smoke."""
IN_INDEX, MEASURED, CHECKED = 3_000, 800, 400
MOST_ERROR = 1.5
"""Largest share of unrelated code with a confidence, as a multiple of 1 minus that confidence."""
COPIED, COPIED_LINES = 120, (2, 4, 8, 16)
"""Documents that are copied, and lines of the copies."""
OF_EACH = 6
"""Functions of one file."""
NOT_READ = ("test", "tests", "testdata", "__tests__", "examples", "vendor", "node_modules", "*.min.js", "dist", "umd")


def main() -> None:
    """Measure and check, and write the figures."""
    options, began = arguments(__doc__, further_options), time.perf_counter()
    if options.corpora is None and not options.smoke:
        raise SystemExit("--corpora is missing: expected a folder of languages, each a folder of packages")
    languages = options.languages.split(",") if options.languages else LANGUAGES if options.corpora else ["python"]
    encoder = open_encoder(options.encoder)
    name = "confidence_languages" + ("" if options.encoder == "builtin:fragments" else "_windows")
    results = [row for row in earlier(options.out / f"{name}.json") if row["language"] not in languages]
    tables: list[CalibrationTable] = []
    for language in languages:
        groups = dealt(packages_of(language, options.corpora))
        if min(map(len, groups)) == 0:
            print(f"{language}: fewer than four packages")
            continue
        table, rows = measured(language, groups, encoder, smoke=options.smoke)
        tables += reaching(table, rows)
        results += rows
        print(write(name, options, results, began), flush=True)
        if options.keep:
            keep(tables, encoder, provenance(results))


def further_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this script."""
    further(parser)
    parser.add_argument("--corpora", type=Path, help="folder of languages, each a folder of packages")
    parser.add_argument("--languages", help="comma-separated (default: all; without --corpora Python)")


def provenance(rows: Sequence[Mapping[str, Any]]) -> dict[str, object]:
    """Return the record of the shipped tables."""
    queries = {row["language"]: row["functions"]["measured queries"] for row in rows}
    return {
        "unrelated": "packages of npm, PyPI and Debian, which benchmarks/results/confidence_languages.json names",
        "functions": sum(queries.values()),
        "functions_by_language": queries,
        "seed": 0,
    }


def earlier(path: Path) -> list[dict[str, object]]:
    """Return the rows that a file of results has already."""
    return json.loads(path.read_text("utf-8"))["results"] if path.exists() else []


def packages_of(language: str, corpora: Path | None) -> list[Path]:
    """Return the folders of the packages of a language; without corpora some of Python's standard library."""
    if corpora is None:
        return [Path(sysconfig.get_paths()["stdlib"]) / name for name in STANDARD]
    return sorted(path for path in (corpora / language).iterdir() if path.is_dir())


def dealt(packages: list[Path]) -> list[list[Path]]:
    """Return the packages in as many groups as `GROUPS`, at random."""
    random.Random(0).shuffle(packages)  # noqa: S311  no secret
    return [packages[group :: len(GROUPS)] for group in range(len(GROUPS))]


def measured(
    language: str, groups: Sequence[Sequence[Path]], encoder: Encoder, *, smoke: bool
) -> tuple[CalibrationTable, list[dict[str, object]]]:
    """Return the table of a language, and the shares on packages that it was not measured on."""
    scale = 20 if smoke else 1
    of_group = [
        [*islice(functions(group, language), most // scale)]
        for group, most in zip(groups, (IN_INDEX, MEASURED, IN_INDEX, CHECKED), strict=True)
    ]
    names = {name: [path.name for path in group] for name, group in zip(GROUPS, groups, strict=True)}
    with tempfile.TemporaryDirectory() as folder:
        with index_of(Path(folder) / "measured", of_group[0], encoder) as index:
            calibration = calibrate_index(index, of_group[1], measured_on=", ".join(names["measured queries"]))
        (table,) = calibration.tables
        with index_of(Path(folder) / "checked", of_group[2], encoder) as index:
            boilerplate = boilerplate_of(index.profile)
            unrelated = [function for function in of_group[3] if not nearest(function, index, boilerplate)[1]]
            applied = calibration.table_for(
                language, documents=index.languages()[language], encoder_digest=index.encoder_digest
            )
            assert applied is not None
            rows = list(checked(unrelated, index, applied, language))
            originals = index.documents(random.Random(1).sample(index.ids(), min(COPIED // scale, len(index))))  # noqa: S311  no secret
            rows += copies(originals, index, applied, language)
    sizes = {name: len(texts) for name, texts in zip(GROUPS, of_group, strict=True)}
    return table, [{"language": language, "functions": sizes, "packages": names, **row} for row in rows]


def functions(packages: Sequence[Path], language: str) -> Iterator[SourceText]:
    """Yield functions of packages in turn, so that a large package does not stand for its language."""
    filters = Filters(exclude=NOT_READ, languages=frozenset({language}))
    turns = [
        sampled_functions(
            (file for file in source_texts([str(package)], filters) if file.language == language), of_each=OF_EACH
        )
        for package in packages
    ]
    while turns:
        for package in list(turns):
            if (function := next(package, None)) is None:
                turns.remove(package)
            else:
                yield function


def index_of(folder: Path, texts: Sequence[SourceText], encoder: Encoder) -> CodeIndex:
    """Return an index of functions with their vectors."""
    index = CodeIndex.create(folder, encoder=encoder)
    index.add(
        Document(text.text, text.language, "function", text.name, (Origin("packages", text.path),)) for text in texts
    )
    index.commit()
    return index


def checked(
    unrelated: Sequence[SourceText], index: CodeIndex, table: CalibrationTable, language: str
) -> Iterator[dict[str, object]]:
    """Yield the shares of cuts that reach each confidence: of each length, and of all lengths together."""
    draw = random.Random(7)  # noqa: S311  no secret
    best: dict[int, list[tuple[float, ...]]] = {length: [] for length in LINES}
    for function in unrelated:
        for cut in cuts(function.text, draw):
            if (length := cut.count("\n")) in best:
                best[length].append(surest(cut, index, table, language))
    every = [values for of_length in best.values() for values in of_length]
    for lines, of_length in (*best.items(), (0, every)):
        for by, values in zip(BY, zip(*of_length, strict=True), strict=False):
            row = {"queries": "unrelated", "lines": lines or "all", "by": by}
            yield row | {"n": len(values), "at_least": shares(values)}


def copies(
    originals: Sequence[StoredDocument], index: CodeIndex, table: CalibrationTable, language: str
) -> Iterator[dict[str, object]]:
    """Yield the shares of altered cuts whose own document has each confidence, by length and rule."""
    donors = [document.text for document in originals]
    for kind in ("renamed", "renamed and edited"):
        draw = random.Random(3)  # noqa: S311  no secret
        measured: dict[int, list[tuple[float, float]]] = {length: [] for length in COPIED_LINES}
        for document in originals:
            for cut in cuts(document.text, draw):
                if (length := cut.count("\n")) in measured:
                    changed = edited(cut, donors, seed=length) if kind != "renamed" else cut
                    altered = renamed(changed, language, seed=length)
                    measured[length].append(own_confidence(altered, document.id, index, table, language))
        for length, pairs in measured.items():
            for rule, values in zip(("fused", "smallest rate"), zip(*pairs, strict=True), strict=False):
                row = {"queries": kind, "lines": length, "by": rule}
                yield row | {"n": len(values), "at_least": shares(values)}


def own_confidence(
    text: str, number: int, index: CodeIndex, table: CalibrationTable, language: str
) -> tuple[float, float]:
    """Return the confidence of one document by the fused value, and by the smallest rate of a channel."""
    query = read_query(text, language, index, boilerplate_of(index.profile))
    candidates = candidates_of(query, index, "union", CANDIDATES)
    at = np.flatnonzero(candidates.documents == number)
    if not len(at):
        return 0.0, 0.0
    by_fused = confidences(candidates, table, query.units)[at[0]]
    return float(by_fused), float(by_smallest_rate(candidates, table, query.units)[at[0]])


def by_smallest_rate(candidates: Candidates, table: CalibrationTable, units: int) -> Float64Array:
    """Return the confidence of each candidate by Bonferroni's correction: 1 - channels x smallest rate."""
    rates = [
        length_bin.rates(column)
        for name, (length, column) in channel_values(candidates, units).items()
        if (length_bin := bin_of(table.channels.get(name, ()), length)) is not None
    ]
    if not rates:
        return np.zeros(len(candidates.documents))
    confidence: Float64Array = 1 - (table.growth * len(rates) * np.min(rates, axis=0)).clip(max=1.0)
    return confidence


def reaching(table: CalibrationTable, rows: Sequence[Mapping[str, Any]]) -> list[CalibrationTable]:
    """Return the table with the fused rates that reach the target on other packages; nothing where none do."""
    every = {row["by"]: row["at_least"] for row in rows if row["lines"] == "all"}

    def within(by: str) -> bool:
        return all(every[by][str(level)]["value"] <= MOST_ERROR * (1 - level) for level in (0.95, 0.99))

    reached = {"both": within("both"), "fingerprints": within("fingerprints")}
    channels = {name: bins for name, bins in table.channels.items() if reached["both"] or name != VECTOR}
    fused = {name: bins for name, bins in table.fused.items() if reached["both" if VECTOR in name else "fingerprints"]}
    return [replace(table, channels=channels, fused=fused)] if fused else []


if __name__ == "__main__":
    main()
