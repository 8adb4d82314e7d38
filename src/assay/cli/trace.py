"""`assay trace`: where does this code come from?"""

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated

import typer

from assay.cli.completing import complete_benchmarks
from assay.cli.groups import grouped
from assay.cli.options import STANDARD_OUTPUT, DataOptions
from assay.cli.trace_options import GateOptions, IndexToTrace, ModeOptions, Sarif, SearchOptions
from assay.cli.unused import options_of_command_line
from assay.errors import DataError
from assay.files import write_json

if TYPE_CHECKING:  # these import numpy and more; --help does not wait for them
    from assay.provenance import Judgement, LicenceRules, Searchable, SourceText, StoredDocument, TracedFile

NEEDS_VECTORS = {"hst": True, "vector": True, "winnowing": False}
"""Methods that search by vector, and one that does not; `union` uses vectors if there are any."""
CANDIDATES_OF_GATE = 1000
"""Documents by fingerprints that are judged for each text: a hundred forks under one licence must not hide another."""


TRACING = "the tracing of code"
USED: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "--pairs": frozenset({"code", "pairs", "csv", "min_similarity", "template", "language"}),
        "--verbatim": frozenset({"code", "verbatim", "at", "top", "language"}),
        "--benchmark": frozenset({"benchmark", "at", "method", "min_confidence", "write_clean"})
        | {field.name for field in fields(DataOptions)},
        TRACING: frozenset({"code", "at", "sarif", "language"})
        | {field.name for field in (*fields(SearchOptions), *fields(GateOptions))},
    }
)
"""Question of the command → the parameters that it uses; another one on the command line is refused."""


@grouped
def trace_command(
    context: typer.Context,
    code: Annotated[
        list[Path] | None,
        typer.Argument(metavar="FILE|FOLDER|- …", help="Code to trace; - is standard input.", show_default=False),
    ] = None,
    *,
    at: IndexToTrace = None,
    benchmark: Annotated[
        str | None,
        typer.Option(
            metavar="BENCHMARK",
            autocompletion=complete_benchmarks,
            help="Instead of code: find samples of a benchmark in the index (--data names its file).",
        ),
    ] = None,
    modes: ModeOptions,
    search: SearchOptions,
    gate: GateOptions,
    sarif: Sarif = None,
    which: DataOptions,
) -> None:
    """Trace code to its sources in an index: one line for each, with lines, licence, author and confidence.

    The functions of a file, the lines outside of them and the whole file are traced. --language names the language of
    standard input and of files without a known suffix.

    **Example**: `assay trace snippet.py --index corpus.index --fail-on-licence copyleft`
    """
    from assay.api import open_index
    from assay.cli.trace_modes import compare_pairs, print_passages, trace_whole_benchmark

    rules = _rules(gate)
    _check(code or [], at, benchmark, modes, gate)
    _refuse_unused(
        context,
        "--pairs" if modes.pairs else "--verbatim" if modes.verbatim else "--benchmark" if benchmark else TRACING,
    )
    if modes.pairs:
        compare_pairs(_source_files(code or [], _language(which)), search, modes.csv)
        return
    with open_index(at or "", vectors=False if modes.verbatim else NEEDS_VECTORS.get(search.method)) as index:
        if benchmark is not None:
            trace_whole_benchmark(benchmark, which, index, search, clean=modes.write_clean)
            return
        if modes.verbatim:
            print_passages(_source_files(code or [], _language(which)), index, search.top)
            return
        files = _traced(code or [], index, search, diff=gate.diff, rules=rules, language=_language(which))
    _finish(files, rules, gate, sarif=sarif, top=search.top)


def _check(code: Sequence[Path], at: str | None, benchmark: str | None, modes: ModeOptions, gate: GateOptions) -> None:
    if (benchmark is None) == (not code and gate.diff is None):
        raise DataError("expected code to trace, or --benchmark: a file, a folder or - for standard input")
    if at is None and not modes.pairs:
        raise DataError("expected --index: the folder of an index, or the address of a Qdrant server")
    if benchmark is not None and (modes.pairs or modes.verbatim):
        raise DataError("--pairs and --verbatim are for code; received --benchmark")
    if modes.write_clean is not None and benchmark is None:
        raise DataError("--write-clean: expected --benchmark with it")
    if modes.csv is not None and not modes.pairs:
        raise DataError("--csv: expected --pairs with it")
    for name, path in {"--baseline": gate.baseline, "--write-baseline": gate.write_baseline}.items():
        if path is not None and not (gate.fail_on_licence or gate.allow_licence):
            raise DataError(f"{name}: expected --fail-on-licence or --allow-licence with it")


def _refuse_unused(context: typer.Context, question: str) -> None:
    """Refuse options of the command line that the question does not use; a configuration file may set any of them."""
    for name, option in options_of_command_line(context).items():
        if name not in USED[question]:
            raise DataError(f"{option} cannot be used with {question}: it has no effect there")


def _language(which: DataOptions) -> str | None:
    from assay.languages import checked_language

    return None if which.language is None else checked_language(which.language)


def _rules(gate: GateOptions) -> "LicenceRules | None":
    """Return the rules of the gate; None without any: the list of licences is slow to read."""
    if not gate.fail_on_licence and not gate.allow_licence:
        return None
    from assay.provenance import checked_rules

    return checked_rules(gate.fail_on_licence or (), gate.allow_licence or ())


