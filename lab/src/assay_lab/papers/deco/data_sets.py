"""Table 1: the number of samples of DECo, beside those of a data set that is built here."""

from dataclasses import replace

from assay.errors import DataError
from assay.languages import LANGUAGES
from assay.licences import LicenceRules
from assay.models import StatisticsCache, cached_generator, open_model
from assay.scoring import generator_digest
from assay_lab.experiments.bench import Bench, label_of
from assay_lab.experiments.finding import Finding, ValueRow, ValueTable
from assay_lab.experiments.papers import paper
from assay_lab.experiments.reproduction import Reproduction
from assay_lab.papers.deco.collections import sizes_at
from assay_lab.papers.printed import paper_headings, printed_values, value_table
from assay_lab.rewrites import (
    AssemblyRequest,
    CollectionRequest,
    RewritingRequest,
    SetCounts,
    assemble,
    counts_of,
    read_counts,
    rewritten_by,
    select,
)
from assay_lab.testbed import never_seen_functions

PAPER = paper("deco")
DATA = "deco"
"""Name under which `--data` gives the folder of a data set."""

STORE = "rewrites.sqlite"
TITLES = {"binary": "Binary: number of samples", "multi": "Multi: texts that every generator rewrote"}


def deco_table_1(bench: Bench) -> Finding:
    """Number of samples by language and author, in Binary and Multi.

    `--data deco=FOLDER` takes one of `assay lab build-authorship`. Without it a small one is built: the models of
    the scale rewrite functions of this Python's standard library.
    """
    if DATA in bench.data:
        counts = read_counts(bench.data[DATA])
        notes = ["Ours: a data set of `assay lab build-authorship`; its manifest counts what every rule removed."]
    elif bench.scale == "paper":
        raise DataError(
            "deco/table-1 at the scale paper needs --data deco=FOLDER, a folder of `assay lab build-authorship`"
        )
    else:
        counts, notes = built_here(bench)
    return Finding(
        name="deco/table-1",
        title=f"Samples by language and author ({PAPER.title}, Table 1)",
        tables=tuple(counts_beside_paper(name, counts[name]) for name in TITLES),
        notes=(*notes, "The paper does not say how many texts each rule removed."),
        seeds=bench.seeds,
    )


def built_here(bench: Bench) -> tuple[dict[str, SetCounts], list[str]]:
    """Return the numbers of a small data set, and sentences on what it was made of."""
    limits = CollectionRequest(per_language=sizes_at(bench).functions, licences=LicenceRules(), seed=bench.seeds[0])
    functions = (
        replace(sample, metadata={"licence": "PSF-2.0", "path": sample.id, "source": sample.id})
        for sample in never_seen_functions().samples
    )
    collected = select(functions, limits)
    replies = {}
    with StatisticsCache(bench.out / STORE) as store:
        for configuration in bench.configurations:
            model = open_model(configuration.model)
            generator = cached_generator(model, store, digest=generator_digest(model))
            bench.watchers.begin(f"{configuration.model} rewrites {len(collected.samples)} functions")
            request = RewritingRequest(seed=bench.seeds[0])
            replies[configuration.name] = rewritten_by(generator, collected.samples, request)
    sets = assemble(collected, replies, AssemblyRequest(seed=bench.seeds[0]))
    notes = [
        "Ours: functions of this Python's standard library. They are not certainly older than generators: no data set."
    ]
    for configuration in bench.configurations:
        removed = ", ".join(f"{rule.value} {count}" for rule, count in sets.removed(configuration.name).items())
        total = sets.replies(configuration.name)
        label = f"{configuration.name} ({label_of(configuration.model)})"
        notes.append(f"{label}: {total} replies; removed: {removed or 'none'}.")
    return {"binary": counts_of(sets, "binary"), "multi": counts_of(sets, "multi")}, notes


def counts_beside_paper(name: str, counts: SetCounts) -> ValueTable:
    """Return our numbers of a data set, then the paper's."""
    printed = PAPER.tables["table-1"]
    ours = {LANGUAGES[language].title: numbers for language, numbers in counts.by_language.items()}
    titles = dict.fromkeys([*ours, *printed.rows(name)])
    # it stands last
    titles.pop("Total", None)
    ours["Total"] = counts.total
    rows = []
    for title in [*titles, "Total"]:
        own: tuple[float | None, ...] = (None,) * (len(counts.authors) + 1)
        if title in ours:
            own = (*map(float, ours[title]), float(sum(ours[title])))
        rows.append(ValueRow(title, (*own, *printed_values(printed, name, title))))
    heads = (*counts.authors, "total", *paper_headings(printed.columns))
    return value_table(name, TITLES[name], head="language", columns=heads, rows=rows, unit="count")


EXPERIMENTS = (
    Reproduction("deco", "table-1", deco_table_1, takes=(DATA,), models_with_data=0, seeds=1, keys=("functions",)),
)
