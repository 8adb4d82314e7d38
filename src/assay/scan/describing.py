"""The answer of a scan as a report: the first screen, a table of benchmarks, the places with both texts."""

from collections import Counter
from collections.abc import Mapping
from functools import partial
from itertools import repeat, starmap
from operator import attrgetter

from assay.reports import Answer, Column, Report, Row, Table, describe, number_of
from assay.scan.evidence import SCAN_STATUSES, ScanPlace, TaskEvidence, evidence_rows
from assay.scan.scanning import CorpusScan

MOST_ROWS = 50
"""Places that the table lists; the evidence has all."""
QUOTED = 400
"""Characters of each text in the table."""
RECALL: Mapping[str, float] = {
    "word for word": 0.996,
    "translated comments": 0.967,
    "all names replaced": 0.916,
    "solution, all names replaced": 0.852,
    "a third of the lines edited": 0.82,
}
"""Share of the tasks of seven benchmarks, put into files of packages, that a scan found (laboratory: scan/recall)."""
LIMIT = (
    "Not found is not absent: another wording or another solution of the same task is not looked for. Of tasks put "
    f"into other files, a scan found: {', '.join(starmap('{} {:.1%}'.format, RECALL.items()))}."
)


@describe.register
def _(scanned: CorpusScan) -> Report:
    """Return the report of a scan."""
    places: list[tuple[TaskEvidence, ScanPlace]] = []
    for task in scanned.tasks("found"):
        places += zip(repeat(task), task.places)
    tables = [
        _benchmarks(scanned),
        _counted("shapes", title="What was read", first="shape", counts=scanned.shapes, what="texts"),
    ]
    if scanned.unread:
        tables.append(
            _counted("unread", title="What was not read", first="reason", counts=scanned.unread, what="texts and files")
        )
    if places:
        tables.append(_places(places[:MOST_ROWS]))
    notes = [LIMIT]
    if len(places) > MOST_ROWS or scanned.more:
        notes.append(
            f"The table lists {min(len(places), MOST_ROWS)} of {len(places) + scanned.more:,} places; the evidence "
            f"(-o) has {len(places):,}."
        )
    return Report(
        title=f"Do these training data hold tasks of {', '.join(scanned.evidence.benchmarks)}?",
        statement="",
        answer=_answer(scanned),
        tables=tuple(tables),
        details=(data_card_paragraph(scanned),),
        notes=tuple(notes),
        data=_data(scanned),
        kind="scan of training data",
        on_first_screen=2 + bool(scanned.unread),
    )


def _answer(scanned: CorpusScan) -> Answer:
    holders, short = scanned.tasks("found"), scanned.tasks("too short to tell")
    read = f"{', '.join(starmap('{} ({:,})'.format, scanned.shapes.items()))} in " + number_of(scanned.files, "file")
    if scanned.evidence.unread:
        read += f"; not read: {scanned.evidence.unread:,}"
    measured = f"{len(holders):,} of {number_of(len(scanned.evidence.tasks), 'task')} found. Read: {read}."
    if holders:
        because = "Texts of the corpus hold tasks of the benchmark; -v names file, row and line."
        if scanned.clean is not None:
            because += f" {scanned.clean} has the corpus without {number_of(scanned.rows, 'row')} or files."
        return Answer("Found", because=because, measured=measured, next_step=_next_step(scanned))
    if scanned.evidence.unread:
        return Answer(
            "Undecided", "Nothing was found in what was read, but a part of the corpus was not read.", measured
        )
    if len(short) == len(scanned.evidence.tasks):
        return Answer("Too short to tell", "No task is long enough to be told from chance.", measured)
    return Answer("Not found", "No text that was compared holds a task or a part of one.", measured)


def _next_step(scanned: CorpusScan) -> str:
    """Return what can still be done with what was found."""
    steps = []
    if scanned.clean is None:
        steps.append("--write-clean DIR writes the corpus without those rows")
    if scanned.out is None:
        steps.append("-o FILE keeps the evidence")
    else:
        steps.append(f"assay annotate RESULTS --scan {scanned.out} splits a score by it")
    return "; ".join(steps)


