"""Variants of real code: how many a second, how many samples have ten, and whether any behaves differently.

- speed: processor time of one core for reading a sample once, drawing ten variants and verifying each in full; the
  first round also makes the candidates of every name;
- yield: samples with ten distinct variants, and the reasons of the others;
- bytecode: every variant of the library's functions compiles to the original's bytecode but for names;
- tests: original and variants under the benchmark's own tests, in the sandbox; of languages other than Python three
  variants of each.

Functions are those of Python's own library that stand alone, and reference solutions of benchmarks. Go is not run: the
sandbox has no compiler for it. What needs a compiler that is not installed is left out. Ends with an error where a
variant differs from its original.

`variants/test_cases` asks how many tasks of HumanEval and MBPP can show other test cases, and why the rest cannot:

- yield: tasks with ten distinct variants that show other test cases, and the reasons of the others;
- stated tests: how many the statements show, how many were replaced, why the others stay;
- confirmed: every new test of every variant asserted once more, behind the solution, in a process of its own.

HumanEval is read as prompt and solution, MBPP as its paper prints it, with its tests. Ends with an error where a new
test is not confirmed.
"""

import ast
import dis
import gzip
import json
import sysconfig
import textwrap
import time
import types
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import chain, islice, repeat
from operator import attrgetter, methodcaller
from pathlib import Path

from assay import load
from assay.code import Limits, Problem, ReplacedTests, VariantSet, keywords_of, passed, replaced_tests, variants
from assay.errors import SandboxUnavailable
from assay.languages import languages_with
from assay.scoring import problem_of
from assay_lab.columns import attributes
from assay_lab.experiments.declaration import Data, Experiment, Result, benchmark_data
from assay_lab.measuring import rates, spread

N = 10
LIMITS = Limits(wall_seconds=300)
TESTS_OF_LIBRARY = {"test", "tests", "idle_test", "lib2to3", "site-packages"}


@dataclass(frozen=True, slots=True)
class Subject:
    """A text, the tests that it comes with, and its name."""

    text: str
    tests: str | None = None
    name: str = ""


@dataclass(frozen=True, slots=True)
class Case:
    """One set of texts.

    Attributes:
        texts: its name.
        read: yields the texts from the place of their data.
        data: name of the data; "" for the library.
        language: of the texts.
        tested: variants of a text that are run.
        batch: texts that share one sandbox.
    """

    texts: str
    read: Callable[[Path], Iterator[Subject]]
    data: str
    language: str = "python"
    tested: int = N
    batch: int = 20


def library(_: Path) -> Iterator[Subject]:
    """Functions and methods of the standard library that parse alone, dedented."""
    root = Path(sysconfig.get_paths()["stdlib"])
    for path in sorted(root.rglob("*.py")):
        if TESTS_OF_LIBRARY & set(path.relative_to(root).parts):
            continue
        text = path.read_text("utf-8", "replace")
        lines = text.splitlines(keepends=True)
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                # a function begins with its first decorator
                start = min([node.lineno, *map(attrgetter("lineno"), node.decorator_list)])
                yield Subject(textwrap.dedent("".join(lines[start - 1 : node.end_lineno])))


def humaneval(folder: Path) -> Iterator[Subject]:
    """Prompt and canonical solution."""
    for row in lines_of(folder / "HumanEval.jsonl.gz"):
        tests = f"{row['test']}\ncheck({row['entry_point']})\n"
        yield Subject(row["prompt"] + row["canonical_solution"], tests)


def mbpp(folder: Path) -> Iterator[Subject]:
    """The reference solution."""
    for row in lines_of(folder / "mbpp.jsonl"):
        yield Subject(row["code"], "\n".join([row["test_setup_code"], *row["test_list"]]))


def bigcodebench(folder: Path) -> Iterator[Subject]:
    """Prompt and canonical solution; its tests need a hundred packages, so they are not run."""
    for row in lines_of(folder / "BigCodeBench.jsonl.gz"):
        yield Subject(row["complete_prompt"] + row["canonical_solution"])


def humaneval_x(short: str) -> Callable[[Path], Iterator[Subject]]:
    """Prompt and canonical solution of every task in the language of this folder."""

    def read(folder: Path) -> Iterator[Subject]:
        for row in lines_of(folder / short / "data" / f"humaneval_{short}.jsonl.gz"):
            yield Subject(row["prompt"] + row["canonical_solution"], row["test"], row["task_id"])

    return read


PYTHON = (
    Case("library", library, ""),
    Case("humaneval", humaneval, "humaneval"),
    Case("mbpp", mbpp, "mbpp"),
    Case("bigcodebench", bigcodebench, "bigcodebench"),
)
OTHERS = tuple(
    Case(f"humaneval-x, {language}", humaneval_x(short), data="humaneval-x", language=language, tested=3, batch=8)
    for language, short in {"java": "java", "cpp": "cpp", "javascript": "js", "go": "go"}.items()
)


