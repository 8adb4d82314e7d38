"""`assay check`: the lines that a change adds, judged by rules that the change cannot alter.

Three questions in one result: is it a copy from an indexed source, does it state a licence, and who is declared to have
written it? What cannot be decided never passes.
"""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from operator import attrgetter
from pathlib import Path, PurePosixPath
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
from assay.corpora import Blob, SourceChange, SourceText, WrittenPath, added_parts, commit_messages, lines_of
from assay.errors import DataError, did_you_mean
from assay.files import parse_json
from assay.licences import HEAD, UNKNOWN_LICENCE, LicenceRules, licence_notice, licence_tag, own_licence, read_rules
from assay.provenance import Judgement, TracedFile, TraceSettings, judge, sarif
from assay.provenance.findings import accept_findings, accepted_key, describe_files, gate_sentences
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
from assay.settings import declared

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
    "not-judged": "A changed source file could not be read.",
}
NAMED = 5
"""Files that are named in a sentence."""
_RULES = [{"id": rule, "shortDescription": {"text": text}} for rule, text in _REASONS.items()]


@dataclass(frozen=True, slots=True)
class JudgedStatement:
    """A licence that the change states, an agent that is declared to have written it, or a file that was not read.

    Attributes:
        rule: its id.
        text: in words.
        path: of the file; "" for the change as a whole.
        line: from 1; 0 for the file as a whole.
        level: error where it fails, warning where it cannot be decided, notice where it does not fail.
        licence: that is stated; "" without one.
        excuse: why it does not fail after all.
        key: of the finding in a baseline; "" where none can accept it.
    """

    rule: str
    text: str
    path: str
    line: int
    level: Level
    licence: str = ""
    excuse: str | None = None
    key: str = ""

    @property
    def place(self) -> str:
        """Path and line for a reader."""
        return f"{self.path}:{self.line}" if self.line else self.path or "the change"


@dataclass(frozen=True, slots=True)
class CheckedChange:
    """The result of judging a change.

    Attributes:
        change: that is judged.
        rules: that it is judged by.
        config: file of the rules, "" without one.
        files: that were traced; empty without an index.
        judgement: of the copies.
        statements: on licences, writers and files that were not read, those that fail first.
        lines: changed lines by who wrote them; none of the index, which no record is about.
        texts: of the changed files, by path.
        added: lines of each.
        others: changed paths that are no source code.
        rewritten: files of the rules that the change itself writes.
    """

    change: SourceChange
    rules: CheckSettings
    config: str
    files: tuple[TracedFile, ...]
    judgement: Judgement
    statements: tuple[JudgedStatement, ...]
    lines: RecordedLines
    texts: Mapping[str, str]
    added: Mapping[str, frozenset[int]]
    others: tuple[WrittenPath, ...]
    rewritten: tuple[str, ...]

    @property
    def has_rules(self) -> bool:
        """True if there was a rule."""
        return bool(self.rules.fail_on_licence or self.rules.allow_licence or self.rules.fail_on_writer)

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
        """Steps, one for each rule that cannot be decided."""
        copies = ["find out the licence of the copied source"] if self.judgement.open else []
        steps = {
            "stated-licence": "find out the licence that {} states",
            "not-judged": "read {} yourself, and accept it in the baseline",
        }
        facts = [steps[fact.rule].format(fact.path) for fact in self.statements if fact.level == "warning"]
        records = [f"mend the record, or remove it: {remark}" for remark in self.lines.remarks if self.lines.denied]
        return (*copies, *facts, *records)

    @property
    def exit_code(self) -> int:
        """0: clean, 1: findings, 3: undecided."""
        return 1 if self.failures else 3 if self.undecided else 0


