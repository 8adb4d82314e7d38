"""Tables on verdicts about whole benchmarks: the reliability grid, and the scores of data sets."""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from assay.evaluation import Estimate
from assay.reports import Axes, Series, cell_text, decimal, percent
from assay_lab.pages.charts import standalone_chart
from assay_lab.pages.table_cells import File, table

OWN = "assay"
WAYS = ("constant rate", "LoRA", "renamed")
"""Plants of three epochs."""
BEFORE = "not trained further"
METHODS = {
    OWN: "`assay audit`",
    "permutation test alone": "permutation test, no conditions",
    "flagged share alone": "flagged share, no conditions",
    "LLM Dataset Inference": "LLM Dataset Inference, p < .1",
    "CoDeC": "CoDeC, best threshold (fewer draws)",
    "mean of lrr": "mean LRR, best threshold",
    "mean of min_k": "mean Min-K %, best threshold",
    "mean of min_k_plus_plus": "mean Min-K %++, best threshold",
    "mean of loss": "mean log-likelihood, best threshold",
    "mean of zlib": "mean zlib, best threshold",
}
"""Method → its row; the other means are in the file alone."""
TUNED = {
    "Fine-tuned score deviation": "score deviation (`fsd`)",
    "Kernel divergence score": "kernel divergence (`kds`)",
    "Kernel divergence score, gate open": "kernel divergence where the gate is open",
    "Sharded rank comparison test": "sharded rank comparison (`srct`)",
}
OF_KINDS = {
    "mid_pit": "Mid-PIT",
    "min_k_plus_plus": "Min-K %++",
    "min_k": "Min-K %",
    "perplexity": "perplexity",
    "loss": "log-likelihood",
    "zlib": "zlib",
}
NOTE = re.compile(r"Median error of λ over all cells ([\d.]+); (\d+)% of the 90 % intervals")
DRAWN = re.compile(r"^([\d,]+) benchmarks drawn")

Value = Mapping[str, Any] | float | None
Rows = Mapping[str, Sequence[Value]]


def rows_of(file: File, name: str) -> Rows:
    """Return row → values of a table of a finding."""
    found = next(entry for entry in file["tables"] if entry["name"] == name)
    return {row["name"]: row["values"] for row in found["rows"]}


def shown(value: Value, *, share: bool = True) -> str:
    """Return a value with its interval, a share in per cent; "–" where there is none."""
    if value is None:
        return "–"
    if not isinstance(value, Mapping):
        return percent(value) if share else decimal(round(value, 3))
    number, low, high = (math.nan if value[key] is None else float(value[key]) for key in ("value", "low", "high"))
    measured = Estimate(number, low, high)
    if not share and not measured.has_interval:
        return decimal(round(measured.value, 3))
    return cell_text(measured, "share" if share else "number", basis=False)


def number_in(value: Value) -> float:
    """Return a value without its interval."""
    return float(value["value"]) if isinstance(value, Mapping) else math.nan if value is None else float(value)


def noted(file: File, pattern: re.Pattern[str]) -> tuple[str, ...]:
    """Return the numbers that the first fitting note of a finding has."""
    return next(found.groups() for note in file["notes"] if (found := pattern.search(note)))


def span(values: Iterable[float]) -> str:
    """Return smallest and largest share, or the one that all are."""
    ordered = sorted(values)
    if not ordered:
        return "not measured"
    low, high = percent(ordered[0]), percent(ordered[-1])
    return low if low == high else f"{low.removesuffix('%').rstrip()} to {high}"


def verdict_goals(file: File) -> str:
    """Return the goals of the grid, and what was reached."""
    error, covered = noted(file, NOTE)
    rows = [
        ["wrong in at most 5 %", shown(rows_of(file, "all")[OWN][1])],
        ["false alarms in at most 5 % (the level of the test)", shown(rows_of(file, "clean")[OWN][1])],
        [
            "right in 80 % where a fifth or more of at least 164 texts was trained on (λ ≥ .2, n ≥ 164)",
            shown(rows_of(file, "measurable")[OWN][0]),
        ],
        ["median error of the estimated share at most 10 percentage points", f"{100 * float(error):.1f}"],
        ["85 % of the 90 % intervals contain the true share", f"{covered} %"],
    ]
    return table(["goal", "reached"], rows)


