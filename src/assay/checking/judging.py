"""The judgement of a change: copies, licences, and who is declared to have written it.

Three questions in one result: is it a copy from an indexed source, does it state a licence, and who is declared to have
written it? What cannot be decided never passes.
"""

import os
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from assay.authorship import (
    Commit,
    RecordedFile,
    RecordedLines,
    RecordStore,
    Signal,
    in_branches,
    in_commits,
    in_paths,
    in_text,
)
from assay.checking.changed import ChangedCode
from assay.checking.result import CheckedChange
from assay.checking.rules import ChangeRules
from assay.checking.statements import statements_of
from assay.corpora import SourceChange, added_parts, commit_messages, lines_of
from assay.errors import DataError
from assay.files import parse_json
from assay.provenance import Thresholds, TracedFile, TraceSettings, judge, open_for_search, trace_files
from assay.provenance.findings import accept_findings, without_own

TOP = 5
"""Sources of a file that are shown; denied ones are never left out."""


def check_change(change: SourceChange, rules: ChangeRules, *, event: Sequence[Signal] = ()) -> CheckedChange:
    """Judge the lines that a change adds.

    Args:
        change: of a branch or of the index.
        rules: from the base of the change.
        event: declarations of the pull request; see `in_event`.

    Raises:
        AssayError: the index or the repository cannot be read, or the change writes the index.
    """
    code = ChangedCode.of(change)
    files = without_own(_traced(code, rules), rules.settings.own)
    judgement = accept_findings(judge(files, rules.licences), code.texts, rules.baseline, added=code.added)
    # a staged change has no commit yet, so no record and no message is about it
    store = RecordStore(change.repository) if change.head else None
    signals = [*event, *_declared(code, store)]
    lines = RecordedLines((), (), rules.denied) if store is None else _recorded(store, code, rules)
    return CheckedChange(
        code=code,
        rules=rules,
        files=tuple(files),
        judgement=judgement,
        statements=statements_of(code, rules=rules, lines=lines, signals=signals),
        lines=lines,
    )


def _traced(code: ChangedCode, rules: ChangeRules) -> list[TracedFile]:
    """Trace the parts of files that the change adds; none without an index.

    Raises:
        AssayError: the index cannot be opened or is empty, or the change writes it.
    """
    settings = rules.settings
    if settings.index is None:
        return []
    _refuse_own_index(code, settings.index)
    with open_for_search(settings.index) as index:
        if not len(index):
            raise DataError(f"{settings.index}: the index holds no document, expected one that was filled")
        return trace_files(
            [file for file, _ in code.files],
            index,
            rules=rules.licences or None,
            parts=lambda file: added_parts(file, code.added[file.path]),
            top=TOP,
            settings=TraceSettings(thresholds=Thresholds(min_confidence=settings.min_confidence)),
        )


def _refuse_own_index(code: ChangedCode, index: str) -> None:
    """Refuse an index in the checkout, or behind a link in it, that could come with the change itself."""
    place = Path(os.path.normpath(Path.cwd() / index))
    for path in code.paths:
        written = code.change.repository / path
        # the name and its target: a change can write a link in the way, or what a link leads to
        for at in (place, place.resolve()):
            if written.is_relative_to(at) or at.is_relative_to(written):
                raise DataError(f"{index}: received a change that writes the index, expected one that cannot alter it")


def _declared(code: ChangedCode, store: RecordStore | None) -> list[Signal]:
    """Return the declarations of a change: in its paths, in its added lines, and in its commits."""
    change = code.change
    signals = list(in_paths(file.path for file in change.written if not file.is_removed))
    for path, text in code.sources.items():
        signals += [signal for signal in in_text(text, path) if signal.line in code.added[path]]
    if store is not None:
        # commits of the change alone: those of the base are not judged
        for fields in commit_messages(change.repository, revisions=(change.head, f"^{change.fork}")):
            signals += store.signals(Commit(*fields))
    return signals


def _recorded(store: RecordStore, code: ChangedCode, rules: ChangeRules) -> RecordedLines:
    """Return the changed lines by who wrote them, blank ones left out."""
    files, unread = [], []
    for path, text in code.sources.items():
        try:
            lines = store.lines(code.change.head, path, _filled(text, code.added[path]))
        except DataError as error:  # a name that is not UTF-8
            unread.append(f"{path}: its records were not read: {error}")
        else:
            files.append(RecordedFile(path, lines))
    return RecordedLines(tuple(files), (*store.remarks, *unread), rules.denied)


def _filled(text: str, added: frozenset[int]) -> frozenset[int]:
    return frozenset(number for number, line in enumerate(lines_of(text), 1) if number in added and line.strip())


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
    text = partial(_text_at, event, "pull_request")
    author, branch = text("user", "login"), text("head", "ref")
    # a description is the body of a message: its first line is no title
    commits = [Commit(commit, author, address="", message=f"\n\n{text('body')}")]
    return [*in_commits(commits), *in_branches([branch])]


def _text_at(table: object, *steps: str) -> str:
    for step in steps:
        if not isinstance(table, dict):
            return ""
        table = table.get(step)
    return table if isinstance(table, str) else ""
