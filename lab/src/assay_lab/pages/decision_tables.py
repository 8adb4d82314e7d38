"""Tables on decisions: false alarms, power, coverage of intervals."""

from collections.abc import Iterator, Sequence
from operator import itemgetter
from typing import Any

from assay_lab.pages.table_cells import Cell, File, pivot, pivot_of, table_of
from assay_lab.result_rows import grouped, where

SHARE = "{0:.0%} [{1:.0%}, {2:.0%}]"
TENTHS = "{0:.1%} [{1:.1%}, {2:.1%}]"


def calibration(file: File) -> str:
    """False positives over many splits of unseen text."""
    first = file["results"][0]
    cells = []
    for entry, rate in _parts(file["results"], "rates"):
        text = "{mean:.1%}, {quantiles[0]:.1%} to {quantiles[1]:.1%}".format_map(rate)
        cells.append((f"`{entry['score']}`", f"at {rate['alpha']:.0%}: mean, 90 % of splits", text))
    return pivot("score", cells) + f"\n{first['splits']} splits of {first['functions']} never-seen functions.\n"


def _parts(rows: Sequence[File], key: str) -> Iterator[tuple[File, Any]]:
    """Each row with each of its parts in turn."""
    for row in rows:
        for part in row[key]:
            yield row, part


def detector_ideas(file: File) -> str:
    """Return the best idea of each family and the known scores on every seed, with the distance from Mid-PIT."""
    result = file["results"][0]
    known = result["table"][0]["family"]
    chosen = grouped(result["chosen"], "family", "idea")

    def place(row: File) -> tuple[bool, float]:
        # False sorts before True: the ideas come first, each part by its first seed
        return row["family"] == known, -row["cells"][0]["auroc"]

    def name(row: File) -> str:
        return str(row["idea"]) if row["family"] == known else f"{row['idea']} ({row['family']})"

    shown = [row for row in result["table"] if row["family"] == known or (row["family"], row["idea"]) in chosen]
    areas, over = [], []
    for row, cell in _parts(sorted(shown, key=place), "cells"):
        seed = f"seed {cell['seed']}"
        areas.append((name(row), seed, f"{cell['auroc']:.3f}"))
        if cell.get("over_mid_pit"):
            over.append((name(row), seed, "{:+.3f} ({:+.3f} to {:+.3f})".format(*cell["over_mid_pit"])))
    beaten = where(result["chosen"], above_all_rivals_on_every_other_seed=True)
    return (
        f"AUROC:\n\n{pivot('score', areas)}\nAUROC minus that of Mid-PIT:\n\n{pivot('score', over)}\n"
        f"{len(result['table'])} scores were measured; shown are the known ones and the best of each family of "
        "ideas on the first seed, the others are in the JSON file. Above Mid-PIT, Min-K%++ and `sr_gray` on every "
        f"other seed: {', '.join(map(itemgetter('idea'), beaten)) or 'none'}.\n"
    )


def set_null(file: File) -> str:
    """How often clean sets are called leaked."""
    columns: dict[str, Cell] = {
        "model": "{model}",
        "clean texts": "{texts:,}",
        "packages": "{groups}",
        "splits": "{splits}",
        "by group, at 5%": "{flagged[by group][0]:.1%}",
        "by group, at 10%": "{flagged[by group][1]:.1%}",
        "by sample, at 5%": "{flagged[Wilcoxon by sample][0]:.1%}",
        "by sample, at 10%": "{flagged[Wilcoxon by sample][1]:.1%}",
    }
    return table_of(file["results"][1]["null"], columns)


def set_power(file: File) -> str:
    """How often sets that were seen once, and clean ones, are called leaked at 5 %."""
    columns: dict[str, Cell] = {
        "functions in the set": "{size}",
        "seen once": lambda entry: TENTHS.format(*entry["members"]),
        "clean": lambda entry: TENTHS.format(*entry["clean"]),
        "sets of each kind": "{sets}",
    }
    return table_of(file["results"][1]["sets"], columns)


