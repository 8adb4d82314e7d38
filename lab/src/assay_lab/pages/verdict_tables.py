"""Tables on verdicts about whole benchmarks: the reliability grid, and the scores of data sets."""

import itertools
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from operator import itemgetter
from typing import Any

from assay.evaluation import Estimate
from assay.reports import Axes, Series, cell_text, decimal, percent
from assay_lab.pages.charts import standalone_chart
from assay_lab.pages.table_cells import File, pivot, table
from assay_lab.result_rows import where

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
    (matching,) = where(file["tables"], name=name)
    return {row["name"]: row["values"] for row in matching["rows"]}


def named_rows(file: File, name: str) -> list[list[str]]:
    """Return the rows of a table of a finding, as they are printed."""
    return [[row, *map(shown, values)] for row, values in rows_of(file, name).items()]


def shown(value: Value, *, share: bool = True) -> str:
    """Return a value with its interval, a share in per cent; "–" where there is none."""
    if value is None:
        return "–"
    if not isinstance(value, Mapping):
        return percent(value) if share else decimal(round(value, 3))
    low, high = _real(value["low"]), _real(value["high"])
    measured = Estimate(number_in(value), low, high)
    if share:
        return cell_text(measured, "share", basis=False)
    return cell_text(measured, "number", basis=False) if measured.has_interval else decimal(round(measured.value, 3))


_plain = partial(shown, share=False)


def _real(value: float | None) -> float:
    return math.nan if value is None else float(value)


def number_in(value: Value) -> float:
    """Return a value without its interval."""
    return _real(value["value"]) if isinstance(value, Mapping) else _real(value)


def noted(file: File, pattern: re.Pattern[str]) -> tuple[str, ...]:
    """Return the numbers that the first fitting note of a finding has."""
    return next(match.groups() for match in map(pattern.search, file["notes"]) if match)


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
    right = "right in 80 % where a fifth or more of at least 164 texts was trained on (λ ≥ .2, n ≥ 164)"
    rows = [
        ["wrong in at most 5 %", shown(rows_of(file, "all")[OWN][1])],
        ["false alarms in at most 5 % (the level of the test)", shown(rows_of(file, "clean")[OWN][1])],
        [right, shown(rows_of(file, "measurable")[OWN][0])],
        ["median error of the estimated share at most 10 percentage points", f"{100 * float(error):.1f}"],
        ["85 % of the 90 % intervals contain the true share", f"{covered} %"],
    ]
    return table(["goal", "reached"], rows)


def verdict_methods(file: File) -> str:
    """Return right, wrong and open verdicts of each method, and its false alarms by kind of benchmark."""
    parts = list(map(partial(rows_of, file), ("clean", "shifted", "familiar")))
    measurable = rows_of(file, "measurable")
    rows = []
    for name, title in METHODS.items():
        every = rows_of(file, "all")[name]
        alarms = [shown(part.get(name, (None, None))[1]) for part in parts]
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
    rows = named_rows(file, "allowances")
    half = len(file["seeds"]) // 2
    head = ["allowance"]
    for seeds in (file["seeds"][:half], file["seeds"][half:]):
        head += [f"seeds {seeds[0]}–{seeds[-1]}: {kind}" for kind in ("familiar", "detected")]
    return table(head, rows)


def verdict_same_projects(file: File) -> str:
    """Return how many benchmarks of 50 texts are called contaminated, by the projects of the unseen text."""
    cells = rows_of(file, "cells")
    kinds = {"of other projects": "planted", "of the same projects": "unseen text of the same projects"}
    rows = []
    for share in (0.1, 0.2, 0.0):
        for title, kind in kinds.items():
            # at λ = 0 a wrong verdict is a false alarm
            place = 0 if share else 1
            values = [shown(cells[f"{way}, {kind}, n 50, λ {share:g}"][place]) for way in WAYS]
            rows.append([title, f"{share:g}" if share else "0: false alarms", *values])
    return table(["unseen text", "λ", *WAYS], rows)


def verdict_familiar_share(file: File) -> str:
    """Return the median of the estimated share in benchmarks of familiar projects."""
    shares = rows_of(file, "share")
    kind = "same project, not trained on"
    cells = []
    for n, way in itertools.product((50, 164), WAYS):
        cells.append((str(n), way, shown(shares[f"{way}, {kind}, n {n}, λ 0"][0])))
    return pivot("n", cells)


