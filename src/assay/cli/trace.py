"""`assay trace`: where does this code come from?"""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from operator import attrgetter
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated

import typer

from assay.cli.code_files import not_judged, source_files
from assay.cli.completing import complete_languages
from assay.cli.groups import grouped
from assay.cli.options import LOG, STANDARD_OUTPUT, At, further_file
from assay.cli.trace_options import GateSettings
from assay.cli.unused import options_of_command_line, refuse_format
from assay.errors import DataError
from assay.files import write_json
from assay.provenance.settings import MatchSettings

if TYPE_CHECKING:  # these import numpy and more; --help does not wait for them
    from assay.corpora import FilesRead, Unread
    from assay.licences import LicenceRules
    from assay.provenance import Judgement, TracedFile

NEEDS_VECTORS = {"hst": True, "vector": True, "winnowing": False}
"""Methods that search by vector, and one that does not; `union` uses vectors if there are any."""
UNDECIDED = 3
"""Exit code where none is denied, and the licence of a copy is unknown or a file could not be judged."""

TRACING = "the tracing of code"
USED: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "--verbatim": frozenset({"code", "verbatim", "at", "top", "language"}),
        TRACING: frozenset({"code", "at", "sarif", "language"})
        | {field.name for field in (*fields(MatchSettings), *fields(GateSettings))},
    }
)
"""Question of the command → the parameters that it uses; another one on the command line is refused."""


def _moved(parameter: typer.CallbackParam, value: str | None) -> str | None:
    """Refuse an option of version 0.1 in one line that names the command of today."""
    if value is not None:
        raise DataError(f"{parameter.opts[0]}: expected `assay scan CORPUS… --for BENCHMARK`, which asks the data")
    return value


@grouped
def trace_command(
    context: typer.Context,
    code: Annotated[
        list[Path] | None,
        typer.Argument(metavar="FILE|FOLDER|- …", help="Code to trace; - is standard input.", show_default=False),
    ] = None,
    *,
    at: At,
    verbatim: Annotated[
        bool, typer.Option("--verbatim", help="Print the longest passages that occur word for word, not sources.")
    ] = False,
    benchmark: Annotated[str | None, typer.Option(hidden=True, callback=_moved)] = None,
    write_clean: Annotated[str | None, typer.Option(hidden=True, callback=_moved)] = None,
    search: MatchSettings,
    gate: GateSettings,
    sarif: Annotated[
        Path | None, further_file("Write SARIF 2.1.0 to this file; - is standard output.", *LOG, printable=True)
    ] = None,
    language: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            autocompletion=complete_languages,
            help="Language of standard input and of files without a known suffix.",
        ),
    ] = None,
) -> None:
    """Trace code to its sources in an index, with lines, licence, author and confidence.

    The functions of a file, the lines outside of them and the whole file are traced.

    **Example**: `assay trace snippet.py --index corpus.index --fail-on-licence copyleft`
    """
    # their callback refuses them
    del benchmark, write_clean
    from assay.cli.present import chosen_format
    from assay.cli.terminal import BILLS, echo
    from assay.cli.trace_modes import print_passages
    from assay.corpora import blocks_and_whole, parts_of
    from assay.provenance import TraceSettings, open_for_search, trace_files
    from assay.provenance.findings import without_own
    from assay.provenance.search import add_templates, default_boilerplate
    from assay.reports import number_of

    refuse_format(context, sarif)
    if verbatim and chosen_format() in BILLS:
        raise DataError(f"--format {chosen_format()}: expected code to trace; received --verbatim")
    rules = _rules(gate)
    code = code or []
    _check(code, gate)
    question, vectors = TRACING, NEEDS_VECTORS.get(search.method)
    if verbatim:
        # passages need words and fingerprints: no encoder is loaded
        question, vectors = "--verbatim", False
    _refuse_unused(context, question)
    with open_for_search(at, vectors=vectors) as index:
        if not len(index):
            raise DataError(f"{at}: the index holds no document; expected one that `assay index build CORPUS` filled")
        read = source_files(code, language)
        if verbatim:
            print_passages(read.texts, index, search.top)
            for sentence in not_judged(read):
                echo(f"assay: note: {sentence}", err=True)
            return
        templates, parts = None, blocks_and_whole
        if search.template:
            templates = add_templates(default_boilerplate(), search.template)
        if search.by == "function":
            parts = parts_of
        traced = trace_files(
            read.texts,
            index,
            rules=rules,
            parts=parts,
            method=search.method,
            top=search.top,
            settings=TraceSettings(thresholds=search, boilerplate=templates, exact=search.exact),
        )
    files = without_own(traced, gate.own)
    if gate.own:  # a name that is misspelt leaves out none
        left_out = _findings(traced) - _findings(files)
        echo(f"assay: note: --own leaves out {number_of(left_out, 'finding')}", err=True)
    _finish(files, read, rules=rules, gate=gate, sarif=sarif, top=search.top)


