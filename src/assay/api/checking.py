"""`assay check`: the lines that a change adds, judged by rules that the change cannot alter.

Three questions in one result: is it a copy from an indexed source, does it state a licence, and who is declared to have
written it? What cannot be decided never passes.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from operator import attrgetter
from pathlib import Path
from typing import Any

from assay.api.check_settings import CheckSettings
from assay.api.records import RecordStore
from assay.api.tracing import open_index, trace_files
from assay.authorship import (
    Commit,
    LineState,
    RecordedFile,
    RecordedLines,
    Signal,
    in_branches,
    in_commits,
    in_paths,
    in_text,
    recorded_sarif,
)
from assay.errors import DataError, did_you_mean
from assay.files import parse_json
from assay.provenance import Judgement, LicenceRules, SourceText, TracedFile, TraceSettings, judge, read_rules, sarif
from assay.provenance.findings import accept_findings, accepted_key, describe_files, gate_sentences
from assay.provenance.licences import HEAD, UNKNOWN_LICENCE, licence_notice, licence_tag
from assay.provenance.sources import SourceChange, added_parts, commit_messages, lines_of
from assay.reports import (
    Annotation,
    Answer,
    Column,
    Level,
    Report,
    Table,
    describe,
    file_location,
    joined_logs,
    number_of,
    sarif_log,
    sarif_result,
)

TOP = 5
"""Sources of a file that are shown; denied ones are never left out."""
SHOWN = 20
WRITERS: Mapping[str, frozenset[LineState]] = {
    "agent": frozenset({"agent", "mixed"}),
    "contradicting": frozenset({"contradicting"}),
    "unrecorded": frozenset({"unrecorded"}),
}
"""Rule on writers → the states of lines that it denies."""
_REASONS = {
    "stated-licence": "A changed file states a denied licence.",
    "declared-agent": "An agent is declared to have written a part of the change.",
}
_RULES = [{"id": rule, "shortDescription": {"text": text}} for rule, text in _REASONS.items()]


@dataclass(frozen=True, slots=True)
class JudgedStatement:
    """A denied licence that added lines state, or an agent that is declared to have written the change.

    Attributes:
        rule: its id.
        text: in words.
        path: of the file; "" for the change as a whole.
        line: from 1; 0 for the file as a whole.
        level: error where it fails, warning where it cannot be decided, notice where it does not fail.
        licence: that is stated; "" without one.
        excuse: why it does not fail after all.
    """

    rule: str
    text: str
    path: str
    line: int
    level: Level
    licence: str = ""
    excuse: str | None = None

    @property
    def place(self) -> str:
        """Path and line for a reader."""
        return f"{self.path}:{self.line}" if self.line else self.path or "the change"


@dataclass(frozen=True, slots=True)
class CheckedChange:
    """The result of judging a change.

    Attributes:
        change: that is judged.
        has_rules: True if there was a rule.
        files: that were traced; empty without an index.
        judgement: of the copies.
        statements: on licences and writers, those that fail first.
        lines: changed lines by who wrote them; none of the index, which no record is about.
        texts: of the changed files, by path.
        added: lines of each.
        unread: sentences on what could not be judged.
    """

    change: SourceChange
    has_rules: bool
    files: tuple[TracedFile, ...]
    judgement: Judgement
    statements: tuple[JudgedStatement, ...]
    lines: RecordedLines
    texts: Mapping[str, str]
    added: Mapping[str, frozenset[int]]
    unread: tuple[str, ...]

    @property
    def failures(self) -> tuple[tuple[str, str], ...]:
        """Place and reason of each failure."""
        return (
            *(
                (f"{denial.finding.path}:{denial.finding.first_line}", "Changed code is a copy under a denied licence.")
                for denial in self.judgement.failures
            ),
            *((fact.place, _REASONS[fact.rule]) for fact in self.statements if fact.level == "error"),
            *(
                (f"{path}:{lines.first}", f"Who wrote changed lines is {lines.state}, and a rule denies that.")
                for path, lines in self.lines.failures
            ),
        )

    @property
    def undecided(self) -> tuple[str, ...]:
        """Sentences on the rules that cannot be decided."""
        copies = ["find out the licence of the copied source"] if self.judgement.open else []
        unknown = [
            f"find out the licence that {fact.path} states" for fact in self.statements if fact.level == "warning"
        ]
        return (*copies, *unknown, *(self.unread if self.has_rules else ()))

    @property
    def exit_code(self) -> int:
        """0: clean, 1: findings, 3: undecided."""
        return 1 if self.failures else 3 if self.undecided else 0


def check(
    change: SourceChange, rules: CheckSettings, *, baseline: frozenset[str] = frozenset(), event: Sequence[Signal] = ()
) -> CheckedChange:
    """Judge the lines that a change adds.

    Args:
        change: of a branch or of the index.
        rules: from the base of the change.
        baseline: keys of accepted findings.
        event: declarations of the pull request; see `in_event`.

    Raises:
        AssayError: a rule, the index or the repository cannot be read, or the change writes the index.
    """
    licences = read_rules(rules.fail_on_licence, rules.allow_licence)
    for writer in rules.fail_on_writer:
        if writer not in WRITERS:
            near = did_you_mean(writer, WRITERS)
            raise DataError(f"fail-on-writer: received {writer!r}, expected {', '.join(WRITERS)}{near}")
    changed, unread = change.source_texts()
    texts, added = {file.path: file.text for file, _ in changed}, {file.path: lines for file, lines in changed}
    files = _traced(change, [file for file, _ in changed], added, rules, licences)
    judgement = accept_findings(judge(files, licences), texts, baseline, added)
    signals = [*event, *in_paths(change.paths(removed=False))]
    for path, text in texts.items():
        signals += [signal for signal in in_text(text, path) if signal.line in added[path]]
    denied = frozenset[LineState]().union(*(WRITERS[writer] for writer in rules.fail_on_writer))
    lines = RecordedLines((), (), denied)
    if change.head:
        store = RecordStore(change.repository)
        for fields in commit_messages(change.repository, revisions=(change.head, f"^{change.fork}")):
            signals += store.signals(Commit(*fields))
        lines = _recorded(
            store, change.head, {path: _filled(text, added[path]) for path, text in texts.items()}, denied
        )
        unread += lines.remarks if denied else ()
    statements = [*_stated(texts, added, licences, baseline)]
    statements += [
        JudgedStatement(
            "declared-agent",
            f"{signal.kind}: {signal.text}",
            signal.path or "",
            signal.line or 0,
            "error" if "agent" in denied and signal.is_about_code else "notice",
        )
        for signal in signals
        if signal.writer != "person" and signal.kind != "line record"
    ]
    statements.sort(key=attrgetter("level"))  # error, notice, warning: what fails comes first
    has_rules = bool(licences or denied)
    return CheckedChange(
        change, has_rules, tuple(files), judgement, tuple(statements), lines, texts, added, tuple(unread)
    )


def _traced(
    change: SourceChange,
    files: Sequence[SourceText],
    added: Mapping[str, frozenset[int]],
    rules: CheckSettings,
    licences: LicenceRules,
) -> list[TracedFile]:
    if rules.index is None:
        return []
    place = Path(os.path.normpath(Path.cwd() / rules.index))
    written = [change.repository / path for path in change.paths()]
    # an index in the checkout, or a link to another one, could come with the change itself
    if any(path.is_relative_to(at) or at.is_relative_to(path) for path in written for at in (place, place.resolve())):
        raise DataError(f"{rules.index}: received a change that writes the index, expected one that cannot alter it")
    with open_index(rules.index) as index:
        if not len(index):
            raise DataError(f"{rules.index}: the index holds no document, expected one that was filled")
        return trace_files(
            files,
            index,
            rules=licences or None,
            parts=lambda file: added_parts(file, added[file.path]),
            top=TOP,
            settings=TraceSettings(min_confidence=rules.min_confidence),
        )


def _recorded(
    store: RecordStore, revision: str, chosen: Mapping[str, frozenset[int]], denied: frozenset[LineState]
) -> RecordedLines:
    files, unread = [], []
    for path, lines in chosen.items():
        try:
            files.append(RecordedFile(path, store.lines(revision, path, lines)))
        except DataError as error:  # a name that is not UTF-8
            unread.append(f"{path}: its records were not read: {error}")
    return RecordedLines(tuple(files), (*store.remarks, *unread), denied)


def _filled(text: str, added: frozenset[int]) -> frozenset[int]:
    return frozenset(number for number, line in enumerate(lines_of(text), 1) if number in added and line.strip())


def _only(text: str, added: frozenset[int]) -> str:
    return "".join(line if number in added else "\n" for number, line in enumerate(lines_of(text), 1))


def _stated(
    texts: Mapping[str, str], added: Mapping[str, frozenset[int]], rules: LicenceRules, baseline: frozenset[str]
) -> Iterator[JudgedStatement]:
    """Yield the licences that added lines state, where a rule denies them or leaves them open."""
    for path, text in texts.items():
        tag = licence_tag(_only(text[:HEAD], added[path]))
        notice = licence_notice(_only(text, added[path]))
        # words that are no known notice need not be one
        licence = tag or (None if notice == UNKNOWN_LICENCE else notice)
        if licence and (rules.deny(licence) or rules.leave_open(licence)):
            excuse = "in the baseline" if accepted_key(path, licence) in baseline else None
            level: Level = "notice" if excuse else "error" if rules.deny(licence) else "warning"
            lines = enumerate(lines_of(text), 1)
            near = (number for number, line in lines if number in added[path] and "licen" in line.casefold())
            words, place = f"A changed file states the licence {licence}", next(near, min(added[path]))
            yield JudgedStatement("stated-licence", words, path, place, level, licence, excuse)


def in_event(raw: bytes, place: str, commit: str) -> list[Signal]:
    """Return what a pull request declares, from the JSON of its event that GitHub Actions gives.

    Args:
        raw: of the file; an event of another kind declares nothing.
        place: of the file, for the error.
        commit: last of the change.

    Raises:
        DataError: the file is not JSON.
    """
    try:
        event = parse_json(raw)
    except ValueError as error:
        raise DataError(f"{place}: expected the JSON of an event: {error}") from error
    request = event.get("pull_request") if isinstance(event, dict) else None
    body, author, branch = (_text_at(request, *steps) for steps in (("body",), ("user", "login"), ("head", "ref")))
    return [*in_commits([Commit(commit, author, "", f"\n\n{body}")]), *in_branches([branch])]


def _text_at(table: object, *steps: str) -> str:
    for step in steps:
        table = table.get(step) if isinstance(table, dict) else None
    return table if isinstance(table, str) else ""


@describe.register
def _(result: CheckedChange) -> Report:
    """Return the report on a change: the verdict, then findings, then who is declared to have written it."""
    traced, written = describe_files(result.files, TOP, result.judgement), describe(result.lines)
    facts = result.statements
    columns = (
        Column("place", "name", get=attrgetter("place")),
        Column("finding", get=lambda fact: fact.text + (f" (accepted: {fact.excuse})" if fact.excuse else "")),
        Column("level", get=attrgetter("level")),
    )
    more = (f"The first {SHOWN} of {len(facts):,}; all are in the JSON.",) if len(facts) > SHOWN else ()
    statements = Table.of("statements", "Licences and agents that the change states", facts[:SHOWN], columns, more)
    tables = tuple(table for table in (*traced.tables, statements, *written.tables[:-1]) if table.rows)
    sentences = gate_sentences(result.judgement) if result.files else ()
    return Report(
        title="May this change be merged?",
        kind="check",
        statement="",
        answer=_answer(result),
        on_first_screen=len(tables),
        tables=tables,
        notes=tuple(dict.fromkeys((*sentences, *result.undecided, *result.unread, *result.lines.remarks))),
        data={
            "verdict": _answer(result).verdict.lower(),
            **{name: getattr(result.change, name) for name in ("base", "fork", "head")},
            "lines": {path: len(lines) for path, lines in result.added.items()},
            "statements": [asdict(fact) for fact in facts],
            "undecided": list(result.undecided),
            "provenance": traced.data if result.files else None,
            "written": written.data,
        },
        annotations=(
            *traced.annotations,
            *(Annotation(fact.text, fact.path, fact.line, fact.line, fact.level) for fact in facts),
            *written.annotations,
        ),
    )


def _answer(result: CheckedChange) -> Answer:
    failures, lines = result.failures, number_of(sum(map(len, result.added.values())), "changed line")
    files = number_of(len(result.added), "source file")
    measured = f"{number_of(len(failures), 'finding')} in {lines} of {files}."
    if not result.has_rules:
        step = 'write fail-on-licence = ["copyleft"] below [check] in assay.toml, and merge it'
        return Answer("No rule", "The base commit has no rule to judge by.", measured, step)
    if failures:
        place, because = failures[0]
        return Answer(
            "Findings", because, measured, f"look at {place}" + "; --sarif lists all findings" * (len(failures) > 1)
        )
    if result.undecided:
        return Answer(
            "Undecided", "A rule cannot be decided, so the change does not pass.", measured, result.undecided[0]
        )
    if result.added and not result.files:
        return Answer(
            "Clean", "No changed line breaks a rule; copies were not looked for, as there is no index.", measured
        )
    return Answer("Clean", "No changed line breaks a rule.", measured)


def check_sarif(result: CheckedChange) -> dict[str, Any]:
    """Return one SARIF run with the copies, as `assay trace` writes them, and all other findings."""
    results = []
    for fact in result.statements:
        place = [file_location(fact.path, fact.line or None)] if fact.path else []
        further = {"suppressions": [{"kind": "external", "justification": fact.excuse}]} if fact.excuse else {}
        level = fact.level.replace("notice", "note")
        results.append(sarif_result(fact.rule, fact.text, level, locations=place, **further))
    return joined_logs(
        sarif(result.files, result.judgement),
        sarif_log(_RULES, results),
        recorded_sarif(result.lines, "contradicting", "agent", "mixed", *result.lines.denied),
    )
