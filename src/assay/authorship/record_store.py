"""Records of tools in a git repository, and the lines of its files by who wrote them according to these."""

import re
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache
from itertools import filterfalse
from operator import attrgetter, itemgetter
from pathlib import Path

from assay.authorship.declared import Commit, Signal, in_commits
from assay.authorship.recorded import RecordedFile, RecordedLines, RecordedRange, joined, state_of
from assay.authorship.records import (
    AuthorKind,
    LineRecord,
    RecordedSpan,
    read_checkpoint,
    read_note,
    read_trace,
    segments,
)
from assay.corpora import (
    BlamedLines,
    Blob,
    blame,
    commit_messages,
    enclosing_repository,
    git_output,
    is_shallow,
    tree_files,
)
from assay.errors import DataError
from assay.guard import LARGEST_METADATA
from assay.languages import language_of
from assay.progress import progress_bar

NOTES = "refs/notes/ai"
TRACES = ".agent-trace"
_CHECKPOINTS = ("refs/heads/entire/checkpoints/v1", "refs/remotes/*/entire/checkpoints/v1")
_CHECKPOINT = re.compile(r"Entire-Checkpoint:\s*([0-9a-f]{12}|[0-9A-HJKMNP-TV-Z]{26})\s*", re.IGNORECASE)
_COMMITS_A_CALL = 1_000
MOST_FILES = 100
"""Files of traces that are read, of `LARGEST_METADATA` bytes together."""
MOST_REMARKS, KEPT = 20, 256
"""Remarks that are shown; commits, and files in them, whose records are kept in memory."""

Claim = tuple[AuthorKind, str]
"""Who wrote something, and the record that says so."""