def _findings(files: "Sequence[TracedFile]") -> int:
    return sum(map(len, map(attrgetter("findings"), files)))


def _check(code: Sequence[Path], gate: GateSettings) -> None:
    if not code:
        raise DataError("expected code to trace: a file, a folder or - for standard input")
    for name, path in {"--baseline": gate.baseline, "--write-baseline": gate.write_baseline}.items():
        if path is not None and not (gate.fail_on_licence or gate.allow_licence):
            raise DataError(f"{name}: expected --fail-on-licence or --allow-licence with it")


def _refuse_unused(context: typer.Context, question: str) -> None:
    """Refuse options of the command line that the question does not use; a configuration file may set any of them."""
    for name, option in options_of_command_line(context).items():
        if name not in USED[question]:
            raise DataError(f"{option} cannot be used with {question}: it has no effect there")


def _rules(gate: GateSettings) -> "LicenceRules | None":
    """Return the rules of the gate; None without any: the list of licences is slow to read."""
    if not gate.fail_on_licence and not gate.allow_licence:
        return None
    from assay.licences import read_rules

    return read_rules(gate.fail_on_licence, gate.allow_licence)


def _acceptable(file: "Unread") -> dict[str, str]:
    """Return a file that was not judged as an entry of a baseline, which accepts this content alone."""
    from assay.provenance.findings import accepted_key

    return {"key": accepted_key(file.path, file.content), "path": file.path, "licence": ""}


def _finish(
    files: "list[TracedFile]",
    read: "FilesRead",
    *,
    rules: "LicenceRules | None",
    gate: GateSettings,
    sarif: Path | None,
    top: int,
) -> None:
    """Judge the findings, write and print them; exit with 1 if one fails, with 3 if something cannot be decided."""
    from assay.cli.present import chosen_format, show
    from assay.cli.terminal import echo, echo_json
    from assay.cli.trace_output import print_files
    from assay.provenance import describe_files
    from assay.provenance import sarif as as_sarif
    from assay.provenance.findings import BILLS

    judgement, form = _judged(files, read, rules=rules, gate=gate), chosen_format()
    if sarif == STANDARD_OUTPUT:
        echo_json(as_sarif(files, judgement))
    else:
        if sarif is not None:
            write_json(sarif, as_sarif(files, judgement))
        if form in ("table", "json"):
            print_files(files, judgement, top, unread=read.unread, as_json=form == "json")
        elif form in BILLS:
            echo_json(BILLS[form](files))
        else:
            show(describe_files(files, top, judgement, unread=read.unread), form)
    for sentence in not_judged(read):
        echo(f"assay: note: {sentence}", err=True)
    # what fails outranks what is undecided
    if judgement is not None and judgement.failures:
        raise typer.Exit(1)
    if judgement is not None and (judgement.open or read.unread):
        raise typer.Exit(UNDECIDED)


def _judged(
    files: "list[TracedFile]", read: "FilesRead", *, rules: "LicenceRules | None", gate: GateSettings
) -> "Judgement | None":
    """Judge the findings, write the baseline, and leave out unread files that it accepts; None without rules."""
    from assay.cli.terminal import OUTPUT_SETTINGS, echo
    from assay.provenance import judge
    from assay.provenance.findings import accept_findings, read_baseline, write_baseline

    if rules is None:
        return None
    texts = {file.file.path: file.file.text for file in files}
    baseline = frozenset[str]()
    if gate.baseline is not None:
        baseline = read_baseline(gate.baseline)
    judgement = accept_findings(judge(files, rules), texts, baseline)
    if gate.write_baseline is not None:
        written = write_baseline(
            gate.write_baseline,
            denials=(*judgement.denials, *judgement.undecided),
            texts=texts,
            # without a digest an entry would accept whatever the file holds later
            stated=list(map(_acceptable, filter(attrgetter("content"), read.unread))),
            replace_it=OUTPUT_SETTINGS.get().force,
        )
        echo(f"assay: note: {written}", err=True)
        # read again, because the file may have had entries before
        baseline = read_baseline(gate.write_baseline)
        judgement = accept_findings(judgement, texts, baseline)
    read.unread = [file for file in read.unread if _acceptable(file)["key"] not in baseline]
    return judgement
