"""The evidence of a scan: for each task of a benchmark whether a corpus holds it, and where, as a file.

One row for each task and place, as Parquet or JSON lines by the ending of the name; a task without a place has one row
whose `part` is empty. Every row names the version of the format and how many texts were compared and left unread, so a
row that is read alone never claims more than the scan did.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from itertools import groupby, islice, repeat
from operator import attrgetter, itemgetter
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, get_args

from assay.datasets import read_rows
from assay.errors import DataError
from assay.escaping import json_text
from assay.files import atomic_file

FORMAT = 1
"""Version of the rows; a reader refuses a later one."""

ScanStatus = Literal["found", "not found", "too short to tell"]
SCAN_STATUSES: tuple[ScanStatus, ...] = get_args(ScanStatus)

ROW_GROUP = 4096
ENDINGS = (".parquet", ".jsonl")


@dataclass(frozen=True, slots=True)
class ScanPlace:
    """One place of a corpus that holds a part of a task.

    Attributes:
        part: of the task: "task", "prompt", "docstring", "solution", "tests", "patch" or "issue".
        how: "word for word", "reformatted", "renamed" or "rewrapped".
        share: of the part that the place holds, 0 to 1.
        source: file of the corpus; for an archive its path, an exclamation mark and the member.
        row: of the file, from 1; None for a plain file.
        field: of the row, with dots, where the place begins: `messages.1.content`; "" for a plain file.
        first_line: of that text, from 1.
        last_line: included.
        shared_with: ids of other tasks of the benchmark that have the same text, joined by commas.
        task_text: the part of the task.
        source_text: what the place holds.
    """

    part: str
    how: str
    share: float
    source: str
    row: int | None
    first_line: int
    last_line: int
    task_text: str
    source_text: str
    field: str = ""
    shared_with: str = ""


@dataclass(frozen=True, slots=True)
class TaskEvidence:
    """The answer of a scan for one task.

    Attributes:
        benchmark: name of the benchmark, or of the file that holds it.
        task_id: in the benchmark.
        status: "found", "not found" or "too short to tell"; never "clean", because other wording is not looked for.
        places: of a task that was found.
    """

    benchmark: str
    task_id: str
    status: ScanStatus
    places: tuple[ScanPlace, ...] = ()


@dataclass(frozen=True)
class ScanEvidence:
    """The answer of a scan for every task, in the order of the benchmarks.

    Attributes:
        tasks: each once.
        compared: number of texts of the corpus that were compared.
        unread: number of texts and files that were not read.
    """

    tasks: tuple[TaskEvidence, ...]
    compared: int
    unread: int = 0

    @cached_property
    def by_task(self) -> Mapping[tuple[str, str], TaskEvidence]:
        """Benchmark and id of a task → what is known about it."""
        return MappingProxyType({(task.benchmark, task.task_id): task for task in self.tasks})

    @property
    def benchmarks(self) -> tuple[str, ...]:
        """Names of the benchmarks, in their order."""
        return tuple(dict.fromkeys(map(attrgetter("benchmark"), self.tasks)))


_PLACE_COLUMNS = tuple(map(attrgetter("name"), fields(ScanPlace)))
_EMPTY_PLACE: dict[str, object] = dict.fromkeys(_PLACE_COLUMNS) | {"part": ""}


def inside_archive(source: str, member: str) -> str:
    """Return the place of a member of an archive: `data.tar!a/b.py`; the file itself without a member."""
    return source + f"!{member}" * bool(member)


def check_evidence(path: Path | None) -> None:
    """Check the ending of the name of a file that evidence is written to.

    Raises:
        DataError: it is neither Parquet nor JSON lines.
    """
    if path is not None and path.suffix.lower() not in ENDINGS:
        raise DataError(f"{path}: expected a name that ends in {' or '.join(ENDINGS)}")


def write_evidence(path: Path, evidence: ScanEvidence) -> None:
    """Write evidence as Parquet or JSON lines, by the ending of the name.

    Raises:
        DataError: the file cannot be written, or has another ending.
    """
    check_evidence(path)
    with atomic_file(path) as file:
        if path.suffix.lower() == ".jsonl":
            for row in evidence_rows(evidence):
                file.write(json_text(row, ensure_ascii=False).encode("utf-8", "surrogatepass") + b"\n")
        else:
            _write_parquet(file, evidence_rows(evidence))


def evidence_rows(evidence: ScanEvidence) -> Iterator[dict[str, object]]:
    """Yield the rows of the file, one for each task and place."""
    totals: dict[str, object] = {"texts_compared": evidence.compared, "not_read": evidence.unread}
    for task in evidence.tasks:
        head: dict[str, object] = {
            "format": FORMAT,
            "benchmark": task.benchmark,
            "task_id": task.task_id,
            "status": task.status,
        }
        for place in map(asdict, task.places):
            yield head | place | totals
        if not task.places:
            yield head | _EMPTY_PLACE | totals


def _write_parquet(file: Any, rows: Iterable[Mapping[str, object]]) -> None:  # noqa: ANN401  pyarrow publishes no types
    import pyarrow as pa  # noqa: PLC0415  slow to import, and the reader of JSON lines does without it
    import pyarrow.parquet as pq  # noqa: PLC0415

    numbers = {"share": pa.float64()}
    numbers |= dict.fromkeys(("format", "row", "first_line", "last_line", "texts_compared", "not_read"), pa.int64())
    names = ("format", "benchmark", "task_id", "status", *_PLACE_COLUMNS, "texts_compared", "not_read")
    # stated and not inferred: a group of rows without a place would get columns of type null
    schema = pa.schema([(name, numbers.get(name, pa.string())) for name in names])
    remaining = iter(rows)
    with pq.ParquetWriter(file, schema) as table:
        while group := list(islice(remaining, ROW_GROUP)):
            table.write_table(pa.Table.from_pylist(group, schema))


def read_evidence(path: Path) -> ScanEvidence:
    """Read what `write_evidence` wrote.

    Raises:
        DataError: the file cannot be read, is not evidence of a scan, is of a later version, or holds no task.
    """
    rows = list(map(_checked, read_rows(path, lambda _: None), repeat(path)))
    if not rows:
        raise DataError(f"{path}: no rows, expected the evidence that `assay scan -o` writes")
    tasks: dict[tuple[str, str], TaskEvidence] = {}
    for (benchmark, task_id), group in groupby(rows, itemgetter("benchmark", "task_id")):
        # rows of one task stand together, as they were written: a task that comes again is of another scan
        lines = list(group)
        places = tuple(map(_place, filter(itemgetter("part"), lines)))
        if (benchmark, task_id) in tasks or (lines[0]["status"] == "found") != bool(places):
            raise DataError(f"{path}: the rows of task {task_id} contradict each other, expected those of one scan")
        tasks[benchmark, task_id] = TaskEvidence(benchmark, task_id=task_id, status=lines[0]["status"], places=places)
    return ScanEvidence(tuple(tasks.values()), compared=rows[0]["texts_compared"], unread=rows[0]["not_read"])


def _place(line: Mapping[str, Any]) -> ScanPlace:
    return ScanPlace(**{name: line[name] for name in _PLACE_COLUMNS})


_TYPES: Mapping[str, type | tuple[type, ...]] = {
    "format": int,
    "benchmark": str,
    "task_id": str,
    "status": str,
    "part": str,
    "texts_compared": int,
    "not_read": int,
}
_PLACE_TYPES: Mapping[str, type | tuple[type, ...]] = {
    "how": str,
    "share": (int, float),
    "source": str,
    "row": (int, type(None)),
    "first_line": int,
    "last_line": int,
    "task_text": str,
    "source_text": str,
    "field": str,
    "shared_with": str,
}


def _checked(row: Mapping[str, Any], path: Path) -> Mapping[str, Any]:
    expected = dict(_TYPES)
    if row.get("part"):
        expected.update(_PLACE_TYPES)
    wrong = [name for name, kind in expected.items() if name not in row or not isinstance(row[name], kind)]
    if wrong:
        raise DataError(
            f"{path}: the column {wrong[0]} is missing or of another type; expected the evidence that "
            "`assay scan -o` writes"
        )
    if row["format"] > FORMAT:
        raise DataError(f"{path}: format {row['format']}, expected {FORMAT}: a newer version of assay wrote it")
    if row["status"] not in SCAN_STATUSES:
        raise DataError(f"{path}: status {row['status']!r}, expected one of {', '.join(SCAN_STATUSES)}")
    return row
