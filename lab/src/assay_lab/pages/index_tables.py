"""Tables on the index of code: size, speed, memory, encoder, service."""

from collections.abc import Mapping

from assay_lab.pages.table_cells import File, estimate, number, pivot, table, times, transposed


def scale(file: File) -> str:
    """Return cost and memory of a build, and milliseconds of its queries, by size, without and with vectors."""

    def latency(spread: Mapping[str, float] | None) -> str:
        values = [spread[share] for share in ("p50", "p95", "p99")] if spread else []
        return " / ".join(f"{value:,.0f}" if value >= 100 else f"{value:.3g}" for value in values) + " ms" * bool(
            values
        )

    def memory(step: Mapping[str, float]) -> str:
        anonymous = step.get("anonymous_mebibytes")
        return f"{step['peak_mebibytes']:,.0f} MiB" + (f", {anonymous:,.0f} MiB" if anonymous else "")

    rows = []
    for entry in file["results"]:
        built, queried = entry["built"], entry["queried"]
        merged, again = entry.get("merged"), entry.get("queried_merged")
        of_vectors = f", {built['vectors_seconds']:,.0f} s" if entry["encoder"] else ""
        cells = {
            "functions": f"{entry['documents']:,}",
            "vectors": f"`{entry['encoder']}`" if entry["encoder"] else "none",
            "build, processor time; of it for vectors": f"{built['seconds']:,.0f} s{of_vectors}",
            "peak memory; of it no pages of files": memory(built),
            "largest log": f"{built['log_mebibytes']:.0f} MiB",
            "postings": f"{built['bytes']['postings'] / 1e9:.2f} GB",
            "bytes a posting": f"{built['bytes_a_posting']:.1f}",
            "catalogue": f"{built['bytes']['catalogue'] / 1e9:.2f} GB",
            "on disk for vectors": f"{built['bytes']['vectors'] / 1e9:.2f} GB" if entry["encoder"] else "",
            "segments": str(built["segments"]),
            "look-up, p50 / p95 / p99": latency(queried["lookup"]),
            "the same snippets again": latency(queried.get("lookup_again")),
            "trace by fingerprints": latency(
                queried.get("trace_by_fingerprints") or (None if entry["encoder"] else queried["trace"])
            ),
            "nearest vectors": latency(queried.get("vector")),
            "trace with vectors": latency(queried["trace"] if entry["encoder"] else None),
            "snippet in the first match": f"{queried['snippet_in_first']:.1%}" if "snippet_in_first" in queried else "",
            "reading ten documents": f"{queried['check']['read_ten_ms']:.2f} ms",
        }
        if merged and again:
            cells |= {
                "merged: processor time": f"{merged['seconds']:,.0f} s",
                "merged: peak memory": memory(merged),
                "merged: segments": str(merged["segments"]),
                "merged: look-up": latency(again["lookup"]),
                "merged: trace": latency(again["trace"]),
            }
        rows.append(cells)
    head = list(dict.fromkeys(name for cells in rows for name in cells))
    return transposed(head, [[cells.get(name, "") for name in head] for cells in rows])


def fingerprints(file: File) -> str:
    """Speed of fingerprinting, beside the peer where it was there."""
    rows = [
        [
            entry["way"],
            f"{entry['megabytes']:.1f} MB",
            f"{number(entry['megabytes_per_second']['median'])} MB/s",
            times(entry["times_as_fast_as_scanoss"]) if entry["times_as_fast_as_scanoss"] else "",
        ]
        for entry in file["results"]
    ]
    return table(["way", "read", "speed, one core", "× scanoss_winnowing"], rows)


def index_build(file: File) -> str:
    """What building an index costs, and adding the same again."""
    head = [
        "corpus",
        "documents are",
        "vectors",
        "files read",
        "read",
        "files/s",
        "processes",
        "speed",
        "documents",
        "bytes a posting",
        "on disk",
        "again, unchanged",
    ]
    rows = [
        [
            entry["corpus"],
            {"both": "files and functions", "file": "files", "function": "functions"}[entry["granularity"]],
            f"`{entry['encoder']}`" if entry["encoder"] else "none",
            f"{entry['files_read']:,}",
            f"{entry['megabytes']:.1f} MB",
            number(entry["files_per_second"]),
            str(entry["processes"]),
            f"{number(entry['megabytes_per_second'])} MB/s",
            f"{entry['documents']:,}",
            number(entry["bytes"]["postings"] / entry["postings"]),
            f"{sum(entry['bytes'].values()) / 1e6:.1f} MB",
            f"{number(entry['again']['seconds'])} s, {entry['again']['bytes_read']:,} bytes read",
        ]
        for entry in file["results"]
    ]
    skipped = file["results"][-1]["skipped"]
    passed = ", ".join(f"{count:,} {reason}" for reason, count in sorted(skipped.items(), key=lambda pair: -pair[1]))
    return transposed(head, rows) + f"\nPassed over in the last column's corpus: {passed or 'nothing'}.\n"


