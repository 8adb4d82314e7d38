"""The answer of a scan as a report: the first screen, a table of benchmarks, the places, both texts side by side."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, starmap
from operator import attrgetter

from assay.reports import Answer, Column, Juxtaposition, Report, Row, Table, describe, number_of
from assay.scan.evidence import SCAN_STATUSES, ScanPlace, evidence_rows
from assay.scan.scanning import CorpusScan

_SHAPES = (Column("shape"), Column("texts", "count"))
FIRST_ROWS, MOST_ROWS = 8, 50
"""Tasks in rows of the corpus that the first screen and the report list."""
RECALL: Mapping[str, float] = {
    "word for word": 0.996,
    "translated comments": 0.994,
    "all names replaced": 0.975,
    "solution, all names replaced": 0.832,
    "a third of the lines edited": 0.779,
}
"""Share of the tasks of seven benchmarks, put into files of packages, that a scan found (laboratory: scan/recall)."""
LIMIT = (
    "Not found is not absent: another wording or another solution of the same task is not looked for. Of tasks put "
    f"into other files, a scan found: {', '.join(starmap('{} {:.1%}'.format, RECALL.items()))}."
)


@describe.register
def _(scanned: CorpusScan) -> Report:
    """Return the report of a scan."""
    places = _shown_places(scanned)
    tables = [_benchmarks(scanned)]
    if places:
        tables.append(_places("places", "Tasks in the corpus", places[:FIRST_ROWS]))
    tables.append(Table("shapes", "What was read", _SHAPES, rows=tuple(map(Row, scanned.shapes.items()))))
    if scanned.unread:
        tables.append(_unread(scanned))
    first_screen = len(tables)
    if len(places) > FIRST_ROWS:
        tables.append(_places("more-places", "Further tasks in the corpus", places[FIRST_ROWS:MOST_ROWS]))
    notes = [LIMIT]
    if len(places) > MOST_ROWS or scanned.more:
        notes.append(
            f"The tables list {min(len(places), MOST_ROWS)} rows and files of the corpus; the evidence (-o) has "
            f"{_all_places(scanned) - scanned.more:,} of {number_of(_all_places(scanned), 'place')}."
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
        on_first_screen=first_screen,
        juxtapositions=tuple(map(_side_by_side, chain.from_iterable(map(_ShownPlace.pairs, places[:MOST_ROWS])))),
    )


def _answer(scanned: CorpusScan) -> Answer:
    # the order of the answers: what was found stands whatever was not read; what was not read leaves open what was not
    # found; and a text that is too short tells nothing even where all was read
    holders, short = scanned.tasks("found"), scanned.tasks("too short to tell")
    read = f"{', '.join(starmap('{} ({:,})'.format, scanned.shapes.items()))} in " + number_of(scanned.files, "file")
    if scanned.evidence.unread:
        reason = next(iter(scanned.unread))
        read += f"; not read: {scanned.evidence.unread:,}, such as {scanned.first[reason]} ({reason})"
    measured = f"{len(holders):,} of {number_of(len(scanned.evidence.tasks), 'task')} found. Read: {read}."
    if holders:
        because = f"{number_of(scanned.rows, 'row')} or files of the corpus hold tasks of the benchmark."
        if scanned.clean is not None:
            because += f" {scanned.clean} has the corpus without them"
            because += f" and without {scanned.skipped:,} that were not read" * bool(scanned.skipped) + "."
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
        f"For the data card: {number_of(evidence.compared, 'text')} ({scanned.size / 1e6:,.1f} MB) searched for "
        f"tasks, prompts, solutions and tests {kinds}. {'. '.join(sentences)}. Not read: "
        f"{number_of(evidence.unread, 'text')} or files. Paraphrases and other solutions were not looked for."
    )


def _all_places(scanned: CorpusScan) -> int:
    return scanned.more + sum(len(task.places) for task in scanned.evidence.tasks)


def _card_sentence(scanned: CorpusScan, benchmark: str) -> str:
    holders, short = (scanned.tasks(status, benchmark) for status in ("found", "too short to tell"))
    total = Counter(map(attrgetter("benchmark"), scanned.evidence.tasks))[benchmark]
    sentence = f"{benchmark}: {len(holders)} of {number_of(total, 'task')} found"
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


def _unread(scanned: CorpusScan) -> Table:
    rows = [Row((reason, count, scanned.first[reason])) for reason, count in scanned.unread.items()]
    columns = (Column("reason"), Column("rows and files", "count"), Column("the first"))
    return Table("unread", "What was not read", columns, rows=tuple(rows))


@dataclass(frozen=True, slots=True)
class _ShownPlace:
    """A task in a row of the corpus, and the places of its parts there."""

    task_id: str
    places: tuple[ScanPlace, ...]

    @property
    def task(self) -> str:
        """The task, and those that share its text here."""
        shared = self.places[0].shared_with
        return self.task_id + f" (shares text with {shared})" * bool(shared)

    def listed(self, name: str) -> str:
        """Return what the places say, each once: "docstring, solution"."""
        return ", ".join(dict.fromkeys(map(attrgetter(name), self.places)))

    def pairs(self) -> list[tuple[str, ScanPlace]]:
        """Return the task with each of its places."""
        return [(self.task, place) for place in self.places]


def _shown_places(scanned: CorpusScan) -> list[_ShownPlace]:
    """Return the tasks that were found, by file and row."""
    rows: dict[tuple[object, ...], list[ScanPlace]] = {}
    for task in scanned.tasks("found"):
        for place in task.places:
            # a plain file has no row; 0 sorts beside numbers, and None would not
            rows.setdefault((place.source, place.row or 0, task.benchmark, task.task_id), []).append(place)
    return [_ShownPlace(str(key[-1]), tuple(rows[key])) for key in sorted(rows)]


def _places(name: str, title: str, places: Sequence[_ShownPlace]) -> Table:
    columns = (
        Column("task", "name", attrgetter("task")),
        Column("part", get=lambda shown: shown.listed("part")),
        Column("how", get=lambda shown: shown.listed("how")),
        Column("share", "share", lambda shown: shown.places[0].share),
        Column("place", get=lambda shown: scan_place_text(shown.places[0])),
    )
    return Table.of(name, title, items=places, columns=columns)


def _side_by_side(pair: tuple[str, ScanPlace]) -> Juxtaposition:
    """Return both texts of a place, with the lines that they share."""
    task, place = pair
    mine, theirs = _lines_of(place.task_text), _lines_of(place.source_text)
    return Juxtaposition(
        title=scan_place_text(place),
        about=f"{task}: {place.part}, {place.how}, {place.share:.0%} of it",
        entries=(),
        chosen=None,
        left=("The task", place.task_text),
        right=("The corpus", place.source_text),
        marked=tuple(mine & theirs - {""}),
    )


def _lines_of(text: str) -> set[str]:
    # indentation and spaces differ in a reformatted copy: the lines are shared all the same
    return {" ".join(line.split()) for line in text.splitlines()}


def scan_place_text(place: ScanPlace) -> str:
    """Return file, row and lines of a place."""
    place_text = place.source
    if place.row is not None:
        place_text += f" row {place.row}"
    if place.field:
        place_text += f", {place.field}"
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
        "first_not_read": dict(scanned.first),
        "rows_with_tasks": scanned.rows,
        "rows_not_read": scanned.skipped,
        "places_left_out": scanned.more,
        "counts": {status: counts[status] for status in SCAN_STATUSES},
        "evidence": list(evidence_rows(evidence)),
        "data_card": data_card_paragraph(scanned),
    }
