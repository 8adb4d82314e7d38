"""Modes of `assay trace` besides the sources of code: a benchmark, passages word for word."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

from assay.cli.terminal import Terminal, echo
from assay.datasets import DataSelection
from assay.provenance.settings import MatchSettings

if TYPE_CHECKING:  # these import numpy and more; --help does not wait for them
    from assay.corpora import SourceText
    from assay.provenance import Passage, Searchable

SOLUTION = "solution"
"""The part of a benchmark that is code; it is traced unless --part names another."""

LONGEST_LINE = 60
"""Characters of a passage that a terminal shows in its line; a pipe gets the whole passage."""


def print_passages(files: "Sequence[SourceText]", index: "Searchable", top: int) -> None:
    """Print the longest passages of each file that occur word for word in the corpus, one line each."""
    from assay.cli.present import chosen_format, show
    from assay.provenance import verbatim_passages
    from assay.provenance.findings import describe_passages, place_text

    passages: list[tuple[SourceText, Passage]] = []
    for file in files:
        passages += product([file], verbatim_passages(file.text, index, language=file.language, top=top))
    form = chosen_format()
    if form != "table":
        show(describe_passages(passages), form)
        return
    cut = Terminal().is_terminal
    for file, passage in passages:
        place = passage.places[0]
        where = place_text(place)
        if len(passage.places) > 1:
            where += f" and {len(passage.places) - 1} more"
        shown = " ".join(passage.text.split())
        if cut and len(shown) > LONGEST_LINE:
            shown = f"{shown[:LONGEST_LINE]}…"
        echo(
            f"{file.path}:{passage.lines.first}: {passage.words} words as in {where} ({place.origin.licence}): {shown}"
        )
    if not passages:
        echo("no passage of the text occurs word for word in the corpus")


def trace_whole_benchmark(
    name: str, which: DataSelection, index: "Searchable", *, settings: MatchSettings, clean: Path | None
) -> None:
    """Look for the samples of a benchmark, print the result, and write the benchmark without those that occur."""
    from assay.cli.present import show
    from assay.datasets import benchmark as benchmark_named
    from assay.datasets import is_benchmark, read_dataset
    from assay.progress import progress_bar
    from assay.reports import number_of
    from assay.scan import trace_benchmark, write_clean

    if which.part is None and is_benchmark(name) and SOLUTION in benchmark_named(name).parts:
        which = replace(which, part=SOLUTION)
    dataset = read_dataset(name, which)
    called = f"{dataset.name} ({which.part})" if which.part else dataset.name
    with progress_bar(f"looking for {called}") as report:
        result = trace_benchmark(
            dataset.samples,
            index,
            benchmark=called,
            method=settings.method,
            sure=settings.min_confidence,
            progress=report,
        )
    show(result.describe())
    if clean is not None:
        removed, evidence = write_clean(clean, dataset.samples, result)
        kept = number_of(len(dataset.samples) - removed, "sample")
        echo(f"assay: {clean}: {kept}; {removed} removed, see {evidence}", err=True)