def points(file: File) -> str:
    """What a document weighs as a point of a Qdrant collection, and what making one takes."""
    head = [
        "documents are",
        "files",
        "read",
        "documents",
        "fingerprints a document",
        "JSON a document",
        "of it text",
        "hashes",
        "dense",
        "read by a worker",
        "made points by the writer",
        "distinct fingerprints",
        "sharing an index",
        "by chance",
    ]
    rows = [
        [
            {"both": "files and functions", "function": "functions"}[entry["granularity"]],
            f"{entry['files']:,}",
            f"{entry['megabytes']:.1f} MB",
            f"{entry['documents']:,}",
            number(entry["postings"] / entry["documents"]),
            f"{entry['bytes']['point'] / entry['documents']:,.0f} bytes",
            *(f"{entry['bytes'][part] / entry['documents']:,.0f}" for part in ("text", "hashes", "dense")),
            f"{number(entry['documents'] / entry['reading_seconds'])} documents/s",
            f"{number(entry['documents'] / entry['making_seconds'])} documents/s",
            f"{entry['distinct_fingerprints']:,}",
            f"{entry['foreign_fingerprints']:,}",
            number(entry["foreign_by_chance"]),
        ]
        for entry in file["results"]
    ]
    return transposed(head, rows)


def vectors(file: File) -> str:
    """Return what a search by vector finds and takes, by the share of the vectors whose cosines are computed."""
    head = ["query", "vectors", "cosines of", "source in 100", "in 400", "of the nearest 100 found", "p50 / p95"]
    rows = [
        [
            entry["queries"],
            f"{entry['documents']:,}",
            "all" if entry["compared"] == 1 else f"1 in {1 / entry['compared']:.0f}",
            f"{entry['source_in_100']:.3f}",
            f"{entry['source_in_400']:.3f}",
            f"{entry['share_of_nearest_100']:.1%}",
            f"{number(entry['p50_ms'])} / {number(entry['p95_ms'])} ms",
        ]
        for entry in file["results"]
    ]
    return table(head, rows)


def encoder(file: File) -> str:
    """Return mean reciprocal ranks of vector search, every way on the same fragments."""
    cells = [row for row in file["results"] if "copy" in row]
    tables = []
    for copy in dict.fromkeys(row["copy"] for row in cells):
        own = [(row["way"], f"{row['tokens']} tokens", estimate(row["mrr"])) for row in cells if row["copy"] == copy]
        tables.append(f"Fragments *{copy}*:\n\n{pivot('way', own)}")
    first = file["results"][0]
    return "\n".join(tables) + (
        f"\nMean reciprocal rank and its interval; {first['functions']:,} functions, {cells[0]['queries']} fragments a "
        "cell. Recall@100 is in the JSON file.\n"
    )


def encoder_speed(file: File) -> str:
    """Texts a second."""
    first = file["results"][0]
    rows = [[name, number(entry["median"])] for name, entry in first["per_second"].items()]
    return table(["texts", "a second, one core"], rows) + (
        f"\n{first['dimensions']} dimensions, {first['weights_bytes'] / 1e6:.1f} MB of weights.\n"
    )


def index(file: File) -> str:
    """The index of code by size: building, bytes, queries."""

    def latency(spread: Mapping[str, float] | None) -> str:
        return f"{number(spread['p50'])} / {number(spread['p95'])} ms" if spread else ""

    head = ["documents", "copies", "built a second", "peak memory", "bytes a posting", "in all", "segments"]
    rows = [
        [
            f"{entry['documents']:,}",
            f"{entry['copies'] / entry['documents']:.0%}",
            number(entry["documents_per_second"]),
            f"{number(entry['peak_mebibytes'])} MiB",
            number(entry["bytes_a_posting"]),
            f"{number(sum(entry['bytes'].values()) / 1e6)} MB",
            str(entry["segments"]),
        ]
        for entry in file["results"]
    ]
    headings = [
        "documents",
        "postings met, p50 / p95",
        "lookup",
        "from text",
        "trace, with vectors",
        "snippet in first",
    ]
    answers = [
        [
            f"{entry['documents']:,}",
            f"{entry['postings_met']['p50']:,.0f} / {entry['postings_met']['p95']:,.0f}",
            latency(entry["lookup"]),
            latency(entry["fingerprints"]),
            latency(entry.get("trace")),
            f"{entry['snippet_in_first']:.1%}",
        ]
        for entry in file["results"]
    ]
    vectors = [
        [
            f"{entry['documents']:,}",
            number(entry["with_vectors"]["documents_per_second"]),
            f"{number(entry['with_vectors']['peak_mebibytes'])} MiB",
            f"{number(entry['with_vectors']['bytes'] / 1e6)} MB",
        ]
        for entry in file["results"]
        if "with_vectors" in entry
    ]
    with_vectors = table(["documents, with vectors", "built a second", "peak memory", "vectors"], vectors)
    return f"{table(head, rows)}\n{with_vectors}\n{table(headings, answers)}"


def service(file: File) -> str:
    """Answers a second and how long they take, by the number of clients."""
    head = ["documents", "clients", "answers a second", "p50", "p95", "p99", "errors", "memory before and after"]
    rows = [
        [
            f"{entry['documents']:,}",
            str(entry["clients"]),
            number(entry["answers_per_second"]),
            *(f"{number(entry[f'{name}_ms'])} ms" for name in ("p50", "p95", "p99")),
            f"{entry['errors']} of {entry['answers'] + entry['errors']:,}",
            f"{entry['memory_before_mib']:.0f}, {entry['memory_after_mib']:.0f} MiB",
        ]
        for entry in file["results"]
    ]
    return table(head, rows)