class RecordStore:
    """The records of one repository: notes of git-ai, traces of Agent Trace, checkpoints of Entire.

    A record that cannot be read is a remark with its place. Refs are read by git alone, without hooks and filters;
    traces are read from regular files of the work tree.

    Attributes:
        repository: its root.
        loose: records without a commit, which say nothing of lines.
    """

    def __init__(self, repository: Path) -> None:
        """List the records.

        Raises:
            DataError: git cannot read the repository.
        """
        self.repository = repository
        self._remarks: list[str] = []
        refs = git_output(repository, "for-each-ref", "--format=%(refname)", NOTES, *_CHECKPOINTS).split()
        tree: Iterable[tuple[str, str, str]] = ()
        if NOTES in refs:
            tree = tree_files(repository, NOTES)
        # git spreads notes over folders once there are many (git-notes(1)): ab/cdef… is the commit abcdef…
        self._notes = {path.replace("/", ""): digest for _, digest, path in tree}
        self._checkpoints = list(filter(NOTES.__ne__, refs))
        self._traces: dict[str, list[LineRecord]] = {}
        for record in self._read_traces():
            self._traces.setdefault(record.commit, []).append(record)
        self.loose: Sequence[LineRecord] = self._traces.pop("", [])
        self._claims: dict[str, frozenset[Claim]] = {}
        # of a hostile repository not all records fit into the memory
        self.lines_of = lru_cache(KEPT)(self._lines_of)
        self.segments_of: Callable[[str, str], list[RecordedSpan]] = lru_cache(KEPT)(self._segments_of)

    @property
    def remarks(self) -> tuple[str, ...]:
        """Records that were not read, and why."""
        remarks = list(dict.fromkeys(self._remarks))
        more = len(remarks) - MOST_REMARKS
        if more > 0:
            remarks[MOST_REMARKS:] = [f"{more:,} more records were not read."]
        return tuple(remarks)

    @contextmanager
    def _remarking(self) -> Iterator[None]:
        try:
            yield
        except DataError as error:
            self._remarks.append(f"{error}. This record was not read.")

    def _lines_of(self, commit: str) -> tuple[LineRecord, ...]:
        """Return the records of the lines of a commit."""
        records: list[LineRecord] = []
        if commit in self._notes:
            with self._remarking():
                records += read_note(self._text(self._notes[commit], f"{NOTES} of {commit[:12]}"), commit)
        return (*records, *self._traces.get(commit, ()))

    def _segments_of(self, commit: str, path: str) -> list[RecordedSpan]:
        spans: list[RecordedSpan] = []
        with self._remarking():
            spans += segments([record for record in self.lines_of(commit) if record.path == path])
        return spans

    def _text(self, name: str, place: str) -> str:
        try:
            raw = Blob(self.repository, name).read(LARGEST_METADATA + 1)
        except OSError as error:
            raise DataError(f"{place}: the repository lacks it, expected a whole clone") from error
        return _checked(raw, place)

    def _read_traces(self) -> Iterator[LineRecord]:
        folder = self.repository / TRACES
        if not folder.is_dir() or folder.is_symlink():
            return
        # the limit is one for all traces: many files below it could fill the memory as well
        left = LARGEST_METADATA
        for file in sorted(folder.glob("*.json*"))[:MOST_FILES]:
            if file.is_symlink() or not file.is_file():  # a link could lead to any file of the user
                continue
            place, text = f"{TRACES}/{file.name}", ""
            with self._remarking():
                raw = _read_trace_file(file, place, left)
                left -= len(raw)
                text = raw.decode("utf-8", "replace")
            lines = [text]
            if file.suffix == ".jsonl":
                lines = text.split("\n")
            for number, line in enumerate(lines, 1):
                if line.strip():
                    with self._remarking():
                        yield from read_trace(line, f"{place}, line {number}")

    def signals(self, commit: Commit) -> Iterator[Signal]:
        """Yield what a commit declares, and the records of its lines."""
        for signal in in_commits([commit]):
            checkpoint = _CHECKPOINT.fullmatch(signal.text)
            if checkpoint and (agent := self._agent(checkpoint[1])):
                yield replace(signal, text=f"{signal.text} ({agent})")
            else:
                yield signal
        records = self.lines_of(commit.digest)
        yield from map(signal_of, records)
        for path in dict.fromkeys(map(attrgetter("path"), records)):
            for first, last, claims in self.segments_of(commit.digest, path):
                if state_of(set(map(itemgetter(0), claims))) == "contradicting":
                    words = f"lines {first}-{last} of {path}: {'; '.join(sorted(map(itemgetter(1), claims)))}"
                    yield Signal("records disagree", words, commit=commit.digest, files=(path,))
                    break

    def _agent(self, checkpoint: str) -> str:
        """Return the agent of the first session of a checkpoint; "" where none is stored here."""
        # first version on one branch, later ones a ref each, spread by the last two digits
        within = f"{checkpoint[:2]}/{checkpoint[2:]}/0/metadata.json"
        places = [f"{branch}:{within}" for branch in self._checkpoints]
        for place in (*places, f"refs/entire/checkpoints/{checkpoint[-2:]}/{checkpoint}:0/metadata.json"):
            try:
                raw = Blob(self.repository, place).read(LARGEST_METADATA + 1)
            except OSError:  # stored by the other way, or not fetched
                continue
            with self._remarking():
                return read_checkpoint(_checked(raw, place), place)
        return ""

    def claims_of(self, commits: Collection[str]) -> dict[str, frozenset[Claim]]:
        """Return what commits declare of themselves as a whole, where no record of their lines says more."""
        missing = list(filterfalse(self._claims.__contains__, commits))
        for start in range(0, len(missing), _COMMITS_A_CALL):
            chosen = ("--no-walk=unsorted", *missing[start : start + _COMMITS_A_CALL])
            for fields in commit_messages(self.repository, revisions=chosen):
                # a trailer says that an agent took part in the commit; records of its lines say in which
                is_finer = any(map("person".__ne__, map(attrgetter("writer"), self.lines_of(fields[0]))))
                claims: set[Claim] = set()
                for signal in self.signals(Commit(*fields)):
                    if signal.is_of_lines or signal.kind == "agent branch":
                        continue
                    if signal.writer == "person" or not is_finer:
                        claims.add((signal.writer, f"{signal.kind}: {signal.text}"))
                self._claims[fields[0]] = frozenset(claims)
        return self._claims

    def lines(self, revision: str, path: str, only: Collection[int] | None = None) -> tuple[RecordedRange, ...]:
        """Return the lines of a file at a revision by who wrote them.

        Args:
            revision: HEAD or a digest.
            path: relative to the root.
            only: lines that are returned; None for all.

        Raises:
            DataError: git cannot read the file.
        """
        blamed = list(blame(self.repository, revision, path))
        claims = self.claims_of(set(map(attrgetter("commit"), blamed)))
        # a boundary is the first commit, too: only in a shallow clone it hides a history
        cut = any(map(attrgetter("boundary"), blamed)) and is_shallow(self.repository)
        pieces: list[RecordedRange] = []
        for lines in blamed:
            pieces += self._pieces(lines, claims[lines.commit], cut=cut)
        if only is None:
            return joined(pieces, chosen=False)
        single: list[RecordedRange] = []
        for piece in pieces:
            for line in filter(only.__contains__, range(piece.first, piece.last + 1)):
                single.append(replace(piece, first=line, last=line))
        return joined(single, chosen=True)

    def _pieces(self, lines: BlamedLines, of_commit: frozenset[Claim], *, cut: bool) -> Iterator[RecordedRange]:
        """Yield blamed lines, cut where the records of their commit change."""
        if cut and lines.boundary:  # the history before it is absent, so the lines may be of any commit
            self._remarks.append("A shallow clone: lines older than it have no record (git fetch --unshallow).")
            yield _range(lines, first=lines.first, last=lines.first + lines.count - 1, claims=frozenset())
            return
        # spans are ascending and apart: those that end before the lines are passed over by a binary search, and what no
        # span covers has the claims of the commit as a whole
        at, end = lines.first, lines.first + lines.count
        recorded = self.segments_of(lines.commit, lines.path)
        for first, last, claims in recorded[bisect_left(recorded, lines.first, key=itemgetter(1)) :]:
            if first >= end:
                break
            if first > at:
                yield _range(lines, first=at, last=first - 1, claims=of_commit)
            yield _range(lines, first=max(first, at), last=min(last, end - 1), claims=claims | of_commit)
            at = last + 1
        if at < end:
            yield _range(lines, first=at, last=end - 1, claims=of_commit)


