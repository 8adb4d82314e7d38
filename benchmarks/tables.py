"""The tables of docs/benchmarks.md, made from results/*.json.

python benchmarks/tables.py            write them into the page
python benchmarks/tables.py --check    exit with 1 where the page says something else
"""

import json
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
PAGE = FOLDER.parent / "docs" / "benchmarks.md"
MARKED = re.compile(r"(<!-- table: ([\w-]+) -->\n).*?(<!-- end -->)", re.DOTALL)
UNMEASURED = "Not measured yet.\n"

File = Mapping[str, Any]
"""The content of a result file."""


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table; every column but the first is flush right."""
    rule = ["---", *["---:"] * (len(head) - 1)]
    return "".join(f"| {' | '.join(row)} |\n" for row in (head, rule, *rows))


def pivot(head: str, cells: Iterable[tuple[str, str, str]]) -> str:
    """Return a table of (row, column, text); what was not measured stays empty."""
    texts = {(row, column): text for row, column, text in cells}
    columns = list(dict.fromkeys(column for _, column in texts))
    rows = dict.fromkeys(row for row, _ in texts)
    return table([head, *columns], [[row, *(texts.get((row, column), "") for column in columns)] for row in rows])


def transposed(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table whose columns are the rows; for few rows of many quantities."""
    first, *rest = zip(head, *rows, strict=True)
    return table(first, rest)


def number(value: float) -> str:
    """Three significant digits, thousands with commas."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def times(spread: Mapping[str, float]) -> str:
    """A ratio: its median, and between which ends the rounds lay."""
    ends = "–".join(number(spread[end]) for end in ("min", "max"))
    return f"**{number(spread['median'])} ×** ({ends})"


def seconds(spread: Mapping[str, float]) -> str:
    """A median of seconds."""
    return f"{number(spread['median'])} s"


def one_pass(file: File) -> str:
    """Against the fastest bare forward pass."""
    head = ["model", "tokens", "bare, one text at a time", "bare, batches", "all scores", "tokens/s", "ratio"]
    return table(
        head,
        [
            [
                f"{entry['model']}, V = {entry['vocabulary']:,}",
                f"{entry['tokens']:,}",
                seconds(entry["seconds"]["single"]),
                seconds(entry["seconds"]["batched"]),
                seconds(entry["seconds"]["scores"]),
                number(entry["tokens_per_second"]["scores"]),
                times(entry["ratio_to_fastest"]["scores"]),
            ]
            for entry in file["results"]
        ],
    )


def srdetection(file: File) -> str:
    """Against its n + 1 forward passes."""
    head = ["model", "texts, tokens", "n + 1 bare passes", "SrDetection", "ratio", "of which variants"]
    rows = [
        [
            f"{entry['model']}, V = {entry['vocabulary']:,}",
            f"{entry['texts']}, {entry['tokens']:,}",
            seconds(entry["seconds"]["floor"]),
            seconds(entry["seconds"]["srdetection"]),
            times(entry["ratio_to_floor"]["srdetection"]),
            seconds(entry["seconds"]["variants"]),
        ]
        for entry in file["results"]
    ]
    return table(head, rows)


def peers(file: File) -> str:
    """Against a text at a time and a pass per program."""
    head = ["model", "texts", "tokens", "peers", "assay", "ratio", "largest difference"]
    return table(
        head,
        [
            [
                f"{entry['model']}, V = {entry['vocabulary']:,}",
                str(entry["texts"]),
                f"{entry['tokens']:,}",
                seconds(entry["seconds"]["peers"]),
                seconds(entry["seconds"]["assay"]),
                times(entry["ratio"]),
                f"{max(entry['largest_relative_difference'].values()):.0e}",
            ]
            for entry in file["results"]
        ],
    )


def programs(file: File) -> str:
    """What each of the peers' programs costs, and assay with all scores."""
    columns = [entry["model"] for entry in file["results"]]
    names = list(file["results"][0]["seconds_of_each_program"])
    rows = [
        [name, *(f"{number(entry['seconds_of_each_program'][name])} s" for entry in file["results"])] for name in names
    ]
    rows.append(["assay, all of their scores", *(seconds(entry["seconds"]["assay"]) for entry in file["results"])])
    return table(["program", *columns], rows)


def ngram(file: File) -> str:
    """Against generation."""
    head = [
        "model",
        "starts",
        "tokens a text",
        "prompts",
        "mean accuracy",
        "assay",
        "× generated in batches",
        "× one by one",
    ]
    return table(
        head,
        [
            [
                entry["model"],
                entry["starts"],
                number(entry["tokens"] / entry["texts"]),
                f"{entry['prompts']:,}",
                number(entry["mean_accuracy"]),
                seconds(entry["seconds"]["assay"]),
                times(entry["ratio"]["batched"]),
                times(entry["ratio"]["one by one"]) if "one by one" in entry["ratio"] else "",
            ]
            for entry in file["results"]
        ],
    )


