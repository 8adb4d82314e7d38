"""Tables on decisions: false alarms, power, coverage of intervals."""

from collections.abc import Sequence

from assay_lab.pages.table_cells import File, pivot, table


def calibration(file: File) -> str:
    """False positives over many splits of unseen text."""
    nominal = [entry["alpha"] for entry in file["results"][0]["rates"]]
    head = ["score", *(f"at {alpha:.0%}: mean, 90 % of splits" for alpha in nominal)]
    rows = [
        [
            f"`{entry['score']}`",
            *(
                f"{rate['mean']:.1%}, {rate['quantiles'][0]:.1%} to {rate['quantiles'][1]:.1%}"
                for rate in entry["rates"]
            ),
        ]
        for entry in file["results"]
    ]
    first = file["results"][0]
    return table(head, rows) + f"\n{first['splits']} splits of {first['functions']} never-seen functions.\n"


def detector_ideas(file: File) -> str:
    """Return the best idea of each family and the known scores on every seed, with the distance from Mid-PIT."""
    result = file["results"][0]
    picked = {(row["family"], row["idea"]) for row in result["chosen"]}
    known = result["table"][0]["family"]
    shown = [row for row in result["table"] if row["family"] == known or (row["family"], row["idea"]) in picked]
    shown.sort(key=lambda row: (row["family"] == known, -row["cells"][0]["auroc"]))
    names = {id(row): row["idea"] if row["family"] == known else f"{row['idea']} ({row['family']})" for row in shown}
    seeds = {id(row): [(f"seed {cell['seed']}", cell) for cell in row["cells"]] for row in shown}
    areas = [(names[id(row)], seed, f"{cell['auroc']:.3f}") for row in shown for seed, cell in seeds[id(row)]]
    over = [
        (names[id(row)], seed, "{:+.3f} ({:+.3f} to {:+.3f})".format(*cell["over_mid_pit"]))
        for row in shown
        for seed, cell in seeds[id(row)]
        if cell.get("over_mid_pit")
    ]
    beaten = [row["idea"] for row in result["chosen"] if row["above_all_rivals_on_every_other_seed"]]
    return (
        f"AUROC:\n\n{pivot('score', areas)}\nAUROC minus that of Mid-PIT:\n\n{pivot('score', over)}\n"
        f"{len(result['table'])} scores were measured; shown are the known ones and the best of each family of "
        "ideas on the first seed, the others are in the JSON file. Above Mid-PIT, Min-K%++ and `sr_gray` on every "
        f"other seed: {', '.join(beaten) or 'none'}.\n"
    )


def set_null(file: File) -> str:
    """How often clean sets are called leaked."""
    rows = [
        [
            entry["model"],
            f"{entry['texts']:,}",
            str(entry["groups"]),
            str(entry["splits"]),
            *(f"{share:.1%}" for way in ("by group", "Wilcoxon by sample") for share in entry["flagged"][way]),
        ]
        for entry in file["results"][1]["null"]
    ]
    ways = [f"{way}, at {level}" for way in ("by group", "by sample") for level in ("5%", "10%")]
    return table(["model", "clean texts", "packages", "splits", *ways], rows)


def set_power(file: File) -> str:
    """How often sets that were seen once, and clean ones, are called leaked at 5 %."""

    def share(values: Sequence[float]) -> str:
        return "{:.1%} [{:.1%}, {:.1%}]".format(*values)

    rows = [
        [str(entry["size"]), share(entry["members"]), share(entry["clean"]), str(entry["sets"])]
        for entry in file["results"][1]["sets"]
    ]
    return table(["functions in the set", "seen once", "clean", "sets of each kind"], rows)


def interval_methods(file: File) -> str:
    """Coverage of the AUROC's interval by method and number of groups: the lowest cell, the mean, the mean width."""
    return _coverage(file, "choice", "method", "auroc")


def interval_figures(file: File) -> str:
    """Coverage of the chosen method by figure, on laws and seeds that it was not chosen on."""
    return _coverage(file, "confirmation", "figure", None)


def flagged_share(file: File) -> str:
    """How often each rule fires on clean benchmarks, and how often intervals and bounds hold, by setting."""
    rows = [
        [
            f"{row['unseen']:,} in {row['packages']} groups" if row["packages"] else f"{row['unseen']:,}",
            f"{row['samples']:,} in {row['groups']} groups" if row["groups"] else f"{row['samples']:,}",
            f"{row['leaked']:.0%}",
            *(f"{row[name]:.1%}" for name in ("p_value", "low", "p_value_independent", "covered", "bound")),
            f"{row['width']:.3f}",
        ]
        for row in file["results"]
    ]
    heads = ["unseen texts", "samples", "leaked", "`flagged.p<0.05`", "`flagged.low>0.05`", "p without groups"]
    heads += ["interval holds", "bound too high", "width"]
    note = f"\n{file['results'][0]['studies']:,} studies a row."
    return table(heads, rows) + note


def _coverage(file: File, part: str, by: str, figure: str | None) -> str:
    rows = [row for row in file["results"] if row["part"] == part and figure in (None, row["figure"])]
    groups = sorted({row["groups"] for row in rows})
    lines = []
    for name in dict.fromkeys(row[by] for row in rows):
        cells = []
        for count in groups:
            at = [
                row
                for row in rows
                if row[by] == name and row["groups"] == count and 2 * row["intervals"] > row["studies"]
            ]
            shares, widths = ([row[key] for row in at] for key in ("coverage", "width"))
            cells.append(
                f"{min(shares):.1%}, {sum(shares) / len(at):.1%}; {sum(widths) / len(at):.3f}" if at else "no interval"
            )
        lines.append([str(name), *cells])
    studies = max(row["studies"] for row in rows)
    heads = [f"{count} groups a class" for count in groups]
    return f"{table([by, *heads], lines)}\n{studies} studies a cell.\n"


def dose_power(file: File) -> str:
    """How often sets are called leaked, by dose and size."""
    measured = file["results"][0]["rows"]
    rows: dict[int, list[str]] = {}
    for entry in measured:
        value, low, high = entry["found"]
        rows.setdefault(entry["dose"], []).append(f"{value:.0%} [{low:.0%}, {high:.0%}]")
    sizes = dict.fromkeys(entry["size"] for entry in measured)
    lines = [[f"{dose} ×" if dose else "never", *shares] for dose, shares in rows.items()]
    return f"{table(['seen', *(f'{size} functions' for size in sizes)], lines)}\n{measured[0]['sets']} sets a cell.\n"


def strict_min(file: File) -> str:
    """What the strict rule flags of never-seen functions."""
    measured = file["results"][1]["rows"]
    rows = []
    for entry in measured:
        value, low, high = entry["flagged"]
        rows.append([str(entry["made"]), f"{value:.0%} [{low:.0%}, {high:.0%}]", f"{entry['chance']:.1%}"])
    head = ["variants", "never-seen functions flagged", "if names meant nothing"]
    return f"{table(head, rows)}\n{measured[0]['functions']} functions.\n"


def length_shift(file: File) -> str:
    """False positives when judged texts are longer than unseen ones."""
    rows = [
        [
            str(row["slope"]),
            f"`{row['score']}`",
            f"{row['effective_unseen']:.0f}",
            *(f"{row[f'{way}_at_{alpha}']:.1%}" for way in ("plain", "weighted") for alpha in ("0.05", "0.1")),
        ]
        for row in file["results"]
    ]
    heads = ["slope", "score", "effective unseen", "equal, 5%", "equal, 10%", "by length, 5%", "by length, 10%"]
    return table(heads, rows)
