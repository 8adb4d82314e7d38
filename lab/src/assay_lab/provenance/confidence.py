"""Is the confidence of a match what it says? What a trace finds for code that is not in the index.

`provenance/confidence`: the index holds the standard library, files and functions, with vectors of `builtin:fragments`.
Functions of installed packages are cut to runs of lines: half of the packages calibrate, the other half are looked for.
Which share of those has a candidate, any, of at least a given confidence: by fingerprints and vectors together, by
fingerprints alone, by a vector without fingerprints? And of cuts of the library itself, as they stand and with every
name replaced? Near-duplicates of the library are taken out of both halves.

`provenance/confidence_languages`: the packages of a language are dealt to four groups: an index and unrelated
functions, from which the table is measured; another index and other unrelated functions, on which it is checked. No
package is in two groups. Unrelated functions are cut to runs of 1 to 32 lines, and each cut is traced. The result is
the share of cuts for which some document has at least a given confidence; at most 1 minus that confidence should. With
`tables`, those that reach the target are put among the shipped tables: the rates of fingerprints and vectors together,
and those of fingerprints alone, each where its share is within it. `provenance/confidence_python` is the same for
Python alone with more functions, for a table of a larger index.

The same table is then used for copies: cuts of documents of the checked index, renamed, or renamed and edited. Which
share has its own document at least a given confidence: by the fused value, and by the smallest rate of a channel times
the number of channels (Bonferroni's correction)?
"""

import builtins
import keyword
import random
import re
import sysconfig
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib.util import find_spec
from itertools import islice, repeat
from operator import or_
from pathlib import Path
from typing import Any, cast

import numpy as np

from assay.corpora import CorpusSettings, Document, Origin, SourceText, pieces, source_texts
from assay.provenance import CodeIndex, IndexCalibration, StoredDocument, calibrate_index
from assay.provenance.confidence import VECTOR, CalibrationTable, bin_of, shipped_calibration
from assay.provenance.search import (
    Candidates,
    boilerplate_of,
    candidates_of,
    channel_values,
    cut_runs,
    nearest,
    rates_of,
    read_query,
    sampled_functions,
)
from assay.retrieval import CANDIDATES, DEFAULT, open_encoder
from assay.types import Encoder, Float64Array
from assay_lab.clones import edit_lines, rename_all
from assay_lab.columns import attributes, having, text_column
from assay_lab.evaluation.independent import wilson
from assay_lab.experiments.declaration import WORK, Data, Experiment, Result
from assay_lab.measuring import with_ends
from assay_lab.result_rows import column, grouped, where

LEVELS = (0.9, 0.95, 0.99)
LINES = (1, 2, 4, 8, 16, 32)
BY = ("both", "fingerprints", "vector alone")
KEPT = {*keyword.kwlist, *keyword.softkwlist, *dir(builtins), "self", "cls"}
HALVES = (
    ("sympy", "pandas", "scipy", "transformers", "hypothesis", "rich", "selenium", "huggingface_hub"),
    ("networkx", "sklearn", "numpy", "datasets", "peft", "pydantic", "pygments", "mpmath"),
)
"""Packages that calibrate, packages that are traced; those that are installed."""
NOT_CORPUS = ("site-packages", "test", "tests", "idle_test", "lib2to3")
LANGUAGES = (
    "c",
    "cpp",
    "csharp",
    "go",
    "java",
    "javascript",
    "kotlin",
    "php",
    "python",
    "ruby",
    "rust",
    "scala",
    "swift",
    "typescript",
)
GROUPS = ("measured index", "measured queries", "checked index", "checked queries")
STANDARD = ("email", "http", "importlib", "json", "logging", "multiprocessing", "unittest", "xml")
"""Packages of the standard library, for the scale smoke."""
IN_INDEX, MEASURED, CHECKED = 3_000, 800, 400
LARGER = 4.0
"""Times as many functions, for a table of Python's packages that holds in larger indexes."""
MOST_ERROR = 1.5
"""Largest share of unrelated code with a confidence, as a multiple of 1 minus that confidence."""
COPIED, COPIED_LINES = 120, (2, 4, 8, 16)
"""Documents that are copied, and lines of the copies."""
OF_EACH = 6
"""Functions of one file."""
NOT_READ = ("test", "tests", "testdata", "__tests__", "examples", "vendor", "node_modules", "*.min.js", "dist", "umd")


