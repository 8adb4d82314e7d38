"""Records of tools on who wrote which lines: authorship logs of git-ai, and traces of Agent Trace.

Both name lines of a file as one commit left it. They come with a repository, so all of them may be hostile: whatever
departs from its format is a `DataError` with its place, and paths are compared and never opened.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from operator import attrgetter
from typing import Any, Literal

from assay.errors import DataError
from assay.files import parse_json

AuthorKind = Literal["agent", "mixed", "person"]

MOST_RANGES, MOST_SOURCES = 20_000, 50
"""Ranges of lines, and different tools and models, that the records of one file in one commit may name."""
LAST_LINE = 10**9
SHOWN = 120

_RANGE = re.compile(r"(\d{1,10})(?:-(\d{1,10}))?")
_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_NOTE_VERSION = re.compile(r"authorship/3\.\d{1,9}\.\d{1,9}")
_TRACE_VERSION = re.compile(r"(?:0\.1|1)(?:\.\d{1,9}){0,2}")
_WRITERS: dict[str, AuthorKind | None] = {"ai": "agent", "human": "person", "mixed": "mixed", "unknown": None}
"""Contributor of Agent Trace → who wrote; an unknown one is no statement."""


@dataclass(frozen=True, slots=True)
class LineRecord:
    """The statement of one record on a file.

    Attributes:
        writer: of the lines.
        commit: digest of the commit whose file is meant; "" where the record names none.
        path: relative to the root of the repository.
        lines: (first, last), from 1, both included.
        source: format, tool and model of the record.
    """

    writer: AuthorKind
    commit: str
    path: str
    lines: tuple[tuple[int, int], ...]
    source: str

    def __str__(self) -> str:
        lines = ",".join("-".join(dict.fromkeys(map(str, ends))) for ends in self.lines)
        return f"{self.source}: lines {lines} of {self.path}"


def read_note(text: str, commit: str) -> list[LineRecord]:
    """Return the records of an authorship log of git-ai, format authorship/3.0.0 with its sessions of May 2026.

    Args:
        text: of the note in refs/notes/ai.
        commit: that has the note.

    Raises:
        DataError: the note departs from the format.
    """
    note = f"refs/notes/ai of {commit[:12]}"
    # a note without lines begins with the divider, so a line feed is put before it
    attested, divider, metadata = f"\n{text}".partition("\n---\n")
    if not divider:
        raise DataError(f"{note}: received no line ---, expected one between the lines and the metadata")
    sources = _sources_of_note(_json(metadata, note), note)
    # counted before a range is built, which would take a hundred times the memory of its text
    if attested.count(",") + attested.count("\n") > MOST_RANGES:
        raise DataError(f"{note}: received more than {MOST_RANGES:,} ranges, expected fewer")
    records: list[LineRecord] = []
    path = ""
    for number, line in enumerate(attested.split("\n")):  # the line before the first is empty
        place = f"{note}, line {number}"
        if not line.strip():
            continue
        if not line.startswith(" "):
            path = _path(line.removesuffix("\r").strip('"'), place)
            continue
        # a session has entries of its own, "SESSION::ENTRY", since May 2026
        key, _, ranges = line.strip().partition(" ")
        session = sources.get(key.partition("::")[0])
        if not path or session is None:
            raise DataError(f"{place}: received {line[:SHOWN]!r}, expected a path, then lines of a known session")
        records.append(
            LineRecord(writer=session[0], commit=commit, path=path, lines=_note_lines(ranges, place), source=session[1])
        )
    return records


def _sources_of_note(metadata: object, note: str) -> dict[str, tuple[AuthorKind, str]]:
    """Return key of a session → who it is, and how it is called."""
    version = _member(metadata, name="schema_version", kind=str, place=note)
    if not _NOTE_VERSION.fullmatch(version):
        raise DataError(f"{note}: received version {version[:SHOWN]!r}, expected authorship/3")
    sources: dict[str, tuple[AuthorKind, str]] = {}
    for table in ("prompts", "sessions"):
        for key, session in _member(metadata, name=table, kind=dict, place=note, default={}).items():
            agent = _member(session, name="agent_id", kind=dict, place=note)
            words = (_member(agent, name=name, kind=str, place=note, default="") for name in ("tool", "model"))
            sources[key] = "agent", " ".join(["git-ai note:", *filter(None, words)])[:SHOWN]
    for key in _member(metadata, name="humans", kind=dict, place=note, default={}):
        sources[key] = "person", "git-ai note: a person"
    return sources


def _note_lines(ranges: str, place: str) -> tuple[tuple[int, int], ...]:
    lines = []
    for entry in ranges.split(","):
        match = _RANGE.fullmatch(entry)
        if match is None:
            raise DataError(f"{place}: received {ranges[:SHOWN]!r}, expected lines such as 1-4,9")
        lines.append(_lines(int(match[1]), int(match[2] or match[1]), place))
    return tuple(lines)


def read_trace(text: str, place: str) -> list[LineRecord]:
    """Return the records of one trace of Agent Trace, version 0.1 of January 2026.

    Raises:
        DataError: the trace departs from the specification.
    """
    trace = _json(text, place)
    version = _member(trace, name="version", kind=str, place=place)
    if not _TRACE_VERSION.fullmatch(version):
        raise DataError(f"{place}: received version {version[:SHOWN]!r}, expected 0.1 or 1")
    # other systems of versions have other names of revisions, and nothing here could be compared with them
    system = _member(trace, name="vcs", kind=dict, place=place, default={})
    revision, commit = system.get("revision"), ""
    if system.get("type") == "git" and isinstance(revision, str) and _COMMIT.fullmatch(revision):
        commit = revision
    tool = _member(
        _member(trace, name="tool", kind=dict, place=place, default={}), name="name", kind=str, place=place, default=""
    )
    records = []
    for file in _member(trace, name="files", kind=list, place=place):
        path = _path(_member(file, name="path", kind=str, place=place), place)
        for conversation in _member(file, name="conversations", kind=list, place=place):
            speaker = _member(conversation, name="contributor", kind=dict, place=place, default={"type": "unknown"})
            for entry in _member(conversation, name="ranges", kind=list, place=place):
                contributor = _member(entry, name="contributor", kind=dict, place=place, default=speaker)
                kind = _member(contributor, name="type", kind=str, place=place)
                if kind not in _WRITERS:
                    raise DataError(f"{place}: received contributor {kind[:SHOWN]!r}, expected {', '.join(_WRITERS)}")
                first, last = (_member(entry, name=f"{end}_line", kind=int, place=place) for end in ("start", "end"))
                # a range may name its own contributor, which goes before that of the conversation (specification 0.1)
                model = _member(contributor, name="model_id", kind=str, place=place, default="")
                source = " ".join(["Agent Trace:", *(list(filter(None, (tool, model))) or [kind])])
                if writer := _WRITERS[kind]:
                    records.append(
                        LineRecord(
                            writer=writer,
                            commit=commit,
                            path=path,
                            lines=(_lines(first, last, place),),
                            source=source[:SHOWN],
                        )
                    )
    return records


def read_checkpoint(text: str, place: str) -> str:
    """Return the agent of the session of a checkpoint of Entire, from its metadata.json; "" where none is named.

    Raises:
        DataError: the file departs from the format.
    """
    agent: str = _member(_json(text, place), name="agent", kind=str, place=place, default="")
    return agent[:SHOWN]


RecordedSpan = tuple[int, int, frozenset[tuple[AuthorKind, str]]]
"""First and last line, and who wrote them by which records."""


def segments(records: Sequence[LineRecord]) -> list[RecordedSpan]:
    """Return the lines of one file in one commit, cut where its records change, in ascending order.

    Raises:
        DataError: the records name more than anybody writes, which would take the memory.
    """
    ranges, sources = sum(map(len, map(attrgetter("lines"), records))), set(map(attrgetter("source"), records))
    if ranges > MOST_RANGES or len(sources) > MOST_SOURCES:
        raise DataError(
            f"{records[0].path} in {records[0].commit[:12]}: received {ranges:,} ranges of {len(sources):,} sources in "
            f"its records, expected at most {MOST_RANGES:,} of {MOST_SOURCES}"
        )
    # a sweep over the lines where a record begins or ends: +1 and −1 at each, added up from the first line on
    changes: dict[int, Counter[tuple[AuthorKind, str]]] = {}
    for record in records:
        for first, last in record.lines:
            for line, step in ((first, 1), (last + 1, -1)):
                changes.setdefault(line, Counter())[record.writer, record.source] += step
    current: Counter[tuple[AuthorKind, str]] = Counter()
    spans = []
    for first, following in pairwise([*sorted(changes), LAST_LINE]):
        current.update(changes[first])
        # unary plus keeps what is open here; between two records nobody says anything
        if claims := frozenset(+current):
            spans.append((first, following - 1, claims))
    return spans


def _lines(first: int, last: int, place: str) -> tuple[int, int]:
    if not 1 <= first <= last < LAST_LINE:
        raise DataError(f"{place}: received other lines than FIRST-LAST from 1 on, expected these")
    return first, last


def _path(path: str, place: str) -> str:
    path = path.removeprefix("./")
    if not path or path.startswith("/") or ".." in path.split("/") or "\0" in path:
        raise DataError(f"{place}: received the path {path[:SHOWN]!r}, expected one inside the repository")
    return path


def _json(text: str, place: str) -> object:
    try:
        content: object = parse_json(text)
    except ValueError as error:
        raise DataError(f"{place}: expected JSON: {error}") from error
    return content


def _member(table: object, name: str, kind: type[Any], place: str, default: Any = None) -> Any:  # noqa: ANN401
    """Return a member of a JSON object that has to be of a kind; one that is absent or null gives the default."""
    if not isinstance(table, dict):
        raise DataError(f"{place}: received {str(table)[:SHOWN]!r}, expected an object with {name}")
    value = table.get(name)
    if value is None:
        value = default
    if not isinstance(value, kind):
        raise DataError(f"{place}: received {str(value)[:SHOWN]!r} as {name}, expected {_KINDS[kind]}")
    return value


_KINDS = {str: "a text", dict: "an object", list: "a list", int: "a whole number"}
