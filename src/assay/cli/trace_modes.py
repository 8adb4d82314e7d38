"""Modes of `assay trace` besides the sources of code: a benchmark, passages word for word, all pairs of files."""

import io
from collections.abc import Sequence
from csv import writer
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING

from assay.cli.options import DataOptions
from assay.cli.terminal import Terminal, echo, echo_json
from assay.cli.trace_options import SearchOptions
from assay.errors import DataError
from assay.escaping import spreadsheet_cell, visible
from assay.files import write_text

if TYPE_CHECKING:  # these import numpy and more; --help does not wait for them
    from assay.provenance import PairedFiles, Searchable, SourceText

SOLUTION = "solution"
"""The part of a benchmark that is code; it is traced unless --part names another."""

LONGEST_LINE = 60
"""Characters of a passage that a terminal shows in its line; a pipe gets the whole passage."""


def print_passages(files: "Sequence[SourceText]", index: "Searchable", top: int, *, as_json: bool) -> None:
    """Print the longest passages of each file that occur word for word in the corpus, one line each."""
    from assay.provenance import place_text, verbatim_passages

    passages = [
        (file, passage)
        for file in files
        for passage in verbatim_passages(file.text, index, language=file.language, top=top)
    ]
    if as_json:
        echo_json([{"path": file.path, **asdict(passage)} for file, passage in passages])
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


def compare_pairs(files: "Sequence[SourceText]", search: SearchOptions, csv: Path | None, *, as_json: bool) -> None:
    """Compare all files with one another; print pairs and clusters, and write the pairs as CSV.

    Raises:
        DataError: fewer than two files, or the CSV cannot be written.
    """
    from assay.provenance import SIMILAR, all_pairs, default_boilerplate, with_templates
    from assay.reports import number_of

    if len(files) < 2:  # noqa: PLR2004  a pair
        raise DataError(f"--pairs: received {len(files)} source file, expected at least 2")
    boilerplate = with_templates(default_boilerplate(), search.template) if search.template else None
    result = all_pairs(files, least=search.min_similarity or SIMILAR, boilerplate=boilerplate)
    if csv is not None:
        write_text(csv, _csv(result))
    if as_json:
        echo_json(_pairs_data(result))
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


def _csv(result: "PairedFiles") -> str:
    columns = ("first", "second", "similarity", "first_share", "second_share", "longest", "cluster")
    out = io.StringIO()
    rows = writer(out, lineterminator="\n")
    rows.writerow((*columns[:5], "first_lines", "second_lines", *columns[5:]))
    cluster_of = result.cluster_of()
    for pair in result.pairs:
        names = (spreadsheet_cell(visible(result.paths[at])) for at in (pair.first, pair.second))
        numbers = (f"{value:.4f}" for value in (pair.similarity, pair.first_share, pair.second_share))
        lines = (" ".join(map(str, ranges)) for ranges in (pair.first_lines, pair.second_lines))
        rows.writerow((*names, *numbers, *lines, pair.longest, cluster_of.get(pair.first, "")))
    return out.getvalue()


def _pairs_data(result: "PairedFiles") -> dict[str, object]:
    return {
        "files": list(result.paths),
        "too_short": list(result.too_short),
        "pairs": [
            asdict(pair)
            | {"first": result.paths[pair.first], "second": result.paths[pair.second]}
            | {
                "first_lines": [str(lines) for lines in pair.first_lines],
                "second_lines": [str(lines) for lines in pair.second_lines],
            }
            for pair in result.pairs
        ],
        "clusters": [[result.paths[file] for file in cluster] for cluster in result.clusters],
    }


def trace_whole_benchmark(
    name: str, which: DataOptions, index: "Searchable", search: SearchOptions, *, clean: Path | None, as_json: bool
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
    show(describe_benchmark(result), chosen_format(as_json=as_json))
    if clean is not None:
        removed, evidence = write_clean(clean, dataset.samples, result)
        kept = number_of(len(dataset.samples) - removed, "sample")
        echo(f"assay: {clean}: {kept}; {removed} removed, see {evidence}", err=True)
