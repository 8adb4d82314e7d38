"""The report of a data set: Table 1, and what every rule removed."""

from assay.languages import LANGUAGES
from assay.reports import Column, Report, Row, Table, number_of
from assay_lab.classifiers.labelled import HUMAN
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
    details = [
        f"The part {part} of {name} is empty: a split by {sets.split} needs more of them{finer}."
        for name in DATA_SETS
        for part, samples in sets.parts(name).items()
        if sets.samples(name) and not samples
    ]
    silent = [name for name in sets.generators if not any(sample.label == name for sample in sets.binary)]
    if silent:
        details.append(f"No rewriting of {', '.join(silent)} stayed, so Multi is empty.")
    return Report(
        title="Code of people and its rewritings",
        statement=statement,
        details=tuple(details),
        tables=(
            *(table_of_counts(name, TITLES[name], counts_of(sets, name)) for name in DATA_SETS),
            _removals(collected, sets),
            *([_skipped(collected)] if collected.skipped else []),
        ),
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
    columns = (Column("language"), *(Column(author, "count") for author in counts.authors), Column("total", "count"))
    return Table(name=name, title=title, columns=columns, rows=tuple(rows))


def _removals(collected: Collected, sets: RewriteSets) -> Table:
    """Return the number of texts that came in, that every rule removed, and that stayed."""
    removed = [collected.removed, *(sets.removed(name) for name in sets.generators)]
    came = [collected.read, *(sets.replies(name) for name in sets.generators)]
    rows = [Row(("texts and replies", *came))]
    rows += [
        Row((rule.value, *(counts[rule] for counts in removed)))
        for rule in RemovalRule
        if any(counts[rule] for counts in removed)
    ]
    rows.append(
        Row(
            ("stayed", *(n - counts.total() for n, counts in zip(came, removed, strict=True))),
            kind="primary",
        )
    )
    authors = (HUMAN, *sets.generators)
    rows.append(Row(("anonymised", *(sets.anonymised[author] for author in authors))))
    return Table(
        name="removed",
        title="What every rule removed, in the order of the rules",
        columns=(Column("rule"), *(Column(author, "count") for author in authors)),
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
