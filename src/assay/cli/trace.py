"""`assay trace`: where does this code come from?"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from assay.cli.groups import grouped
from assay.cli.options import OUTPUT, AsJson, At, DataOptions
from assay.errors import DataError
from assay.files import write_json

if TYPE_CHECKING:  # these import numpy and more; --help does not wait for them
    from assay.provenance import Searchable, SourceText, Trace

SEARCH = "Search"
SURE = 0.95
NEEDS_VECTORS = {"hst": True, "vector": True, "winnowing": False}
"""Methods that search by vector, and one that does not; `union` uses vectors if there are any."""
SOLUTION = "solution"
"""The part of a benchmark that is code; it is traced unless --part names another."""


@grouped
def trace_command(
    code: Annotated[
        list[Path] | None,
        typer.Argument(metavar="FILE|FOLDER|- …", help="Code to trace; - is standard input.", show_default=False),
    ] = None,
    *,
    at: At,
    benchmark: Annotated[
        str | None,
        typer.Option(
            metavar="BENCHMARK",
            help="Instead of code: find samples of a benchmark in the index (--data names its file).",
        ),
    ] = None,
    method: Annotated[
        Literal["union", "hst", "winnowing", "vector"],
        typer.Option(help="Candidates by fingerprints, by vector, or by both.", rich_help_panel=SEARCH),
    ] = "union",
    top: Annotated[
        int, typer.Option(min=1, metavar="N", help="Largest number of matches for each text.", rich_help_panel=SEARCH)
    ] = 5,
    by: Annotated[
        Literal["function", "file"],
        typer.Option(help="Unit of tracing in a folder.", rich_help_panel=SEARCH),
    ] = "function",
    min_similarity: Annotated[
        float,
        typer.Option(min=0, max=1, help="Least share of the code that a match contains.", rich_help_panel=SEARCH),
    ] = 0.0,
    min_confidence: Annotated[
        float, typer.Option(min=0, max=1, help="Least confidence; 0 shows all matches.", rich_help_panel=SEARCH)
    ] = SURE,
    template: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE", help="Code to ignore in every text; repeat the option for several.", rich_help_panel=SEARCH
        ),
    ] = None,
    fail_on_licence: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SPDX",
            help="Exit with 1 if a match has this licence: GPL-3.0-only, GPL-*, unknown; repeat for several.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    sarif: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write SARIF 2.1.0 to this file.", rich_help_panel=OUTPUT)
    ] = None,
    as_json: AsJson = False,
    which: DataOptions,
) -> None:
    """Trace code to its sources: ranked matches with lines, licence, author and confidence.

    A folder, and every file beside others, is traced function by function. --language names the language of standard
    input and of files without a known suffix.

    **Example**: `assay trace snippet.py --index corpus.index --fail-on-licence 'GPL-*'`
    """
    from assay.api import open_index
    from assay.provenance import (
        TraceSettings,
        checked_rules,
        default_boilerplate,
        language_by_evidence,
        trace,
        with_templates,
    )

    rules = checked_rules(fail_on_licence or ())
    if (benchmark is None) == (not code):
        raise DataError("expected code to trace, or --benchmark: a file, a folder or - for standard input")
    with open_index(at, vectors=NEEDS_VECTORS.get(method)) as index:
        if benchmark is not None:
            _refuse_with_benchmark({"--sarif": sarif, "--template": template, "--fail-on-licence": rules or None})
            _benchmark(benchmark, which, index, method, min_confidence, as_json=as_json)
            return
        settings = TraceSettings(
            min_similarity=min_similarity,
            min_confidence=min_confidence,
            boilerplate=with_templates(default_boilerplate(), template) if template else None,
        )

        def answer(text: "SourceText") -> "Trace":
            language = text.language or language_by_evidence(text.text, index)
            return trace(text.text, index, language=language, method=method, top=top, settings=settings)

        traced = _traced(_texts(code or [], which.language, by), answer)
    _show(traced, rules, sarif, as_json=as_json)


def _traced(texts: "list[SourceText]", answer: "Callable[[SourceText], Trace]") -> "list[tuple[SourceText, Trace]]":
    from assay.api import progress_bar

    traced = []
    with progress_bar("tracing") as report:
        for done, text in enumerate(texts, 1):
            traced.append((text, answer(text)))
            if report is not None:
                report(done, len(texts))
    return traced


def _refuse_with_benchmark(options: Mapping[str, object]) -> None:
    for name, value in options.items():
        if value is not None:
            raise DataError(f"{name} cannot be used with --benchmark: it is for code that is traced")


def _texts(code: list[Path], language: str | None, by: str) -> "list[SourceText]":
    """Return one file or standard input whole; a folder or several files function by function."""
    from assay.languages import language_named
    from assay.provenance import SourceText, by_function, read_source_text, source_texts

    named = language and language_named(language)
    texts: list[SourceText] = []
    for path in code:
        if path.is_dir():
            files = [
                SourceText(f"{path.as_posix().rstrip('/')}/{file.path}", file.text, file.language)
                for file in source_texts([str(path)])
                if named is None or file.language == named
            ]
            if not files:
                raise DataError(f"{path}: no source file in it")
            texts += by_function(files) if by == "function" else files
        else:
            text = read_source_text(path, named)
            texts += by_function([text]) if len(code) > 1 and by == "function" else [text]
    return texts


def _show(
    traced: "list[tuple[SourceText, Trace]]", rules: tuple[str, ...], sarif: Path | None, *, as_json: bool
) -> None:
    from assay.cli.present import chosen_format, show
    from assay.cli.terminal import echo
    from assay.provenance import denied_matches, describe_traces
    from assay.provenance import sarif as as_sarif

    if sarif is not None:
        write_json(sarif, as_sarif(traced, rules))
    show(describe_traces(traced), chosen_format(as_json=as_json))
    findings = denied_matches(traced, rules)
    for finding in findings:
        echo(f"assay: finding: {finding}", err=True)
    if findings:
        raise typer.Exit(1)


def _benchmark(
    name: str,
    which: DataOptions,
    index: "Searchable",
    method: Literal["union", "hst", "winnowing", "vector"],
    sure: float,
    *,
    as_json: bool,
) -> None:
    from assay.api import progress_bar
    from assay.cli.present import chosen_format, show
    from assay.datasets import benchmark as benchmark_named
    from assay.datasets import is_benchmark
    from assay.studies import describe_benchmark, trace_benchmark

    if which.part is None and is_benchmark(name) and SOLUTION in benchmark_named(name).parts:
        which = replace(which, part=SOLUTION)
    dataset = which.load(name)
    called = f"{dataset.name} ({which.part})" if which.part else dataset.name
    with progress_bar(f"looking for {called}") as report:
        result = trace_benchmark(dataset.samples, index, benchmark=called, method=method, sure=sure, progress=report)
    show(describe_benchmark(result), chosen_format(as_json=as_json))
