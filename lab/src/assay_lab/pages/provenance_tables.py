"""Tables on the sources of code: confidence, ranks beside other tools, licences, pairs."""

from collections.abc import Iterable, Sequence
from itertools import product
from operator import itemgetter

from assay_lab.mappings import enumerated
from assay_lab.pages.table_cells import Cell, File, pivot, pivot_of, table, table_of
from assay_lab.result_rows import grouped, where

SHARE = "{value:.1%} [{low:.1%}, {high:.1%}]"
COPIES = {
    "type 1": "type 1, as it stands",
    "type 2": "type 2, Algorithm 1",
    "renamed": "type 2, every name replaced",
    "type 3": "type 3, a quarter of the lines",
}


def _at_level(rows: Iterable[File], level: str) -> Iterable[File]:
    """Yield the rows that were counted at a level of confidence, with the share that reaches it as text."""
    for row in rows:
        if level in row["at_least"]:
            yield {**row, "share": SHARE.format_map(row["at_least"][level])}


def confidence(file: File) -> str:
    """Return the shares of texts with a match of at least .95, and of unrelated code at the other levels."""
    first = file["results"][0]
    kind = first["queries"]

    def shares(rows: Iterable[File], level: str) -> str:
        return pivot_of(
            "code traced, found by",
            _at_level(rows, level),
            line="{queries}, {by}",
            column=lambda row: f"{row['lines']} line{'s' * (row['lines'] > 1)}",
            cell="{share}",
        )

    parts = [f"Share with a match of confidence ≥ 0.95:\n\n{shares(file['results'], '0.95')}"]
    unrelated = where(file["results"], queries=kind)
    for level in filter("0.95".__ne__, first["at_least"]):
        own = shares(unrelated, level)
        parts.append(f"The same at confidence ≥ {level}, {kind} code alone:\n\n{own}")
    # reversed, so that the first row of a length is the one that stays
    sizes = {row["lines"]: row["n"] for row in reversed(file["results"])}
    texts = ", ".join(f"{n:,} of {lines}" for lines, n in sorted(sizes.items()))
    parts.append(
        f"{first['documents']:,} documents; calibrated on {first['calibrated_on']:,} functions. Texts of {kind} "
        f"code by lines: {texts}. The other levels of copied and renamed code are in the JSON file.\n"
    )
    return "\n".join(parts)


def confidence_languages(file: File) -> str:
    """Return the shares of unrelated code that reach a confidence, by language."""
    ways = {"both": "both", "fingerprints": "fingerprints alone"}
    cells = []
    for language, rows in sorted(grouped(where(file["results"], lines="all"), "language").items()):
        of_way = dict(zip(map(itemgetter("by"), rows), rows, strict=True))
        cells.append((language, "cuts traced", f"{of_way['both']['n']:,}"))
        for level, (way, words) in product(("0.95", "0.99"), ways.items()):
            share = SHARE.format_map(of_way[way]["at_least"][level])
            cells.append((language, f"{words}, ≥ {level}", share))
    return pivot("language", cells)


def confidence_of_copies(file: File) -> str:
    """Return the shares of altered copies whose own document has a confidence of .99, by each rule."""
    words = {"fused": "fused", "smallest rate": "smallest"}
    return pivot_of(
        "copies",
        sorted((row for row in file["results"] if row["by"] in words), key=itemgetter("language", "queries")),
        line="{language}, {queries}",
        column=lambda row: f"{row['lines']} lines, {words[row['by']]}",
        cell=lambda row: f"{row['at_least']['0.99']['value']:.0%} of {row['n']}",
    )


def provenance_peers(file: File) -> str:
    """Return the mean reciprocal ranks over the largest search space, every way on the same fragments."""
    largest = where(file["results"], space=file["results"][-1]["space"])
    measured = []
    for row in largest:
        measured += [{"way": row["way"], **cell} for cell in row["cells"]]
    measured.sort(key=itemgetter("window"))
    parts = []
    for kind, words in COPIES.items():
        if own := where(measured, kind=kind):
            ranks = pivot_of("way", own, line="{way}", column="{window} tokens", cell="{mrr:estimate}")
            parts.append(f"{words[0].upper()}{words[1:]}:\n\n{ranks}")
    fragments = {cell["window"]: cell["queries"] for cell in measured}
    sizes = enumerated(fragments, "{1} of {0} tokens")
    parts.append(
        f"Mean reciprocal rank and its interval among {largest[0]['space']:,} functions; fragments: {sizes}. Recall@1 "
        "and recall@10 are in the JSON file.\n"
    )
    parts.append(_settings_tried(next(filter(None, map(itemgetter("tried"), largest)), None)))
    return "\n".join(parts)


