"""Statements of a change: licences, an agent that is declared to have written it, files that were not read."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from assay.authorship import RecordedLines, Signal
from assay.checking.changed import ChangedCode
from assay.checking.rules import ChangeRules
from assay.corpora import Blob, SourceChange, WrittenPath, lines_of
from assay.licences import HEAD, UNKNOWN_LICENCE, LicenceRules, licence_notice, licence_tag, own_licence
from assay.provenance.findings import accepted_key
from assay.reports import Level

SEVERITY: Mapping[Level, int] = {"error": 0, "warning": 1, "notice": 2}
"""Order of statements: what fails, what cannot be decided, what does no harm."""


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


def statements_of(
    code: ChangedCode, rules: ChangeRules, lines: RecordedLines, signals: Sequence[Signal]
) -> tuple[JudgedStatement, ...]:
    """Return what a change states, each once, the most severe first.

    Args:
        code: that the change adds.
        rules: that it is judged by.
        lines: changed lines by who wrote them.
        signals: declarations of who wrote the change.
    """
    acceptable = [*_licences(code, rules.licences), *_not_read(code, rules)]
    statements = [_accepted(statement, rules.baseline) for statement in acceptable]
    statements += _agents(signals, rules, lines)
    # the sort is stable: within one level the order of the files stays
    return tuple(sorted(dict.fromkeys(statements), key=lambda statement: SEVERITY[statement.level]))


def _accepted(statement: JudgedStatement, baseline: frozenset[str]) -> JudgedStatement:
    if statement.key and statement.key in baseline:
        return replace(statement, level="notice", excuse="in the baseline")
    return statement


def _not_read(code: ChangedCode, rules: ChangeRules) -> Iterator[JudgedStatement]:
    """Yield the files that could not be read: where there is a rule, it cannot be decided."""
    level: Level = "warning" if rules.can_fail else "notice"
    for file in code.unread:
        yield JudgedStatement(
            rule="not-judged",
            text=f"Not judged: {file.reason}",
            path=file.path,
            line=0,
            level=level,
            key=accepted_key(file.path, file.content),
        )


def _agents(signals: Iterable[Signal], rules: ChangeRules, lines: RecordedLines) -> Iterator[JudgedStatement]:
    """Yield the declarations of agents, but for those of lines that are findings themselves."""
    # a line that its record gives to an agent is a finding already; its declaration would count it twice
    of_lines: set[str] = set()
    for _, recorded in lines.in_state("agent", "mixed"):
        of_lines.update(recorded.records)
    for signal in signals:
        text = f"{signal.kind}: {signal.text}"
        if signal.writer == "person" or signal.is_of_lines or text in of_lines:
            continue
        is_denied = "agent" in rules.denied and signal.is_about_code
        yield JudgedStatement(
            rule="declared-agent",
            text=text,
            path=signal.path or "",
            line=signal.line or 0,
            level="error" if is_denied else "notice",
        )


def _licences(code: ChangedCode, rules: LicenceRules) -> list[JudgedStatement]:
    """Return the statements on licences: of licence texts and manifests, of source files, of tags in other files."""
    statements = list(_licence_files(code.change, rules))
    paths = {statement.path for statement in statements}
    statements += _stated(code.sources, code.added, rules)
    if rules:
        others = [file for file in code.others if file.path not in paths]
        statements += _tags(code.change, others, rules)
    return statements


def _only(text: str, added: frozenset[int]) -> str:
    return "".join(line if number in added else "\n" for number, line in enumerate(lines_of(text), 1))


def _stated(
    texts: Mapping[str, str], added: Mapping[str, frozenset[int]], rules: LicenceRules
) -> Iterator[JudgedStatement]:
    """Yield the licences that added lines state, where a rule denies them or leaves them open."""
    for path, text in texts.items():
        # a tag counts at the head of a file, a notice anywhere
        tag = licence_tag(_only(text[:HEAD], added[path]))
        notice = licence_notice(_only(text, added[path]))
        # words that are no known notice need not be one
        licence = own_licence(tag, None if notice == UNKNOWN_LICENCE else notice)
        if licence and _level(rules, licence) != "notice":
            lines = enumerate(lines_of(text), 1)
            near = (number for number, line in lines if number in added[path] and "licen" in line.casefold())
            # where no added line has the word, the first added line is named
            words, place = f"A changed file states the licence {licence}", next(near, min(added[path]))
            yield _statement(rules, licence, words, path=path, line=place)


def _licence_files(change: SourceChange, rules: LicenceRules) -> Iterator[JudgedStatement]:
    """Yield what the change does to licence texts, and to the licences that project files state."""
    for file in change.licences():
        words, licence = f"{PurePosixPath(file.path).name} {file}", file.after or ""
        if licence == UNKNOWN_LICENCE:  # accepted in this wording alone
            yield _statement(rules, licence, words, path=file.path, content=(file.content,))
        elif licence and licence != file.before:
            yield _statement(rules, licence, words, path=file.path)
        else:
            yield JudgedStatement(
                rule="stated-licence", text=words, path=file.path, line=0, level="notice", licence=licence
            )


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
    rules: LicenceRules, licence: str, words: str, *, path: str, line: int = 0, content: tuple[str, ...] = ()
) -> JudgedStatement:
    level = _level(rules, licence)
    return JudgedStatement(
        rule="stated-licence",
        text=words,
        path=path,
        line=line,
        level=level,
        licence=licence,
        # what does not fail needs no acceptance
        key="" if level == "notice" else accepted_key(path, licence, *content),
    )


def _level(rules: LicenceRules, licence: str) -> Level:
    if rules.deny(licence):
        return "error"
    return "warning" if rules.leave_open(licence) else "notice"
