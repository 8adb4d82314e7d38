"""Files go to workers, and what each holds comes back, in order: this process, its own processes, or a cluster.

A file is the unit of work. Its result is written as soon as it is complete, so a scan that was killed goes on with the
files that are missing, and gives the same evidence.
"""

import hashlib
import json
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import asdict, dataclass, field, replace
from functools import cache, partial
from itertools import accumulate
from operator import attrgetter
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from assay.corpora.archives import file_stamp
from assay.errors import DataError
from assay.files import atomic_file, parse_json
from assay.processes import stop_processes, submit_to, worker_processes
from assay.provenance.index import PROCESSES, IndexSettings, open_readers
from assay.scan.evidence import ScanPlace, inside_archive
from assay.scan.matching import Matcher
from assay.scan.reading import HUB, CorpusText, FileReader
from assay.scan.shapes import field_at
from assay.scan.tasks import ScannedTask

BATCH = 2_000_000
"""Bytes of texts that are compared at a time."""
WORTH_PROCESSES = 30_000_000
"""Bytes of files from which several processes read, unless the caller names their number."""
MOST_PLACES = 100
"""Places of a task in a file that are kept, and of a task in all: copies of one text may be millions."""
UNDER_WAY = 1000
"""Files that processes may be ahead of the first one that is not complete."""
CRASHES = "crashes the reader"


@dataclass(frozen=True, slots=True)
class FileResult:
    """The result of one file.

    Attributes:
        source: the file.
        compared: number of its texts.
        size: bytes of its texts.
        shapes: texts of each shape.
        unread: what was not read, by reason.
        places: position of a task → its places.
        rows: rows and members that hold a task.
        more: number of places that were left out.
        first: reason → the first row or member that was not read for it, "" for the file.
        skipped: rows and members that were not read, "" for the file.
        is_cut: a fault ended the file.
    """

    source: str
    compared: int
    size: int
    shapes: Mapping[str, int]
    unread: Mapping[str, int]
    places: Mapping[int, Sequence[ScanPlace]]
    rows: Sequence[int | str]
    more: int = 0
    first: Mapping[str, int | str] = field(default_factory=dict)
    skipped: Sequence[int | str] = ()
    is_cut: bool = False


def scan_file(path: str, matcher: Matcher, *, columns: Sequence[str] = ()) -> FileResult:
    """Return what one file holds."""
    reader = FileReader(path, columns)
    compared = size = more = 0
    places: dict[int, list[ScanPlace]] = {}
    rows: dict[int | str, None] = {}
    for batch in _batches(reader.texts()):
        compared += len(batch)
        texts = list(map(attrgetter("text"), batch))
        size += sum(map(len, texts))
        for number, match in matcher.search(texts):
            text = batch[number]
            rows[text.member or text.row or ""] = None
            kept = places.setdefault(match.task, [])
            if len(kept) < MOST_PLACES:
                kept.append(_placed(match.place, path, text=text, columns=columns))
            else:
                more += 1
    return FileResult(
        source=path,
        compared=compared,
        size=size,
        shapes=dict(reader.shapes),
        unread=dict(reader.unread),
        places=places,
        rows=list(rows),
        more=more,
        first=reader.first,
        skipped=sorted(reader.skipped, key=str),
        is_cut=reader.is_cut,
    )


def _placed(place: ScanPlace, path: str, text: CorpusText, columns: Sequence[str]) -> ScanPlace:
    """Return a place with its source, and of a row with the field that its lines are counted in."""
    source = inside_archive(path, text.member)
    if text.value is None:
        return replace(place, source=source)
    inside, first = field_at(text.value, columns, place.first_line)
    last = place.last_line - place.first_line + first
    return replace(place, source=source, row=text.row, field=inside, first_line=first, last_line=last)


def _batches(texts: Iterable[CorpusText]) -> Iterator[list[CorpusText]]:
    batch: list[CorpusText] = []
    size = 0
    for text in texts:
        batch.append(text)
        size += len(text.text)
        if size >= BATCH:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


