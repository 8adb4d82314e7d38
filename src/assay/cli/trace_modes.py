"""Modes of `assay trace` besides the sources of code: a benchmark, passages word for word, all pairs of files."""

from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.cli.options import DataOptions
from assay.cli.terminal import Terminal, echo
from assay.cli.trace_options import SearchOptions
from assay.errors import DataError
from assay.files import write_text

if TYPE_CHECKING:  # these import numpy and more; --help does not wait for them
    from assay.provenance import PairedFiles, Passage, Searchable, SourceText
    from assay.reports import Report

SOLUTION = "solution"
"""The part of a benchmark that is code; it is traced unless --part names another."""

LONGEST_LINE = 60
"""Characters of a passage that a terminal shows in its line; a pipe gets the whole passage."""


def print_passages(files: "Sequence[SourceText]", index: "Searchable", top: int) -> None:
    """Print the longest passages of each file that occur word for word in the corpus, one line each."""
    from assay.cli.present import chosen_format, show
    from assay.provenance import place_text, verbatim_passages

    passages = [
        (file, passage)
        for file in files
        for passage in verbatim_passages(file.text, index, language=file.language, top=top)
    ]
    form = chosen_format()
    if form != "table":
        show(describe_passages(passages), form)
        return
    cut = Terminal().is_terminal
    for file, passage in passages:
        place = passage.places[0]
        more = f" and {len(passage.places) - 1} more" if len(passage.places) > 1 else ""
        begin = " ".join(passage.text.split())
        shown = f"{begin[:LONGEST_LINE]}…" if cut and len(begin) > LONGEST_LINE else begin
        echo(
            f"{file.path}:{passage.lines.first}: {passage.words} words as in {place_text(place)}{more} "
            f"({place.origin.licence}): {shown}"
        )
    if not passages:
        echo("no passage of the text occurs word for word in the corpus")


def describe_passages(passages: "Sequence[tuple[SourceText, Passage]]") -> "Report":
    """Return the passages of files as a report, one row each."""
    from assay.provenance import place_text
    from assay.reports import Annotation, Column, Report, Row, Table

    columns = (Column("path"), Column("line", "count"), Column("words", "count"), Column("place"), Column("licence"))
    rows, annotations = [], []
    for file, passage in passages:
        place = passage.places[0]
        rows.append(Row((file.path, passage.lines.first, passage.words, place_text(place), place.origin.licence)))
        words = f"{passage.words} words as in {place_text(place)} ({place.origin.licence})"
        annotations.append(Annotation(words, file.path, passage.lines.first, passage.lines.last))
    return Report(
        title="Which passages occur word for word in the corpus?",
        statement=f"{len(rows)} passages occur word for word in the corpus.",
        tables=(Table("passages", "Passages", columns, tuple(rows)),) if rows else (),
        data=[{"path": file.path, **asdict(passage)} for file, passage in passages],
        annotations=tuple(annotations),
    )


def compare_pairs(files: "Sequence[SourceText]", search: SearchOptions, csv: Path | None) -> None:
    """Compare all files with one another; print pairs and clusters, and write the pairs as CSV.

    Raises:
        DataError: fewer than two files, or the CSV cannot be written.
    """
    from assay.cli.present import chosen_format, show
    from assay.provenance import SIMILAR, all_pairs, default_boilerplate, with_templates
    from assay.reports import number_of, render_csv

    if len(files) < 2:  # noqa: PLR2004  a pair
        raise DataError(f"--pairs: received {len(files)} source file, expected at least 2")
    boilerplate = with_templates(default_boilerplate(), search.template) if search.template else None
    result = all_pairs(files, least=search.min_similarity or SIMILAR, boilerplate=boilerplate)
    report, form = describe_pairs(result), chosen_format()
    if csv is not None:
        write_text(csv, render_csv(report))
    if form != "table":
        show(report, form)
        return
    for pair in result.pairs:
        first, second = result.paths[pair.first], result.paths[pair.second]
        echo(
            f"{first}:{pair.first_lines[0].first if pair.first_lines else 1}: {pair.similarity:.0%} the same structure "
            f"as {second} ({pair.first_share:.0%} of the first, {pair.second_share:.0%} of the second; longest "
            f"{pair.longest} lines)"
        )
    for number, cluster in enumerate(result.clusters, 1):
        echo(f"cluster {number}: {', '.join(result.paths[file] for file in cluster)}")
    short = f", {len(result.too_short)} too short" if result.too_short else ""
    least = f"{search.min_similarity or SIMILAR:.0%}"
    echo(
        f"assay: {number_of(len(result.paths), 'file')} compared{short}: {number_of(len(result.pairs), 'pair')} of at "
        f"least {least}, {number_of(len(result.clusters), 'cluster')}",
        err=True,
    )


def describe_pairs(result: "PairedFiles") -> "Report":
    """Return pairs of files as a report, one row each; `cluster` is the number of their cluster."""
    from assay.reports import Column, Report, Row, Table

    cluster_of = result.cluster_of()
    pairs = [
        asdict(pair)
        | {"first": result.paths[pair.first], "second": result.paths[pair.second]}
        | {
            "first_lines": [str(lines) for lines in pair.first_lines],
            "second_lines": [str(lines) for lines in pair.second_lines],
        }
        for pair in result.pairs
    ]

    def shown(value: object) -> Any:  # noqa: ANN401  a cell
        return " ".join(value) if isinstance(value, list) else value

    columns = (
        *map(Column, ("first", "second")),
        *(Column(name, "number") for name in ("similarity", "first_share", "second_share")),
        *map(Column, ("first_lines", "second_lines")),
        *(Column(name, "count") for name in ("longest", "cluster")),
    )
    rows = [
        Row((*(shown(entry[column.title]) for column in columns[:-1]), cluster_of[pair.first]))
        for pair, entry in zip(result.pairs, pairs, strict=True)
    ]
    return Report(
        title="Which files have the same structure?",
        statement=f"{len(pairs)} pairs of {len(result.paths)} files, {len(result.clusters)} clusters.",
        tables=(Table("pairs", "Pairs", columns, tuple(rows)),),
        data={
            "files": list(result.paths),
            "too_short": list(result.too_short),
            "pairs": pairs,
            "clusters": [[result.paths[file] for file in cluster] for cluster in result.clusters],
        },
    )


def trace_whole_benchmark(
    name: str, which: DataOptions, index: "Searchable", search: SearchOptions, *, clean: Path | None
) -> None:
    """Look for the samples of a benchmark, print the result, and write the benchmark without those that occur."""
    from assay.api import progress_bar
    from assay.cli.present import chosen_format, show
    from assay.datasets import benchmark as benchmark_named
    from assay.datasets import is_benchmark
    from assay.reports import number_of
    from assay.studies import describe_benchmark, trace_benchmark, write_clean

    if which.part is None and is_benchmark(name) and SOLUTION in benchmark_named(name).parts:
        which = replace(which, part=SOLUTION)
    dataset = which.load(name)
    called = f"{dataset.name} ({which.part})" if which.part else dataset.name
    with progress_bar(f"looking for {called}") as report:
        result = trace_benchmark(
            dataset.samples,
            index,
            benchmark=called,
            method=search.method,
            sure=search.min_confidence,
            progress=report,
        )
    show(describe_benchmark(result), chosen_format())
    if clean is not None:
        removed, evidence = write_clean(clean, dataset.samples, result)
        kept = number_of(len(dataset.samples) - removed, "sample")
        echo(f"assay: {clean}: {kept}; {removed} removed, see {evidence}", err=True)