def data_card_paragraph(scanned: CorpusScan) -> str:
    """Return a paragraph for the data card of the corpus."""
    evidence = scanned.evidence
    sentences = list(map(partial(_card_sentence, scanned), evidence.benchmarks))
    kinds = "word for word, reformatted or rewrapped"
    if scanned.blind:
        kinds += ", or with other names"
    return (
        f"For the data card: the {evidence.compared:,} texts ({scanned.size / 1e6:,.1f} MB) were searched for "
        f"tasks, prompts, solutions and tests {kinds}. {'. '.join(sentences)}. {evidence.unread:,} texts or "
        "files were not read. Paraphrases and other solutions were not looked for."
    )


def _card_sentence(scanned: CorpusScan, benchmark: str) -> str:
    holders, short = (scanned.tasks(status, benchmark) for status in ("found", "too short to tell"))
    total = Counter(map(attrgetter("benchmark"), scanned.evidence.tasks))[benchmark]
    sentence = f"{benchmark}: {len(holders)} of {total} tasks found"
    if holders:
        parts = Counter(task.places[0].part for task in holders).most_common()
        sentence += f" ({', '.join(starmap('{}: {}'.format, parts))})"
    if short:
        sentence += f", {len(short)} too short to tell"
    return sentence


def _benchmarks(scanned: CorpusScan) -> Table:
    rows = []
    for benchmark in scanned.evidence.benchmarks:
        counts = [len(scanned.tasks(status, benchmark)) for status in SCAN_STATUSES]
        rows.append(Row((benchmark, sum(counts), *counts)))
    columns = (Column("benchmark"), *(Column(title, "count") for title in ("tasks", *SCAN_STATUSES)))
    return Table("benchmarks", "Tasks of each benchmark", columns, rows=tuple(rows))


def _counted(name: str, title: str, first: str, counts: Mapping[str, int], what: str) -> Table:
    rows = tuple(Row((key, count)) for key, count in counts.items())
    return Table(name, title, (Column(first), Column(what, "count")), rows=rows)


def _places(places: "list[tuple[TaskEvidence, ScanPlace]]") -> Table:
    columns = (
        Column("task", "name", lambda pair: pair[0].task_id),
        Column("part", get=lambda pair: pair[1].part),
        Column("how", get=lambda pair: pair[1].how),
        Column("share", "share", lambda pair: pair[1].share),
        Column("place", get=lambda pair: scan_place_text(pair[1])),
        Column("the task", get=lambda pair: pair[1].task_text[:QUOTED], optional=True),
        Column("the corpus", get=lambda pair: pair[1].source_text[:QUOTED], optional=True),
    )
    return Table.of("places", "Tasks in the corpus", items=places, columns=columns)


def scan_place_text(place: ScanPlace) -> str:
    """Return file, row and lines of a place."""
    place_text = place.source
    if place.row is not None:
        place_text += f" row {place.row}"
    place_text += f" line {place.first_line}"
    if place.last_line > place.first_line:
        place_text += f"-{place.last_line}"
    return place_text


def _data(scanned: CorpusScan) -> dict[str, object]:
    evidence = scanned.evidence
    counts = Counter(map(attrgetter("status"), evidence.tasks))
    return {
        "corpora": list(scanned.corpora),
        "files": scanned.files,
        "texts_compared": evidence.compared,
        "bytes_compared": scanned.size,
        "shapes": dict(scanned.shapes),
        "not_read": dict(scanned.unread),
        "rows_with_tasks": scanned.rows,
        "places_left_out": scanned.more,
        "counts": {status: counts[status] for status in SCAN_STATUSES},
        "evidence": list(evidence_rows(evidence)),
        "data_card": data_card_paragraph(scanned),
    }
