"""The longest passages of a text that occur word for word in documents of an index.

A word is a name, a number or one other character; layout does not count, comments do. Candidates are the documents that
share a fingerprint of characters: every shared run of code of at least k + w - 1 characters gives one, unless it lies
in more documents than are read.
"""

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from operator import itemgetter

from assay.corpora import LineRange, SourceText
from assay.errors import AssayError
from assay.provenance.findings.describing import place_text
from assay.provenance.findings.finding import Place
from assay.provenance.index import Searchable, StoredDocument
from assay.provenance.search import NO_BOILERPLATE, candidates_of, read_query
from assay.reports import Annotation, Column, Report, Table, number_of

LEAST_WORDS = 12
"""Words of a passage; shorter ones occur in any code."""

CANDIDATES_READ = 1000
"""Documents that a text is compared with."""

MOST_STARTS = 64
"""Places of a document at which one run of words is continued: repetitive text would give places without end."""

PASSAGE_COLUMNS = (
    Column("path", get=lambda found: found[0].path),
    Column("line", "count", get=lambda found: found[1].lines.first),
    Column("words", "count", get=lambda found: found[1].words),
    Column("place", get=lambda found: place_text(found[1].places[0])),
    Column("licence", get=lambda found: found[1].places[0].origin.licence),
)
"""Of a file and a passage."""

_WORD = re.compile(r"\w+|[^\w\s]")


@dataclass(frozen=True, slots=True)
class Passage:
    """A stretch of a text that occurs word for word in the corpus.

    Attributes:
        words: number of words.
        text: of the passage, as it is in the traced text.
        lines: of the traced text.
        places: documents that contain it, in the order of their paths; files and functions of one file are one place.
    """

    words: int
    text: str
    lines: LineRange
    places: tuple[Place, ...]


@dataclass(frozen=True, slots=True)
class _Words:
    """The words of a text with their places."""

    words: tuple[str, ...]
    spans: tuple[tuple[int, int], ...]
    text: str

    @classmethod
    def of(cls, text: str) -> "_Words":
        hits = list(_WORD.finditer(text))
        return cls(tuple(map(itemgetter(0), hits)), tuple(map(re.Match.span, hits)), text)

    def lines(self, start: int, stop: int) -> LineRange:
        first, last = self.spans[start][0], self.spans[stop - 1][1]
        line = self.text.count("\n", 0, first) + 1
        return LineRange(line, line + self.text.count("\n", first, last))


def verbatim_passages(
    text: str, index: Searchable, *, language: str | None = None, least: int = LEAST_WORDS, top: int = 10
) -> tuple[Passage, ...]:
    """Return the longest passages that occur in the index, the longest first; none lies within another.

    Args:
        text: code or any other text.
        index: of the corpus.
        language: of the text, or None; it decides which fingerprints find candidates.
        least: words of a passage at least.
        top: passages at most.

    Raises:
        AssayError: `least` or `top` is below 1.
    """
    if least < 1 or top < 1:
        raise AssayError(f"received {least} words and top {top}, expected at least 1 of each")
    query = _Words.of(text)
    documents_by_run: dict[tuple[int, int], list[tuple[StoredDocument, LineRange]]] = defaultdict(list)
    with index.snapshot():
        fingerprints = read_query(text, language, index, boilerplate=NO_BOILERPLATE)
        candidates = candidates_of(fingerprints, index, "winnowing", most=CANDIDATES_READ)
        for document in index.documents(candidates.documents.tolist()):
            words = _Words.of(document.text)
            for start, stop, at in common_runs(query.words, words.words, least):
                documents_by_run[start, stop].append((document, words.lines(at, at + stop - start)))
    # start - stop, so that the longest run comes first
    longest = sorted(documents_by_run, key=lambda run: (run[0] - run[1], run[0]))
    chosen: list[tuple[int, int]] = []
    # from the longest down: a passage within a longer one says nothing new
    for start, stop in longest:
        if not any(first <= start and stop <= last for first, last in chosen):
            chosen.append((start, stop))
        if len(chosen) == top:
            break
    passages = []
    for start, stop in chosen:
        passage = text[query.spans[start][0] : query.spans[stop - 1][1]]
        places = _places(documents_by_run[start, stop])
        passages.append(Passage(words=stop - start, text=passage, lines=query.lines(start, stop), places=places))
    return tuple(passages)


def common_runs(query: Sequence[str], document: Sequence[str], least: int) -> list[tuple[int, int, int]]:
    """Return runs of at least `least` equal words, ascending: start and stop in the query, start in the document.

    From each word of the query that begins a run the longest one is taken; the next one may begin where it no longer
    lies within that run.
    """
    starts: dict[tuple[str, ...], list[int]] = defaultdict(list)
    # seed and extend: any common run of `least` words begins with an equal tuple of as many, which a table finds
    for at in range(len(document) - least + 1):
        starts[tuple(document[at : at + least])].append(at)
    runs = []
    start = 0
    while start <= len(query) - least:
        best, there = 0, 0
        for at in starts.get(tuple(query[start : start + least]), ())[:MOST_STARTS]:
            length = least
            while (
                start + length < len(query)
                and at + length < len(document)
                and query[start + length] == document[at + length]
            ):
                length += 1
            if length > best:
                best, there = length, at
        if best:
            runs.append((start, start + best, there))
            # the first place from which a run of `least` words reaches beyond this one
            start += best - least + 1
        else:
            start += 1
    return runs


def _places(documents: Sequence[tuple[StoredDocument, LineRange]]) -> tuple[Place, ...]:
    places: dict[tuple[str, str], Place] = {}
    for document, lines in documents:
        for origin in document.origins:
            shift = origin.first_line - 1
            there = (LineRange(lines.first + shift, lines.last + shift),)
            place = Place(document.id, document.name, origin=origin, lines=there)
            places.setdefault((origin.source, origin.path), place)
    return tuple(map(places.__getitem__, sorted(places)))


def describe_passages(passages: Sequence[tuple[SourceText, Passage]]) -> Report:
    """Return the passages of files as a report, one row each."""
    annotations = []
    for file, passage in passages:
        place = passage.places[0]
        words = f"{number_of(passage.words, 'word')} as in {place_text(place)} ({place.origin.licence})"
        lines = passage.lines
        annotations.append(Annotation(words, file.path, line=lines.first, last_line=lines.last))
    return Report(
        title="Which passages occur word for word in the corpus?",
        statement=f"{len(passages)} passages occur word for word in the corpus.",
        tables=(Table.of("passages", "Passages", passages, columns=PASSAGE_COLUMNS),) if passages else (),
        data=[{"path": file.path, **asdict(passage)} for file, passage in passages],
        annotations=tuple(annotations),
    )
