"""One pass over a corpus: the results of its files are added up in order, whoever read them."""

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, replace
from itertools import starmap
from pathlib import Path

from assay.codec import encode
from assay.corpora.entry import NEVER_ENTERED
from assay.datasets import folders_below, require_exists
from assay.errors import DataError
from assay.files import remove_leftovers
from assay.reports import TabularResult
from assay.run import Run
from assay.scan.cleaning import write_clean
from assay.scan.evidence import ScanEvidence, ScanPlace, ScanStatus, TaskEvidence, inside_archive, write_evidence
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
        first: reason → the first place that was not read for it.
        rows: number of rows and files that hold a task.
        skipped: number of rows and files that were not read; a clean copy lacks them too.
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
    first: Mapping[str, str]
    rows: int
    skipped: int
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
        clean: folder that the corpus is written to without the rows that hold a task or were not read.
        out: file of the evidence; what a killed scan continues from lies beside it.
        progress: is called with the files done and their total.

    Raises:
        DataError: a corpus or a benchmark cannot be read, or nothing was read.
    """
    tasks = read_tasks(benchmarks)
    files, other = corpus_files(corpora)
    for option, place in (("-o", out), ("--write-clean", clean)):
        check_outside(option, place, corpora)
    copies = None if clean is None else _CleanCopies(clean, _clean_targets(clean, files, corpora))
    matcher = Matcher(tasks, blind=blind)
    run = None if out is None else Run.beside(out, "scan", force=True)
    # what decides the evidence: a scan goes on only where all of it is the same
    settings = {
        "tasks": hashlib.sha256(json.dumps(encode(list(map(asdict, tasks)))).encode()).hexdigest(),
        "corpora": [*map(str, corpora)],
        "columns": [*columns],
        "blind": blind,
        "clean": str(clean),
    }
    total = _Sum()
    for reason, path in other:
        total.skip(reason, path)
    with run.begun(**settings) if run else nullcontext():
        if copies is not None:
            copies.begin(continues=run is not None and run.continues)
        work = FileWork(matcher, tuple(columns), run.state if run else None)
        for done, result in enumerate(file_results(files, work, workers), 1):
            total.add(result)
            if copies is not None:
                copies.write(result)
            if progress is not None:
                progress(done, len(files))
        scanned = total.answer(corpora, matcher)
        _check_read(scanned)
        if out is not None and run is not None:
            write_evidence(out, scanned.evidence)
            run.finish()
    return replace(scanned, clean=clean, out=out)


def corpus_files(corpora: Iterable[str]) -> tuple[list[str], list[tuple[str, str]]]:
    """Return the files of corpora, in order, and what is none: why, and its path.

    A link to a file is the file that it leads to, because caches consist of links; one to a folder is not followed.

    Raises:
        DataError: a corpus does not exist, or holds no file.
    """
    files: list[str] = []
    other: list[tuple[str, str]] = []
    for corpus in corpora:
        if corpus.startswith(HUB):
            files.append(corpus)
            continue
        if "://" in corpus:
            raise DataError(f"{corpus}: an address, expected a file, a folder or hf:OWNER/NAME")
        place = Path(corpus)
        require_exists(place)
        if place.is_file():
            files.append(str(place))
            continue
        before = len(files) + len(other)
        for path, is_folder in _entries(place):
            if is_folder:
                other.append(("link to a folder", str(path)))
            elif path.is_file():
                files.append(str(path))
            else:
                other.append(("broken link" if path.is_symlink() else "not a plain file", str(path)))
        if before == len(files) + len(other):
            raise DataError(f"{corpus}: an empty folder, expected files of training data")
    return list(dict.fromkeys(files)), other


def check_outside(option: str, place: Path | None, corpora: Iterable[str]) -> None:
    """Check that a result is none of the corpora and in none of them: the next scan would find the tasks in it.

    Raises:
        DataError: it is.
    """
    if place is None:
        return
    for corpus in corpora:
        if not corpus.startswith(HUB) and place.resolve().is_relative_to(Path(corpus).resolve()):
            raise DataError(f"{option} {place}: lies in the corpus {corpus}; expected another place")


def _entries(folder: Path) -> Iterator[tuple[Path, bool]]:
    """Yield what lies below a folder, sorted within each, and whether it is a link to a folder."""
    for parent, folders, files in folders_below(folder, skip=NEVER_ENTERED):
        for name in (*folders, *files):
            path = Path(parent, name)
            if name not in folders or path.is_symlink():
                yield path, name in folders


class _Sum:
    """The results of files, added up: what is kept does not grow with the corpus."""

    def __init__(self) -> None:
        self.places: dict[int, list[ScanPlace]] = {}
        self.shapes: Counter[str] = Counter()
        self.unread: Counter[str] = Counter()
        self.first: dict[str, str] = {}
        self.numbers: Counter[str] = Counter()

    def skip(self, reason: str, path: str) -> None:
        """Count a path that is no file."""
        self.unread[reason] += 1
        self.first.setdefault(reason, path)
        self.numbers["skipped"] += 1

    def add(self, result: FileResult) -> None:
        """Add the result of a file; the places of the first files are kept."""
        self.shapes.update(result.shapes)
        self.unread.update(result.unread)
        for reason, where in result.first.items():
            self.first.setdefault(reason, _unread_place(result.source, where))
        numbers = {"files": 1, "compared": result.compared, "size": result.size, "rows": len(result.rows)}
        self.numbers.update(numbers | {"more": result.more, "skipped": len(result.skipped)})
        for task, inside in result.places.items():
            # files come in order, so the places that are kept do not depend on who read them
            kept = self.places.setdefault(task, [])
            self.numbers["more"] += max(0, len(kept) + len(inside) - MOST_PLACES)
            kept += inside[: MOST_PLACES - len(kept)]

    def answer(self, corpora: Sequence[str], matcher: Matcher) -> CorpusScan:
        """Return the answer."""
        evidence = []
        for number, task in enumerate(matcher.tasks):
            places = tuple(self.places.get(number, ()))
            absent: ScanStatus = "not found" if number in matcher.tellable else "too short to tell"
            status = "found" if places else absent
            evidence.append(TaskEvidence(task.benchmark, task_id=task.id, status=status, places=places))
        numbers = self.numbers
        return CorpusScan(
            corpora=tuple(corpora),
            evidence=ScanEvidence(tuple(evidence), compared=numbers["compared"], unread=self.unread.total()),
            files=numbers["files"],
            size=numbers["size"],
            shapes=dict(self.shapes.most_common()),
            unread=dict(self.unread.most_common()),
            first=self.first,
            rows=numbers["rows"],
            skipped=numbers["skipped"],
            more=numbers["more"],
            blind=matcher.blind,
        )


def _inside(source: str, corpora: Sequence[str]) -> Path:
    """Return the path of a file below the folder that it was named with; its name where it was named itself."""
    for corpus in corpora:
        if Path(corpus).is_dir() and Path(source).is_relative_to(corpus):
            return Path(Path(corpus).resolve().name) / Path(source).relative_to(corpus)
    return Path(Path(source).name)


def _check_read(scanned: CorpusScan) -> None:
    if not scanned.evidence.compared:
        reasons = ", ".join(starmap("{} ({})".format, (scanned.unread or scanned.shapes).items())) or "no row"
        raise DataError(f"{', '.join(scanned.corpora)}: no text was read: {reasons}; expected training data")


@dataclass(frozen=True, slots=True)
class _CleanCopies:
    """The copies of files in a folder, each without the rows that hold a task or were not read."""

    folder: Path
    targets: Mapping[str, Path]

    def begin(self, *, continues: bool) -> None:
        if continues:
            remove_leftovers(self.targets.values())
        elif self.folder.is_dir() and any(self.folder.iterdir()):
            raise DataError(f"--write-clean {self.folder}: holds files; expected a new or empty folder")

    def write(self, result: FileResult) -> None:
        # of a file that could not be opened there is nothing to copy
        removed = {*result.rows, *result.skipped} if result.compared or not result.is_cut else {""}
        write_clean(result.source, self.targets[result.source], removed, is_cut=result.is_cut)


def _clean_targets(clean: Path, files: Sequence[str], corpora: Sequence[str]) -> dict[str, Path]:
    """Return file → its clean copy.

    Raises:
        DataError: the copies cannot be written there.
    """
    if any(path.startswith(HUB) for path in files):
        raise DataError("--write-clean: expected files; received a data set of the hub")
    if any(Path(path).resolve().is_relative_to(clean.resolve()) for path in files):
        raise DataError(f"--write-clean {clean}: holds files of the corpus; expected another folder")
    targets = {path: clean / _inside(path, corpora) for path in files}
    for target, count in Counter(targets.values()).items():
        if count > 1:
            raise DataError(f"--write-clean: {count} files would become {target}; expected other names, or one folder")
    return targets


def _unread_place(source: str, where: int | str) -> str:
    if isinstance(where, int):
        return f"{source} row {where}"
    return inside_archive(source, where)
