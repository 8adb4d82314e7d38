"""Tables on the cost of scores and variants, and on what number formats do to scores."""

from collections.abc import Sequence
from operator import itemgetter

from assay_lab.mappings import enumerated
from assay_lab.pages.table_cells import Cell, File, filled, number, pivot, seconds, table, table_of, times, transposed

MODEL = "{model}, V = {vocabulary:,}"


def one_pass(file: File) -> str:
    """Against the fastest bare forward pass."""
    columns: dict[str, Cell] = {
        "model": MODEL,
        "tokens": "{tokens:,}",
        "bare, one text at a time": "{seconds[single]:seconds}",
        "bare, batches": "{seconds[batched]:seconds}",
        "all scores": "{seconds[scores]:seconds}",
        "tokens/s": "{tokens_per_second[scores]:number}",
        "ratio": "{ratio_to_fastest[scores]:times}",
    }
    return table_of(file["results"], columns)


def srdetection(file: File) -> str:
    """Against its n + 1 forward passes."""
    columns: dict[str, Cell] = {
        "model": MODEL,
        "names": "{rename}",
        "texts, tokens": "{texts}, {tokens:,}",
        "n + 1 bare passes": lambda entry: seconds(entry["seconds"][entry["fastest"]]),
        "SrDetection": "{seconds[srdetection]:seconds}",
        "ratio": "{ratio_to_floor[srdetection]:times}",
        "of which variants": "{seconds[variants]:seconds}",
        "before the first change": lambda entry: (
            f"{100 * entry['before_change']:.0f} %" if "before_change" in entry else "–"
        ),
    }
    return table_of(file["results"], columns)


def peers(file: File) -> str:
    """Against a text at a time and a pass per program."""
    columns: dict[str, Cell] = {
        "model": MODEL,
        "texts": "{texts}",
        "tokens": "{tokens:,}",
        "peers": "{seconds[peers]:seconds}",
        "assay": "{seconds[assay]:seconds}",
        "ratio": "{ratio:times}",
        "largest difference": lambda entry: f"{max(entry['largest_relative_difference'].values()):.0e}",
    }
    return table_of(file["results"], columns)


def programs(file: File) -> str:
    """What each of the peers' programs costs, and assay with all scores."""
    cells = []
    for entry in file["results"]:
        for program, value in entry["seconds_of_each_program"].items():
            cells.append((program, entry["model"], f"{number(value)} s"))
        cells.append(("assay, all of their scores", entry["model"], seconds(entry["seconds"]["assay"])))
    return pivot("program", cells)


def ngram(file: File) -> str:
    """Against generation."""
    columns: dict[str, Cell] = {
        "model": "{model}",
        "starts": "{starts}",
        "tokens a text": lambda entry: number(entry["tokens"] / entry["texts"]),
        "prompts": "{prompts:,}",
        "mean accuracy": "{mean_accuracy:number}",
        "assay": "{seconds[assay]:seconds}",
        "× generated in batches": "{ratio[batched]:times}",
        "× one by one": lambda entry: times(entry["ratio"]["one by one"]) if "one by one" in entry["ratio"] else "",
    }
    return table_of(file["results"], columns)


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
    return transposed(head, list(map(_generation_cells, file["results"])))


def _generation_cells(entry: File) -> list[str]:
    positions, passes, taken = entry["positions"], entry["passes"], entry["seconds"]
    return [
        entry["model"],
        f"`{entry['workload']}`",
        f"{entry['prompts']:,}, {entry['prompt_tokens']:,}",
        f"{positions['whole']:,}",
        f"{positions['shared']:,}",
        f"{positions['floor']:,}",
        f"{passes['whole']:,} → {passes['shared']:,}",
        seconds(taken["whole"]),
        seconds(taken["shared"]),
        times(entry["ratio"]),
    ]


def memory(file: File) -> str:
    """Peak growth by vocabulary."""
    columns: dict[str, Cell] = {"vocabulary": "{vocabulary:,}"}
    columns |= {way: f"{{ways[{way}][mebibytes]:number}} MiB" for way in file["results"][0]["ways"]}
    return table_of(file["results"], columns)


