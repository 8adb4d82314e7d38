"""Tables on the index of code: size, speed, memory, encoder, service."""

from collections.abc import Mapping

from assay_lab.pages.table_cells import Cell, File, filled, number, pivot_of, table, table_of, times, transposed
from assay_lab.result_rows import grouped

DOCUMENTS = {"both": "files and functions", "file": "files", "function": "functions"}
"""Granularity of an index → what its documents are."""


def scale(file: File) -> str:
    """Return cost and memory of a build, and milliseconds of its queries, by size, without and with vectors."""
    rows = list(map(_scale_cells, file["results"]))
    # a size without vectors lacks headings that another has: the table has those of all, in the order they come
    head: dict[str, str] = {}
    for cells in rows:
        head |= cells
    empty = dict.fromkeys(head, "")
    return transposed(head, [list((empty | cells).values()) for cells in rows])


def _scale_cells(entry: File) -> dict[str, str]:
    """Return the cells of one size by their headings."""
    built, queried = entry["built"], entry["queried"]
    vectors = {
        "vectors": "none",
        "seconds": f"{built['seconds']:,.0f} s",
        "bytes": "",
        "by fingerprints": _latency(queried.get("trace_by_fingerprints") or queried["trace"]),
        "with vectors": "",
    }
    if entry["encoder"]:
        vectors = {
            "vectors": f"`{entry['encoder']}`",
            "seconds": f"{built['seconds']:,.0f} s, {built['vectors_seconds']:,.0f} s",
            "bytes": f"{built['bytes']['vectors'] / 1e9:.2f} GB",
            "by fingerprints": _latency(queried.get("trace_by_fingerprints")),
            "with vectors": _latency(queried["trace"]),
        }
    cells = {
        "functions": f"{entry['documents']:,}",
        "vectors": vectors["vectors"],
        "build, processor time; of it for vectors": vectors["seconds"],
        "peak memory; of it no pages of files": _memory(built),
        "largest log": f"{built['log_mebibytes']:.0f} MiB",
        "postings": f"{built['bytes']['postings'] / 1e9:.2f} GB",
        "bytes a posting": f"{built['bytes_a_posting']:.1f}",
        "catalogue": f"{built['bytes']['catalogue'] / 1e9:.2f} GB",
        "on disk for vectors": vectors["bytes"],
        "segments": str(built["segments"]),
        "look-up, p50 / p95 / p99": _latency(queried["lookup"]),
        "the same snippets again": _latency(queried.get("lookup_again")),
        "trace by fingerprints": vectors["by fingerprints"],
        "nearest vectors": _latency(queried.get("vector")),
        "trace with vectors": vectors["with vectors"],
        "snippet in the first match": f"{queried['snippet_in_first']:.1%}" if "snippet_in_first" in queried else "",
        "reading ten documents": f"{queried['check']['read_ten_ms']:.2f} ms",
    }
    merged, again = entry.get("merged"), entry.get("queried_merged")
    if merged and again:
        cells |= {
            "merged: processor time": f"{merged['seconds']:,.0f} s",
            "merged: peak memory": _memory(merged),
            "merged: segments": str(merged["segments"]),
            "merged: look-up": _latency(again["lookup"]),
            "merged: trace": _latency(again["trace"]),
        }
    return cells


def _latency(spread: Mapping[str, float] | None) -> str:
    """Return three percentiles; nothing where there are none."""
    return f"{' / '.join(number(spread[share]) for share in ('p50', 'p95', 'p99'))} ms" if spread else ""


def _memory(step: Mapping[str, float]) -> str:
    anonymous = step.get("anonymous_mebibytes")
    return f"{step['peak_mebibytes']:,.0f} MiB" + (f", {anonymous:,.0f} MiB" if anonymous else "")


def fingerprints(file: File) -> str:
    """Speed of fingerprinting, beside the peer where it was there."""
    peer = "times_as_fast_as_scanoss"
    columns: dict[str, Cell] = {
        "way": "{way}",
        "read": "{megabytes:.1f} MB",
        "speed, one core": "{megabytes_per_second[median]:number} MB/s",
        "× scanoss_winnowing": lambda entry: times(entry[peer]) if entry[peer] else "",
    }
    return table_of(file["results"], columns)


def index_build(file: File) -> str:
    """What building an index costs, and adding the same again."""
    columns: dict[str, Cell] = {
        "corpus": "{corpus}",
        "documents are": lambda entry: DOCUMENTS[entry["granularity"]],
        "vectors": lambda entry: f"`{entry['encoder']}`" if entry["encoder"] else "none",
        "files read": "{files_read:,}",
        "read": "{megabytes:.1f} MB",
        "files/s": "{files_per_second:number}",
        "processes": "{processes}",
        "speed": "{megabytes_per_second:number} MB/s",
        "documents": "{documents:,}",
        "bytes a posting": lambda entry: number(entry["bytes"]["postings"] / entry["postings"]),
        "on disk": lambda entry: f"{sum(entry['bytes'].values()) / 1e6:.1f} MB",
        "again, unchanged": "{again[seconds]:number} s, {again[bytes_read]:,} bytes read",
    }
    skipped = file["results"][-1]["skipped"]
    passed = ", ".join(f"{skipped[reason]:,} {reason}" for reason in sorted(skipped, key=skipped.get, reverse=True))
    built = table_of(file["results"], columns, transpose=True)
    return f"{built}\nPassed over in the last column's corpus: {passed or 'nothing'}.\n"