def interval_methods(file: File) -> str:
    """Coverage of the AUROC's interval by method and number of groups: the lowest cell, the mean, the mean width."""
    return _coverage(where(file["results"], part="choice", figure="auroc"), "method")


def interval_figures(file: File) -> str:
    """Coverage of the chosen method by figure, on laws and seeds that it was not chosen on."""
    return _coverage(where(file["results"], part="confirmation"), "figure")


def flagged_share(file: File) -> str:
    """How often each rule fires on clean benchmarks, and how often intervals and bounds hold, by setting."""
    columns: dict[str, Cell] = {
        "unseen texts": lambda row: _grouped(row["unseen"], row["packages"]),
        "samples": lambda row: _grouped(row["samples"], row["groups"]),
        "leaked": "{leaked:.0%}",
        "`flagged.p<0.05`": "{p_value:.1%}",
        "`flagged.low>0.05`": "{low:.1%}",
        "p without groups": "{p_value_independent:.1%}",
        "interval holds": "{covered:.1%}",
        "bound too high": "{bound:.1%}",
        "width": "{width:.3f}",
    }
    return table_of(file["results"], columns) + f"\n{file['results'][0]['studies']:,} studies a row."


def _grouped(texts: int, groups: int) -> str:
    return f"{texts:,} in {groups} groups" if groups else f"{texts:,}"


def _coverage(rows: Sequence[File], by: str) -> str:
    """Return a line for each value of `by`, a column for each number of groups; over all laws and seeds."""
    cells = []
    for name, of_name in grouped(rows, by).items():
        for groups in sorted(grouped(rows, "groups")):
            own = _held(where(of_name, groups=groups))
            cells.append((str(name), f"{groups} groups a class", own))
    return f"{pivot(by, cells)}\n{max(map(itemgetter('studies'), rows))} studies a cell.\n"


def _held(rows: Sequence[File]) -> str:
    """Return lowest and mean coverage and the mean width, where most studies have an interval."""
    measured = [row for row in rows if 2 * row["intervals"] > row["studies"]]
    if not measured:
        return "no interval"
    shares = list(map(itemgetter("coverage"), measured))
    widths = list(map(itemgetter("width"), measured))
    return f"{min(shares):.1%}, {sum(shares) / len(shares):.1%}; {sum(widths) / len(widths):.3f}"


def dose_power(file: File) -> str:
    """How often sets are called leaked, by dose and size."""
    measured = file["results"][0]["rows"]
    cells = pivot_of(
        "seen",
        measured,
        line=lambda entry: f"{entry['dose']} ×" if entry["dose"] else "never",
        column="{size} functions",
        cell=lambda entry: SHARE.format(*entry["found"]),
    )
    return f"{cells}\n{measured[0]['sets']} sets a cell.\n"


def strict_min(file: File) -> str:
    """What the strict rule flags of never-seen functions."""
    measured = file["results"][1]["rows"]
    columns: dict[str, Cell] = {
        "variants": "{made}",
        "never-seen functions flagged": lambda entry: SHARE.format(*entry["flagged"]),
        "if names meant nothing": "{chance:.1%}",
    }
    return f"{table_of(measured, columns)}\n{measured[0]['functions']} functions.\n"


def length_shift(file: File) -> str:
    """False positives when judged texts are longer than unseen ones."""
    columns: dict[str, Cell] = {
        "slope": "{slope}",
        "score": "`{score}`",
        "effective unseen": "{effective_unseen:.0f}",
        "equal, 5%": lambda row: f"{row['plain_at_0.05']:.1%}",
        "equal, 10%": lambda row: f"{row['plain_at_0.1']:.1%}",
        "by length, 5%": lambda row: f"{row['weighted_at_0.05']:.1%}",
        "by length, 10%": lambda row: f"{row['weighted_at_0.1']:.1%}",
    }
    return table_of(file["results"], columns)
