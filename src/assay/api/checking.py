"""`assay check`: the lines that a change adds, judged by rules that the change cannot alter.

Three questions in one result: is it a copy from an indexed source, does it state a licence, and who is declared to have
written it? What cannot be decided never passes.
"""

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from assay.api.check_settings import CheckSettings
from assay.api.records import RecordStore
from assay.api.tracing import open_index, trace_files
from assay.authorship import Commit, RecordedFile, RecordedLines, Signal, in_branches, in_commits, in_paths, in_text
from assay.errors import DataError, did_you_mean
from assay.files import parse_json
from assay.provenance import Judgement, LicenceRules, SourceText, TracedFile, TraceSettings, judge, read_rules, sarif
from assay.provenance.findings import accept_findings, accepted_key, describe_files, gate_sentences
from assay.provenance.licences import UNKNOWN_LICENCE, licence_notice, licence_tag
from assay.provenance.sources import SourceChange, added_parts, commit_messages, lines_of
from assay.reports import (
    Annotation,
    Answer,
    Column,
    Report,
    Table,
    describe,
    file_location,
    number_of,
    sarif_log,
    sarif_result,
)

RuleKind = Literal["stated-licence", "agent", "contradicting", "unrecorded"]
TOP = 5
"""Sources of a file that are shown; denied ones are never left out."""
SHOWN = 20
_REASONS: dict[RuleKind, str] = {
    "stated-licence": "A changed file states a denied licence.",
    "agent": "An agent is declared to have written a part of the change, and a rule denies that.",
    "contradicting": "Two records disagree on who wrote changed lines, and a rule denies that.",
    "unrecorded": "Nothing is recorded of who wrote changed lines, and a rule denies that.",
}
_RULES = [{"id": kind, "shortDescription": {"text": text}} for kind, text in _REASONS.items()]


@dataclass(frozen=True, slots=True)
class Finding:
    """The subject of a rule that is not about copies.

    Attributes:
        kind: of the rule.
        text: in words.
        path: of the file; "" for a commit.
        first: line, from 1; 0 for the whole.
        last: line, included.
        fails: True, False, or None where the rule cannot be decided.
        excuse: why it does not fail the run after all.
        licence: that the file states; "" for another kind.
    """

    kind: RuleKind
    text: str
    path: str = ""
    first: int = 0
    last: int = 0
    fails: bool | None = False
    excuse: str | None = None
    licence: str = ""


@dataclass(frozen=True, slots=True)
class Check:
    """The result of judging a change.

    Attributes:
        change: that is judged.
        has_rules: True if there was a rule.
        files: that were traced; empty without an index.
        judgement: of the copies.
        findings: others.
        signals: who is declared to have written the change.
        lines: changed lines by who wrote them; None of an index, which no record is about.
        texts: of the changed files, by path.
        added: lines of each.
        unread: sentences on what could not be judged.
    """

    change: SourceChange
    has_rules: bool
    files: tuple[TracedFile, ...]
    judgement: Judgement
    findings: tuple[Finding, ...]
    signals: tuple[Signal, ...]
    lines: RecordedLines | None
    texts: Mapping[str, str]
    added: Mapping[str, frozenset[int]]
    unread: tuple[str, ...]

    @property
    def failures(self) -> tuple[Finding, ...]:
        """Findings, besides copies, that fail."""
        return tuple(finding for finding in self.findings if finding.fails and finding.excuse is None)

    @property
    def undecided(self) -> tuple[str, ...]:
        """Sentences on the rules that cannot be decided."""
        unknown = [f"{finding.path}: {finding.text}" for finding in self.findings if finding.fails is None]
        copies = ["The licence of a copied source is unknown."] if self.judgement.open else []
        return (*copies, *unknown, *(self.unread if self.has_rules else ()))

    @property
    def exit_code(self) -> int:
        """0: clean, 1: findings, 3: undecided."""
        return 1 if self.judgement.failures or self.failures else 3 if self.undecided else 0