def points(file: File) -> str:
    """What a document weighs as a point of a Qdrant collection, and what making one takes."""

    def of_document(part: str) -> Cell:
        return lambda entry: f"{entry['bytes'][part] / entry['documents']:,.0f}"

    def speed(step: str) -> Cell:
        return lambda entry: f"{number(entry['documents'] / entry[f'{step}_seconds'])} documents/s"

    columns: dict[str, Cell] = {
        "documents are": lambda entry: DOCUMENTS[entry["granularity"]],
        "files": "{files:,}",
        "read": "{megabytes:.1f} MB",
        "documents": "{documents:,}",
        "fingerprints a document": lambda entry: number(entry["postings"] / entry["documents"]),
        "JSON a document": lambda entry: f"{entry['bytes']['point'] / entry['documents']:,.0f} bytes",
        "of it text": of_document("text"),
        "hashes": of_document("hashes"),
        "dense": of_document("dense"),
        "read by a worker": speed("reading"),
        "made points by the writer": speed("making"),
        "distinct fingerprints": "{distinct_fingerprints:,}",
        "sharing an index": "{foreign_fingerprints:,}",
        "by chance": "{foreign_by_chance:number}",
    }
    return table_of(file["results"], columns, transpose=True)


def vectors(file: File) -> str:
    """Return what a search by vector finds and takes, by the share of the vectors whose cosines are computed."""
    columns: dict[str, Cell] = {
        "query": "{queries}",
        "vectors": "{documents:,}",
        # `compared` is a share of the vectors, and 1 is all of them
        "cosines of": lambda entry: "all" if entry["compared"] == 1 else f"1 in {1 / entry['compared']:.0f}",
        "source in 100": "{source_in_100:.3f}",
        "in 400": "{source_in_400:.3f}",
        "of the nearest 100 found": "{share_of_nearest_100:.1%}",
        "p50 / p95": "{p50_ms:number} / {p95_ms:number} ms",
    }
    return table_of(file["results"], columns)


def graph(file: File) -> str:
    """Return what a search by the graph finds and takes beside one by signs, by size and width."""
    columns: dict[str, Cell] = {
        "query": "{queries}",
        "vectors": "{vectors:,}",
        "width": "{width:,}",
        "of the nearest 100 found": "{recall_100:.1%}",
        "graph, p50 / p99": "{graph_p50_ms:number} / {graph_p99_ms:number} ms",
        "signs, p50 / p99": "{signs_p50_ms:number} / {signs_p99_ms:number} ms",
        "building the graph": "{building_seconds:,.0f} s",
    }
    return table_of(file["results"], columns)


def encoder(file: File) -> str:
    """Return mean reciprocal ranks of vector search, every way on the same fragments."""
    copies = grouped((row for row in file["results"] if "copy" in row), "copy")
    tables = []
    for copy, rows in copies.items():
        own = pivot_of("way", rows, line="{way}", column="{tokens} tokens", cell="{mrr:estimate}")
        tables.append(f"Fragments *{copy}*:\n\n{own}")
    queries = next(iter(copies.values()))[0]["queries"]
    return "\n".join(tables) + (
        f"\nMean reciprocal rank and its interval; {file['results'][0]['functions']:,} functions, {queries} fragments "
        "a cell. Recall@100 is in the JSON file.\n"
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
    percentiles = "{p50:number} / {p95:number} ms"
    built: dict[str, Cell] = {
        "documents": "{documents:,}",
        "copies": lambda entry: f"{entry['copies'] / entry['documents']:.0%}",
        "built a second": "{documents_per_second:number}",
        "peak memory": "{peak_mebibytes:number} MiB",
        "bytes a posting": "{bytes_a_posting:number}",
        "in all": lambda entry: f"{number(sum(entry['bytes'].values()) / 1e6)} MB",
        "segments": "{segments}",
    }
    vectors: dict[str, Cell] = {
        "documents, with vectors": "{documents:,}",
        "built a second": "{with_vectors[documents_per_second]:number}",
        "peak memory": "{with_vectors[peak_mebibytes]:number} MiB",
        "vectors": lambda entry: f"{number(entry['with_vectors']['bytes'] / 1e6)} MB",
    }
    queries: dict[str, Cell] = {
        "documents": "{documents:,}",
        "postings met, p50 / p95": "{postings_met[p50]:,.0f} / {postings_met[p95]:,.0f}",
        "lookup": "{lookup[p50]:number} / {lookup[p95]:number} ms",
        "from text": "{fingerprints[p50]:number} / {fingerprints[p95]:number} ms",
        "trace, with vectors": lambda entry: filled(percentiles, entry["trace"]) if entry.get("trace") else "",
        "snippet in first": "{snippet_in_first:.1%}",
    }
    rows = file["results"]
    with_vectors = table_of([entry for entry in rows if "with_vectors" in entry], vectors)
    return f"{table_of(rows, built)}\n{with_vectors}\n{table_of(rows, queries)}"


def service(file: File) -> str:
    """Answers a second and how long they take, by the number of clients."""
    columns: dict[str, Cell] = {
        "documents": "{documents:,}",
        "clients": "{clients}",
        "a question": lambda entry: f"{entry['kilobytes']} KB" if entry["kilobytes"] else "part of a function",
        "answers a second": "{answers_per_second:number}",
        "p50": "{p50_ms:number} ms",
        "p95": "{p95_ms:number} ms",
        "p99": "{p99_ms:number} ms",
        "turned away": "{turned_away:,}",
        "errors": lambda entry: f"{entry['errors']} of {entry['answers'] + entry['errors']:,}",
        "`/health`, longest": "{health_longest_ms:number} ms",
        "memory before and after": "{memory_before_mib:.0f}, {memory_after_mib:.0f} MiB",
    }
    return table_of(file["results"], columns)