@dataclass(frozen=True, slots=True)
class FileWork:
    """The work on a file.

    Attributes:
        matcher: of the tasks.
        columns: of the texts.
        state: folder of the results; None keeps none.
    """

    matcher: Matcher
    columns: tuple[str, ...] = ()
    state: Path | None = None

    def __call__(self, path: str) -> FileResult:
        """Return what the file holds."""
        stamp = _stamp(path)  # of the file as it was before it was read
        return self.keep(scan_file(path, self.matcher, columns=self.columns), stamp)

    def keep(self, result: FileResult, stamp: str) -> FileResult:
        """Write a result where a killed scan continues from."""
        if self.state is not None:
            self.state.mkdir(exist_ok=True)
            with atomic_file(_state_file(self.state, result.source)) as file:
                file.write(json.dumps({"stamp": stamp, **asdict(result)}).encode())
        return result

    def kept(self, path: str) -> FileResult | None:
        """Return the result of a file that has not changed since; None without one."""
        if self.state is None:
            return None
        try:
            value = parse_json(_state_file(self.state, path).read_bytes())
            # a file that changed since gives no evidence of what it holds now
            return _result_of(value) if value.pop("stamp") == _stamp(path) else None
        except (OSError, ValueError, KeyError, TypeError):  # absent, or cut off when the scan was killed
            return None


@dataclass(frozen=True, slots=True)
class ScanWorkers:
    """Those that read the files.

    Attributes:
        jobs: files that are read at a time; None: as many as there are cores.
        readers: "processes", or NAME:ADDRESS of a plug-in of `assay.readers` whose readers apply functions.
    """

    jobs: int | None = None
    readers: str = PROCESSES


OWN_PROCESSES = ScanWorkers()


def file_results(files: Sequence[str], work: FileWork, workers: ScanWorkers) -> Iterator[FileResult]:
    """Yield the result of each file, in order; those that are kept already are not read again.

    Args:
        files: paths.
        work: what is done with each.
        workers: that do it.

    Raises:
        DataError: there are no such readers.
    """
    missing = [path for path in files if work.kept(path) is None]
    if workers.readers != PROCESSES:
        fresh = _on_cluster(missing, work, workers)
    else:
        jobs = min(workers.jobs or default_jobs(missing), len(missing))
        fresh = _by_processes(missing, FileProcesses(work, jobs)) if jobs > 1 else map(work, missing)
    absent = set(missing)
    # results of both kinds come in the order of the files, so evidence does not depend on when a scan was killed
    for path in files:
        result = next(fresh) if path in absent else work.kept(path)
        yield result or work(path)  # a file that has changed meanwhile is read again


def default_jobs(files: Iterable[str]) -> int:
    """Return as many processes as there are cores; one for a little data, which is read before processes start."""
    sizes = (Path(path).stat().st_size for path in files if not path.startswith(HUB))
    # adding stops at the limit: a corpus may have millions of files
    if any(map(WORTH_PROCESSES.__lt__, accumulate(sizes))):
        return os.cpu_count() or 1
    return 1


@dataclass
class FileProcesses:
    """Processes of this machine; a file that ends its process is read again alone, and counted if it does so again."""

    work: FileWork
    jobs: int
    _pools: dict[int, ProcessPoolExecutor] = field(default_factory=dict)

    def submit(self, path: str, jobs: int) -> Future[FileResult]:
        """Give a file to processes, new ones if the last ones broke."""
        for _ in range(2):
            if jobs not in self._pools:
                self._pools[jobs] = worker_processes(jobs, _begin, self.work, preload=__name__)
            try:
                return submit_to(self._pools[jobs], _in_process, path)
            except BrokenProcessPool:
                del self._pools[jobs]
        raise DataError(f"{path}: the processes that read end at once; expected ones that can start (--jobs 1)")

    def result(self, path: str, future: Future[FileResult]) -> FileResult:
        """Return the result of a file."""
        try:
            return future.result()
        except BrokenProcessPool:
            # a pool breaks as a whole when one of its processes ends (concurrent.futures): all its futures fail
            # it need not have been this file: all that were under way are read again, one at a time
            self._pools.pop(self.jobs, None)
        try:
            return self.submit(path, 1).result()
        except BrokenProcessPool:
            self._pools.pop(1, None)
            return self.work.keep(_crashed(path), _stamp(path))

    def close(self) -> None:
        """End all processes."""
        for pool in self._pools.values():
            pool.shutdown(wait=True, cancel_futures=True)

    def stop(self) -> None:
        """End all processes in the middle of their files."""
        for pool in self._pools.values():
            stop_processes(pool)


