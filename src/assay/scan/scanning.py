"""One pass over a corpus: files go to workers, what each holds comes back, and the results are merged in order.

A file is the unit of work. Its result is written beside the evidence when it is complete, so a scan that was killed
goes on with the files that are missing, and gives the same evidence.
"""

import hashlib
import json
import multiprocessing
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, nullcontext
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from assay.codec import encode
from assay.corpora.archives import file_stamp
from assay.corpora.entry import NEVER_ENTERED
from assay.datasets import require_exists, walk
from assay.errors import DataError
from assay.files import parse_json, write_json
from assay.reports import TabularResult
from assay.run import Run
from assay.scan.cleaning import write_clean
from assay.scan.evidence import ScanEvidence, ScanPlace, ScanStatus, TaskEvidence, write_evidence
from assay.scan.matching import Matcher
from assay.scan.reading import HUB, CorpusText, FileReader
from assay.scan.tasks import read_tasks

BATCH = 2_000_000
"""Bytes of texts that are compared at a time."""
WORTH_PROCESSES = 30_000_000
"""Bytes of files from which several processes read, unless the caller names their number."""
MOST_PLACES = 100
"""Places of a task in a file that are kept, and of a task in all: copies of one text may be millions."""


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
    """

    source: str
    compared: int
    size: int
    shapes: Mapping[str, int]
    unread: Mapping[str, int]
    places: Mapping[int, Sequence[ScanPlace]]
    rows: Sequence[int | str]
    more: int = 0


@dataclass(frozen=True, slots=True, repr=False)
class CorpusScan(TabularResult):
    """The answer of a scan.

    Attributes:
        corpora: as they were named.
        evidence: of every task.
        files: number of files.
        size: bytes of the texts that were compared.
        shapes: texts of each shape.
        unread: what was not read, by reason.
        rows: number of rows and files that hold a task.
        more: number of places that are not listed.
        blind: whether code with other names was looked for.
    """

    corpora: tuple[str, ...]
    evidence: ScanEvidence
    files: int
    size: int
    shapes: Mapping[str, int]
    unread: Mapping[str, int]
    rows: int
    more: int
    blind: bool

    def tasks(self, status: ScanStatus, benchmark: str | None = None) -> list[TaskEvidence]:
        """Return the tasks of a status, of one benchmark or of all."""
        return [task for task in self.evidence.tasks if task.status == status and benchmark in (None, task.benchmark)]


def scan_corpus(
    corpora: Sequence[str],
    benchmarks: Sequence[str],
    *,
    columns: Sequence[str] = (),
    blind: bool = True,
    jobs: int | None = None,
    clean: Path | None = None,
    out: Path | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> CorpusScan:
    """Look for the tasks of benchmarks in a corpus.

    Args:
        corpora: files, folders, or hf:OWNER/NAME.
        benchmarks: names, NAME=PATH, or paths of tables.
        columns: of the texts in tables; none: all text of a row.
        blind: look for code with other names too.
        jobs: processes; None: one for each core.
        clean: folder that the corpus is written to without the rows that hold a task.
        out: file of the evidence; what a killed scan continues from lies beside it.
        progress: is called with the files done and their total.

    Raises:
        DataError: a corpus or a benchmark cannot be read, or nothing was read.
    """
    tasks = read_tasks(benchmarks)
    files = list(corpus_files(corpora))
    if clean is not None:
        _check_clean(clean, files)
    matcher = Matcher(tasks, blind=blind)
    run = Run.beside(out, "scan", force=True) if out is not None else None
    settings = {
        "tasks": hashlib.sha256(json.dumps(encode(list(map(asdict, tasks)))).encode()).hexdigest(),
        "corpora": [*map(str, corpora)],
        "columns": [*columns],
        "blind": blind,
    }
    results: list[FileResult] = []
    with run.begun(**settings) if run else nullcontext():
        state = run.state if run else None
        work = FileWork(matcher, tuple(columns), state)
        for result in _results(files, work, jobs=jobs):
            results.append(result)
            if clean is not None:
                write_clean(result.source, clean / _inside(result.source, corpora), result.rows)
            if progress is not None:
                progress(len(results), len(files))
        scanned = merged(corpora, matcher, results)
        if not scanned.evidence.compared:
            reasons = ", ".join(f"{reason} ({number})" for reason, number in scanned.unread.items())
            raise DataError(f"{', '.join(corpora)}: no text was read: {reasons or 'no file'}; expected training data")
        if out is not None and run is not None:
            write_evidence(out, scanned.evidence)
            run.finish()
    return scanned


def corpus_files(corpora: Iterable[str]) -> Iterator[str]:
    """Yield the files of corpora, in order.

    Raises:
        DataError: one does not exist, or holds no file.
    """
    for corpus in corpora:
        if corpus.startswith(HUB):
            yield corpus
            continue
        place = Path(corpus)
        require_exists(place)
        inside = list(walk(place, skip=NEVER_ENTERED)) if place.is_dir() else [place]
        if not inside:
            raise DataError(f"{corpus}: an empty folder, expected files of training data")
        yield from map(str, inside)


def scan_file(path: str, matcher: Matcher, *, columns: Sequence[str] = ()) -> FileResult:
    """Return what one file holds."""
    reader = FileReader(path, columns)
    compared = size = more = 0
    places: dict[int, list[ScanPlace]] = {}
    rows: dict[int | str, None] = {}
    for batch in _batches(reader.texts()):
        compared += len(batch)
        size += sum(len(text.text) for text in batch)
        for number, match in matcher.search([text.text for text in batch]):
            text = batch[number]
            rows[text.row if text.row is not None else text.member] = None
            kept = places.setdefault(match.task, [])
            if len(kept) < MOST_PLACES:
                source = f"{path}!{text.member}" if text.member else path
                kept.append(replace(match.place, source=source, row=text.row))
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
    )


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
    """What a worker does with a file: its result is written where a scan that is killed continues from.

    Attributes:
        matcher: of the tasks.
        columns: of the texts.
        state: folder of the results; None keeps none.
    """

    matcher: Matcher
    columns: Sequence[str]
    state: Path | None

    def __call__(self, path: str) -> FileResult:
        """Return what the file holds."""
        stamp = _stamp(path)
        result = scan_file(path, self.matcher, columns=self.columns)
        if self.state is not None:
            self.state.mkdir(exist_ok=True)
            write_json(_state_file(self.state, path), {"stamp": stamp, **asdict(result)})
        return result


_WORK: list[FileWork] = []
"""The work of this process, received once."""


def _begin(work: FileWork) -> None:
    _WORK.append(work)


def _in_process(path: str) -> FileResult:
    return _WORK[0](path)


def _results(files: Sequence[str], work: FileWork, *, jobs: int | None) -> Iterator[FileResult]:
    """Yield the result of each file in order; those that are in the state already are not read again."""
    stored = {path: _stored(work.state, path) for path in files} if work.state else dict.fromkeys(files)
    missing = [path for path in files if stored[path] is None]
    # processes start slower than a little data is read
    large = sum(Path(path).stat().st_size for path in missing if not path.startswith(HUB)) > WORTH_PROCESSES
    workers = min(jobs or (os.cpu_count() or 1 if large else 1), len(missing))
    with ExitStack() as stack:
        fresh: Iterator[FileResult] = map(work, missing)
        if workers > 1:
            context = multiprocessing.get_context("forkserver")
            pool = stack.enter_context(ProcessPoolExecutor(workers, context, _begin, (work,)))
            fresh = pool.map(_in_process, missing)
        for path in files:
            yield stored[path] or next(fresh)


def _state_file(state: Path, path: str) -> Path:
    return state / f"{hashlib.sha256(path.encode('utf-8', 'surrogateescape')).hexdigest()}.json"


def _stamp(path: str) -> str:
    return path if path.startswith(HUB) else file_stamp(Path(path))


def _stored(state: Path, path: str) -> FileResult | None:
    """Return the result of a file that has not changed since; None without one."""
    try:
        value = parse_json(_state_file(state, path).read_text("utf-8"))
        if value.pop("stamp") != _stamp(path):
            return None
        places = {}
        for task, rows in value["places"].items():
            places[int(task)] = [ScanPlace(**row) for row in rows]
        value["places"] = places
        return FileResult(**value)
    except (OSError, ValueError, KeyError, TypeError):
        return None


def merged(corpora: Sequence[str], matcher: Matcher, results: Sequence[FileResult]) -> CorpusScan:
    """Return the answer from the results of all files."""
    places: dict[int, list[ScanPlace]] = {}
    shapes: Counter[str] = Counter()
    unread: Counter[str] = Counter()
    more = 0
    for result in results:
        shapes.update(result.shapes)
        unread.update(result.unread)
        more += result.more
        for position, inside in result.places.items():
            kept = places.setdefault(position, [])
            more += max(0, len(kept) + len(inside) - MOST_PLACES)
            kept += inside[: MOST_PLACES - len(kept)]
    evidence = []
    for number, task in enumerate(matcher.tasks):
        status: ScanStatus = "not found" if number in matcher.tellable else "too short to tell"
        if number in places:
            status = "found"
        evidence.append(TaskEvidence(task.benchmark, task.id, status, tuple(places.get(number, ()))))
    return CorpusScan(
        corpora=tuple(corpora),
        evidence=ScanEvidence(
            tuple(evidence), compared=sum(result.compared for result in results), unread=sum(unread.values())
        ),
        files=len(results),
        size=sum(result.size for result in results),
        shapes=dict(shapes.most_common()),
        unread=dict(unread.most_common()),
        rows=sum(len(result.rows) for result in results),
        more=more,
        blind=matcher.blind,
    )


def _inside(source: str, corpora: Sequence[str]) -> Path:
    """Return the path of a file below the folder that it was named with; its name where it was named itself."""
    for corpus in corpora:
        if Path(corpus).is_dir() and Path(source).is_relative_to(corpus):
            return Path(Path(corpus).resolve().name) / Path(source).relative_to(corpus)
    return Path(Path(source).name)


def _check_clean(clean: Path, files: Sequence[str]) -> None:
    if any(path.startswith(HUB) for path in files):
        raise DataError("--write-clean: expected files; received a data set of the hub")
    if any(Path(path).resolve().is_relative_to(clean.resolve()) for path in files):
        raise DataError(f"--write-clean {clean}: holds files of the corpus; expected another folder")
