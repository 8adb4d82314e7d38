"""Tables on the sources of code: confidence, ranks beside other tools, licences, pairs."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from assay_lab.pages.table_cells import File, estimate, number, pivot, share_with_ends, table


def confidence(file: File) -> str:
    """Return the shares of texts with a match of at least .95, and of unrelated code at the other levels."""

    def cells(level: str, kinds: Sequence[str]) -> Iterable[tuple[str, str, str]]:
        for row in file["results"]:
            if row["queries"] in kinds and level in row["at_least"]:
                share = row["at_least"][level]
                text = f"{share['value']:.1%} [{share['low']:.1%}, {share['high']:.1%}]"
                yield f"{row['queries']}, {row['by']}", f"{row['lines']} line{'s' * (row['lines'] > 1)}", text

    first = file["results"][0]
    kinds = list(dict.fromkeys(row["queries"] for row in file["results"]))
    parts = [f"Share with a match of confidence ≥ 0.95:\n\n{pivot('code traced, found by', cells('0.95', kinds))}"]
    for level in first["at_least"]:
        if level != "0.95":
            own = pivot("code traced, found by", cells(level, kinds[:1]))
            parts.append(f"The same at confidence ≥ {level}, {kinds[0]} code alone:\n\n{own}")
    sizes = {row["lines"]: row["n"] for row in reversed(file["results"])}
    texts = ", ".join(f"{sizes[lines]:,} of {lines}" for lines in sorted(sizes))
    parts.append(
        f"{first['documents']:,} documents; calibrated on {first['calibrated_on']:,} functions. Texts of {kinds[0]} "
        f"code by lines: {texts}. The other levels of copied and renamed code are in the JSON file.\n"
    )
    return "\n".join(parts)


def confidence_languages(file: File) -> str:
    """Return the shares of unrelated code that reach a confidence, by language."""
    ways = {"both": "both", "fingerprints": "fingerprints alone"}
    head = ["language", "cuts traced", *(f"{way}, ≥ {level}" for level in ("0.95", "0.99") for way in ways.values())]
    every = [row for row in file["results"] if row["lines"] == "all"]
    rows: list[list[str]] = []
    for language in sorted({row["language"] for row in every}):
        of_way = {row["by"]: row for row in every if row["language"] == language}
        cells = []
        for level in ("0.95", "0.99"):
            for way in ways:
                share = of_way[way]["at_least"][level]
                cells.append(f"{share['value']:.1%} [{share['low']:.1%}, {share['high']:.1%}]")
        rows.append([language, f"{of_way['both']['n']:,}", *cells])
    return table(head, rows)


def confidence_of_copies(file: File) -> str:
    """Return the shares of altered copies whose own document has a confidence of .99, by each rule."""
    words = {"fused": "fused", "smallest rate": "smallest"}
    cells = [
        (
            f"{row['language']}, {row['queries']}",
            f"{row['lines']} lines, {words[row['by']]}",
            f"{row['at_least']['0.99']['value']:.0%} of {row['n']}",
        )
        for row in file["results"]
        if row["by"] in words
    ]
    return pivot("copies", sorted(cells, key=lambda cell: cell[0]))


def provenance_peers(file: File) -> str:
    """Return the mean reciprocal ranks over the largest search space, every way on the same fragments."""
    largest = [row for row in file["results"] if row["space"] == file["results"][-1]["space"]]
    measured = [(row["way"], cell) for row in largest for cell in row["cells"]]
    measured.sort(key=lambda pair: (list(COPIES).index(pair[1]["kind"]), pair[1]["window"]))
    parts = []
    for kind, words in COPIES.items():
        own = [(way, f"{c['window']} tokens", estimate(c["mrr"])) for way, c in measured if c["kind"] == kind]
        if own:
            parts.append(f"{words[0].upper()}{words[1:]}:\n\n{pivot('way', own)}")
    fragments = {cell["window"]: cell["queries"] for _, cell in measured}
    sizes = ", ".join(f"{count} of {window} tokens" for window, count in fragments.items())
    parts.append(
        f"Mean reciprocal rank and its interval among {largest[0]['space']:,} functions; fragments: {sizes}. Recall@1 "
        "and recall@10 are in the JSON file.\n"
    )
    tried = next((row["tried"] for row in largest if row["tried"]), None)
    if tried:
        first, best = tried[0], next(row for row in tried if row["best"])
        ranks = [row["mrr"] for row in tried]
        parts.append(
            f"copydetect has the best of {len(tried)} settings, tried on {first['queries']} fragments and "
            f"{first['documents']:,} functions: noise_threshold {best['noise']}, guarantee_threshold "
            f"{best['guarantee']}, names {'become one symbol' if best['is_filtered'] else 'are kept'}; MRR "
            f"{best['mrr']:.3f}, of all settings {min(ranks):.3f} to {max(ranks):.3f}.\n"
        )
    else:
        parts.append("copydetect was not installed: not measured.\n")
    return "\n".join(parts)


COPIES = {
    "type 1": "type 1, as it stands",
    "type 2": "type 2, Algorithm 1",
    "renamed": "type 2, every name replaced",
    "type 3": "type 3, a quarter of the lines",
}


def provenance_peers_cost(file: File) -> str:
    """Time and memory by search space."""
    rows = [
        [
            f"{entry['space']:,}",
            entry["way"],
            f"{number(entry['build_seconds'])} s",
            f"{number(entry['query_ms']['p50'])} / {number(entry['query_ms']['p95'])} ms",
            f"{number(entry['query_ms']['mean'])} ms",
            f"{number(entry['mebibytes'])} MiB",
        ]
        for entry in file["results"]
    ]
    return table(["functions", "way", "built", "a query, p50 / p95", "mean", "memory"], rows)


def licence_gate(file: File) -> str:
    """Denials among functions of unrelated packages."""
    row = next(row for row in file["results"] if row["kind"] == "innocent")
    cells = [
        [
            label,
            str(row[count] if isinstance(row[count], int) else len(row[count])),
            f"{row[name]:.2f} ({row[f'{name}_interval'][0]:.2f}–{row[f'{name}_interval'][1]:.2f})",
        ]
        for label, count, name in (
            ("denials", "alarms", "alarms_per_1000"),
            ("denials that are no copies", "false_alarms", "false_per_1000"),
        )
    ]
    return table([f"{row['functions']:,} functions of {row['packages']} packages", "", "of 1,000"], cells)


def licence_plants(file: File) -> str:
    """Copies that the gate finds."""
    rows = [
        [row["kind"], f"{row['found']} of {row['planted']}", share_with_ends(row["recall"], row["interval"])]
        for row in file["results"]
        if row["kind"] != "innocent" and row["planted"]
    ]
    return table(["planted function", "found", "recall"], rows)


def licence_gate_languages(file: File) -> str:
    """Altered copies that the gate denies, by language."""
    rows = [row for row in file["results"] if row["kind"] != "clean"]
    cells = []
    for kind, lines in dict.fromkeys((row["kind"], _pasted(row)) for row in rows):
        of_kind = [row for row in rows if (row["kind"], _pasted(row)) == (kind, lines)]
        label = f"{kind}, {lines} lines" if lines else kind
        for language in dict.fromkeys(row["language"] for row in of_kind):
            own = [row for row in of_kind if row["language"] == language]
            cells.append(
                (label, language, f"{sum(row['denied'] for row in own)} of {sum(row['planted'] for row in own)}")
            )
        planted = sum(row["planted"] for row in of_kind)
        cells += [
            (label, name, f"{sum(row[key] for row in of_kind) / max(1, planted):.1%}")
            for name, key in (("all", "denied"), ("first", "first"))
        ]
    return pivot("planted function", cells)


def _pasted(row: Mapping[str, Any]) -> str:
    return row["lines"] if row["kind"].startswith("pasted") else ""


def licence_gate_clean(file: File) -> str:
    """Denials among functions of clean packages, by language."""
    rows = [
        [
            row["language"],
            f"{row['functions']:,}",
            f"{row['documents']:,}",
            str(row["alarms"]),
            str(row["other_name"]),
            f"{row['per_1000']:.2f}",
            f"{row['sure']:.2%}",
        ]
        for row in file["results"]
        if row["kind"] == "clean"
    ]
    head = ["", "clean functions", "documents", "denials", "other name", "of 1,000", "confidence ≥ .99"]
    return table(head, rows)


def licences(file: File) -> str:
    """Licences read by convention, beside ScanCode."""
    rows = [
        [
            f"{row['convention']}, {row['files']} files",
            row["scanner"],
            share_with_ends(row["recall"], row["recall_interval"]),
            share_with_ends(row["precision"], row["precision_interval"]),
            f"{row['recall_by_family']:.2f}",
            f"{row['precision_by_family']:.2f}",
        ]
        for row in file["results"][0]["conventions"]
    ]
    return table(["read from", "scanner", "recall", "precision", "recall, family", "precision, family"], rows)


def pasted_language(file: File) -> str:
    """How often the language of pasted code is found."""
    rows = [[row["language"], *(f"{row[key]:,}" for key in ("functions", "first", "among"))] for row in file["results"]]
    return table(["", "functions", "named first", "among those named"], rows)


def licence_heads(file: File) -> str:
    """Copyleft in the heads of files, by half and kind of file."""
    keys = ("gnu", "found", "gnu_unknown", "copyleft", "as_permissive", "as_copyleft", "right", "wrong")
    rows = [[f"{row['half']}, {row['kind']}", *(f"{row[key]:,}" for key in keys)] for row in file["results"]]
    titles = ["half", "GNU", "found", "unknown", "copyleft", "as permissive", "as copyleft", "right", "wrong"]
    return table(titles, rows)


def pairs(file: File) -> str:
    """Copies among all pairs of files, beside copydetect."""
    kinds = list(file["results"][0]["found"])
    rows = [
        [
            row["scanner"],
            f"{row['auroc']:.3f}",
            f"{row['average_precision']:.3f}",
            f"{row['recall']:.2f}",
            *(row["found"][kind] for kind in kinds),
        ]
        for row in file["results"]
    ]
    return table(["", "AUROC", "average precision", "recall", *kinds], rows)