def lines_of(path: Path) -> Iterator[dict[str, str]]:
    """Rows of a JSON Lines file."""
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def run(scale: tuple[tuple[Case, ...], int | None, int], seed: int, data: Data) -> Result:
    """Variants of real code: how many a second, how many samples have ten, and whether any behaves differently."""
    cases, most, repeats = scale
    there = [case for case in cases if not case.data or case.data in data]
    rows = []
    for case in there:
        subjects = case.read(data.get(case.data, Path()))
        alone = (each for each in subjects if case.language != "python" or stands_alone(each.text))
        rows.append(measured(case, list(islice(alone, most)), repeats))
    return Result(rows, [f"{case.texts}: not there" for case in cases if case not in there])


def measured(case: Case, subjects: Sequence[Subject], repeats: int) -> dict[str, object]:
    """One set of texts."""
    seconds = []
    for _round in range(repeats):
        start = time.process_time()
        found = list(map(rewritten, subjects, repeat(case.language)))
        seconds.append(time.process_time() - start)
    made = sum(map(len, attributes(found, "variants")))
    reasons = Counter(map(reason_class, attributes(found, "reason")))
    row = {
        "texts": case.texts,
        "samples": len(subjects),
        "lines": sum(each.text.count("\n") + 1 for each in subjects),
        "variants": made,
        "digest": digest(found),
        "with_ten": reasons.pop("", 0),
        "fewer_because": dict(reasons.most_common()),
        "kept_because": why_kept(found),
        "rejected": sum(attributes(found, "rejected")),
        "processor_seconds": spread(seconds),
        "variants_per_second": rates(made, seconds),
    }
    if case.read is library:
        return row | {"bytecode": {"compared": same_bytecode(subjects, found), "differences": 0}}
    if not subjects[0].tests or case.language not in languages_with("tests"):
        return row
    try:
        return row | {"tests": under_tests(case, subjects, found)}
    except SandboxUnavailable as reason:
        return row | {"not tested": str(reason)}


def why_kept(found: Sequence[VariantSet | ReplacedTests]) -> dict[str, int]:
    """Why something in the texts was not replaced → how often, the most frequent first."""
    return dict(Counter(chain.from_iterable(map(dict.values, attributes(found, "kept")))).most_common())


def digest(found: Sequence[VariantSet]) -> str:
    """Of all variants: the same where each is the same byte for byte."""
    whole = sha256()
    for variant in chain.from_iterable(attributes(found, "variants")):
        whole.update(variant.text.encode("utf-8", "surrogatepass") + b"\0")
    return whole.hexdigest()


def rewritten(subject: Subject, language: str) -> VariantSet:
    """Ten variants."""
    # arguments that a test passes by name keep it
    keep = keywords_of(subject.tests) if subject.tests and language == "python" else ()
    return variants(subject.text, N, language=language, keep=keep)


def reason_class(reason: str | None) -> str:
    """The reason without what is particular to one text."""
    if reason is None:
        return ""
    return "the pool has too few names" if reason.startswith("only ") else reason.split(":")[0]


def under_tests(case: Case, subjects: Sequence[Subject], found: Sequence[VariantSet]) -> dict[str, object]:
    """Originals and variants under the same tests.

    Raises:
        AssertionError: one ends otherwise than its original.
        SandboxUnavailable: programs of this language cannot be run here.
    """
    counts: Counter[str] = Counter()
    failing: list[str] = []
    limits = LIMITS if case.language == "python" else None
    for start in range(0, len(subjects), case.batch):
        programs: list[str] = []
        owners: list[int] = []
        names: list[str] = []
        part = slice(start, start + case.batch)
        for subject, rewritings in zip(subjects[part], found[part], strict=True):
            tests, few = str(subject.tests), rewritings.variants[: case.tested]
            programs += [f"{subject.text}\n\n{tests}", *map(methodcaller("followed_by", tests), few)]
            names += [subject.name] * (1 + len(few))
            # the place of the original, whose outcome its variants must have
            owners += [len(owners)] * (1 + len(few))
        outcomes = passed(programs, language=case.language, limits=limits)
        for index, owner in enumerate(owners):
            if outcomes[index] != outcomes[owner]:
                raise AssertionError(f"another behaviour: {programs[index]}")
            counts["originals" if index == owner else "variants"] += 1
            counts["originals that pass"] += index == owner and outcomes[index]
            if index == owner and not outcomes[index]:
                failing.append(names[index])
    return {**counts, "originals that fail here": failing, "behaviour_changes": 0}


def same_bytecode(subjects: Sequence[Subject], found: Sequence[VariantSet]) -> int:
    """How many variants were compared: the compiler makes of each what it makes of the original.

    Raises:
        AssertionError: it is not.
    """
    compared = 0
    for subject, rewritings in zip(subjects, found, strict=True):
        expected = list(instructions(subject.text, {})) if rewritings.variants else []
        for variant in rewritings.variants[:2]:
            names = {new: old for old, new in (*variant.functions.items(), *variant.variables.items())}
            if list(instructions(variant.text, names)) != expected:
                raise AssertionError(f"other bytecode: {variant.text}")
            compared += 1
    return compared


