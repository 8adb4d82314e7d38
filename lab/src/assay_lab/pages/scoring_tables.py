"""Tables on the cost of scores and variants, and on what number formats do to scores."""

from collections.abc import Mapping, Sequence
from typing import Any

from assay_lab.pages.table_cells import File, number, seconds, table, times, transposed


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
    head = ["model", "names", "texts, tokens", "n + 1 bare passes", "SrDetection", "ratio", "of which variants"]
    head.append("before the first change")
    rows = [
        [
            f"{entry['model']}, V = {entry['vocabulary']:,}",
            entry["rename"],
            f"{entry['texts']}, {entry['tokens']:,}",
            seconds(entry["seconds"][entry["fastest"]]),
            seconds(entry["seconds"]["srdetection"]),
            times(entry["ratio_to_floor"]["srdetection"]),
            seconds(entry["seconds"]["variants"]),
            f"{100 * entry['before_change']:.0f} %" if "before_change" in entry else "–",
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
                plain = f"superiority {number(row['superiority'])}, top tenth {number(row['top'])}"
                beyond = f"{number(row['superiority_beyond'])} and {number(row['top_beyond'])} beyond the allowance"
                rows.append([name, f"{plain}; {beyond}"])
    return table(["what", "median"], rows)