def _settings_tried(tried: Sequence[File] | None) -> str:
    if tried is None:
        return "copydetect was not installed: not measured.\n"
    first, best = tried[0], next(filter(itemgetter("best"), tried))
    ranks = sorted(map(itemgetter("mrr"), tried))
    return (
        f"copydetect has the best of {len(tried)} settings, tried on {first['queries']} fragments and "
        f"{first['documents']:,} functions: noise_threshold {best['noise']}, guarantee_threshold "
        f"{best['guarantee']}, names {'become one symbol' if best['is_filtered'] else 'are kept'}; MRR "
        f"{best['mrr']:.3f}, of all settings {ranks[0]:.3f} to {ranks[-1]:.3f}.\n"
    )


def provenance_peers_cost(file: File) -> str:
    """Time and memory by search space."""
    columns: dict[str, Cell] = {
        "functions": "{space:,}",
        "way": "{way}",
        "built": "{build_seconds:number} s",
        "a query, p50 / p95": "{query_ms[p50]:number} / {query_ms[p95]:number} ms",
        "mean": "{query_ms[mean]:number} ms",
        "memory": "{mebibytes:number} MiB",
    }
    return table_of(file["results"], columns)


def licence_gate(file: File) -> str:
    """Denials among functions of unrelated packages."""
    row = where(file["results"], kind="innocent")[0]
    rate = "{alarms_per_1000:.2f} ({alarms_per_1000_interval[0]:.2f}–{alarms_per_1000_interval[1]:.2f})"
    cells = [
        ["denials", str(_count(row["alarms"])), rate.format_map(row)],
        [
            "denials that are no copies",
            str(_count(row["false_alarms"])),
            rate.replace("alarms", "false").format_map(row),
        ],
    ]
    return table([f"{row['functions']:,} functions of {row['packages']} packages", "", "of 1,000"], cells)


def _count(alarms: int | Sequence[object]) -> int:
    # all alarms are listed, those that are false only counted
    return alarms if isinstance(alarms, int) else len(alarms)


def licence_plants(file: File) -> str:
    """Copies that the gate finds."""
    rows = [row for row in file["results"] if row["kind"] != "innocent" and row["planted"]]
    columns: dict[str, Cell] = {
        "planted function": "{kind}",
        "found": "{found} of {planted}",
        "recall": "{recall:.2f} ({interval[0]:.2f}–{interval[1]:.2f})",
    }
    return table_of(rows, columns)


def licence_gate_languages(file: File) -> str:
    """Altered copies that the gate denies, by language."""
    groups: dict[str, list[File]] = {}
    for row in file["results"]:
        if row["kind"] != "clean":
            pasted = row["kind"].startswith("pasted") and row["lines"]
            groups.setdefault(f"{row['kind']}, {row['lines']} lines" if pasted else row["kind"], []).append(row)
    cells = []
    for label, rows in groups.items():
        for language, own in grouped(rows, "language").items():
            cells.append((label, language, f"{_sum(own, 'denied')} of {_sum(own, 'planted')}"))
        planted = max(1, _sum(rows, "planted"))
        cells.append((label, "all", f"{_sum(rows, 'denied') / planted:.1%}"))
        cells.append((label, "first", f"{_sum(rows, 'first') / planted:.1%}"))
    return pivot("planted function", cells)


def _sum(rows: Iterable[File], key: str) -> int:
    return sum(map(itemgetter(key), rows))


def licence_gate_clean(file: File) -> str:
    """Denials among functions of clean packages, by language."""
    columns: dict[str, Cell] = {
        "": "{language}",
        "clean functions": "{functions:,}",
        "documents": "{documents:,}",
        "denials": "{alarms}",
        "other name": "{other_name}",
        "of 1,000": "{per_1000:.2f}",
        "confidence ≥ .99": "{sure:.2%}",
    }
    return table_of(where(file["results"], kind="clean"), columns)


