"""The report of a data set: Table 1, and what every rule removed."""

from collections import Counter
from functools import partial
from operator import sub

from assay.languages import LANGUAGES
from assay.reports import Column, Report, Row, Table, number_of
from assay_lab.classifiers.labelled import HUMAN
from assay_lab.columns import at_places, label_column, without
from assay_lab.rewrites.building import DATA_SETS, RewriteSets
from assay_lab.rewrites.collecting import Collected
from assay_lab.rewrites.rules import RemovalRule
from assay_lab.rewrites.writing import SetCounts, counts_of, described_counts

TITLES = {"binary": "Binary: person or generator", "multi": "Multi: texts that every generator rewrote"}


def describe_sets(collected: Collected, sets: RewriteSets, path: str = "") -> Report:
    """Return the report of the data sets of a run.

    Args:
        collected: texts of people.
        sets: both data sets.
        path: of the folder that holds them; "" for none.
    """
    people = len(collected.samples)
    place = f", in {path}" if path else ""
    statement = (
        f"{number_of(people, 'text')} of people and {number_of(len(sets.binary) - people, 'rewriting')} by "
        f"{number_of(len(sets.generators), 'generator')}{place}."
    )
    finer = "; --split source cuts finer" if sets.split == "repository" else ""
    details: list[str] = []
    for name in filter(sets.samples, DATA_SETS):
        empty = [part for part, samples in sets.parts(name).items() if not samples]
        details += [
            f"The part {part} of {name} is empty: a split by {sets.split} needs more of them{finer}." for part in empty
        ]
    labels = set(label_column(sets.binary))
    silent = without(sets.generators, labels)
    if silent:
        details.append(f"No rewriting of {', '.join(silent)} stayed, so Multi is empty.")
    tables = [table_of_counts(name, TITLES[name], counts_of(sets, name)) for name in DATA_SETS]
    tables.append(_removals(collected, sets))
    if collected.skipped:
        tables.append(_skipped(collected))
    return Report(
        title="Code of people and its rewritings",
        statement=statement,
        details=tuple(details),
        tables=tuple(tables),
        notes=(
            "At or above the 75th percentile of similarity a rewriting is removed, for each language and generator.",
            "A token is a word, a number or a single other visible character.",
        ),
        data=described_counts(collected, sets),
        kind="data set of authorship",
    )


def table_of_counts(name: str, title: str, counts: SetCounts) -> Table:
    """Return the numbers of a data set in the form of the paper's Table 1."""
    rows = [
        Row((LANGUAGES[language].title, *numbers, sum(numbers))) for language, numbers in counts.by_language.items()
    ]
    rows.append(Row(("Total", *counts.total, sum(counts.total)), kind="primary"))
    columns = (Column("language"), *map(partial(Column, kind="count"), counts.authors), Column("total", "count"))
    return Table(name=name, title=title, columns=columns, rows=tuple(rows))


def _removals(collected: Collected, sets: RewriteSets) -> Table:
    """Return the number of texts that came in, that every rule removed, and that stayed."""
    removed = [collected.removed, *map(sets.removed, sets.generators)]
    came = [collected.read, *map(sets.replies, sets.generators)]
    rows = [Row(("texts and replies", *came))]
    for rule in RemovalRule:
        counts = [of_author[rule] for of_author in removed]
        if any(counts):
            rows.append(Row((rule.value, *counts)))
    stayed = map(sub, came, map(Counter.total, removed))
    rows.append(Row(("stayed", *stayed), kind="primary"))
    authors = (HUMAN, *sets.generators)
    rows.append(Row(("anonymised", *at_places(sets.anonymised, authors))))
    return Table(
        name="removed",
        title="What every rule removed, in the order of the rules",
        columns=(Column("rule"), *map(partial(Column, kind="count"), authors)),
        rows=tuple(rows),
        caption=("A text counts under the first rule that removes it.",),
    )


def _skipped(collected: Collected) -> Table:
    return Table(
        name="skipped",
        title="Files and repositories that were not read",
        columns=(Column("reason"), Column("number", "count")),
        rows=tuple(Row((reason, number)) for reason, number in collected.skipped.most_common()),
    )
