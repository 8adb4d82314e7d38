"""The report on a change: the verdict, then findings, then who is declared to have written it."""

from collections.abc import Iterator
from dataclasses import asdict
from operator import attrgetter
from typing import Any

from assay.authorship import recorded_sarif
from assay.checking.judging import TOP
from assay.checking.result import REASONS, CheckedChange
from assay.checking.settings import CheckSettings
from assay.checking.statements import JudgedStatement
from assay.provenance import sarif
from assay.provenance.findings import describe_files, gate_sentences, short_row, sorted_findings
from assay.reports import (
    Annotation,
    Answer,
    Column,
    Report,
    Row,
    Table,
    describe,
    file_location,
    joined_logs,
    number_of,
    sarif_log,
    sarif_result,
)
from assay.settings import declared

SHOWN = 10
"""Rows of the first screen."""
MOST_REMARKS = 3
"""Remarks of the licence gate there."""
_COLUMNS = (Column("place", "name"), Column("finding"))

_RULES = [{"id": rule, "shortDescription": {"text": text}} for rule, text in REASONS.items()]


@describe.register
def _(result: CheckedChange) -> Report:
    """Return the report on a change."""
    traced, written = describe_files(result.files, TOP, result.judgement), describe(result.lines)
    rows = _first_rows(result)
    first = [Table("first", "What fails, and what cannot be decided", columns=_COLUMNS, rows=rows[:SHOWN])]
    # copies are in tables of their own, with their details
    copies = [short_row(denial.finding, denial) for denial in result.copies]
    further = tuple(row for row in rows[SHOWN:] if row not in copies)
    others = [Table("further", "More that fails, or cannot be decided", columns=_COLUMNS, rows=further), *traced.tables]
    room = SHOWN - len(rows)
    for table in (_statements_table(result), *written.tables[:-1]):
        # lines that fail are rows already
        fits = len(table.rows) <= room and not result.lines.failures
        (first if fits else others).append(table)
        room -= len(table.rows)
    shown = [table for table in (*first, *others) if table.rows]
    sentences = gate_sentences(result.judgement) if result.files else ()
    annotations = [
        Annotation(
            message=statement.text,
            path=statement.path,
            line=statement.line,
            last_line=statement.line,
            level=statement.level,
        )
        for statement in result.statements
    ]
    return Report(
        title="May this change be merged?",
        kind="check",
        statement=" ".join(_folded(result, len(rows))),
        answer=_answer(result),
        on_first_screen=sum(bool(table.rows) for table in first),
        tables=tuple(shown),
        notes=(*_context(result), *sentences, *result.lines.remarks),
        data=_data(result, traced, written),
        annotations=(*traced.annotations, *annotations, *written.annotations),
    )


def _first_rows(result: CheckedChange) -> tuple[Row, ...]:
    """Return a row for whatever fails, then one for whatever cannot be decided."""
    judgement = result.judgement
    failing = [short_row(denial.finding, denial) for denial in judgement.failures]
    failing += [_row(statement) for statement in result.statements if statement.level == "error"]
    for path, lines in result.lines.failures:
        failing.append(Row((f"{path}:{lines}", f"written by: {'; '.join((lines.state, *lines.records))}")))
    undecided = [short_row(denial.finding, denial) for denial in judgement.open]
    return (*failing, *undecided, *(_row(each) for each in result.statements if each.level == "warning"))


def _row(statement: JudgedStatement) -> Row:
    return Row((statement.place, _words(statement)))


def _folded(result: CheckedChange, rows: int) -> Iterator[str]:
    """Yield what a first screen leaves out, and what the rules say nothing of."""
    if rows > SHOWN:
        yield f"{number_of(rows - SHOWN, 'more row')} with -v."
    if folded := sorted_findings(result.files, result.judgement).folded:
        yield folded
    remarks = result.judgement.remarks
    yield from (f"{remark[0].upper()}{remark[1:]}." for remark in remarks[:MOST_REMARKS])
    if len(remarks) > MOST_REMARKS:
        yield f"{number_of(len(remarks) - MOST_REMARKS, 'more remark')} with -v."


def _statements_table(result: CheckedChange) -> Table:
    columns = (
        Column("place", "name", get=attrgetter("place")),
        Column("finding", get=_words),
    )
    harmless = [statement for statement in result.statements if statement.level == "notice"]
    return Table.of(name="statements", title="What the change states", items=harmless, columns=columns)


