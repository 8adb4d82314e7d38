"""Traced files on the screen, in a pipe or as JSON."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.text import Text

from assay.cli.terminal import Terminal, echo, echo_json

if TYPE_CHECKING:  # these import numpy and more; --help does not wait for them
    from assay.provenance import Denial, Judgement, SourceFinding, TracedFile


def print_files(files: "Sequence[TracedFile]", judgement: "Judgement | None", top: int, *, as_json: bool) -> None:
    """Print the findings: blocks on a terminal, `path:line: …` in a pipe, one object as JSON.

    Args:
        files: with their findings.
        judgement: of the licence gate; None without rules.
        top: findings of each file at most; denied ones are never left out.
        as_json: print JSON; denied findings then go to standard error as lines.
    """
    from assay.provenance import files_data, gate_sentences, line_of

    console = Terminal()
    if as_json:
        echo_json(files_data(files, top, judgement))
        for denial in judgement.failures if judgement else ():
            echo(f"assay: finding: {line_of(denial.finding, denial)}", err=True)
    elif console.is_terminal:
        _print_blocks(console, files, judgement, top)
    else:
        _print_lines(files, judgement, top)
    for note in dict.fromkeys(note for file in files for note in file.notes):
        echo(f"assay: note: {note}", err=True)
    for sentence in gate_sentences(judgement) if judgement else ():
        echo(f"assay: gate: {sentence}", err=True)


def _print_lines(files: "Sequence[TracedFile]", judgement: "Judgement | None", top: int) -> None:
    from assay.provenance import denials_by_finding, line_of, shown_findings, trace_verdict

    denials = denials_by_finding(judgement)
    for file in files:
        for finding in shown_findings(file, top, judgement):
            echo(line_of(finding, denials.get(id(finding))))
    if len(files) == 1 and not files[0].findings:
        echo(f"{files[0].file.path}: no source: {files[0].why_none}")
    else:
        echo(f"assay: {_count(files)}: {trace_verdict(files)}", err=True)


def _count(files: "Sequence[TracedFile]") -> str:
    functions = sum(part.kind == "function" for file in files for part, _ in file.parts)
    return f"{len(files)} file{'s' * (len(files) != 1)} with {functions} function{'s' * (functions != 1)} traced"


def _print_block(console: Terminal, finding: "SourceFinding", denial: "Denial | None") -> None:
    from assay.provenance import extent, finding_lines, source_of

    place = finding.places[0] if denial is None else denial.place
    head = Text("\n") + Text(f"{finding.path}:{finding_lines(finding)}", style="cyan")
    head.append(f"  {extent(finding)}")
    if denial is not None:
        words = f"  denied licence {place.origin.licence}"
        head.append(words if denial.excuse is None else f"{words}, accepted: {denial.excuse}", style="bold red")
    console.print(head, soft_wrap=True)
    console.print(Text(f"    {source_of(finding, place)}"), soft_wrap=True)


def _print_blocks(console: Terminal, files: "Sequence[TracedFile]", judgement: "Judgement | None", top: int) -> None:
    from assay.provenance import denials_by_finding, evidence_lines, shown_findings, trace_verdict

    denials = denials_by_finding(judgement)
    console.print(Text(trace_verdict(files), style="bold"), soft_wrap=True)
    for file in files:
        for finding in shown_findings(file, top, judgement):
            _print_block(console, finding, denials.get(id(finding)))
    hidden = sum(len(file.findings) - len(shown_findings(file, top, judgement)) for file in files)
    if hidden:
        console.print(f"\n{hidden} more with --top {max(len(file.findings) for file in files)}", soft_wrap=True)
    if len(files) == 1 and not files[0].findings and files[0].parts:
        for sentence in evidence_lines(files[0].parts[-1][1]):
            console.print(Text(f"    {sentence}", style="dim"), soft_wrap=True)