def verdict_methods(file: File) -> str:
    """Return right, wrong and open verdicts of each method, and its false alarms by kind of benchmark."""
    parts = [rows_of(file, name) for name in ("clean", "shifted", "familiar")]
    measurable = rows_of(file, "measurable")
    rows = []
    for name, title in METHODS.items():
        every = rows_of(file, "all")[name]
        alarms = [shown(part[name][1] if name in part else None) for part in parts]
        rows.append([title, *map(shown, every), *alarms, shown(measurable[name][0])])
    head = ["method", "right", "wrong", "cannot tell", "false alarms", "false alarms, shifted texts"]
    return table([*head, "false alarms, familiar projects", "right at λ ≥ .2, n ≥ 164"], rows)


def verdict_tuned(file: File) -> str:
    """Return right and wrong verdicts, and false alarms, of the methods that fine-tune the model."""
    every, clean = rows_of(file, "all"), rows_of(file, "clean")
    rows = [
        [title, shown(every[name][0]), shown(every[name][1]), shown(clean[name][1])] for name, title in TUNED.items()
    ]
    return table(["method, best threshold", "right", "wrong", "false alarms"], rows)


def verdict_allowances(file: File) -> str:
    """Return what the allowance costs and gives, on both halves of the seeds."""
    rows = [[name, *map(shown, values)] for name, values in rows_of(file, "allowances").items()]
    half = len(file["seeds"]) // 2
    seeds = [f"seeds {part[0]}–{part[-1]}" for part in (file["seeds"][:half], file["seeds"][half:])]
    return table(["allowance", *(f"{name}: {what}" for name in seeds for what in ("familiar", "detected"))], rows)


def verdict_same_projects(file: File) -> str:
    """Return how many benchmarks of 50 texts are called contaminated, by the projects of the unseen text."""
    cells = rows_of(file, "cells")
    kinds = {"of other projects": "planted", "of the same projects": "unseen text of the same projects"}
    rows = []
    for share in (0.1, 0.2, 0.0):
        for title, kind in kinds.items():
            place = 0 if share else 1  # at λ = 0 a wrong verdict is a false alarm
            values = [shown(cells[f"{way}, {kind}, n 50, λ {share:g}"][place]) for way in WAYS]
            rows.append([title, f"{share:g}" if share else "0: false alarms", *values])
    return table(["unseen text", "λ", *WAYS], rows)


def verdict_familiar_share(file: File) -> str:
    """Return the median of the estimated share in benchmarks of familiar projects."""
    shares = rows_of(file, "share")
    kind = "same project, not trained on"
    rows = [[str(n), *(shown(shares[f"{way}, {kind}, n {n}, λ 0"][0]) for way in WAYS)] for n in (50, 164)]
    return table(["n", *WAYS], rows)


def verdict_sizes(file: File) -> str:
    """Return the share of right verdicts by size and λ, each a range over the ways of training."""
    cells = rows_of(file, "cells")

    def right(n: int, share: float) -> str:
        ways = (*WAYS, BEFORE) if not share else WAYS
        names = [f"{way}, planted, n {n}, λ {share:g}" for way in ways]
        return span(number_in(cells[name][0]) for name in names if name in cells)

    rows = [[str(n), *(right(n, share) for share in (0.0, 0.1, 0.2, 0.5, 1.0))] for n in (50, 164, 500)]
    heads = ["texts in the benchmark", "nothing trained on: “no evidence”", "10 % trained on: “contaminated”"]
    return table([*heads, "20 % trained on", "50 %", "100 %"], rows)


