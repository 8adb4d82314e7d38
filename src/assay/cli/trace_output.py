"""Traced files on the screen, in a pipe or as JSON."""

from collections.abc import Mapping, Sequence
from itertools import chain
from operator import attrgetter
from typing import TYPE_CHECKING

from rich.text import Text

from assay.cli.terminal import OUTPUT_SETTINGS, Terminal, echo, echo_json
from assay.reports import number_of

if TYPE_CHECKING:  # these import numpy and more; --help does not wait for them
    from assay.corpora import Unread
    from assay.provenance import Judgement, TracedFile
    from assay.provenance.findings import Denial


def print_files(
    files: "Sequence[TracedFile]",
    judgement: "Judgement | None",
    top: int,
    *,
    unread: "Sequence[Unread]",
    as_json: bool,
) -> None:
    """Print the answer: headlines on a terminal (all findings with -v), `path:line: …` in a pipe, one object as JSON.

    Args:
        files: with their findings.
        judgement: of the licence gate; None without rules.
        top: findings of each file at most; denied ones are never left out.
        unread: files that could hold code and were not judged.
        as_json: print JSON; denied findings then go to standard error as lines.
    """
    from assay.provenance import describe_files
    from assay.provenance.findings import answer_lines, finding_line, gate_sentences

    console = Terminal()
    # by identity, because equal findings may stand in two files
    denials = {id(denial.finding): denial for denial in judgement.denials} if judgement else {}
    if as_json:
        echo_json(describe_files(files, top, judgement, unread=unread).data)
        for denial in judgement.failures if judgement else ():
            echo(f"assay: finding: {finding_line(denial.finding, denial)}", err=True)
    elif console.is_terminal:
        first, *rest = answer_lines(files, judgement, unread)
        console.print(Text(first, style="bold"), soft_wrap=True)
        for line in rest:
            console.print(Text(line), soft_wrap=True)
        if OUTPUT_SETTINGS.get().verbose:
            _print_details(console, files, denials, top=top, judgement=judgement)
    else:
        _print_lines(files, denials, top=top, judgement=judgement, unread=unread)
    for note in dict.fromkeys(chain.from_iterable(map(attrgetter("notes"), files))):
        echo(f"assay: note: {note}", err=True)
    for sentence in gate_sentences(judgement) if judgement else ():
        echo(f"assay: gate: {sentence}", err=True)


def _print_details(
    console: Terminal,
    files: "Sequence[TracedFile]",
    denials: "Mapping[int, Denial]",
    *,
    top: int,
    judgement: "Judgement | None",
) -> None:
    """Print every finding with its places and confidence, or the counts behind an answer without one."""
    from assay.provenance.findings import finding_line, shown_findings

    console.print()
    for file in files:
        for finding in shown_findings(file, top, judgement):
            console.print(Text(finding_line(finding, denials.get(id(finding)))), soft_wrap=True)
    hidden = sum(len(file.findings) - len(shown_findings(file, top, judgement)) for file in files)
    if hidden:
        console.print(f"{hidden} more with --top {max(len(file.findings) for file in files)}", soft_wrap=True)
    if len(files) == 1 and not files[0].findings and files[0].parts:
        # the whole file is the last of its parts
        for sentence in files[0].parts[-1][1].evidence_lines():
            console.print(Text(f"    {sentence}", style="dim"), soft_wrap=True)


def _print_lines(
    files: "Sequence[TracedFile]",
    denials: "Mapping[int, Denial]",
    *,
    top: int,
    judgement: "Judgement | None",
    unread: "Sequence[Unread]",
) -> None:
    """Print a line for each finding, what fails first; of several files similar code only with -v."""
    from assay.provenance.findings import finding_line, shown_findings, sorted_findings, trace_verdict

    sorts = sorted_findings(files, judgement)
    folded = len(files) > 1 and not OUTPUT_SETTINGS.get().verbose
    # what fails is printed first and not again, and what is folded not at all
    printed = set(map(id, sorts.similar)) if folded else set()
    shown = [*sorts.failing, *sorts.undecided]
    for file in files:
        shown += shown_findings(file, top, judgement)
    for finding in shown:
        if id(finding) not in printed:
            printed.add(id(finding))
            echo(finding_line(finding, denials.get(id(finding))))
    if folded and sorts.similar:
        echo(f"assay: note: similar code in {number_of(len(sorts.similar), 'place')}; -v lists it", err=True)
    if len(files) == 1 and not files[0].findings:
        echo(f"{files[0].file.path}: {trace_verdict(files, unread)}")
    else:
        parts = chain.from_iterable(map(attrgetter("parts"), files))
        functions = sum(part.kind == "function" for part, _ in parts)
        count = f"{number_of(len(files), 'file')} with {number_of(functions, 'function')} traced"
        echo(f"assay: {count}: {trace_verdict(files, unread)}", err=True)