def check(
    change: SourceChange,
    rules: CheckSettings,
    *,
    config: str = "",
    baseline: frozenset[str] = frozenset(),
    event: Sequence[Signal] = (),
) -> CheckedChange:
    """Judge the lines that a change adds.

    Args:
        change: of a branch or of the index.
        rules: from the base of the change.
        config: file that has them, to be named; "" for none.
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
    changed, unread, others = change.source_texts()
    texts, added = {file.path: file.text for file, _ in changed}, {file.path: lines for file, lines in changed}
    paths = {path for file in change.written for path in (file.path, file.earlier)}
    files = _traced(change, paths, changed, rules, licences)
    judgement = accept_findings(judge(files, licences), texts, baseline, added)
    signals = [*event, *in_paths(file.path for file in change.written if not file.is_removed)]
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
    facts = [*_licence_files(change, licences), *_stated(texts, added, licences)]
    if licences:
        facts += _tags(change, [file for file in others if file.path not in {fact.path for fact in facts}], licences)
    can_fail: Level = "warning" if licences or denied else "notice"
    facts += [
        JudgedStatement(
            "not-judged", f"Not judged: {why}", file.path, 0, can_fail, key=accepted_key(file.path, file.after)
        )
        for file, why in unread
    ]
    facts = [
        replace(fact, level="notice", excuse="in the baseline") if fact.key and fact.key in baseline else fact
        for fact in facts
    ]
    # lines that an agent wrote are findings themselves: their declaration is no second one
    of_lines = {words for _, found in lines.in_state("agent", "mixed") for words in found.records}
    facts += [
        JudgedStatement(
            "declared-agent",
            words,
            signal.path or "",
            signal.line or 0,
            "error" if "agent" in denied and signal.is_about_code else "notice",
        )
        for signal in signals
        if signal.writer != "person" and not signal.is_of_lines
        if (words := f"{signal.kind}: {signal.text}") not in of_lines
    ]
    statements = sorted(dict.fromkeys(facts), key=attrgetter("level"))  # error, notice, warning: what fails comes first
    names = (config, *([change.within(rules.baseline)] if rules.baseline else []))
    return CheckedChange(
        change,
        rules,
        config if config and (Path(config).is_absolute() or change.at_base(config) is not None) else "",
        tuple(files),
        judgement,
        tuple(statements),
        lines,
        texts,
        added,
        tuple(others),
        tuple(name for name in names if name in paths),
    )


def _traced(
    change: SourceChange,
    paths: Iterable[str],
    changed: Sequence[tuple[SourceText, frozenset[int]]],
    rules: CheckSettings,
    licences: LicenceRules,
) -> list[TracedFile]:
    if rules.index is None:
        return []
    place = Path(os.path.normpath(Path.cwd() / rules.index))
    written = [change.repository / path for path in paths]
    # an index in the checkout, or a link to another one, could come with the change itself
    if any(path.is_relative_to(at) or at.is_relative_to(path) for path in written for at in (place, place.resolve())):
        raise DataError(f"{rules.index}: received a change that writes the index, expected one that cannot alter it")
    with open_index(rules.index) as index:
        if not len(index):
            raise DataError(f"{rules.index}: the index holds no document, expected one that was filled")
        added = {file.path: lines for file, lines in changed}
        return trace_files(
            [file for file, _ in changed],
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
    texts: Mapping[str, str], added: Mapping[str, frozenset[int]], rules: LicenceRules
) -> Iterator[JudgedStatement]:
    """Yield the licences that added lines state, where a rule denies them or leaves them open."""
    for path, text in texts.items():
        tag = licence_tag(_only(text[:HEAD], added[path]))
        notice = licence_notice(_only(text, added[path]))
        # words that are no known notice need not be one
        licence = own_licence(tag, None if notice == UNKNOWN_LICENCE else notice)
        if licence and (rules.deny(licence) or rules.leave_open(licence)):
            lines = enumerate(lines_of(text), 1)
            near = (number for number, line in lines if number in added[path] and "licen" in line.casefold())
            words, place = f"A changed file states the licence {licence}", next(near, min(added[path]))
            yield _statement(rules, licence, words, path, line=place)


def _licence_files(change: SourceChange, rules: LicenceRules) -> Iterator[JudgedStatement]:
    """Yield what the change does to licence texts, and to the licences that project files state."""
    for file in change.licences():
        words, licence = f"{PurePosixPath(file.path).name} {file}", file.after or ""
        if licence == UNKNOWN_LICENCE:  # accepted in this wording alone
            yield _statement(rules, licence, words, file.path, content=(file.content,))
        elif licence and licence != file.before:
            yield _statement(rules, licence, words, file.path)
        else:
            yield JudgedStatement("stated-licence", words, file.path, 0, "notice", licence)


def _tags(change: SourceChange, files: Sequence[WrittenPath], rules: LicenceRules) -> Iterator[JudgedStatement]:
    """Yield the denied licences in the SPDX tags of files that are no source code."""
    lines = change.added
    for file in files:
        if file.is_new_text:
            head = Blob(change.repository, file.after).read(HEAD).decode("utf-8", "replace")
            # a name that is not UTF-8 is not found in the diff
            added = lines.get(file.path, frozenset(range(1, len(lines_of(head)) + 1)))
            if licence_tag(_only(head, added)) not in {None, UNKNOWN_LICENCE}:  # words in prose state nothing
                yield from _stated({file.path: head}, {file.path: added}, rules)


def _statement(
    rules: LicenceRules, licence: str, words: str, path: str, *, line: int = 0, content: tuple[str, ...] = ()
) -> JudgedStatement:
    level: Level = "error" if rules.deny(licence) else "warning" if rules.leave_open(licence) else "notice"
    key = "" if level == "notice" else accepted_key(path, licence, *content)
    return JudgedStatement("stated-licence", words, path, line, level, licence, key=key)


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
    statements = Table.of("statements", "What the change states", facts[:SHOWN], columns, more)
    tables = tuple(table for table in (*traced.tables, statements, *written.tables[:-1]) if table.rows)
    sentences = gate_sentences(result.judgement) if result.files else ()
    return Report(
        title="May this change be merged?",
        kind="check",
        statement="",
        answer=_answer(result),
        on_first_screen=len(tables),
        tables=tables,
        notes=(*_context(result), *sentences, *result.lines.remarks),
        data={
            "verdict": _answer(result).verdict.lower(),
            **{name: getattr(result.change, name) for name in ("base", "fork", "head")},
            "rules": asdict(result.rules),
            "lines": {path: len(lines) for path, lines in result.added.items()},
            "no_source_code": [str(file) for file in result.others],
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


def _context(result: CheckedChange) -> Iterator[str]:
    """Yield what the change was compared with, by which rules, and what was left out."""
    change, settings = result.change, []
    for entry in declared(CheckSettings):
        value = getattr(result.rules, entry.name)
        if value != entry.default:
            words = ", ".join(value) if isinstance(value, tuple) else f"{value}"
            settings.append(f"{entry.key} {words if isinstance(value, tuple) else change.within(words)}")
    base = f"{change.onto} ({change.base[:12]})" if change.onto != change.base else change.base[:12]
    place = f" of {result.config} there" if result.config else ""
    yield f"Base: {base}; rules{place}: {'; '.join(settings) or 'none'}."
    if result.rewritten:
        yield f"The change writes {' and '.join(result.rewritten)}: that counts for later changes, once it is merged."
    texts = [str(file) for file in result.others if file.is_new_text]
    further = [str(file) for file in result.others if not file.is_new_text]
    has_licences = result.rules.fail_on_licence or result.rules.allow_licence
    read = "Read for licences alone, as no source code" if has_licences else "Not judged, as no source code"
    for words, names in ((read, texts), ("Not judged", further)):
        if names:
            more = f" and {len(names) - NAMED:,} more" if len(names) > NAMED else ""
            yield f"{words}: {', '.join(names[:NAMED])}{more}."
    if result.lines.denied and not change.head:
        yield "fail-on-writer: of a staged change only the lines are read; trailers and records come with the commit."


def _answer(result: CheckedChange) -> Answer:
    failures, lines = result.failures, number_of(sum(map(len, result.added.values())), "changed line")
    place = f" in {lines} of {number_of(len(result.added), 'source file')}"
    measured = (
        f"{number_of(len(failures), 'finding')}{place if result.added else ', and no added line of source code'}."
    )
    if not result.has_rules:
        step = 'write fail-on-licence = ["copyleft"] below [check] in assay.toml, and merge it'
        return Answer("No rule", "The base commit has no rule to judge by.", measured, step)
    if failures:
        place, because = failures[0]
        return Answer("Findings", because, measured, f"look at {place}" + ", then at the others" * (len(failures) > 1))
    if result.undecided:
        return Answer(
            "Undecided", "A rule cannot be decided, so the change does not pass.", measured, result.undecided[0]
        )
    if result.change.fork == result.change.head:
        return Answer("Clean", "The base has every commit of the change, so there was nothing to judge.")
    if result.added and result.rules.index is None:
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
