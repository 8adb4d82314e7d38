"""Other test cases: how many tasks of HumanEval and MBPP can show others, and why the rest cannot.

    python benchmarks/bench_test_cases.py [--smoke --out DIR]

- yield: tasks with ten distinct variants that show other test cases, and the reasons of the others;
- stated tests: how many the statements show, how many were replaced, why the others stay;
- confirmed: every new test of every variant asserted once more, behind the solution, in a process of its own.

HumanEval is read as prompt and solution, MBPP as its paper prints it, with its tests (`--part published`); both come
from ../shared/data (or ASSAY_SHARED). Ends with an error where a new test is not confirmed.
"""

import time
from collections import Counter
from collections.abc import Mapping, Sequence

from bench_variants import DATA, N, reason_class
from measuring import arguments, write

from assay import load
from assay.code import Limits, Problem, ReplacedTests, passed, replaced_tests
from assay.scoring.solutions import problem_of

SUBJECTS = {
    "humaneval": ("humaneval/HumanEval.jsonl.gz", "full"),
    "mbpp": ("mbpp/mbpp.jsonl", "published"),
}
BATCH = 50
SMOKE = 4
LIMITS = Limits(wall_seconds=300)


def problems(name: str) -> list[Problem]:
    """Every task with its solution."""
    file, part = SUBJECTS[name]
    found = [problem_of(sample) for sample in load(name, data=DATA / file, part=part).samples]
    return [one for one in found if one]


def measured(name: str, subjects: Sequence[Problem]) -> dict[str, object]:
    """One benchmark."""
    start = time.perf_counter()
    found = replaced_tests(subjects, N)
    seconds = time.perf_counter() - start
    fewer = [one for one in found if len(one.variants) < N]
    reasons = Counter("too few other inputs" if one.variants else reason_class(one.reason) for one in fewer)
    replaced = sum(len(one.tests[0]) for one in found if one.tests)
    return {
        "texts": name,
        "samples": len(subjects),
        "with_ten": len(found) - len(fewer),
        "with_some": sum(bool(one.variants) for one in found),
        "fewer_because": dict(reasons.most_common()),
        "stated_tests": replaced + sum(len(one.kept) for one in found),
        "replaced": replaced,
        "stay_because": dict(Counter(why for one in found for why in one.kept.values()).most_common()),
        "inputs_rejected_because": dict(sum((Counter(one.rejections) for one in found), Counter[str]()).most_common()),
        "seconds": seconds,
        "confirmed": confirmed(subjects, found),
    }


def confirmed(subjects: Sequence[Problem], found: Sequence[ReplacedTests]) -> Mapping[str, int]:
    """How many distinct new tests the solutions confirm as assertions.

    Raises:
        AssertionError: one does not hold.
    """
    programs, tests = [], 0
    for one, replaced in zip(subjects, found, strict=True):
        distinct = dict.fromkeys(test for shown in replaced.tests for test in shown)
        checks = [f"assert ({test}) == {python(output)}, {test!r}" for test, output in distinct]
        programs.append("\n".join([one.code, *checks]))
        tests += len(checks)
    for start in range(0, len(programs), BATCH):
        batch = programs[start : start + BATCH]
        for program, holds in zip(batch, passed(batch, limits=LIMITS), strict=True):
            if not holds:
                raise AssertionError(f"a new test does not hold: {program}")
    return {"tests": tests, "failed": 0}


def python(output: str) -> str:
    """An output in Python's own spelling."""
    return {"true": "True", "false": "False", "null": "None"}.get(output, output)


def main() -> None:
    """Measure and write."""
    began = time.perf_counter()
    options = arguments(__doc__)
    results = []
    for name, (file, _) in SUBJECTS.items():
        if not (DATA / file).exists():
            print(f"{name}: {DATA / file} is absent")
            continue
        results.append(measured(name, problems(name)[: SMOKE if options.smoke else None]))
        print(results[-1])
    print(write("test_cases", options, results, began))


if __name__ == "__main__":
    main()
