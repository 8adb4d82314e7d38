"""One pass over a corpus: the results of its files are added up in order, whoever read them."""

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from assay.codec import encode
from assay.corpora.entry import NEVER_ENTERED
from assay.datasets import require_exists, walk
from assay.errors import DataError
from assay.reports import TabularResult
from assay.run import Run
from assay.scan.cleaning import write_clean
from assay.scan.evidence import ScanEvidence, ScanPlace, ScanStatus, TaskEvidence, write_evidence
from assay.scan.matching import Matcher
from assay.scan.reading import HUB
from assay.scan.tasks import read_tasks
from assay.scan.workers import MOST_PLACES, OWN_PROCESSES, FileResult, FileWork, ScanWorkers, file_results


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
        clean: folder of the corpus without those rows; None where it was not written.
        out: file of the evidence; None where it was not written.
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
    clean: Path | None = None
    out: Path | None = None

    def tasks(self, status: ScanStatus, benchmark: str | None = None) -> list[TaskEvidence]:
        """Return the tasks of a status, of one benchmark or of all."""
        return [task for task in self.evidence.tasks if task.status == status and benchmark in (None, task.benchmark)]


def scan_corpus(
    corpora: Sequence[str],
    benchmarks: Sequence[str],
    *,
    columns: Sequence[str] = (),
    blind: bool = True,
    workers: ScanWorkers = OWN_PROCESSES,
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
        workers: that read the files.
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
    total = _Sum()
    with run.begun(**settings) if run else nullcontext():
        work = FileWork(matcher, tuple(columns), run.state if run else None)
        for done, result in enumerate(file_results(files, work, workers), 1):
            total.add(result)
            if clean is not None:
                write_clean(result.source, clean / _inside(result.source, corpora), result.rows)
            if progress is not None:
                progress(done, len(files))
        scanned = total.answer(corpora, matcher)
        if not scanned.evidence.compared:
            reasons = ", ".join(f"{reason} ({number})" for reason, number in scanned.unread.items())
            raise DataError(f"{', '.join(corpora)}: no text was read: {reasons or 'no file'}; expected training data")
        if out is not None and run is not None:
            write_evidence(out, scanned.evidence)
            run.finish()
    return replace(scanned, clean=clean, out=out)


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


class _Sum:
    """The results of files, added up: what is kept does not grow with the corpus."""

    def __init__(self) -> None:
        self.places: dict[int, list[ScanPlace]] = {}
        self.shapes: Counter[str] = Counter()
        self.unread: Counter[str] = Counter()
        self.numbers: Counter[str] = Counter()

    def add(self, result: FileResult) -> None:
        """Add the result of a file; the places of the first files are kept."""
        self.shapes.update(result.shapes)
        self.unread.update(result.unread)
        numbers = {"files": 1, "compared": result.compared, "size": result.size, "rows": len(result.rows)}
        self.numbers.update(numbers | {"more": result.more})
        for task, inside in result.places.items():
            kept = self.places.setdefault(task, [])
            self.numbers["more"] += max(0, len(kept) + len(inside) - MOST_PLACES)
            kept += inside[: MOST_PLACES - len(kept)]

    def answer(self, corpora: Sequence[str], matcher: Matcher) -> CorpusScan:
        """Return the answer."""
        evidence = []
        for number, task in enumerate(matcher.tasks):
            status: ScanStatus = "not found" if number in matcher.tellable else "too short to tell"
            places = tuple(self.places.get(number, ()))
            evidence.append(
                TaskEvidence(task.benchmark, task_id=task.id, status="found" if places else status, places=places)
            )
        numbers = self.numbers
        return CorpusScan(
            corpora=tuple(corpora),
            evidence=ScanEvidence(tuple(evidence), compared=numbers["compared"], unread=self.unread.total()),
            files=numbers["files"],
            size=numbers["size"],
            shapes=dict(self.shapes.most_common()),
            unread=dict(self.unread.most_common()),
            rows=numbers["rows"],
            more=numbers["more"],
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
