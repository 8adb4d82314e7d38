"""The tables of docs/benchmarks.md, made from results/*.json.

python benchmarks/tables.py            write them into the page
python benchmarks/tables.py --check    exit with 1 where the page says something else
"""

import json
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
PAGE = FOLDER.parent / "docs" / "benchmarks.md"
MARKED = re.compile(r"(<!-- table: ([\w-]+) -->\n).*?(<!-- end -->)", re.DOTALL)
UNMEASURED = "Not measured yet.\n"

File = Mapping[str, Any]
"""What one script wrote."""


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table; every column but the first is flush right."""
    rule = ["---", *["---:"] * (len(head) - 1)]
    return "".join(f"| {' | '.join(row)} |\n" for row in (head, rule, *rows))


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
    """Against the bare forward pass."""
    head = ["model", "tokens", "bare", "all scores", "tokens/s", "ratio"]
    return table(
        head,
        [
            [
                f"{one['model']}, V = {one['vocabulary']:,}",
                f"{one['tokens']:,}",
                seconds(one["seconds"]["bare"]),
                seconds(one["seconds"]["scores"]),
                number(one["tokens_per_second"]["scores"]),
                times(one["ratio_to_bare"]["scores"]),
            ]
            for one in file["results"]
        ],
    )


def srdetection(file: File) -> str:
    """Against its n + 1 forward passes."""
    head = ["model", "texts, tokens", "n + 1 bare passes", "SrDetection", "ratio", "of which variants"]
    rows = [
        [
            f"{one['model']}, V = {one['vocabulary']:,}",
            f"{one['texts']}, {one['tokens']:,}",
            seconds(one["seconds"]["floor"]),
            seconds(one["seconds"]["srdetection"]),
            times(one["ratio_to_floor"]["srdetection"]),
            seconds(one["seconds"]["variants"]),
        ]
        for one in file["results"]
    ]
    return table(head, rows)


def peers(file: File) -> str:
    """Against a text at a time and a pass per program."""
    head = ["model", "texts", "tokens", "peers", "assay", "ratio", "largest difference"]
    return table(
        head,
        [
            [
                f"{one['model']}, V = {one['vocabulary']:,}",
                str(one["texts"]),
                f"{one['tokens']:,}",
                seconds(one["seconds"]["peers"]),
                seconds(one["seconds"]["assay"]),
                times(one["ratio"]),
                f"{max(one['largest_relative_difference'].values()):.0e}",
            ]
            for one in file["results"]
        ],
    )


def programs(file: File) -> str:
    """What each of the peers' programs costs, and assay with all scores."""
    columns = [one["model"] for one in file["results"]]
    names = list(file["results"][0]["seconds_of_each_program"])
    rows = [[name, *(f"{number(one['seconds_of_each_program'][name])} s" for one in file["results"])] for name in names]
    rows.append(["assay, all of their scores", *(seconds(one["seconds"]["assay"]) for one in file["results"])])
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
                one["model"],
                one["starts"],
                number(one["tokens"] / one["texts"]),
                f"{one['prompts']:,}",
                number(one["mean_accuracy"]),
                seconds(one["seconds"]["assay"]),
                times(one["ratio"]["batched"]),
                times(one["ratio"]["one by one"]) if "one by one" in one["ratio"] else "",
            ]
            for one in file["results"]
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
            one["model"],
            f"`{one['workload']}`",
            f"{one['prompts']:,}, {one['prompt_tokens']:,}",
            *(f"{one['positions'][way]:,}" for way in ("whole", "shared", "floor")),
            " → ".join(f"{one['passes'][way]:,}" for way in ("whole", "shared")),
            *(seconds(one["seconds"][way]) for way in ("whole", "shared")),
            times(one["ratio"]),
        ]
        for one in file["results"]
    ]
    return table(head, rows)


def memory(file: File) -> str:
    """Peak growth by vocabulary."""
    ways = list(file["results"][0]["ways"])
    return table(
        ["vocabulary", *ways],
        [
            [f"{one['vocabulary']:,}", *(f"{number(one['ways'][way]['mebibytes'])} MiB" for way in ways)]
            for one in file["results"]
        ],
    )


