"""Which altered copies does the licence gate deny, in every language, and how often does it accuse clean code?

The packages of a language are dealt in two: an index, all of it under a denied licence, and clean packages. Functions
of the index are altered and traced, each in a file of its own, in one run with own functions of a clean package. A
plant is *denied* if a denial lies on its lines, *first* if its file of the index is the first match of the function in
which it lies. Fragments are pasted into the middle of a long function of a clean package.

Clean code is traced package by package. An alarm whose function has the name and half of the fingerprints of a
function of the index is *of the same name*: mostly a true copy; all are listed, for a person to judge. `sure` is the
share of clean parts with a confidence of at least .99.
"""

import random
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from assay.code import parses
from assay.corpora import CorpusSettings, Document, Origin, SourceText, code_lines, parts_of, pieces, source_texts
from assay.provenance import CodeIndex, TracedFile, judge
from assay.provenance.search import boilerplate_of, nearest
from assay_lab.columns import attributes, having, text_column
from assay_lab.evaluation.independent import wilson
from assay_lab.experiments.declaration import Data, Experiment, Result
from assay_lab.provenance.alterations import ALTERATIONS, Alteration, pasted
from assay_lab.provenance.confidence import CORPORA, LANGUAGES, NOT_READ, in_turn, packages_of, present
from assay_lab.provenance.licence_gate import LICENCE, RULES, alarm, functions_in, is_denied, traced
from assay_lab.result_rows import column

LENGTHS = ((6, 14), (15, 29), (30, 60))
"""Lines with code of the planted functions."""
FRAGMENTS = (15, 8)
"""Lines of the pasted fragments."""
HOST = 40
"""Lines with code of a function that a fragment is pasted into, at least."""
OWN = 12
"""Own functions in the run of a plant."""
SURE = 0.99


Altered = tuple[str, range]
"""An altered text, and the lines of it that are copied."""


class Scale(NamedTuple):
    """Sizes of a measurement: files of the index, plants of each length, clean files."""

    languages: tuple[str, ...]
    files: int
    plants: int
    clean: int


def files_of(packages: Sequence[Path], language: str) -> Iterator[SourceText]:
    """Yield the files of packages in turn, each package in random order, so that a large one does not stand for all."""
    turns = []
    for package in packages:
        files = [*source_texts([str(package)], CorpusSettings(exclude=NOT_READ, language=(language,)))]
        random.Random(0).shuffle(files)  # noqa: S311  no secret
        turns.append(iter([replace(file, path=f"{package.name}/{file.path}") for file in files]))
    return in_turn(turns)


def documents(files: Sequence[SourceText]) -> Iterator[Document]:
    """Yield files and their functions as documents under the denied licence; each package is a source."""
    for file in files:
        package = file.path.partition("/")[0]
        for piece in pieces(file.text, file.language).pieces:
            origin = Origin(package, file.path, licence=LICENCE, first_line=piece.first_line)
            yield Document(piece.text, language=file.language, kind=piece.kind, name=piece.name, origins=(origin,))


def functions(files: Sequence[SourceText], least: int, most: int) -> list[SourceText]:
    """Return functions with that many lines with code, in random order."""
    parts = having(chain.from_iterable(map(parts_of, files)), kind="function")
    fitting = [part for part in parts if least <= len(code_lines(part.text, part.language)) <= most]
    random.Random(1).shuffle(fitting)  # noqa: S311  no secret
    return fitting


def is_first(file: TracedFile, path: str) -> bool:
    """Return True if a file of the index is the first match of the longest function of a traced file."""
    traces = [(len(part.text), result) for part, result in file.parts if part.kind == "function"]
    result = max(traces or [(0, file.parts[-1][1])], key=lambda pair: pair[0])[1]
    return bool(result.matches) and path in set(attributes(result.origins[result.matches[0].document_id], "path"))


def recall(
    originals: Sequence[SourceText], change: Callable[[str, int], Altered | None], *, own: TracedFile, index: CodeIndex
) -> dict[str, object]:
    """Return how many altered functions are denied, and how many are traced to their source first."""
    denied, first, tried = 0, 0, 0
    for number, original in enumerate(originals):
        if (altered := change(original.text, number)) is None:
            continue
        tried += 1
        file = traced(SourceText("plant", altered[0], original.language), index)
        denied += is_denied([own, file], altered[1])
        first += is_first(file, original.path)
    share = wilson(denied, tried)
    counts = {"planted": tried, "denied": denied, "first": first}
    return {**counts, "recall": share.value, "interval": [share.low, share.high]}