def generation(file: File) -> str:
    """Common beginnings read once, against every prompt read whole."""
    head = [
        "model",
        "asked",
        "prompts, tokens",
        "positions: whole",
        "shared",
        "floor",
        "passes",
        "whole",
        "shared",
        "×",
    ]
    rows = [
        [
            entry["model"],
            f"`{entry['workload']}`",
            f"{entry['prompts']:,}, {entry['prompt_tokens']:,}",
            *(f"{entry['positions'][way]:,}" for way in ("whole", "shared", "floor")),
            " → ".join(f"{entry['passes'][way]:,}" for way in ("whole", "shared")),
            *(seconds(entry["seconds"][way]) for way in ("whole", "shared")),
            times(entry["ratio"]),
        ]
        for entry in file["results"]
    ]
    return transposed(head, rows)


def memory(file: File) -> str:
    """Peak growth by vocabulary."""
    ways = list(file["results"][0]["ways"])
    return table(
        ["vocabulary", *ways],
        [
            [f"{entry['vocabulary']:,}", *(f"{number(entry['ways'][way]['mebibytes'])} MiB" for way in ways)]
            for entry in file["results"]
        ],
    )


def growth(file: File) -> str:
    """Cost by number of samples."""
    (result,) = file["results"]
    rows = [
        [
            f"{entry['samples']:,}",
            f"{entry['tokens']:,.0f}",
            seconds(entry["seconds"]),
            number(entry["tokens"] / entry["seconds"]["median"]),
            f"{number(entry['mebibytes']['median'])} MiB",
        ]
        for entry in result["sizes"]
    ]
    cache = result["cache"]
    return (
        table(["samples", "tokens", "seconds", "tokens/s", "peak above the loaded model"], rows)
        + f"\nSeconds grow as samples to the power of **{result['exponent_by_samples']:.2f}**, as tokens to the power "
        f"of {result['exponent_by_tokens']:.2f}.\n\n"
        f"{cache['samples']:,.0f} samples without the cache: {number(cache['without'])} s; filling it: "
        f"{number(cache['filling'])} s; from it: **{number(cache['reading'])} s**; {number(cache['mebibytes_on_disk'])}"
        " MiB on disk.\n"
    )


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


def quantisation(file: File) -> str:
    """Return, for each score and number format, the rank correlation with float32 and the AUROC on known doses."""
    formats = list(dict.fromkeys(row["format"] for row in file["results"]))
    by_score: dict[str, dict[str, Mapping[str, Any]]] = {}
    for row in file["results"]:
        by_score.setdefault(row["score"], {})[row["format"]] = row
    rows = []
    for score, cells in by_score.items():
        first = next(iter(cells.values()))
        shown = [f"{cells[kind]['rank_correlation']:.3f}, {cells[kind]['auroc']:.3f}" for kind in formats]
        rows.append([f"`{score}`", f"{first['auroc_float32']:.3f}", *shown])
    texts = max(row["texts"] for row in file["results"])
    return table(["score", "float32: AUROC", *formats], rows) + f"\n{texts} functions of known dose.\n"


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
    rows = []
    for language in sorted({row["language"] for row in every}):
        of_way = {row["by"]: row for row in every if row["language"] == language}
        cells = []
        for level in ("0.95", "0.99"):
            for way in ways:
                share = of_way[way]["at_least"][level]
                cells.append(f"{share['value']:.1%} [{share['low']:.1%}, {share['high']:.1%}]")
        rows.append([language, f"{of_way['both']['n']:,}", *cells])
    return table(head, rows)


def scale(file: File) -> str:
    """Return cost and memory of a build by fingerprints, and milliseconds of its queries, by size."""
    head = ["functions", "build, processor time", "peak memory", "largest log", "bytes a posting", "segments"]
    head += ["look-up, p50 / p95 / p99", "trace, p50 / p95 / p99", "checksums of ten documents"]

    def latency(spread: Mapping[str, float]) -> str:
        return " / ".join(f"{spread[share]:.2f}" for share in ("p50", "p95", "p99")) + " ms"

    rows = [
        [
            f"{entry['documents']:,}",
            f"{entry['seconds']:.0f} s",
            f"{entry['peak_mebibytes']:,.0f} MiB",
            f"{entry['log_mebibytes']:.0f} MiB",
            f"{entry['bytes_a_posting']:.1f}",
            str(entry["segments"]),
            latency(entry["lookup"]),
            latency(entry["trace"]),
            f"{entry['check']['read_ten_ms'] - entry['check']['without_comparison_ms']:.2f} ms",
        ]
        for entry in file["results"]
    ]
    return transposed(head, rows)


