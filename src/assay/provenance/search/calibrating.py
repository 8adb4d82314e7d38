"""Measuring the false-positive rates of an index on code that has nothing to do with it.

Unrelated functions are cut to runs of lines of every length, and traced. Near-duplicates are true matches, not false
positives: a function is removed, counted and listed if a document of its name has half of its fingerprints. The nearest
of the remaining functions are listed too, so that a person can judge them.
"""

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import astuple, dataclass
from itertools import islice

import numpy as np

from assay.corpora import SourceText, by_function
from assay.errors import DataError
from assay.provenance.confidence import FEWEST, CalibrationTable, IndexCalibration, UnrelatedQuery, measured_bins
from assay.provenance.index import Searchable
from assay.provenance.search.boilerplate import Boilerplate, boilerplate_of
from assay.provenance.search.candidates import candidates_of, channel_values
from assay.provenance.search.query import read_query
from assay.retrieval import CANDIDATES

COPY = 0.5
"""Share of a function's fingerprints in a document of the same name from which it is a near-duplicate."""

MOST_LISTED = 20
"""Near-duplicates, and nearest functions, that the record lists."""

FEWEST_TO_LIST = 16
"""Fingerprints of a function; a shorter one that is near to a document proves little."""

OF_EACH = 3
"""Functions of one file."""

LINES = (1, 2, 4, 8, 16, 32, 64, 128)
"""Lengths of the cuts."""

MOST_FUNCTIONS = 20_000


@dataclass(frozen=True, slots=True)
class Nearest:
    """An unrelated function and the document nearest to it."""

    query: str
    document: str
    channel: str
    containment: float
    fingerprints: int


def calibrate_index(
    index: Searchable,
    unrelated: Iterable[SourceText],
    *,
    most: int = MOST_FUNCTIONS,
    seed: int = 0,
    boilerplate: Boilerplate | None = None,
    measured_on: str = "",
    progress: Callable[[int, int], None] | None = None,
) -> IndexCalibration:
    """Measure the rates at which unrelated code reaches each similarity in this index.

    Args:
        index: of the corpus; opened with its encoder to measure vectors too.
        unrelated: functions that neither come from the corpus nor are its source, in random order.
        most: functions that are traced at most, the first ones.
        seed: of the cuts.
        boilerplate: that traces will ignore; None: as the profile of the index has it.
        measured_on: description of the unrelated code, for the record.
        progress: is called with the functions done and their total.

    Raises:
        DataError: there are too few functions for a rate.
        CorpusIndexError: the index is damaged.
    """
    draw = random.Random(seed)  # noqa: S311  no secret
    if boilerplate is None:
        boilerplate = boilerplate_of(index.profile)
    functions = list(islice(unrelated, most))
    if len(functions) < FEWEST:
        raise DataError(f"received {len(functions)} functions of unrelated code, expected at least {FEWEST}")
    measured: dict[str | None, list[UnrelatedQuery]] = {}
    copies: list[Nearest] = []
    remaining: list[Nearest] = []
    with index.snapshot():
        for done, function in enumerate(functions, 1):
            # a near-duplicate would count as a false positive although the match is true
            near, is_copy = nearest(function, index, boilerplate)
            if is_copy:
                copies += near[:1]
            else:
                remaining += near
                of_language = measured.setdefault(function.language, [])
                for text in cut_runs(function.text, draw):
                    query = read_query(text, function.language, index, boilerplate=boilerplate)
                    values = channel_values(candidates_of(query, index, "union", most=CANDIDATES), query.units)
                    if values:  # a text of boilerplate alone has no evidence
                        of_language.append(UnrelatedQuery.of(values))
            if progress is not None:
                progress(done, len(functions))
        info, documents = index.info(), index.languages()
    return IndexCalibration(
        profile=index.profile,
        tables=tuple(
            CalibrationTable(language, documents.get(language, 0), *measured_bins(queries))
            for language, queries in measured.items()
            if queries
        ),
        encoder_digest=index.encoder_digest if index.finds_by_vector else None,
        provenance={
            "documents": info.documents,
            "unrelated": measured_on,
            "functions": len(functions) - len(copies),
            "seed": seed,
            "near_duplicates_removed": len(copies),
            "removed": _listed(copies),
            "nearest_that_stayed": _listed([near for near in remaining if near.fingerprints >= FEWEST_TO_LIST]),
        },
    )


def sampled_functions(files: Iterable[SourceText], seed: int = 0, *, of_each: int = OF_EACH) -> Iterator[SourceText]:
    """Yield functions of files in random order, few of each, so that no file weighs much; files are parsed lazily."""
    draw = random.Random(seed)  # noqa: S311  no secret
    # sorted first: the order of the files must not depend on how they were listed
    shuffled = sorted(files, key=lambda file: file.path)
    draw.shuffle(shuffled)
    for file in shuffled:
        functions = list(by_function([file]))
        yield from draw.sample(functions, min(of_each, len(functions)))


def nearest(function: SourceText, index: Searchable, boilerplate: Boilerplate) -> tuple[list[Nearest], bool]:
    """Return the best document in each channel, and True if a document of the function's name is a near-duplicate."""
    query = read_query(function.text, function.language, index, boilerplate=boilerplate)
    best_documents, is_copy = [], False
    for form, distinctive in query.distinctive.items():
        overlap = index.overlap(form, distinctive) if len(distinctive) else None
        if overlap is None or not len(overlap.documents):
            continue
        value = float(overlap.containment.max())
        best = index.document(int(overlap.documents[np.argmax(overlap.shared)]))
        place = f"{best.origins[0].path}:{best.name or ''}"
        name = f"{function.path}:{function.name or ''}"
        best_documents.append(
            Nearest(name, place, channel=form, containment=round(value, 4), fingerprints=len(distinctive))
        )
        if function.name is not None:
            as_near = overlap.documents[overlap.containment >= COPY].tolist()
            is_copy |= _last(function.name) in (_last(document.name) for document in index.documents(as_near))
    return best_documents, is_copy


def cut_runs(text: str, draw: random.Random) -> list[str]:
    """Return runs of lines of a text, one of each length that fits."""
    # runs of every length from one function: short queries are frequent, and their rates are the highest
    lines = list(filter(str.strip, text.splitlines(keepends=True)))
    runs = []
    for length in LINES:
        if length <= len(lines):
            start = draw.randrange(len(lines) - length + 1)
            runs.append("".join(lines[start : start + length]))
    return runs


def _last(name: str | None) -> str | None:
    return name and name.rpartition(".")[2]


def _listed(pairs: Sequence[Nearest]) -> list[list[object]]:
    """Return the nearest pairs: query, document, channel, containment, fingerprints."""
    chosen = sorted(pairs, key=lambda pair: (-pair.containment, -pair.fingerprints, pair.query, pair.document))
    return [list(astuple(pair)) for pair in chosen[:MOST_LISTED]]