def _by_processes(files: Iterable[str], processes: FileProcesses) -> Iterator[FileResult]:
    under_way: deque[tuple[str, Future[FileResult]]] = deque()
    try:
        for path in files:
            under_way.append((path, processes.submit(path, processes.jobs)))
            if len(under_way) > UNDER_WAY:
                yield processes.result(*under_way.popleft())
        while under_way:
            yield processes.result(*under_way.popleft())
    except BaseException:
        # Ctrl-C does not wait for the files under way: one may take hours
        processes.stop()
        raise
    finally:
        processes.close()


# the matcher is large and its tables are the same for every file: a process receives it when it starts, not with each
# task
_WORK: list[FileWork] = []
"""The work of this process, received once."""


def _begin(work: FileWork) -> None:
    _WORK.append(work)


def _in_process(path: str) -> FileResult:
    return _WORK[0](path)


@runtime_checkable
class ApplyingReaders(Protocol):
    """Readers of a plug-in that apply any function of bytes, in order; None where a task ends its workers."""

    def each(self, function: Callable[[bytes], bytes], tasks: Iterable[bytes]) -> Iterator[bytes | None]:
        """Yield the result of each task."""
        ...


def _on_cluster(files: Sequence[str], work: FileWork, workers: ScanWorkers) -> Iterator[FileResult]:
    with open_readers(workers.readers, settings=IndexSettings(), encoder=None, jobs=workers.jobs) as opened:
        if not isinstance(opened, ApplyingReaders):
            raise DataError(f"received --readers {workers.readers}, which read for an index; expected ray:ADDRESS")
        function = partial(_packed, tasks=work.matcher.tasks, blind=work.matcher.blind, columns=work.columns)
        stamps = map(_stamp, files)
        for path, stamp, packed in zip(files, stamps, opened.each(function, map(os.fsencode, files)), strict=True):
            yield work.keep(_crashed(path) if packed is None else _result_of(parse_json(packed)), stamp)


def _packed(path: bytes, *, tasks: tuple[ScannedTask, ...], blind: bool, columns: tuple[str, ...]) -> bytes:
    """Read a file in a worker of a cluster."""
    return json.dumps(asdict(scan_file(os.fsdecode(path), _matcher(tasks, blind), columns=columns))).encode()


@cache
def _matcher(tasks: tuple[ScannedTask, ...], blind: bool) -> Matcher:  # noqa: FBT001  a key
    """Return the matcher, once in each worker."""
    return Matcher(tasks, blind=blind)


def _crashed(path: str) -> FileResult:
    unread, first = {CRASHES: 1}, {CRASHES: ""}
    nothing: dict[str, Any] = {"compared": 0, "size": 0, "shapes": {}, "places": {}, "rows": ()}
    return FileResult(path, **nothing, unread=unread, first=first, skipped=[""])


def _result_of(value: dict[str, Any]) -> FileResult:
    places = {}
    for task, rows in value["places"].items():
        places[int(task)] = [ScanPlace(**row) for row in rows]
    return FileResult(**value | {"places": places})


def _state_file(state: Path, path: str) -> Path:
    return state / f"{hashlib.sha256(path.encode('utf-8', 'surrogateescape')).hexdigest()}.json"


def _stamp(path: str) -> str:
    return path if path.startswith(HUB) else file_stamp(Path(path))