def growth(file: File) -> str:
    """Cost by number of samples."""
    (found,) = file["results"]
    rows = [
        [
            f"{one['samples']:,}",
            f"{one['tokens']:,.0f}",
            seconds(one["seconds"]),
            number(one["tokens"] / one["seconds"]["median"]),
            f"{number(one['mebibytes']['median'])} MiB",
        ]
        for one in found["sizes"]
    ]
    cache = found["cache"]
    return (
        table(["samples", "tokens", "seconds", "tokens/s", "peak above the loaded model"], rows)
        + f"\nSeconds grow as samples to the power of **{found['exponent_by_samples']:.2f}**, as tokens to the power "
        f"of {found['exponent_by_tokens']:.2f}.\n\n"
        f"{cache['samples']:,.0f} samples without the cache: {number(cache['without'])} s; filling it: "
        f"{number(cache['filling'])} s; from it: **{number(cache['reading'])} s**; {number(cache['mebibytes_on_disk'])}"
        " MiB on disk.\n"
    )


def calibration(file: File) -> str:
    """False positives over many splits of unseen text."""
    nominal = [one["alpha"] for one in file["results"][0]["rates"]]
    head = ["score", *(f"at {alpha:.0%}: mean, 90 % of splits" for alpha in nominal)]
    rows = [
        [
            f"`{one['score']}`",
            *(f"{rate['mean']:.1%}, {rate['quantiles'][0]:.1%} to {rate['quantiles'][1]:.1%}" for rate in one["rates"]),
        ]
        for one in file["results"]
    ]
    first = file["results"][0]
    return table(head, rows) + f"\n{first['splits']} splits of {first['functions']} never-seen functions.\n"


def confidence(file: File) -> str:
    """Shares of texts with a match of at least each confidence."""
    levels = list(file["results"][0]["at_least"])
    head = ["code traced", "lines", "found by", "texts", *(f"confidence ≥ {level}" for level in levels)]
    rows = [
        [
            one["queries"],
            str(one["lines"]),
            one["by"],
            f"{one['n']:,}",
            *(
                f"{share['value']:.1%} [{share['low']:.1%}, {share['high']:.1%}]"
                for share in (one["at_least"][level] for level in levels)
            ),
        ]
        for one in file["results"]
    ]
    first = file["results"][0]
    told = f"{first['documents']:,} documents; calibrated on {first['calibrated_on']:,} functions.\n"
    return f"{table(head, rows)}\n{told}"


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
    for one in file["results"]:
        compared, tested = one.get("bytecode", {}).get("compared"), one.get("tests", {}).get("variants")
        rows.append(
            [
                one["texts"],
                f"{one['samples']:,}",
                f"{one['with_ten']:,} ({one['with_ten'] / one['samples']:.1%})",
                f"{one['variants']:,}",
                number(one["variants_per_second"]["median"]),
                f"{compared:,} of {compared:,}" if compared else "",
                f"{tested:,} of {tested:,}" if tested else "",
            ]
        )
    return table(head, rows)


def test_cases(file: File) -> str:
    """Yield of other test cases, and why the rest has none."""
    rows = [
        [
            one["texts"],
            f"{one['samples']:,}",
            f"{one['with_ten']:,} ({one['with_ten'] / one['samples']:.1%})",
            f"{one['with_some']:,}",
            "; ".join(f"{count} {why}" for why, count in one["fewer_because"].items()),
            f"{one['replaced']:,} of {one['stated_tests']:,}",
            f"{one['confirmed']['tests']:,} of {one['confirmed']['tests']:,}",
            f"{number(one['samples'] / one['seconds'])}",
        ]
        for one in file["results"]
    ]
    head = ["texts", "tasks", "with ten", "with some", "fewer because", "stated tests replaced"]
    return table([*head, "new tests confirmed", "tasks a second"], rows)