def variants(file: File) -> str:
    """Yield and speed, and what original and variants were held against."""
    head = [
        "texts",
        "samples",
        "with ten",
        "variants",
        "a second, one core",
        "the same bytecode",
        "the same under tests",
    ]
    rows = []
    for entry in file["results"]:
        compared, tested = entry.get("bytecode", {}).get("compared"), entry.get("tests", {}).get("variants")
        rows.append(
            [
                entry["texts"],
                f"{entry['samples']:,}",
                f"{entry['with_ten']:,} ({entry['with_ten'] / entry['samples']:.1%})",
                f"{entry['variants']:,}",
                number(entry["variants_per_second"]["median"]),
                f"{compared:,} of {compared:,}" if compared else "",
                f"{tested:,} of {tested:,}" if tested else "",
            ]
        )
    return table(head, rows)


def test_cases(file: File) -> str:
    """Yield of other test cases, and why the rest has none."""
    rows = [
        [
            entry["texts"],
            f"{entry['samples']:,}",
            f"{entry['with_ten']:,} ({entry['with_ten'] / entry['samples']:.1%})",
            f"{entry['with_some']:,}",
            "; ".join(f"{count} {why}" for why, count in entry["fewer_because"].items()),
            f"{entry['replaced']:,} of {entry['stated_tests']:,}",
            f"{entry['confirmed']['tests']:,} of {entry['confirmed']['tests']:,}",
            f"{number(entry['samples'] / entry['seconds'])}",
        ]
        for entry in file["results"]
    ]
    head = ["texts", "tasks", "with ten", "with some", "fewer because", "stated tests replaced"]
    return transposed([*head, "new tests confirmed", "tasks a second"], rows)


def variant_kinds(file: File) -> str:
    """SrDetection with one kind of variants and with another, AUROC of each beside that of names alone."""

    def points(value: Sequence[float] | None) -> str:
        return "" if value is None else f"{value[0]:.3f} [{value[1]:.3f}, {value[2]:.3f}]"

    rows = [
        [
            f"{entry['epoch']}, {entry['view']}",
            entry["kind"],
            f"{entry['members']} + {entry['nonmembers']}",
            points(entry["auroc"]),
            points(entry.get("auroc_over_names")),
            f"{entry['macro_f1'][0]:.0%} [{entry['macro_f1'][1]:.0%}, {entry['macro_f1'][2]:.0%}]",
            f"{entry['rule_on_nonmembers']:.0%}",
        ]
        for entry in file["results"]
    ]
    head = [
        "epochs, texts",
        "variants have other",
        "members + others",
        "AUROC",
        "over names alone",
        "macro-F1 of the rule",
    ]
    return table([*head, "rule on others"], rows)


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


def classifier_reading(file: File) -> str:
    """Speed at which the light classifiers read source text."""
    rows = [
        [
            entry["way"],
            f"{entry['megabytes']:.1f} MB",
            f"{number(entry['megabytes_per_second']['median'])} MB/s",
        ]
        for entry in file["results"]
    ]
    return table(["from text to", "read", "speed, one core"], rows)


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
    rows = [one for one in file["results"] if one["part"] == part and figure in (None, one["figure"])]
    groups = sorted({one["groups"] for one in rows})
    lines = []
    for name in dict.fromkeys(one[by] for one in rows):
        cells = []
        for count in groups:
            at = [
                one
                for one in rows
                if one[by] == name and one["groups"] == count and 2 * one["intervals"] > one["studies"]
            ]
            shares, widths = ([one[key] for one in at] for key in ("coverage", "width"))
            cells.append(
                f"{min(shares):.1%}, {sum(shares) / len(at):.1%}; {sum(widths) / len(at):.3f}" if at else "no interval"
            )
        lines.append([str(name), *cells])
    studies = max(one["studies"] for one in rows)
    heads = [f"{count} groups a class" for count in groups]
    return f"{table([by, *heads], lines)}\n{studies} studies a cell.\n"


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


def estimate(values: Mapping[str, float]) -> str:
    """A share and its interval."""
    return f"{values['value']:.3f} ({values['low']:.3f}–{values['high']:.3f})"


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


