"""Variants in other languages: how many a second, how many samples have ten, and does any behave differently.

    python benchmarks/bench_variants_languages.py [--smoke --out DIR]

- speed: processor time of one core for reading a sample once, drawing ten variants and verifying each in full;
- yield: samples with ten distinct variants, and the reasons of the others;
- tests: originals, and three variants of each, compiled and run under the benchmark's own tests in the sandbox.

HumanEval-X comes from ../shared/data (or ASSAY_SHARED). Go is not run: the sandbox has no compiler for it. What needs a
compiler that is not installed is left out. Ends with an error where a variant differs from its original.
"""

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from bench_variants import DATA, N, reason_class, rows
from measuring import arguments, spread, write

from assay.code import VariantSet, passed, variants
from assay.code.sandbox.testing import TOOLCHAINS
from assay.errors import SandboxUnavailable

FOLDERS = {"java": "java", "cpp": "cpp", "javascript": "js", "go": "go"}
TESTED = 3
BATCH = 8
SMOKE = 2


@dataclass(frozen=True, slots=True)
class Task:
    """A solution and its tests."""

    name: str
    text: str
    tests: str


def tasks(language: str) -> list[Task]:
    """Prompt and canonical solution of every task."""
    folder = FOLDERS[language]
    found = rows(f"humaneval-x/{folder}/data/humaneval_{folder}.jsonl.gz")
    return [Task(row["task_id"], row["prompt"] + row["canonical_solution"], row["test"]) for row in found]


def measured(language: str, subjects: Sequence[Task], repeats: int) -> dict[str, object]:
    """One language."""
    seconds = []
    for _round in range(repeats):
        start = time.process_time()
        found = [variants(one.text, N, language=language) for one in subjects]
        seconds.append(time.process_time() - start)
    made = sum(len(one.variants) for one in found)
    reasons = Counter(reason_class(one.reason) for one in found)
    return {
        "texts": f"humaneval-x, {language}",
        "samples": len(subjects),
        "lines": sum(one.text.count("\n") + 1 for one in subjects),
        "variants": made,
        "with_ten": reasons.pop("", 0),
        "fewer_because": dict(reasons.most_common()),
        "kept_because": dict(Counter(why for one in found for why in one.kept.values()).most_common()),
        "rejected": sum(one.rejected for one in found),
        "processor_seconds": spread(seconds),
        "variants_per_second": spread([made / one for one in seconds]),
        **under_tests(language, subjects, found),
    }


def under_tests(language: str, subjects: Sequence[Task], found: Sequence[VariantSet]) -> dict[str, object]:
    """Originals and variants under the same tests.

    Raises:
        AssertionError: one ends otherwise than its original.
    """
    if language not in TOOLCHAINS:
        return {}
    try:
        TOOLCHAINS[language].tool()
    except SandboxUnavailable as reason:
        print(f"{language}: {reason}")
        return {}
    counts: Counter[str] = Counter()
    failing = []
    for start in range(0, len(subjects), BATCH):
        programs: list[str] = []
        owners: list[int] = []
        names: list[str] = []
        for one, rewritings in zip(subjects[start : start + BATCH], found[start : start + BATCH], strict=True):
            few = rewritings.variants[:TESTED]
            programs += [f"{one.text}\n\n{one.tests}", *(variant.followed_by(one.tests) for variant in few)]
            owners += [len(owners)] * (1 + len(few))
            names += [one.name] * (1 + len(few))
        outcomes = passed(programs, language=language)
        for index, owner in enumerate(owners):
            if outcomes[index] != outcomes[owner]:
                raise AssertionError(f"another behaviour: {programs[index]}")
            if index == owner:
                counts["originals"] += 1
                counts["originals that pass"] += outcomes[index]
                failing += [] if outcomes[index] else [names[index]]
            else:
                counts["variants"] += outcomes[owner]
    return {"tests": {**counts, "originals that fail here": failing, "behaviour_changes": 0}}


def main() -> None:
    """Measure and write."""
    began = time.perf_counter()
    options = arguments(__doc__)
    repeats = options.repeats or (1 if options.smoke else 3)
    results = []
    if not (DATA / "humaneval-x").is_dir():
        print(f"{DATA / 'humaneval-x'} is absent")
    else:
        for language in FOLDERS:
            subjects = tasks(language)[: SMOKE if options.smoke else None]
            results.append(measured(language, subjects, repeats))
            print({key: value for key, value in results[-1].items() if key != "processor_seconds"})
    print(write("variants_languages", options, results, began))


if __name__ == "__main__":
    main()