def check(
    change: SourceChange, rules: CheckSettings, *, baseline: frozenset[str] = frozenset(), event: Sequence[Signal] = ()
) -> Check:
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
        if writer not in _REASONS or writer == "stated-licence":
            names = ("agent", "contradicting", "unrecorded")
            raise DataError(
                f"fail-on-writer: received {writer!r}, expected {', '.join(names)}{did_you_mean(writer, names)}"
            )
    changed, unread = change.source_texts()
    texts, added = {file.path: file.text for file, _ in changed}, {file.path: lines for file, lines in changed}
    files = _traced(change, [file for file, _ in changed], added, rules, licences)
    judgement = accept_findings(judge(files, licences), texts, baseline, added)
    signals = [*event, *in_paths(change.paths(removed=False))]
    for path, text in texts.items():
        signals += [signal for signal in in_text(text, path) if signal.line in added[path]]
    lines = None
    if change.head:
        store = RecordStore(change.repository)
        for fields in commit_messages(change.repository, revisions=(change.head, f"^{change.fork}")):
            signals += store.signals(Commit(*fields))
        lines = _recorded(store, change.head, {path: _filled(text, added[path]) for path, text in texts.items()})
        unread += lines.remarks if rules.fail_on_writer else ()
    findings = [*_stated(texts, added, licences, baseline), *_written(signals, lines, rules.fail_on_writer)]
    has_rules = bool(licences or rules.fail_on_writer)
    return Check(
        change, has_rules, tuple(files), judgement, tuple(findings), tuple(signals), lines, texts, added, tuple(unread)
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


def _recorded(store: RecordStore, revision: str, chosen: Mapping[str, frozenset[int]]) -> RecordedLines:
    files, unread = [], []
    for path, lines in chosen.items():
        try:
            files.append(RecordedFile(path, store.lines(revision, path, lines)))
        except DataError as error:  # a name that is not UTF-8
            unread.append(f"{path}: its records were not read: {error}")
    return RecordedLines(tuple(files), (*store.remarks, *unread))


def _filled(text: str, added: frozenset[int]) -> frozenset[int]:
    lines = lines_of(text)
    return frozenset(number for number in added if number <= len(lines) and lines[number - 1].strip())


def _stated(
    texts: Mapping[str, str], added: Mapping[str, frozenset[int]], rules: LicenceRules, baseline: frozenset[str]
) -> Iterator[Finding]:
    """Yield the licences that added lines state, where a rule denies them or leaves them open."""
    for path, text in texts.items():
        lines = lines_of(text)
        new = "".join(lines[number - 1] for number in sorted(added[path]) if number <= len(lines))
        licence = licence_tag(new) or licence_notice(new)
        if licence and (rules.deny(licence) or rules.leave_open(licence)):
            excuse = "in the baseline" if accepted_key(path, licence) in baseline else None
            words = f"states {'a licence that is not known' if licence == UNKNOWN_LICENCE else licence}"
            fails = True if rules.deny(licence) else None if excuse is None else False
            yield Finding("stated-licence", words, path, min(added[path]), min(added[path]), fails, excuse, licence)


def _written(signals: Sequence[Signal], lines: RecordedLines | None, denied: Sequence[str]) -> Iterator[Finding]:
    for signal in signals:
        if signal.is_about_code and signal.kind != "line record":
            place = signal.path or ""
            yield Finding(
                "agent", f"{signal.kind}: {signal.text}", place, signal.line or 0, signal.line or 0, "agent" in denied
            )
    for path, span in lines.in_state("agent", "mixed", "contradicting", "unrecorded") if lines else ():
        kind: RuleKind = "contradicting" if span.state == "contradicting" else "agent"
        kind = "unrecorded" if span.state == "unrecorded" else kind
        if kind in denied or kind == "contradicting":
            words = "; ".join(span.records) or "nothing is recorded of who wrote this"
            yield Finding(kind, words, path, span.first, span.last, kind in denied)


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
    names = ("body",), ("user", "login"), ("head", "ref")
    body, author, branch = (_text_at(request, *steps) for steps in names)
    branches = [Signal(signal.kind, signal.text, commit=commit) for signal in in_branches([branch])]
    return [*in_commits([Commit(commit, author, "", f"\n\n{body}")]), *branches]


def _text_at(table: object, *steps: str) -> str:
    for step in steps:
        table = table.get(step) if isinstance(table, dict) else None
    return table if isinstance(table, str) else ""


@describe.register
def _(result: Check) -> Report:
    """Return the report on a change: the verdict, then findings, then who is declared to have written it."""
    traced = describe_files(result.files, TOP, result.judgement)
    others = sorted(result.findings, key=lambda finding: finding.fails is False)
    counts: Mapping[Any, int] = result.lines.counts if result.lines else Counter()
    columns = (
        Column("place", "name", get=_place),
        Column("finding", get=lambda finding: f"{_lead(finding)}{finding.text}"),
        Column("rule", get=lambda finding: finding.kind),
    )
    more = (f"The first {SHOWN} of {len(others):,}; all are in the JSON.",) if len(others) > SHOWN else ()
    tables = (
        *traced.tables,
        Table.of("others", "Licences and writers", others[:SHOWN], columns, more),
        Table.of(
            "writers",
            "Changed lines by who wrote them",
            counts.items(),
            (
                Column("written by", "name", get=lambda item: item[0]),
                Column("lines", "count", get=lambda item: item[1]),
            ),
        ),
    )
    tables = tuple(table for table in tables if table.rows)
    sentences = gate_sentences(result.judgement) if result.files else ()
    verdict = {0: "clean", 1: "findings", 3: "undecided"}[result.exit_code]
    return Report(
        title="May this change be merged?",
        kind="check",
        statement="",
        answer=_answer(result),
        on_first_screen=len(tables),
        tables=tables,
        notes=tuple(dict.fromkeys((*sentences, *result.undecided, *result.unread))),
        data={
            "verdict": verdict if result.has_rules else "no rule",
            "base": result.change.base,
            "fork": result.change.fork,
            "head": result.change.head,
            "lines": {path: len(lines) for path, lines in result.added.items()},
            "findings": [asdict(finding) for finding in result.findings],
            "undecided": list(result.undecided),
            "provenance": traced.data if result.files else None,
            "written_by": dict(counts),
            "declared": [asdict(signal) for signal in result.signals],
        },
        annotations=(
            *traced.annotations,
            *(
                Annotation(finding.text, finding.path, finding.first, finding.last, _level(finding))
                for finding in others
            ),
        ),
    )


def _answer(result: Check) -> Answer:
    lines = number_of(sum(map(len, result.added.values())), "changed line")
    copies, others = result.judgement.failures, result.failures
    count = number_of(len(copies) + len(others), "finding")
    measured = f"{count} in {lines} of {number_of(len(result.added), 'source file')}."
    if not result.has_rules:
        step = 'write fail-on-licence = ["copyleft"] below [check] in assay.toml, and merge it'
        return Answer("No rule", "The base commit has no rule to judge by.", measured, step)
    if copies or others:
        place = f"{copies[0].finding.path}:{copies[0].finding.first_line}" if copies else _place(others[0])
        because = "Changed code is a copy under a denied licence." if copies else _REASONS[others[0].kind]
        step = f"look at {place}"
        if copies or others[0].licence:
            step += "; write it anew, or accept it in the baseline by a change of its own"
        return Answer("Findings", because, measured, step)
    if result.undecided:
        return Answer(
            "Undecided", "A rule cannot be decided, so the change does not pass.", measured, result.undecided[0]
        )
    return Answer("Clean", "No changed line breaks a rule.", measured)


def _place(finding: Finding) -> str:
    if not finding.path:
        return "the change"
    return f"{finding.path}:{finding.first}" if finding.first else finding.path


def _lead(finding: Finding) -> str:
    if finding.excuse is not None:
        return f"accepted ({finding.excuse}): "
    return "" if finding.fails is False else "denied: " if finding.fails else "undecided: "


def _level(finding: Finding) -> Literal["error", "warning", "notice"]:
    if finding.excuse is not None or finding.fails is False:
        return "notice"
    return "error" if finding.fails else "warning"


def check_sarif(result: Check) -> dict[str, Any]:
    """Return one SARIF run with the copies, as `assay trace` writes them, and all other findings."""
    copies = sarif(result.files, result.judgement)["runs"][0]
    others = []
    for finding in result.findings:
        place = [file_location(finding.path, finding.first or None, finding.last or None)] if finding.path else []
        level = {"notice": "note"}.get(_level(finding), _level(finding))
        further = {}
        if finding.excuse is not None:
            further["suppressions"] = [{"kind": "external", "justification": finding.excuse}]
        others.append(sarif_result(finding.kind, finding.text, level, locations=place, **further))
    return sarif_log([*copies["tool"]["driver"]["rules"], *_RULES], [*copies["results"], *others])
