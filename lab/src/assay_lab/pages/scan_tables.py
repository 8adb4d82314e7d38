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


def scan_speed(file: File) -> str:
    """Return how fast a scan reads each form of file, beside reading and unpacking alone."""
    rows = []
    for row in file["results"]:
        if "of_rows_read" in row:
            rows.append((row["file"], row["way"], _rate(row), _ratio(row["of_rows_read"]), _ratio(row["of_unpacking"])))
    return table(("file", "way", "one core", "of reading rows", "of unpacking"), rows)


def scan_beside_datatrove(file: File) -> str:
    """Return speed and rows of a scan and of the n-gram filter of datatrove."""
    rows = []
    for row in file["results"]:
        if "planted" in row:
            counts = (f"{row[name]} of {row[of]}" for name, of in _PLANTED)
            rows.append((row["way"], _rate(row), *counts))
    return table(("way", "one core", "rows with a task found", "other rows accused"), rows)


def scan_cost(file: File) -> str:
    """Return the time of two workers beside two independent scans, and the memory."""
    rows = []
    for row in file["results"]:
        if "of_independent" in row:
            rows.append((row["way"], _rate(row), f"{row['of_independent']:.2f}"))
        elif "memory_mib" in row:
            rows.append((row["way"], f"{row['memory_mib']:,.0f} MiB", ""))
    return table(("way", "clock or memory", "of independent"), rows)


_PLANTED = (("planted_found", "planted"), ("other_rows_accused", "other_rows"))


def _rate(row: File) -> str:
    return "{median:.1f} MB/s".format_map(row["megabytes_per_second"])


def _ratio(spread: File | None) -> str:
    return "" if spread is None else "{median:.2f}".format_map(spread)
