"""Tables I, II, III, V and VI: models, membership of repositories, average NLL and 5-gram accuracy."""

import math
from collections.abc import Collection, Mapping, Sequence

from assay.evaluation import Estimate
from assay.models import open_local
from assay.scan import read_evidence
from assay.types import Sample
from assay_lab.bugs import BugSet, read_repositories, repository_membership
from assay_lab.bugs.pairs import fixed_sides
from assay_lab.columns import attributes, having, keyed, without
from assay_lab.experiments.bench import Bench, label_of
from assay_lab.experiments.finding import Finding, Value, ValueRow, ValueTable
from assay_lab.experiments.reproduction import Reproduction
from assay_lab.mappings import enumerated
from assay_lab.papers.bugs.averages import (
    BENCHMARKS,
    EVIDENCE,
    LISTS,
    NEEDED,
    OF_AVERAGES,
    PAPER,
    TAKEN,
    Averages,
    averages,
    lists_of,
    main_texts,
    models_of,
    sets_of,
)
from assay_lab.papers.printed import paper_headings, paper_rows, printed_values, value_table

BILLION = 1e9


def benchmark_table(bench: Bench) -> Finding:
    """Year, bugs, lines and stars of the benchmarks, beside those at hand."""
    sets, notes = sets_of(bench)
    by_name = keyed(sets, "name")
    printed = PAPER.tables["table-1"]
    rows = []
    for column in printed.values:
        ours: tuple[Value, ...] = (None, None, None)
        if column in by_name:
            texts = main_texts(by_name[column])
            lines = sum(len(sample.text.splitlines()) for sample in texts)
            languages = enumerated(dict.fromkeys(filter(None, attributes(texts, "language"))), "{0}")
            ours = (float(len(texts)), lines / 1000, languages)
        theirs = [None if value is None or math.isnan(value) else value for value in printed_values(printed, column)]
        rows.append(ValueRow(column, (*ours, *theirs)))
    columns = ("texts", "thousand lines", "languages", *paper_headings(printed.columns))
    return Finding(
        name="bugs/table-1",
        title=f"Benchmarks ({PAPER.title}, {printed.source})",
        tables=(value_table("benchmarks", "Size of the benchmarks", head="benchmark", columns=columns, rows=rows),),
        notes=("Ours: lines of the texts that are scored; the paper's are of whole projects.", *notes),
        seeds=(),
    )


def model_table(bench: Bench) -> Finding:
    """Parameters and training tokens of the models, the paper's beside those at hand."""
    rows = paper_rows(PAPER.tables["table-2"])
    for model in models_of(bench):
        count = open_local(model).checkpoint.model.num_parameters()
        rows.append(ValueRow(label_of(model), (count / BILLION, None)))
    columns = ("parameters (billions)", "training tokens (trillions)")
    return Finding(
        name="bugs/table-2",
        title=f"Models of {PAPER.title}",
        tables=(value_table("models", "Size of the models", head="model", columns=columns, rows=rows),),
        notes=(
            "The paper's models are not at hand; the other experiments run the models without (paper).",
            "The parameters are counted in the weights. A file of weights does not say how many tokens it saw.",
        ),
        seeds=(),
    )


def stack_table(bench: Bench) -> Finding:
    """Share of the repositories of each benchmark in three versions of The Stack."""
    sets, notes = sets_of(bench)
    printed = PAPER.tables["table-3"]
    lists = {name.removeprefix(LISTS[:-1]): read_repositories(bench.data[name]) for name in lists_of(bench)}
    bugs = {each.name: fixed_sides(each.pairs) for each in sets if isinstance(each, BugSet)}
    versions = list(map(str, printed.columns))
    rows, counts = [], []
    for column in printed.values:
        samples = bugs.get(column, ())
        ours = [listed_share(samples, lists[version]) if version in lists else None for version in versions]
        rows.append(ValueRow(column, (*ours, *printed_values(printed, column))))
        named = repository_membership(samples, ())
        counts.append(ValueRow(column, (len(named.absent), named.unknown) if samples else (None, None)))
    share_table = value_table(
        "repositories",
        "Share of the repositories in the list of The Stack",
        head="benchmark",
        columns=versions + paper_headings(versions),
        rows=rows,
        unit="percent",
    )
    count_table = value_table(
        "named",
        "Repositories that the benchmark names",
        head="benchmark",
        columns=("repositories", "bugs without a repository"),
        rows=counts,
    )
    tables = [share_table, count_table]
    if EVIDENCE in bench.data:
        tables.append(scanned_table(bench))
    missing = without(versions, lists)
    first_notes = ["The paper asked a service about each repository. The lists of The Stack do not ship with assay."]
    if missing:
        how = f"--data {LISTS[:-1]}{missing[0]}=FILE, one owner/name a line"
        first_notes.insert(0, f"No list of {', '.join(missing)} was given ({how}).")
    return Finding(
        name="bugs/table-3",
        title=f"Repositories of bug benchmarks in The Stack ({PAPER.title}, Table III)",
        tables=tuple(tables),
        notes=(*first_notes, *notes),
        seeds=(),
    )