def signal_of(record: LineRecord) -> Signal:
    """Return a record of lines as a declaration."""
    return Signal(
        "line record", str(record)[:120], commit=record.commit or None, files=(record.path,), writer=record.writer
    )


def recorded_lines(paths: Sequence[Path]) -> RecordedLines:
    """Return the lines of files at HEAD by who wrote them according to records; of a folder, its source files.

    Raises:
        DataError: a path is not in a git repository, or has no file at HEAD.
    """
    files: list[RecordedFile] = []
    remarks: list[str] = []
    # a store for each path: two paths may lie in two repositories
    for path in paths:
        if not path.exists():
            raise DataError(f"{path}: received no such file or folder, expected code at HEAD")
        repository = enclosing_repository(path)
        if repository is None:
            raise DataError(f"{path}: not in a git repository, expected one: records belong to commits")
        store = RecordStore(repository)
        within = path.resolve().relative_to(repository).as_posix()
        names = _names_at_head(repository, path, within)
        with progress_bar("reading") as report:
            for number, name in enumerate(names, 1):
                shown = path
                if path.is_dir():
                    shown = path / Path(name).relative_to(within)
                files.append(RecordedFile(shown.as_posix(), store.lines("HEAD", name)))
                if report is not None:
                    report(number, len(names))
        remarks += store.remarks
    if not files:
        raise DataError(f"{', '.join(map(str, paths))}: no source file in a known language at HEAD")
    return RecordedLines(tuple(files), tuple(dict.fromkeys(remarks)))


def _names_at_head(repository: Path, path: Path, within: str) -> list[str]:
    """Return the file at HEAD, or the source files of a folder.

    Raises:
        DataError: HEAD does not have the file.
    """
    below = () if within == "." else (within,)
    tree = list(tree_files(repository, "HEAD", *below))
    if path.is_dir():
        # mode 100644 or 100755: links and submodules have no lines
        return [name for mode, _, name in tree if mode.startswith("100") and language_of(name)]
    if not tree:
        raise DataError(f"{path}: received a file that the last commit does not have, expected one at HEAD")
    return list(map(itemgetter(2), tree))


def _read_trace_file(file: Path, place: str, left: int) -> bytes:
    """Return the bytes of a trace.

    Raises:
        DataError: it cannot be read, or has more than the bytes that are left for all traces.
    """
    try:
        with file.open("rb") as stream:
            raw = stream.read(left + 1)
    except OSError as error:
        raise DataError(f"{place}: {error.strerror}, expected a file that can be read") from error
    if len(raw) > left:
        raise DataError(f"{place}: with it more than {LARGEST_METADATA:,} bytes of traces, expected fewer")
    return raw


def _checked(raw: bytes, place: str) -> str:
    if len(raw) > LARGEST_METADATA:
        raise DataError(f"{place}: more than {LARGEST_METADATA:,} bytes, expected fewer")
    return raw.decode("utf-8", "replace")


def _range(lines: BlamedLines, first: int, last: int, claims: frozenset[Claim]) -> RecordedRange:
    """Return lines of the file as the commit left it as lines of the blamed file."""
    moved = lines.place - lines.first
    state = state_of(set(map(itemgetter(0), claims)))
    records = tuple(sorted(set(map(itemgetter(1), claims))))
    return RecordedRange(
        first=first + moved, last=last + moved, state=state, commit=lines.commit if records else "", records=records
    )
