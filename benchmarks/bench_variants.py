"""Variants of real Python: how many a second, how many samples have ten, and whether any behaves differently.

    python benchmarks/bench_variants.py [--speed] [--smoke --out DIR]

- speed: processor time of one core for reading a sample once, drawing ten variants and verifying each in full; the
  first round also makes the candidates of every name;
- yield: samples with ten distinct variants, and the reasons of the others;
- bytecode: every variant of the library's functions compiles to the original's bytecode but for names;
- tests: original and variants under the benchmark's own tests, in the sandbox.

Functions are those of Python's own library that stand alone; HumanEval, MBPP and BigCodeBench come from ../shared/data
(or ASSAY_SHARED) and left out where they are absent. Ends with an error where a variant differs from its original.
"""

import argparse
import ast
import dis
import gzip
import json
import os
import sysconfig
import textwrap
import time
import types
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import islice
from pathlib import Path

from measuring import arguments, spread, write

from assay.code import Limits, VariantSet, keywords_of, passed, variants

N = 10
BATCH = 20
LIMITS = Limits(wall_seconds=300)
DATA = Path(os.environ.get("ASSAY_SHARED", Path(__file__).resolve().parents[1].parent / "shared")) / "data"
TESTS_OF_LIBRARY = {"test", "tests", "idle_test", "lib2to3", "site-packages"}


@dataclass(frozen=True, slots=True)
class Subject:
    """A text, and the tests that it comes with."""

    text: str
    tests: str | None = None


def library() -> Iterator[Subject]:
    """Functions and methods of the standard library that parse alone, dedented."""
    root = Path(sysconfig.get_paths()["stdlib"])
    for path in sorted(root.rglob("*.py")):
        if TESTS_OF_LIBRARY & set(path.relative_to(root).parts):
            continue
        text = path.read_text("utf-8", "replace")
        lines = text.splitlines(keepends=True)
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                start = min([node.lineno, *(one.lineno for one in node.decorator_list)])
                yield Subject(textwrap.dedent("".join(lines[start - 1 : node.end_lineno])))


def humaneval() -> Iterator[Subject]:
    """Prompt and canonical solution."""
    for row in rows("humaneval/HumanEval.jsonl.gz"):
        tests = f"{row['test']}\ncheck({row['entry_point']})\n"
        yield Subject(row["prompt"] + row["canonical_solution"], tests)


def mbpp() -> Iterator[Subject]:
    """The reference solution."""
    for row in rows("mbpp/mbpp.jsonl"):
        yield Subject(row["code"], "\n".join([row["test_setup_code"], *row["test_list"]]))


def bigcodebench() -> Iterator[Subject]:
    """Prompt and canonical solution; its tests need a hundred packages, so they are not run."""
    for row in rows("bigcodebench/BigCodeBench.jsonl.gz"):
        yield Subject(row["complete_prompt"] + row["canonical_solution"])


SUBJECTS: dict[str, tuple[Callable[[], Iterator[Subject]], str | None]] = {
    "library": (library, None),
    "humaneval": (humaneval, "humaneval"),
    "mbpp": (mbpp, "mbpp"),
    "bigcodebench": (bigcodebench, "bigcodebench"),
}


def rows(name: str) -> Iterator[dict[str, str]]:
    """Rows of a JSON Lines file."""
    path = DATA / name
    with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def measured(name: str, subjects: Sequence[Subject], repeats: int, before: Mapping[str, object]) -> dict[str, object]:
    """One set of texts; `before` is an earlier result of the same variants, whose checks stand, or nothing."""
    seconds = []
    for _round in range(repeats):
        start = time.process_time()
        found = [rewritten(one) for one in subjects]
        seconds.append(time.process_time() - start)
    made = sum(len(one.variants) for one in found)
    reasons = Counter(reason_class(one.reason) for one in found)
    result = {
        "texts": name,
        "samples": len(subjects),
        "lines": sum(one.text.count("\n") + 1 for one in subjects),
        "variants": made,
        "digest": digest(found),
        "with_ten": reasons.pop("", 0),
        "fewer_because": dict(reasons.most_common()),
        "rejected": sum(one.rejected for one in found),
        "processor_seconds": spread(seconds),
        "variants_per_second": spread([made / one for one in seconds]),
    }
    if not before:
        return result | (under_tests(subjects, found) if subjects[0].tests else same_bytecode(subjects, found))
    if (made, result["digest"]) != (before["variants"], before.get("digest", result["digest"])):
        raise SystemExit(f"{name}: other variants than those that were checked; expected a run without --speed")
    return result | {key: before[key] for key in ("tests", "bytecode") if key in before}


def digest(found: Sequence[VariantSet]) -> str:
    """Of all variants: the same where each is the same byte for byte."""
    whole = sha256()
    for one in found:
        for variant in one.variants:
            whole.update(variant.text.encode("utf-8", "surrogatepass") + b"\0")
    return whole.hexdigest()