def clean_code(language: str, files: Sequence[SourceText], index: CodeIndex) -> dict[str, object]:
    """Return the alarms among the files of clean packages, a run for each package."""
    runs: dict[str, list[TracedFile]] = defaultdict(list)
    for file in files:
        runs[file.path.partition("/")[0]].append(traced(file, index))
    every = list(chain.from_iterable(runs.values()))
    boilerplate = boilerplate_of(index.profile)
    alarms, accused = [], set()
    for package, run in runs.items():
        for denial in judge(run, RULES).denials:
            same_name = nearest(denial.evidence.part, index, boilerplate)[1]
            alarms.append({**alarm(package, denial), "same_name": same_name})
            if not same_name:
                accused.add(denial.finding.path)
    parts = sure = 0
    for _, result in chain.from_iterable(attributes(every, "parts")):
        if not result.too_short:
            parts += 1
            sure += any((match.confidence or 0) >= SURE for match in result.matches)
    count = sum(map(functions_in, every))
    other = column(alarms, "same_name").count(False)
    return {
        "language": language,
        "kind": "clean",
        "packages": len(runs),
        "files": len(every),
        "functions": count,
        "alarms": len(alarms),
        "other_name": other,
        "per_1000": 1000 * other / max(1, count),
        "accused_files": len(accused),
        "sure": sure / max(1, parts),
        "listed": alarms,
    }


def of_language(language: str, scale: Scale, packages: Sequence[Path]) -> Iterator[dict[str, object]]:
    """Yield the rows of one language."""
    dealt = sorted(packages)
    random.Random(0).shuffle(dealt)  # noqa: S311  no secret
    # one half of the packages is indexed, the other is clean
    indexed = [*islice(files_of(dealt[::2], language), scale.files)]
    clean = [*islice(files_of(dealt[1::2], language), scale.clean)]
    with TemporaryDirectory() as folder, CodeIndex.create(Path(folder) / "index", encoder=None) as index:
        index.add(documents(indexed))
        index.commit()
        about = {"documents": len(index), "indexed": attributes(dealt[::2], "name")}
        # a method with a literal that reaches the left margin does not parse on its own
        hosts = functions(clean, HOST, 10 * HOST)
        if language == "python":
            hosts = [part for part in hosts if parses(part.text, language)]
        around = "\n\n".join(text_column(functions(clean, 5, HOST)[:OWN]))
        own = traced(SourceText("own", around, language), index)
        for least, most in LENGTHS:
            originals = functions(indexed, least, most)[: scale.plants]
            for kind, alter in ALTERATIONS.items():
                # the default binds the alteration of this turn
                def change(text: str, number: int, alter: Alteration = alter) -> Altered | None:
                    altered = alter(text, language, number)
                    return (altered, range(1, altered.count("\n") + 2)) if altered else None

                named = {"language": language, "kind": kind, "lines": f"{least}-{most}"}
                yield {**named, **recall(originals, change, own=own, index=index), **about}
        long = functions(indexed, 2 * FRAGMENTS[0], 10 * HOST)[: scale.plants]
        for count in FRAGMENTS if hosts else ():
            # the default binds the length of this turn
            def paste(text: str, number: int, count: int = count) -> Altered | None:
                host = hosts[number % len(hosts)].text
                return pasted(text, language, host=host, count=count, seed=number)

            named = {"language": language, "kind": "pasted into a longer function", "lines": str(count)}
            yield {**named, **recall(long, paste, own=own, index=index), **about}
        yield {**clean_code(language, clean, index), **about}


def run(scale: Scale, seed: int, data: Data) -> Result:
    """Which altered copies does the licence gate deny in every language, and how often does it accuse clean code?"""
    corpora = data.get("corpora")
    languages = present(scale.languages, corpora)
    return Result(list(chain.from_iterable(of_language(name, scale, packages_of(name, corpora)) for name in languages)))


EXPERIMENTS = (
    Experiment(
        name="provenance/licence_gate_languages",
        run=run,
        scales={
            "smoke": Scale(("python",), files=30, plants=2, clean=4),
            "full": Scale(LANGUAGES, files=250, plants=10, clean=60),
        },
        columns=("language", "kind", "lines", "planted", "denied", "first", "functions", "per_1000", "sure"),
        needs=CORPORA,
        smoke_does_without=True,
    ),
)
