"""Tables of the scan of training data: what it finds, by what was done to a task, and what it accuses in packages."""

from assay_lab.pages.table_cells import File, pivot, table

ALL = "all"


def scan_recall(file: File) -> str:
    """Return the share of tasks found by kind of change, over the benchmarks that chose the rule and the others."""
    cells = []
    for row in file["results"]:
        if row["benchmark"] == ALL:
            cells.append((row["change"], row["rule"], _share(row)))
    return pivot("what stands in the row", cells)


def scan_recall_benchmarks(file: File) -> str:
    """Return the share of tasks found by benchmark and kind of change."""
    cells = []
    for row in file["results"]:
        if row["benchmark"] != ALL:
            cells.append((row["change"], row["benchmark"], _share(row)))
    return pivot("what stands in the row", cells)


def _share(row: File) -> str:
    return "{0:.1%} [{1[low]:.1%}, {1[high]:.1%}] of {2}".format(
        row["found"] / row["tasks"], row["recall"], row["tasks"]
    )


def scan_false_rows(file: File) -> str:
    """Return what was scanned, how many texts were accused, and what a reader said of them."""
    total, *readings = file["results"]
    rows = [
        ("packages", f"{total['packages']:,}"),
        ("texts compared", f"{total['texts']:,} ({total['megabytes']:,.0f} MB)"),
        ("tasks searched for", f"{total['tasks']:,}"),
    ]
    rows += ((f"texts accused: {row['reading']}", f"{row['texts']:,}") for row in readings)
    bound = f"{total['wrong_texts']:,}, at most {total['wrong_of_a_million']:.0f} of a million (95 %)"
    return table(("", "figure"), [*rows, ("no true copies", bound)])