def variant_kinds(file: File) -> str:
    """SrDetection with one kind of variants and with another, AUROC of each beside that of names alone."""

    def points(value: Sequence[float] | None) -> str:
        return "" if value is None else f"{value[0]:.3f} [{value[1]:.3f}, {value[2]:.3f}]"

    rows = [
        [
            f"{one['epoch']}, {one['view']}",
            one["kind"],
            f"{one['members']} + {one['nonmembers']}",
            points(one["auroc"]),
            points(one.get("auroc_over_names")),
            f"{one['macro_f1'][0]:.0%} [{one['macro_f1'][1]:.0%}, {one['macro_f1'][2]:.0%}]",
            f"{one['rule_on_nonmembers']:.0%}",
        ]
        for one in file["results"]
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
            one["way"],
            f"{one['megabytes']:.1f} MB",
            f"{number(one['megabytes_per_second']['median'])} MB/s",
            times(one["times_as_fast_as_scanoss"]) if one["times_as_fast_as_scanoss"] else "",
        ]
        for one in file["results"]
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
            one["corpus"],
            {"both": "files and functions", "file": "files", "function": "functions"}[one["granularity"]],
            f"`{one['encoder']}`" if one["encoder"] else "none",
            f"{one['files_read']:,}",
            f"{one['megabytes']:.1f} MB",
            number(one["files_per_second"]),
            str(one["processes"]),
            f"{number(one['megabytes_per_second'])} MB/s",
            f"{one['documents']:,}",
            number(one["bytes"]["postings"] / one["postings"]),
            f"{sum(one['bytes'].values()) / 1e6:.1f} MB",
            f"{number(one['again']['seconds'])} s, {one['again']['bytes_read']:,} bytes read",
        ]
        for one in file["results"]
    ]
    skipped = file["results"][-1]["skipped"]
    passed = ", ".join(f"{count:,} {reason}" for reason, count in sorted(skipped.items(), key=lambda pair: -pair[1]))
    return table(head, rows) + f"\nPassed over in the last row's corpus: {passed or 'nothing'}.\n"


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
            {"both": "files and functions", "function": "functions"}[one["granularity"]],
            f"{one['files']:,}",
            f"{one['megabytes']:.1f} MB",
            f"{one['documents']:,}",
            number(one["postings"] / one["documents"]),
            f"{one['bytes']['point'] / one['documents']:,.0f} bytes",
            *(f"{one['bytes'][part] / one['documents']:,.0f}" for part in ("text", "hashes", "dense")),
            f"{number(one['documents'] / one['reading_seconds'])} documents/s",
            f"{number(one['documents'] / one['making_seconds'])} documents/s",
            f"{one['distinct_fingerprints']:,}",
            f"{one['foreign_fingerprints']:,}",
            number(one["foreign_by_chance"]),
        ]
        for one in file["results"]
    ]
    return table(head, rows)


def vectors(file: File) -> str:
    """What a search by vector finds and takes, all vectors compared or by a graph."""
    head = ["asked for", "vectors", "looked at", "source in 100", "in 400", "of the nearest 100 found", "p50 / p95"]
    rows = [
        [
            one["queries"],
            f"{one['documents']:,}",
            "all" if one["in_sight"] is None else f"graph, {one['in_sight']:,} in sight",
            f"{one['source_in_100']:.3f}",
            "" if one["source_in_400"] is None else f"{one['source_in_400']:.3f}",
            f"{one['share_of_nearest_100']:.0%}",
            f"{number(one['p50_ms'])} / {number(one['p95_ms'])} ms",
        ]
        for one in file["results"]
    ]
    return table(head, rows)


def encoder(file: File) -> str:
    """Mean reciprocal ranks of vector search, every way on the same fragments."""
    cells = [one for one in file["results"] if "copy" in one]
    ways = list(dict.fromkeys(one["way"] for one in cells))
    by_cell: dict[tuple[str, int], list[str]] = {}
    for one in cells:
        mrr = one["mrr"]
        told = f"{mrr['value']:.3f} ({mrr['low']:.3f}–{mrr['high']:.3f}); {one['recall_100']['value']:.3f}"
        by_cell.setdefault((one["copy"], one["tokens"]), []).append(told)
    rows = [[copy, str(tokens), *told] for (copy, tokens), told in by_cell.items()]
    rows.sort(key=lambda row: [one["copy"] for one in cells].index(row[0]))
    first = file["results"][0]
    return table(["copy", "tokens", *ways], rows) + (
        f"\nMRR, its interval; recall@100. {first['functions']:,} functions, {cells[0]['queries']} fragments a row.\n"
    )


def encoder_speed(file: File) -> str:
    """Texts a second."""
    first = file["results"][0]
    rows = [[name, number(one["median"])] for name, one in first["per_second"].items()]
    return table(["texts", "a second, one core"], rows) + (
        f"\n{first['dimensions']} dimensions, {first['weights_bytes'] / 1e6:.1f} MB of weights.\n"
    )