def power_chart(name: str, file: File) -> str:
    """Return the share of right verdicts over λ, a line for each size; its ends are those over the ways of training."""
    cells = rows_of(file, "cells")
    lines = []
    for n in (50, 164, 500):
        points = {}
        for share in (0.0, 0.05, 0.1, 0.2, 0.5, 1.0):
            names = [f"{way}, planted, n {n}, λ {share:g}" for way in WAYS]
            found = [number_in(cells[row][0]) for row in names if row in cells]
            if found:
                points[share] = Estimate(sum(found) / len(found), min(found), max(found))
        lines.append(Series(f"{n} texts", points))
    axes = Axes("share that was trained on", "right verdicts", percent=True)
    return standalone_chart(name, "Right verdicts, by share that was trained on", lines, axes)


def verdict_languages(*files: File) -> str:
    """Return the goals in JavaScript and Java."""

    def row(title: str, name: str, place: int) -> list[str]:
        return [title, *(shown(rows_of(file, name)[OWN][place]) for file in files)]

    notes = [noted(file, NOTE) for file in files]
    rows = [
        ["benchmarks", *(f"{int(noted(file, DRAWN)[0].replace(',', '')):,}" for file in files)],
        row("wrong in at most 5 %", "all", 1),
        row("false alarms in at most 5 %", "clean", 1),
        row("false alarms, shifted texts", "shifted", 1),
        row("false alarms, familiar projects", "familiar", 1),
        row("right in 80 % where λ ≥ .2 and n ≥ 164", "measurable", 0),
        [
            "median error of the share at most 10 percentage points",
            *(f"{100 * float(error):.1f}" for error, _ in notes),
        ],
        ["85 % of the 90 % intervals contain the true share", *(f"{covered} %" for _, covered in notes)],
        row("cannot tell (no goal)", "all", 2),
    ]
    return table(["goal", "JavaScript", "Java"], rows)


def verdict_redecided(file: File) -> str:
    """Return the goals by the rule as it is now, and when it was chosen."""
    return table(["measure", "now", "then"], [[name, *map(shown, row)] for name, row in rows_of(file, "goals").items()])


def score_kinds(file: File) -> str:
    """Return the agreement of the halves of sets of different kinds, the largest first."""
    values = {name: number_in(row[0]) for name, row in rows_of(file, "kinds").items()}

    def title(name: str) -> str:
        method, _, score = name.partition(":")
        known = OF_KINDS.get(score, score)
        return {"mean": f"mean {known}", "fsd": f"{known} + FSD", "codec": "CoDeC"}.get(method, f"`{name}`")

    ordered = sorted(values.items(), key=lambda pair: -pair[1])
    rows = [[title(name), shown(value, share=False)] for name, value in ordered]
    return table(["score", "agreement of the halves"], rows)


def kds_correlations(own: File, others: File) -> str:
    """Return the Spearman correlation of scores with λ in both plants, on texts without a plant, and in the paper."""
    first, second = rows_of(own, "correlation"), rows_of(others, "correlation")
    paper = 8
    rows = [
        [
            name.replace(" (not in the paper)", ""),
            *(shown(v, share=False) for v in (row[0], row[2], second[name][0], row[paper])),
        ]
        for name, row in first.items()
        if "sign of its equation" not in name
    ]
    head = ["score", "converged plant", "constant-rate plant", "arXivTection, nothing trained on"]
    return table([*head, "the paper, arXivTection"], rows)


def kds_options(ablations: File, bandwidths: File) -> str:
    """Return the Spearman correlation of the kernel divergence with other options."""
    rows = []
    for prefix, file in (("", ablations), ("bandwidth ", bandwidths)):
        for name, row in rows_of(file, "correlation").items():
            if prefix and name == "Kernel Divergence Score":
                continue
            title = f"{prefix}{name}" if name.replace(".", "").isdigit() else name
            rows.append([title, *(shown(row[place], share=False) for place in (0, 2, 4))])
    return table(["variant", "converged plant", "constant-rate plant", "the paper, WikiMIA"], rows)