def growth(file: File) -> str:
    """Cost by number of samples."""
    (result,) = file["results"]
    columns: dict[str, Cell] = {
        "samples": "{samples:,}",
        "tokens": "{tokens:,.0f}",
        "seconds": "{seconds:seconds}",
        "tokens/s": lambda entry: number(entry["tokens"] / entry["seconds"]["median"]),
        "peak above the loaded model": "{mebibytes[median]:number} MiB",
    }
    cache = result["cache"]
    return (
        f"{table_of(result['sizes'], columns)}\n"
        f"Seconds grow as samples to the power of **{result['exponent_by_samples']:.2f}**, as tokens to the power "
        f"of {result['exponent_by_tokens']:.2f}.\n\n"
        f"{cache['samples']:,.0f} samples without the cache: {number(cache['without'])} s; filling it: "
        f"{number(cache['filling'])} s; from it: **{number(cache['reading'])} s**; {number(cache['mebibytes_on_disk'])}"
        " MiB on disk.\n"
    )


def quantisation(file: File) -> str:
    """Return, for each score and number format, the rank correlation with float32 and the AUROC on known doses."""
    cells = []
    for row in file["results"]:
        score = f"`{row['score']}`"
        cells.append((score, "float32: AUROC", f"{row['auroc_float32']:.3f}"))
        cells.append((score, row["format"], f"{row['rank_correlation']:.3f}, {row['auroc']:.3f}"))
    texts = max(map(itemgetter("texts"), file["results"]))
    return f"{pivot('score', cells)}\n{texts} functions of known dose.\n"


def variants(file: File) -> str:
    """Yield and speed, and what original and variants were compared by."""

    def all_of(part: str, key: str) -> Cell:
        count = f"{{{part}[{key}]:,}}"
        return lambda entry: filled(f"{count} of {count}", entry) if entry.get(part, {}).get(key) else ""

    columns: dict[str, Cell] = {
        "texts": "{texts}",
        "samples": "{samples:,}",
        "with ten": _with_ten,
        "variants": "{variants:,}",
        "a second, one core": "{variants_per_second[median]:number}",
        "the same bytecode": all_of("bytecode", "compared"),
        "the same under tests": all_of("tests", "variants"),
    }
    return table_of(file["results"], columns)


def _with_ten(entry: File) -> str:
    return f"{entry['with_ten']:,} ({entry['with_ten'] / entry['samples']:.1%})"


def test_cases(file: File) -> str:
    """Yield of other test cases, and why the rest has none."""
    columns: dict[str, Cell] = {
        "texts": "{texts}",
        "tasks": "{samples:,}",
        "with ten": _with_ten,
        "with some": "{with_some:,}",
        "fewer because": lambda entry: enumerated(entry["fewer_because"], "{1} {0}", separator="; "),
        "stated tests replaced": "{replaced:,} of {stated_tests:,}",
        "new tests confirmed": "{confirmed[tests]:,} of {confirmed[tests]:,}",
        "tasks a second": lambda entry: number(entry["samples"] / entry["seconds"]),
    }
    return table_of(file["results"], columns, transpose=True)


def variant_kinds(file: File) -> str:
    """SrDetection with one kind of variants and with another, AUROC of each beside that of names alone."""

    def points(value: Sequence[float] | None) -> str:
        return "" if value is None else "{:.3f} [{:.3f}, {:.3f}]".format(*value)

    columns: dict[str, Cell] = {
        "epochs, texts": "{epoch}, {view}",
        "variants have other": "{kind}",
        "members + others": "{members} + {nonmembers}",
        "AUROC": lambda entry: points(entry["auroc"]),
        "over names alone": lambda entry: points(entry.get("auroc_over_names")),
        "macro-F1 of the rule": "{macro_f1[0]:.0%} [{macro_f1[1]:.0%}, {macro_f1[2]:.0%}]",
        "rule on others": "{rule_on_nonmembers:.0%}",
    }
    return table_of(file["results"], columns)


def dataset(file: File) -> str:
    """Methods on whole benchmarks: seconds, memory, calls, and effect by dose."""
    rows = []
    for part in file["results"]:
        title = f"{part['part']}, n = {part['n']}"
        rows += [[f"{title}: {row['way']}", _dataset_cell(row)] for row in part["rows"]]
    return table(["what", "median"], rows)


def _dataset_cell(row: File) -> str:
    if "seconds" in row:
        memory = f", {number(row['megabytes'])} MB" if "megabytes" in row else ""
        return f"{number(sorted(row['seconds'])[len(row['seconds']) // 2])} s{memory}"
    if "calls" in row:
        return f"{number(row['calls'])} a sample, {number(row['tokens'])} × its tokens"
    return filled(
        "superiority {superiority:number}, top tenth {top:number}; "
        "{superiority_beyond:number} and {top_beyond:number} beyond the allowance",
        row,
    )