def _traced(
    code: Sequence[Path],
    index: "Searchable",
    search: SearchOptions,
    *,
    diff: str | None,
    rules: "LicenceRules | None",
    language: str | None,
) -> "list[TracedFile]":
    from assay.api import progress_bar
    from assay.provenance import TraceSettings, default_boilerplate, trace_file, with_templates

    templates = with_templates(default_boilerplate(), search.template) if search.template else None
    settings = TraceSettings(
        min_similarity=search.min_similarity, min_confidence=search.min_confidence, boilerplate=templates
    )
    if rules is not None:
        settings = replace(settings, candidates=CANDIDATES_OF_GATE)

    def is_denied(document: "StoredDocument") -> bool:
        return rules is not None and any(rules.deny(origin.licence) for origin in document.origins)

    files, parts = _files(code, diff, language, search.by)
    traced = []
    with progress_bar("tracing") as report:
        for done, file in enumerate(files, 1):
            traced.append(
                trace_file(
                    file,
                    index,
                    method=search.method,
                    top=search.top,
                    settings=settings,
                    also=None if rules is None else is_denied,
                    parts=parts,
                )
            )
            if report is not None:
                report(done, len(files))
    return traced


def _files(
    code: Sequence[Path], diff: str | None, language: str | None, by: str
) -> "tuple[list[SourceText], Callable[[SourceText], Sequence[SourceText]]]":
    """Return the files to trace, whole, and the division of a file into the parts that are judged."""
    from assay.provenance import added_lines, added_parts, parts_of

    def whole(file: "SourceText") -> "Sequence[SourceText]":
        return (file,)

    if diff is None:
        return _source_files(code, language), parts_of if by == "function" else whole
    added = {path: lines for path, lines in added_lines(_diff_text(diff), diff).items() if lines}

    def parts(file: "SourceText") -> "Sequence[SourceText]":
        return added_parts(file, added[file.path], by_function=by == "function")

    if code:
        return [file for file in _source_files(code, language) if file.path in added], parts
    return _changed_files(sorted(added), language), parts


def _diff_text(diff: str) -> str:
    try:
        raw = sys.stdin.buffer.read() if diff == "-" else Path(diff).read_bytes()
    except OSError as error:
        raise DataError(f"{diff}: cannot be read: {error.strerror}") from error
    return raw.decode("utf-8", "surrogateescape")


def _changed_files(paths: Sequence[str], language: str | None) -> "list[SourceText]":
    """Read the source files of a diff; a file that is not there is an error, so that none is left out unseen."""
    from assay.languages import language_of
    from assay.provenance import read_source_text

    absent = [path for path in paths if not Path(path).is_file()]
    if absent:
        raise DataError(f"{absent[0]}: is in the diff but not here; expected to run in the folder of its paths")
    return [read_source_text(Path(path), language) for path in paths if language or language_of(path)]


def _source_files(code: Sequence[Path], language: str | None) -> "list[SourceText]":
    """Read files, folders and standard input; one binary file among several arguments is skipped with a note."""
    from assay.cli.terminal import echo
    from assay.provenance import SourceText, read_source_text, source_texts

    files: list[SourceText] = []
    for path in code:
        if path.is_dir():
            inside = [
                SourceText(f"{path.as_posix().rstrip('/')}/{file.path}".removeprefix("./"), file.text, file.language)
                for file in source_texts([str(path)])
                if language is None or file.language == language
            ]
            if not inside:
                raise DataError(f"{path}: no source file in it")
            files += inside
            continue
        try:
            files.append(read_source_text(path, language))
        except DataError as error:
            if len(code) == 1 or not path.is_file():
                raise
            echo(f"assay: note: skipped {error}", err=True)
    return list({file.path: file for file in files}.values())  # a file may be named beside its folder


def _finish(
    files: "list[TracedFile]",
    rules: "LicenceRules | None",
    gate: GateOptions,
    *,
    sarif: Path | None,
    top: int,
) -> None:
    """Judge the findings, write and print them, and exit with 1 if one fails."""
    from assay.cli.present import chosen_format, show
    from assay.cli.terminal import echo_json
    from assay.cli.trace_output import print_files
    from assay.provenance import describe_files, judge, read_baseline, with_excuses, write_baseline
    from assay.provenance import sarif as as_sarif

    judgement: Judgement | None = None
    if rules is not None:
        texts = {file.file.path: file.file.text for file in files}
        baseline = read_baseline(gate.baseline) if gate.baseline is not None else frozenset()
        judgement = with_excuses(judge(files, rules), texts, baseline)
        if gate.write_baseline is not None:
            write_baseline(gate.write_baseline, judgement.denials, texts)
            accepted = with_excuses(judgement, texts, read_baseline(gate.write_baseline))
            judgement = accepted
    form = chosen_format()
    if sarif == STANDARD_OUTPUT:
        echo_json(as_sarif(files, judgement))
    else:
        if sarif is not None:
            write_json(sarif, as_sarif(files, judgement))
        if form in ("table", "json"):
            print_files(files, judgement, top, as_json=form == "json")
        else:
            show(describe_files(files, top, judgement), form)
    if judgement is not None and judgement.failures:
        raise typer.Exit(1)
