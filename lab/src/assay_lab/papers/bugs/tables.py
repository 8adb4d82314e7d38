"""Tables II, III, V and VI: models, membership of repositories, average NLL and 5-gram accuracy."""

from collections.abc import Mapping

from assay.evaluation import Estimate
from assay.models import open_local
from assay_lab.bugs import BugSet, read_repositories, repository_membership
from assay_lab.experiments.bench import Bench
from assay_lab.experiments.finding import Finding, Value, ValueRow, ValueTable
from assay_lab.experiments.reproduction import Reproduction
from assay_lab.papers.bugs.averages import NEEDED, PAPER, Averages, averages, label_of, lists_of, models_of, sets_of

STACK = "the-stack-"
BILLION = 1e9


def model_table(bench: Bench) -> Finding:
    """Parameters and training tokens of the models, the paper's beside those at hand."""
    printed = PAPER.tables["table-2"]
    rows = [
        ValueRow(f"{model} (paper)", tuple(printed.value(model, column=column) for column in printed.columns))
        for model in printed.values
    ]
    for model in models_of(bench):
        count = open_local(model).checkpoint.model.num_parameters()
        rows.append(ValueRow(label_of(model), (count / BILLION, None)))
    columns = ("parameters (billions)", "training tokens (trillions)")
    return Finding(
        name="bugs/table-2",
        title=f"Models of {PAPER.title}",
        tables=(ValueTable("models", "Size of the models", "model", columns, tuple(rows), "number"),),
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
    lists = {name.removeprefix(STACK): read_repositories(bench.data[name]) for name in lists_of(bench)}
    bugs = {each.name: [pair.fixed for pair in each.pairs] for each in sets if isinstance(each, BugSet)}
    rows, counts = [], []
    for column in printed.values:
        samples = bugs.get(column, [])
        ours: list[Value] = []
        for version in printed.columns:
            membership = repository_membership(samples, lists[str(version)]) if str(version) in lists else None
            ours.append(membership.share if membership and membership.listed + membership.absent else None)
        theirs = [printed.value(column, column=version) for version in printed.columns]
        rows.append(ValueRow(column, (*ours, *theirs)))
        named = repository_membership(samples, ())
        counts.append(
            ValueRow(column, (len(named.absent), named.unknown)) if samples else ValueRow(column, (None, None))
        )
    versions = tuple(map(str, printed.columns))
    missing = [version for version in versions if version not in lists]
    return Finding(
        name="bugs/table-3",
        title=f"Repositories of bug benchmarks in The Stack ({PAPER.title}, Table III)",
        tables=(
            ValueTable(
                "repositories",
                "Share of the repositories in the list of The Stack",
                "benchmark",
                (*versions, *(f"{version} (paper)" for version in versions)),
                tuple(rows),
                "percent",
            ),
            ValueTable(
                "named",
                "Repositories that the benchmark names",
                "benchmark",
                ("repositories", "bugs without a repository"),
                tuple(counts),
                "number",
            ),
        ),
        notes=(
            *(
                [f"No list of {', '.join(missing)} was given (--data {STACK}{missing[0]}=FILE, one owner/name a line)."]
                if missing
                else []
            ),
            "The paper asked a service about each repository. The lists of The Stack do not ship with assay.",
            *notes,
        ),
        seeds=(),
    )


def nll_table(bench: Bench) -> Finding:
    """Average NLL of models on bug benchmarks."""
    return averages_finding(bench, "table-5", "NLL", "Average NLL in nats a token")


def accuracy_table(bench: Bench) -> Finding:
    """Average 5-gram accuracy of models on bug benchmarks."""
    return averages_finding(bench, "table-6", "5-gram accuracy", "Average 5-gram accuracy")


def averages_finding(bench: Bench, table: str, measure: str, title: str) -> Finding:
    """Return the averages of one measure, ours above the paper's, and the near-duplicates that were left out."""
    ours, notes = averages(bench)
    printed = PAPER.tables[table]
    rows = [ValueRow(model, values_by_column(of_model, measure)) for model, of_model in ours.items()]
    rows += [
        ValueRow(f"{model} (paper)", tuple(printed.value(model, column=column) for column in printed.columns))
        for model in printed.values
    ]
    columns = tuple(map(str, printed.columns))
    return Finding(
        name=f"bugs/{table}",
        title=f"{title} ({PAPER.title})",
        tables=(ValueTable("averages", title, "model", columns, tuple(rows), "number"), duplicate_table(ours)),
        notes=(*notes, "A text longer than the context is scored in windows 512 tokens apart, or half the context."),
        seeds=(),
    )


def values_by_column(of_model: Averages, measure: str) -> tuple[Estimate | None, ...]:
    """Return one value for each column of the paper; None where no data were given."""
    columns = map(str, PAPER.tables["table-5"].columns)
    return tuple(of_model[column].averages[measure] if column in of_model else None for column in columns)


def duplicate_table(ours: Mapping[str, Averages]) -> ValueTable:
    """Return the texts of each set and the share that repeats an earlier one; the same for all models."""
    of_model = next(iter(ours.values()))
    rows = [
        ValueRow(column, (side.texts, side.texts - side.distinct, (side.texts - side.distinct) / side.texts))
        for column, side in of_model.items()
    ]
    columns = ("texts", "near-duplicates left out", "share")
    return ValueTable("near-duplicates", "Near-duplicates of earlier texts", "set", columns, tuple(rows), "number")


EXPERIMENTS = (
    Reproduction("bugs", "table-2", model_table),
    Reproduction("bugs", "table-3", stack_table, needs=NEEDED),
    Reproduction("bugs", "table-5", nll_table, needs=NEEDED),
    Reproduction("bugs", "table-6", accuracy_table, needs=NEEDED),
)
