"""Findings: the sources of a traced file, one for each, with the lines on both sides.

The functions of a file, its remainder and the whole are traced by themselves. Matches with one file of the corpus, be
it whole or one of its functions, are evidence for one source. Sources with the same lines are places of one finding.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from operator import attrgetter, itemgetter

from assay.code import languages_of_text, parses
from assay.corpora import LineRange, Origin, SourceText, code_lines, line_numbers, merge_lines, parts_of
from assay.languages import LANGUAGES
from assay.licences import UNKNOWN_LICENCE
from assay.provenance.index import Searchable, StoredDocument
from assay.provenance.search import SearchMethod, Trace, TraceSettings, copied_spans, find_language, strength, trace
from assay.provenance.search.dead_statements import without_dead_statements
from assay.provenance.search.spans import document_lines, query_lines
from assay.types import Match, Span

DOCUMENTS_FOR_A_SOURCE = 4
"""Matches that are read for each source that is shown: a file and its functions are one source."""

WORTH_A_LOOK = 0.5
"""Evidence, as a multiple of that of a copy, from which a match that is no copy is similar code. Below are single lines
of `__repr__` and the like, which every project has: of 228 matches in 38 files of other projects 222 are."""

ALIKE = 0.5
"""Share of the lines of a copy that makes another copy from the same source, such as another version, the same."""


@dataclass(frozen=True, slots=True)
class PartMatch:
    """A match of one part of a file.

    Attributes:
        part: of the file that was traced.
        match: with one document.
        lines: of the file that match, ascending.
        copied: of these, those that show a copy; empty where none do, as for a near vector alone.
        matched: lines with code among all that match.
        different: of these, counted once if they are equal in the channel of the match.
        total: lines with code of the part.
        run: different lines with code of the longest matched stretch.
    """

    part: SourceText
    match: Match
    lines: tuple[LineRange, ...]
    copied: tuple[LineRange, ...]
    matched: int
    different: int
    total: int
    run: int

    @property
    def share(self) -> float:
        """Matched lines / lines with code of the part."""
        return self.matched / self.total if self.total else 0.0

    @property
    def p_value(self) -> float | None:
        """1 - confidence; None where it was not calibrated."""
        return None if self.match.confidence is None else 1 - self.match.confidence

    @property
    def is_copy(self) -> bool:
        """True if the match shows a copy; a near vector alone never does."""
        return bool(self.copied)


@dataclass(frozen=True, slots=True)
class Place:
    """One file of the corpus with matched code.

    Attributes:
        document_id: number of the document that matches best: the file, or one of its functions.
        name: dotted name of that function, None for the file.
        origin: of that document in this file.
        lines: of this file that match, ascending; empty for a match by vector alone.
    """

    document_id: int
    name: str | None
    origin: Origin
    lines: tuple[LineRange, ...]


@dataclass(frozen=True, slots=True)
class SourceFinding:
    """One source of code in a traced file.

    Attributes:
        path: of the traced file.
        lines: of it that match, ascending; empty for a match by vector alone.
        evidence: matches of the parts of the file, best first; at least one.
        places: where the corpus has this code, best first; at least one.
        licences: of the places, distinct.
        conflict: licences of all sources of these lines if there are several, else empty.
        is_copy: True if some evidence shows a copy; see `copied_spans`.
        licence_reader: name and version of what read the licences; None of an older index.
    """

    path: str
    lines: tuple[LineRange, ...]
    evidence: tuple[PartMatch, ...]
    places: tuple[Place, ...]
    licences: tuple[str, ...]
    conflict: tuple[str, ...]
    is_copy: bool
    licence_reader: str | None = None

    @property
    def best(self) -> PartMatch:
        """The match that describes the finding."""
        return self.evidence[0]

    @property
    def first_line(self) -> int:
        """Line of the file at which the finding begins."""
        return self.lines[0].first if self.lines else self.best.part.first_line


@dataclass(frozen=True, slots=True)
class TracedFile:
    """A file with its findings.

    Attributes:
        file: as it was read.
        language: that it was traced in, or None.
        parts: functions, remainder and whole, with their traces; the whole is the last one.
        findings: copies first, then by matched lines.
    """

    file: SourceText
    language: str | None
    parts: tuple[tuple[SourceText, Trace], ...]
    findings: tuple[SourceFinding, ...]

    @property
    def too_short(self) -> str | None:
        """Reason why no part of the file can be judged; None where one can."""
        reasons = [traced.too_short for _, traced in self.parts]
        return reasons[-1] if reasons and all(reasons) else None

    @property
    def why_none(self) -> str | None:
        """Reason why there is no finding, in one sentence; None where there is one."""
        if self.findings:
            return None
        if not self.parts:
            return "no line of it is judged"
        return self.parts[-1][1].why_none or "what it shares with documents of the index is too little for a source"

    @property
    def notes(self) -> tuple[str, ...]:
        """Further facts for the reader, a sentence each."""
        return tuple(dict.fromkeys(chain.from_iterable(traced.notes for _, traced in self.parts)))


def trace_file(
    file: SourceText,
    index: Searchable,
    *,
    method: SearchMethod = "union",
    top: int = 10,
    settings: TraceSettings | None = None,
    also: Callable[[StoredDocument], bool] | None = None,
    parts: Callable[[SourceText], Sequence[SourceText]] = parts_of,
) -> TracedFile:
    """Trace the parts of a file, and join their matches to findings.

    Args:
        file: whole, with its language or None, which is then found from the index.
        index: of the corpus.
        method: see `trace`.
        top: sources of each part at least, if there are so many.
        settings: see `trace`.
        also: documents that are never left out; see `trace`.
        parts: of a file that are traced, the whole last.

    Raises:
        AssayError: see `trace`.
    """
    labelled = _labelled(file, index, parts)
    documents = top * DOCUMENTS_FOR_A_SOURCE
    search = partial(trace, method=method, top=documents, settings=settings, also=also)

    def searched(every: Iterable[SourceText]) -> list[tuple[SourceText, Trace]]:
        traced = [(part, search(part.text, index, language=part.language)) for part in every]
        # a closing brace is near to much: what no fingerprint judges has no source, whatever the thresholds
        return [(part, replace(near, matches=(), origins={}) if near.too_short else near) for part, near in traced]

    # a name may lie: Python in a file that is called .ipp is read as Python too
    others = [parts(replace(labelled, language=language, blocks=())) for language in _shown_otherwise(file)]
    own = searched(parts(labelled))
    # functions, and a text whose functions no grammar shows
    judged = [pair for pair in own if pair[0].kind == "function"] or own
    bare = filter(_shows_a_copy, searched(chain.from_iterable(map(_without_dead_statements, judged))))
    traced = (*searched(chain(*others)), *bare, *own)
    findings = tuple(
        replace(finding, licence_reader=index.licence_reader) for finding in findings_of(file.path, traced)
    )
    # whoever asks for every match, or for the nearest by vector, gets what is far from a copy too
    asks_for_all = method in {"vector", "hst"} or (settings or TraceSettings()).thresholds.min_confidence == 0
    if not asks_for_all:
        findings = tuple(filter(_is_worth_a_look, findings))
    return TracedFile(file, labelled.language, parts=traced, findings=findings)


def _without_dead_statements(traced: tuple[SourceText, Trace]) -> Iterator[SourceText]:
    """Yield a part that shows no copy without its statements without effect, where it has some."""
    part, _ = traced
    texts = (without_dead_statements(part.text, constants=constants) for constants in (True, False))
    distinct = dict.fromkeys(filter(None, texts))
    if distinct and not _shows_a_copy(traced):
        yield from (replace(part, text=text) for text in distinct)


def _shows_a_copy(traced: tuple[SourceText, Trace]) -> bool:
    return any(map(attrgetter("is_copy"), findings_of("", [traced])))


def _is_worth_a_look(finding: SourceFinding) -> bool:
    return finding.is_copy or any(strength(evidence.match) >= WORTH_A_LOOK for evidence in finding.evidence)


def _shown_otherwise(file: SourceText) -> tuple[str, ...]:
    """Return the language that a text shows where it is not that of its name, whose grammar refuses it."""
    entry = LANGUAGES.get(file.language or "")
    if entry is None or not entry.syntax or parses(file.text, entry.name):
        return ()
    shown = languages_of_text(file.text)
    return () if entry.name in shown else shown[:1]


def _labelled(file: SourceText, index: Searchable, parts: Callable[[SourceText], Sequence[SourceText]]) -> SourceText:
    """Return a file with a language of the whole and of each block, as far as their texts show one."""
    blocks = []
    for block in file.blocks:
        blocks.append(block if block.language else replace(block, language=find_language(block.text, index)))
    whole = parts(replace(file, blocks=()))
    language = file.language
    if language is None and whole:  # of a long file that is changed in a few lines, these show the language
        language = find_language(whole[-1].text, index)
    return replace(file, language=language, blocks=tuple(blocks))


def without_own(files: Iterable[TracedFile], own: Collection[str]) -> list[TracedFile]:
    """Return files without the places that are ours, and without findings that have no other.

    Args:
        files: with their findings.
        own: names of sources, repositories (as addresses or `owner/name`), package URLs without version, or authors.
    """
    names = frozenset(map(str.casefold, own))
    if not names:
        return list(files)
    return [replace(file, findings=tuple(_of_others(file.findings, names))) for file in files]


def _of_others(findings: Iterable[SourceFinding], names: frozenset[str]) -> Iterator[SourceFinding]:
    for finding in findings:
        places = tuple(place for place in finding.places if names.isdisjoint(_names_of(place.origin)))
        if places:
            licences = tuple(dict.fromkeys(place.origin.licence for place in places))
            yield replace(finding, places=places, licences=licences)


def _names_of(origin: Origin) -> Iterator[str]:
    """Yield what a user may call a place."""
    repository = (origin.repository or "").casefold().rstrip("/").removesuffix(".git")
    # a user names a package, not each of its versions
    purl = (origin.purl or "").casefold().partition("@")[0]
    names = (origin.source, repository, "/".join(repository.split("/")[-2:]), origin.author or "", purl)
    yield from filter(None, map(str.casefold, names))


def findings_of(path: str, traced: Sequence[tuple[SourceText, Trace]]) -> tuple[SourceFinding, ...]:
    """Join the matches of the parts of one file: one finding for each source."""
    # a file of the corpus is in the index as a whole and function by function: matches with either are one source
    by_file: dict[tuple[str, str], list[tuple[PartMatch, Origin]]] = defaultdict(list)
    for part, result in traced:
        lines = code_lines(part.text, part.language) if result.matches else {}
        for match in result.matches:
            evidence = _evidence(part, match, lines)
            for origin in result.origins[match.document_id]:
                by_file[origin.source, origin.path].append((evidence, origin))
    joined: dict[object, list[tuple[list[PartMatch], Place]]] = defaultdict(list)
    for pairs in by_file.values():
        pairs.sort(key=lambda pair: _strength(pair[0]), reverse=True)
        matches = list(map(itemgetter(0), pairs))
        place = _place(matches[0].match, pairs[0][1], traced)
        # without a common line every document is a source of its own
        # sources that explain the same lines are places of one finding: a vendored library lies in many projects
        joined[_lines(matches) or place.document_id].append((matches, place))
    findings = [_finding(path, sources) for sources in joined.values()]
    # the path last: the order of equal findings must not depend on that of the index
    findings.sort(key=lambda finding: (finding.is_copy, _strength(finding.best), finding.places[0].origin.path))
    findings = _joined_versions(reversed(findings))
    return tuple(_with_conflict(finding, findings) for finding in findings)


def _joined_versions(findings: Iterable[SourceFinding]) -> list[SourceFinding]:
    """Return findings, where versions of one source are places of one finding."""
    joined: list[SourceFinding] = []
    for finding in findings:
        lines = set(line_numbers(finding.lines))
        for at, first in enumerate(joined):
            own = set(line_numbers(first.lines))
            if (
                finding.is_copy
                and lines <= own
                and len(lines) >= ALIKE * len(own)
                and _sources(finding) == _sources(first)
            ):
                evidence, places = (*first.evidence, *finding.evidence), (*first.places, *finding.places)
                joined[at] = replace(first, evidence=evidence, places=places)
                break
        else:
            joined.append(finding)
    return joined


def _sources(finding: SourceFinding) -> set[tuple[str, str]]:
    return {(place.origin.source, place.origin.licence) for place in finding.places}


def _evidence(part: SourceText, match: Match, lines: Mapping[int, tuple[str, bytes]]) -> PartMatch:
    stretches = query_lines(_known_spans(match))
    column = int(match.channel == "tokens")

    def different(ranges: Iterable[LineRange]) -> int:
        return len({lines[number][column] for number in lines.keys() & set(line_numbers(ranges))})

    def in_file(ranges: Iterable[LineRange]) -> tuple[LineRange, ...]:
        below = part.first_line - 1
        return tuple(LineRange(stretch.first + below, stretch.last + below) for stretch in merge_lines(ranges))

    # the structure of a line has eight bytes for each of its tokens
    tokens = sum(len(structure) for _, structure in lines.values()) // 8
    copied = copied_spans(match, tokens, is_function=part.kind == "function")
    return PartMatch(
        part=part,
        match=match,
        lines=in_file(stretches),
        copied=in_file(query_lines(copied)),
        matched=len(lines.keys() & set(line_numbers(stretches))),
        different=different(stretches),
        total=len(lines),
        run=max((different([stretch]) for stretch in stretches), default=0),
    )


def _known_spans(match: Match) -> tuple[Span, ...]:
    """Return the lines in common; a vector alone shows none, whatever its match has."""
    return () if match.channel == "vector" else match.spans


def _strength(evidence: PartMatch) -> tuple[float, ...]:
    """Return a key: many lines that are most of a part, a function rather than the file around it, confidence."""
    match = evidence.match
    # a confidence that was not measured is behind every one that was
    confidence = -1.0 if match.confidence is None else match.confidence
    is_function = evidence.part.kind == "function"
    return evidence.matched * evidence.share, is_function, confidence, match.similarity, match.cosine or 0.0


def _lines(evidence: Sequence[PartMatch]) -> tuple[LineRange, ...]:
    """Return the lines of all copies; without one those of the best match: single lines of others say nothing."""
    return merge_lines(chain.from_iterable(map(attrgetter("copied"), evidence))) or evidence[0].lines


def _place(match: Match, origin: Origin, traced: Sequence[tuple[SourceText, Trace]]) -> Place:
    # spans count the lines of the document's first origin; in another file the same text may begin elsewhere
    first = next(result.origins[match.document_id][0] for _, result in traced if match.document_id in result.origins)
    lines = document_lines(_known_spans(match), origin.first_line - first.first_line)
    return Place(match.document_id, match.name, origin=origin, lines=merge_lines(lines))


def _finding(path: str, sources: list[tuple[list[PartMatch], Place]]) -> SourceFinding:
    # two stable sorts: the path decides between equals alone
    sources.sort(key=lambda source: source[1].origin.path)
    sources.sort(key=lambda source: _strength(source[0][0]), reverse=True)
    every: dict[int, PartMatch] = {}
    for matches, _ in sources:
        every |= {id(match): match for match in matches}
    evidence = sorted(every.values(), key=_strength, reverse=True)
    places = tuple(map(itemgetter(1), sources))
    return SourceFinding(
        path=path,
        lines=_lines(evidence),
        evidence=tuple(evidence),
        places=places,
        licences=tuple(dict.fromkeys(place.origin.licence for place in places)),
        conflict=(),
        is_copy=any(map(attrgetter("is_copy"), evidence)),
    )


def _with_conflict(finding: SourceFinding, findings: Sequence[SourceFinding]) -> SourceFinding:
    """Return the finding with the licences of all sources that have at least half of its lines."""
    # the same lines under two licences: one of the sources copied them, and nothing here says which
    own = set(line_numbers(finding.lines))
    licences = set(finding.licences)
    for other in findings:
        if 2 * len(own.intersection(line_numbers(other.lines))) >= max(1, len(own)):
            licences.update(other.licences)
    # an unknown licence may be any of the others, so it makes no conflict
    licences.discard(UNKNOWN_LICENCE)
    return replace(finding, conflict=tuple(sorted(licences))) if len(licences) > 1 else finding