def unread(file: File) -> str:
    """Verdicts on copies, on files without one and on ordinary changes, of which only the undecided are counted."""
    columns: dict[str, Cell] = {"": "{kind}", "files": "{files:,}"}
    columns |= {answer: f"{{{answer}}}" for answer in ("denied", "undecided", "clean")}
    # of a change only the files that are not read count
    empty = {"denied": "", "clean": ""}
    return table_of([empty | row for row in file["results"]], columns)


def licences(file: File) -> str:
    """Licences in real packages by what states them, beside ScanCode."""
    columns: dict[str, Cell] = {
        "": "{reader}, {kind}, half {half}",
        "files": "{files:,}",
        "right": "{right:,}",
        "share": "{share:.1%} ({interval[0]:.0%}–{interval[1]:.0%})",
        "as permissive": "{permissive:,}",
    }
    return table_of(file["results"][0]["rows"], columns)


def pasted_language(file: File) -> str:
    """How often the language of pasted code is found."""
    columns: dict[str, Cell] = {
        "": "{language}",
        "functions": "{functions:,}",
        "named first": "{first:,}",
        "among those named": "{among:,}",
    }
    return table_of(file["results"], columns)


def licence_heads(file: File) -> str:
    """Copyleft in the heads of files, by half and kind of file."""
    columns: dict[str, Cell] = {
        "half": "{half}, {kind}",
        "GNU": "{gnu:,}",
        "found": "{found:,}",
        "unknown": "{gnu_unknown:,}",
        "copyleft": "{copyleft:,}",
        "as permissive": "{as_permissive:,}",
        "as copyleft": "{as_copyleft:,}",
        "right": "{right:,}",
        "wrong": "{wrong:,}",
    }
    return table_of(file["results"], columns)


def licence_cases(file: File) -> str:
    """Heads and manifests read as a reader with the law in mind does, by reader and half."""
    columns: dict[str, Cell] = {
        "": "{reader}, {part}s, half {half}",
        "cases": "{cases:,}",
        "right": "{right:,}",
        "share": "{share:.1%} ({interval[0]:.0%}–{interval[1]:.0%})",
        "as permissive": "{permissive:,}",
    }
    return table_of(file["results"][:-1], columns)


def pairs(file: File) -> str:
    """AUROC of disguised copies beside other tools, and what stands out in courses and in small classes."""
    aurocs = where(file["results"], part="auroc")
    columns: dict[str, Cell] = {"copied": "{copied}", "": "{kind}", "sets": "{sets}", "assay": "{assay:.3f}"}
    for tool in ("dolos", "copydetect"):
        if tool in aurocs[0]:
            gain = f"over {tool}"
            interval = f"{{{gain}[value]:+.3f}} [{{{gain}[low]:+.3f}}, {{{gain}[high]:+.3f}}]"
            columns |= {tool: f"{{{tool}:.3f}}", gain: interval}
    courses = {
        "": "{language}",
        "courses": "{courses}",
        "no pair stands out": "{quiet}",
        "with copies": "{with copies}",
        "all copied": "{whole}",
        "one task copied": "{one task}",
        "of 20 lines": "{one task of 20 lines} of {of 20 lines}",
    }
    rows = where(file["results"], part="courses")
    few = {
        "3 to 7 students": "{language}",
        "classes": "{with copies}",
        "no pair": "{few quiet}",
        "all copied": "{few whole}",
        "one task copied": "{few one task}",
    }
    ways = {"": "{language}", "courses": "{courses of ways}"} | {way: f"{{ways[{way}]}}" for way in rows[0]["ways"]}
    tables = [table_of(aurocs, columns), table_of(rows, courses), table_of(rows, few), table_of(rows, ways)]
    return "\n".join(tables)


def agent_readings(file: File) -> str:
    """Return the planted readings that were found, by form and size of the patch, and the runs that were accused."""
    cells = []
    for row in file["results"]:
        if row["form"] == "as recorded":
            most = f"{row['accused']} of {row['strangers']} accused (at most {row['accused_at_most']:.1%})"
            cells.append(("no plant", f"{row['tasks']}, 3 and more", most))
        elif row["planted"]:
            place = f"{row['tasks']}, {row['lines']}"
            exact = "" if row["at_step_and_channel"] == row["found"] else f", {row['at_step_and_channel']} exact"
            strangers = "" if not row["accused"] else f", {row['accused']} of {row['strangers']} strangers accused"
            cells.append((row["form"], place, f"{row['found']} of {row['planted']}{exact}{strangers}"))
    return pivot("form", cells)