def _words(statement: JudgedStatement) -> str:
    if statement.excuse:
        return f"{statement.text} (accepted: {statement.excuse})"
    return statement.text


def _data(result: CheckedChange, traced: Report, written: Report) -> dict[str, Any]:
    change = result.code.change
    return {
        "verdict": _answer(result).verdict.lower(),
        "base": change.base,
        "fork": change.fork,
        "head": change.head,
        "rules": asdict(result.rules.settings),
        "lines": {path: len(lines) for path, lines in result.code.added.items()},
        "no_code": dict(result.code.no_code),
        "statements": list(map(asdict, result.statements)),
        "undecided": list(result.undecided),
        "provenance": traced.data if result.files else None,
        "written": written.data,
    }


def _context(result: CheckedChange) -> Iterator[str]:
    """Yield what the change was compared with, by which rules, and what was left out."""
    change = result.code.change
    base = change.base[:12]
    if change.onto != change.base:
        base = f"{change.onto} ({base})"
    place = result.config and f" of {result.config} there"
    yield f"Base: {base}; rules{place}: {'; '.join(_settings(result)) or 'none'}."
    if result.rewritten:
        yield f"The change writes {' and '.join(result.rewritten)}: that counts for later changes, once it is merged."
    yield from _left_out(result)
    if result.lines.denied and not change.head:
        yield "fail-on-writer: of a staged change only the lines are read; trailers and records come with the commit."


def _settings(result: CheckedChange) -> Iterator[str]:
    """Yield the rules that are not the default, as KEY VALUE."""
    for entry in declared(CheckSettings):
        value = getattr(result.rules.settings, entry.name)
        if value == entry.default:
            continue
        text = ", ".join(value) if isinstance(value, tuple) else result.code.change.within(str(value))
        yield f"{entry.key} {text}"


def _left_out(result: CheckedChange) -> Iterator[str]:
    """Yield which changed files cannot hold code."""
    counts = result.code.no_code
    if counts:
        names = ", ".join(f"{counts[reason]:,} {reason}" for reason in sorted(counts))
        yield f"Cannot hold code: {names}."


def _answer(result: CheckedChange) -> Answer:
    failures, measured = result.failures, _measured(result)
    # first: without a rule nothing can fail, and "clean" would say too much
    if not result.rules.can_fail:
        step = 'write fail-on-licence = ["copyleft"] below [check] in assay.toml, and merge it'
        return Answer("No rule", because="The base commit has no rule to judge by.", measured=measured, next_step=step)
    if failures:
        place, because = failures[0]
        others = ", then at the others" if len(failures) > 1 else ""
        return Answer("Findings", because=because, measured=measured, next_step=f"look at {place}{others}")
    if result.undecided:
        because = "A rule cannot be decided, so the change does not pass."
        return Answer("Undecided", because=because, measured=measured, next_step=result.undecided[0])
    if result.code.change.fork == result.code.change.head:
        return Answer("Clean", "The base has every commit of the change, so there was nothing to judge.")
    if result.code.added and result.rules.settings.index is None:
        because = "No changed line breaks a rule; copies were not looked for, as there is no index."
        return Answer("Clean", because, measured)
    return Answer("Clean", "No changed line breaks a rule.", measured)


def _measured(result: CheckedChange) -> str:
    added = result.code.added
    count = number_of(len(result.failures), "finding")
    if not added:
        return f"{count}, and no added line."
    lines = number_of(sum(map(len, added.values())), "changed line")
    return f"{count} in {lines} of {number_of(len(added), 'file')}."


def check_sarif(result: CheckedChange) -> dict[str, Any]:
    """Return one SARIF run with the copies, as `assay trace` writes them, and all other findings."""
    results = []
    for statement in result.statements:
        place = [file_location(statement.path, statement.line or None)] if statement.path else []
        excuse: dict[str, Any] = {}
        if statement.excuse:
            # SARIF keeps an accepted result and marks it
            excuse = {"suppressions": [{"kind": "external", "justification": statement.excuse}]}
        # SARIF's word for a notice
        level = statement.level.replace("notice", "note")
        results.append(sarif_result(statement.rule, statement.text, level, locations=place, **excuse))
    return joined_logs(
        sarif(result.files, result.judgement),
        sarif_log(_RULES, results),
        recorded_sarif(result.lines, "contradicting", "agent", "mixed", *result.lines.denied),
    )