def rewritten(one: Subject) -> VariantSet:
    """Ten variants."""
    return variants(one.text, N, keep=keywords_of(one.tests) if one.tests else ())


def reason_class(reason: str | None) -> str:
    """The reason without what is particular to one text."""
    if reason is None:
        return ""
    return "the pool has too few names" if reason.startswith("only ") else reason.split(":")[0]


def under_tests(subjects: Sequence[Subject], found: Sequence[VariantSet]) -> dict[str, object]:
    """Original and variants under the same tests.

    Raises:
        AssertionError: one ends otherwise than its original.
    """
    counts: Counter[str] = Counter()
    for start in range(0, len(subjects), BATCH):
        programs: list[str] = []
        owners: list[int] = []
        for one, rewritings in zip(subjects[start : start + BATCH], found[start : start + BATCH], strict=True):
            tests = str(one.tests)
            programs += [f"{one.text}\n\n{tests}", *(variant.followed_by(tests) for variant in rewritings.variants)]
            owners += [len(owners)] * (1 + len(rewritings.variants))
        outcomes = passed(programs, limits=LIMITS)
        for index, owner in enumerate(owners):
            counts["originals" if index == owner else "variants"] += 1
            counts["originals that pass"] += index == owner and outcomes[index]
            if outcomes[index] != outcomes[owner]:
                raise AssertionError(f"another behaviour: {programs[index]}")
    return {"tests": {**counts, "behaviour_changes": 0}}


def same_bytecode(subjects: Sequence[Subject], found: Sequence[VariantSet]) -> dict[str, object]:
    """The compiler resolves every name itself: what it makes of a variant is what it makes of the original.

    Raises:
        AssertionError: it is not.
    """
    compared = 0
    for one, rewritings in zip(subjects, found, strict=True):
        expected = list(instructions(one.text, {})) if rewritings.variants else []
        for variant in rewritings.variants[:2]:
            names = {new: old for old, new in (*variant.functions.items(), *variant.variables.items())}
            if list(instructions(variant.text, names)) != expected:
                raise AssertionError(f"other bytecode: {variant.text}")
            compared += 1
    return {"bytecode": {"compared": compared, "differences": 0}}


def instructions(text: str, names: Mapping[str, str]) -> Iterator[tuple[str, list[str], list[str]]]:
    """Opcodes and arguments of all code in the text; those of cells sorted, for the compiler orders cells by name."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        waiting = [compile(text, "text", "exec", dont_inherit=True)]
    while waiting:
        code = waiting.pop()
        cells: list[str] = []
        rest: list[str] = []
        for one in dis.get_instructions(code):
            value: object = one.argval
            if one.opname == "KW_NAMES":
                value = [names.get(name, name) for name in code.co_consts[one.arg or 0]]
            elif one.opname == "LOAD_CONST":  # docstrings and tables of hints follow the names
                value = "text" if isinstance(value, str | tuple | types.CodeType) else value
            elif isinstance(value, str):
                value = names.get(value, value)
            elif isinstance(value, tuple):
                value = [names.get(name, name) for name in value]
            (cells if one.opname in {"MAKE_CELL", "LOAD_CLOSURE"} else rest).append(f"{one.opname} {value}")
        yield names.get(code.co_name, code.co_name), sorted(cells), rest
        waiting += [one for one in code.co_consts if isinstance(one, types.CodeType)]


def main() -> None:
    """Measure and write."""
    began = time.perf_counter()
    options = arguments(__doc__, further)
    repeats = options.repeats or (1 if options.smoke else 3)
    before = earlier(options.out) if options.speed else {}
    results = []
    for name, (read, folder) in SUBJECTS.items():
        if folder and not (DATA / folder).is_dir():
            print(f"{name}: {DATA / folder} is absent")
            continue
        subjects = list(islice((one for one in read() if stands_alone(one.text)), BATCH if options.smoke else None))
        results.append(measured(name, subjects, repeats, before.get(name, {})))
        print({key: value for key, value in results[-1].items() if key != "processor_seconds"})
    print(write("variants", options, results, began))


def further(parser: argparse.ArgumentParser) -> None:
    """The option of this script alone."""
    told = "measure speed alone; the checks stand in the file of results already"
    parser.add_argument("--speed", action="store_true", help=told)


def earlier(out: Path) -> dict[str, dict[str, object]]:
    """The file of results, by the name of the texts."""
    return {one["texts"]: one for one in json.loads((out / "variants.json").read_text("utf-8"))["results"]}


def stands_alone(text: str) -> bool:
    """Whether a text compiles outside of what stood around it."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(text, "text", "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return False
    return True


if __name__ == "__main__":
    main()