def instructions(text: str, names: Mapping[str, str]) -> Iterator[tuple[str, list[str], list[str]]]:
    """Opcodes and arguments of all code in the text; those of cells sorted, for the compiler orders cells by name."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        waiting = [compile(text, "text", "exec", dont_inherit=True)]
    while waiting:
        code = waiting.pop()
        cells: list[str] = []
        rest: list[str] = []
        for operation in dis.get_instructions(code):
            value: object = operation.argval
            if operation.opname == "KW_NAMES":
                value = [names.get(name, name) for name in code.co_consts[operation.arg or 0]]
            elif operation.opname == "LOAD_CONST":  # docstrings and tables of hints follow the names
                if isinstance(value, str | tuple | types.CodeType):
                    value = "text"
            elif isinstance(value, str):
                value = names.get(value, value)
            elif isinstance(value, tuple):
                value = [names.get(name, name) for name in value]
            group = cells if operation.opname in {"MAKE_CELL", "LOAD_CLOSURE"} else rest
            group.append(f"{operation.opname} {value}")
        yield names.get(code.co_name, code.co_name), sorted(cells), rest
        waiting += [constant for constant in code.co_consts if isinstance(constant, types.CodeType)]


def stands_alone(text: str) -> bool:
    """Whether a text compiles outside of what stood around it."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(text, "text", "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return False
    return True


def run_test_cases(scale: int | None, seed: int, data: Data) -> Result:
    """Other test cases: how many tasks of HumanEval and MBPP can show others, and why the rest cannot."""
    tasks = {
        "humaneval": load("humaneval", data=data["humaneval"] / "HumanEval.jsonl.gz", part="full").samples,
        "mbpp": load("mbpp", data=data["mbpp"] / "mbpp.jsonl", part="published").samples,
    }
    rows = []
    for name, samples in tasks.items():
        problems = list(filter(None, map(problem_of, samples)))
        rows.append(replaced(name, problems[:scale]))
    return Result(rows)


def replaced(name: str, subjects: Sequence[Problem]) -> dict[str, object]:
    """One benchmark."""
    start = time.perf_counter()
    found = replaced_tests(subjects, N)
    seconds = time.perf_counter() - start
    reasons: Counter[str] = Counter()
    rejections: Counter[str] = Counter()
    count = 0
    for shown in found:
        rejections.update(shown.rejections)
        count += len(shown.tests[0]) if shown.tests else 0
        if len(shown.variants) < N:
            reasons["too few other inputs" if shown.variants else reason_class(shown.reason)] += 1
    return {
        "texts": name,
        "samples": len(subjects),
        "with_ten": len(found) - reasons.total(),
        "with_some": sum(map(bool, attributes(found, "variants"))),
        "fewer_because": dict(reasons.most_common()),
        "stated_tests": count + sum(map(len, attributes(found, "kept"))),
        "replaced": count,
        "stay_because": why_kept(found),
        # the plus drops reasons that never occurred
        "inputs_rejected_because": dict((+rejections).most_common()),
        "seconds": seconds,
        "confirmed": confirmed(subjects, found),
    }


def confirmed(subjects: Sequence[Problem], found: Sequence[ReplacedTests]) -> Mapping[str, int]:
    """How many distinct new tests the solutions confirm as assertions.

    Raises:
        AssertionError: one does not hold.
    """
    programs, tests = [], 0
    for subject, others in zip(subjects, found, strict=True):
        distinct = dict.fromkeys(chain.from_iterable(others.tests))
        checks = [f"assert ({test}) == {python(output)}, {test!r}" for test, output in distinct]
        programs.append("\n".join([subject.code, *checks]))
        tests += len(checks)
    for start in range(0, len(programs), 50):
        batch = programs[start : start + 50]
        for program, holds in zip(batch, passed(batch, limits=LIMITS), strict=True):
            if not holds:
                raise AssertionError(f"a new test does not hold: {program}")
    return {"tests": tests, "failed": 0}


def python(output: str) -> str:
    """An output in Python's own spelling."""
    return {"true": "True", "false": "False", "null": "None"}.get(output, output)


TESTED = benchmark_data("humaneval", "mbpp")
YIELD = ("texts", "samples", "with_ten", "variants", "variants_per_second")
EXPERIMENTS = (
    Experiment(
        name="variants/variants",
        run=run,
        scales={"smoke": (PYTHON, 20, 1), "full": (PYTHON, None, 3)},
        columns=YIELD,
        takes=TESTED | benchmark_data("bigcodebench"),
    ),
    Experiment(
        name="variants/variants_languages",
        run=run,
        scales={"smoke": (OTHERS, 2, 1), "full": (OTHERS, None, 3)},
        columns=YIELD,
        needs=benchmark_data("humaneval-x"),
    ),
    Experiment(
        name="variants/test_cases",
        run=run_test_cases,
        scales={"smoke": 4, "full": None},
        columns=("texts", "samples", "with_ten", "with_some", "fewer_because", "replaced", "stated_tests"),
        needs=TESTED,
    ),
)