def verdict_sizes(file: File) -> str:
    """Return the share of right verdicts by size and λ, each a range over the ways of training."""
    heads = {
        0.0: "nothing trained on: “no evidence”",
        0.1: "10 % trained on: “contaminated”",
        0.2: "20 % trained on",
        0.5: "50 %",
        1.0: "100 %",
    }
    cells = []
    for n, share in itertools.product((50, 164, 500), heads):
        ways = WAYS if share else (*WAYS, BEFORE)
        cells.append((str(n), heads[share], span(_planted(file, ways, n=n, share=share))))
    return pivot("texts in the benchmark", cells)


def _planted(file: File, ways: Iterable[str], n: int, share: float) -> list[float]:
    """Return the shares of right verdicts on plants of one size and share, of the ways that were measured."""
    cells = rows_of(file, "cells")
    names = [f"{way}, planted, n {n}, λ {share:g}" for way in ways]
    return [number_in(cells[name][0]) for name in names if name in cells]


def power_chart(name: str, file: File) -> str:
    """Return the share of right verdicts over λ, a line for each size; its ends are those over the ways of training."""
    lines = []
    for n in (50, 164, 500):
        points = {}
        for share in (0.0, 0.05, 0.1, 0.2, 0.5, 1.0):
            right = _planted(file, WAYS, n=n, share=share)
            if right:
                points[share] = Estimate(sum(right) / len(right), min(right), max(right))
        lines.append(Series(f"{n} texts", points))
    axes = Axes("share that was trained on", "right verdicts", percent=True)
    return standalone_chart(name, "Right verdicts, by share that was trained on", lines, axes=axes)


def verdict_languages(*files: File) -> str:
    """Return the goals in JavaScript and Java."""
    goals = [
        "benchmarks",
        "wrong in at most 5 %",
        "false alarms in at most 5 %",
        "false alarms, shifted texts",
        "false alarms, familiar projects",
        "right in 80 % where λ ≥ .2 and n ≥ 164",
        "median error of the share at most 10 percentage points",
        "85 % of the 90 % intervals contain the true share",
        "cannot tell (no goal)",
    ]
    columns = zip(goals, *map(_language_cells, files), strict=True)
    return table(["goal", "JavaScript", "Java"], columns)


def _language_cells(file: File) -> list[str]:
    """Return what one language reached, in the order of the goals."""
    error, covered = noted(file, NOTE)
    _, wrong, undecided = map(shown, rows_of(file, "all")[OWN])
    return [
        f"{int(noted(file, DRAWN)[0].replace(',', '')):,}",
        wrong,
        *(shown(rows_of(file, name)[OWN][1]) for name in ("clean", "shifted", "familiar")),
        shown(rows_of(file, "measurable")[OWN][0]),
        f"{100 * float(error):.1f}",
        f"{covered} %",
        undecided,
    ]


def verdict_redecided(file: File) -> str:
    """Return the goals by the rule as it is now, and when it was chosen."""
    return table(["measure", "now", "then"], named_rows(file, "goals"))


def early_verdicts(file: File) -> str:
    """Return what verdicts cost that end where they are clear, and how they agree with the whole run."""

    def with_interval(values: Sequence[float]) -> str:
        return "{:.1%} [{:.1%}, {:.1%}]".format(*values)

    rows = []
    for row in file["results"]:
        shares = map(with_interval, itemgetter("agreement", "accused", "accused as a whole")(row))
        rows.append([f"{row['share']:.0%}", f"{row['benchmarks']:,}", f"{row['median passes']:.0%}", *shares])
    return table(
        ["planted", "benchmarks", "median of the passes", "same verdict", "accused", "accused as a whole"], rows
    )


def score_kinds(file: File) -> str:
    """Return the agreement of the halves of sets of different kinds, the largest first."""
    values = [(number_in(row[0]), name) for name, row in rows_of(file, "kinds").items()]

    def title(name: str) -> str:
        method, _, score = name.partition(":")
        known = OF_KINDS.get(score, score)
        return {"mean": f"mean {known}", "fsd": f"{known} + FSD", "codec": "CoDeC"}.get(method, f"`{name}`")

    values.sort(key=itemgetter(0), reverse=True)
    rows = [[title(name), shown(value, share=False)] for value, name in values]
    return table(["score", "agreement of the halves"], rows)


def kds_correlations(own: File, others: File) -> str:
    """Return the Spearman correlation of scores with λ in both plants, on texts without a plant, and in the paper."""
    first, second = rows_of(own, "correlation"), rows_of(others, "correlation")
    paper = 8
    rows = []
    for name, row in first.items():
        if "sign of its equation" not in name:
            values = map(_plain, (row[0], row[2], second[name][0], row[paper]))
            rows.append([name.replace(" (not in the paper)", ""), *values])
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
            rows.append([title, *map(_plain, (row[0], row[2], row[4]))])
    return table(["variant", "converged plant", "constant-rate plant", "the paper, WikiMIA"], rows)