def index(file: File) -> str:
    """The index of code by size: building, bytes, queries."""

    def latency(found: Mapping[str, float] | None) -> str:
        return f"{number(found['p50'])} / {number(found['p95'])} ms" if found else ""

    head = ["documents", "copies", "built a second", "peak memory", "bytes a posting", "in all", "segments"]
    rows = [
        [
            f"{one['documents']:,}",
            f"{one['copies'] / one['documents']:.0%}",
            number(one["documents_per_second"]),
            f"{number(one['peak_mebibytes'])} MiB",
            number(one["bytes_a_posting"]),
            f"{number(sum(one['bytes'].values()) / 1e6)} MB",
            str(one["segments"]),
        ]
        for one in file["results"]
    ]
    asked = ["documents", "postings met, p50 / p95", "lookup", "from text", "trace, with vectors", "snippet in first"]
    answers = [
        [
            f"{one['documents']:,}",
            f"{one['postings_met']['p50']:,.0f} / {one['postings_met']['p95']:,.0f}",
            latency(one["lookup"]),
            latency(one["fingerprints"]),
            latency(one.get("trace")),
            f"{one['snippet_in_first']:.1%}",
        ]
        for one in file["results"]
    ]
    vectors = [
        [
            f"{one['documents']:,}",
            number(one["with_vectors"]["documents_per_second"]),
            f"{number(one['with_vectors']['peak_mebibytes'])} MiB",
            f"{number(one['with_vectors']['bytes'] / 1e6)} MB",
        ]
        for one in file["results"]
        if "with_vectors" in one
    ]
    with_vectors = table(["documents, with vectors", "built a second", "peak memory", "vectors"], vectors)
    return f"{table(head, rows)}\n{with_vectors}\n{table(asked, answers)}"


def detector_ideas(file: File) -> str:
    """Every idea on every seed, best first within its family, with its distance from Mid-PIT."""
    found = file["results"][0]
    seeds = [one["seed"] for one in found["table"][0]["cells"]]
    rows = []
    for one in sorted(found["table"], key=lambda one: (one["family"], -one["cells"][0]["auroc"])):
        told = []
        for at in one["cells"]:
            over = at.get("over_mid_pit")
            told.append(f"{at['auroc']:.3f}" + (f" ({over[0]:+.3f}; {over[1]:+.3f} to {over[2]:+.3f})" if over else ""))
        rows.append([one["family"], one["idea"], *told])
    picked = "".join(
        f"- {one['family']}: {one['idea']}. Above Mid-PIT, Min-K%++ and `sr_gray` on every other seed: "
        f"{'yes' if one['above_all_rivals_on_every_other_seed'] else 'no'}.\n"
        for one in found["chosen"]
    )
    head = ["family", "idea", *(f"seed {seed}" for seed in seeds)]
    return f"{table(head, rows)}\nThe best of each family on the first seed:\n\n{picked}"


def set_null(file: File) -> str:
    """How often clean sets are called leaked."""
    rows = [
        [
            one["model"],
            f"{one['texts']:,}",
            str(one["groups"]),
            str(one["splits"]),
            *(f"{share:.1%}" for way in ("by group", "Wilcoxon by sample") for share in one["flagged"][way]),
        ]
        for one in file["results"][1]["null"]
    ]
    ways = [f"{way}, at {level}" for way in ("by group", "by sample") for level in ("5%", "10%")]
    return table(["model", "clean texts", "packages", "splits", *ways], rows)


def set_power(file: File) -> str:
    """How often sets that were seen once, and clean ones, are called leaked at 5 %."""

    def told(found: Sequence[float]) -> str:
        return f"{found[0]:.1%} [{found[1]:.1%}, {found[2]:.1%}]"

    rows = [
        [str(one["size"]), told(one["members"]), told(one["clean"]), str(one["sets"])]
        for one in file["results"][1]["sets"]
    ]
    return table(["functions in the set", "seen once", "clean", "sets of each kind"], rows)


def interval_methods(file: File) -> str:
    """Coverage of the AUROC's interval by method and number of groups: the lowest cell, the mean, the mean width."""
    return _coverage(file, "choice", "method", "auroc")


def interval_figures(file: File) -> str:
    """Coverage of the chosen method by figure, on laws and seeds that it was not chosen on."""
    return _coverage(file, "confirmation", "figure", None)


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
    """Quality over the largest search space, every way on the same fragments."""
    largest = [one for one in file["results"] if one["space"] == file["results"][-1]["space"]]
    by_cell = [(one["way"], cell) for one in largest for cell in one["cells"]]
    by_cell.sort(key=lambda pair: (list(COPIES).index(pair[1]["kind"]), pair[1]["window"]))
    figures = ("mrr", "recall@1", "recall@10")
    rows = [
        [
            COPIES[cell["kind"]],
            str(cell["window"]),
            str(cell["queries"]),
            way,
            *(estimate(cell[one]) for one in figures),
        ]
        for way, cell in by_cell
    ]
    told = f"\n{largest[0]['space']:,} functions.\n"
    tried = next((one["tried"] for one in largest if one["tried"]), None)
    if tried:
        settings = table(
            ["copydetect: noise_threshold", "guarantee_threshold", "names become one symbol", "MRR"],
            [
                [
                    str(one["noise"]),
                    str(one["guarantee"]),
                    "yes" if one["is_filtered"] else "no",
                    f"**{one['mrr']:.3f}**" if one["best"] else f"{one['mrr']:.3f}",
                ]
                for one in tried
            ],
        )
        first = tried[0]
        told += f"\nSettings tried, {first['queries']} fragments, {first['documents']:,} functions:\n\n{settings}"
    else:
        told += "\ncopydetect was not installed: not measured.\n"
    return table(["copy", "tokens", "fragments", "way", "MRR", "recall@1", "recall@10"], rows) + told