def scanned_table(bench: Bench) -> ValueTable:
    """Return the share of the bugs that `assay scan` found in a corpus, by benchmark; of those long enough to tell."""
    tasks = read_evidence(bench.data[EVIDENCE]).tasks
    rows = []
    for column, name in BENCHMARKS.items():
        statuses = attributes(having(tasks, benchmark=name), "status")
        decided = without(statuses, ("too short to tell",))
        # a bug that is too short to tell counts neither as found nor as absent
        share = decided.count("found") / len(decided) if decided else None
        rows.append(ValueRow(column, (share, float(len(decided)), float(len(statuses) - len(decided)))))
    return value_table(
        "scanned",
        "Bugs found in a corpus by assay scan",
        head="benchmark",
        columns=("share", "bugs", "too short to tell"),
        rows=rows,
    )


def listed_share(samples: Sequence[Sample], listed: Collection[str]) -> float | None:
    """Return the share of the repositories of texts that a list has; None where they name none."""
    membership = repository_membership(samples, listed)
    return membership.share if membership.listed + membership.absent else None


def nll_table(bench: Bench) -> Finding:
    """Average NLL of models on bug benchmarks."""
    return averages_finding(bench, "table-5", measure="NLL", title="Average NLL in nats a token")


def accuracy_table(bench: Bench) -> Finding:
    """Average 5-gram accuracy of models on bug benchmarks."""
    return averages_finding(bench, "table-6", measure="5-gram accuracy", title="Average 5-gram accuracy")


def averages_finding(bench: Bench, table: str, measure: str, title: str) -> Finding:
    """Return the averages of one measure, ours above the paper's, and the near-duplicates that were left out."""
    ours, notes = averages(bench)
    printed = PAPER.tables[table]
    rows = [ValueRow(model, values_by_column(of_model, measure)) for model, of_model in ours.items()]
    rows += paper_rows(printed)
    columns = map(str, printed.columns)
    return Finding(
        name=f"bugs/{table}",
        title=f"{title} ({PAPER.title})",
        tables=(value_table("averages", title, head="model", columns=columns, rows=rows), duplicate_table(ours)),
        notes=(*notes, "A text longer than the context is scored in windows 512 tokens apart, or half the context."),
        seeds=(),
    )


def values_by_column(of_model: Averages, measure: str) -> tuple[Estimate | None, ...]:
    """Return one value for each column of the paper; None where no data were given."""
    columns = map(str, PAPER.tables["table-5"].columns)
    return tuple(of_model[column].averages[measure] if column in of_model else None for column in columns)


def duplicate_table(ours: Mapping[str, Averages]) -> ValueTable:
    """Return the texts of each set and the share that repeats an earlier one; the same for all models."""
    rows = []
    for column, side in next(iter(ours.values())).items():
        repeated = side.texts - side.distinct
        rows.append(ValueRow(column, (side.texts, repeated, repeated / side.texts)))
    columns = ("texts", "near-duplicates left out", "share")
    return value_table("near-duplicates", "Near-duplicates of earlier texts", head="set", columns=columns, rows=rows)


EXPERIMENTS = (
    Reproduction(
        "bugs",
        "table-1",
        benchmark_table,
        needs=NEEDED,
        takes=TAKEN,
        models=0,
        models_with_data=0,
        seeds=1,
        keys=("texts", "controls"),
    ),
    Reproduction("bugs", "table-2", model_table, seeds=1, keys=()),
    Reproduction(
        "bugs",
        "table-3",
        stack_table,
        needs=NEEDED,
        takes=(*NEEDED, LISTS, EVIDENCE),
        models=0,
        models_with_data=0,
        seeds=1,
        keys=("texts",),
    ),
    Reproduction("bugs", "table-5", nll_table, needs=NEEDED, takes=TAKEN, seeds=1, keys=OF_AVERAGES),
    Reproduction("bugs", "table-6", accuracy_table, needs=NEEDED, takes=TAKEN, seeds=1, keys=OF_AVERAGES),
)
