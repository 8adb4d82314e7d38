"""The testbed's committed results: every experiment at scale `full`, three seeds. About 90 minutes on a quiet core.

    python -m assay_lab.pages.testbed_results [--out runs/full] [--seeds 0,1,2] [--data humaneval=HumanEval.jsonl.gz]
        [--only srdetection/table-1,assay/honest-null]
    python -m assay_lab.pages.testbed_results --scale lab/lists/weak.toml --out runs/weak --seeds 3,4,5 \
        --only assay/every-cell
    assay lab render      docs/results/testbed.md and its figures, nothing is run

Runs lie in the folder `--out`, shared by all experiments; killed and started again, it continues. The result of each
experiment goes to results/testbed/ as JSON, with the list of planted texts by id and digest. The page is made from
those files.
"""

import argparse
import gzip
import itertools
import json
import math
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from assay.evaluation import Estimate
from assay.files import write_json
from assay.reports import Axes, Series, markdown_table
from assay_lab.cli.run import places_at
from assay_lab.experiments import Bench, Finding, ValueTable, all_experiments, finding_report, write_finding
from assay_lab.experiments.finding import ValueRow
from assay_lab.measuring import DOCS, LAB
from assay_lab.pages.charts import standalone_chart
from assay_lab.pages.table_cells import number
from assay_lab.papers.srdetection.detectors import gray_rows
from assay_lab.testbed import CONFIGURATION, IN_FIGURES, SCORES, manifest_of, read_configuration

RESULTS = LAB / "results" / "testbed"
PAGE = DOCS / "results" / "testbed.md"
KEPT = "full"
JSON_ALONE = ("accuracy-", "precision-", "recall-", "flagged-5-filtered", "flagged-10-filtered")
"""Beginnings of the names of tables that the page leaves to the JSON files."""
PICTURES = DOCS / "images"
DRAWN = {
    "assay/every-cell": "auroc-all",
    "assay/every-cell, weak": "auroc-all",
    "srdetection/table-1": "macro-f1-filtered",
}
"""Heading → the table that a figure shows."""
NAMES, TABLE_1 = "srdetection/names", "srdetection/table-1"
OF_BOTH = {NAMES: "macro-f1", TABLE_1: "macro-f1-all"}
"""Experiment → its table of macro-F1 on all texts."""
RUNS_OF, SOURCE = ("small-synonyms-all-mix-1-seed-0", "small-mix-1-seed-0"), "source_digest"
"""A run behind each of the two, and the entry of its manifest that tells planted texts apart."""
HEAD = """# Results of the testbed

Made by `assay lab render` from the files in `lab/results/testbed/`, which `python -m
assay_lab.pages.testbed_results` writes: it runs each experiment below at scale `full`, or, where the heading says
`weak`, with the configuration `lab/lists/weak.toml`. These results are of one model of 2.6 million parameters and one
recipe each; [which detector to use](../which-detector.md) says what follows from them and what does not. Where the
heading says `smollm2`, [SmolLM2-135M](papers.md) was run on few texts: its numbers show that the command runs.

How to read the tables: detectors are in rows, checkpoints in columns. "(paper)" marks the numbers that a paper prints,
of its own models and data; they are not comparable with ours in size, only in order. Brackets are 95 % intervals unless
a note says otherwise. A dash stands for what was not measured, or what the paper does not print.

One thing on this page is older than the program. The intervals of single seeds, which appear where all seeds agree
exactly, are percentiles of resamples, which are [too narrow with few groups](../evaluation.md#intervals-by-group). The
black-box Tables 2, 9 and 11 are new.

| experiment | measured |
|---|---|
"""