COPIES = {
    "type 1": "type 1, as it stands",
    "type 2": "type 2, Algorithm 1",
    "renamed": "type 2, every name replaced",
    "type 3": "type 3, a quarter of the lines",
}


def estimate(found: Mapping[str, float]) -> str:
    """A share and its interval."""
    return f"{found['value']:.3f} ({found['low']:.3f}–{found['high']:.3f})"


def provenance_peers_cost(file: File) -> str:
    """Time and memory by search space."""
    rows = [
        [
            f"{one['space']:,}",
            one["way"],
            f"{number(one['build_seconds'])} s",
            f"{number(one['query_ms']['p50'])} / {number(one['query_ms']['p95'])} ms",
            f"{number(one['query_ms']['mean'])} ms",
            f"{number(one['mebibytes'])} MiB",
        ]
        for one in file["results"]
    ]
    return table(["functions", "way", "built", "a query, p50 / p95", "mean", "memory"], rows)


def dose_power(file: File) -> str:
    """How often sets are called leaked, by dose and size."""
    found = file["results"][0]["rows"]
    rows: dict[int, list[str]] = {}
    for one in found:
        value, low, high = one["found"]
        rows.setdefault(one["dose"], []).append(f"{value:.0%} [{low:.0%}, {high:.0%}]")
    sizes = dict.fromkeys(one["size"] for one in found)
    lines = [[f"{dose} ×" if dose else "never", *told] for dose, told in rows.items()]
    return f"{table(['seen', *(f'{size} functions' for size in sizes)], lines)}\n{found[0]['sets']} sets a cell.\n"


def strict_min(file: File) -> str:
    """What the strict rule flags of never-seen functions."""
    found = file["results"][1]["rows"]
    rows = []
    for one in found:
        value, low, high = one["flagged"]
        rows.append([str(one["made"]), f"{value:.0%} [{low:.0%}, {high:.0%}]", f"{one['chance']:.1%}"])
    head = ["variants", "never-seen functions flagged", "if names meant nothing"]
    return f"{table(head, rows)}\n{found[0]['functions']} functions.\n"


def service(file: File) -> str:
    """Answers a second and how long they take, by the number of clients."""
    head = ["documents", "clients", "answers a second", "p50", "p95", "p99", "errors", "memory before and after"]
    rows = [
        [
            f"{one['documents']:,}",
            str(one["clients"]),
            number(one["answers_per_second"]),
            *(f"{number(one[f'{name}_ms'])} ms" for name in ("p50", "p95", "p99")),
            f"{one['errors']} of {one['answers'] + one['errors']:,}",
            f"{one['memory_before_mib']:.0f}, {one['memory_after_mib']:.0f} MiB",
        ]
        for one in file["results"]
    ]
    return table(head, rows)


def machine(files: Mapping[str, File]) -> str:
    """On what it was measured; scripts may have run on different machines."""
    described = set()
    for file in files.values():
        on = file["machine"]
        described.add(
            f"- {on.get('gpu', on['processor'])}, {on['cores']} cores, {on['torch_threads']} torch threads, "
            f"{on['device']}; Python {on['python']}, torch {on['torch']}, transformers {on['transformers']}; "
            f"{file['measured']}\n"
        )
    return "".join(sorted(described)) or UNMEASURED


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
    "fingerprints": ("fingerprints", fingerprints),
    "confidence": ("confidence", confidence),
    "index": ("index", index),
    "provenance-peers": ("provenance_peers", provenance_peers),
    "provenance-peers-cost": ("provenance_peers", provenance_peers_cost),
    "service": ("service", service),
    "dose-power": ("set_power", dose_power),
    "strict-min": ("set_power", strict_min),
    "detector-ideas": ("detector_ideas", detector_ideas),
    "set-null": ("detector_ideas", set_null),
    "set-power": ("detector_ideas", set_power),
    "interval-methods": ("interval_coverage", interval_methods),
    "interval-figures": ("interval_coverage", interval_figures),
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

    return MARKED.sub(lambda found: f"{found[1]}\n{of(found[2])}\n{found[3]}", page)


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