def machine(files: Mapping[str, File]) -> str:
    """On what it was measured; scripts may have run on different machines."""
    described = set()
    for file in files.values():
        if "machine" not in file:  # a report that a command wrote, without the frame of `measuring.write`
            continue
        on = file["machine"]
        described.add(
            f"- {on.get('gpu', on['processor'])}, {on['cores']} cores, {on['torch_threads']} torch threads, "
            f"{on['device']}; Python {on['python']}, torch {on['torch']}, transformers {on['transformers']}; "
            f"{file['measured']}\n"
        )
    return "".join(sorted(described)) or UNMEASURED


def share_with_ends(value: float, ends: Sequence[float]) -> str:
    """A share with its 95 % interval."""
    return f"{value:.2f} ({ends[0]:.2f}–{ends[1]:.2f})"


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


def dataset(file: File) -> str:
    """Methods on whole benchmarks: seconds, memory, calls, and effect by dose."""
    rows = []
    for part in file["results"]:
        for row in part["rows"]:
            name = f"{part['part']}, n = {part['n']}: {row['way']}"
            if "seconds" in row:
                memory = f", {number(row['megabytes'])} MB" if "megabytes" in row else ""
                rows.append([name, f"{number(sorted(row['seconds'])[len(row['seconds']) // 2])} s{memory}"])
            elif "calls" in row:
                rows.append([name, f"{number(row['calls'])} a sample, {number(row['tokens'])} × its tokens"])
            else:
                rows.append([name, f"superiority {number(row['superiority'])}, top tenth {number(row['top'])}"])
    return table(["what", "median"], rows)


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


TABLES: Mapping[str, tuple[str, Callable[[File], str]]] = {
    "one-pass": ("one_pass", one_pass),
    "srdetection": ("srdetection", srdetection),
    "peers": ("peers", peers),
    "programs": ("peers", programs),
    "ngram": ("ngram", ngram),
    "generation": ("generation", generation),
    "memory": ("memory", memory),
    "growth": ("growth", growth),
    "calibration": ("calibration", calibration),
    "quantisation": ("quantisation", quantisation),
    "fingerprints": ("fingerprints", fingerprints),
    "classifier-reading": ("classifier_reading", classifier_reading),
    "confidence": ("confidence", confidence),
    "confidence-languages": ("confidence_languages", confidence_languages),
    "index": ("index", index),
    "scale": ("scale", scale),
    "licences": ("licences", licences),
    "licence-gate": ("licence_gate", licence_gate),
    "licence-plants": ("licence_gate", licence_plants),
    "pairs": ("pairs", pairs),
    "provenance-peers": ("provenance_peers", provenance_peers),
    "provenance-peers-cost": ("provenance_peers", provenance_peers_cost),
    "service": ("service", service),
    "dataset": ("dataset", dataset),
    "dose-power": ("set_power", dose_power),
    "strict-min": ("set_power", strict_min),
    "detector-ideas": ("detector_ideas", detector_ideas),
    "set-null": ("detector_ideas", set_null),
    "set-power": ("detector_ideas", set_power),
    "interval-methods": ("interval_coverage", interval_methods),
    "interval-figures": ("interval_coverage", interval_figures),
    "flagged-share": ("flagged_share", flagged_share),
    "length-shift": ("length_shift", length_shift),
    "variants": ("variants", variants),
    "index_build": ("index_build", index_build),
    "points": ("points", points),
    "vectors": ("vectors", vectors),
    "encoder": ("encoder", encoder),
    "encoder-speed": ("encoder", encoder_speed),
    "variants-languages": ("variants_languages", variants),
    "test-cases": ("test_cases", test_cases),
    "variant-kinds": ("variant_kinds", variant_kinds),
}
"""Name of a table in the page → file it is made from, and how."""


def rendered(page: str, folder: Path) -> str:
    """The page with every marked table as the files in `folder` have it, those of a GPU below those of the CPU."""
    files = {path.stem: json.loads(path.read_text("utf-8")) for path in sorted(folder.glob("*.json"))}

    def of(name: str) -> str:
        if name == "machine":
            return machine(files)
        stem, make = TABLES[name]
        parts = [make(files[stem])] if stem in files else [UNMEASURED]
        if f"{stem}-cuda" in files:
            parts.append(f"\nOn a GPU:\n\n{make(files[f'{stem}-cuda'])}")
        return "".join(parts)

    return MARKED.sub(lambda mark: f"{mark[1]}\n{of(mark[2])}\n{mark[3]}", page)


def main() -> int:
    """Write or check the page."""
    before = PAGE.read_text("utf-8")
    after = rendered(before, FOLDER / "results")
    if "--check" in sys.argv[1:]:
        if before != after:
            print("docs/benchmarks.md is not what benchmarks/tables.py makes of benchmarks/results", file=sys.stderr)
        return int(before != after)
    PAGE.write_text(after, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