def main() -> None:
    """Run the experiments and write their results."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--out", type=Path, default=Path("runs/full"), help="folder of the runs")
    parser.add_argument("--scale", default=KEPT, help="a scale, or a configuration file")
    parser.add_argument("--seeds", default="0,1,2", help="whole numbers with commas")
    parser.add_argument("--data", action="append", default=[], metavar="NAME=PATH", help="a benchmark to audit as well")
    testbed = ",".join(name for name in all_experiments() if not name.startswith("hst/"))
    parser.add_argument("--only", default=testbed, help="experiments with commas")
    options = parser.parse_args()
    bench = Bench.of_scale(
        options.scale, out=options.out, seeds=tuple(map(int, options.seeds.split(","))), data=places_at(options.data)
    )
    run(bench, options.only.split(","))


def run(bench: Bench, names: list[str]) -> None:
    """Run the experiments and copy their results and the records of their runs."""
    suffix = "" if bench.scale == KEPT else f"-{Path(bench.scale).stem}"
    for name in names:
        write_finding(bench.out / name, all_experiments()[name].run(bench), bench)
        target = RESULTS / f"{name}{suffix}.json"
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(bench.out / name / "finding.json", target)
        print(name, flush=True)
    for planted in sorted((bench.out / "runs").glob("*/plant/members.jsonl")):
        folder, lines = planted.parents[1], planted.read_bytes()
        last = read_configuration(folder / CONFIGURATION).training.checkpoints[-1]
        # of an experiment that is not finished
        if not (folder / SCORES / f"epoch-{last}.parquet").exists():
            continue
        record = RESULTS / "runs" / folder.name
        record.parent.mkdir(exist_ok=True)
        # without the time of day, so that equal texts give equal bytes
        record.with_name(f"{folder.name}-members.jsonl.gz").write_bytes(gzip.compress(lines, mtime=0))
        configuration = json.loads((folder / CONFIGURATION).read_text("utf-8"))
        manifest = dict(manifest_of(folder))
        manifest.pop("command", None)
        write_json(record.with_name(f"{folder.name}.json"), {"configuration": configuration, "manifest": manifest})


def page() -> str:
    """Return the page: a list of the experiments, then one section for each."""
    results = list(stored())
    rows = [f"| [{title}](#{anchor(title)}) | {finding.title} |" for title, finding in results]
    return "\n".join([HEAD + "\n".join(rows), *itertools.starmap(section, results)])


def stored() -> Iterator[tuple[str, Finding]]:
    """Yield heading and result of every committed file, in the order of the experiments."""
    for name in all_experiments():
        # the hyphen keeps table-1 from the files of table-10
        for path in sorted(RESULTS.glob(f"{name}.json")) + sorted(RESULTS.glob(f"{name}-*.json")):
            suffix = path.stem.removeprefix(Path(name).name).removeprefix("-")
            yield (f"{name}, {suffix}" if suffix else name), read_finding(path)


def section(title: str, finding: Finding) -> str:
    """Return the section of one experiment: its tables, then what was measured on what."""
    parts = ["", f"## {title}", f"{finding.title}."]
    if title in DRAWN:
        words = f"{finding.table(DRAWN[title]).title}, by epochs of training"
        parts.append(f"![{words}; the numbers are in the table](../images/{picture_of(title).name})")
    left_out = []
    for table in finding_report(finding).tables:
        if table.name.startswith(JSON_ALONE):
            left_out.append(table.title)
        else:
            parts.append(markdown_table(table))
    notes = [
        *finding.notes,
        *filter(None, [other_runs(title)]),
        f"All digits: `lab/results/testbed/{title.replace(', ', '-')}.json`.",
    ]
    if left_out:
        notes[-1] += f" It also has: {'; '.join(left_out)}."
    return "\n\n".join([*parts, "\n".join(map("- {}".format, notes)), ""])


def other_runs(title: str) -> str:
    """Return how the values of Table 1 and of the sources of names agree; "" of other sections.

    Both have SrDetection with names of the dictionary, of runs on other planted texts.
    """
    if title not in {NAMES, TABLE_1}:
        return ""
    ours, others = (read_finding(RESULTS / f"{name}.json").table(table) for name, table in OF_BOTH.items())
    values = {row.name: dict(zip(ours.columns, row.values, strict=True)) for row in ours.rows}
    differences, inside = [], 0
    for row in others.rows:
        same = values.get(f"{gray_rows().get(row.name, row.name)}, dictionary, all", {})
        for column, second in zip(others.columns, row.values, strict=True):
            first = same.get(column)
            if isinstance(first, Estimate) and isinstance(second, Estimate):
                differences.append(abs(first.value - second.value))
                inside += first.low <= second.value <= first.high
    digests = [json.loads((RESULTS / "runs" / f"{run}.json").read_text("utf-8"))["manifest"][SOURCE] for run in RUNS_OF]
    return (
        f"`{NAMES}` and `{TABLE_1}` are of other runs, on other planted texts (sources {digests[0][:8]} and "
        f"{digests[1][:8]}). Where both have a macro-F1 of all texts they differ by at most "
        f"{number(max(differences))}, and {inside} of {len(differences)} values of Table 1 lie within the intervals of "
        f"`{NAMES}`."
    )


def picture_of(title: str) -> Path:
    """Return the path of the picture of a section."""
    return PICTURES / f"{title.replace('/', '-').replace(', ', '-')}.svg"


def pictures() -> Iterator[tuple[Path, str]]:
    """Yield path and content of every picture of the page."""
    for title, finding in stored():
        if title in DRAWN:
            yield picture_of(title), picture(picture_of(title).stem, finding.table(DRAWN[title]))


def picture(name: str, table: ValueTable) -> str:
    """Return a table as lines over the epochs of training."""
    labels = gray_rows()
    lines = []
    for row in table.rows:
        if labels.get(row.name, row.name) in IN_FIGURES:
            points = {}
            for column, value in zip(table.columns, row.values, strict=True):
                if isinstance(value, Estimate) and "(paper)" not in column:
                    points[float(column.rpartition(" ")[2])] = value
            lines.append(Series(row.name, points))
    axes = Axes("epochs of training", table.title.partition(",")[0], percent=table.unit == "percent")
    return standalone_chart(name, f"{table.title}, by epochs of training", lines, axes=axes)


def anchor(title: str) -> str:
    """Return the address of a heading within the page."""
    return "".join(c for c in title.lower().replace(" ", "-") if c.isalnum() or c == "-")


def read_finding(path: Path) -> Finding:
    """Return the result in a committed file."""
    content = json.loads(path.read_text("utf-8"))
    return Finding(
        name=content["name"],
        title=content["title"],
        tables=tuple(map(read_table, content["tables"])),
        notes=tuple(content["notes"]),
        seeds=tuple(content["seeds"]),
    )


def read_table(table: dict[str, Any]) -> ValueTable:
    """Return one table of a result."""
    return ValueTable(**{**table, "columns": tuple(table["columns"]), "rows": tuple(map(read_row, table["rows"]))})


def read_row(row: dict[str, Any]) -> ValueRow:
    """Return a row; null in an estimate is NaN."""
    values = [read_estimate(value) if isinstance(value, dict) else value for value in row["values"]]
    return ValueRow(row["name"], tuple(values))


def read_estimate(content: dict[str, Any]) -> Estimate:
    """Return an estimate; a number that is null is NaN."""
    numbers = dict.fromkeys(("value", "low", "high", "level"), math.nan)
    for name in numbers:
        if content[name] is not None:
            numbers[name] = content[name]
    return Estimate(**numbers, groups=tuple(content.get("groups", ())), reason=content.get("reason"))


if __name__ == "__main__":
    main()