def run_library(scale: tuple[tuple[str, ...], tuple[tuple[str, ...], ...], int], seed: int, data: Data) -> Result:
    """Is the confidence of a match what it says? What a trace finds for code that is not in the index."""
    parts, halves, most = scale
    root = Path(sysconfig.get_paths()["stdlib"])
    with CodeIndex.create(data[WORK] / "index", encoder=open_encoder("builtin:fragments")) as index:
        index.add(documents(list(map(root.joinpath, parts))))
        index.commit()
        measuring, fresh = ([*islice(sampled_functions(texts(half)), most)] for half in halves)
        rates = calibrate_index(index, measuring)
        table = rates.table_for("python", documents=len(index), encoder_digest=index.encoder_digest)
        assert table is not None
        boilerplate = boilerplate_of(index.profile)
        # near-duplicates of the library are no unrelated code
        own = [function for function in fresh if not nearest(function, index, boilerplate)[1]]
        inside = index.documents(random.Random(1).sample(index.ids(), min(most // 2, len(index))))  # noqa: S311  no secret
        functions = [
            SourceText("library", text=document.text, language="python", name=document.name)
            for document in inside
            if document.kind == "function"
        ]
        calibrated = Calibrated(index, table, "python")
        rows = [
            *calibrated.shares_of_cuts("unrelated", own),
            *calibrated.shares_of_cuts("copied", functions),
            *calibrated.shares_of_cuts("renamed", functions, rename=True),
        ]
    about = {"documents": len(index), "calibrated_on": len(measuring)}
    return Result(list(map(or_, rows, repeat(about))))


def run_languages(scale: tuple[tuple[str, ...], float, str], seed: int, data: Data) -> Result:
    """Is the confidence of a match what it says in every language? Tables are measured, and checked elsewhere."""
    languages, times, name = scale
    encoder = open_encoder(name)
    rows: list[dict[str, Any]] = []
    for language in present(languages, data.get("corpora")):
        groups = dealt(packages_of(language, data.get("corpora")))
        table, own = measured(language, groups, encoder=encoder, folder=data[WORK] / language, times=times)
        rows += own
        if "tables" in data and (kept := reaching(table, own)):
            keep([kept], encoder=encoder, rows=rows, folder=data["tables"])
    return Result(rows)


def keep(tables: Sequence[CalibrationTable], encoder: Encoder, rows: Sequence[Mapping[str, Any]], folder: Path) -> None:
    """Write the shipped tables again, with these in place of those of the same language and about the same size.

    Tables that were measured with other weights of the encoder are dropped.
    """
    shipped = shipped_calibration(DEFAULT, encoder.digest)
    assert shipped is not None
    stored = shipped.tables if shipped.encoder_digest == encoder.digest else ()
    others = [table for table in stored if not any(map(partial(is_about_as_large, table), tables))]
    every = tuple(sorted((*others, *tables), key=lambda table: (str(table.language), table.documents)))
    queries = dict(cast("Mapping[str, int]", (shipped.provenance or {}).get("functions_by_language", {})))
    queries |= {row["language"]: row["functions"]["measured queries"] for row in rows}
    record = {
        "unrelated": "packages and public repositories that lab/results/confidence_languages.json names",
        "functions": sum(queries.values()),
        "functions_by_language": dict(sorted(queries.items())),
        "seed": 0,
    }
    name = "default.windows.json" if encoder.name == "builtin:windows" else "default.json"
    calibration = IndexCalibration(shipped.profile, tables=every, encoder_digest=encoder.digest, provenance=record)
    calibration.save(folder / name)
    # the next call reads the file that was just written
    shipped_calibration.cache_clear()


def is_about_as_large(table: CalibrationTable, other: CalibrationTable) -> bool:
    """Return True for two tables of a language and of sizes that differ by less than a factor of two."""
    sizes = sorted((table.documents, other.documents))
    return table.language == other.language and sizes[1] < 2 * sizes[0]


def documents(paths: Sequence[Path]) -> Iterator[Document]:
    """Yield files and functions of the library."""
    filters = CorpusSettings(exclude=NOT_CORPUS, language=("python",))
    for file in source_texts(list(map(str, paths)), filters):
        for piece in pieces(file.text, file.language).pieces:
            place = Origin("standard library", file.path, first_line=piece.first_line)
            yield Document(piece.text, language=file.language, kind=piece.kind, name=piece.name, origins=(place,))


def texts(packages: Sequence[str]) -> list[SourceText]:
    """Return the source files of packages."""
    filters = CorpusSettings(exclude=("tests", "test", "_vendor"), language=("python",))
    specs = list(map(find_spec, packages))
    folders = [str(Path(spec.origin).parent) for spec in specs if spec is not None and spec.origin]
    return list(source_texts(folders, filters))


@dataclass(frozen=True, slots=True)
class Calibrated:
    """An index of one language and the table that gives its matches a confidence."""

    index: CodeIndex
    table: CalibrationTable
    language: str

    def shares_of_cuts(
        self, kind: str, functions: Sequence[SourceText], *, rename: bool = False
    ) -> Iterator[dict[str, object]]:
        """Yield the shares of cuts of each length whose best match has each confidence."""
        draw = random.Random(7)  # noqa: S311  no secret
        best: dict[int, list[tuple[float, ...]]] = {length: [] for length in LINES}
        for function in functions:
            for cut in cut_runs(function.text, draw):
                if (length := cut.count("\n")) in best:
                    best[length].append(self.surest(renamed(cut, draw) if rename else cut))
        for length, of_length in best.items():
            yield from rows_by(BY, of_length, {"queries": kind, "lines": length})

    def candidates(self, text: str) -> tuple[Candidates, int]:
        """Return the candidates for a text, and its length in units."""
        query = read_query(
            text, language=self.language, index=self.index, boilerplate=boilerplate_of(self.index.profile)
        )
        return candidates_of(query, index=self.index, method="union", most=CANDIDATES), query.units

    def surest(self, text: str) -> tuple[float, ...]:
        """Return the largest confidence of any candidate in each of the ways of `BY`."""
        candidates, units = self.candidates(text)
        # NaN is the cosine of a document that no vector found
        without = replace(candidates, cosines=np.full(len(candidates.documents), np.nan))
        shares_nothing = np.ones(len(candidates.documents), np.bool_)
        for overlap in candidates.overlaps:
            shares_nothing &= overlap.shared_distinctive == 0
        both = confidences(candidates, self.table, units)
        by_fingerprints = confidences(without, self.table, units)
        return both.max(initial=0), by_fingerprints.max(initial=0), both[shares_nothing].max(initial=0)

    def own_confidence(self, text: str, number: int) -> tuple[float, float]:
        """Return the confidence of one document by the fused value, and by the smallest rate of a channel."""
        candidates, units = self.candidates(text)
        at = np.flatnonzero(candidates.documents == number)
        if not len(at):
            return 0.0, 0.0
        by_fused = confidences(candidates, self.table, units)[at[0]]
        return float(by_fused), float(by_smallest_rate(candidates, self.table, units)[at[0]])

    def copies(self, originals: Sequence[StoredDocument]) -> Iterator[dict[str, object]]:
        """Yield the shares of altered cuts whose own document has each confidence, by length and rule."""
        donors = text_column(originals)
        for kind in ("renamed", "renamed and edited"):
            draw = random.Random(3)  # noqa: S311  no secret
            measured: dict[int, list[tuple[float, float]]] = {length: [] for length in COPIED_LINES}
            for document in originals:
                for cut in cut_runs(document.text, draw):
                    if (length := cut.count("\n")) in measured:
                        changed = edit_lines(cut, donors, seed=length) if kind != "renamed" else cut
                        altered = rename_all(changed, self.language, seed=length)
                        measured[length].append(self.own_confidence(altered, document.id))
            for length, pairs in measured.items():
                yield from rows_by(("fused", "smallest rate"), pairs, {"queries": kind, "lines": length})


def rows_by(
    ways: Sequence[str], values: Sequence[tuple[float, ...]], about: Mapping[str, object]
) -> Iterator[dict[str, object]]:
    """Yield for each way the share of values that reach each confidence; nothing where there are none."""
    # without values the array has no row for any way
    for by, own in zip(ways, np.array(values).T, strict=False):
        reaching = {str(level): with_ends(wilson(int((own >= level).sum()), len(own))) for level in LEVELS}
        yield {**about, "by": by, "n": len(own), "at_least": reaching}


def confidences(candidates: Candidates, calibration: CalibrationTable, units: int) -> Float64Array:
    """Return the confidence of each candidate, 0 where there is none."""
    rates = rates_of(candidates, calibration, units=units)
    # a candidate without a rate has no confidence
    return np.zeros(len(candidates.documents)) if rates is None else 1 - np.nan_to_num(rates.rates, nan=1.0)


def renamed(text: str, draw: random.Random) -> str:
    """Return the text with every name replaced that is not a word of the language."""
    new = {}
    for name in sorted(set(re.findall(r"[A-Za-z_]\w*", text))):
        new[name] = f"{draw.choice('qxz')}{draw.randrange(10**6)}"
        # it has drawn all the same
        if name in KEPT:
            new[name] = name
    return re.sub(r"[A-Za-z_]\w*", lambda hit: new[hit[0]], text)


def packages_of(language: str, corpora: Path | None) -> list[Path]:
    """Return the folders of the packages of a language; without corpora some of Python's standard library."""
    if corpora is None:
        return list(map(Path(sysconfig.get_paths()["stdlib"]).joinpath, STANDARD))
    return sorted(filter(Path.is_dir, (corpora / language).iterdir()))


def present(languages: Sequence[str], corpora: Path | None) -> list[str]:
    """Return the languages that the corpora have; without corpora all."""
    return [name for name in languages if corpora is None or (corpora / name).is_dir()]


def dealt(packages: list[Path]) -> list[list[Path]]:
    """Return the packages in as many groups as `GROUPS`, at random."""
    random.Random(0).shuffle(packages)  # noqa: S311  no secret
    return [packages[group :: len(GROUPS)] for group in range(len(GROUPS))]


def measured(
    language: str, groups: Sequence[Sequence[Path]], encoder: Encoder, folder: Path, times: float
) -> tuple[CalibrationTable, list[dict[str, Any]]]:
    """Return the table of a language, and the shares on packages that it was not measured on."""
    of_group, names = [], {}
    for name, group, most in zip(GROUPS, groups, (IN_INDEX, MEASURED, IN_INDEX, CHECKED), strict=True):
        of_group.append([*islice(functions(group, language), int(times * most))])
        names[name] = attributes(group, "name")
    with index_of(folder / "measured", of_group[0], encoder) as index:
        calibration = calibrate_index(index, of_group[1], measured_on=", ".join(names["measured queries"]))

    (table,) = calibration.tables
    with index_of(folder / "checked", of_group[2], encoder) as index:
        boilerplate = boilerplate_of(index.profile)
        unrelated = [function for function in of_group[3] if not nearest(function, index, boilerplate)[1]]
        documents = index.languages()[language]
        applied = calibration.table_for(language, documents=documents, encoder_digest=index.encoder_digest)
        assert applied is not None
        calibrated = Calibrated(index, applied, language)
        rows = list(calibrated.shares_of_cuts("unrelated", unrelated))
        rows += of_all_lengths(rows)
        originals = index.documents(random.Random(1).sample(index.ids(), min(int(times * COPIED), len(index))))  # noqa: S311  no secret
        rows += calibrated.copies(originals)
    sizes = dict(zip(GROUPS, map(len, of_group), strict=True))
    about = {"language": language, "functions": sizes, "packages": names}
    return table, list(map(partial(or_, about), rows))


def of_all_lengths(rows: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, object]]:
    """Yield for each way the shares of the cuts of all lengths together."""
    for by, own in grouped(rows, "by").items():
        total = sum(column(own, "n"))
        reaching = {}
        for level in map(str, LEVELS):
            # a row holds a share of its n, and so a whole count
            count = sum(round(row["at_least"][level]["value"] * row["n"]) for row in own)
            reaching[level] = with_ends(wilson(count, total))
        yield {"queries": "unrelated", "lines": "all", "by": by, "n": total, "at_least": reaching}


def functions(packages: Sequence[Path], language: str) -> Iterator[SourceText]:
    """Yield functions of packages in turn, so that a large package does not stand for its language."""
    filters = CorpusSettings(exclude=NOT_READ, language=(language,))
    turns = []
    for package in packages:
        files = having(source_texts([str(package)], filters), language=language)
        turns.append(sampled_functions(files, of_each=OF_EACH))
    return in_turn(turns)


def in_turn(sources: Iterable[Iterator[SourceText]]) -> Iterator[SourceText]:
    """Yield one text of each source, then a second one of each, as long as they have any."""
    left = list(sources)
    while left:
        # a copy, because a source that has ended leaves the list
        for source in list(left):
            if (text := next(source, None)) is None:
                left.remove(source)
            else:
                yield text


def index_of(folder: Path, texts: Sequence[SourceText], encoder: Encoder) -> CodeIndex:
    """Return an index of functions with their vectors."""
    index = CodeIndex.create(folder, encoder=encoder)
    index.add(map(packaged, texts))
    index.commit()
    return index


def packaged(text: SourceText) -> Document:
    """Return a function of a package as a document."""
    place = Origin("packages", text.path)
    return Document(text.text, language=text.language, kind="function", name=text.name, origins=(place,))


def by_smallest_rate(candidates: Candidates, table: CalibrationTable, units: int) -> Float64Array:
    """Return the confidence of each candidate by Bonferroni's correction: 1 - channels x smallest rate."""
    rates = []
    for name, (length, values) in channel_values(candidates, units).items():
        length_bin = bin_of(table.channels.get(name, ()), length)
        if length_bin is not None:
            rates.append(length_bin.rates(values))
    if not rates:
        return np.zeros(len(candidates.documents))
    confidence: Float64Array = 1 - (table.growth * len(rates) * np.min(rates, axis=0)).clip(max=1.0)
    return confidence


def reaching(table: CalibrationTable, rows: Sequence[Mapping[str, Any]]) -> CalibrationTable | None:
    """Return the table with the fused rates that reach the target on other packages; None where none do."""
    every = {row["by"]: row["at_least"] for row in where(rows, lines="all")}

    def within(by: str) -> bool:
        return all(every[by][str(level)]["value"] <= MOST_ERROR * (1 - level) for level in (0.95, 0.99))

    reached = {"both": within("both"), "fingerprints": within("fingerprints")}
    channels = {name: bins for name, bins in table.channels.items() if reached["both"] or name != VECTOR}
    fused = {name: bins for name, bins in table.fused.items() if reached["both" if VECTOR in name else "fingerprints"]}
    return replace(table, channels=channels, fused=fused) if fused else None


CORPORA = {"corpora": "a folder of languages, each a folder of unpacked packages of npm, PyPI and Debian"}


def in_languages(name: str, encoder: str, *, languages: tuple[str, ...] = LANGUAGES, times: float = 1.0) -> Experiment:
    """Return the experiment on languages with vectors of an encoder, and so many times the texts."""
    return Experiment(
        name=name,
        run=run_languages,
        scales={"smoke": (("python",), 0.05, encoder), "full": (languages, times, encoder)},
        columns=("language", "queries", "lines", "by", "n", ("at_least", "0.95"), ("at_least", "0.99")),
        needs=CORPORA,
        takes={"tables": "a folder of calibrations: tables that reach the target are put into its file"},
        smoke_does_without=True,
    )


EXPERIMENTS = (
    Experiment(
        name="provenance/confidence",
        run=run_library,
        scales={"smoke": (("email", "json"), (("rich",), ("mpmath",)), 60), "full": (("",), HALVES, 500)},
        columns=("queries", "lines", "by", "n", ("at_least", "0.95")),
    ),
    in_languages("provenance/confidence_languages", "builtin:fragments"),
    in_languages("provenance/confidence_languages_windows", "builtin:windows"),
    in_languages("provenance/confidence_python", "builtin:fragments", languages=("python",), times=LARGER),
)
