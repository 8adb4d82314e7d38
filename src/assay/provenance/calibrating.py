"""Measuring the false-positive rates of an index on code that has nothing to do with it.

Unrelated functions are cut to runs of lines of every length, and traced. Near-duplicates are true matches, not false
ones: a function is taken out, counted and listed where a document of its name has half of its fingerprints. The nearest
of those that stay are listed too, for a person to judge.
"""

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from assay.errors import DataError
from assay.provenance.boilerplate import NOTHING, Boilerplate, default_boilerplate
from assay.provenance.confidence import FEWEST, Calibration, binned
from assay.provenance.evidence import read_query
from assay.provenance.searchable import Searchable
from assay.provenance.texts import SourceText, by_function

COPY = 0.5
"""Share of a function's fingerprints in a document of the same name from which it is a near-duplicate."""

SHOWN = 20
OF_EACH = 3
"""Functions of one file."""

LINES = (1, 2, 4, 8, 16, 32, 64, 128)
MOST_FUNCTIONS = 20_000


@dataclass(frozen=True, slots=True)
class Nearest:
    """An unrelated function and the document nearest to it."""

    query: str
    document: str
    channel: str
    containment: float
    fingerprints: int


def calibrate(
    index: Searchable,
    unrelated: Iterable[SourceText],
    *,
    most: int = MOST_FUNCTIONS,
    seed: int = 0,
    boilerplate: Boilerplate | None = None,
    measured_on: str = "",
    progress: Callable[[int, int], None] | None = None,
) -> Calibration:
    """The rates at which unrelated code reaches each similarity in this index.

    Args:
        index: of the corpus; opened with its encoder to measure vectors too.
        unrelated: functions that did not come from the corpus, nor it from them, in random order.
        most: functions that are traced; the first ones.
        seed: of the cuts.
        boilerplate: as traces will have it.
        measured_on: what the unrelated code is, for the record.
        progress: is called with functions done and to do.

    Raises:
        DataError: too few functions to say anything.
        CorpusIndexError: the index is damaged.
    """
    draw = random.Random(seed)  # noqa: S311  no secret
    if boilerplate is None:
        boilerplate = NOTHING if index.profile.name == "paper" else default_boilerplate()
    functions = list(islice(unrelated, most))
    if len(functions) < FEWEST:
        raise DataError(f"received {len(functions)} functions of unrelated code, expected at least {FEWEST}")
    measured: dict[str, list[tuple[int, float]]] = {}
    copies: list[Nearest] = []
    stayed: list[Nearest] = []
    with index.snapshot():
        for done, one in enumerate(functions, 1):
            near, is_copy = nearest(one, index, boilerplate)
            if is_copy:
                copies += near[:1]
            else:
                stayed += near
                for text in cuts(one.text, draw):
                    for channel, length, value in _best(text, one.language, index, boilerplate):
                        measured.setdefault(channel, []).append((length, value))
            if progress is not None:
                progress(done, len(functions))
        info = index.info()
    return Calibration(
        profile=index.profile,
        channels={channel: binned(values) for channel, values in measured.items()},
        encoder_digest=index.encoder_digest if index.finds_by_vector else None,
        provenance={
            "documents": info.documents,
            "unrelated": measured_on,
            "functions": len(functions) - len(copies),
            "seed": seed,
            "near_duplicates_removed": len(copies),
            "removed": _listed(copies),
            "nearest_that_stayed": _listed([one for one in stayed if one.fingerprints >= 16]),  # noqa: PLR2004  enough to mean something
        },
    )


def sampled_functions(files: Iterable[SourceText], seed: int = 0, *, of_each: int = OF_EACH) -> Iterator[SourceText]:
    """Functions of files in random order, few of each, so that no file weighs much; parsed as they are asked for."""
    draw = random.Random(seed)  # noqa: S311  no secret
    shuffled = sorted(files, key=lambda one: one.path)
    draw.shuffle(shuffled)
    for file in shuffled:
        functions = list(by_function([file]))
        yield from draw.sample(functions, min(of_each, len(functions)))


def nearest(one: SourceText, index: Searchable, boilerplate: Boilerplate) -> tuple[list[Nearest], bool]:
    """The best document of a whole function in each channel, and whether it is a near-duplicate of one so named."""
    query = read_query(one.text, one.language, index, boilerplate)
    found, is_copy = [], False
    for form, telling in query.telling.items():
        overlap = index.overlap(form, telling) if len(telling) else None
        if overlap is None or not len(overlap.documents):
            continue
        value = float(overlap.containment.max())
        best = index.document(int(overlap.documents[np.argmax(overlap.shared)]))
        place = f"{best.origins[0].path}:{best.name or ''}"
        found.append(Nearest(f"{one.path}:{one.name or ''}", place, form, round(value, 4), len(telling)))
        if one.name is not None:
            as_near = overlap.documents[overlap.containment >= COPY].tolist()
            is_copy |= any(_last(document.name) == _last(one.name) for document in index.documents(as_near))
    return found, is_copy


def cuts(text: str, draw: random.Random) -> list[str]:
    """Runs of lines of a text, one of each length that fits."""
    lines = [line for line in text.splitlines(keepends=True) if line.strip()]
    starts = {length: draw.randrange(len(lines) - length + 1) for length in LINES if length <= len(lines)}
    return ["".join(lines[start : start + length]) for length, start in starts.items()]


def _best(text: str, language: str | None, index: Searchable, boilerplate: Boilerplate) -> list[tuple[str, int, float]]:
    """Channel, length and best value over the whole index."""
    query = read_query(text, language, index, boilerplate)
    found: list[tuple[str, int, float]] = []
    for form, telling in query.telling.items():
        if len(telling):
            overlap = index.overlap(form, telling)
            found.append((form, len(telling), float(overlap.containment.max(initial=0.0))))
    if index.finds_by_vector:
        _, cosines = index.candidates_by_vector(text, 1)
        found.append(("vector", max(query.units, 1), float(cosines.max(initial=0.0))))
    return found


def _last(name: str | None) -> str | None:
    return name and name.rpartition(".")[2]


def _listed(pairs: Sequence[Nearest]) -> list[list[object]]:
    """The nearest ones: query, document, channel, containment, fingerprints."""
    chosen = sorted(pairs, key=lambda one: (-one.containment, -one.fingerprints, one.query, one.document))[:SHOWN]
    return [[one.query, one.document, one.channel, one.containment, one.fingerprints] for one in chosen]
